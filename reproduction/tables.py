"""Fitting cells of tables: many small networks side by side as one stack.

What each protocol does:

- `paper`: the paper's text. Two hidden layers of 128 ReLU, Adam at its defaults, 10 epochs, batches of 16.
  It says nothing of scaling, so features are as published; missing values are 0.
- `released`: the code its authors published, a loop of its own; see `released.py`.
- `tuned`: what a careful person would do. Features through TableEncoder, and the number of epochs chosen on
  a fifth of the training set, with the labels given there, that a first fit does not learn from; the second
  fit, on all of it, is the one that counts.

gl+refine goes the way of GrayClassifier: the gl fit of the same seed, the audit of the training set by
held-out networks on encoded features, and a second fit from the same start on what the audit believes; where
that does not pay the first fit stays. It is one network, as that of every other method, where GrayClassifier
answers with a committee.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.audit import Audit
from graylearn.data import Contaminated, TableEncoder
from graylearn.data.splits import stratified_choice
from graylearn.errors import IdLikeColumnWarning, SettingsError
from graylearn.estimator.networks import build_network
from graylearn.estimator.pipeline import Pipeline
from graylearn.estimator.trainset import plain_training_set
from graylearn.methods import Method, as_method, make_method
from graylearn.training import PRESETS, Result, train, train_stack
from graylearn.training.settings import resolve
from reproduction.cells import Cell
from reproduction.measure import audited, majority, tested, trained
from reproduction.released import train_released
from reproduction.sets import Folder, cell_samples, read_table

EPOCH_CHOICES = (1 / 8, 1 / 4, 1 / 2, 1)
"""Of protocol `tuned`: the shares of the epochs among which the held-out fifth chooses."""
HELD_OUT = 0.2
"""Of protocol `tuned`: the share of the training set that chooses."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The encoded rows of one dataset, seed and contamination."""

    train: Contaminated
    """The training set with its truth."""
    x: NDArray[np.float32]
    """(N, D) what the network reads."""
    test_x: NDArray[np.float32]
    """(M, D) the same of the test set."""
    test_y: NDArray[np.int64]
    """(M,) true classes."""


@dataclass(eq=False)
class Fit:
    """One network to train."""

    cell: Cell
    """Its settings."""
    rows: Rows
    """Its samples."""
    method: Method
    """How it learns."""
    weight: NDArray[np.float64] | None = None
    """(N,) what each sample counts."""
    epochs: int = 0
    """How long, once that is known."""
    result: Result | None = None
    """What came of it."""
    seconds: float = 0.0
    """Its share of the time of all fits that were made with it."""
    audit: Audit | None = field(default=None, repr=False)
    """What a refined fit read."""

    @property
    def clean(self) -> bool:
        """Whether it sees the in-distribution samples alone."""
        return self.cell.method == "oracle"

    @property
    def x(self) -> NDArray[np.float32]:
        """(N, D) what it is trained on."""
        return self.rows.x[~self.rows.train.is_ood] if self.clean else self.rows.x

    @property
    def y(self) -> NDArray[np.int64]:
        """(N,) the labels given to it."""
        train = self.rows.train
        return train.true_y[~train.is_ood] if self.clean else train.y


def run_tables(cells: Sequence[Cell], folder: Folder) -> list[dict[str, Any]]:
    """What was measured of each cell; all are trained side by side as far as they go."""
    where = None if folder is None else os.fspath(folder)
    if cells[0].protocol == "released":
        return [train_released(cell, read_table(cell, where)) for cell in cells]
    if cells[0].method == "majority":
        return [_majority(cell, where) for cell in cells]
    fits: dict[str, Fit] = {}
    for cell in cells:
        first = cell.but(method="gl") if cell.method == "gl+refine" else cell
        if first.key not in fits:
            # which samples these are is no matter of the method
            rows = _rows(cell if cell.method == "oracle" else cell.but(method="standard"), where)
            fits[first.key] = Fit(first, rows, _method(first), epochs=first.epochs)
    _fit_all(list(fits.values()))
    refined = {cell.key: _second(fits[cell.but(method="gl").key], cell) for cell in cells if _refines(cell)}
    _fit_all([fit for fit in refined.values() if fit.result is None], chosen=True)
    return [_measured(refined[cell.key] if _refines(cell) else fits[cell.key]) for cell in cells]


