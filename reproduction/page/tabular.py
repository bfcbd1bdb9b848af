"""Two explanations about the tables: two classes leave nothing to gain, and what the released code does."""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple

from reproduction import names, paper
from reproduction.options import PROTOCOLS
from reproduction.page.evidence import Evidence, where
from reproduction.page.rules.accuracy import tables_of
from reproduction.page.text import NOT_YET, joined, shown
from reproduction.records import Group
from reproduction.render.markdown import markdown_grid
from reproduction.statistics import Comparison, compare, from_differences, spread

TWO_CLASSES_TEST = "tests/reproduction/test_page_two_classes.py"
"""The test that trains the same network with five losses on two classes and finds one trajectory."""


def two_classes(evidence: Evidence) -> str:
    """Why four tabular rows cannot come from the loss."""
    two = [name for name, left in paper.CLASSES_LEFT.items() if left == 2]
    titles = joined([names.dataset_title(name) for name in two])
    lines = [
        f"Once the smallest class is taken out as OOD, {titles} have two classes left. With two classes the "
        "one complementary label's 1 - Q is the given label's Q, so L_C = L_G whatever the confidence: GL, "
        "NL, Standard+NL and cross entropy are one loss ([theory](../how/theory.md)). A gain of GL over "
        f"standard training there cannot come from the loss. `{TWO_CLASSES_TEST}` trains one network through "
        "the engine with each of them on Iris without its smallest class and finds the same weights and "
        "predictions, to rounding, after every epoch; with three classes they part.",
        "",
    ]
    body: list[list[str]] = []
    largest: Comparison | None = None
    for dataset in two:
        line = [names.dataset_title(dataset)]
        printed = paper.TABLE2[dataset]
        line.append(f"{printed['gl'] - printed['standard']:+.1f}")
        for protocol in PROTOCOLS:
            pair = _gain(where(tables_of(evidence, protocol), dataset=dataset))
            line.append("-" if pair is None else f"{pair.mean:+.2f} ({pair.n} seeds)")
            if pair is not None and (largest is None or abs(pair.mean) > abs(largest.mean)):
                largest = pair
        body.append(line)
    head = ["GL - Standard, points", "paper prints", *[f"ours, `{name}`" for name in PROTOCOLS]]
    lines += [markdown_grid(head, body), ""]
    if largest is None:
        return "\n".join([*lines, NOT_YET])
    lines.append(f"The largest of these differences is {abs(largest.mean):.2f} points{_why(largest)}")
    return "\n".join(lines)


ROUNDING = 0.5
"""Points of mean accuracy that rounding may grow into over a quiet training."""


def _why(largest: Comparison) -> str:
    """What a difference between trainings that are the same but for rounding comes from."""
    if abs(largest.mean) <= ROUNDING:
        return ": rounding, and what rounding grows into over a training."
    if largest.state == "same":
        return (
            f"; over the seeds none is shown: {largest}. On features as published, unscaled, training is "
            "chaotic: the last bit of a sum decides where it ends, and one method on inputs that differ in "
            "their last bits ends points apart."
        )
    return ", more than rounding explains: the two were not trained alike, and these rows need a look."


def _gain(found: list[Group]) -> Comparison | None:
    return compare(found[0].values("gl"), found[0].values("standard")) if found else None


def released_code(evidence: Evidence) -> str:
    """What softmax twice and unscaled features do to the baselines."""
    lines = [
        "The released code trains tables otherwise than the text says: its network ends in a softmax and "
        "the loss takes a softmax again, so no logit a loss sees is more than 1 above another and gradients "
        "stay small; features are not scaled; one hidden layer; all samples of a hand-picked class are OOD, "
        "their labels made from the sum of their features; some baselines are lighter than their names. "
        "`released` is that, `paper` is what the text says (two hidden layers, one softmax, features as "
        "published), and `tuned` scales the features and lets a validation set choose the epoch.",
        "",
    ]
    by_protocol = {name: tables_of(evidence, name) for name in PROTOCOLS}
    have = [name for name in PROTOCOLS if by_protocol[name]]
    if not have:
        return "\n".join([*lines, NOT_YET])
    body = []
    for dataset in paper.TABLE2:
        line = [names.dataset_title(dataset)]
        for method in ("standard", "gl"):
            line.append(f"{paper.TABLE2[dataset][method]:.1f}")
            for protocol in have:
                found = where(by_protocol[protocol], dataset=dataset)
                value = spread(found[0].values(method)) if found else None
                line.append("-" if value is None else str(value))
        body.append(line)
    head = ["accuracy, %"]
    for method in ("Standard", "GL"):
        head += [f"{method}, paper prints", *[f"{method}, `{name}`" for name in have]]
    lines += [markdown_grid(head, body), ""]
    lines += [f"- {sentence}" for sentence in _protocol_sentences(by_protocol, have) if sentence]
    return "\n".join(lines)


def _means(found: list[Group], method: str) -> dict[str, float]:
    """Dataset -> mean accuracy."""
    return {str(g.get("dataset")): s.mean for g in found if (s := spread(g.values(method)))}


def _protocol_sentences(by_protocol: dict[str, list[Group]], have: list[str]) -> list[str]:
    sentences = []
    standard = {name: _means(by_protocol[name], "standard") for name in have}
    for low, high in (("released", "paper"), ("released", "tuned"), ("paper", "tuned")):
        if low in have and high in have:
            sets = sorted(set(standard[low]) & set(standard[high]))
            found = from_differences([standard[high][name] - standard[low][name] for name in sets])
            verb = shown(found, "is shown to be above", "is shown to be below", "is not shown to differ from")
            if found is not None:
                means = [fmean(standard[p][name] for name in sets) for p in (high, low)]
                sentences.append(
                    f"Standard training under `{high}` {verb} `{low}`: {means[0]:.1f} against "
                    f"{means[1]:.1f} % in the mean of {len(sets)} sets (pairs: sets, {found})."
                )
    for name in have:
        gains = [
            pair.mean for g in by_protocol[name] if (pair := compare(g.values("gl"), g.values("standard")))
        ]
        if gains:
            best = _best_counts(by_protocol[name])
            sentences.append(
                f"GL - Standard under `{name}`: {fmean(gains):+.2f} points in the mean of {len(gains)} "
                f"sets; GL has the highest mean of the paper's ten methods in {best.alone} of {best.sets}, "
                f"and shares it with others in {best.shared}."
            )
    distances = {
        name: fmean(
            abs(value - paper.TABLE2[dataset]["standard"]) for dataset, value in standard[name].items()
        )
        for name in have
        if standard[name]
    }
    if len(distances) > 1:
        nearest = min(distances, key=lambda name: distances[name])
        listed = ", ".join(f"`{name}` {value:.1f}" for name, value in distances.items())
        sentences.append(
            "Mean distance of our standard training from the numbers the paper prints for it, points: "
            f"{listed}. The printed baselines are nearest to `{nearest}`."
        )
    return sentences


class Best(NamedTuple):
    """In how many sets GL has the highest mean."""

    alone: int
    """It alone."""
    shared: int
    """With others, to the digit that is shown."""
    sets: int
    """Those with at least three of the paper's other methods."""


def _best_counts(found: list[Group]) -> Best:
    alone = shared = total = 0
    for group in found:
        means = {m: round(s.mean, 1) for m in paper.METHODS if (s := spread(group.values(m)))}
        if "gl" in means and len(means) > 3:
            total += 1
            highest = [method for method, mean in means.items() if mean == max(means.values())]
            alone += highest == ["gl"]
            shared += "gl" in highest and len(highest) > 1
    return Best(alone, shared, total)
