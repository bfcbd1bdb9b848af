"""The parts of the page that explain: how claims are judged, errata, data; what has numbers computes them."""

from __future__ import annotations

from statistics import fmean

import numpy as np
from scipy import stats

from graylearn.errors import counted
from reproduction import names, paper
from reproduction.columns import NOT_AT_HAND
from reproduction.experiments import EXPERIMENTS
from reproduction.grids import PAPER_IMAGES
from reproduction.page.evidence import LEAST, Evidence
from reproduction.page.text import joined
from reproduction.render import markdown_grid
from reproduction.statistics import MARGIN, WILCOXON_FROM, compare, state_of

HOW_JUDGED = f"""## How a claim is judged

A claim falls into parts, one for each setting it speaks of. A part is **yes** where the numbers show it,
**no** where they show the opposite, **open** where no difference shows. All yes: the claim holds. Some yes,
and no fewer than are no: it holds in part. Else it does not hold, which means that we did not see it, not
that it can never be.

A difference is *shown* where its paired test over seeds is below 5 % (two-sided; Wilcoxon's signed-rank test
from {WILCOXON_FROM} pairs, the t test with 2 to {WILCOXON_FROM - 1}), or where fewer pairs all point one way
and their mean is more than {MARGIN} points. With one seed the second is all there is: such parts are the
weaker ones, the number of pairs is always given, and a verdict that has nothing better says *one seed*: take
it as a first look. Under one seed all methods saw the same split and the same OOD samples; means are over all
seeds a method has, the difference behind them over those that both have. The tests speak of other seeds on
the same data, not of other data.

The paper trains images for {PAPER_IMAGES.epochs} epochs in batches of {PAPER_IMAGES.batch_size}. Of runs
that differ in schedule alone, those nearest to that which have the methods a claim speaks of judge it; a
setting with less than {LEAST:g} of the epochs of the longest does not. How many epochs that were stands
beside each verdict, and what shorter runs say below it, where it judges nothing. A verdict from a tenth of
the epochs is one about short training. Where a line does not say *warm-up* or *one cycle*, the rate is .1
from the first step on, as in the paper; in a run of few epochs
[the luck of those first steps](measurements.md#the-first-steps-of-a-run) is worth a point or two to the end.

*Oracle* is standard training on the in-distribution samples alone. `gl` is Gray Learning with C = max Q, as
the authors' code trains it; `gl-label` has the C = Q(y | x) of their text. Ours are `gl-relative`, whose C is
max Q over the median of the batch, at most 1, `gl-history`, whose C is the square of the label's mean
probability over all epochs so far against the median of its class, and `gl+refine`: `gl`, an audit of the
training set, and a second network, trained as long on what the audit believes of each label; one network
answers, not a committee. SRCC is [a reconstruction](../reference/methods.md) from an abstract, and learns
from mixed pairs besides. *Gap won back* is (method - standard) / (oracle - standard), quoted where the gap is
a point or more. Accuracies are in percent, differences in points. ± is over seeds, or over the settings of a
mean over settings; a median stands beside a mean that a few runs carry away."""

ERRATA = """## Errata of the theory

Worked out, with the code that computes the corrected identity, on [the theory page](../how/theory.md).
In short:

    L_M = L_G + r        r = (1 - C)(L_C - L_G) <= 0        (C held constant in the gradient)

- Theorem 2 prints the risk as -∫ log L_G under r <= lambda. It is ∫ (L_G + r): no log, and r is added, not a
  constraint. Its r has Q_y in a sum where Q_k is meant, and a display of its proof drops a log.
- r is never positive, so a cap lambda > 0 binds nothing; that lambda shrinks during training, as the text has
  it, describes nothing that happens.
- Theorem 3 uses x^y >= x / (x + y) inside a log and then drops the log: its left side is negative, its right
  side positive. E sup <= sup sqrt(sum h^2) runs the wrong way. Statement, proof and condition disagree on c
  or z and on K or sqrt K. Its bound is what the authors state, not what is proved.
- With the gradient through C, as the formulas read, training starts by unlearning every label from 20 classes
  on. The released code holds C constant, and so do we."""


def noise(evidence: Evidence) -> str:
    """How much one seed can say: how a difference varies with the seed, and what the margin is worth."""
    variances: dict[str, list[float]] = {}  # settings differ too much to be one
    for group in evidence.every_group:
        found = compare(group.values("gl"), group.values("standard"))
        if group.get("kind") == "image" and found is not None and found.sd is not None:
            begin = "after a warm-up" if group.get("preset") != "paper" else "at the full rate at once"
            place = f"on {names.dataset_title(str(group.get('dataset')))} {begin}"
            variances.setdefault(place, []).append(found.sd**2)
    start = (
        "Parts are not corrected for being many: of a hundred without any effect, about five would pass a "
        "test, one way or the other. "
    )
    told = [f"{_by_chance(own)} {place}" for place, own in variances.items()]
    if not told:
        return f"{start}No image setting has several seeds yet, so what one seed is worth is not known."
    return (
        f"{start}How many without any effect would pass the margin of {MARGIN} points follows from how much "
        "GL - Standard varies from seed to seed in the image settings that have several: with one, two and "
        f"three pairs about {'; '.join(told)}. Smaller training sets vary more."
    )


