"""Fitting cells of images: one network at a time, the same compiled module for all cells of one shape.

Every cell is trained as its preset says (`paper`: SGD .1, x0.1 at half and at three quarters of the epochs,
random crops and flips), on CUDA in bfloat16. gl+refine goes the way of GrayClassifier: the gl fit, the audit
of the training set from the confidences of that very fit, and a fresh network trained on what the audit
believes; where that does not pay the first fit stays. A unit of work that has both cells trains the gl
network once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from graylearn.data import Contaminated, Samples
from graylearn.data.batches import Augment, PixelScale, as_nhwc
from graylearn.errors import CheckpointError, FolderTakenError
from graylearn.estimator.networks import build_network
from graylearn.estimator.pipeline import Pipeline, PlannedFit, Run, Stage, Stages
from graylearn.estimator.trainset import plain_training_set
from graylearn.methods import Method
from graylearn.training import PRESETS, History, Result, Settings, seeding
from graylearn.training.devices import choose
from graylearn.training.optimizers import OptimizerSettings
from graylearn.training.settings import resolve
from graylearn.training.sources import as_tensor
from reproduction.cells import CLEAN, Cell
from reproduction.checkpoints import NONE, Checkpoints
from reproduction.epoch_tests import EpochTests
from reproduction.measure import audited, tested, trained
from reproduction.nets import make
from reproduction.progress import Progress
from reproduction.readings import method_of
from reproduction.sets import Folder, cell_samples
from reproduction.stand_ins import shared_with_cifar10


@dataclass(frozen=True)
class ImageStages(Stages):
    """Stages whose trainings keep checkpoints, test every epoch and tell how far they are."""

    cell: Cell
    """Whose they are."""
    checkpoints: Checkpoints
    """Where they go."""
    progress: Progress
    """Who is told."""
    test: Samples
    """What every epoch is tested on."""

    def train(self, stage: Stage, settings: Settings, run: Run) -> Result:
        """Train from the checkpoint where there is one."""
        settings = replace(settings, **self.checkpoints.settings(self.cell))
        return run(settings, EpochTests(self.test, settings), self.progress)


def run_images(
    cells: Sequence[Cell], folder: Folder, device: str | None = None, checkpoints: Checkpoints = NONE
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """(cell, what was measured) as each is done; the cells are one, or a gl cell and its gl+refine."""
    train_set, test = cell_samples(cells[0], folder)
    refining = [cell for cell in cells if cell.method == "gl+refine"]
    for cell in cells:
        if cell not in refining:
            pipeline = pipeline_of(cell, train_set, test, device)
            result, measured = _measured(pipeline, pipeline.first_fit(), cell, train_set, test, checkpoints)
            history = result.history
            yield cell, measured
    for cell in refining:
        if len(refining) == len(cells):
            first = cell.but(method="gl")
            pipeline = pipeline_of(first, train_set, test, device)
            result, measured = _measured(pipeline, pipeline.first_fit(), first, train_set, test, checkpoints)
            history = result.history
        yield cell, _refined(pipeline, history, measured, cell, train_set, test, checkpoints)


def pipeline_of(cell: Cell, train_set: Contaminated, test: Samples, device: str | None) -> Pipeline:
    """The way of a cell's samples, as its preset says; judged by the history of its first fit."""
    clean = cell.method == "oracle"
    method = method_of(cell)
    samples = plain_training_set(train_set.clean() if clean else train_set)
    settings = resolve(
        cell.preset,
        None,
        epochs=cell.epochs,
        batch_size=cell.batch_size,
        optimizer=_optimizer(cell),
        seed=cell.seed,
        device=device,
        compile=_compile(method, device),
        augment=_augment(cell),
        scale=PixelScale.measure(as_nhwc(as_tensor(samples.x))),
        log="none",
    )
    return Pipeline(
        samples,
        lambda seed: _module(cell, test, seed),
        method,
        settings,
        audit="history",
        overlap="none",  # a person can tell what each picture shows
    )


def _optimizer(cell: Cell) -> OptimizerSettings:
    """That of the preset, with what the cell's recipe changes."""
    preset = PRESETS[cell.preset].optimizer
    assert isinstance(preset, OptimizerSettings)
    return replace(preset, **{name: value for name, value in cell.recipe if hasattr(preset, name)})


def _augment(cell: Cell) -> Augment | None:
    preset, padding = PRESETS[cell.preset].augment, dict(cell.recipe).get("padding")
    return preset if preset is None or padding is None else replace(preset, padding=padding)


