"""Accuracy after the refined fit, against robust methods, cleanlab's CleanLearning and the oracle.

    python benchmarks/refine.py --data FOLDER --features FOLDER --out results/refine.jsonl

The cells and settings are those of benchmarks/audit.py; a third of the in-distribution rows of each, at
most 2,000, is kept aside with true labels to test on. All methods train the same network on the same
encoded features with the same settings; the oracle trains on the in-distribution samples with their true
labels. One JSON line a cell, setting, seed and method; a run that was cut short goes on where it was.
`--summary` prints the tables of an output file and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed, parallel_config

sys.path.insert(0, str(Path(__file__).resolve().parent))
import audit_cells as cells
import record

from graylearn.data import Contaminated
from graylearn.data.splits import stratified_choice
from graylearn.estimator import GrayClassifier
from graylearn.estimator.inputs import InputEncoder, canonical_order
from graylearn.estimator.networks import build_network, training_settings
from graylearn.metrics import gap_recovered
from graylearn.training import train_stack

MAX_TEST = 2000
STACKED = ("gl-label", "mae", "bt", "sl", "gce", "spl", "nl")
"""Methods that one stack of networks trains side by side."""
ALONE = ("standard", "gl", "co-teaching", "srcc")
"""Methods trained one by one: a stack cannot train the last two, and the first two are compared in pairs
with the refined fit, where the dropout of a stack would draw other units."""
METHODS = ("oracle", *ALONE[:2], "gl+refine", "cleanlab", *STACKED, *ALONE[2:])


class Split:
    """One contaminated training set, and clean samples to test on."""

    def __init__(self, cell: str, setting: str, seed: int, args: argparse.Namespace) -> None:
        source = cells.CELLS[cell](args.data, args.features)
        count = min(MAX_TEST, len(source.y) // 3)
        test = np.zeros(len(source.y), dtype=bool)
        test[stratified_choice(source.y, count, seed)] = True
        part = cells.Source(source.x[~test], source.y[~test], source.ood_x, source.ood_group)
        if setting in cells.HARD:
            self.data: Contaminated = cells._hard(part, setting, seed)
        else:
            self.data = cells._mixed(part, cells.SETTINGS[setting], seed)
        classes = np.asarray(self.data.classes)
        known = np.isin(source.y[test], classes)
        self.test_x = source.x[test][known].astype(np.float32)
        self.test_y = np.searchsorted(classes, source.y[test][known])
        self.x, self.y, self.seed = np.asarray(self.data.x), self.data.y, seed

    def accuracy(self, predicted: np.ndarray) -> float:
        return float(100 * np.mean(predicted == self.test_y))


def classifier(split: Split, **parameters: Any) -> GrayClassifier:
    return GrayClassifier(**{"audit": None, "random_state": split.seed, "device": "cpu"} | parameters)


def fitted(split: Split, **parameters: Any) -> dict[str, Any]:
    """One of our classifiers on the dirty set."""
    found = classifier(split, **parameters).fit(split.x, split.y)
    row: dict[str, Any] = {"accuracy": split.accuracy(found.predict(split.test_x))}
    if found.audit_ is not None:
        suspected, bad = found.audit_.suspected, split.data.is_ood | split.data.is_flipped
        row |= {"form": found.audit_.form, "refined": found.refined_, "flagged": float(suspected.mean())}
        if bad.any():
            row["recall"] = float(suspected[bad].mean())
        if suspected.any():
            row["precision"] = float(bad[suspected].mean())
    return row


def stacked(split: Split, methods: list[str]) -> dict[str, dict[str, Any]]:
    """The same fits for many methods at once: equal weights at the start, equal batches."""
    began = time.perf_counter()
    encoder = InputEncoder.fitted(split.x)
    x = encoder.transform(split.x)
    order = canonical_order(x, split.y)
    settings = training_settings(
        len(x),
        encoder.shape,
        epochs=None,
        batch_size=None,
        learning_rate=None,
        optimizer=None,
        augment=None,
        device="cpu",
        log="none",
    )
    num_classes = len(split.data.classes)
    networks = [build_network("auto", None, num_classes, encoder.shape, split.seed) for _ in methods]
    results = train_stack(
        networks, (x[order], split.y[order]), methods=methods, seeds=split.seed, settings=settings
    )
    test = encoder.transform(split.test_x)
    seconds = (time.perf_counter() - began) / len(methods)
    return {
        method: {"accuracy": split.accuracy(result.predict_logits(test).argmax(axis=1)), "seconds": seconds}
        for method, result in zip(methods, results, strict=True)
    }


def cleanlab(split: Split) -> dict[str, Any]:
    """CleanLearning around the same network: 5-fold predictions, drop what it finds, fit again."""
    from cleanlab.classification import CleanLearning

    wrapped = CleanLearning(classifier(split, method="standard"), seed=split.seed, verbose=False)
    wrapped.fit(split.x, split.y)
    flagged = wrapped.get_label_issues()["is_label_issue"].to_numpy()
    return {"accuracy": split.accuracy(wrapped.predict(split.test_x)), "flagged": float(flagged.mean())}


def oracle(split: Split) -> dict[str, Any]:
    clean = split.data.clean()
    found = classifier(split, method="standard").fit(np.asarray(clean.x), clean.y)
    return {"accuracy": split.accuracy(found.predict(split.test_x))}


def measure(
    cell: str, setting: str, seed: int, methods: list[str], args: argparse.Namespace
) -> list[dict[str, Any]]:
    """Rows of all methods on one set."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    split = Split(cell, setting, seed, args)
    together = [method for method in methods if method in STACKED]
    found = stacked(split, together) if together else {}
    for method in methods:
        if method in found:
            continue
        began = time.perf_counter()
        if method == "oracle":
            row = oracle(split)
        elif method == "cleanlab":
            row = cleanlab(split)
        elif method == "gl+refine":
            row = fitted(split, method="gl", refine=True, audit="auto")
        else:
            row = fitted(split, method=method)
        found[method] = {**row, "seconds": time.perf_counter() - began}
    return [
        {
            "cell": cell,
            "setting": setting,
            "seed": seed,
            "method": method,
            "K": len(split.data.classes),
            "N": len(split.y),
            "test": len(split.test_y),
            **{key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()},
        }
        for method, row in found.items()
    ]


