"""Accuracy against the length of training: what a schedule does to a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction import names
from reproduction.figures.style import figure, legend_below, point_style
from reproduction.records import Group
from reproduction.statistics import spread

SHOWN = ("standard", "gl", "gl-relative", "gl+refine", "oracle")
"""Methods of the figure, where measured."""


def panels(found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """(title, groups) of each set and kind of labels that was trained for two lengths or more."""
    by_set: dict[tuple[str, str], list[Group]] = {}
    for group in found:
        if group.get("train_size") is None and group.values("standard") and group.values("gl"):
            key = (str(group.get("dataset")), str(group.get("labels")))
            by_set.setdefault(key, []).append(group)
    made = []
    for (dataset, labels), members in sorted(by_set.items()):
        if len({group.get("epochs") for group in members}) > 1:
            made.append((f"{names.dataset_title(dataset)}, {labels} labels", members))
    return made


def length_curves(found: Sequence[Group]) -> Any:
    """Accuracy over epochs, one panel a set and kind of labels; what was trained otherwise is not joined."""
    shown = panels(found)
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    drawn = figure(4.2 * columns, 2.7 * rows + 0.5)
    axes = drawn.subplots(rows, columns, squeeze=False)
    for axis, (title, members) in zip(axes.ravel(), shown, strict=False):
        for method in SHOWN:
            points = sorted(
                (int(group.get("epochs")), means.mean, means.sd or 0.0)
                for group in members
                if (means := spread(group.values(method)))
            )
            if points:
                epochs, accuracies, deviations = zip(*points, strict=True)
                axis.errorbar(
                    epochs, accuracies, yerr=deviations if any(deviations) else None, capsize=2,
                    **{**point_style(method), "linestyle": "none"},
                )  # fmt: skip
        axis.set_xscale("log")
        ticks = dict(sorted((int(group.get("epochs")), _way(group)) for group in members))
        axis.set_xticks(list(ticks), list(ticks.values()))
        axis.minorticks_off()
        axis.set_title(title)
        axis.set_ylabel("test accuracy, %")
        axis.set_xlabel("epochs")
    for axis in axes.ravel()[len(shown) :]:
        axis.set_axis_off()
    legend_below(drawn, axes.ravel()[: len(shown)])
    return drawn


def _way(group: Group) -> str:
    """Epochs, and how they were trained."""
    warm = "\nwarm-up" if group.get("preset") == "paper-warm" else ""
    return f"{group.get('epochs')}\nbatch {group.get('batch_size')}{warm}"
