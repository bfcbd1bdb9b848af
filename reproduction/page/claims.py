"""The rule of each claim: which measured difference stands beside which printed one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from reproduction import names, paper
from reproduction.page.evidence import OWN_TABLES, Evidence, Setting, deciding, gain_of, where
from reproduction.page.verdicts import SEEDS, Judgement, Part, parts, shown
from reproduction.records import Group
from reproduction.statistics import Interval, gain, interval, spread

Printed = Mapping[str, float]


def _setting(setting: Setting) -> str:
    star = r"\*" if setting.stand_in else ""
    return f"{names.dataset_title(setting.dataset)}{star} {setting.labels[0]}"


def _images(
    evidence: Evidence,
    first: str,
    second: str,
    printed: Callable[[Printed], float] | None = None,
    datasets: Sequence[str] = ("cifar10", "svhn", "cifar100"),
    measure: str = "accuracy",
) -> list[Part | None]:
    """One part for each column of Table 1; `printed` reads the gain out of the paper's line."""
    made: list[Part | None] = []
    settings = [each for each in evidence.settings() if each.dataset in datasets]
    for setting, found in deciding((each, gain_of(each.group, first, second, measure)) for each in settings):
        line = paper.TABLE1[setting.dataset, setting.labels]  # type: ignore[index]
        value = None if printed is None else printed(line)
        made.append(Part(_setting(setting), found, value, setting.own))
    return made


def _tables(
    evidence: Evidence, first: str, second: Callable[[Printed], str], protocol: str = "paper"
) -> list[Part | None]:
    """One part for each table whose file is the published one."""
    made: list[Part | None] = []
    for dataset in OWN_TABLES:
        line = paper.TABLE2[dataset]
        other = second(line)
        found = gain_of(evidence.table(dataset, protocol), first, other)
        if found is not None:
            made.append(Part(names.dataset_title(dataset), found, line["gl"] - line[other], own=True))
    return made


def _next(line: Printed) -> str:
    """The method printed next to GL."""
    return max((method for method in line if method != "gl"), key=lambda method: line[method])


def _standard(_: Printed) -> str:
    return "standard"


def ood_hurts(evidence: Evidence) -> Judgement:
    """Do OOD samples cost accuracy at all?"""
    images = _images(evidence, "oracle", "standard")
    tables = [
        Part(names.dataset_title(dataset), found, own=True)
        for dataset in OWN_TABLES
        if (found := gain_of(evidence.table(dataset), "oracle", "standard"))
    ]
    return Judgement(parts([*images, *tables]))


def images_standard(evidence: Evidence) -> Judgement:
    """Is GL above standard training on images?"""
    return Judgement(parts(_images(evidence, "gl", "standard", lambda line: line["gl"] - line["standard"])))


def images_best(evidence: Evidence) -> Judgement:
    """Is GL above the others on images?"""
    made, told = [], []
    lines = {setting: paper.TABLE1[setting.dataset, setting.labels] for setting in evidence.settings()}  # type: ignore[index]
    for setting, found in deciding((s, gain_of(s.group, "gl", _next(line))) for s, line in lines.items()):
        line = lines[setting]
        assert setting.group is not None
        made.append(Part(_setting(setting), found, line["gl"] - line[_next(line)], setting.own))
        means = {m: s.mean for m in paper.METHODS if (s := spread(setting.group.values(m)))}
        order = sorted(means, key=lambda method: -means[method])
        told.append(
            f"{_setting(setting)}: GL {means['gl']:.1f} is number {order.index('gl') + 1} of {len(order)}, "
            f"{names.method_title(order[0])} {means[order[0]]:.1f}"
        )
    return Judgement(tuple(made), "; ".join(told))


def _below(method: str, datasets: Sequence[str]) -> Callable[[Evidence], Judgement]:
    def judge(evidence: Evidence) -> Judgement:
        def printed(line: Printed) -> float:
            return line["standard"] - line[method]

        found = _images(evidence, "standard", method, printed, datasets)
        return Judgement(parts([p and Part(f"Standard - SPL, {p.what}", p.gain, p.printed) for p in found]))

    return judge


def bt_il(evidence: Evidence) -> Judgement:
    """Are BT and IL above self-paced learning?"""
    made = []
    for method in ("bt", "il"):

        def printed(line: Printed, method: str = method) -> float:
            return line[method] - line["spl"]

        found = _images(evidence, method, "spl", printed, ("cifar10", "svhn"))
        made += [p and Part(f"{method.upper()} - SPL, {p.what}", p.gain, p.printed, p.own) for p in found]
    return Judgement(parts(made))


