"""docs/lab/reproduction.md: page.md, with every number and every sentence of outcome computed."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from math import e, log
from pathlib import Path
from statistics import fmean

from reproduction import names, paper
from reproduction.page.claims import RULES
from reproduction.page.evidence import Evidence, gain_of, grid, where
from reproduction.page.verdicts import RULES as WORDS
from reproduction.page.verdicts import Judgement
from reproduction.records import Group
from reproduction.statistics import spread

DASH = "-"
NOT_RUN = "Not run."
NEAR = 2.0
"""Points from the majority share that count as a constant predictor's accuracy."""
REACHED = 2.0
"""Points: readings whose gains all stay below are said not to reach the paper's ten."""
NORMALISED = {"normalised": True}
NO_DECAY = {"weight_decay": 0.0}
PLAIN_SGD = {"momentum": 0.0, "weight_decay": 0.0}
WAYS: tuple[tuple[dict[str, float] | None, str], ...] = (
    (None, "with momentum and weight decay"),
    (NO_DECAY, "without decay"),
    (PLAIN_SGD, "without either"),
)
HEADLINE = ("standard", "gl", "oracle")
WIDTH = 118


def page(evidence: Evidence) -> str:
    """The whole page."""
    judged = {claim.name: RULES[claim.name](evidence) for claim in paper.CLAIMS}
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    filled = text.format_map(
        {
            "verdict": verdict(evidence, judged),
            "table1": table1(evidence),
            "table2": table2(evidence),
            "weights": weights(evidence),
            "words": WORDS,
            "claims": claims(judged),
            "two_classes": two_classes(evidence),
            "constants": constants(evidence),
            "floor": f"{log(e + 1) - 1:.2f}",
            "iris": iris(evidence),
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
    gains = [gain.mean for group, method in readings(evidence) if (gain := gain_of(group, method))]
    if not gains:
        return "CIFAR-100 was not run."
    if max(gains) > REACHED:
        return f"The largest gain on CIFAR-100 under {len(gains)} readings is {max(gains):+.1f} points."
    return (
        "The ten points that the paper gains on CIFAR-100 were not reached under any of "
        f"{len(gains)} readings of its protocol."
    )


def plus_ten(evidence: Evidence) -> str:
    """The same with the accuracies behind it."""
    told = []
    for recipe, words in WAYS:
        found = [g for g, _ in readings(evidence) if (g.get("recipe"), g.get("labels")) == (recipe, "random")]
        numbers = [(names.method_title(m), mean_of(g, m)) for g in found[:1] for m in HEADLINE]
        if numbers:
            told.append(f"{', '.join(f'{name} {n}' for name, n in numbers if n != DASH)} % {words}")
    if not told:
        return quoted(evidence)
    line = paper.TABLE1["cifar100", "random"]
    printed = f"the paper prints {line['standard']} and {line['gl']}"
    return f"{quoted(evidence)} Random labels: {'; '.join(told)}; {printed}."


def verdict(evidence: Evidence, judged: dict[str, Judgement]) -> str:
    """What reproduces, what cannot, what is untested; no word that the judgements do not have."""
    counts = Counter(judgement.word for judgement in judged.values())
    group = next((s.group for s in evidence.settings() if s.own and s.labels == "specific"), None)
    separates = " against ".join(mean_of(group, m, "ood_auroc") for m in ("gl", "standard"))
    few = group is None or len(group.values("gl", "ood_auroc")) < 3
    seeds = "one seed" if few else "three seeds"
    lost = next((part.gain for part in judged["ood-hurts"].parts if part.word == "reproduced"), DASH)
    said = [
        f"Of {len(judged)} claims that runs can judge, {counts['reproduced']} are reproduced, "
        f"{counts['contradicted']} are contradicted, {counts['no difference seen']} show no difference, and "
        f"{counts['not tested as in the paper']} were not tested as in the paper."
    ]
    if judged["ood-hurts"].word == judged["separation"].word == "reproduced":
        said.append(
            f"**Reproduced.** OOD samples cost accuracy (CIFAR-10, specific labels: {lost} points), and Gray "
            "Learning (GL) separates them from the other samples better than cross entropy does (AUROC on "
            f"CIFAR-100, specific labels, {seeds}: {separates} %)."
        )
    contrary = [part for part in judged["images-standard"].parts if part.word == "contradicted"]
    if contrary or judged["tables-standard"].word == "contradicted":
        said.append("**Contradicted.**")
    if contrary:
        gains = [
            f"{part.what[:-2]}, {'random' if part.what[-1] == 'r' else 'specific'} labels, {part.gain} where "
            f"{part.printed:+.1f} is printed (more than {part.gain.high:+.1f} is excluded)"
            for part in contrary
        ]
        said[-1] += (
            " The gain over standard training on the paper's own images, three seeds: "
            f"{listed(gains)}. {plus_ten(evidence)}"
        )
    if judged["tables-standard"].word == "contradicted":
        said[-1] += (
            " The gains on tables: on the four whose published file we have whole, GL is not above standard "
            "training, neither by the paper's text (ten seeds) nor by the authors' loop (five). With two "
            "classes it cannot be: both losses are the same."
            f"{_constant(evidence)}"
        )
    alike = [part for part in judged["images-standard"].parts if part.word == "no difference seen"]
    if alike and judged["calibration-gl"].word == "no difference seen":
        said.append(
            "**No difference seen.** Accuracy and calibration on CIFAR-10, three seeds, with Tiny-ImageNet "
            "in place of Mini-ImageNet."
        )
    untested = "" if contrary else f" {plus_ten(evidence)}"
    said.append(
        "**Not tested.** CIFAR-10 and SVHN with the paper's source of OOD samples, the other methods on "
        f"CIFAR-100, sources and networks at full length.{untested} {_shares(evidence)}"
    )
    return "\n\n".join(said)


def _constant(evidence: Evidence) -> str:
    found = [names.dataset_title(name) for name, _ in constant(evidence)]
    return f" What is printed for GL on {listed(found)} is what a constant predictor scores." if found else ""


def _shares(evidence: Evidence) -> str:
    """What GL gains as the share of SVHN in CIFAR-10 grows."""
    found = where(evidence.groups("alpha"), epochs=200, labels="random")
    gains = {float(g.get("alpha")): gain.mean for g in found if (gain := gain_of(g))}
    if not gains:
        return ""
    told = ", ".join(f"{gain:+.1f} at alpha {alpha:g}" for alpha, gain in sorted(gains.items()))
    return f"With SVHN in CIFAR-10 and random labels, one seed, GL gains {told}."


def table1(evidence: Evidence) -> str:
    """Images, printed / ours."""
    settings = evidence.settings()
    body = []
    for method in [*paper.METHODS, "gl-history", "gl+refine", "oracle"]:
        line = [names.method_title(method)]
        for setting in settings:
            printed = paper.TABLE1[setting.dataset, setting.labels].get(method)  # type: ignore[index]
            ours = value_of(setting.group, method)
            line.append(ours if printed is None else f"{printed} / {ours}")
        body.append(line)
    titles = [f"{names.dataset_title(s.dataset)}, {s.labels}{'' if s.own else ' *'}" for s in settings]
    return grid(["printed / ours", *titles], body)


def table2(evidence: Evidence) -> str:
    """Tables: standard training and GL, printed, by their loop and by the text."""
    body = []
    for dataset, printed in paper.TABLE2.items():
        text, loop = evidence.table(dataset), evidence.table(dataset, "released")
        scaled = evidence.table(dataset, "released", recipe=NORMALISED)
        share = mean_of(loop, "majority")
        line = [names.dataset_title(dataset), str(paper.CLASSES_LEFT[dataset]), share]
        for method in ("standard", "gl"):
            line += [str(printed[method]), *(value_of(group, method) for group in (loop, scaled, text))]
        body.append(line)
    head = ["", "K", "majority share"]
    for title in ("Standard", "GL"):
        head += [f"{title}: printed", "their loop", "normalised", "text"]
    return grid(head, body)


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


def claims(judged: dict[str, Judgement]) -> str:
    """One row a claim."""
    body = []
    for claim in paper.CLAIMS:
        judgement = judged[claim.name]
        body.append([claim.text, claim.printed or DASH, judgement.ours, judgement.own, judgement.verdict])
    head = ["claim", "paper", "ours, points ± half of the 95 % interval", "the paper's own data?", "verdict"]
    return grid(head, body, words=range(5))


def two_classes(evidence: Evidence) -> str:
    """The printed and the measured gains where there can be none."""
    return "; ".join(
        f"{names.dataset_title(name)} {paper.TABLE2[name]['gl'] - paper.TABLE2[name]['standard']:+.1f}, "
        f"{gain_of(evidence.table(name)) or DASH}, {gain_of(evidence.table(name, 'released')) or DASH}"
        for name, left in paper.CLASSES_LEFT.items()
        if left == 2
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
    told = []
    for name, share in constant(evidence):
        loop = evidence.table(name, "released")
        scaled = evidence.table(name, "released", recipe=NORMALISED)
        seeds = [] if loop is None else list(loop.values("standard").values())
        ends = f"{min(seeds):.0f} to {max(seeds):.0f} by seed" if seeds else DASH
        told.append(
            f"{names.dataset_title(name)}, share {share:.1f}, GL printed {paper.TABLE2[name]['gl']}, "
            f"standard training {ends}, {mean_of(scaled, 'standard')} normalised"
        )
    if not told:
        return "No accuracy printed for GL is within two points of the share of the largest class."
    flat = [
        names.dataset_title(name)
        for name in paper.TABLE2
        if (text := evidence.table(name)) is not None
        and text.values("standard")
        and text.values("standard") == text.values("gl") == text.values("majority")
    ]
    by_text = f" By the text both score just that on {listed(flat)}." if flat else ""
    return (
        "Here the accuracy printed for GL is within two points of the share of the largest class: "
        f"{'; '.join(told)}.{by_text}"
    )


def iris(evidence: Evidence) -> str:
    """Ten steps in all."""
    ways: list[tuple[str, dict[str, object]]] = [
        ("as released", {}),
        ("normalised", {"recipe": NORMALISED}),
        ("after 100 epochs", {"epochs": 100}),
        ("with both", {"epochs": 100, "recipe": NORMALISED}),
    ]
    ends = [(mean_of(evidence.table("iris", "released", **way), "gl"), words) for words, way in ways]
    told = [f"{value} {words}" for value, words in ends if value != DASH]
    return (
        "Zipped with so few OOD rows, Iris is trained for ten steps in all; GL "
        f"ends at {', '.join(told)}, where {paper.TABLE2['iris']['gl']} is printed."
    )


def decay(evidence: Evidence) -> str:
    """What weight decay does on CIFAR-100."""
    found = {str(g.get("recipe")): g for g, _ in readings(evidence) if g.get("labels") == "random"}
    group, bare, plain = (found.get(str(recipe)) for recipe, _ in WAYS)
    if group is None or bare is None:
        return NOT_RUN
    line = paper.TABLE1["cifar100", "specific"]
    further = (
        "What training without momentum gives, or with all 60,000 OOD images, was not measured."
        if plain is None
        else f"Without momentum too it ends at {mean_of(plain, 'standard')}, GL at {mean_of(plain, 'gl')}."
    )
    return (
        f"The {line['gl']} printed for GL is about what ResNet18 with weight decay reaches on clean "
        f"CIFAR-100 (our oracle: {mean_of(group, 'oracle')}), and with OOD samples by standard training "
        f"({mean_of(group, 'standard')}). The {line['standard']} printed for standard training "
        f"is as surprising as the gain: without decay it still ends at {mean_of(bare, 'standard')}. "
        f"{further}"
    )


def cost(evidence: Evidence) -> str:
    """What OOD samples cost standard training."""
    settings = evidence.settings()
    found = [lost.mean for s in settings if (lost := gain_of(s.group, "oracle", "standard"))]
    if not found:
        return NOT_RUN
    return (
        "Rejecting every OOD sample can win what they cost: at alpha .1 at most "
        f"{max(found):.1f} points (first row of section 4). Gains of 1.4 to 11.3 would have to come from "
        "elsewhere."
    )


def memorised(evidence: Evidence) -> str:
    """Whose labels are learned at the end of CIFAR-100's 200 epochs."""
    told, ends = [], []
    for setting in evidence.settings():
        if setting.dataset == "cifar100" and setting.group is not None:
            ends += [fmean(v.values()) for m in ("standard", "gl") if (v := setting.group.values(m))]
            shares = [mean_of(setting.group, m, "train_accuracy", 2) for m in ("standard", "gl")]
            told.append(f"{listed(shares)} % with {setting.labels} labels")
    if not told:
        return NOT_RUN
    return (
        "At the end of CIFAR-100's 200 epochs standard training and GL predict the given label of "
        f"{listed(told)}. A tenth are OOD: GL learned few of their random labels, but learns labels that "
        "follow the OOD class like any other. "
        f"Mean test accuracies lie within {max(ends) - min(ends):.1f} points: not to learn them gains "
        "nothing here."
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
        "100 classes of Tiny-ImageNet with the other 100 as OOD samples, a case of ours, are "
        f"harder: random labels cost {lost} points in 200 epochs at alpha .1. Against standard training, "
        f"three seeds: {', '.join(gains)}. In 60 epochs at alpha .2, before it has learned these labels, "
        f"it gains {gain_of(short[0])}: what it wins depends on when training stops."
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