def _by_chance(variances: list[float]) -> str:
    """How often chance alone counts as a difference with few seeds, and the spread that says so."""
    sd = fmean(variances) ** 0.5
    rates = [f"{100 * _false_alarms(sd, pairs):.0f}" for pairs in (1, 2, 3)]
    return f"{joined(rates)} % (it varies by {sd:.2f} points, {counted(len(variances), 'setting')})"


def _false_alarms(sd: float, pairs: int, draws: int = 4000) -> float:
    """The share of so many pairs without any effect that `state_of` takes for a difference."""
    if pairs == 1:
        return float(2 * stats.norm.sf(MARGIN / sd)) if sd > 0 else 0.0
    numbers = sd * np.random.default_rng(0).standard_normal((draws, pairs))
    tests = np.asarray(stats.ttest_1samp(numbers, 0.0, axis=1).pvalue)
    return fmean(state_of(row, p) != "same" for row, p in zip(numbers.tolist(), tests, strict=True))


def own_numbers() -> str:
    """Where the paper's own tables and text disagree, computed from what it prints."""
    lines = ["## Where the paper's numbers disagree among themselves", ""]
    for method in paper.METHODS:
        mean = sum(line[method] for line in paper.TABLE2.values()) / len(paper.TABLE2)
        printed = paper.TABLE2_AVERAGE[method]
        if abs(mean - printed) > 0.1:
            title = names.method_title(method)
            lines.append(
                f"- Table 2 prints the average of {title} as {printed:.1f}; its lines give {mean:.1f}."
            )
    exceptions = []
    for (dataset, labels), line in paper.TABLE1.items():
        lowest = min(line, key=lambda method: line[method])
        if lowest != "spl":
            exceptions.append(
                f"{names.dataset_title(dataset)}, {labels} labels ({names.method_title(lowest)} "
                f"{line[lowest]:.1f}, SPL {line['spl']:.1f})"
            )
    if exceptions:
        listed = "; ".join(exceptions)
        lines.append(
            f"- The text calls SPL the least accurate on every image set. Table 1 says otherwise: {listed}."
        )
    lines += [
        "- The dataset table gives 1024 features to images of 32 x 32 x 3 values, 150 features to Iris, "
        "which has 4, and 100,000 rows to Skyserver, whose published file has 10,000.",
        "- The settings name SqueezeNet among the six networks; the experiments speak of SENet18.",
    ]
    return "\n".join(lines)


def data(evidence: Evidence) -> str:
    """What was not at hand, and what stands in."""
    lines = ["## Data that was not at hand", ""]
    every = evidence.records(*EXPERIMENTS)
    used = {str(record.get(field)).split("/")[0] for record in every for field in ("dataset", "ood")}
    for dataset in NOT_AT_HAND:
        state = "measured" if dataset in used else names.needs(dataset)
        lines.append(f"- **{names.dataset_title(dataset)}**: {state}.")
    lines += [
        "",
        "Tiny-ImageNet (200 classes, at 32 x 32) stands in twice: 100 of its classes against the other 100 "
        "for CIFAR-100, and, without the 30 classes that are CIFAR-10's too, as the source of OOD samples "
        "in place of Mini-ImageNet, in ten groups of 17 classes instead of ten of 10. Where it stands in, "
        "the training set is not the paper's: the absolute numbers may differ for that alone, and a "
        "difference between methods is what can be compared.",
        "",
        "Arrhythmia is cut to 5,769 in-distribution samples, the largest part in which its smallest class "
        "makes up the paper's alpha of .1. The training sets of the tables, as they were:",
        "",
        _sizes(evidence),
    ]
    return "\n".join(lines)


def _sizes(evidence: Evidence) -> str:
    """Rows of each table's training set, and the share of OOD samples that was reached."""
    body = []
    for dataset, printed in paper.INSTANCES.items():
        line = [names.dataset_title(dataset), f"{printed:,}"]
        for protocol in ("paper", "released"):
            found = [
                record.measured
                for record in evidence.records("table2")
                if (record.get("dataset"), record.get("protocol")) == (dataset, protocol)
                and record.measured.get("ood_samples")
            ]
            if found:
                samples, ood = (fmean(float(m[name]) for m in found) for name in ("samples", "ood_samples"))
                line.append(f"{samples:,.0f}, of them {100 * ood / samples:.1f} % OOD")
            else:
                line.append("-")
        body.append(line)
    head = ["", "rows, says the paper", "training set, `paper`", "training set, `released`"]
    return markdown_grid(head, body)
