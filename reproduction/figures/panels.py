"""What each figure shows: a function from groups of records to a drawn figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graylearn.errors import counted
from reproduction import names
from reproduction.figures.scale import Drawn, show_bulk
from reproduction.figures.style import bar_style, figure, legend_below, look, point_style
from reproduction.paper import ARCHITECTURES
from reproduction.records import Group
from reproduction.statistics import spread

COMPARED = ("standard", "gl", "gl-label", "gl-relative", "gl+refine", "oracle")
"""Methods that figures show, where measured."""


def by_labels(found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """Groups with random and with specific labels, in that order."""
    kinds = [kind for kind in ("random", "specific") if any(g.get("labels") == kind for g in found)]
    return [(kind, [group for group in found if group.get("labels") == kind]) for kind in kinds]


def methods_of(found: Sequence[Group], wanted: Sequence[str] = COMPARED) -> list[str]:
    """The wanted methods that some group has."""
    return [method for method in wanted if any(method in group.by_method for group in found)]


def alpha_curves(found: Sequence[Group]) -> Any:
    """Accuracy over the share of OOD samples, one panel a kind of labels."""
    panels = by_labels(found)
    drawn = figure(3.6 * len(panels), 3.3)
    axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    values: list[Drawn] = []
    for axis, (kind, members) in zip(axes, panels, strict=True):
        for method in methods_of(members):
            points = []
            for group in members:
                found_spread = spread(group.values(method))
                if found_spread is not None:
                    points.append((float(group.get("alpha")), found_spread.mean, found_spread.sd or 0.0))
            points.sort()
            values += [Drawn(axis, alpha, mean, method, sd) for alpha, mean, sd in points]
            alphas, means, sds = zip(*points, strict=True)
            axis.errorbar(
                alphas,
                means,
                yerr=sds if any(sds) else None,
                capsize=2,
                # two shares make no trend, so no line
                **{**point_style(method), "linestyle": look(method).line if len(points) > 2 else "none"},
            )
        axis.set_title(f"{kind} labels")
        axis.set_xlabel("share of OOD samples, alpha")
    show_bulk(values)
    axes[0].set_ylabel("test accuracy, %")
    legend_below(drawn, axes)
    return drawn


def source_name(group: Group) -> str:
    """The number of a source, counted from 1."""
    ood = str(group.get("ood"))
    number = ood.partition("/")[2]
    return str(int(number) + 1) if number.isdigit() else names.ood_title(ood)


def network_name(group: Group) -> str:
    """A network as the paper's figure calls it."""
    return str(group.get("net"))


def accuracy_and_gain(found: Sequence[Group], name: Any, axis_title: str) -> Any:
    """Above: the accuracies as points. Below: how far each method is from standard, as bars from zero."""
    panels = by_labels(found)
    categories = _ordered({name(group) for group in found})
    drawn = figure(max(3.6, 0.42 * len(categories)) * len(panels) + 0.6, 4.6)
    axes = drawn.subplots(2, len(panels), sharex=True, sharey="row", squeeze=False)
    accuracies: list[Drawn] = []
    gains: list[Drawn] = []
    for place, (kind, members) in enumerate(panels):
        upper, lower = axes[0][place], axes[1][place]
        at = {category: number for number, category in enumerate(categories)}
        for method in methods_of(members):
            known = [(at[name(g)], s) for g in members if (s := spread(_shared(g, method)))]
            accuracies += [Drawn(upper, x, s.mean, method, s.sd or 0.0) for x, s in known]
            upper.errorbar(
                [x for x, _ in known],
                [s.mean for _, s in known],
                yerr=[s.sd or 0.0 for _, s in known] if any(s.sd for _, s in known) else None,
                **point_style(method),
            )
        others = [method for method in methods_of(members) if method != "standard"]
        width = 0.8 / max(1, len(others))
        heights = [{m: gain for m in others if (gain := _gain(g, m)) is not None} for g in members]
        for method in others:
            bars = [
                (at[name(g)] + (list(own).index(method) - (len(own) - 1) / 2) * width, own[method])
                for g, own in zip(members, heights, strict=True)
                if method in own
            ]
            gains += [Drawn(lower, x, y, method) for x, y in bars]
            lower.bar([x for x, _ in bars], [y for _, y in bars], width, **bar_style(method))
        lower.axhline(0, color="black", linewidth=0.8)
        upper.set_title(f"{kind} labels")
        lower.set_xlabel(axis_title)
        rotated = max(len(category) for category in categories) > 4
        lower.set_xticks(range(len(categories)), categories, rotation=40 if rotated else 0)
        if rotated:
            for tick in lower.get_xticklabels():
                tick.set_ha("right")
        lower.grid(False, axis="x")
    show_bulk(accuracies)
    show_bulk(gains, bars=True)
    axes[0][0].set_ylabel("test accuracy, %")
    axes[1][0].set_ylabel("minus standard, points")
    legend_below(drawn, axes.ravel())
    return drawn


