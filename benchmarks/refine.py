"""Accuracy after the refined fit, against robust methods, cleanlab's CleanLearning and the oracle.

    python -m benchmarks refine --data FOLDER --features FOLDER --jobs 16 --time-limit 3000

The cells are those of audit_cells.py; a third of the in-distribution rows of each, at most 2,000, is
kept aside with true labels to test on. All methods train the same network on the same encoded features with
the same settings; the oracle trains on the in-distribution samples with their true labels. CleanLearning
wraps the same network, trained with cross entropy. The refined fit is a committee, and committees do better
than one network whatever they learn from; so there are rows for it with one member, and for committees of the
same size on the dirty labels ("standard x5") and the true ones ("oracle x5").

One JSON line a cell, setting, seed and method. A run that was cut short, by hand or by `--time-limit`, goes
on where it was; rows of another REVISION are neither continued nor shown. benchmarks/refine_tables.py makes
the tables of docs/lab/refinement.md from the output.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config

from benchmarks import audit_cells as cells
from benchmarks import record, refine_tables
from benchmarks.audit_cells import Split
from graylearn.data.order import canonical_order
from graylearn.estimator import GrayClassifier
from graylearn.estimator.inputs import InputEncoder
from graylearn.estimator.networks import build_network, member_seeds, training_settings
from graylearn.training import train_stack

REVISION = refine_tables.REVISION
MAX_TEST = 2000
SETTINGS = ("clean", "ood20", "mix", "specific")
STACKED = (
    "gl-label", "mae", "bt", "bt-hard", "sl", "gce", "nl", "standard+nl", "nlnl", "spl", "spld",
    "mentornet-pd", "lcvd", "il-lite", "choose",
)  # fmt: skip
"""Methods that one stack of networks trains side by side."""
ALONE = ("il", "srcc", "co-teaching", "decoupling")
"""Methods that read features or train two networks, which a stack cannot."""
MEMBERS = 5
"""Networks of a committee, as GrayClassifier has it."""
COMMITTEES = (f"oracle x{MEMBERS}", f"standard x{MEMBERS}")
METHODS = (
    "oracle", "standard", "gl", "gl+refine", "gl+refine x1", "cleanlab", *COMMITTEES, *STACKED, *ALONE,
)  # fmt: skip


def split_of(cell: str, setting: str, seed: int, args: argparse.Namespace) -> Split:
    return Split(cells.CELLS[cell](args.data, args.features), cells.SETTINGS[setting], seed, MAX_TEST)


def classifier(split: Split, **parameters: Any) -> GrayClassifier:
    return GrayClassifier(**{"audit": None, "random_state": split.seed, "device": "cpu"} | parameters)


def fitted(split: Split, **parameters: Any) -> dict[str, Any]:
    """One of our classifiers on the dirty set."""
    found = classifier(split, **parameters).fit(split.x, split.y)
    row: dict[str, Any] = {"accuracy": split.accuracy(found.predict(split.test_x))}
    if found.audit_ is not None:
        suspected, bad = found.audit_.suspected, split.data.is_ood | split.data.is_flipped
        row |= {"refined": found.refined_, "flagged": float(suspected.mean())}
        if bad.any():
            row["recall"] = float(suspected[bad].mean())
        if suspected.any():
            row["precision"] = float(bad[suspected].mean())
    return row


def stacked(split: Split, x: np.ndarray, y: np.ndarray, methods: list[str], seeds: list[int]) -> np.ndarray:
    """The same fit for many methods or seeds at once: logits (models, test samples, classes)."""
    encoder = InputEncoder.fitted(x)
    rows = encoder.transform(x)
    order = canonical_order(rows, y)
    settings = training_settings(
        len(rows),
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
    networks = [build_network("auto", None, num_classes, encoder.shape, seed) for seed in seeds]
    results = train_stack(networks, (rows[order], y[order]), methods=methods, seeds=seeds, settings=settings)
    test = encoder.transform(split.test_x)
    return np.stack([result.predict_logits(test) for result in results])


def side_by_side(split: Split, methods: list[str]) -> dict[str, dict[str, Any]]:
    """Rows of methods that differ in the loss alone: equal weights at the start, equal batches."""
    began = time.perf_counter()
    logits = stacked(split, split.x, split.y, methods, [split.seed] * len(methods))
    seconds = (time.perf_counter() - began) / len(methods)
    return {
        method: {"accuracy": split.accuracy(said.argmax(axis=1)), "seconds": seconds}
        for method, said in zip(methods, logits, strict=True)
    }


def committee(split: Split, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Standard networks that differ in their seed, and answer together."""
    logits = stacked(split, x, y, ["standard"] * MEMBERS, member_seeds(split.seed, MEMBERS))
    return {"accuracy": split.accuracy(logits.mean(axis=0).argmax(axis=1))}


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


