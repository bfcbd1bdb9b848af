"""Devices: which one, what to switch on there, when half types and torch.compile pay."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.utils.data import DataLoader

from graylearn.data.batches.base import BatchSource
from graylearn.data.batches.several import are_several
from graylearn.data.batches.streams import split_item
from graylearn.errors import Hint, SettingsError
from graylearn.methods import Method
from graylearn.training.learner import ModuleLearner
from graylearn.training.mlp import MLPLearner
from graylearn.training.networks import FeatureTap
from graylearn.training.predict import HALF
from graylearn.training.settings import Settings

_WORTH_COMPILING = 3_000_000
"""Samples of a run from which compiling, most of a minute, is won back on one GPU."""

_WORTH_THREADS = 8_000_000
"""Multiply-adds of a layer in one step from which a second thread pays. Below, threads wait for each other:
on two idle cores a small network trains a tenth slower with two, on busy ones ten times slower."""


def choose(device: str | torch.device | None) -> torch.device:
    """The device asked for, or the best there is."""
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
    """Switches of the whole process, which runs in several threads may turn at once.

    The first run keeps what they were, and the last to end puts it back: were each to put back what it found,
    one would do so under the feet of another.
    """

    def __init__(self) -> None:
        self.lock, self.runs = threading.Lock(), 0
        self.undo: Callable[[], None] = lambda: None

    @contextmanager
    def turned(self, turn: Callable[[], Callable[[], None]]) -> Iterator[None]:
        """With the switches as `turn` sets them; it gives what puts them back."""
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


_cuda, _blas, _torch_threads = _Shared(), _Shared(), _Shared()


@contextmanager
def prepared(device: torch.device, deterministic: bool) -> Iterator[None]:
    """Global switches of torch as training wants them, put back afterwards."""
    if device.type != "cuda":
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
    """One thread for networks too small to share a step between several; others as they are."""
    small = isinstance(learner, MLPLearner) and device.type == "cpu"
    if isinstance(learner, MLPLearner):
        small &= batch_size * max(inputs * outputs for inputs, outputs in learner.shapes) < _WORTH_THREADS
    if not small:
        yield
        return

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
    """The half type to run under autocast of: as asked, or by default bfloat16 for image sets on CUDA."""
    if precision == "fp16" and device.type != "cuda":
        raise SettingsError(
            f"fp16 is for CUDA devices, and this is {device.type}:", Hint("precision", "bf16")
        )
    if precision != "auto":
        return HALF.get(precision)
    return torch.bfloat16 if device.type == "cuda" and _axes(data) == 4 else None


def _axes(data: Any) -> int:
    """How many axes a batch of inputs has, as far as that can be told without reading the data."""
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


def maybe_compile(
    learner: ModuleLearner,
    settings: Settings,
    source: BatchSource,
    method: Method,
    example: Tensor,
    note: Callable[[str], None],
) -> None:
    """Compile the network where the settings say so, or where the run is long enough to pay for it."""
    mode = settings.compile
    if mode is False:
        return
    if isinstance(learner.network, FeatureTap) and not learner.network.two_steps:
        if mode:
            note("not compiled: the features of this network are caught by hooks")
        return
    automatic = mode is None
    if automatic:
        long_run = len(source.targets) * settings.epochs >= _WORTH_COMPILING
        if learner.device.type != "cuda" or example.ndim != 4 or not long_run:
            return
    learner.compile(mode if isinstance(mode, str) else _best_mode(learner, method), source.batch_size)
    try:
        warm_up(learner, example, source.batch_size)
    except Exception as error:
        if not automatic:
            raise
        # no compiler or no Triton on this machine: the run goes on without
        learner.compiled, learner.keeps_outputs = None, True
        note(f"not compiled, because it failed: {type(error).__name__}: {str(error).splitlines()[0]}")


def _best_mode(learner: ModuleLearner, method: Method) -> str:
    """CUDA graphs where the method looks at one network's logits alone.

    ResNet18 on an H200, images a second with and without them: 39,000 and 14,000 at batch 128, 81,000 and
    52,000 at 512, the same at 2048. Outputs live in the graph's memory, so nothing else may keep them.
    """
    plain = learner.device.type == "cuda" and method.networks == 1 and not method.needs_features
    return "reduce-overhead" if plain else "default"


def warm_up(learner: ModuleLearner, example: Tensor, batch_size: int) -> None:
    """Compile forward and backward now, on copies of an example; weights and buffers stay as they were."""
    network = learner.network
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    rng = torch.get_rng_state(), torch.cuda.get_rng_state() if learner.device.type == "cuda" else None
    inputs = example[torch.arange(batch_size, device=example.device) % len(example)]
    if example.ndim == 4:
        inputs = inputs.to(memory_format=torch.channels_last)
    was_training = network.training
    learner.start_training()
    learner.optimizer.zero_grad(set_to_none=True)  # what another run left must not be added to
    try:
        for _ in range(3 if not learner.keeps_outputs else 1):  # CUDA graphs are recorded on the second pass
            learner.forward(inputs).logits.float().mean().backward()  # type: ignore[no-untyped-call]
            learner.optimizer.zero_grad(set_to_none=True)
    finally:
        network.train(was_training)
        with torch.no_grad():
            for name, buffer in network.named_buffers():
                buffer.copy_(before[name])
        torch.set_rng_state(rng[0])
        if rng[1] is not None:
            torch.cuda.set_rng_state(rng[1])