def nl_mae(evidence: Evidence) -> Judgement:
    """Is NL a little above MAE?"""
    found = _images(evidence, "nl", "mae", lambda line: line["nl"] - line["mae"])
    return Judgement(parts([part and Part(f"NL - MAE, {part.what}", part.gain) for part in found]))


def tables_standard(evidence: Evidence) -> Judgement:
    """Is GL above standard training on tables?"""
    text = parts(_tables(evidence, "gl", _standard))
    loop = parts(_tables(evidence, "gl", _standard, "released"))
    told = [
        f"{way}: {'; '.join(map(str, found))}"
        for way, found in (("text", text), ("their loop", loop))
        if found
    ]
    return Judgement((*text, *loop), "; ".join(told))


def tables_best(evidence: Evidence) -> Judgement:
    """Is GL above the others on tables?"""
    found = _tables(evidence, "gl", _next)
    named = {names.dataset_title(name): names.method_title(_next(paper.TABLE2[name])) for name in OWN_TABLES}
    return Judgement(
        parts([p and Part(f"{p.what} (next: {named[p.what]})", p.gain, p.printed, p.own) for p in found])
    )


def _alpha(method: str, way: int) -> Callable[[Evidence], Judgement]:
    def judge(evidence: Evidence) -> Judgement:
        made = []
        for labels in ("specific", "random"):
            found = where(evidence.groups("alpha"), labels=labels, epochs=200, batch_size=128)
            known = sorted((g for g in found if g.values(method)), key=lambda g: float(g.get("alpha")))
            if len(known) > 1:
                ends = [float(g.get("alpha")) for g in (known[0], known[-1])]
                change = gain(known[-1].values(method), known[0].values(method))
                if change is not None:
                    turned = Interval(way * change.mean, change.half, change.n)
                    told = "fall" if way < 0 else "change"
                    made.append(Part(f"{labels[0]}, alpha {ends[0]:g} to {ends[1]:g}: {told}", turned))
        return Judgement(tuple(made))

    return judge


def _sources(evidence: Evidence) -> list[Group]:
    """The ten sources, with standard training."""
    return [g for g in evidence.groups("sources") if "/" in str(g.get("ood")) and g.values("standard")]


def sources_matter(evidence: Evidence) -> Judgement:
    """Does the source matter?"""
    told = []
    for labels in ("specific", "random"):
        means = [fmean(g.values("standard").values()) for g in where(_sources(evidence), labels=labels)]
        if means:
            told.append(f"{labels[0]} {min(means):.1f} to {max(means):.1f} %")
    return Judgement((), f"20 epochs: {'; '.join(told)}" if told else "")


def sources_gl(evidence: Evidence) -> Judgement:
    """Is GL above standard training for every source?"""
    told = []
    for labels in ("specific", "random"):
        found = [g for group in where(_sources(evidence), labels=labels) if (g := gain_of(group))]
        if found:
            above = sum(pair.mean > 0 for pair in found)
            mean = fmean(pair.mean for pair in found)
            told.append(f"{labels[0]} {mean:+.1f}, above in {above} of {len(found)}")
    return Judgement((), f"20 epochs: {'; '.join(told)}" if told else "")


def architectures_gl(evidence: Evidence) -> Judgement:
    """Is GL above standard training with every network?"""
    whole = where(evidence.groups("architectures"), epochs=200)
    made = [
        Part(f"{group.get('net')} {str(group.get('labels'))[0]}", found)
        for group in whole
        if (found := gain_of(group))
    ]
    return Judgement(tuple(made))


def architectures_residual(evidence: Evidence) -> Judgement:
    """Are the two networks with shortcuts the best?"""
    found = where(evidence.groups("architectures"), epochs=20, labels="random")
    means = {str(g.get("net")): fmean(v.values()) for g in found if (v := g.values("standard"))}
    order = sorted(means, key=lambda net: -means[net])[:3]
    told = ", ".join(f"{net} {means[net]:.1f}" for net in order)
    return Judgement((), f"20 epochs, r: {told}" if told else "")


def _cifar10(evidence: Evidence) -> list[Setting]:
    """The set whose calibration the paper shows."""
    return [setting for setting in evidence.settings() if setting.dataset == "cifar10"]


def calibration_gl(evidence: Evidence) -> Judgement:
    """Is GL better calibrated?"""
    made, told = [], []
    for setting, found in deciding(
        (s, gain_of(s.group, "standard", "gl", "ece")) for s in _cifar10(evidence)
    ):
        assert setting.group is not None
        before, after = (paper.ECE[method, setting.labels] for method in ("standard", "gl"))  # type: ignore[index]
        made.append(Part(_setting(setting), found, before - after, setting.own))
        if found.n >= SEEDS:
            ours = [fmean(setting.group.values(m, "ece").values()) for m in ("standard", "gl")]
            told.append(f"{_setting(setting)} {ours[0]:.2f} to {ours[1]:.2f} (drop {found})")
    return Judgement(tuple(made), "; ".join(told))


