"""Two and three classes, labels flipped by chance, a few hundred rows: what the audit finds and estimates.

    python -m benchmarks flips --data FOLDER        # results/flips.jsonl; goes on where it was
    python -m benchmarks flips --summary            # the table in Markdown

The rules were set on breast cancer, iris and wine, among others; the other sets are kept aside.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn import datasets

import graylearn as gl
from benchmarks import record
from benchmarks.human_noise_clean import _table
from benchmarks.human_noise_sets import Folders
from graylearn.audit.kinds import SURE

RATES = (0.0, 0.05, 0.1, 0.2, 0.3)
Made = Callable[[int], tuple[np.ndarray, np.ndarray]]


def _bundled(name: str, classes: tuple[int, ...] | None = None, rows: int = 600) -> Made:
    def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        kept = np.flatnonzero(np.isin(y, classes if classes else np.unique(y)))
        kept = np.random.default_rng(seed).permutation(kept)[:rows]
        return x[kept], np.unique(y[kept], return_inverse=True)[1]

    return made


def _from_table(name: str, folders: Folders, rows: int) -> Made:
    def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
        case = _table(name, folders, [seed, rows], rows)()
        assert case.x is not None  # a table has columns
        return case.x, case.y

    return made


def sources(folders: Folders) -> dict[str, Made]:
    """Sets by name; each makes its samples and true labels from a seed."""
    return {
        "breast cancer": _bundled("breast_cancer"),
        "iris": _bundled("iris"),
        "wine": _bundled("wine"),
        "digits 3 5": _bundled("digits", (3, 5)),
        "digits 4 7 9": _bundled("digits", (4, 7, 9)),
        "skyserver": _from_table("skyserver", folders, 500),
        "stellar": _from_table("stellar", folders, 500),
    }


def measured(x: np.ndarray, true: np.ndarray, rate: float, seed: int) -> record.Row:
    """Audit the set with so many labels flipped."""
    random = np.random.default_rng([seed, int(1000 * rate)])
    classes = int(true.max()) + 1
    moved = (true + random.integers(1, classes, len(true))) % classes
    label = np.where(random.random(len(true)) < rate, moved, true)
    found, wrong = gl.audit(x, label, log="none"), label != true
    caught, sure = int((found.suspected & wrong).sum()), found.level == SURE
    low, high = found.ranges.get("total", (None, None))  # where it cannot be told
    return {
        "N": len(true), "K": classes, "wrong": float(wrong.mean()), "flagged": float(found.suspected.mean()),
        "f1": 2 * caught / max(int(found.suspected.sum() + wrong.sum()), 1), "by": "+".join(found.found_by),
        "estimated": found.contamination["total"], "low": low, "high": high,
        "sure": int(sure.sum()), "sure_right": int((sure & wrong).sum()),
    }  # fmt: skip


def summary(path: Path) -> str:
    """A row a share of flips, and the clean sets."""
    rows = pd.DataFrame(record.rows(path))
    lines = ["| flipped | sets | found | F1 | flagged, largest % | estimate off by | range holds the truth |"]
    lines.append("|---:|---:|---:|---:|---:|---:|---:|")
    for rate, each in rows.groupby("rate"):
        told = each[each["high"].notna()]
        found, holds = each["by"] != "", (told["low"] <= told["wrong"]) & (told["wrong"] <= told["high"])
        off = (each["estimated"] - each["wrong"])[found].abs().mean()
        lines.append(
            f"| {rate:.0%} | {len(each)} | {found.sum()} | {each['f1'].mean():.3f} "
            f"| {100 * each['flagged'].max():.1f} | {off:.3f} | {holds.sum()} of {len(told)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = record.parser(__doc__ or "", Path("results/flips.jsonl"))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("GRAYLEARN_DATA", "data")))
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    known = {(row["name"], row["rate"], row["seed"]) for row in record.rows(args.out)}
    for seed in [] if args.summary else args.seeds:
        for name, make in sources(Folders(args.data, args.data, args.data)).items():
            for rate in RATES:
                if (name, rate, seed) not in known:
                    row = {"name": name, "rate": rate, "seed": seed, **measured(*make(seed), rate, seed)}
                    record.append(record.record("flips", **row), args.out)
    print(summary(args.out))
