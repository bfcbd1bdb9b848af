"""Whether `reject_at` and `predict_sets` keep their promise on new samples, and what they cost.

    python -m benchmarks rejection --data FOLDER --features FOLDER    # results/rejection.jsonl

The cells are those of benchmarks/audit_cells.py, with at most 1,200 rows to learn from and 1,000 clean ones
to test on. A row a cell, setting, seed and way:

    held-out          GrayClassifier as it is: limits from samples that were held out in folds
    training          the same network, limits of the training samples (as it was before)
    split             the same network on four fifths of the samples, limits of the last (split conformal)
    isolation forest  scikit-learn's, fitted on the same rows, `contamination` the share to reject
    local outlier     scikit-learn's LocalOutlierFactor, likewise

`rejected` is the share of test samples that belong and were rejected, `ood_rejected` that of samples of no
class; `covered` the share of sets that hold the true class. A run goes on where it was.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler

from benchmarks import audit_cells as cells
from benchmarks import record
from graylearn.data.splits import stratified_choice
from graylearn.estimator import GrayClassifier
from graylearn.estimator.calibration import scores
from graylearn.estimator.networks import outputs_of
from graylearn.estimator.rejection import quantiles

RESULTS = record.RESULTS / "rejection.jsonl"
ROWS, TEST = 1200, 1000
SHARES = (0.99, 0.95)
SETTINGS = {"clean": "clean", "mix": "dirty"}
WAYS = ("held-out", "training", "split", "isolation forest", "local outlier")


class Split(cells.Split):
    """A contaminated training set, clean samples to test on, and samples of no class."""

    def __init__(self, cell: str, setting: str, seed: int, args: argparse.Namespace) -> None:
        source = cells.CELLS[cell](args.data, args.features)
        super().__init__(source, cells.SETTINGS[setting], seed, TEST, cap=ROWS)
        some = np.random.default_rng(seed).permutation(len(source.ood_x))[:TEST]
        self.ood_x = source.ood_x[some].astype(np.float32)


def judged(fitted: GrayClassifier, split: Split) -> dict[str, Any]:
    """What came of each share."""
    row: dict[str, Any] = {}
    for share in SHARES:
        sets = fitted.predict_sets(split.test_x, share)
        row[f"rejected {share}"] = refused(fitted, split.test_x, share)
        row[f"ood_rejected {share}"] = refused(fitted, split.ood_x, share)
        row[f"covered {share}"] = float(sets[np.arange(len(sets)), split.test_y].mean())
    return row


def refused(fitted: GrayClassifier, x: np.ndarray, share: float) -> float:
    return float(np.mean([answer is None for answer in fitted.predict(x, reject_at=share)]))


def with_limits_of(fitted: GrayClassifier, x: np.ndarray, y: np.ndarray) -> GrayClassifier:
    """The same classifier, with the limits that these samples have."""
    said = outputs_of(fitted.network_, fitted.encoder_.transform(x), fitted.preparation_)
    unfamiliar, strange = scores(said, y, fitted.reference_)
    limits = {"quantiles": quantiles(unfamiliar), "label_quantiles": quantiles(strange)}
    fitted.reference_ = fitted.reference_ | limits
    return fitted


def outliers(make: Any, split: Split) -> dict[str, Any]:
    """A detector of outliers that is told what share to reject."""
    row = {}
    scale = StandardScaler().fit(split.x)
    x, test, ood = (scale.transform(part) for part in (split.x, split.test_x, split.ood_x))
    for share in SHARES:
        found = make(contamination=1 - share).fit(x)
        row[f"rejected {share}"] = float(np.mean(found.predict(test) < 0))
        row[f"ood_rejected {share}"] = float(np.mean(found.predict(ood) < 0))
    return row


def measure(cell: str, setting: str, seed: int, args: argparse.Namespace) -> list[record.Row]:
    split = Split(cell, setting, seed, args)
    ours = GrayClassifier(random_state=seed, device="cpu").fit(split.x, split.y)
    rows = {"held-out": judged(ours, split)}
    keep = ours.audit_.keep if ours.audit_ is not None and ours.audit_.keep.any() else slice(None)
    rows["training"] = judged(with_limits_of(ours, split.x[keep], split.y[keep]), split)
    last = np.zeros(len(split.y), dtype=bool)
    last[stratified_choice(split.y, len(split.y) // 5, seed)] = True
    if len(np.unique(split.y[~last])) == len(np.unique(split.y)):
        fitted = GrayClassifier(random_state=seed, device="cpu", audit=None)
        fitted.fit(split.x[~last], split.y[~last])
        rows["split"] = judged(with_limits_of(fitted, split.x[last], split.y[last]), split)
    rows["isolation forest"] = outliers(lambda **kw: IsolationForest(random_state=seed, **kw), split)
    rows["local outlier"] = outliers(lambda **kw: LocalOutlierFactor(novelty=True, **kw), split)
    sizes = {"N": len(split.y), "test": len(split.test_y), "K": len(np.unique(split.y))}
    return [{"way": way, **row, **sizes} for way, row in rows.items()]


def table() -> str:
    """Percent, means over sets and seeds, and the mean of the worst set."""
    found: dict[tuple[str, str], list[record.Row]] = defaultdict(list)
    for row in record.rows(RESULTS):
        found[row["setting"], row["way"]].append(row)

    def shown(rows: list[record.Row], name: str) -> str:
        return record.spread([row[name] for row in rows if name in row])

    def of_sets(rows: list[record.Row], name: str, choose: Callable[..., float]) -> str:
        by_set: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            if name in row:
                by_set[row["cell"]].append(row[name])
        return f"{100 * choose(map(mean, by_set.values())):.1f}" if by_set else "-"

    body = [
        [
            f"{told}: {way}", shown(rows, "rejected 0.99"), of_sets(rows, "rejected 0.99", max),
            shown(rows, "rejected 0.95"), of_sets(rows, "ood_rejected 0.95", mean),
            shown(rows, "covered 0.95"), of_sets(rows, "covered 0.95", min),
        ]
        for setting, told in SETTINGS.items()
        for way in WAYS
        if (rows := found[setting, way])
    ]  # fmt: skip
    of = ("rejected at .99", "worst set", "at .95", "OOD rejected at .95", "covered at .95", "worst set")
    return record.markdown(["", *of], body)


LAB_TABLES = {"team.md": {"rejection": table}}


def main() -> None:
    args = record.parser(__doc__, RESULTS, "data", "features").parse_args()
    tried = product(cells.CELLS, SETTINGS, args.seeds)
    asked = [{"cell": cell, "setting": setting, "seed": seed} for cell, setting, seed in tried]
    record.sweep("rejection", args.out, asked, partial(measure, args=args))