def overconfidence(group: Group, method: str) -> dict[int, float]:
    """Seed -> mean confidence minus accuracy, points; without the runs that kept no bins."""
    excess = {}
    for seed, record in group.by_method.get(method, {}).items():
        bins = record.measured.get("reliability") or {}
        rows = zip(*(bins.get(name, ()) for name in ("count", "confidence", "accuracy")), strict=True)
        filled = [(n, sure - right) for n, sure, right in rows if n and sure is not None]
        if filled:
            excess[seed] = 100 * sum(n * gap for n, gap in filled) / sum(n for n, _ in filled)
    return excess


def calibration_overconfident(evidence: Evidence) -> Judgement:
    """Is standard training over-confident, and GL less so?"""
    made, told = [], []
    excess = {
        setting: [overconfidence(setting.group, method) for method in ("standard", "gl")]
        for setting in _cifar10(evidence)
        if setting.group is not None
    }
    for setting, found in deciding((setting, gain(*both)) for setting, both in excess.items()):
        made.append(Part(_setting(setting), found, own=setting.own))
        if found.n >= SEEDS:
            standard, gray = (fmean(values.values()) for values in excess[setting])
            told.append(f"{_setting(setting)} {standard:+.1f} to {gray:+.1f} (drop {found})")
    return Judgement(tuple(made), f"confidence - accuracy: {'; '.join(told)}" if told else "")


def ablation_tables(evidence: Evidence) -> Judgement:
    """Is GL above each of its parts on tables, in the mean?"""
    groups = {name: group for name in OWN_TABLES if (group := evidence.table(name))}
    made = []
    for other in ("standard", "nl", "standard+nl"):
        both = {name: g for name, g in groups.items() if g.values("gl") and g.values(other)}
        if not both:
            continue
        values = [(g.values("gl"), g.values(other)) for g in both.values()]
        seeds = set.intersection(*[set(a) & set(b) for a, b in values])
        found = interval([fmean(a[seed] - b[seed] for a, b in values) for seed in sorted(seeds)])
        printed = None
        if other in paper.METHODS:
            printed = fmean(paper.TABLE2[name]["gl"] - paper.TABLE2[name][other] for name in both)
        if found is not None:
            title = f"over {names.method_title(other)}, {len(both)} tables"
            made.append(Part(title, found, printed, own=True))
    return Judgement(tuple(made))


def ablation_images(evidence: Evidence) -> Judgement:
    """Is GL above each of its parts on images?"""
    found = [
        part and Part(f"over {names.method_title(other)}, {part.what}", part.gain, part.printed, part.own)
        for other in ("nl", "standard+nl")
        for part in _images(evidence, "gl", other)
    ]
    return Judgement(parts(found))


def separation(evidence: Evidence) -> Judgement:
    """Do the confidences of GL tell OOD samples from others better? AUROC of the mean over a training."""
    found = parts(_images(evidence, "gl", "standard", measure="ood_auroc"))
    return Judgement(found, "AUROC x 100: " + shown(found) if found else "")


def formula(evidence: Evidence) -> Judgement:
    """Does C = Q(y | x) give the printed gains?"""
    images = _images(evidence, "gl-label", "standard", lambda line: line["gl"] - line["standard"])
    tables = [
        Part(
            names.dataset_title(name), found, paper.TABLE2[name]["gl"] - paper.TABLE2[name]["standard"], True
        )
        for name in OWN_TABLES
        if paper.CLASSES_LEFT[name] > 2
        and (found := gain_of(evidence.table(name), "gl-label", "standard")) is not None
    ]
    return Judgement(parts([*images, *tables]))


RULES: dict[str, Callable[[Evidence], Judgement]] = {
    "ood-hurts": ood_hurts,
    "images-standard": images_standard,
    "images-best": images_best,
    "spl-worst": _below("spl", ("cifar10", "svhn")),
    "bt-il": bt_il,
    "nl-mae": nl_mae,
    "tables-standard": tables_standard,
    "tables-best": tables_best,
    "alpha-standard": _alpha("standard", -1),
    "alpha-gl": _alpha("gl", 1),
    "sources-matter": sources_matter,
    "sources-gl": sources_gl,
    "architectures-gl": architectures_gl,
    "architectures-residual": architectures_residual,
    "calibration-gl": calibration_gl,
    "calibration-overconfident": calibration_overconfident,
    "ablation-tables": ablation_tables,
    "ablation-images": ablation_images,
    "separation": separation,
    "formula": formula,
}
"""The rule of each claim of the paper."""