def _majority(cell: Cell, folder: str | None) -> dict[str, Any]:
    train, test = cell_samples(cell, folder)
    measured = trained(train, None, clean=True)
    return measured | majority(train.clean().y, test.y, test.num_classes)


def _refines(cell: Cell) -> bool:
    return cell.method == "gl+refine"


@lru_cache(maxsize=12)
def _rows(cell: Cell, folder: str | None) -> Rows:
    """The samples of a cell as its protocol encodes them."""
    train_set, test = cell_samples(cell, folder)
    if cell.protocol == "tuned":
        encoder = _encoder(train_set)
        x, test_x = encoder.transform(train_set.x), encoder.transform(test.x)
    else:
        x, test_x = (np.nan_to_num(each.x.to_numpy(np.float32)) for each in (train_set, test))
    return Rows(train_set, x, test_x, test.y)


def _encoder(samples: Contaminated) -> TableEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdLikeColumnWarning)  # the catalog dropped the ids there are
        return TableEncoder(id_like="keep").fit(samples.x)


def _method(cell: Cell) -> Method:
    name = "standard" if cell.method == "oracle" else cell.method
    return make_method(name)


def pipeline_of(fit: Fit) -> Pipeline:
    """The way of a cell's samples: judged on encoded features, learned by one network."""
    train_set, cell = fit.rows.train, fit.cell
    features = fit.rows.x if cell.protocol == "tuned" else _encoder(train_set).transform(train_set.x)
    return Pipeline(
        replace(plain_training_set(train_set, features), x=fit.rows.x),
        lambda seed: _network(fit, seed),
        fit.method,
        resolve(
            cell.preset,
            None,
            epochs=fit.epochs,
            batch_size=cell.batch_size,
            seed=cell.seed,
            device="cpu",
            log="none",
        ),
        side_by_side=False,
    )


def _second(first: Fit, cell: Cell) -> Fit:
    """The refined fit of a cell; finished already where the first stays."""
    began = time.perf_counter()
    second = Fit(cell, first.rows, first.method, epochs=first.epochs)
    assert first.result is not None
    pipeline = pipeline_of(first)
    second.audit = pipeline.judge(first.result.history)
    taught = pipeline.second_fit(second.audit)
    second.seconds = first.seconds + time.perf_counter() - began
    if taught is None:
        second.result = first.result
    else:
        second.method, second.weight = as_method(taught.method), taught.weight
    return second


def _fit_all(fits: Iterable[Fit], *, chosen: bool = False) -> None:
    """Train; with protocol `tuned` first find out how long, unless that is `chosen` already."""
    listed = list(fits)
    tuned = [] if chosen else [fit for fit in listed if fit.cell.protocol == "tuned"]
    if tuned:
        held_out = [stratified_choice(fit.y, round(HELD_OUT * len(fit.y)), fit.cell.seed) for fit in tuned]
        for fit, held in zip(tuned, held_out, strict=True):
            fit.weight = np.ones(len(fit.y))
            fit.weight[held] = 0.0
        _fit(tuned)
        for fit, held in zip(tuned, held_out, strict=True):
            fit.epochs, fit.weight = _best_epochs(fit, held), None
            fit.method = _method(fit.cell)
    _fit(listed)


