"""What a judgement is: a claim's parts, each shown, contradicted or open, and the verdict they give.

A claim falls into parts, one a setting it speaks of. Each part is `yes` (the numbers show it), `no` (they
show the opposite) or `open` (no difference shown). All yes: it holds. Some yes, and no
fewer than are no: it holds in part. Else it does not hold. No part measured: not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from reproduction import names, paper
from reproduction.records import Group
from reproduction.statistics import LEVEL, MARGIN, Comparison, compare, expected_maximum, spread

State = Literal["yes", "no", "open"]
Verdict = Literal["holds", "holds in part", "does not hold", "not measured"]


@dataclass(frozen=True)
class Part:
    """One setting that a claim speaks of."""

    what: str
    """The setting."""
    state: State
    """Whether the numbers show the claim there."""
    numbers: str
    """The numbers."""
    seeds: int
    """How many seeds a side they rest on."""
    tested: bool = False
    """Whether a test below 5 % shows it; else it is the margin, or a rule of its own."""


@dataclass(frozen=True)
class Judgement:
    """A claim, judged."""

    rule: str
    """When a part is yes, in one sentence."""
    parts: tuple[Part, ...]
    """What was measured."""
    groups: tuple[Group, ...]
    """The settings it was measured in."""
    experiment: str
    """The experiment that measures it."""
    headline: str = ""
    """The one number to quote beside the paper's."""
    methods: tuple[str, ...] = ("gl", "standard")
    """The methods that the rule reads."""
    beside: tuple[Part, ...] = ()
    """The same of schedules further from the paper's: they judge nothing."""

    @property
    def verdict(self) -> Verdict:
        """By the rule that all claims share."""
        states = [part.state for part in self.parts]
        if not states:
            return "not measured"
        if all(state == "yes" for state in states):
            return "holds"
        shown, contradicted = states.count("yes"), states.count("no")
        return "holds in part" if shown > 0 and shown >= contradicted else "does not hold"

    @property
    def one_seed(self) -> bool:
        """Whether what decides it has one seed a side: the parts that show it, else all of them."""
        shown = [part for part in self.parts if part.state == "yes"]
        deciding = shown if shown and self.verdict != "does not hold" else self.parts
        return bool(deciding) and all(part.seeds <= 1 for part in deciding)

    @property
    def spoken(self) -> str:
        """The verdict as the page has it."""
        return f"**{self.verdict}**" + (" (one seed)" if self.one_seed else "")

    @property
    def epochs(self) -> tuple[int, int] | None:
        """The fewest and the most epochs of the image runs that judge it; None where there are none."""
        images = [g for g in self.groups if g.get("kind") == "image" and any(map(g.values, self.methods))]
        lengths = [int(group.get("epochs")) for group in images]
        return (min(lengths), max(lengths)) if lengths and self.parts else None

    def count(self, state: State) -> int:
        """How many parts are in a state."""
        return sum(part.state == state for part in self.parts)


def part_for(what: str, comparison: Comparison, numbers: str, wanted: str = "higher") -> Part:
    """The part that a comparison over seeds decides."""
    state = state_for(comparison, wanted)
    return Part(what, state, numbers, comparison.n, tested=comparison.p is not None and comparison.p < LEVEL)


def state_for(comparison: Comparison, wanted: str = "higher") -> State:
    """`yes` where the difference goes the wanted way, `no` where the other, `open` where none shows."""
    if comparison.state == "same":
        return "open"
    return "yes" if comparison.state == wanted else "no"


IN_TITLE = ("ood", "labels", "alpha", "net", "epochs")
"""Of a setting, beside its dataset, in a list of settings of all kinds."""


def group_title(group: Group, *shown: str) -> str:
    """A setting in a few words: its dataset, and those of `shown` that it has."""
    words = {
        "labels": lambda v: f"{v} labels",
        "ood": lambda v: f"OOD {names.ood_title(v)}",
        "epochs": lambda v: names.length(group.cell),
        "alpha": lambda v: f"alpha {v:g}",
        "protocol": lambda v: f"protocol {v}",
    }
    parts = [names.dataset_title(str(group.get("dataset")))]
    parts += [words.get(name, str)(group.get(name)) for name in shown if group.get(name) is not None]
    return ", ".join(parts)


