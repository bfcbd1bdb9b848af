"""Devices: which one, the global switches of torch there, and when half precision is used."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch.utils.data import DataLoader

from graylearn.data.batches.items import are_several, split_item
from graylearn.errors import Hint, SettingsError
from graylearn.training.mlp import MLPLearner
from graylearn.training.predict import HALF

_WORTH_THREADS = 8_000_000
"""Multiply-adds of a layer in one step from which a second thread helps. Below, threads wait for each other:
on two idle cores a small network trains a tenth slower with two, on busy ones ten times slower."""

if hasattr(os, "register_at_fork"):
    # threads are not copied by a fork, and the child would wait for them for ever; torch's own loaders do the
    # same in their workers
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def choose(device: str | torch.device | None) -> torch.device:
    """The given device, or by default the best there is."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise SettingsError(f"device {device!r} is not known: use cpu, cuda or cuda:0") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise SettingsError(f"device {device!r} was asked for but torch sees no CUDA device: use cpu")
    if chosen.type != "cpu":
        try:
            torch.zeros(1, device=chosen).cpu()
        except (RuntimeError, AssertionError, ImportError) as error:  # torch raises any of them
            raise SettingsError(
                f"device {device!r} was asked for but torch cannot use it here: use cpu, or leave device out"
            ) from error
    return chosen


class _Shared:
    """Switches of the whole process, which runs in several threads set at once.

    The first run remembers what they were, and the last to end restores it: if each restored what it found,
    one would change them while another runs.
    """

    def __init__(self) -> None:
        self.lock, self.runs = threading.Lock(), 0
        self.undo: Callable[[], None] = lambda: None

    @contextmanager
    def turned(self, turn: Callable[[], Callable[[], None]]) -> Iterator[None]:
        """Run with the switches as `turn` sets them; it returns what restores them."""
        with self.lock:
            undo = turn()
            if self.runs == 0:
                self.undo = undo
            self.runs += 1
        try:
            yield
        finally:
            with self.lock:
                self.runs -= 1
                if self.runs == 0:
                    self.undo()


_cuda, _onednn, _blas, _torch_threads = _Shared(), _Shared(), _Shared(), _Shared()


def _keep_onednn() -> Callable[[], None]:
    """Torch turns oneDNN off for good at the first bfloat16 product on a processor without that type.

    The next run, in float32, would then round otherwise than it did before.
    """
    before = torch.backends.mkldnn.enabled
    return lambda: setattr(torch.backends.mkldnn, "enabled", before)


@contextmanager
def prepared(device: torch.device, deterministic: bool) -> Iterator[None]:
    """Set the global switches of torch for training, and restore them afterwards."""
    if device.type != "cuda":
        with _onednn.turned(_keep_onednn):
            yield
        return

    def turn() -> Callable[[], None]:
        benchmark, exact = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
        strict = torch.are_deterministic_algorithms_enabled()
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        precision = torch.get_float32_matmul_precision()
        if deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        else:
            torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = not deterministic
        torch.backends.cudnn.deterministic = deterministic

        def undo() -> None:
            torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = benchmark, exact
            torch.use_deterministic_algorithms(strict, warn_only=warns)
            torch.set_float32_matmul_precision(precision)

        return undo

    with _cuda.turned(turn):
        yield


@contextmanager
def threads_for(learner: object, batch_size: int, device: torch.device) -> Iterator[None]:
    """Use one thread for networks too small for several."""
    small = isinstance(learner, MLPLearner) and device.type == "cpu"
    if isinstance(learner, MLPLearner):
        small &= batch_size * max(inputs * outputs for inputs, outputs in learner.shapes) < _WORTH_THREADS
    with one_thread() if small else nullcontext():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy and torch compute in one thread: small products take far longer in several on a busy machine."""

    def one_for_numpy() -> Callable[[], None]:
        return threadpool_limits(1).restore_original_limits  # type: ignore[no-any-return]

    def one_for_torch() -> Callable[[], None]:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        return lambda: torch.set_num_threads(before)

    with _blas.turned(one_for_numpy), _torch_threads.turned(one_for_torch):
        try:
            yield
        finally:
            _torch_threads.undo()  # torch counts them by thread: this one's own


def autocast_type(precision: str, device: torch.device, data: Any) -> torch.dtype | None:
    """The type of autocast, None for none: as given, by default bfloat16 for image sets on CUDA."""
    if precision == "fp16" and device.type != "cuda":
        raise SettingsError(
            f"fp16 is for CUDA devices, and this is {device.type}:", Hint("precision", "bf16")
        )
    if precision != "auto":
        return HALF.get(precision)
    return torch.bfloat16 if device.type == "cuda" and _axes(data) == 4 else None


def _axes(data: Any) -> int:
    """How many axes a batch of inputs has; 0 if that cannot be known without reading the data."""
    if isinstance(data, DataLoader):
        data = data.dataset
    if isinstance(data, tuple):
        return int(np.ndim(data[0])) if len(data) == 2 and not are_several(data[0]) else 0
    if hasattr(data, "x"):
        return int(np.ndim(data.x))
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and len(data) > 0:
        first = split_item(data[0])[0]
        return 0 if are_several(first) else 1 + int(np.ndim(first))
    return 0
