"""How one step changes a network: what the loop asks of it, and the learner for any torch module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from graylearn.data.batches import BatchSource
from graylearn.errors import SettingsError, first_line
from graylearn.methods import Method
from graylearn.methods.base import Output
from graylearn.torch_internals import allow_recompiling
from graylearn.training import seeding
from graylearn.training.networks import FeatureTap, as_output, batch_norms, frozen_norms
from graylearn.training.processes import Group
from graylearn.training.settings import Settings

_RECOMPILE_LIMIT = 64


class Learner:
    """One network, or several side by side, and the optimizer that trains them; here what any may leave."""

    models = 1
    """How many models are trained side by side."""
    keeps_outputs = True
    """Whether the logits of a step stay as they are during the next ones."""
    largest_layer = 0
    """Multiply-adds per sample of the largest layer, where all layers are known."""
    generator: torch.Generator | None = None
    """What dropout draws from; None = torch's global generators."""
    group: Group | None = None
    """The processes that train it together; None = this one alone."""
    base_rate: float
    """The learning rate that the schedule scales."""
    mean: nn.Module | None = None
    """The network whose weights are the mean of those that learn, where it answers in training."""
    device: torch.device

    def sync(self) -> None:
        """Write the weights into the user's modules, if they are kept elsewhere."""

    def read(self) -> None:
        """Take the weights from the user's modules, which a callback may have changed."""

    def describe(self) -> dict[str, Any]:
        """What decides the result beside the settings."""
        return {}


@contextlib.contextmanager
def _each(modules: Sequence[nn.Module], **changed: bool) -> Iterator[None]:
    """Set attributes of modules, and restore them afterwards."""
    before = [(module, name, getattr(module, name)) for name in changed for module in modules]
    try:
        for module, name, _ in before:
            setattr(module, name, changed[name])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


