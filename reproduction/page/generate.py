"""The page docs/lab/reproduction.md, made of the stores alone: from other results it says other things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from graylearn.errors import counted
from reproduction import paper
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import fingerprint, recorded_fingerprint
from reproduction.grids import PAPER_IMAGES
from reproduction.page import memory, prose, regimes, tabular, text
from reproduction.page.commands import commands
from reproduction.page.evidence import Evidence
from reproduction.page.judgement import Judgement
from reproduction.page.rules import RULES
from reproduction.records import Record, every_record
from reproduction.render import markdown, markdown_grid
from reproduction.render.markdown import escape
from reproduction.statistics import compare
from reproduction.summary import MAKERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lab" / "reproduction.md"
FIGURES = ROOT / "docs" / "figures"
RESULTS = ROOT / "results"
CLOSE = 0.5
"""Points below the oracle that are as good as it."""
FOLDED = '<details markdown="1">'
"""Without the attribute the built pages would show what is inside as it is written, tables as bars."""
VERDICTS = ("holds", "holds in part", "does not hold", "not measured")
HEAD = """# The paper, reproduced

*Made by `python -m reproduction docs` from the files in `results/`; a test makes it again and fails where it
would change. No number or outcome of an experiment is written by hand; the judgement of the theory is.*

Zhao, Cao and Wang, "Gray Learning from Non-IID Data with Out-of-distribution Samples", says what follows here
in our words. Each claim is judged by a declared rule, on runs that one command repeats."""

READING_FIGURES = (
    "In figures a number at the edge of a panel is a value far outside it. Two points are not joined. Dots "
    "on bars are the settings whose mean the bar is. Methods are compared on the seeds that all of them have."
)


def generate(results: str | Path, figures: str | Path | None = None) -> str:
    """The whole page, from whatever stores the results folder has.

    Figures are shown where their folder (docs/figures) has one that was drawn from these very results.
    """
    folder = FIGURES if figures is None else Path(figures)
    evidence = Evidence.read(results)
    judged = {claim.name: RULES[claim.name](evidence) for claim in paper.CLAIMS}
    claims = [_claim(claim, judged[claim.name]) for claim in paper.CLAIMS]
    experiments = [_experiment(name, evidence, folder) for name in EXPERIMENTS]
    parts = [
        HEAD,
        _in_short(judged, evidence),
        prose.HOW_JUDGED,
        prose.noise(evidence),
        _overview(judged),
        "\n\n".join(["## Each claim", *claims]),
        "\n\n".join(["## Tables and figures", READING_FIGURES, *experiments]),
        "## Why four tabular rows cannot come from the loss\n\n" + tabular.two_classes(evidence),
        "## What the released code does to its baselines\n\n" + tabular.released_code(evidence),
        "## When OOD samples hurt, and what helps\n\n" + regimes.section(evidence),
        "## What is memorised, and when\n\n" + memory.section(results),
        prose.ERRATA,
        prose.own_numbers(),
        prose.data(evidence),
        _provenance(evidence),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _in_short(judged: dict[str, Judgement], evidence: Evidence) -> str:
    counts: Counter[str] = Counter(judgement.verdict for judgement in judged.values())
    told = [verdict for verdict in VERDICTS if counts[verdict] or verdict != "not measured"]
    listed = ", ".join(f"{counts[verdict]} {_plural(verdict, counts[verdict])}" for verdict in told)
    weak = sum(judgement.one_seed for judgement in judged.values())
    resting = f" {weak} of these verdicts rest on one seed." if weak else ""
    lines = [
        "## In short",
        "",
        f"Of {len(judged)} claims that experiments can judge: {listed}.{resting}{_schedules(judged)}",
        "",
    ]
    for name in ("images-standard", "tables-standard", "ood-hurts", "calibration-gl", "formula"):
        judgement = judged[name]
        claim = next(claim for claim in paper.CLAIMS if claim.name == name)
        if judgement.parts:
            measured = f": {judgement.headline}" if judgement.headline else ""
            lines.append(f"- *{claim.text}* {_capital(judgement.spoken)}{measured}.")
    found = regimes.regimes([g for g in evidence.every_group if g.get("kind") == "image"])
    if found:
        hurt = sum(regime.hurts for regime in found)
        lines.append(
            f"- OOD samples cost a point or more in {hurt} of {len(found)} image settings; the table of "
            "regimes below says where, and what helps there."
        )
        for method in ("gl-history", "gl+refine"):
            lines += _ours(method, found)
    return "\n".join(lines)


def _ours(method: str, found: Sequence[regimes.Regime]) -> list[str]:
    """What a method of ours reaches on the paper's own schedule, where it was run."""
    near = PAPER_IMAGES.epochs, PAPER_IMAGES.batch_size
    whole = [
        r for r in found if method in r.gains and (r.group.get("epochs"), r.group.get("batch_size")) == near
    ]
    if not whole:
        return []
    above = sum(regime.gains[method].mean > 0 for regime in whole)
    short = [pair for r in whole if (pair := compare(r.group.values("oracle"), r.group.values(method)))]
    close = sum(pair.mean <= CLOSE for pair in short)
    return [
        f"- Our {method} on the paper's {PAPER_IMAGES.epochs} epochs: above standard training in {above} of "
        f"{len(whole)} settings, within {CLOSE} points of the oracle or above it in {close} "
        f"(oracle - {method} {min(p.mean for p in short):+.1f} to {max(p.mean for p in short):+.1f} points, "
        f"{text.seeds([r.group for r in whole], (method,))})."
    ]


