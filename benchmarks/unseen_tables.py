"""The tables of results/unseen.jsonl, in Markdown."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from benchmarks import record
from benchmarks.audit_tables import number
from benchmarks.human_noise_tables import average
from benchmarks.record import Row, markdown

AS_IT_IS = "as it is"
"""The setting of a table of which nobody knows what is wrong."""


def of_sets(rows: list[Row]) -> str:
    """Means over seeds."""
    body = []
    for name, setting in dict.fromkeys((row["name"], row["setting"]) for row in rows):
        own = [row for row in rows if (row["name"], row["setting"]) == (name, setting)]
        ours = [row for row in own if row["method"] == "graylearn"]
        names = dict.fromkeys(row["method"] for row in own if row["method"].startswith("cleanlab"))
        theirs = [[row for row in own if row["method"] == method] for method in names]  # the default first
        best = max((found for each in theirs if (found := average(each, "f1")) is not None), default=None)
        body.append(
            [
                f"{name}, {setting} ({len(ours)})",
                *(number(average(ours, each)) for each in ("wrong", "flagged")),
                number(average(theirs[0], "flagged")),
                number(average(ours, "f1")),
                number(average(theirs[0], "f1")),
                number(best),
                *(number(average(ours, each)) for each in ("sure_precision", "kind_right")),
            ]
        )
    flagged, f1 = ("flagged", "cleanlab: flagged"), ("F1", "cleanlab: F1", "its best filter: F1")
    return markdown(["set (seeds)", "wrong", *flagged, *f1, "sure: precision", "kinds right"], body)


def of_tables(rows: list[Row]) -> str:
    """How many tables, how much of them is flagged, and those with any flag by name."""
    flagged = [row for row in rows if row["flagged"] > 0]
    few = f"{len(rows)} tables: nothing flagged on {len(rows) - len(flagged)}; "
    few += f"in the mean {100 * mean(row['flagged'] for row in rows):.2f} % of the rows, "
    few += f"{100 * mean(row['sure'] for row in rows):.2f} % `sure`."
    body = [
        [
            row["name"],
            str(row["N"]),
            str(row["K"]),
            *(f"{100 * row[each]:.1f}" for each in ("flagged", "sure")),
        ]
        for row in sorted(flagged, key=lambda row: -row["flagged"])
    ]
    return f"{few}\n\n{markdown(['table: label', 'rows', 'classes', 'flagged %', 'sure %'], body)}"


def summary(path: Path) -> str:
    """Both tables of a file of results."""
    rows = record.rows(path)
    asis = [row for row in rows if row["setting"] == AS_IT_IS]
    return "\n\n".join([of_sets([row for row in rows if row["setting"] != AS_IT_IS]), of_tables(asis)])
