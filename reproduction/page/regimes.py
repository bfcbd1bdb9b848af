"""When OOD samples hurt at all, and what helps there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from reproduction import names
from reproduction.columns import recovered
from reproduction.page.evidence import Evidence
from reproduction.page.text import NOT_YET, joined
from reproduction.records import Group
from reproduction.render.cells import share
from reproduction.render.markdown import markdown_grid
from reproduction.statistics import Comparison, compare, from_differences, spread

HELPERS = ("gl", "gl-relative", "gl-history", "gl+refine")
"""What might win back the cost."""


@dataclass(frozen=True)
class Regime:
    """One setting with its oracle: what OOD samples cost there, and what the helpers win back."""

    group: Group
    """The setting."""
    cost: Comparison
    """Oracle minus standard."""
    gains: dict[str, Comparison]
    """Each helper minus standard."""

    @property
    def hurts(self) -> bool:
        """Whether the cost is shown and at least a point, the least of which a share is quoted."""
        return self.cost.state == "higher" and self.cost.mean >= 1 - 1e-9

    @property
    def verdict(self) -> str:
        """What helps there."""
        helping, harming = self._helpers("higher"), self._helpers("lower")
        if not self.hurts:
            anyway = f", {_who('gain', helping)} all the same" if helping else ""
            text = f"less than a point to repair{anyway}"
        else:
            text = _who("help", helping) if helping else "none helps"
        return text + (f"; {_who('cost', harming)} accuracy" if harming else "")

    def _helpers(self, state: str) -> list[str]:
        """The titles of the helpers whose gain is in that state."""
        return [names.method_title(m) for m, gain in self.gains.items() if gain.state == state]


def _who(verb: str, titles: Sequence[str]) -> str:
    return f"{joined(titles)} {verb}" + ("s" if len(titles) == 1 else "")


def regimes(found: Sequence[Group]) -> list[Regime]:
    """The groups that have an oracle, standard training and GL."""
    made = []
    for group in found:
        cost = compare(group.values("oracle"), group.values("standard"))
        gains = {m: pair for m in HELPERS if (pair := compare(group.values(m), group.values("standard")))}
        if cost is not None and "gl" in gains:
            made.append(Regime(group, cost, gains))
    return sorted(made, key=lambda regime: -regime.cost.mean)


def section(evidence: Evidence) -> str:
    """The table of regimes, what they say together, and which factor matters."""
    groups = [g for g in evidence.every_group if g.get("kind") == "image"]
    listed = [g for g in groups if _listed(g)]
    every, main = regimes(groups), regimes(listed)
    if not every:
        return NOT_YET
    lines = [f"- {sentence}" for sentence in _summary(every)]
    if main:
        lines += ["", _grid(main), ""]
        lines.append(
            "Cost is oracle minus standard training, in points. In brackets the share of it that is won "
            "back, where the cost is a point or more. Settings of the studies of shares, sources and "
            "networks are in their own tables."
        )
    factors = _factors(regimes(evidence.groups("regimes")))
    if factors:
        lines += ["", "Which factor matters, all else equal (experiment `regimes`):", "", *factors]
    return "\n".join(lines)


def _listed(group: Group) -> bool:
    """Whether a group is of `table1` or `regimes`."""
    found = {r.experiment for m, seeds in group.by_method.items() if m != "oracle" for r in seeds.values()}
    return bool(found & {"table1", "regimes"})


def _summary(every: Sequence[Regime]) -> list[str]:
    hurt = [r for r in every if r.hurts]
    calm = [r for r in every if not r.hurts]
    sentences = [
        f"OOD samples are shown to cost a point or more in {len(hurt)} of the {len(every)} image settings "
        "that have GL" + (f" (up to {hurt[0].cost.mean:.1f} points)." if hurt else ".")
    ]
    for method in HELPERS:
        title = names.method_title(method)
        shares = [s.mean for r in hurt if (s := recovered(r.group, method)) is not None]
        if shares:
            helps = sum(r.gains[method].state == "higher" for r in hurt if method in r.gains)
            costs = sum(r.gains[method].state == "lower" for r in hurt if method in r.gains)
            sentences.append(
                f"Where they do, {title} wins back {100 * median(shares):.0f} % of it in the median of "
                f"{len(shares)} settings{_beside_gl(hurt, method)}; it is shown to help in {helps} and to "
                f"make it worse in {costs}."
            )
        gains = [r.gains[method].mean for r in calm if method in r.gains]
        if gains:
            sentences.append(
                f"Where they do not, {title} changes accuracy by {fmean(gains):+.1f} points in the mean of "
                f"{len(gains)} settings ({min(gains):+.1f} to {max(gains):+.1f})."
            )
    return sentences


def _beside_gl(hurt: Sequence[Regime], method: str) -> str:
    """What GL wins back in the very settings of another helper, where those are not all of GL's."""
    had = [r for r in hurt if recovered(r.group, method) is not None]
    shares = [s.mean for r in had if (s := recovered(r.group, "gl")) is not None]
    if method == "gl" or not shares or len(had) == len(hurt):
        return ""
    return f" (GL in the same ones: {100 * median(shares):.0f} %)"


