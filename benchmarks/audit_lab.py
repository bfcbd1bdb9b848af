"""Tables of docs/lab/audit.md."""

from __future__ import annotations

from statistics import mean

from benchmarks import audit_tables, human_noise_tables, record, unseen_tables
from benchmarks.record import RESULTS, Row, markdown


def results(name: str, experiment: str) -> list[Row]:
    return record.rows(RESULTS / f"{name}.jsonl", experiment)


def of_copies() -> str:
    """Precision and recall of wrong labels where samples stand in a set twice, by how copies are asked."""
    found: dict[tuple[str, float], dict[str, list[Row]]] = {}
    for row in results("copies", "copies"):
        found.setdefault((row["name"], row["share"]), {}).setdefault(row["way"], []).append(row)
    body = []
    for (name, share), by_way in found.items():
        line = [name, f"{100 * share:.0f}"]
        for key in ("precision", "recall"):
            line += [f"{mean(row[key] for row in by_way[way]):.2f}" for way in ("each", "once")]
        body.append(line)
    return markdown(["", "copied, %", "precision, each", "once", "recall, each", "once"], body)


def of_groups() -> str:
    """What is found among samples that belong together, by audits that do not know it and that do."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in results("groups", "groups"):
        found.setdefault((row["name"], row["noise"]), {}).setdefault(row["way"], []).append(row)
    body = []
    for (name, noise), by_way in found.items():
        line = [f"{name} ({by_way['plain'][0]['groups']:,})", noise]
        for key in ("flagged", "precision", "recall", "sure", "precision_of_sure"):
            for way in ("plain", "groups"):
                values = [row[key] for row in by_way[way] if row[key] is not None]
                told = 100 * mean(values) if values and key in ("flagged", "sure") else mean(values or [0.0])
                shown = f"{told:.1f}" if key in ("flagged", "sure") else f"{told:.2f}"
                line.append(shown if values else "")
        body.append(line)
    head = ["groups of", "wrong"]
    for key in ("flagged, %", "precision", "recall", "sure, %", "precision of sure"):
        head += [f"{key}, plain", "with groups"]
    return markdown(head, body)


def of_junk() -> str:
    """Rows of junk that are found, by themselves and beside wrong labels, with `far_out` and without."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in results("junk", "junk"):
        found.setdefault((row["group"], row["name"]), []).append(row)
    body = []
    for (group, name), rows in found.items():
        line = [group, f"{name} ({rows[0]['K']})"]
        clean = [row["flagged"] for row in rows if row["way"] == "all" and row["kind"] == "none"]
        line.append(f"{100 * mean(clean):.1f}")
        for wrong in (0.0, 0.1):
            dirty = [row for row in rows if row["wrong"] == wrong and row["kind"] != "none"]
            line += [
                f"{mean(row['recall_junk'] for row in dirty if row['way'] == way):.2f}"
                for way in ("without far_out", "all")
            ]
            right = [
                row["precision"] for row in dirty if row["way"] == "all" and row["precision"] is not None
            ]
            line.append(f"{mean(right):.2f}" if right else "-")
        body.append(line)
    by_itself = ["recall without `far_out`", "with", "precision"]
    beside = ["beside wrong labels: without", "with", "precision"]
    return markdown(["", "set (classes)", "as it is, flagged, %", *by_itself, *beside], body)


def of_second_audits() -> str:
    """Wrong labels in a set and what an audit flags of them, before and after it was cleaned by the first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in results("audited_again", "audited again"):
        found.setdefault((row["name"], row["way"]), []).append(row)
    body = []
    for name in dict.fromkeys(name for name, _ in found):
        line = [name]
        for way in ("first", "all", "sure"):
            line += [
                f"{mean(row[key] for row in found[name, way]):.0f}" for key in ("wrong", "flagged", "right")
            ]
        body.append(line)
    told = ["wrong", "flagged", "of them wrong"]
    return markdown(["", *told, "all decided: wrong", *told[1:], "sure ones: wrong", *told[1:]], body)


def of_comments() -> str:
    """Wrong labels found in tables with a column of sentences, by what is learned of it."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in results("comments", "comments"):
        found.setdefault((row["group"], row["kind"], row["name"]), []).append(row)
    body = []
    for (group, kind, name), rows in found.items():
        line = [group, name if kind == "beside" else f"questions on {name} subjects"]
        for way in ("without", "before", "now"):
            told = [row for row in rows if row["way"] == way]
            right = [row["precision"] for row in told if row["precision"] is not None]
            line += [f"{mean(right):.2f}" if right else "-", f"{mean(row['recall'] for row in told):.2f}"]
        line.append(f"{100 * mean(row['flagged_clean'] for row in rows if row['way'] == 'now'):.1f}")
        body.append(line)
    ways = [
        f"{way}: {what}" for way in ("without it", "32 always", "now") for what in ("precision", "recall")
    ]
    return markdown(["", "set", *ways, "clean, flagged now, %"], body)


LAB_TABLES = {
    "audit.md": {
        "audit tables": lambda: audit_tables.summary(RESULTS / "audit.jsonl"),
        "people's labels": lambda: human_noise_tables.summary(RESULTS / "human_noise.jsonl"),
        "unseen": lambda: unseen_tables.summary(RESULTS / "unseen.jsonl"),
        "copies": of_copies, "groups": of_groups, "junk": of_junk, "second audits": of_second_audits,
        "comments": of_comments,
    }
}  # fmt: skip
