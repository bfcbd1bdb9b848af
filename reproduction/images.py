"""Fitting cells of images: one network at a time, the same compiled module for all cells of one shape.

Every cell is trained as its preset says (`paper`: SGD .1, x0.1 at half and at three quarters of the epochs,
random crops and flips), on CUDA in bfloat16. gl+refine is the gl fit, the audit of the training set from the
confidences of that very fit, and a fresh network trained on what the audit believes; where that
does not pay the first fit stays. A unit of work that has both cells trains the gl network once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn

from graylearn.audit import Audit
from graylearn.data import Contaminated, Samples
from graylearn.errors import CheckpointError
from graylearn.estimator.networks import build_network
from graylearn.estimator.refine import SoftTargets, pays, soft_targets
from graylearn.methods import Method, make_method
from graylearn.nets import make
from graylearn.training import Result, train
from graylearn.training.devices import choose
from reproduction.cells import Cell
from reproduction.measure import audited, tested, trained
from reproduction.progress import Progress
from reproduction.sets import Folder, cell_samples
from reproduction.traces import NONE, Traces


def run_images(
    cells: Sequence[Cell], folder: Folder, device: str | None = None, traces: Traces = NONE
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """(cell, what was measured) as each is done; the cells are one, or a gl cell and its gl+refine."""
    train_set, test = cell_samples(cells[0], folder)
    refining = [cell for cell in cells if cell.method == "gl+refine"]
    for cell in cells:
        if cell not in refining:
            result, measured = _fit(cell, train_set, test, device, traces)
            yield cell, measured
    for cell in refining:
        if len(refining) == len(cells):
            result, measured = _fit(cell.but(method="gl"), train_set, test, device, traces)
        yield cell, _refined(cell, result, measured, train_set, test, device, traces)


def _fit(
    cell: Cell,
    train_set: Contaminated,
    test: Samples,
    device: str | None,
    traces: Traces,
    method: Method | None = None,
    weight: np.ndarray | None = None,
) -> tuple[Result, dict[str, Any]]:
    """Train the network of a cell, with its own method or another, and measure it."""
    clean = cell.method == "oracle"
    if method is None:
        method = make_method("standard" if clean else cell.method)
    samples = train_set.clean() if clean else train_set
    progress = traces.progressing(cell)

    def fit() -> Result:
        return train(
            _module(cell, test),
            (samples.x, samples.y),
            method=method,
            preset=cell.preset,
            epochs=cell.epochs,
            batch_size=cell.batch_size,
            seed=cell.seed,
            device=device,
            compile=_compile(method, device),
            sample_weight=weight,
            log="none",
            callbacks=progress,
            **traces.checkpointing(cell),
        )

    began = time.perf_counter()
    try:
        result = fit()
    except CheckpointError:  # damaged, or of other data or code than now: begin anew
        traces.clear(cell)
        result = fit()
    seconds = time.perf_counter() - began + _before(result, progress)
    result.raise_if_interrupted()
    traces.keep(cell, result, train_set)
    measured = tested(result.predict_logits(test.x), test.y, with_bins=True)
    measured |= trained(train_set, result.history, clean=clean)
    measured["train_accuracy"] = result.log[-1]["accuracy"]
    measured["seconds"] = seconds
    measured["images_per_second"] = float(np.median([row["samples_per_second"] for row in result.log]))
    return result, measured


def _before(result: Result, progress: Progress) -> float:
    """Seconds of the epochs that came from a checkpoint."""
    loaded = len(result.log) if progress.first is None else progress.first
    return float(sum(row["seconds"] for row in result.log[:loaded]))


def _refined(
    cell: Cell,
    first: Result,
    first_measured: dict[str, Any],
    train_set: Contaminated,
    test: Samples,
    device: str | None,
    traces: Traces,
) -> dict[str, Any]:
    """The second fit, on what the audit of the first one's history believes."""
    began = time.perf_counter()
    found = Audit.from_history(first.history, classes=range(train_set.num_classes))
    seconds = first_measured["seconds"] + time.perf_counter() - began
    measured = dict(first_measured)
    if pays(found):
        targets, weight = soft_targets(found)
        method = SoftTargets(torch.from_numpy(targets))
        _, measured = _fit(cell, train_set, test, device, traces, method, weight)
        measured["seconds"] += seconds
    else:
        measured["seconds"] = seconds
    # who belongs was told by the first fit: the second is trained on its answer
    told = {name: first_measured[name] for name in ("ood_auroc", "ood_ap") if name in first_measured}
    return measured | told | audited(found, train_set)


def _module(cell: Cell, test: Samples) -> nn.Module:
    """The network of a cell, its weights drawn for its seed."""
    pixels = test.x.shape[1:] if test.x.ndim == 4 else (*test.x.shape[1:], 1)
    shape = (pixels[2], pixels[0], pixels[1])
    module = _kept(cell.net, test.num_classes, shape)
    drawn = build_network(*_named(cell.net), test.num_classes, shape, cell.seed)
    module.load_state_dict(drawn.state_dict())
    return module


@lru_cache(maxsize=8)
def _kept(net: str, num_classes: int, in_shape: tuple[int, int, int]) -> nn.Module:
    """One module serves all cells of a net and a number of classes, so that it is compiled once."""
    name, options = _named(net)
    return make(name, num_classes, in_shape, **options)


def _named(net: str) -> tuple[str, dict[str, int]]:
    """("small_cnn", {"width": 8}) of "small_cnn-8"."""
    name, _, width = net.partition("-")
    return name, {"width": int(width)} if width else {}


def _compile(method: Method, device: str | None) -> bool | None:
    """On CUDA whatever reads the module itself; a module that is wrapped anew for each run as it pays."""
    if choose(device).type != "cuda":
        return False
    return None if method.needs_features or method.networks != 1 else True
