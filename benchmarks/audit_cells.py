"""The real cells that the audit is measured on: what is in-distribution, what is OOD, how it is mixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_wine

from graylearn.data import Contaminated, Samples, contaminate
from graylearn.data.splits import stratified_choice
from reproduction.catalog import load

CAP = 2400
"""In-distribution rows of a cell at most."""


@dataclass(frozen=True)
class Setting:
    """How a cell is contaminated."""

    alpha: float = 0.0
    flip: float = 0.0
    labels: str = "random"


SETTINGS = {
    "clean": Setting(),
    "ood10": Setting(0.1),
    "ood20": Setting(0.2),
    "mix": Setting(0.2, 0.2),
    "specific": Setting(0.2, labels="specific"),
}


@dataclass(frozen=True)
class Source:
    """Rows that belong, with their true class, and rows that do not, with the group they come from."""

    x: np.ndarray
    y: np.ndarray
    ood_x: np.ndarray
    ood_group: np.ndarray


def _split(x: np.ndarray, y: np.ndarray, ood: list[int]) -> Source:
    outside = np.isin(y, ood)
    return Source(x[~outside], y[~outside], x[outside], y[outside])


def table(name: str, data: Path, drop: tuple[str, ...] = ()) -> tuple[np.ndarray, Samples]:
    """The columns of a table that are not dropped, without its sentinels such as -9999, and the samples."""
    samples = load(name, data, split="all")
    x = samples.x.drop(columns=list(drop), errors="ignore").to_numpy(dtype=np.float64)
    return np.clip(x, *np.nanquantile(x, [0.001, 0.999], axis=0)), samples


def _table(name: str, data: Path, ood: list[str], drop: tuple[str, ...] = ()) -> Source:
    x, samples = table(name, data, drop)
    places = [k for k, name in enumerate(samples.classes) if str(name) in ood]
    if len(places) != len(ood):
        raise ValueError(f"classes are {samples.classes}, expected {ood} among them")
    return _split(x, samples.y, places)


_POINTING = (
    "objid", "specobjid", "rerun", "run", "camcol", "field", "fiberid", "ra", "dec",
    "obj_ID", "spec_obj_ID", "rerun_ID", "run_ID", "cam_col", "field_ID", "fiber_ID", "alpha", "delta",
)  # fmt: skip
"""Columns of the sky surveys that say where the telescope pointed, not what it saw."""


def _wineqt(data: Path, features: Path) -> Source:
    samples = load("wineqt", data, split="all")
    quality = np.array([int(str(name)) for name in samples.classes])[samples.y]
    x = samples.x.drop(columns="Id", errors="ignore").to_numpy(np.float64)
    return _split(x, np.clip(quality, 4, 7), [7])


def _arrhythmia(data: Path, features: Path) -> Source:
    samples = load("arrhythmia", data, split="all")
    x = np.asarray(samples.x, dtype=np.float32)
    random = np.random.default_rng(0)
    part = [random.permutation(np.flatnonzero(samples.y == k))[:700] for k in range(samples.num_classes)]
    chosen = np.concatenate(part)
    smallest = int(samples.class_counts.argmin())
    return _split(x[chosen], samples.y[chosen], [smallest])


def _arrays(path: Path, part: str, inside: int) -> Source:
    """Features of images or text: the first `inside` classes of a fixed shuffle belong, the others do not."""
    with np.load(path) as file:
        x, y = file[f"{part}x"], file[f"{part}y"].astype(np.int64)
    order = np.random.default_rng(5).permutation(np.unique(y))
    return _split(x, y, order[inside:].tolist())


CELLS: dict[str, Callable[[Path, Path], Source]] = {
    "digits": lambda data, features: _split(*load_digits(return_X_y=True), [8, 9]),
    "wine": lambda data, features: _split(*load_wine(return_X_y=True), [2]),
    "skyserver": lambda data, features: _table("skyserver", data, ["QSO"], _POINTING),
    "stellar": lambda data, features: _table("stellar", data, ["QSO"], _POINTING),
    "speech": lambda data, features: _table("speech", data, ["ES", "FR"]),
    "wineqt": _wineqt,
    "arrhythmia": _arrhythmia,
    "cifar10": lambda data, features: _arrays(features / "cifar10-features.npz", "train_", 8),
    "tiny-imagenet": lambda data, features: _arrays(features / "tiny-features.npz", "train_", 25),
    "banking77": lambda data, features: _arrays(features / "banking77-features.npz", "", 40),
}


def mixed(source: Source, setting: Setting, seed: int, cap: int = CAP) -> Contaminated:
    """One training set whose truth is known; rows are shuffled by the seed."""
    rows = np.arange(len(source.y))
    if len(rows) > cap:
        rows = stratified_choice(source.y, cap, seed)
    x, y = source.x[rows].astype(np.float32), source.y[rows]
    groups = None
    num_classes = len(np.unique(y))
    if setting.labels == "specific" and len(np.unique(source.ood_group)) >= num_classes:
        groups = source.ood_group  # else k-means groups, one a label, so that OOD is spread over all labels
    return contaminate(
        x, y, source.ood_x.astype(np.float32), ood_groups=groups, alpha=setting.alpha, flip=setting.flip,
        labels=setting.labels, on_shortage="subsample", seed=seed,  # type: ignore[arg-type]
    )  # fmt: skip


class Split:
    """A contaminated training set of at most `cap` rows that belong, and at most `most` clean ones of its
    classes to test on, a third of all at most."""

    def __init__(self, source: Source, setting: Setting, seed: int, most: int, cap: int = CAP) -> None:
        test = np.zeros(len(source.y), dtype=bool)
        test[stratified_choice(source.y, min(most, len(source.y) // 3), seed)] = True
        part = Source(source.x[~test], source.y[~test], source.ood_x, source.ood_group)
        self.data = mixed(part, setting, seed, cap)
        classes = np.asarray(self.data.classes)
        known = test & np.isin(source.y, classes)
        self.test_x = source.x[known].astype(np.float32)
        self.test_y = np.searchsorted(classes, source.y[known])
        self.x, self.y, self.seed = np.asarray(self.data.x), self.data.y, seed

    def accuracy(self, predicted: np.ndarray) -> float:
        """In percent."""
        return float(100 * np.mean(predicted == self.test_y))