def _shared(group: Group, method: str) -> dict[int, float]:
    """Its accuracies on the seeds that all compared methods have, so that points compare like bars."""
    seeds = [set(group.values(m)) for m in methods_of([group]) if group.values(m)]
    common = set.intersection(*seeds) if seeds else set()
    return {seed: value for seed, value in group.values(method).items() if seed in common or not common}


def _gain(group: Group, method: str, over: str = "standard") -> float | None:
    """Mean difference to another method over the seeds both have."""
    mine, other = group.values(method), group.values(over)
    shared = [mine[seed] - other[seed] for seed in mine if seed in other]
    return sum(shared) / len(shared) if shared else None


def _ordered(categories: set[str]) -> list[str]:
    def rank(category: str) -> tuple[int, str]:
        if category.isdigit():
            return int(category), ""
        return (ARCHITECTURES.index(category) if category in ARCHITECTURES else 99), category

    return sorted(categories, key=rank)


FEW = 10
"""Samples of a bin below which its accuracy says little; it is drawn as an outline."""


def reliability_diagrams(found: Sequence[Group]) -> Any:
    """Accuracy by confidence in 20 bins, one row a kind of labels, one panel a method."""
    rows = by_labels(found)
    methods = [m for m in methods_of(found) if any(_pooled(g, m) is not None for g in found)]
    drawn = figure(2.2 * len(methods), 2.6 * len(rows) + 0.4)
    axes = drawn.subplots(len(rows), len(methods), sharex=True, sharey=True, squeeze=False)
    for line, (kind, members) in zip(axes, rows, strict=True):
        for axis, method in zip(line, methods, strict=True):
            pooled = next((p for g in members if (p := _pooled(g, method)) is not None), None)
            if pooled is None:
                axis.set_axis_off()
                continue
            count, accuracy, confidence = pooled
            bins = len(count)
            filled = count > 0
            left = np.arange(bins)[filled] / bins
            right, sure = accuracy[filled], confidence[filled]
            enough = count[filled] >= FEW
            axis.bar(left[enough], right[enough], 1 / bins, align="edge", color="0.55", edgecolor="black",
                     linewidth=0.5, label="accuracy")  # fmt: skip
            axis.bar(left[enough], (sure - right)[enough], 1 / bins, bottom=right[enough], align="edge",
                     facecolor="none", edgecolor="0.2", hatch="////", linewidth=0.5,
                     label="confidence - accuracy")  # fmt: skip
            axis.bar(left[~enough], right[~enough], 1 / bins, align="edge", facecolor="none",
                     edgecolor="0.75", linewidth=0.5, label=f"of fewer than {FEW} samples")  # fmt: skip
            axis.plot([0, 1], [0, 1], color="#c02020", linestyle="--", linewidth=1, label="perfect")
            error = float(np.abs(sure - right) @ count[filled] / count.sum())
            axis.set_title(f"{names.method_title(method)}, {kind}\nECE {100 * error:.1f} %")
            axis.set_xlim(0, 1)
            axis.set_xticks([0, 0.5, 1])
            axis.set_ylim(0, 1)
            axis.set_aspect("equal")
    for axis in axes[-1]:
        axis.set_xlabel("confidence")
    for line in axes:
        line[0].set_ylabel("accuracy")
    legend_below(drawn, axes[0][:1])
    return drawn


