"""The tables of learned-judge's goals, from the rows that judge/evaluate.py kept.

python -m judge tables [--called judge] [--peers]      # rules, judge and goals; --peers: case by case
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import record
from benchmarks.record import markdown
from judge.evaluate import JUDGE, PEERS, RULES, calibration_error

Rows = list[dict[str, Any]]
NONE = float("nan")
PLANS = {"labels": 0.5, "foreign random": 0.7, "foreign specific": 0.35, "both": 0.65}
"""What is wrong with a draw, and the mean F1 to reach."""
PUBLISHED = (
    "people", "structured", "uniform", "few", "specific", "mixed", "cells", "unseen", "given", "beside",
)  # fmt: skip
CLEAN = ("clean", "hopeless")
SHOWN = ("own", "beside", "misspelt", "people", "given", "unseen", "specific")


def select(rows: Rows, **wanted: Any) -> Rows:
    """The rows that have these values; a tuple stands for any of several."""

    def fits(row: dict[str, Any]) -> bool:
        return all(row.get(k) in v if isinstance(v, tuple) else row.get(k) == v for k, v in wanted.items())

    return [row for row in rows if fits(row)]


def mean(rows: Rows, key: str, **wanted: Any) -> float:
    """The mean over the rows that have the measure."""
    values = [row[key] for row in select(rows, **wanted) if row.get(key) is not None]
    return float(np.mean(values)) if values else NONE


def share(rows: Rows, key: str, above: float) -> float:
    """In how many of 100 rows with the measure it is above."""
    return 100 * mean([{key: row[key] > above} for row in rows if row.get(key) is not None], key)


def clean(rows: Rows, drawn: bool) -> Rows:
    """Sets without faults and with features: the draws kept aside, or all others but those of two kinds."""
    own = [row for row in select(rows, setting=CLEAN) if row["D"] and row["group"] != "kinds"]
    return [row for row in own if (row["group"] == "draws") == drawn]


def flagged(rows: Rows, drawn: bool) -> float:
    """What is flagged on clean sets, in %."""
    return 100 * mean(clean(rows, drawn), "flagged")


def over_two(rows: Rows, drawn: bool) -> float:
    """How many of 100 clean sets have more than 2 % flagged."""
    return share(clean(rows, drawn), "flagged", 0.02)


def in_worst(rows: Rows, drawn: bool) -> float:
    """The same of the family of which most is flagged."""
    own = clean(rows, drawn)
    return max((100 * mean(own, "flagged", family=name) for name in families(own)), default=NONE)


def families(rows: Rows) -> list[str]:
    """The families that the rows are of."""
    return sorted({row["family"] for row in rows if "family" in row})


def gain(rows: Rows, **wanted: Any) -> float:
    """Average precision of the score, over that of 1 - confidence."""
    return mean(rows, "ap", **wanted) - mean(rows, "ap_confidence", **wanted)


def told(rows: Rows) -> float:
    """What knowing that samples have one class adds to F1, of given probabilities alone."""
    named = {row["name"] for row in rows if row.get("overlap") == "none"}
    own = [row for row in rows if row["name"] in named]
    return mean(own, "f1", overlap="none") - mean(own, "f1", overlap="auto")


def calibration(rows: Rows) -> float:
    """Calibration error over all sets."""
    own = [row["reliability"] for row in rows if "reliability" in row]
    return calibration_error(own) if own else NONE


def calibration_in_worst(rows: Rows) -> float:
    """The same of the family in which it is largest."""
    return max((calibration(select(rows, family=name)) for name in families(rows)), default=NONE)


def moved(rows: Rows) -> float:
    """How far another order of the rows moves a posterior, at most."""
    return max((row["moved"] for row in select(rows, setting="order")), default=NONE)


def both_kinds(rows: Rows) -> float:
    """How many of what is found are of the kind that is told, where both kinds are there."""
    return mean([row for row in rows if "f1_mislabelled" in row and "f1_foreign" in row], "kind_right")


Goal = tuple[str, Callable[[Rows], float], str]


def goals(names: list[str]) -> list[Goal]:
    """What is measured over the rows of a method, and the goal."""
    told_of: list[Goal] = [
        (f"draws, {plan}: mean F1", partial(mean, key="f1", group="draws", setting=plan), f">= {goal}")
        for plan, goal in PLANS.items()
    ]
    for name, drawn in (("draws", True), ("other sets", False)):
        told_of += [
            (f"{name}, clean: flagged, %", partial(flagged, drawn=drawn), "<= .3"),
            (f"{name}, clean: sets over 2 %, %",
             partial(over_two, drawn=drawn), "<= 2"),
            (f"{name}, clean: flagged in the worst family, %", partial(in_worst, drawn=drawn), "<= .5"),
        ]  # fmt: skip
    kinds = partial(mean, key="flagged", group="kinds")
    told_of.append(
        ("two kinds under one label, clean: flagged, %", lambda rows: 100 * kinds(rows), "rules + .5")
    )
    for group in PUBLISHED:
        goal = {"specific": ">= .80", "unseen": ">= .50", "beside": ">= .60"}.get(group, "rules - .01")
        told_of.append((f"{group}: mean F1", partial(mean, key="f1", group=group, overlap="auto"), goal))
    for name in names:
        told_of.append((f"AP of score over 1 - confidence, {name}", partial(gain, family=name), ">= -.005"))
    given = partial(mean, key="flagged", group="given", setting="clean", overlap="auto")
    return [
        *told_of,
        ("AP of score over 1 - confidence, all", gain, ">= .02"),
        ("probabilities alone: F1 that `overlap` adds", told, "<= .02"),
        ("probabilities alone, clean: flagged, %", lambda rows: 100 * given(rows), "<= .5"),
        *((f"{kind}: verdicts changed, %", lambda rows, k=kind: 100 * mean(rows, "changed", setting=k), goal)
          for kind, goal in (("misspelt", "<= .5"), ("order", "0"), ("twice", "<= .1"))),
        ("order: a posterior moved at most by, 1e-6", lambda rows: 1e6 * moved(rows), "<= 1"),
        ("calibration error", calibration, "<= .03"),
        ("calibration error, worst family", calibration_in_worst, "<= .06"),
        ("sets with .95 of the sure right, %", partial(share, key="sure_right", above=0.9499), ">= 98"),
        ("ranges that cover the share, %", lambda rows: 100 * mean(rows, "covers_total"), "88 to 94"),
        ("kinds right, where both are there", both_kinds, ">= .92"),
        ("suggested class right, of those found", partial(mean, key="suggestion"), ">= .9"),
    ]  # fmt: skip


def best_peer(peers: Rows, name: str, measure: str = "f1") -> tuple[float, str]:
    """The best of the peers on a case, chosen in hindsight, and which it was."""
    own = [
        (row[measure], row["method"]) for row in peers if row["name"] == name and row.get(measure) is not None
    ]
    return max(own, default=(NONE, "-"))


def by_case(rules: Rows, judge: Rows, peers: Rows) -> str:
    """F1 and average precision of every case, and what is flagged."""
    both = select(rules, group=SHOWN), select(judge, group=SHOWN)
    of = [{(row["name"], row["overlap"]): row for row in rows} for rows in both]
    body: list[list[Any]] = []
    for name, overlap in sorted({**of[0], **of[1]}):
        two = [rows.get((name, overlap), {}) for rows in of]
        f1, ap, share = ([row.get(key, NONE) for row in two] for key in ("f1", "ap", "flagged"))
        line = [*f1, *best_peer(peers, name), *ap, best_peer(peers, name, "ap")[0], *share]
        body.append([f"{name} ({overlap})", *line])
    head = ["case", "rules: F1", "judge", "best peer", "which", "rules: AP", "judge", "best peer",
            "rules: flagged", "judge"]  # fmt: skip
    return markdown(head, body)


def cliffs(judge: Rows, peers: Rows) -> str:
    """Cases in which a peer has an F1 of .5 and the judge less than half of it: there should be none."""
    body: list[list[Any]] = []
    for row in select(judge, overlap="auto"):
        peer, which = best_peer(peers, row["name"])
        if "f1" in row and peer >= 0.5 and row["f1"] < peer / 2:
            body.append([row["name"], row["f1"], peer, which])
    return markdown(["case", "judge: F1", "best peer", "which"], body)


def tables(rules: Rows, judge: Rows, peers: Rows, every_case: bool) -> str:
    """All tables in Markdown."""
    body = [[what, of(rules), of(judge), goal] for what, of, goal in goals(families(judge or rules))]
    parts = [markdown(["", "rules", "judge", "goal"], body)]
    parts += ["F1 below half of the best peer's:", cliffs(judge, peers)]
    return "\n\n".join([*parts, by_case(rules, judge, peers)] if every_case else parts)


def main(rules: Path = RULES, judge: Path = JUDGE, other: Path = PEERS, called: str = "judge",
         peers: bool = False) -> None:  # fmt: skip
    """Print the tables; other: rows of the peers, called: what the judge's are called."""
    own = select(record.rows(judge), called=called)
    print(tables(record.rows(rules), own, record.rows(other), peers))
