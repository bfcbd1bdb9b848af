"""The tables of docs/lab/audit.md, made from results/audit.jsonl.

python -m benchmarks audit_tables            # write them into the page, between its markers
python -m benchmarks audit_tables --check    # only say whether the page is as the results make it
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks import record
from benchmarks.record import Row, markdown

ROOT = Path(__file__).resolve().parent.parent
PAGE, RESULTS = ROOT / "docs" / "lab" / "audit.md", ROOT / "results" / "audit.jsonl"
START, END = "<!-- table: audit tables -->", "<!-- end -->"

USUAL = ("ood10", "ood20", "mix")
OURS = ("graylearn held-out", "graylearn history")
FEATURES = ("cifar10", "tiny-imagenet", "banking77", "digits")
"""Cells whose columns are features of images or text, or pixels."""

HARD = ("one-label", "two-classes", "imbalance", "tiny-set", "pairs")
"""The hard cases, in order."""


def read(path: Path, experiment: str = "audit") -> list[Row]:
    """Rows of one experiment; a line that was cut short is passed over, the last of equal rows counts."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in record.rows(path):
        if row["experiment"] == experiment:
            found[row["cell"], row["setting"], row["seed"], row["method"]] = row
    return list(found.values())


def number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}".replace("0.", ".", 1 if abs(value) < 1 else 0)


