"""The judge's gate in CI: what the library says of sets drawn here, against limits and what it said before.

    python -m judge.gate              # ten minutes of one core at most; no data but scikit-learn's
    python -m judge.gate --freeze     # keep what it says now, once a change is accepted

Draws of the generators and of scikit-learn's sets, of seeds that no judge learned from. What is measured over
all must stay within its limit, and F1 by fault and calibration must not fall behind what was kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from judge.draw import draw
from judge.evaluate import measured, product
from judge.sources import load
from judge.tables import CLEAN, Rows, calibration, families, markdown, mean, select, share

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
        case = {
            "features": made.features, "label": made.label, "truth": made.truth, "true_label": made.true_label
        }  # fmt: skip
        began = time.process_time()
        found = product(case, "auto")
        row = measured(case, {**found, "seconds": time.process_time() - began})
        rows.append(row | {"family": made.info["family"], "setting": made.info["plan"], "group": "draws"})
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


def cells(rows: Rows) -> dict[str, float]:
    """F1 by fault."""
    return {f"F1, {plan}": mean(rows, "f1", setting=plan) for plan in ("labels", "foreign", "both")}


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and exit with 1 where a limit is not held."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--freeze", action="store_true", help="keep what is measured")
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args(argv)
    rows = drawn_rows(args.draws)
    clean, compared = select(rows, setting=CLEAN), cells(rows)
    now = {
        "clean: flagged, %": 100 * mean(clean, "flagged"),
        "clean: flagged in the worst family, %": 100
        * max(mean(clean, "flagged", family=name) for name in families(clean)),
        "clean: sets over 2 %, %": share(clean, "flagged", 0.02),
        "calibration error": calibration(rows),
        "misspelt class: verdicts changed, %": misspelt(),
        **compared,
    }
    before: dict[str, float] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    body: list[list[Any]] = []
    for name, value in now.items():
        kept = before.get(name, np.nan)
        failed = name in LIMITS and not value <= LIMITS[name]
        failed |= name in compared and value < kept - BEHIND
        failed |= name == "calibration error" and value > kept + BEHIND
        body.append(
            [
                name,
                value,
                f"at most {LIMITS[name]}" if name in LIMITS else "",
                kept,
                "FAILED" if failed else "",
            ]
        )
    print(markdown(["", "now", "limit", "kept", ""], body))
    print(f"{time.process_time():.0f} s of one core")
    if args.freeze:
        KEPT.write_text(json.dumps({name: round(value, 4) for name, value in now.items()}, indent=1) + "\n")
    elif any(row[-1] for row in body):
        sys.exit(1)


if __name__ == "__main__":
    main()
