"""The judge's gate in CI: what the library says of sets drawn here, against limits and what it said before.

    python -m judge gate              # ten minutes of one core at most; no data but scikit-learn's
    python -m judge gate --freeze     # keep what it says now, once a change is accepted

Draws of the generators and of scikit-learn's sets, of seeds that no judge learned from. What is measured over
all must stay within its limit, and F1 by fault and calibration must not fall behind what was kept.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import markdown
from judge.draw import draw
from judge.evaluate import measured, product
from judge.sources import load
from judge.tables import Rows, calibration, flagged, in_worst, mean, over_two

KEPT = Path("results/judge_gate.json")
FIRST, DRAWS = 20_000_000, 300
BEHIND = 0.05
"""By how much F1 of a fault, and the calibration error, may be worse than what was kept: a draw may be judged
otherwise on another processor."""
LIMITS = {
    "clean: flagged, %": 0.5,
    "clean: flagged in the worst family, %": 2.5,  # of eight sets or so, one of which tells little
    "clean: sets over 2 %, %": 5.0,
    "misspelt class: verdicts changed, %": 0.5,
}
"""The most that is allowed."""


def drawn_rows(count: int) -> Rows:
    """A row of measures per draw."""
    sources, rows = load(None), []
    for seed in range(FIRST, FIRST + count):
        made = draw(seed, sources)
        began = time.process_time()
        found = product(vars(made), "auto")
        row = measured(vars(made), {**found, "seconds": time.process_time() - began})
        info = made.info
        rows.append(
            row | {"family": info["family"], "setting": info["plan"], "group": "draws", "D": info["D"]}
        )
    return rows


def misspelt() -> float:
    """Verdicts on scans of digits, a tenth of them wrong, that five rows of a class `sevn` change, in %."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "sevn"])
    random = np.random.default_rng(0)
    label = np.where(random.random(len(y)) < 0.1, random.integers(0, 10, len(y)), y)
    spelt = label.copy()
    spelt[np.flatnonzero((y == 7) & (label == 7))[:5]] = 10
    plain = {"features": x, "label": label, "classes": names[:10]}
    first, second = product(plain, "auto"), product({**plain, "label": spelt, "classes": names}, "auto")
    return 100 * float((first["kind"] != second["kind"])[spelt < 10].mean())


def main(freeze: bool = False, draws: int = DRAWS) -> None:
    """Measure, print, and exit with 1 where a limit is not held."""
    rows = drawn_rows(draws)
    now = {
        "clean: flagged, %": flagged(rows, drawn=True),
        "clean: flagged in the worst family, %": in_worst(rows, drawn=True),
        "clean: sets over 2 %, %": over_two(rows, drawn=True),
        "calibration error": calibration(rows),
        "misspelt class: verdicts changed, %": misspelt(),
        **{f"F1, {plan}": mean(rows, "f1", setting=plan) for plan in ("labels", "foreign", "both")},
    }
    before: dict[str, float] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    body: list[list[Any]] = []
    for name, value in now.items():
        kept, limit = before.get(name, np.nan), LIMITS.get(name)
        behind = kept - value if name.startswith("F1") else value - kept if name not in LIMITS else 0.0
        failed = behind > BEHIND or (limit is not None and not value <= limit)
        told = "" if limit is None else f"at most {limit}"
        body.append([name, value, told, kept, "FAILED" if failed else ""])
    print(markdown(["", "now", "limit", "kept", ""], body))
    print(f"{time.process_time():.0f} s of one core")
    if freeze:
        KEPT.write_text(json.dumps({name: round(value, 4) for name, value in now.items()}, indent=1) + "\n")
    elif any(row[-1] for row in body):
        sys.exit(1)