def _measured(
    pipeline: Pipeline,
    fit: PlannedFit,
    cell: Cell,
    train_set: Contaminated,
    test: Samples,
    checkpoints: Checkpoints,
) -> tuple[Result, dict[str, Any]]:
    """Train the network of a fit and measure it."""
    progress = Progress(str(cell), cell.epochs)
    pipeline = replace(pipeline, stages=ImageStages(cell, checkpoints, progress, test))
    began = time.perf_counter()
    try:
        with _zipped(cell, train_set.is_ood):
            result, _ = pipeline.train(fit)
    except FolderTakenError:  # another process trains this cell, whose checkpoints are its own
        raise
    except CheckpointError as error:
        if isinstance(error.__cause__, OSError):  # the disk is full: to begin anew would not help
            raise
        # damaged, or of other data or code than now
        print(f"{cell.key} begins anew: {error}", file=sys.stderr, flush=True)
        checkpoints.clear(cell)
        with _zipped(cell, train_set.is_ood):
            result, _ = pipeline.train(replace(fit, networks=(pipeline.new_network(cell.seed),)))
    seconds = time.perf_counter() - began + _before(result, progress)
    measured = tested(result.predict_logits(test.x), test.y, with_bins=True)
    measured |= trained(
        train_set,
        result.history,
        clean=cell.method == "oracle",
        shared=shared_with_cifar10(cell, train_set),
    )
    measured["train_accuracy"] = result.log[-1]["accuracy"]
    measured["epoch_tests"] = {
        name: [round(row[f"test_{name}"], 4) for row in result.log] for name in ("plain", "augmented")
    }
    measured["seconds"] = seconds
    measured["images_per_second"] = float(np.median([row["samples_per_second"] for row in result.log]))
    return result, measured


@contextmanager
def _zipped(cell: Cell, is_ood: NDArray[np.bool_]) -> Iterator[None]:
    """Recipe `zipped`: OOD samples, never shuffled, spread evenly among shuffled in-distribution samples.

    The released loop puts so many of each into every batch. Training has no setting for the order of its
    samples, and needs none but for this.
    """
    if not dict(cell.recipe).get("zipped") or cell.method in CLEAN:
        yield
        return
    inside, outside = (torch.from_numpy(np.flatnonzero(part)) for part in (~is_ood, is_ood))
    places = torch.cat([(torch.arange(len(part)) + 0.5) / len(part) for part in (inside, outside)])
    shuffled = seeding.epoch_order

    def order(num_samples: int, seed: int, epoch: int) -> torch.Tensor:
        mixed = torch.cat([inside[shuffled(len(inside), seed, epoch)], outside])
        return mixed[places.argsort(stable=True)]

    with mock.patch.object(seeding, "epoch_order", order):
        yield


def _before(result: Result, progress: Progress) -> float:
    """Seconds of the epochs that came from a checkpoint."""
    loaded = len(result.log) if progress.first is None else progress.first
    return float(sum(row["seconds"] for row in result.log[:loaded]))


def _refined(
    pipeline: Pipeline,
    history: History,
    first_measured: dict[str, Any],
    cell: Cell,
    train_set: Contaminated,
    test: Samples,
    checkpoints: Checkpoints,
) -> dict[str, Any]:
    """The second fit, on what the audit of the first one's history believes."""
    began = time.perf_counter()
    found = pipeline.judge(history)
    second = pipeline.second_fit(found)
    seconds = first_measured["seconds"] + time.perf_counter() - began
    measured = dict(first_measured)
    if second is None:
        measured["seconds"] = seconds
    else:
        _, measured = _measured(pipeline, second, cell, train_set, test, checkpoints)
        measured["seconds"] += seconds
    # who belongs was told by the first fit: the second is trained on its answer
    told = {name: value for name, value in first_measured.items() if name.startswith("ood_a")}
    return measured | told | audited(found, train_set)


def _module(cell: Cell, test: Samples, seed: int) -> nn.Module:
    """The network of a cell, its weights drawn for the seed."""
    pixels = test.x.shape[1:] if test.x.ndim == 4 else (*test.x.shape[1:], 1)
    shape = (pixels[2], pixels[0], pixels[1])
    module = _kept(cell.net, test.num_classes, shape)
    drawn = build_network(*_named(cell.net), test.num_classes, shape, seed)
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