def _grid(found: Sequence[Regime]) -> str:
    head = ["in-distribution + OOD", "labels", "alpha", "schedule", "seeds", "oracle", "standard", "cost"]
    head += [*map(names.method_title, HELPERS), "what helps"]
    body = []
    for regime in found:
        group = regime.group
        line = [
            f"{names.dataset_title(str(group.get('dataset')))} + {names.ood_title(str(group.get('ood')))}",
            str(group.get("labels")),
            f"{group.get('alpha'):g}",
            f"{group.get('epochs')} epochs, {names.shape(group.cell)}{names.part(group.cell)}",
            str(regime.cost.n),
        ]
        line += [_mean(group, "oracle"), _mean(group, "standard"), f"{regime.cost.mean:+.2f}"]
        line += [_mean(group, m, regime.cost.n) + _won_back(regime, m) for m in HELPERS]
        body.append([*line, regime.verdict])
    return markdown_grid(head, body, words=(0, 1, 3, len(head) - 1))


def _won_back(regime: Regime, method: str) -> str:
    won = recovered(regime.group, method) if regime.hurts else None
    return "" if won is None else f" ({share(won)} %)"


def _mean(group: Group, method: str, seeds: int = 0) -> str:
    """Mean and spread; with how many seeds, where that is not the number told."""
    found = spread(group.values(method))
    if found is None:
        return "-"
    return str(found) + (f" (n={found.n})" if seeds and found.n != seeds else "")


FACTORS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("preset", "schedule", {"fast": "short (one cycle)", "paper-warm": "long (steps after a high rate)"}),
    ("dataset", "classes", {"cifar10/8": "few (8)", "tiny-imagenet/100": "many (100)"}),
    ("ood", "OOD samples", {"other-classes": "near (other classes)", "svhn": "far (SVHN)"}),
    ("labels", "labels", {"random": "random", "specific": "specific"}),
)
"""(setting, its name in prose, its two values): what the experiment `regimes` varies."""


def _factors(found: Sequence[Regime]) -> list[str]:
    """One line a factor: the cost and the gains at its two values, over settings equal in all else."""
    body, sentences = [], []
    for name, title, (low, high) in ((n, t, tuple(levels.items())) for n, t, levels in FACTORS):
        pairs = _matched(found, name, low[0], high[0])
        if not pairs:
            continue
        for place, level in enumerate((low, high)):
            side = [pair[place] for pair in pairs]
            body.append(
                [
                    f"{title}: {level[1]}",
                    str(len(side)),
                    f"{fmean(r.cost.mean for r in side):+.1f}",
                    *[_side_gain(side, method) for method in HELPERS],
                ]
            )
        cost = from_differences([b.cost.mean - a.cost.mean for a, b in pairs])
        gain = from_differences([b.gains["gl"].mean - a.gains["gl"].mean for a, b in pairs])
        if cost is not None and gain is not None:
            sentences.append(
                f"- **{title[:1].upper()}{title[1:]}**, {high[1]} against {low[1]}: OOD samples "
                f"{_more('cost', cost)} ({cost}), and GL {_more('gain', gain, 's')} ({gain})."
            )
    head = ["factor", "settings", "cost, points", *[f"{names.method_title(m)} - Standard" for m in HELPERS]]
    return [*sentences, "", markdown_grid(head, body)] if body else []


def _more(verb: str, contrast: Comparison, ending: str = "") -> str:
    if contrast.state == "same":
        return f"{'is' if ending else 'are'} not shown to {verb} more or less"
    return f"{verb}{ending} {'more' if contrast.state == 'higher' else 'less'}"


def _side_gain(side: Sequence[Regime], method: str) -> str:
    gains = [r.gains[method].mean for r in side if method in r.gains]
    if not gains:
        return "-"
    return f"{fmean(gains):+.1f}" + ("" if len(gains) == len(side) else f" ({len(gains)} of them)")


def _matched(found: Sequence[Regime], name: str, low: str, high: str) -> list[tuple[Regime, Regime]]:
    """Pairs of regimes that differ in one factor alone."""
    others = [factor for factor, _, _ in FACTORS if factor != name]

    def key(regime: Regime) -> tuple[str, ...]:
        return tuple(str(regime.group.get(other)) for other in (*others, "alpha", "net", "train_size"))

    at_low = {key(r): r for r in found if r.group.get(name) == low}
    at_high = {key(r): r for r in found if r.group.get(name) == high}
    return [(at_low[k], at_high[k]) for k in sorted(set(at_low) & set(at_high))]
