"""docs/lab/reproduction.md: page.md, with every number and every sentence of outcome computed."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from math import e, log
from pathlib import Path
from statistics import fmean

from graylearn.errors import counted
from reproduction import names, paper
from reproduction.cells import told
from reproduction.experiments import EXPERIMENTS
from reproduction.page.claims import RULES
from reproduction.page.evidence import Evidence, Setting, gain_of, grid, where
from reproduction.page.verdicts import RULES as WORDS
from reproduction.page.verdicts import SEEDS, Judgement, Part
from reproduction.records import Group
from reproduction.statistics import Interval, spread

DASH = "-"
NOT_RUN = "Not run."
NEAR = 2.0
"""Points from the majority share that count as a constant predictor's accuracy."""
REACHED = 2.0
"""Points: readings whose gains all stay below are said not to reach the paper's ten."""
NORMALISED = {"normalised": True}
WIDTH = 118


def page(evidence: Evidence) -> str:
    """The whole page."""
    judged = {claim.name: RULES[claim.name](evidence) for claim in paper.CLAIMS}
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    filled = text.format_map(
        {
            "verdict": verdict(evidence, judged),
            "table1": table1(evidence),
            "others": table1_others(evidence),
            "table2": table2(evidence),
            "weights": weights(evidence),
            **epoch_tests(evidence),
            "words": WORDS,
            "claims": claims(judged),
            "untested": untested(judged),
            "two_classes": two_classes(evidence),
            "constants": constants(evidence),
            "floor": f"{log(e + 1) - 1:.2f}",
            "iris": iris(evidence),
            "levels": levels(evidence),
            "decay": decay(evidence),
            "cost": cost(evidence),
            "memorised": memorised(evidence),
            "hurt": hurt(evidence),
            "averages": averages(),
            "stellar": stellar(evidence),
        }
    )
    return wrapped(filled)


def wrapped(text: str) -> str:
    """Paragraphs and list items in lines of equal width; tables, headings and figures as they are."""
    made = []
    for block in text.strip().split("\n\n"):
        if block.startswith(("|", "#", "!")):
            made.append(block)
        elif block.startswith("- "):
            made.append("\n".join(_filled(item, "  ") for item in re.split(r"\n(?=- )", block)))
        else:
            made.append(_filled(block))
    return "\n\n".join(made) + "\n"