def plan(args: argparse.Namespace) -> Iterator[tuple[str, str, int, list[str]]]:
    """What is left to measure: cell, setting, seed, methods."""
    done = set()
    if args.out.exists():
        for line in args.out.read_text().splitlines():
            row = json.loads(line)
            done.add((row["cell"], row["setting"], row["seed"], row["method"]))
    for seed in args.seeds:
        for setting in args.settings:
            for cell in args.cells:
                if setting in cells.HARD and cell not in cells.HARD_CELLS:
                    continue
                left = [m for m in args.methods if (cell, setting, seed, m) not in done]
                if left:
                    yield cell, setting, seed, left


def summary(path: Path) -> str:
    """Tables of an output file: accuracy less the oracle's, the share of the gap won back, clean sets."""
    frame = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    wide = frame.pivot_table(index=["cell", "setting", "seed", "K"], columns="method", values="accuracy")
    wide = wide[[method for method in METHODS if method in wide]]
    by_cell = wide.groupby(["cell", "setting", "K"]).mean().reset_index()
    methods = [method for method in wide if method != "oracle"]
    usual = by_cell[by_cell.setting.isin(["ood10", "ood20", "mix", "specific"])]
    parts = []
    for title, rows in (("K >= 4", usual[usual.K >= 4]), ("K <= 3", usual[usual.K < 4])):
        less = rows[methods].sub(rows["oracle"], axis=0)
        table = less.groupby(rows.setting).mean()
        table.loc["all"] = less.mean()
        parts.append(f"## accuracy less the oracle's, points, {title}\n{table.round(2).T.to_string()}")
    gaps: dict[str, list[float]] = {method: [] for method in methods}
    for _, row in usual.iterrows():
        for method in methods:
            if np.isnan(row[method]):  # not measured on this cell
                continue
            share = gap_recovered(row[method], row["standard"], row["oracle"])
            if share is not None:
                gaps[method].append(share)
    won = pd.Series({method: np.mean(shares) if shares else np.nan for method, shares in gaps.items()})
    count = len(gaps["standard"])
    parts.append(
        f"## share of the gap to the oracle won back ({count} cells and settings with a gap of a point)"
    )
    parts.append(won.round(2).to_string())
    clean = by_cell[by_cell.setting == "clean"].set_index("cell")
    parts.append("## clean sets: accuracy less that of standard, points")
    parts.append(clean[methods].sub(clean["standard"], axis=0).round(2).T.to_string())
    spread = wide.groupby(["setting", "cell"]).agg(["mean", "std"])
    shown = [method for method in ("oracle", "standard", "gl", "gl+refine", "cleanlab") if method in wide]
    parts.append(f"## accuracy by cell, mean and deviation over seeds\n{spread[shown].round(1).to_string()}")
    seconds = frame.groupby("method").seconds.mean()
    parts.append(f"## seconds\n{seconds.reindex(list(wide)).round(2).to_string()}")
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = [*cells.SETTINGS, *cells.HARD]
    default = Path(os.environ.get("GRAYLEARN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of the tables")
    parser.add_argument("--features", type=Path, default=default / "features", help="folder of the features")
    parser.add_argument("--cells", nargs="+", default=list(cells.CELLS), choices=list(cells.CELLS))
    parser.add_argument("--settings", nargs="+", default=every, choices=every)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("results/refine.jsonl"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--summary", action="store_true", help="print the tables of --out and stop")
    args = parser.parse_args()
    if not args.summary:
        left = list(plan(args))
        with parallel_config("loky", inner_max_num_threads=1):
            results = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(
                delayed(measure)(*task, args) for task in left
            )
        for count, rows in enumerate(results, 1):
            for row in rows:
                record.append(record.record("refine", **row), args.out)
            print(f"{count}/{len(left)} {rows[0]['cell']} {rows[0]['setting']} {rows[0]['seed']}", flush=True)
    print(summary(args.out))


if __name__ == "__main__":
    main()
