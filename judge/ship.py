"""Puts a trained judge into the library: its weights, and beside them a card of what it learned and how well.

    python -m judge ship --work FOLDER      # graylearn/audit/judge.npz and judge.json

FOLDER holds what `python -m judge train` wrote. How well it judges is read from results/judge.jsonl: every
family by a judge that never saw it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import record
from graylearn.audit.judge import SHIPPED, read_judge, write_judge
from judge.evaluate import JUDGE
from judge.tables import Rows, families, goals, select

CARD = SHIPPED.with_suffix(".json")


def card(learned: dict[str, Any], rows: Rows, judge: str, commit: str) -> dict[str, Any]:
    """What lies beside the weights; learned: the card of the training, rows: of the evaluation."""
    known = {key: value for key, value in learned.items() if key != "settings"}
    measured = {what: value for what, of, _ in goals(families(rows)) if not np.isnan(value := of(rows))}
    settings = {key: learned["settings"][key] for key in ("threshold", "sure")}
    told = {"judge": judge, "commit": commit, **settings, **known}
    if measured:
        told["measured on families left out"] = {what: round(value, 4) for what, value in measured.items()}
    return told


def main(work: Path, rows: Path = JUDGE, called: str = "judge", commit: str | None = None) -> None:
    """Write both; rows: what `python -m judge evaluate` wrote, called: the judge's own among them."""
    if commit is None:
        head = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    write_judge(read_judge(work / "judge.npz"), SHIPPED)
    learned = json.loads((work / "card.json").read_text(encoding="utf-8"))
    made = card(learned, select(record.rows(rows), called=called), read_judge(SHIPPED).id, commit)
    CARD.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{SHIPPED} ({SHIPPED.stat().st_size:,} bytes), {CARD}: judge {made['judge']}")
