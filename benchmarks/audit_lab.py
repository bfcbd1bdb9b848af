"""Tables of docs/lab/audit.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import mean

from benchmarks import record
from benchmarks.record import RESULTS, Row, markdown
from judge.evaluate import JUDGE, PEERS, RULES
from judge.tables import PUBLISHED, best_peer, goals, select

OWN = {
    "uniform10": "a tenth flipped at random",
    "uniform40": "two fifths flipped at random",
    "next10": "a tenth moved to the next class",
    "next40": "two fifths moved to the next class",
    "confused15": "15 % between confused classes",
    "instance15": "15 % where classes are alike",
    "one15": "15 % foreign, all with one label",
    "ood10": "10 % foreign",
    "ood20": "20 % foreign",
    "specific20": "20 % foreign, one label per kind",
    "both": "foreign and flipped",
    "planted": "errors planted by others",
}
GROUPS = {
    "people": "labels that people got wrong",
    "structured": "structured errors",
    "uniform": "flipped at random",
    "few": "two and three classes, a tenth moved",
    "specific": "foreign, one label per kind",
    "mixed": "people's errors and foreign samples",
    "cells": "the ten sets",
    "unseen": "sets never looked at, foreign, one label per kind",
    "given": "probabilities alone",
    "beside": "tables beside as many columns of noise",
}


def cases() -> Iterable[tuple[str, dict[str, str]]]:
    """What a line of the table is called, and which rows it is of."""
    yield from ((f"14 sets: {told}", {"group": "own", "setting": s}) for s, told in OWN.items())
    yield from ((GROUPS[name], {"group": name}) for name in PUBLISHED)
    for plan in ("labels", "foreign random", "foreign specific", "both"):
        yield f"drawn sets: {plan}", {"group": "draws", "setting": plan}


def verdicts() -> list[list[Row]]:
    """Those of the rules and of the judge, as the calls of the library are made without a word."""
    return [select(record.rows(RESULTS / path.name), overlap="auto") for path in (RULES, JUDGE)]


def shown(values: list[float], digits: str = ".3f", times: float = 1.0) -> str:
    return f"{times * mean(values):{digits}}" if values else "-"


def of_judge() -> str:
    """Mean F1 by what is wrong, of rules, judge and, where peers were asked, the best of them."""
    both, peers, body = verdicts(), record.rows(RESULTS / PEERS.name), []
    for told, wanted in cases():
        rows = [[row for row in select(each, **wanted) if row.get("f1") is not None] for each in both]
        names = sorted({row["name"] for each in rows for row in each})
        best = [f1 for name in names if (f1 := best_peer(peers, name)[0]) == f1]
        of_all = best if len(best) == len(names) else []  # else they are means of other cases
        line = [shown([row["f1"] for row in each]) for each in rows]
        body.append([f"{told} ({len(names)})", *line, shown(of_all)])
    return markdown(["what is wrong", "rules", "judge", "best peer"], body)


def of_clean() -> str:
    """What is flagged where nothing is wrong."""
    told = {"own": "the 14 sets", "clean": "other sets", "rare": "rare classes, heavy tails",
            "cells": "the ten sets", "draws": "drawn sets", "kinds": "classes of two kinds",
            "given": "probabilities alone"}  # fmt: skip
    both, body = verdicts(), []
    for group, name in told.items():
        rows = [select(each, group=group, setting=("clean", "hopeless")) for each in both]
        line = [
            shown(
                [row[key] if key == "flagged" else float(row["flagged"] > 0.02) for row in each], ".2f", 100
            )
            for key in ("flagged", "over")
            for each in rows
        ]
        body.append([f"{name} ({max(map(len, rows))})", *line])
    head = ["clean sets", "rules: flagged, %", "judge", "rules: sets above 2 %, %", "judge"]
    return markdown(head, body)


def of_goals() -> str:
    """Every goal but those of single families, for rules and judge."""
    rules, judge = (record.rows(RESULTS / path.name) for path in (RULES, JUDGE))
    body = [[what, of(rules), of(judge), goal] for what, of, goal in goals([])]
    return markdown(["", "rules", "judge", "goal"], body)


CLAIM = {
    "right rows flagged, %": ("clean", "flagged", 100.0, ".1f"),
    "a tenth of the labels flipped: F1": ("uniform10", "f1", 1.0, ".2f"),
    "a tenth moved to the next class: F1": ("next10", "f1", 1.0, ".2f"),
    "a fifth belongs to no class: F1": ("ood20", "f1", 1.0, ".2f"),
}


def of_claim() -> str:
    """The 14 sets beside cleanlab: of its filters over three models the best one on flipped labels."""
    _, judge = verdicts()
    peers = [row for row in record.rows(RESULTS / PEERS.name) if row["method"].startswith("cleanlab")]
    by_method: dict[str, list[Row]] = {}
    for row in select(peers, group="own"):
        by_method.setdefault(row["method"], []).append(row)

    def of(rows: list[Row], setting: str, key: str) -> dict[str, float]:
        return {row["name"]: row[key] for row in select(rows, setting=setting) if row.get(key) is not None}

    flipped = {method: of(rows, "uniform10", "f1") for method, rows in by_method.items()}
    most = max(len(each) for each in flipped.values())
    best = max(
        (m for m, each in flipped.items() if len(each) == most), key=lambda m: mean(flipped[m].values())
    )
    body = []
    for told, (setting, key, times, digits) in CLAIM.items():
        theirs = of(by_method[best], setting, key)
        ours = of(select(judge, group="own"), setting, key)
        both = [name for name in ours if name in theirs]
        line = [shown([each[name] for name in both], digits, times) for each in (ours, theirs)]
        body.append([f"{told} ({len(both)} sets)", *line])
    return markdown(["", "graylearn", best.replace("cleanlab ", "cleanlab, ")], body)


def of_groups() -> str:
    """What is found among samples that belong together, by audits that do not know it and that do."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in record.rows(RESULTS / "groups.jsonl"):
        found.setdefault(row["noise"], {}).setdefault(row["way"], []).append(row)
    measures = ("flagged", "precision", "recall")
    body = [
        [noise]
        + [
            shown([row[key] for row in by_way[way] if row[key] is not None], ".2f")
            for key in measures
            for way in ("plain", "groups")
        ]
        for noise, by_way in found.items()
    ]
    return markdown(["", *(f"{key}, {way}" for key in measures for way in ("plain", "with groups"))], body)


LAB_TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "audit.md": {
        "judge": of_judge,
        "clean": of_clean,
        "goals": of_goals,
        "groups": of_groups,
        "claim": of_claim,
    }
}