def average(rows: list[Row], name: str) -> float | None:
    """Mean over cells and settings of the means over seeds, so that every cell counts alike."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.get(name) is not None:
            groups.setdefault((row["cell"], row["setting"]), []).append(row[name])
    return mean(mean(values) for values in groups.values()) if groups else None


def spread(rows: list[Row], name: str) -> str:
    """The average, with the spread over seeds where there are several."""
    middle = average(rows, name)
    seeds = sorted({row["seed"] for row in rows})
    each = [value for s in seeds if (value := average([r for r in rows if r["seed"] == s], name)) is not None]
    if middle is None:
        return "-"
    return number(middle) + (f" ± {number(stdev(each))}" if len(each) > 1 else "")


def methods(rows: list[Row]) -> list[str]:
    """Ours first, then the others by average precision."""
    names = {row["method"] for row in rows}

    def order(name: str) -> tuple[int, float]:
        value = average([r for r in rows if r["method"] == name], "ap")
        return (OURS.index(name) if name in OURS else len(OURS), -(value or 0.0))

    return sorted(names, key=order)


def by_method(rows: list[Row]) -> str:
    names = ("auroc", "ap", "auroc_wrong", "ap_wrong", "precision", "recall", "f1")
    body = []
    for method in methods(rows):
        own = [row for row in rows if row["method"] == method]
        body.append([method, *(spread(own, name) for name in names)])
    head = ["method", "AUROC", "AP", "AUROC, wrong labels", "AP, wrong labels", "precision", "recall", "F1"]
    return markdown(head, body)


def clean(rows: list[Row]) -> str:
    body = []
    for method in methods(rows):
        own = [r for r in rows if r["method"] == method and r["setting"] == "clean" and "flagged" in r]
        if own:
            shares = [100 * row["flagged"] for row in own]
            some = sum(share > 0 for share in shares)
            body.append([method, f"{mean(shares):.2f}", f"{max(shares):.2f}", f"{some} of {len(shares)}"])
    return markdown(["method", "flagged, mean %", "largest %", "sets with any flag"], body)


def by_cell(rows: list[Row], measure: str) -> str:
    body = []
    for cell in dict.fromkeys(row["cell"] for row in rows):
        own = [row for row in rows if row["cell"] == cell]
        by = {m: average([r for r in own if r["method"] == m], measure) for m in methods(own)}
        peers = {m: value for m, value in by.items() if m not in OURS and value is not None}
        peer = max(peers, key=lambda name: peers[name], default="-")
        best = max((by[m] for m in OURS if by.get(m) is not None), default=None)
        lead = None if best is None or not peers else best - peers[peer]
        body.append([cell, *(number(by.get(m)) for m in OURS), f"{number(peers.get(peer))} ({peer})"])
        body[-1].append("-" if lead is None else f"{'+' if lead >= 0 else '-'}{number(abs(lead))}")
    return markdown(["cell", *OURS, "best peer", "lead"], body)


def cases(rows: list[Row], settings: tuple[str, ...]) -> str:
    body = []
    peers = ("cleanlab mlp", "cleanlab ood features")
    for setting in settings:
        for cell in dict.fromkeys(row["cell"] for row in rows):
            own = [row for row in rows if row["cell"] == cell and row["setting"] == setting]
            if not own:
                continue
            line = [f"{setting}, {cell}"]
            for method in OURS:
                part = [row for row in own if row["method"] == method]
                line += [number(average(part, name)) for name in ("auroc", "ap", "precision", "recall")]
            line += [number(average([r for r in own if r["method"] == peer], "auroc")) for peer in peers]
            body.append(line)
    head = ["case"]
    head += [f"{mode}: {name}" for mode in ("held-out", "history") for name in ("AUROC", "AP", "P", "R")]
    return markdown([*head, "cleanlab mlp: AUROC", "cleanlab ood features: AUROC"], body)


def kinds(rows: list[Row]) -> str:
    body = []
    for method in OURS:
        for setting in (*USUAL, "specific"):
            own = [row for row in rows if row["method"] == method and row["setting"] == setting]
            opened = [row for row in own if row.get("flagged", 0) > 0]
            if own:
                names = ("contaminated", "estimated", "kind_ood", "kind_wrong", "suggestion")
                line = [f"{method}, {setting}", f"{len(opened)} of {len(own)}"]
                body.append([*line, *(number(average(opened, name)) for name in names)])
    head = ["mode, setting", "sets with flags", "true share", "estimated", "ood called ood"]
    return markdown([*head, "wrong called wrong", "suggestion right"], body)


def seconds(rows: list[Row]) -> str:
    names = (*OURS, "cleanlab mlp, fold after fold", "cleanlab mlp", "cleanlab logistic", "pyod iforest")
    body = []
    for cell in dict.fromkeys(row["cell"] for row in rows):
        by = {row["method"]: row for row in rows if row["cell"] == cell}
        some = next(iter(by.values()))
        line = [f"{cell} ({some['N']} x {some['D']})"]
        line += [f"{by[name]['seconds']:.2f}" if name in by else "-" for name in names]
        for ours in OURS:
            both = ours in by and names[2] in by
            line.append(f"{by[ours]['seconds'] / by[names[2]]['seconds']:.2f}" if both else "-")
        body.append(line)
    return markdown(["cell", *names, "held-out / fold after fold", "history / fold after fold"], body)


def summary(path: Path) -> str:
    """All tables of a file of results, in Markdown."""
    if not path.exists():
        return f"There is no {path.name} yet: python -m judge evaluate measures today."
    rows = read(path)
    usual = [row for row in rows if row["setting"] in USUAL]
    timed = read(path, "audit-time")
    seeds = sorted({row["seed"] for row in rows})
    parts: list[tuple[str, Callable[[], str], bool]] = [
        (
            "Four classes or more; 10 % OOD, 20 % OOD, 20 % OOD + 20 % flipped labels",
            lambda: by_method([row for row in usual if row["K"] >= 4]),
            any(row["K"] >= 4 for row in usual),
        ),
        (
            "Two or three classes; the same settings",
            lambda: by_method([row for row in usual if row["K"] < 4]),
            any(row["K"] < 4 for row in usual),
        ),
        (
            "Uncontaminated sets: share flagged",
            lambda: clean(rows),
            any(r["setting"] == "clean" for r in rows),
        ),
        ("Average precision by cell", lambda: by_cell(usual, "ap"), bool(usual)),
        ("AUROC by cell", lambda: by_cell(usual, "auroc"), bool(usual)),
        (
            "Specific labels, 20 % OOD",
            lambda: cases(rows, ("specific",)),
            any(row["setting"] == "specific" for row in rows),
        ),
        (
            "Hard cases: all OOD on one label, two classes, imbalance, tiny sets, labels of the next class",
            lambda: cases(rows, HARD),
            any(row["setting"] in HARD for row in rows),
        ),
        ("Kinds and shares, where anything was flagged", lambda: kinds(rows), bool(usual)),
        ("Seconds, one thread, `mix`", lambda: seconds(timed), bool(timed)),
    ]
    intro = f"Seeds {', '.join(map(str, seeds))}; {len(rows)} measurements; mean over cells, ± over seeds."
    return "\n\n".join([intro, *(f"**{title}**\n\n{make()}" for title, make, there in parts if there)])


def filled(page: str, path: Path = RESULTS) -> str:
    """The page with its tables made anew; as it is where there are no results."""
    if not path.exists():
        return page
    before, _, rest = page.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{PAGE.name} has no place for tables between {START} and {END}")
    return f"{before}{START}\n{summary(path)}\n{END}{after}"