def one(split: Split, method: str) -> dict[str, Any]:
    """The row of a method that trains by itself."""
    began = time.perf_counter()
    if method == "oracle":
        row = oracle(split)
    elif method == "cleanlab":
        row = cleanlab(split)
    elif method == COMMITTEES[0]:
        clean = split.data.clean()
        row = committee(split, np.asarray(clean.x), clean.y)
    elif method == COMMITTEES[1]:
        row = committee(split, split.x, split.y)
    elif method.startswith("gl+refine"):
        members = 1 if method.endswith("x1") else MEMBERS
        row = fitted(split, method="gl", refine=True, audit="auto", members=members)
    else:
        row = fitted(split, method=method)
    return {**row, "seconds": time.perf_counter() - began}


def measure(
    cell: str, setting: str, seed: int, methods: list[str], args: argparse.Namespace
) -> list[dict[str, Any]]:
    """Rows of all methods on one set. A method that fails has its error in the row, and no accuracy."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    split = split_of(cell, setting, seed, args)
    together = [method for method in methods if method in STACKED]
    found = side_by_side(split, together) if together else {}
    for method in methods:
        if method in found:
            continue
        try:
            found[method] = one(split, method)
        except Exception as error:
            if method != "cleanlab":  # ours must not fail; a peer's failure is a finding
                raise
            found[method] = {"error": f"{type(error).__name__}: {error}"[:200]}
    return [row_of(split, (cell, setting, seed, method), measured) for method, measured in found.items()]


def row_of(split: Split, which: tuple[str, str, int, str], measured: dict[str, Any]) -> dict[str, Any]:
    """What was measured of one cell, setting, seed and method, with the sizes of its set."""
    return {
        **dict(zip(("cell", "setting", "seed", "method"), which, strict=True)),
        "K": len(split.data.classes),
        "N": len(split.y),
        "test": len(split.test_y),
        **{key: round(value, 4) if isinstance(value, float) else value for key, value in measured.items()},
        "revision": REVISION,
    }


def plan(args: argparse.Namespace) -> Iterator[tuple[str, str, int, list[str]]]:
    """What is left to measure: cell, setting, seed, methods; seed after seed, so that a part is a whole."""
    done = {(r["cell"], r["setting"], r["seed"], r["method"]) for r in refine_tables.read(args.out)}
    for seed in args.seeds:
        for setting in args.settings:
            for cell in args.cells:
                left = [m for m in args.methods if (cell, setting, seed, m) not in done]
                if left:
                    yield cell, setting, seed, left


def main() -> None:
    parser = record.described(__doc__)
    default = Path(os.environ.get("GRAYLEARN_DATA", "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of the tables")
    parser.add_argument("--features", type=Path, default=default / "features", help="folder of the features")
    parser.add_argument("--cells", nargs="+", default=list(cells.CELLS), choices=list(cells.CELLS))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(cells.SETTINGS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=refine_tables.RESULTS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--time-limit", type=float, default=None, help="seconds after which no set is begun")
    args = parser.parse_args()
    if "cleanlab" in args.methods:
        try:
            importlib.import_module("cleanlab.classification")
        except ImportError as error:
            print(f"cleanlab cannot be used ({error}): its rows are left out", file=sys.stderr)
            args.methods.remove("cleanlab")
    began, left = time.monotonic(), list(plan(args))

    def in_time() -> Iterator[tuple[str, str, int, list[str]]]:
        for task in left:
            if args.time_limit is not None and time.monotonic() - began > args.time_limit:
                return
            yield task

    with parallel_config("loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=args.jobs, pre_dispatch="n_jobs", return_as="generator_unordered")(
            delayed(measure)(*task, args) for task in in_time()
        )
    for count, rows in enumerate(results, 1):
        for row in rows:
            record.append(record.record("refine", **row), args.out)
        passed = time.monotonic() - began
        name = f"{rows[0]['cell']} {rows[0]['setting']} {rows[0]['seed']}"
        print(f"{count}/{len(left)} {name} after {passed:.0f} s", flush=True)