def _filled(text: str, indent: str = "") -> str:
    words = " ".join(text.split())
    return textwrap.fill(
        words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def mean_of(group: Group | None, method: str, measure: str = "accuracy", digits: int = 1) -> str:
    """The mean over seeds, or a dash."""
    values = {} if group is None else group.values(method, measure)
    return f"{fmean(values.values()):.{digits}f}" if values else DASH


def value_of(group: Group | None, method: str) -> str:
    """The same with the standard deviation, from three seeds on."""
    found = None if group is None else spread(group.values(method))
    return str(found) if found is not None and found.n > 2 else mean_of(group, method)


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def readings(evidence: Evidence) -> list[tuple[Group, str]]:
    """(group, method) of each reading of Gray Learning on CIFAR-100 that stands beside standard training."""
    found = where(evidence.groups("table1", "readings"), dataset="cifar100", epochs=200)
    return [
        (group, method)
        for group in found
        for method in group.methods
        if method.partition(" ")[0] == "gl" and gain_of(group, method) is not None
    ]


def quoted(evidence: Evidence) -> str:
    """What the runs carry of the paper's most surprising number; the front page quotes it."""
    found: dict[str, list[Interval]] = {}
    for group, method in readings(evidence):
        if (gain := gain_of(group, method)) is not None:
            found.setdefault(f"{method} {group.get('alpha')} {group.get('recipe')}", []).append(gain)
    if not found:
        return "CIFAR-100 was not run."
    largest = max(gain.mean for gains in found.values() for gain in gains)
    if largest > REACHED:
        return f"The largest gain on CIFAR-100 under {len(found)} readings is {largest:+.1f} points."
    single = sum(max(gain.n for gain in gains) == 1 for gains in found.values())
    return (
        "The ten points that the paper gains on CIFAR-100 were not reached under any of "
        f"{len(found)} readings of its protocol ({single} of them with one seed)."
    )


def levels(evidence: Evidence) -> str:
    """CIFAR-100 under each other reading."""
    body = []
    for group, method in sorted(
        readings(evidence), key=lambda each: (len(each[0].get("recipe", {})), each[1])
    ):
        ways = (told(group.get("recipe", {})), method.partition("(")[2].rstrip(")"))
        if not any(ways):
            continue  # Table 1 has it
        trained = ", ".join(filter(None, ways))
        ends = [value_of(group, each) for each in ("standard", method)]
        gain = str(gain_of(group, method))
        body.append([trained, str(group.get("labels")), *ends, gain, value_of(group, "oracle")])
    return grid(["trained", "labels", "Standard", "GL", "GL - standard", "Oracle"], body, words=(0, 1))


def verdict(evidence: Evidence, judged: dict[str, Judgement]) -> str:
    """What reproduces, what cannot, what is untested; no word that the judgements do not have."""
    counts = Counter(judgement.word for judgement in judged.values())
    held = counts["reproduced"]
    said = [
        f"Of {len(judged)} claims about Gray Learning (GL) that runs can judge, {held} "
        f"{'is' if held == 1 else 'are'} reproduced, "
        f"{counts['contradicted']} are contradicted, {counts['no difference seen']} show no difference, and "
        f"{counts['not tested']} were not tested as in the paper."
    ]
    of_word = {word: [c for c in paper.CLAIMS if judged[c.name].word == word] for word in counts}
    if of_word.get("reproduced"):
        told = [f"{claim.text} ({_telling(judged[claim.name])})" for claim in of_word["reproduced"]]
        said.append(f"**Reproduced.** {'; '.join(told)}.")
    if of_word.get("no difference seen"):
        said.append(
            f"**No difference seen.** {'; '.join(claim.text for claim in of_word['no difference seen'])}."
        )
    contrary = [part for part in judged["images-standard"].parts if part.word == "contradicted"]
    if contrary or judged["tables-standard"].word == "contradicted":
        said.append("**Contradicted.**")
    if contrary:
        gains = [f"{_spelled(part)} (printed: {part.printed:+.1f})" for part in contrary]
        said[-1] += (
            " The gain over standard training on the paper's own images, three seeds: "
            f"{listed(gains)}. {quoted(evidence)}"
        )
    if judged["tables-standard"].word == "contradicted":
        said[-1] += (
            " The gains on tables: on the four whose published file we have whole, GL is not above standard "
            "training, neither by the text (ten seeds) nor by the authors' loop (five)."
            f"{_constant(evidence)}"
        )
    untested = "" if contrary else f" {quoted(evidence)}"
    untried = own_source(evidence)
    source = f"{untried} with the paper's source of OOD samples, " if untried else ""
    said.append(
        f"**Not tested.** {source}other methods on CIFAR-100, sources and networks at full length: "
        f"{_made(evidence)}{untested}"
    )
    return "\n\n".join(said)


def _spelled(part: Part) -> str:
    return f"{part.what[:-2]}, {'random' if part.what[-1] == 'r' else 'specific'} labels, {part.gain}"


def _telling(judgement: Judgement) -> str:
    """How many parts have the word of a claim on images, and the largest of them, if possible on own data."""
    found = [part for part in judgement.parts if part.word == judgement.word]
    largest = max(found, key=lambda part: (part.own, part.gain.mean))
    return f"{len(found)} of {len(judgement.parts)} settings: {_spelled(largest)}"


def _constant(evidence: Evidence) -> str:
    found = [names.dataset_title(name) for name, _ in constant(evidence)]
    return (
        f" What is printed for GL on {listed(found)} is what a constant predictor scores on our copies."
        if found
        else ""
    )


def _made(evidence: Evidence) -> str:
    """How much of what the paper's source of OOD images takes was run."""
    have = {record.row["key"] for found in evidence.by_experiment.values() for record in found}
    declared = {
        cell.key
        for experiment in EXPERIMENTS.values()
        for cell in experiment.cells()
        if cell.ood.startswith("mini-imagenet")
    }
    return (
        f"of {len(declared)} declared runs with Mini-ImageNet {len(declared & have)} were made "
        "([counts](reproduction-details.md#what-was-not-run))."
    )


OURS = ("standard", "gl", "gl-history", "gl+refine", "oracle")
"""The rows of Table 1 that every setting has, or that are ours."""


def table1(evidence: Evidence) -> str:
    """Images, printed / ours; printed alone where it was not run."""
    return _beside(evidence.settings(), OURS)


def table1_others(evidence: Evidence) -> str:
    """The other methods, in the settings in which some of them were run."""
    others = [method for method in paper.METHODS if method not in OURS]
    run = [s for s in evidence.settings() if s.group and any(s.group.values(each) for each in others)]
    return _beside(run, others) if run else NOT_RUN


def _beside(settings: Sequence[Setting], methods: Sequence[str]) -> str:
    body = []
    for method in methods:
        line = [names.method_title(method)]
        for setting in settings:
            printed = paper.TABLE1[setting.dataset, setting.labels].get(method)  # type: ignore[index]
            ours = value_of(setting.group, method)
            known = [str(each) for each in (printed, None if ours == DASH else ours) if each is not None]
            line.append(" / ".join(known) or DASH)
        body.append(line)
    return grid(["printed / ours", *(setting.title for setting in settings)], body)


def table2(evidence: Evidence) -> str:
    """Tables: standard training and GL, printed, by their loop and by the text."""
    body = []
    for dataset, printed in paper.TABLE2.items():
        text, loop = evidence.table(dataset), evidence.table(dataset, "released")
        scaled = evidence.table(dataset, "released", recipe=NORMALISED)
        if text is None and loop is None:
            continue
        share = mean_of(loop, "majority")
        line = [names.dataset_title(dataset), str(paper.CLASSES_LEFT[dataset]), share]
        for method, ways in (("standard", (loop, scaled, text)), ("gl", (loop, text))):
            told = value_of if method == "standard" else mean_of
            line += [str(printed[method]), *(told(group, method) for group in ways)]
        body.append(line)
    standard = ["Standard: printed", "their loop", "normalised", "text"]
    return grid(["", "K", "majority share", *standard, "GL: printed", "their loop", "text"], body)


def weights(evidence: Evidence) -> str:
    """How far w, normalising and longer training move GL from standard training."""
    found = [
        (gain.mean, f"{names.dataset_title(str(group.get('dataset')))}, {names.method_title(method)}")
        for group in evidence.groups("released")
        for method in group.methods
        if method.partition(" ")[0] == "gl" and (gain := gain_of(group, method))
    ]
    if not found:
        return "Other weights w were not run."
    near = sum(abs(gain) <= 1 for gain, _ in found)
    ends = " and ".join(f"{gain:+.1f} ({title})" for gain, title in (min(found), max(found)))
    return (
        "Over w of .1, .5 and .9, with and without normalised columns, for 10 and 100 epochs, GL - standard "
        f"stays within a point in {near} of {len(found)} settings; the extremes are {ends}."
    )


def epoch_tests(evidence: Evidence) -> dict[str, str]:
    """How far another epoch, or augmented test images, move an accuracy on CIFAR-100."""
    runs = [
        record.measured["epoch_tests"]
        for found in evidence.by_experiment.values()
        for record in found
        if record.cell["dataset"] == "cifar100" and "epoch_tests" in record.measured
    ]
    if not runs:
        return {"epochs": "not run", "augmented": "not run"}
    later = max(100 * (max(run["plain"]) - run["plain"][-1]) for run in runs)
    lower = [100 * (run["plain"][-1] - run["augmented"][-1]) for run in runs]
    return {
        "epochs": f"at most {later:.1f} above the last",
        "augmented": f"{min(lower):.1f} to {max(lower):.1f} lower",
    }


def own_source(evidence: Evidence) -> str:
    """Where CIFAR-10 and SVHN have too few seeds with the paper's source of OOD samples."""
    own = {(s.dataset, s.labels): gain_of(s.group) for s in evidence.settings() if not s.stand_in}
    found = []
    for dataset in ("cifar10", "svhn"):
        gains = {labels: own.get((dataset, labels)) for labels in ("specific", "random")}
        few = [
            f"{labels} labels" + (f", {counted(gain.n, 'seed')}: {gain}" if gain else "")
            for labels, gain in gains.items()
            if gain is None or gain.n < SEEDS
        ]
        title = names.dataset_title(dataset)
        if few:
            found.append(f"{title} ({'; '.join(few)})" if any(gains.values()) else title)
    return listed(found)


def claims(judged: dict[str, Judgement]) -> str:
    """One row for each claim that runs decide."""
    body = []
    for claim in paper.CLAIMS:
        judgement = judged[claim.name]
        if judgement.word != "not tested":
            body.append([claim.text, claim.printed or DASH, judgement.ours, judgement.own, judgement.verdict])
    head = ["claim", "paper", "ours, points ± half of the 95 % interval", "the paper's own data?", "verdict"]
    return grid(head, body, words=range(5)) if body else "No claim was tested."


def untested(judged: dict[str, Judgement]) -> str:
    """The other claims, with what was seen."""
    told = []
    for claim in paper.CLAIMS:
        judgement = judged[claim.name]
        if judgement.word == "not tested":
            printed = f" ({claim.printed})" if claim.printed and claim.printed != "figure" else ""
            told.append(f"- {claim.text}{printed}: {judgement.ours}.")
    return "\n".join(told)


def two_classes(evidence: Evidence) -> str:
    """The printed and the measured gains where there can be none."""
    tables = [name for name, left in paper.CLASSES_LEFT.items() if left == 2]
    printed = [
        f"{names.dataset_title(name)} {paper.TABLE2[name]['gl'] - paper.TABLE2[name]['standard']:+.1f}"
        for name in tables
    ]
    ours = [
        gain
        for name in tables
        for protocol in ("paper", "released")
        if (gain := gain_of(evidence.table(name, protocol))) is not None
    ]
    far = max((abs(gain.mean) for gain in ours), default=0.0)
    return (
        f"{listed(printed)} points are printed; ours, by the text and by their loop, are {far:.1f} at most."
    )


def constant(evidence: Evidence) -> list[tuple[str, float]]:
    """(table, majority share) where the accuracy printed for GL is that of a constant predictor."""
    shares = {
        name: fmean(loop.values("majority").values())
        for name in paper.TABLE2
        if (loop := evidence.table(name, "released")) is not None and loop.values("majority")
    }
    return [(name, share) for name, share in shares.items() if abs(paper.TABLE2[name]["gl"] - share) <= NEAR]


def constants(evidence: Evidence) -> str:
    """What is printed and measured on these tables."""
    ranges = []
    for name, _ in constant(evidence):
        loop = evidence.table(name, "released")
        seeds = [] if loop is None else list(loop.values("standard").values())
        ranges.append(f"{min(seeds):.0f} to {max(seeds):.0f}" if seeds else DASH)
    if not ranges:
        return "No accuracy printed for GL is within two points of the share of the largest class."
    tables = listed([names.dataset_title(name) for name, _ in constant(evidence)])
    flat = [
        names.dataset_title(name)
        for name in paper.TABLE2
        if (text := evidence.table(name)) is not None
        and text.values("standard")
        and text.values("standard") == text.values("gl") == text.values("majority")
    ]
    by_text = f" By the text standard training and GL score just that on {listed(flat)}." if flat else ""
    return (
        f"On {tables} the accuracy printed for GL is within two points of the majority share. Standard "
        f"training scores {listed(ranges)} in their loop, by seed.{by_text}"
    )


def iris(evidence: Evidence) -> str:
    """Ten steps in all."""
    short, long = (mean_of(evidence.table("iris", "released", epochs=epochs), "gl") for epochs in (10, 100))
    return (
        f"Iris, zipped with few OOD rows, is trained for ten steps; GL ends at {short}, and at "
        f"{long} after 100 epochs, where {paper.TABLE2['iris']['gl']} is printed."
    )


def decay(evidence: Evidence) -> str:
    """What stands out of these readings."""
    found = [group for group, _ in readings(evidence)]
    usual = [group for group in found if group.get("recipe") is None]
    if not usual:
        return NOT_RUN
    printed = [line for (dataset, _), line in paper.TABLE1.items() if dataset == "cifar100"]
    lowest = min(fmean(group.values("standard").values()) for group in found)
    return (
        f"The {listed([str(line['gl']) for line in printed])} printed for GL are about what standard "
        f"training reaches with both. Its printed {listed([str(line['standard']) for line in printed])} were "
        f"not reached: our lowest mean is {lowest:.1f}."
    )


def cost(evidence: Evidence) -> str:
    """What OOD samples cost standard training."""
    settings = evidence.settings()
    found = [lost.mean for s in settings if (lost := gain_of(s.group, "oracle", "standard"))]
    other = [lost.mean for g, _ in readings(evidence) if (lost := gain_of(g, "oracle", "standard"))]
    if not found:
        return NOT_RUN
    return (
        "Rejecting every OOD sample can win what they cost: at alpha .1 at most "
        f"{max(found):.1f} points, {max(found + other):.1f} under any reading."
    )


def memorised(evidence: Evidence) -> str:
    """Whose labels are learned at the end of CIFAR-100's 200 epochs."""
    told = []
    for setting in evidence.settings():
        if setting.dataset == "cifar100" and setting.group is not None:
            shares = [mean_of(setting.group, m, "train_accuracy", 2) for m in ("standard", "gl")]
            told.append(f"{listed(shares)} % with {setting.labels} labels")
    if not told:
        return NOT_RUN
    kept = [
        fmean(values.values())
        for group, method in readings(evidence)
        if "weight_decay" in group.get("recipe", {}) and (values := group.values(method, "train_accuracy"))
    ]
    bare = f", and without weight decay most random ones too ({min(kept):.1f} % in all)" if kept else ""
    return (
        "At the end on CIFAR-100 standard training and GL predict the given label of "
        f"{listed(told)}. GL learned few of the OOD samples' random labels, but labels that follow the OOD "
        f"class like any other{bare}."
    )


def hurt(evidence: Evidence) -> str:
    """A case of our own in which OOD samples cost more."""
    setting = {"dataset": "tiny-imagenet/100", "ood": "other-classes", "labels": "random"}
    whole = evidence.images(**setting)
    short = where(evidence.groups("regimes"), **setting, epochs=60, preset="paper-warm", train_size=None)
    if not whole or not short or (lost := gain_of(whole[0], "oracle", "standard")) is None:
        return NOT_RUN
    gains = [
        f"{names.method_title(m)} {gain}"
        for m in ("gl", "gl-history", "gl+refine")
        if (gain := gain_of(whole[0], m))
    ]
    return (
        "In 100 classes of Tiny-ImageNet with the other 100 as OOD samples, a case of ours, random labels "
        f"cost {lost} points in 200 epochs at alpha .1. Against standard training, three seeds: "
        f"{', '.join(gains)}. In 60 epochs at alpha .2, before it has learned these labels, GL gains "
        f"{gain_of(short[0])}."
    )


def averages() -> str:
    """The averages under Table 2 that are not those of its lines."""
    means = {m: fmean(line[m] for line in paper.TABLE2.values()) for m in paper.METHODS}
    return " and ".join(
        f"{names.method_title(m)} {mean:.1f} (printed {paper.TABLE2_AVERAGE[m]})"
        for m, mean in means.items()
        if abs(mean - paper.TABLE2_AVERAGE[m]) > 0.1
    )


def stellar(evidence: Evidence) -> str:
    """How many rows of Stellar each protocol had."""
    told = []
    for protocol, words in (("released", "in their loop"), ("paper", "by the text")):
        group = evidence.table("stellar", protocol)
        runs = [] if group is None else list(group.by_method.get("standard", {}).values())
        if runs:
            samples = fmean(float(run.measured["samples"]) for run in runs)
            told.append(f"{samples:,.0f} training rows {words}")
    return ", ".join(told) or DASH