def _pooled(group: Group, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(count, accuracy, confidence) a bin, all seeds together; an empty bin is 0."""
    parts = [r.measured["reliability"] for r in group.by_method.get(method, {}).values()
             if r.measured.get("reliability")]  # fmt: skip
    if not parts:
        return None
    counts = np.array([part["count"] for part in parts], dtype=float)  # (seeds, bins)
    total = counts.sum(0)

    def mean(name: str) -> np.ndarray:
        values = np.array([[0.0 if v is None else v for v in part[name]] for part in parts], dtype=float)
        return np.asarray((np.nan_to_num(values) * counts).sum(0) / np.maximum(total, 1))

    return total, mean("accuracy"), mean("confidence")


def ablation_bars(found: Sequence[Group]) -> Any:
    """The parts of GL against standard, one panel a kind of data: a dot a setting, a bar their mean."""
    order = ("nl", "standard+nl", "gl", "gl-label", "gl+refine", "oracle")
    panels = []
    for kind in ("table", "image"):
        protocols = sorted({str(g.get("protocol")) for g in found if g.get("kind") == kind})
        for protocol in protocols:
            members = [g for g in found if (g.get("kind"), str(g.get("protocol"))) == (kind, protocol)]
            title = counted(len(members), f"{kind} setting")
            panels.append((title if kind == "image" else f"{title}, protocol {protocol}", members))
    drawn = figure(3.2 * len(panels), 3.4)
    axes = drawn.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, members) in zip(axes, panels, strict=True):
        shown = methods_of(members, order)
        values: list[Drawn] = []
        for place, method in enumerate(shown):
            gains = [gain for group in members if (gain := _gain(group, method)) is not None]
            if gains:
                found_spread = spread(gains)
                assert found_spread is not None
                axis.bar(place, found_spread.mean, 0.7, **bar_style(method))
                jitter = np.linspace(-0.2, 0.2, len(gains)) if len(gains) > 1 else np.zeros(1)
                axis.plot(place + jitter, sorted(gains), "o", color="black", markersize=2.5, zorder=3)
                dots = zip(place + jitter, sorted(gains), strict=True)
                values += [Drawn(axis, float(x), y, method) for x, y in dots]
                values.append(Drawn(axis, place, found_spread.mean, method, called="mean "))
        show_bulk(values, bars=True)
        axis.axhline(0, color="black", linewidth=0.8)
        labels = [names.method_title(method) for method in shown]
        axis.set_xticks(range(len(shown)), labels, rotation=40, ha="right")
        axis.set_xlim(-0.8, len(shown) - 0.2)
        axis.set_title(title)
        axis.grid(False, axis="x")
    axes[0].set_ylabel("accuracy minus standard, points")
    return drawn


def regime_points(found: Sequence[Group]) -> Any:
    """How far each method is from the oracle, one line a regime: left of zero is what OOD samples cost."""
    members = [group for group in found if group.values("oracle")]
    members.sort(key=lambda g: _gain(g, "standard", "oracle") or 0.0, reverse=True)
    drawn = figure(9.0, 0.28 * len(members) + 1.4)
    axis = drawn.subplots()
    for method in methods_of(members):
        if method == "oracle":
            continue
        points = [
            (d, place) for place, g in enumerate(members) if (d := _gain(g, method, "oracle")) is not None
        ]
        axis.plot([x for x, _ in points], [y for _, y in points], **point_style(method))
    axis.axvline(0, color=look("oracle").colour, linestyle=":", label=names.method_title("oracle"))
    several = len({group.get("alpha") for group in members}) > 1
    axis.set_yticks(range(len(members)), [regime_title(group, with_share=several) for group in members])
    axis.set_ylim(-0.6, len(members) - 0.4)
    axis.set_xlabel("accuracy minus the oracle's, points")
    legend_below(drawn, [axis])
    return drawn


def regime_title(group: Group, with_share: bool = True) -> str:
    """One line that names a regime."""
    ood = names.ood_title(str(group.get("ood")))
    parts = [f"{names.dataset_title(str(group.get('dataset')))} + {ood}", f"{group.get('labels')} labels"]
    if with_share:
        parts.append(f"alpha {group.get('alpha'):g}")
    return ", ".join([*parts, names.length(group.cell)])
