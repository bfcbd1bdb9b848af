"""The audit against cleanlab, PyOD and a standard-trained network: does it find what does not belong?

    python -m benchmarks audit --data FOLDER --features FOLDER --jobs 12        # results/audit.jsonl
    python -m benchmarks audit --data FOLDER --features FOLDER --time           # seconds, one process
    python -m benchmarks audit --summary                                        # tables in Markdown

One JSON line a cell, setting, seed and method; a run that was cut short goes on where it was. All methods
see the same scaled features. `--features` holds cifar10-features.npz, tiny-features.npz (EfficientNet-Lite0)
and banking77-features.npz (MiniLM), as graylearn.data.embed_images and embed_text make them.
`--time` measures one method at a time, in this process, on one thread (setting `mix`, first seed).
A peer that cannot be imported is left out, with a note.
"""

from __future__ import annotations

import argparse
import os
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks import audit_cells as cells
from benchmarks import audit_tables, record
from benchmarks.audit_methods import METHODS, TIMED_ONLY, Scores, Set, importable
from graylearn.data import Contaminated

Task = tuple[str, str, int, list[str]]
REPEATS = 3


def judged(data: Contaminated, found: Scores) -> dict[str, Any]:
    """All measures of one method on one set."""
    bad, wrong = data.is_ood | data.is_flipped, data.is_flipped
    score = np.nan_to_num(np.asarray(found["score"], dtype=np.float64), posinf=1e30, neginf=-1e30)
    row: dict[str, Any] = {"contaminated": float(bad.mean())}
    if bad.any():
        row |= {"auroc": roc_auc_score(bad, score), "ap": average_precision_score(bad, score)}
    if wrong.any():
        inside = ~data.is_ood
        row |= {
            "auroc_wrong": roc_auc_score(wrong[inside], score[inside]),
            "ap_wrong": average_precision_score(wrong[inside], score[inside]),
        }
    if "flagged" in found:
        flagged = np.asarray(found["flagged"], dtype=bool)
        hit = int((flagged & bad).sum())
        row["flagged"] = float(flagged.mean())
        if bad.any():
            row["precision"] = hit / max(int(flagged.sum()), 1)
            row["recall"] = hit / int(bad.sum())
            row["f1"] = 2 * hit / max(int(flagged.sum() + bad.sum()), 1)
    if "kind" in found:
        row |= {"form": found["form"], "estimated": found["estimated"]}
        for name, truth, kind in (("kind_ood", data.is_ood, 2), ("kind_wrong", wrong, 1)):
            caught = truth & found["flagged"]
            if caught.any():
                row[name] = float((found["kind"][caught] == kind).mean())
        named = wrong & (found["kind"] == 1)
        if named.any():
            row["suggestion"] = float((found["suggested"][named] == data.true_y[named]).mean())
    return {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}


def measure(task: Task, data: Path, features: Path, deadline: float) -> list[dict[str, Any]]:
    """Rows of the methods on one set, as far as the deadline allows; a method that fails is left out."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    cell, setting, seed, methods = task
    if time.time() > deadline:
        return []
    given = Set(cells.make(cell, setting, seed, data, features))
    rows = []
    for method in methods:
        if time.time() > deadline:
            break
        began = time.perf_counter()
        try:
            found = METHODS[method](given)
        except Exception:  # a peer may fail on a set; the others' rows are kept
            print(f"failed: {cell} {setting} {seed} {method}\n{traceback.format_exc()}", flush=True)
            continue
        seconds = found.get("seconds", time.perf_counter() - began)
        rows.append(
            {
                "cell": cell, "setting": setting, "seed": seed, "method": method, "K": given.num_classes,
                "N": len(given.y), "D": given.raw.shape[1], "seconds": round(seconds, 3),
                **judged(given.data, found),
            }
        )  # fmt: skip
    return rows


def done(out: Path, experiment: str) -> set[tuple[str, str, int, str]]:
    """What a file of results holds already; a line that was cut short does not count."""
    return {
        (row["cell"], row["setting"], row["seed"], row["method"])
        for row in record.rows(out)
        if row["experiment"] == experiment
    }


def plan(args: argparse.Namespace, methods: list[str]) -> Iterator[Task]:
    """What is left to measure: cell, setting, seed, methods."""
    known = done(args.out, "audit")
    for seed in args.seeds:
        for cell in args.cells:
            for setting in args.settings:
                if setting in cells.HARD and cell not in cells.HARD_CELLS:
                    continue
                left = [m for m in methods if (cell, setting, seed, m) not in known]
                if left:
                    yield cell, setting, seed, left


def run(args: argparse.Namespace, deadline: float) -> None:
    """Measure what is left, in several processes, and append each row once its set is done."""
    left = list(plan(args, importable(args.methods)))
    waiting = (task for task in left if time.time() < deadline)  # read by joblib as workers become free
    with parallel_config("loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=args.jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(
            delayed(measure)(task, args.data, args.features, deadline) for task in waiting
        )
    for count, rows in enumerate(results, 1):
        for row in rows:
            record.append(record.record("audit", **row), args.out)
        name = " ".join(str(rows[0][key]) for key in ("cell", "setting", "seed")) if rows else "out of time"
        print(f"{count}/{len(left)} {name}", flush=True)
    if time.time() > deadline:
        print("stopped at the time limit; the same command goes on from here")


def clock(args: argparse.Namespace, deadline: float) -> None:
    """Seconds of each method, one at a time on one thread, the median of three, nothing shared."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    every = METHODS | TIMED_ONLY
    known = done(args.out, "audit-time")
    for cell in args.cells:
        data = cells.make(cell, "mix", args.seeds[0], args.data, args.features)
        for method in importable([*args.methods, *TIMED_ONLY]):
            if (cell, "mix", args.seeds[0], method) in known or time.time() > deadline:
                continue
            taken = []
            for _ in range(REPEATS):
                given = Set(data)
                began = time.perf_counter()
                found = every[method](given)
                taken.append(found.get("seconds", time.perf_counter() - began))
            row = {
                "cell": cell, "setting": "mix", "seed": args.seeds[0], "method": method, "N": len(data),
                "D": given.raw.shape[1], "K": given.num_classes, "seconds": round(median(taken), 4),
            }  # fmt: skip
            record.append(record.record("audit-time", **row), args.out)
            print(f"{cell} {method} {row['seconds']} s", flush=True)


def main() -> None:
    parser = record.described(__doc__)
    every = [*cells.SETTINGS, *cells.HARD]
    default = Path(os.environ.get("GRAYLEARN_DATA", "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of the tables")
    parser.add_argument(
        "--features", type=Path, default=default / "features", help="folder of the feature files"
    )
    parser.add_argument("--cells", nargs="+", default=list(cells.CELLS), choices=list(cells.CELLS))
    parser.add_argument("--settings", nargs="+", default=every, choices=every)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("results/audit.jsonl"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds after which to stop")
    parser.add_argument("--time", action="store_true", help="measure seconds, in one process")
    parser.add_argument("--summary", action="store_true", help="print the tables of --out and stop")
    args = parser.parse_args()
    deadline = time.time() + args.time_limit
    if args.time:
        clock(args, deadline)
    elif not args.summary:
        run(args, deadline)
    print(audit_tables.summary(args.out))
