"""Boosted trees and networks on contaminated tables: fits and refined fits.

    python -m benchmarks trees --data FOLDER

Each table in four states: a fifth of the labels flipped; a fifth of the rows from a class that was removed
(foreign); that with a fifth of the other labels flipped (mix); and clean. A third of the rows, at most 2,000,
is kept aside with true labels; at most 400 of the others are learned from, and of the four larger tables at
most 4,000 too. Default parameters, one thread.

    gl, gl+refine            our network; our committee on what the audit believes
    hgb, hgb+refine          scikit-learn's boosted trees; GrayClassifier(network="trees", refine=True)
    gl oracle, hgb oracle    on the samples that belong, with their true labels

The refined networks learn what an audit believes, the refined trees what an audit by trees does. A later run
adds missing rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier

import graylearn as gl
from benchmarks import audit_cells as cells
from benchmarks import record
from benchmarks.audit_cells import Setting, Split
from reproduction.catalog import load

NAMES = ("skyserver", "stellar", "speech", "wine", "iris", "wineqt", "abalone", "digits", "arrhythmia")
LARGER = ("skyserver", "stellar", "abalone", "arrhythmia")
SIZES = (400, 4000)
"""Rows that are learned from, at most; the second of LARGER alone."""
SETTINGS = {
    "flip20": Setting(flip=0.2), "foreign": Setting(0.2), "mix": Setting(0.2, 0.2), "clean": Setting(),
}  # fmt: skip
"""The shares of rows that do not belong, and of wrong labels among the others."""
MAX_TEST = 2000
RESULTS = record.RESULTS / "trees.jsonl"


def source_of(table: str, data: Path) -> cells.Source:
    """Rows of all classes but one, and those of that one."""
    if table == "iris":
        return cells._split(*load_iris(return_X_y=True), [2])
    if table == "abalone":
        samples = load("abalone", data, split="all")
        return cells._split(samples.x.to_numpy(dtype=np.float64), samples.y, [0])
    return cells.CELLS[table](data, data)


def split_of(table: str, size: int, setting: str, seed: int, data: Path) -> Split:
    source, shares = source_of(table, data), SETTINGS[setting]
    if not shares.alpha:  # all classes belong
        x, y = np.concatenate([source.x, source.ood_x]), np.concatenate([source.y, source.ood_group])
        source = cells.Source(x, y, source.ood_x, source.ood_group)
    return Split(source, shares, seed, MAX_TEST, cap=size)


def hgb(split: Split) -> Any:
    return HistGradientBoostingClassifier(random_state=split.seed)


METHODS = ("gl", "gl+refine", "hgb", "hgb+refine", "gl oracle", "hgb oracle")


def fits(split: Split) -> dict[str, Callable[[], Any]]:
    """What to fit, by name."""
    clean = split.data.clean()
    true = np.asarray(clean.x), clean.y

    def ours(**parameters: Any) -> gl.GrayClassifier:
        return gl.GrayClassifier(random_state=split.seed, device="cpu", **parameters)

    return {
        "gl": lambda: ours(audit=None).fit(split.x, split.y),
        "gl+refine": lambda: ours(refine=True).fit(split.x, split.y),
        "hgb": lambda: hgb(split).fit(split.x, split.y),
        "hgb+refine": lambda: ours(network=hgb(split), refine=True).fit(split.x, split.y),
        "gl oracle": lambda: ours(audit=None).fit(*true),
        "hgb oracle": lambda: hgb(split).fit(*true),
    }


def measure(table: str, size: int, setting: str, seed: int, method: str, data: Path) -> Iterator[record.Row]:
    """One fit."""
    split = split_of(table, size, setting, seed, data)
    fitted = fits(split)[method]()
    shape = {"samples": len(split.y), "columns": split.x.shape[1], "classes": len(split.data.classes)}
    yield {"accuracy": split.accuracy(fitted.predict(split.test_x)), **shape}


Values = dict[str, dict[str, list[float]]]
"""One value per seed, by method and table."""


def measured(setting: str, size: int) -> Values:
    """Accuracy by method and table, of the seeds that all methods have; of two rows of a cell the later."""
    found = {
        (row["method"], row["table"], row["seed"]): row["accuracy"]
        for row in record.rows(RESULTS)
        if (row["setting"], row["size"]) == (setting, size)
    }
    values: Values = {method: {} for method in METHODS}
    for name in NAMES:
        seeds = {seed for _, table, seed in found if table == name}
        seeds = {seed for seed in seeds if all((method, name, seed) in found for method in METHODS)}
        for method in METHODS if seeds else ():
            values[method][name] = [found[method, name, seed] for seed in sorted(seeds)]
    return values


def of_means(size: int) -> str:
    """Accuracy in each state of the data, means over the tables, whose number is in brackets."""
    names = {"flip20": "flipped", "foreign": "foreign", "mix": "both", "clean": "clean"}
    core = {setting: measured(setting, size) for setting in names}
    body = []
    for method in METHODS:
        cells = [mean(map(mean, core[setting][method].values())) for setting in names]
        body.append([method, *(f"{each:.1f}" for each in cells), f"{mean(cells):.1f}"])
    tables = {setting: len(core[setting][METHODS[0]]) for setting in names}
    return record.markdown(["", *(f"{names[each]} ({tables[each]})" for each in names), "mean"], body)


LAB_TABLES = {
    "trees.md": {
        "means, 400": lambda: of_means(400),
        "means, 4,000": lambda: of_means(4000),
    }
}


def main() -> None:
    args = record.parser(__doc__, RESULTS, "data").parse_args()
    tried = itertools.product(NAMES, SIZES, SETTINGS, args.seeds, METHODS)
    named = "table", "size", "setting", "seed", "method"
    cells = [
        dict(zip(named, each, strict=True)) for each in tried if each[1] == SIZES[0] or each[0] in LARGER
    ]
    record.sweep("trees", args.out, cells, partial(measure, data=args.data))