def _best_epochs(fit: Fit, held_out: NDArray[np.int64]) -> int:
    """The number of epochs after which most held-out samples were predicted as labelled; of equals the least.

    What the history has of an epoch was said during it, so the row after an epoch tells what that epoch left.
    """
    assert fit.result is not None
    right = fit.result.history.predicted[:, held_out] == fit.y[held_out]
    choices = sorted({max(1, round(share * fit.cell.epochs)) for share in EPOCH_CHOICES})
    said = [float(right[min(epochs, len(right) - 1)].mean()) for epochs in choices]
    return choices[int(np.argmax(said))]


def _fit(fits: Sequence[Fit]) -> None:
    """Train every fit; those of one shape as one stack."""
    alone = [fit for fit in fits if fit.method.networks != 1]
    stacks: dict[Any, list[Fit]] = {}
    for fit in fits:
        if fit not in alone:
            shape = (fit.x.shape, fit.rows.train.num_classes, fit.cell.net, fit.epochs, fit.cell.batch_size)
            # a stack that gives features rounds differently: a cell shares one with its like alone
            alike = (fit.cell.preset, fit.weight is None, fit.method.needs_features)
            stacks.setdefault((*shape, *alike), []).append(fit)
    for stack in stacks.values():
        # neighbours of one method share a call of its loss
        _fit_stack(sorted(stack, key=lambda fit: fit.cell.method))
    for fit in alone:
        began = time.perf_counter()
        cell = fit.cell
        fit.result = train(
            _network(fit, cell.seed),
            (fit.x, fit.y),
            method=fit.method,
            preset=cell.preset,
            epochs=fit.epochs,
            batch_size=cell.batch_size,
            seed=cell.seed,
            device="cpu",
            sample_weight=fit.weight,
            log="none",
        )
        fit.result.raise_if_interrupted()
        fit.seconds += time.perf_counter() - began


def _fit_stack(fits: Sequence[Fit]) -> None:
    began = time.perf_counter()
    weights = [fit.weight for fit in fits if fit.weight is not None]
    results = train_stack(
        [_network(fit, fit.cell.seed) for fit in fits],
        (np.stack([fit.x for fit in fits]), np.stack([fit.y for fit in fits])),
        methods=[fit.method for fit in fits],
        seeds=[fit.cell.seed for fit in fits],
        settings=PRESETS[fits[0].cell.preset],
        epochs=fits[0].epochs,
        batch_size=fits[0].cell.batch_size,
        device="cpu",
        sample_weight=np.stack(weights) if weights else None,
        log="none",
    )
    results[0].raise_if_interrupted()
    share = (time.perf_counter() - began) / len(fits)
    for fit, result in zip(fits, results, strict=True):
        fit.result, fit.seconds = result, fit.seconds + share


def _network(fit: Fit, seed: int) -> nn.Module:
    """The network of a cell, its weights drawn for the seed."""
    options = {"hidden": hidden_widths(fit.cell.net), "dropout": 0.0}
    return build_network("mlp", options, fit.rows.train.num_classes, (fit.x.shape[1],), seed)


@lru_cache
def hidden_widths(net: str) -> tuple[int, ...]:
    """(128, 128) of "mlp-128-128"."""
    name, *widths = net.split("-")
    if name != "mlp" or not all(width.isdigit() for width in widths):
        raise SettingsError(f"the net of a table is {net!r}; expected the widths of its layers: mlp-128-128")
    return tuple(int(width) for width in widths)


def _measured(fit: Fit) -> dict[str, Any]:
    result = fit.result
    assert result is not None
    measured = tested(result.predict_logits(fit.rows.test_x), fit.rows.test_y, with_bins=False)
    measured |= trained(fit.rows.train, result.history, clean=fit.clean)
    measured["train_accuracy"] = result.log[-1]["accuracy"]
    measured["seconds"] = fit.seconds
    if fit.cell.protocol == "tuned":
        measured["epochs"] = fit.epochs
    if fit.audit is not None:
        measured |= audited(fit.audit, fit.rows.train)
    elif _refines(fit.cell):
        measured["refined"] = False
    return measured
