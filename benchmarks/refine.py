"""Accuracy after the refined fit, against robust methods, cleanlab's CleanLearning and the oracle.

    python -m benchmarks refine --data FOLDER --features FOLDER

The cells are those of audit_cells.py; a third of the in-distribution rows of each, at most 2,000, is
kept aside with true labels to test on. All methods train the same network on the same encoded features with
the same settings; the oracle trains on the in-distribution samples with their true labels. CleanLearning
wraps the same network, trained with cross entropy. The refined fit is a committee, and committees do better
than one network whatever they learn from; so there are rows for it with one member, and for committees of the
same size on the dirty labels ("standard x5") and the true ones ("oracle x5").
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks import audit_cells as cells
from benchmarks import record
from benchmarks.audit_cells import Split
from graylearn.data.splits import canonical_order
from graylearn.estimator import GrayClassifier
from graylearn.estimator.inputs import InputEncoder
from graylearn.estimator.networks import build_network, member_seeds, training_settings
from graylearn.training import train_stack

RESULTS, CHOSEN = record.RESULTS / "refine.jsonl", record.RESULTS / "choose.jsonl"
"""Of the method `choose`, and of what stands beside it on the same rows: `--out` of both scripts."""
NAMES = {
    "clean": "clean",
    "ood20": "20 % OOD",
    "mix": "20 % OOD and 20 % flipped",
    "specific": "specific labels",
}
MAIN = ("oracle", "oracle x5", "standard", "standard x5", "gl", "gl+refine", "gl+refine x1", "cleanlab")
Key = tuple[str, str]
"""A cell and a setting."""
PEERS = 3
"""Methods of others that are shown where the gap is small: those that win back most of it."""
MAX_TEST = 2000
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


def one(split: Split, method: str) -> dict[str, Any]:
    """The row of a method that trains by itself."""
    began, clean = time.perf_counter(), split.data.clean()
    if method == "oracle":
        found = classifier(split, method="standard").fit(np.asarray(clean.x), clean.y)
        row = {"accuracy": split.accuracy(found.predict(split.test_x))}
    elif method == "cleanlab":
        row = cleanlab(split)
    elif method == COMMITTEES[0]:
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
    split = Split(cells.CELLS[cell](args.data, args.features), cells.SETTINGS[setting], seed, MAX_TEST)
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
        yield {"method": method, **sizes, **row}


def read(path: Path = RESULTS) -> list[record.Row]:
    """The rows; of two for the same run, the later."""
    run = ("cell", "setting", "seed", "method")
    return list({tuple(row[part] for part in run): row for row in record.rows(path)}.values())


class Accuracies:
    """Accuracies in points by cell and setting, method and seed; a failed peer has none."""

    def __init__(self, rows: list[record.Row]) -> None:
        self.classes = {row["cell"]: int(row["K"]) for row in rows}
        self.by: dict[Key, dict[str, dict[int, float]]] = {}
        for row in rows:
            if "accuracy" in row and row["setting"] in NAMES:
                methods = self.by.setdefault((row["cell"], row["setting"]), {})
                methods.setdefault(row["method"], {})[int(row["seed"])] = float(row["accuracy"])

    @property
    def methods(self) -> list[str]:
        """All that were measured, the main ones first."""
        found = list(dict.fromkeys(method for methods in self.by.values() for method in methods))
        return [*(m for m in MAIN if m in found), *sorted(m for m in found if m not in MAIN)]

    def keys(self, settings: tuple[str, ...], few: bool) -> list[Key]:
        """Cells and settings, of at most three classes (`few`) or of more."""
        return [key for key in self.by if key[1] in settings and (self.classes[key[0]] < 4) == few]

    def against(self, key: Key, method: str, other: str) -> dict[int, float]:
        """By seed, points that `method` is above `other`, where both were measured."""
        ours, theirs = self.by[key].get(method, {}), self.by[key].get(other, {})
        return {seed: value - theirs[seed] for seed, value in ours.items() if seed in theirs}

    def mean_against(self, keys: list[Key], method: str, other: str) -> tuple[float, float | None] | None:
        """Points above `other`: the mean over cells, and the deviation over seeds of that mean."""
        found = [by for key in keys if (by := self.against(key, method, other))]
        if not found:
            return None
        shared = set.intersection(*(set(by) for by in found))
        of_seed = [mean(by[seed] for by in found) for seed in sorted(shared)]
        return mean(mean(by.values()) for by in found), stdev(of_seed) if len(of_seed) > 1 else None

    def recovered(self, keys: list[Key], method: str) -> tuple[float, int] | None:
        """Mean share of the gap from standard to oracle that is won back, over gaps of a point or more."""
        shares = []
        for key in keys:
            gap, won = self.against(key, "oracle", "standard"), self.against(key, method, "standard")
            common = set(gap) & set(won)
            if common and (size := mean(gap[s] for s in common)) >= 1.0 - 1e-9:
                shares.append(mean(won[s] for s in common) / size)
        return (mean(shares), len(shares)) if shares else None


def spread(value: tuple[float, float | None] | None, digits: int = 2, sign: str = "+") -> str:
    """A mean and its deviation; a dash where nothing was measured."""
    if value is None:
        return "-"
    text = f"{value[0]:{sign}.{digits}f}"
    return text if value[1] is None else f"{text} ± {value[1]:.{digits}f}"


def by_method(rows: list[record.Row], few: bool) -> str:
    """Accuracy less the oracle's by setting, and the share of the gap won back, one line a method."""
    data = Accuracies(rows)
    settings = [name for name in NAMES if data.keys((name,), few)]
    dirty = data.keys(tuple(name for name in settings if name != "clean"), few)
    seconds: dict[str, list[float]] = {}
    for row in rows:
        if "seconds" in row and row["setting"] in NAMES and (row["K"] < 4) == few:
            seconds.setdefault(row["method"], []).append(row["seconds"])
    body = []
    won = {method: data.recovered(dirty, method) for method in data.methods}
    others = sorted((m for m in won if m not in MAIN), key=lambda m: -(won[m] or (0.0,))[0])
    for method in data.methods:
        if method == "oracle" or method in others[PEERS:]:
            continue
        cells = [spread(data.mean_against(data.keys((name,), few), method, "oracle")) for name in settings]
        taken = seconds.get(method)
        body.append(
            [
                method,
                *cells,
                "-" if (share := won[method]) is None else f"{100 * share[0]:.0f}",
                "-" if not taken else f"{mean(taken):.1f}",
            ]
        )
    return record.markdown(
        ["method", *(NAMES[name] for name in settings), "gap won back, %", "seconds"], body
    )


LAB_TABLES = {
    "refinement.md": {
        "refine, four classes or more": lambda: by_method(read(), few=False),
        "refine, two or three classes": lambda: by_method(read(), few=True),
        "choose, four classes or more": lambda: by_method(read(CHOSEN), few=False),
    }
}


def main() -> None:
    parser = record.parser(__doc__, RESULTS, "data", "features")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    args = parser.parse_args()
    tried = product(cells.CELLS, NAMES, args.seeds)
    asked = [{"cell": cell, "setting": setting, "seed": seed} for cell, setting, seed in tried]
    record.sweep("refine", args.out, asked, partial(measure, args=args))
