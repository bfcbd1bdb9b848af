"""The samples of a cell: what it is trained on, with the truth about each, and what it is tested on."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from graylearn.data import Contaminated, Samples, contaminate
from graylearn.data.atomic import read_arrays
from graylearn.data.splits import stratified_choice, train_test_split
from graylearn.errors import DataError
from reproduction.catalog import datasets_table, load
from reproduction.catalog.files import Finder, data_folder
from reproduction.catalog.tasks import paper_task
from reproduction.cells import HUMAN_LABELS, Cell
from reproduction.splits import keep_classes
from reproduction.stand_ins import group_of, ood_classes

Folder = str | os.PathLike[str] | None

CARRIED = ("wine", "digits")
"""Sets that scikit-learn brings, beside iris: nothing need be at hand for them."""


PEOPLE = "cifar-10n"
"""The folder of the labels that people gave to CIFAR-10's training images."""
PEOPLE_FILE = "labels.npz"
"""Arrays by the names of HUMAN_LABELS, and `clean`, the labels that CIFAR-10 has."""
WRONG = {"aggregate": 0.09, "worst": 0.4, "random1": 0.17, "random2": 0.18, "random3": 0.18}
"""The share of wrong ones among them, about; a set that people did not label gets as many, at random."""


def sets_of(cell: Cell) -> tuple[str, ...]:
    """The names of all that a cell reads."""
    people = (PEOPLE,) if cell.labels in HUMAN_LABELS and cell.dataset == "cifar10" else ()
    return (cell.dataset, cell.ood, *people)


def files_needed(names: tuple[str, ...], folder: Folder) -> str | None:
    """ "needs FILE" where one of these datasets or sources of OOD samples is not at hand, else None."""
    if PEOPLE in names and _people_file(folder) is None:
        return f"needs {PEOPLE}/{PEOPLE_FILE}"
    here = {status.name: status for status in datasets_table(folder)}
    wanted = dict.fromkeys(name.split("/")[0] for name in names)
    missing = [here[name] for name in wanted if name in here and not here[name].present]
    return f"needs {' and '.join(status.needs for status in missing)}" if missing else None


def cell_samples(cell: Cell, folder: Folder) -> tuple[Contaminated, Samples]:
    """(train, test) of a cell; the oracle's training set is `train.clean()`."""
    where = None if folder is None else os.fspath(folder)
    train, test = _table(cell, where) if cell.kind == "table" else _images(cell, where)
    if cell.train_size is not None:
        train = _part(train, cell)
    return train, test


def read_table(cell: Cell, folder: str | None) -> Samples:
    """The whole table of a cell as its protocol reads it."""
    return _read(cell.dataset, folder, "released" if cell.protocol == "released" else "paper")


def _table(cell: Cell, folder: str | None) -> tuple[Contaminated, Samples]:
    return paper_task(read_table(cell, folder), cell.seed, alpha=cell.alpha, labels=_scheme(cell))


def _images(cell: Cell, folder: str | None) -> tuple[Contaminated, Samples]:
    name, _, count = cell.dataset.partition("/")
    train, test = (_read_pictures(name, folder, part) for part in ("train", "test"))
    ood = _ood(cell, train, folder)
    people = cell.labels in HUMAN_LABELS
    if count:
        inside = train.classes[: int(count)]
        train, test = keep_classes(train, inside), keep_classes(test, inside)
    mixed = contaminate(
        train,
        ood_x=ood,
        alpha=cell.alpha,
        labels=_scheme(cell),
        flip=WRONG[cell.labels] if people and name != "cifar10" else 0.0,
        on_shortage="lower",
        seed=cell.seed,
    )
    if people and name == "cifar10":
        mixed = _as_people_said(mixed, cell.labels, folder)
    return mixed, test


def _people_file(folder: Folder) -> Path | None:
    if folder is None and not os.environ.get("GRAYLEARN_DATA"):
        return None
    found = Finder(data_folder(folder)).folder(PEOPLE)
    return found / PEOPLE_FILE if found is not None and (found / PEOPLE_FILE).is_file() else None


def _as_people_said(train: Contaminated, labels: str, folder: str | None) -> Contaminated:
    """The training set of CIFAR-10 under the labels that people gave."""
    path = _people_file(folder)
    if path is None:
        raise DataError(f"{PEOPLE}/{PEOPLE_FILE} is not in the data folder; {labels} labels are read from it")
    arrays = read_arrays(path)
    if missing := [name for name in ("clean", labels) if name not in arrays]:
        raise DataError(f"{path} has no {' and no '.join(missing)}; it has {', '.join(arrays)}")
    clean, said = (arrays[name].astype(np.int64) for name in ("clean", labels))
    if not np.array_equal(clean, train.true_y):
        raise DataError(
            f"{path} is of other images, or in another order, than CIFAR-10 is here: its labels differ"
        )
    return replace(train, y=said, is_flipped=said != clean)


def _scheme(cell: Cell) -> Literal["random", "specific"]:
    """How OOD samples are labelled; of no weight where there are none."""
    return "specific" if cell.labels == "specific" else "random"


def _ood(cell: Cell, train: Samples, folder: str | None) -> Samples:
    """The samples to draw OOD samples from."""
    source, _, group = cell.ood.partition("/")
    if source == "none":
        return train.take(np.empty(0, dtype=np.int64))
    if source == "other-classes":
        _, _, count = cell.dataset.partition("/")
        if not count:
            raise DataError(
                f"{cell.dataset} has no other classes; name how many are in distribution: {cell.dataset}/8"
            )
        found = keep_classes(train, train.classes[int(count) :])
    else:
        found = ood_classes(source, _read_pictures(source, folder, "train"))
    return group_of(found, int(group)) if group else found


def _part(train: Contaminated, cell: Cell) -> Contaminated:
    """So many in-distribution samples, every class in proportion, with OOD samples for alpha if there are.

    Which in-distribution samples depends on the seed alone, so that the oracle gets the same ones.
    """
    inside, ood = np.flatnonzero(~train.is_ood), np.flatnonzero(train.is_ood)
    size = cell.train_size
    assert size is not None
    if size < len(inside):
        inside = inside[stratified_choice(train.true_y[inside], size, cell.seed)]
    wanted = min(len(ood), round(cell.alpha / (1 - cell.alpha) * len(inside)))
    ood = np.random.default_rng([cell.seed, 1]).permutation(ood)[:wanted]
    return train.take(np.sort(np.concatenate([inside, ood])))


@lru_cache(maxsize=4)
def _read(name: str, folder: str | None, protocol: str) -> Samples:
    """A whole table, read once a process."""
    if name not in CARRIED:
        return load(name, folder, protocol="released" if protocol == "released" else "paper")
    from sklearn import datasets  # late: it takes a second and real tables do without

    bunch = datasets.load_wine() if name == "wine" else datasets.load_digits()
    x = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    classes = tuple(str(label) for label in bunch.target_names)
    return Samples(x, bunch.target.astype(np.int64), classes, np.arange(len(x)), "table")


@lru_cache(maxsize=5)
def _read_pictures(name: str, folder: str | None, part: Literal["train", "test"]) -> Samples:
    """A part of an image set, read once a process; of a source of OOD samples the train part alone is."""
    if name != "digits":
        return load(name, folder, split=part)
    table = _read("digits", None, "paper")
    pixels = np.round(table.x.to_numpy() * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8, 1)
    pixels = pixels.repeat(2, axis=1).repeat(2, axis=2)  # 16 x 16, so that crops leave a digit whole
    images = Samples(pixels, table.y, table.classes, table.ids, "image")
    return train_test_split(images, seed=0)[0 if part == "train" else 1]