def versus(group: Group, first: str, second: str, measure: str = "accuracy") -> tuple[str, Comparison] | None:
    """The words and the comparison of two methods in a group; None where they share no seed."""
    one, two = group.values(first, measure), group.values(second, measure)
    found = compare(one, two)
    if found is None:
        return None
    left, right = spread(one), spread(two)
    return f"{names.method_title(first)} {left}, {names.method_title(second)} {right}: {found}", found


def pairwise(
    found: Sequence[Group],
    first: str,
    second: str,
    *shown: str,
    wanted: str = "higher",
    measure: str = "accuracy",
) -> list[Part]:
    """One part a group: is the first method's measure higher (or lower) than the second's?"""
    return [
        part_for(group_title(group, *shown), pair[1], pair[0], wanted)
        for group in found
        if (pair := versus(group, first, second, measure)) is not None
    ]


def most_seeds(found: Sequence[Group], method: str) -> int:
    """The most seeds that a method has in one group."""
    return max(len(group.values(method)) for group in found)


def gains_of(
    found: Sequence[Group], first: str, second: str = "standard", measure: str = "accuracy"
) -> list[float]:
    """By group, the mean difference of two methods over the seeds they share."""
    pairs = (compare(g.values(first, measure), g.values(second, measure)) for g in found)
    return [pair.mean for pair in pairs if pair is not None]


def middle(values: Sequence[float]) -> str:
    """`, median -0.3` where a few values far off carry the mean away; else nothing."""
    apart = len(values) > 3 and abs(fmean(values) - median(values)) > MARGIN
    return f", median {median(values):+.1f}" if apart else ""


def against_others(found: Sequence[Group], method: str, *shown: str, wanted: str = "higher") -> list[Part]:
    """One part a group: is a method above the best (or below the lowest) of the paper's others there?"""
    extreme, called = (max, "best") if wanted == "higher" else (min, "lowest")
    parts = []
    for group in found:
        others = {m: s for m in paper.METHODS if m != method and (s := spread(group.values(m)))}
        if len(others) < 3:
            continue
        rival = extreme(others, key=lambda other: others[other].mean)
        if (pair := versus(group, method, rival)) is not None:
            luck = _by_luck(group, len(others)) if wanted == "higher" and others[rival].n == 1 else ""
            text = f"{pair[0]}; {called} of {len(others)} others{luck}"
            parts.append(part_for(group_title(group, *shown), pair[1], text, wanted))
    return parts


def _by_luck(group: Group, count: int) -> str:
    """How far ahead the best of so many equal methods would be, as it is picked on one run of each."""
    variances = [
        s.sd**2 for m in group.by_method if (s := spread(group.values(m))) is not None and s.sd is not None
    ]
    if not variances:
        return ""
    return f" (by luck {expected_maximum(count) * fmean(variances) ** 0.5:.1f})"


def relative_headline(found: Sequence[Group]) -> str:
    """GL's relative gain over the best and the worst of the others, as the paper's text counts it.

    Best and worst by their mean over the settings; a gain is the mean of the relative gains, percent.
    """
    rivals = [m for m in paper.METHODS if m != "gl" and found and all(g.values(m) for g in found)]
    if len(rivals) < 3 or not all(g.values("gl") for g in found):
        return ""
    means = {m: [fmean(g.values(m).values()) for g in found] for m in (*rivals, "gl")}
    order = sorted(rivals, key=lambda method: fmean(means[method]))

    def gain(method: str) -> float:
        return fmean(100 * (a / b - 1) for a, b in zip(means["gl"], means[method], strict=True))

    gains = [gain(method) for method in rivals]
    return (
        f"GL {gain(order[-1]):+.1f} % against the best other ({names.method_title(order[-1])}), "
        f"{gain(order[0]):+.1f} % against the worst ({names.method_title(order[0])}), "
        f"{fmean(gains):+.1f} % in the mean and {median(gains):+.1f} % in the median of {len(gains)}"
    )


def gain_headline(found: Sequence[Group], first: str = "gl", second: str = "standard") -> str:
    """`GL - Standard: +0.4 ± 0.3 points over 6 settings`."""
    gains = gains_of(found, first, second)
    over = spread(gains)
    if over is None:
        return ""
    deviation = "" if over.sd is None else f" ± {over.sd:.1f}"
    over_what = f"over {over.n} settings" if over.n > 1 else "in one setting"
    compared = f"{names.method_title(first)} - {names.method_title(second)}"
    return f"{compared}: {over.mean:+.1f}{deviation} points {over_what}{middle(gains)}"