def _schedules(judged: dict[str, Judgement]) -> str:
    """How many verdicts on images rest on the paper's own length of training."""
    lengths = [judgement.epochs for judgement in judged.values() if judgement.epochs is not None]
    if not lengths:
        return ""
    whole = sum(low == PAPER_IMAGES.epochs for low, _ in lengths)
    partly = sum(low < PAPER_IMAGES.epochs == high for low, high in lengths)
    return (
        f" Of the {len(lengths)} about images, {whole} rest on runs of the paper's {PAPER_IMAGES.epochs} "
        f"epochs alone, {partly} on some of them, the others on shorter runs."
    )


def _plural(verdict: str, count: int) -> str:
    if verdict == "not measured":
        return "not measured yet"
    several = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}
    return verdict if count == 1 else several[verdict]


def _capital(verdict: str) -> str:
    """The first letter large, behind its stars."""
    return verdict[:2] + verdict[2:3].upper() + verdict[3:]


def _overview(judged: dict[str, Judgement]) -> str:
    body = []
    for claim in paper.CLAIMS:
        judgement = judged[claim.name]
        states = f"{judgement.count('yes')} / {judgement.count('open')} / {judgement.count('no')}"
        body.append(
            [
                f"[{escape(claim.text)}](#{claim.name})",
                judgement.spoken,
                text.length(judgement.epochs),
                states if judgement.parts else "-",
                escape(judgement.headline) or "-",
                escape(claim.printed) or "-",
            ]
        )
    for place, claim_text, verdict, why in paper.THEORY_CLAIMS:
        body.append([escape(f"{place}: {claim_text}"), f"**{verdict}**", "-", "-", escape(why), "-"])
    head = ["claim", "verdict", "epochs", "yes / open / no", "ours", "the paper's"]
    return "## Every claim and its verdict\n\n" + markdown_grid(head, body, words=(0, 1, 4, 5))


def _claim(claim: paper.Claim, judgement: Judgement) -> str:
    lines = [
        f'<a id="{claim.name}"></a>',
        f"### {claim.text}",
        "",
        f"{claim.place}. {_capital(judgement.spoken)}."
        + (f" The paper: {claim.printed}." if claim.printed else "")
        + (f" Ours: {judgement.headline}." if judgement.headline else ""),
        "",
        f"Rule: {judgement.rule}",
    ]
    if not judgement.parts:
        why = text.TOO_LITTLE if judgement.headline else text.NOT_YET
        return "\n".join([*lines, "", why])
    measured = [g for g in judgement.groups if any(g.values(method) for method in judgement.methods)]
    lines += [
        "",
        f"Settings: {text.settings(measured)}; {text.seeds(measured, judgement.methods)}; "
        f"{text.hardware(every_record(measured))}.",
        "",
        "Again: " + ", ".join(f"`{command}`" for command in _again(judgement)) + ".",
        "",
        f"{FOLDED}<summary>{counted(len(judgement.parts), 'part')}: {judgement.count('yes')} yes, "
        f"{judgement.count('open')} open, {judgement.count('no')} no{_tested(judgement)}</summary>",
        "",
        markdown_grid(
            ["part", "shown", "numbers"],
            [[escape(part.what), part.state, escape(part.numbers)] for part in judgement.parts],
            words=(0, 1, 2),
        ),
        "",
        *_beside(judgement),
        "</details>",
    ]
    return "\n".join(lines)