class ModuleLearner(Learner):
    """Trains a torch module with a torch optimizer, through autograd."""

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        device: torch.device,
        half: torch.dtype | None = None,
        clip_norm: float | None = None,
        mean: nn.Module | None = None,
    ) -> None:
        self.network = network
        self.mean = mean
        self.optimizer = optimizer
        self.device = device
        self.half = half
        # float16 has no small numbers: losses are scaled up so that gradients do not vanish
        self.scaler = torch.amp.GradScaler(device.type) if half == torch.float16 else None
        self.clip_norm = clip_norm
        self.gathered = False
        # a user's optimizer may give its groups rates of their own: the schedule scales each
        self.group_rates = [float(group["lr"]) for group in optimizer.param_groups]
        self.base_rate = next((rate for rate in self.group_rates if rate > 0), 0.0)
        if not self.base_rate:
            raise SettingsError("the optimizer has learning rate 0 in all groups: give one of them a rate")
        self.made_with = [
            {
                name: value
                for name, value in group.items()
                if isinstance(value, bool | int | float | tuple | str) and name != "initial_lr"
            }
            for group in optimizer.param_groups
        ]
        self.norms = {each: batch_norms(each) for each in (network, mean) if each is not None}
        self.frozen = [norm for each in self.norms for norm in frozen_norms(each)]
        self.compiled: dict[nn.Module, Callable[[Tensor], Any]] = {}
        self.compiled_size = 0

    def compile(self, mode: str, batch_size: int) -> None:
        """Run batches of `batch_size` through torch.compile; others, the last of an epoch, as they are.

        A second shape would compile the whole network a second time for one batch per epoch.
        """
        allow_recompiling(_RECOMPILE_LIMIT)
        self.compiled = {each: torch.compile(each, mode=mode, dynamic=False) for each in self.norms}
        self.compiled_size = batch_size
        # CUDA graphs write each step's outputs to the same memory
        self.keeps_outputs = mode not in ("reduce-overhead", "max-autotune")

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.half is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.half)

    def forward(self, inputs: Tensor) -> Output:
        """The pass that `update` follows; where there is a mean of the weights, its answer alone."""
        if self.mean is not None:
            with torch.no_grad():  # its batch norms measure what it is asked here
                return self._pass(self.mean, inputs)
        if not self.keeps_outputs and len(inputs) == self.compiled_size:
            if self.gathered:  # gradients too lie in the memory of the graph, which this pass reuses
                for value in self._learned():
                    value.grad = None if value.grad is None else value.grad.clone()
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        return self._pass(self.network, inputs)

    def _pass(self, network: nn.Module, inputs: Tensor, compiled: bool = True, **norms: bool) -> Output:
        called: Callable[[Tensor], Any] = network
        if compiled and len(inputs) == self.compiled_size:
            called = self.compiled.get(network, network)
        if len(inputs) == 1 and self.norms[network]:  # no variance: batch norm uses its running statistics
            called, norms = network, {"training": False}
        with _each(self.norms[network], **norms), self._autocast():
            return as_output(called(inputs))

    def forward_again(self, inputs: Tensor, model: int = 0) -> Output:
        """A further pass within the same step; not through CUDA graphs, which would overwrite the first.

        Batch norm takes its running statistics from the samples alone, not from what a method makes of
        them: blends of twenty images have another spread, and with their statistics the network misjudges the
        images of later predictions (lcvd loses ten points on CIFAR-10, docs/lab/measurements.md).
        """
        return self._pass(self.network, inputs, compiled=self.keeps_outputs, track_running_stats=False)

    def gather(self, losses: Tensor, weight: Tensor) -> None:
        """Add the gradient of sum(weight * losses) to what was gathered since the last step."""
        if not self.gathered:
            self.optimizer.zero_grad(set_to_none=True)
        if losses.requires_grad:  # a method that leaves out the whole batch may return plain zeros
            scaled = losses if self.scaler is None else self.scaler.scale(losses)
            scaled.backward(weight)  # type: ignore[no-untyped-call]
            self.gathered = True

    def _learned(self) -> list[nn.Parameter]:
        return [value for group in self.optimizer.param_groups for value in group["params"]]

    def step(self, scale: float = 1.0) -> None:
        """Step the optimizer down what was gathered, times `scale`."""
        if self.group is not None:  # also without a gradient of its own: the others may have one, and wait
            self.group.add_up_gradients([each for each in self.network.parameters() if each.requires_grad])
        elif not self.gathered:
            return
        if scale != 1.0:
            for value in self._learned():
                if value.grad is not None:
                    value.grad *= scale
        scaler = self.scaler if any(value.grad is not None for value in self._learned()) else None
        if scaler is not None:
            scaler.unscale_(self.optimizer)
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self._learned(), self.clip_norm)
        if scaler is None:
            self.optimizer.step()
        else:  # passes over a step whose gradients are infinite, and scales less from then on
            scaler.step(self.optimizer)
            scaler.update()
        self.gathered = False

    def start_training(self) -> None:
        """Training mode, but for batch norms that are frozen."""
        for each in self.norms:
            each.train()
        for norm in self.frozen:
            norm.eval()

    def values(self) -> list[Tensor]:
        """Parameters and buffers, each once."""
        return [value.detach() for value in [*self.network.parameters(), *self.network.buffers()]]

    def describe(self) -> dict[str, Any]:
        """The optimizer and its options: a run is resumed with the same."""
        return {"optimizer": [type(self.optimizer).__name__, self.made_with]}

    def set_learning_rate(self, rate: float) -> None:
        """The rate of the first group that has one; others keep their ratio to it."""
        for group, own in zip(self.optimizer.param_groups, self.group_rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate * own / self.base_rate)
            else:
                group["lr"] = rate * own / self.base_rate

    def weights(self) -> dict[str, Tensor]:
        """All weights and buffers of the network by name."""
        return {name: value for name, value in self.network.state_dict().items() if isinstance(value, Tensor)}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        self.network.load_state_dict(weights)

    def state_dict(self) -> dict[str, Any]:
        """The torch optimizer's own state, and how far losses are scaled for float16."""
        scale = {} if self.scaler is None else {"scaler": self.scaler.state_dict()}
        return dict(self.optimizer.state_dict()) | scale

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        if self.scaler is not None:
            self.scaler.load_state_dict(saved["scaler"])
        self.optimizer.load_state_dict({name: value for name, value in saved.items() if name != "scaler"})
        for parameter, state in self.optimizer.state.items():
            for name, value in state.items():
                if isinstance(value, Tensor) and value.shape == parameter.shape:
                    # files know no strides, and torch's fused kernels go through memory side by side
                    state[name] = torch.empty_like(parameter).copy_(value)


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
        learner.compiled, learner.keeps_outputs = {}, True
        note(f"not compiled, because it failed: {type(error).__name__}: {first_line(error)}")


def _best_mode(learner: ModuleLearner, method: Method) -> str:
    """The mode for this method: CUDA graphs if it reads the logits of one network alone.

    ResNet18 on an H200, images a second with and without them: 39,000 and 14,000 at batch 128, 81,000 and
    52,000 at 512, the same at 2048. Outputs live in the graph's memory, so nothing else may keep them.
    """
    plain = learner.device.type == "cuda" and method.reads_logits_alone
    return "reduce-overhead" if plain else "default"


def warm_up(learner: ModuleLearner, example: Tensor, batch_size: int) -> None:
    """Compile forward and backward now, on copies of an example; weights and buffers stay as they were."""
    network = learner.network
    buffers = [buffer for each in learner.norms for buffer in each.buffers()]
    before = [buffer.clone() for buffer in buffers]
    inputs = example[torch.arange(batch_size, device=example.device) % len(example)]
    if example.ndim == 4:
        inputs = inputs.to(memory_format=torch.channels_last)
    was_training = network.training
    learner.start_training()
    learner.optimizer.zero_grad(set_to_none=True)  # gradients that another run left must not be added to
    passes = 1 if learner.keeps_outputs else 3  # CUDA graphs are recorded on the second
    try:
        with seeding.seeded(0, learner.device):  # so that it draws from no stream of the run
            for _ in range(passes):
                output = learner.forward(inputs)
                if learner.mean is not None:
                    output = learner.forward_again(inputs)
                output.logits.float().mean().backward()  # type: ignore[no-untyped-call]
                learner.optimizer.zero_grad(set_to_none=True)
    finally:
        network.train(was_training)
        with torch.no_grad():
            for buffer, kept in zip(buffers, before, strict=True):
                buffer.copy_(kept)
