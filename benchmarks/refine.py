"""Accuracy after the refined fit, against robust methods, cleanlab's CleanLearning and the oracle.

    python -m benchmarks refine --data FOLDER --features FOLDER

The cells are those of audit_cells.py; a third of the in-distribution rows of each, at most 2,000, is
kept aside with true labels to test on. All methods train the same network on the same encoded features with
the same settings; the oracle trains on the in-distribution samples with their true labels. CleanLearning
wraps the same network, trained with cross entropy. The refined fit is a committee, and committees do better
than one network whatever they learn from; so there are rows for it with one member, and for committees of the
same size on the dirty labels ("standard x5") and the true ones ("oracle x5").

One JSON line a cell, setting, seed and method; rows of another REVISION are not shown.
benchmarks/refine_tables.py makes the tables of docs/lab/refinement.md from the output.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

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
        row |= {"refined": found.refined_, "flagged": float(found.audit_.suspected.mean())}
    return row


def stacked(split: Split, x: np.ndarray, y: np.ndarray, methods: list[str], seeds: list[int]) -> np.ndarray:
    """The same fit for many methods or seeds at once: logits (models, test samples, classes)."""
    encoder = InputEncoder.fitted(x)
    rows = encoder.transform(x)
    order = canonical_order(rows, y)
    unset = dict.fromkeys(("epochs", "batch_size", "learning_rate", "optimizer", "augment"))
    settings = training_settings(len(rows), encoder.shape, **unset, device="cpu", log="none")
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


def measure(cell: str, setting: str, seed: int, args: argparse.Namespace) -> Iterator[record.Row]:
    """Rows of all methods on one set. A peer that fails has its error in the row, and no accuracy."""
    split = split_of(cell, setting, seed, args)
    sizes = {"K": len(split.data.classes), "N": len(split.y), "test": len(split.test_y)}
    together = [method for method in args.methods if method in STACKED]
    found = side_by_side(split, together) if together else {}
    for method in args.methods:
        try:
            row = found.get(method) or one(split, method)
        except Exception as error:
            if method != "cleanlab":  # ours must not fail; a peer's failure is a finding
                raise
            row = {"error": f"{type(error).__name__}: {error}"[:200]}
        yield {"method": method, **sizes, **row, "revision": REVISION}


def main() -> None:
    parser = record.parser(__doc__, refine_tables.RESULTS)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--features", type=Path, required=True, help="folder of the features")
    parser.add_argument("--cells", nargs="+", default=list(cells.CELLS), choices=list(cells.CELLS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    args = parser.parse_args()
    tried = product(args.cells, SETTINGS, args.seeds)
    asked = [{"cell": cell, "setting": setting, "seed": seed} for cell, setting, seed in tried]
    record.sweep("refine", args.out, asked, partial(measure, args=args))