def _beside(judgement: Judgement) -> list[str]:
    """The same settings under schedules further from the paper's."""
    if not judgement.beside:
        return []
    grid = [[escape(part.what), escape(part.numbers)] for part in judgement.beside]
    head = "Under schedules further from the paper's, which judge nothing:"
    return [head, "", markdown_grid(["part", "numbers"], grid, words=(0, 1)), ""]


def _tested(judgement: Judgement) -> str:
    """How many of the parts that show something do so by a test, where others do by the margin alone."""
    shown = [part for part in judgement.parts if part.state != "open"]
    tested = sum(part.tested for part in shown)
    return f"; shown by a test at 5 %: {tested} of {len(shown)}" if tested else ""


def _again(judgement: Judgement) -> list[str]:
    """Commands by experiment, of the methods that the rule reads: a claim may draw on several."""
    by_experiment: dict[str, list[Record]] = {}
    for record in every_record(judgement.groups):
        if record.method in judgement.methods:
            by_experiment.setdefault(record.experiment, []).append(record)
    return list(dict.fromkeys(c for name, members in by_experiment.items() for c in commands(name, members)))


def _experiment(name: str, evidence: Evidence, folder: Path) -> str:
    experiment = EXPERIMENTS[name]
    found = evidence.records(name)
    lines = [f"### `{name}`: {experiment.title}", ""]
    if not found:
        return "\n".join([*lines, text.NOT_YET, "", f"`python -m reproduction {name}` measures it."])
    lines.append("Again: " + ", ".join(f"`{command}`" for command in commands(name, found)) + ".")
    everywhere = [record for records in evidence.by_experiment.values() for record in records]
    for gaps in text.never_run(name, everywhere):
        lines += ["", gaps]
    for figure in figures_of(name, evidence, folder):
        lines += ["", f"![{experiment.title}](../figures/{figure})"]
    tables = MAKERS[name](found)
    for table in tables:
        lines += ["", f"{FOLDED}<summary>{table.title}</summary>", "", markdown(table), "</details>"]
    return "\n".join(lines)


def figures_of(name: str, evidence: Evidence, folder: Path) -> list[str]:
    """The figures in a folder that were drawn from these very records."""
    drawn = fingerprint(name, evidence.drawn(name))
    every = sorted(folder.glob(f"{name}*.svg"))
    return [path.name for path in every if recorded_fingerprint(path) == drawn]


def _provenance(evidence: Evidence) -> str:
    lines = ["## What it was measured on", ""]
    body = []
    for name in EXPERIMENTS:
        found = evidence.records(name)
        if not found:
            body.append([f"`{name}`", "0", "-", "-", "-", "-"])
            continue
        seconds = sum(float(record.measured.get("seconds") or 0.0) for record in found)
        commits = sorted({str(record.row.get("commit")) for record in found})
        versions = sorted({str((record.row.get("versions") or {}).get("torch")) for record in found})
        body.append(
            [
                f"`{name}`",
                str(len(found)),
                text.hardware(found),
                f"{seconds / 3600:.1f}",
                ", ".join(versions),
                ", ".join(commits[:4]) + (f" and {len(commits) - 4} more" if len(commits) > 4 else ""),
            ]
        )
    head = ["experiment", "runs", "hardware", "hours of training", "torch", "commit"]
    lines.append(markdown_grid(head, body, words=(0, 2, 4, 5)))
    if note := text.run_twice(evidence.replaced):
        lines += ["", note]
    if note := text.earlier_engine(evidence.records(*EXPERIMENTS)):
        lines += ["", note]
    return "\n".join(lines)
