"""The tables of results/human_noise.jsonl, in Markdown."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from benchmarks import record
from benchmarks.audit_tables import number
from benchmarks.record import Row, markdown

KEY = ("group", "name", "setting", "seed", "method")
TITLES = {
    "given": "CIFAR-10N, probabilities of given networks: F1",
    "histories": "CIFAR-10N, a ResNet18's own history of 200 epochs: F1",
    "people": "CIFAR-10N, 4,000 images with EfficientNet features: F1",
    "structured": "Pairs, class-, feature- and instance-dependent noise: F1",
    "few": "Two and three classes: F1",
    "uniform": "Labels flipped to any class: F1",
    "foreign": "Foreign samples with random labels, and flips: F1",
    "specific": "Foreign samples, each kind on one label: F1",
    "mixed": "Labels that people got wrong, foreign samples among them",
}
CLEAN = {
    "clean": "Sets on which no label is wrong",
    "kinds": "Classes of two kinds",
    "rare": "Rare classes, heavy tails, no label wrong",
}


def read(path: Path) -> list[Row]:
    """Rows of the experiment; the last of equal rows counts."""
    return list({tuple(row[key] for key in KEY): row for row in record.rows(path)}.values())


def average(rows: list[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return mean(values) if values else None


def shown(method: str) -> str:
    return {"cleanlab prune_by_noise_rate": "cleanlab"}.get(method, method)


def by_setting(rows: list[Row]) -> str:
    """F1 of each set over seeds that all have, the best of cleanlab's filters, and ours over all seeds."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    filters = [m for m in methods if m.startswith("cleanlab")]
    plain = [m for m in methods if m not in filters[1:]]
    body = []
    for name, setting in dict.fromkeys((row["name"], row["setting"]) for row in rows):
        own = [row for row in rows if (row["name"], row["setting"]) == (name, setting)]
        seeds = {m: {row["seed"] for row in own if row["method"] == m} for m in methods}
        common = set.intersection(*(found for found in seeds.values() if found))
        shared = [row for row in own if row["seed"] in common]
        by = {m: average([row for row in shared if row["method"] == m], "f1") for m in methods}
        best = max((value for m in filters if (value := by[m]) is not None), default=None)
        line = [f"{name}, {setting}", number(average(shared, "wrong")), *(number(by[m]) for m in plain)]
        ours = [row for row in own if row["method"] == "graylearn"]
        body.append(
            [*line, *([number(best)] if filters else []), f"{number(average(ours, 'f1'))} ({len(ours)})"]
        )
    head = ["set", "wrong", *map(shown, plain), *(["cleanlab, best filter"] if filters else [])]
    return markdown([*head, "graylearn (seeds)"], body)


def clean(rows: list[Row]) -> str:
    """What is flagged where nothing is wrong."""
    body = []
    for method in dict.fromkeys(row["method"] for row in rows):
        for half in ("design", "aside"):
            shares = [100 * r["flagged"] for r in rows if r["method"] == method and r["setting"] == half]
            if shares:
                some = f"{sum(share > 0 for share in shares)} of {len(shares)}"
                body.append([shown(method), half, f"{mean(shares):.2f}", f"{max(shares):.2f}", some])
    return markdown(["method", "half", "flagged, mean %", "largest %", "sets with any flag"], body)


def verdicts(rows: list[Row]) -> str:
    """Kinds, suggestions, levels and shares of our own method."""
    body = []
    for method in ("graylearn", "graylearn history"):
        for group in TITLES:
            own = [r for r in rows if r["method"] == method and r["group"] == group and r["flagged"] > 0]
            if not own:
                continue
            inside = [
                row["interval"][0] <= row["wrong"] <= row["interval"][1] for row in own if "interval" in row
            ]
            right = [
                row["sure_precision"] >= 0.95 for row in own if round(row.get("sure", 0) * row["N"]) >= 20
            ]
            names = ("wrong", "estimated", "kind_right", "suggestion", "auroc", "sure_precision")
            line = [f"{method}, {group}", str(len(own)), *(number(average(own, name)) for name in names)]
            body.append([*line, *(f"{sum(held)} of {len(held)}" for held in (right, inside))])
    head = ["method, group", "sets with flags", "wrong", "estimated", "kinds right", "suggestion right"]
    head += ["AUROC", "sure: precision", "sets of 20 sure: .95 right", "range holds the truth"]
    return markdown(head, body)


def mixtures(rows: list[Row]) -> str:
    """Means over seeds where wrong labels and foreign samples come together: what is found, and as what."""
    body = []
    columns = {
        "wrong": "wrong", "F1": "f1", "found: wrong": "recall_wrong", "found: foreign": "recall_foreign",
        "kinds right": "kind_right", "of wrong": "kind_right_wrong", "of foreign": "kind_right_foreign",
        "estimated": "estimated", "sure: precision": "sure_precision",
    }  # fmt: skip
    for method, name, setting in dict.fromkeys((r["method"], r["name"], r["setting"]) for r in rows):
        own = [r for r in rows if (r["method"], r["name"], r["setting"]) == (method, name, setting)]
        line = [number(average(own, column)) for column in columns.values()]
        body.append([f"{method}: {name}, {setting} ({len(own)})", *line])
    return markdown(["set (seeds)", *columns], body)


def summary(path: Path) -> str:
    """All tables of a file of results."""
    rows = read(path)
    if not rows:
        return f"There is no {path.name} yet: python -m judge evaluate measures today."
    parts = []
    for group, title in TITLES.items():
        own = [row for row in rows if row["group"] == group]
        if own:
            parts.append(f"**{title}**\n\n{mixtures(own) if group == 'mixed' else by_setting(own)}")
    for group, title in CLEAN.items():
        nothing = [row for row in rows if row["group"] == group]
        if nothing:
            parts.append(f"**{title}: share flagged**\n\n{clean(nothing)}")
    parts.append(f"**Kinds, levels and shares**\n\n{verdicts(rows)}")
    return "\n\n".join(parts)
