"""torch.compile: when it is worth it, and compiling before the run begins."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from graylearn.data.batches.base import BatchSource
from graylearn.errors import first_line
from graylearn.methods import Method
from graylearn.training.learner import ModuleLearner
from graylearn.training.networks import FeatureTap
from graylearn.training.settings import Settings

_WORTH_COMPILING = 3_000_000
"""Samples times epochs from which compiling, most of a minute, pays for itself on one GPU."""


def compile_if_worth_it(
    learner: ModuleLearner,
    settings: Settings,
    source: BatchSource,
    method: Method,
    example: Tensor,
    note: Callable[[str], None],
) -> None:
    """Compile the network if the settings say so, or by default if the run is long enough."""
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
        # no compiler or no Triton on this machine: train without
        learner.compiled, learner.keeps_outputs = None, True
        note(f"not compiled, because it failed: {type(error).__name__}: {first_line(error)}")


def _best_mode(learner: ModuleLearner, method: Method) -> str:
    """The mode for this method: CUDA graphs if it reads the logits of one network alone.

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
    learner.optimizer.zero_grad(set_to_none=True)  # gradients that another run left must not be added to
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
