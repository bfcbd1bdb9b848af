"""How one step changes a network: the general learner, for any torch module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from graylearn.errors import SettingsError
from graylearn.methods.base import Output
from graylearn.torch_internals import allow_recompiling
from graylearn.training.group import Group
from graylearn.training.networks import as_output, batch_norms
from graylearn.training.optimizers import set_rate
from graylearn.training.sharding import part_of

_RECOMPILE_LIMIT = 64


class Learner(Protocol):
    """What the loop asks of one network, or of several side by side."""

    models: int
    """How many models are trained side by side."""
    keeps_outputs: bool
    """Whether the logits of a step stay as they are during the next ones."""
    generator: torch.Generator | None
    """What dropout draws from; None = torch's global generators."""
    group: Group | None
    """The processes that train it together; None = this one alone."""
    in_parts: bool
    """Whether each of these processes holds a part of the weights, and all are needed for the whole."""

    def forward(self, inputs: Tensor) -> Output:
        """The pass that `update` follows; logits (models * N, K)."""
        ...

    def forward_again(self, inputs: Tensor, model: int) -> Output:
        """A further pass within the same step, for methods that make inputs of their own."""
        ...

    def update(self, losses: Tensor, weight: Tensor) -> None:
        """Step the optimizer down the gradient of sum(weight * losses)."""
        ...

    def gather(self, losses: Tensor, weight: Tensor) -> None:
        """Add the gradient of sum(weight * losses) to what was gathered since the last step."""
        ...

    def nothing(self) -> Tensor:
        """The losses (0,) of a batch of which this process has no sample."""
        ...

    def step(self, scale: float) -> None:
        """Step the optimizer down what was gathered, times `scale`."""
        ...

    def start_training(self) -> None:
        """Put the networks into training mode."""
        ...

    def values(self) -> list[Tensor]:
        """The memory that weights and buffers lie in."""
        ...

    def set_learning_rates(self, rates: Sequence[float]) -> None:
        """The rate of each model."""
        ...

    def sync(self) -> None:
        """Bring the modules of the user up to date."""
        ...

    def read(self) -> None:
        """Take up what was changed in the modules of the user."""
        ...

    def describe(self) -> dict[str, Any]:
        """What of it decides the result and settings alone do not say."""
        ...

    def weights(self) -> dict[str, Tensor]:
        """All weights and buffers by name."""
        ...

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        ...

    def optimizer_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the optimizer."""
        ...

    def load_optimizer_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `optimizer_state` gave."""
        ...


@contextlib.contextmanager
def _each(modules: Sequence[nn.Module], **changed: bool) -> Iterator[None]:
    """Modules with other attributes for a while."""
    before = [{name: getattr(module, name) for name in changed} for module in modules]
    try:
        for module in modules:
            _set(module, changed)
        yield
    finally:
        for module, kept in zip(modules, before, strict=True):
            _set(module, kept)


def _set(module: nn.Module, values: dict[str, bool]) -> None:
    for name, value in values.items():
        setattr(module, name, value)


class ModuleLearner:
    """Trains a torch module with a torch optimizer, through autograd."""

    models = 1
    generator: torch.Generator | None = None
    in_parts = False

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        device: torch.device,
        half: torch.dtype | None = None,
        clip_norm: float | None = None,
        frozen: Sequence[nn.Module] = (),
    ) -> None:
        self.network = network
        self.optimizer = optimizer
        self.device = device
        self.half = half
        # float16 has no small numbers: losses are scaled up so that gradients do not vanish
        self.scaler = torch.amp.GradScaler(device.type) if half == torch.float16 else None
        self.clip_norm = clip_norm
        self.frozen = list(frozen)
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
        self.group: Group | None = None
        """The processes that train it together."""
        self.norms = batch_norms(network)
        self.compiled: Callable[[Tensor], Any] | None = None
        self.compiled_size = 0
        self.keeps_outputs = True

    def compile(self, mode: str, batch_size: int) -> None:
        """Run batches of `batch_size` through torch.compile; others, the last of an epoch, as they are.

        A second shape would compile the whole network a second time for one batch per epoch.
        """
        allow_recompiling(_RECOMPILE_LIMIT)
        self.compiled = torch.compile(self.network, mode=mode, dynamic=False)
        self.compiled_size = batch_size
        # CUDA graphs write each step's outputs to the same memory
        self.keeps_outputs = mode not in ("reduce-overhead", "max-autotune")

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.half is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.half)

    def forward(self, inputs: Tensor) -> Output:
        """The pass that `update` follows."""
        network: Callable[[Tensor], Any] = self.network
        if self.compiled is not None and len(inputs) == self.compiled_size:
            network = self.compiled
            if not self.keeps_outputs:
                torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        if inputs.shape[0] == 1 and self.norms:
            return self._forward_lone(inputs)
        with self._autocast():
            return as_output(network(inputs))

    def _forward_lone(self, inputs: Tensor) -> Output:
        """A batch of one sample, which has no variance of its own: batch norm uses its running statistics."""
        with _each(self.norms, training=False), self._autocast():
            return as_output(self.network(inputs))

    def forward_again(self, inputs: Tensor, model: int = 0) -> Output:
        """A further pass within the same step; not through CUDA graphs, which would overwrite the first.

        Batch norm takes its running statistics from the samples alone, not from what a method makes of
        them: means of twenty images have another spread, and a network that expects them misjudges the
        images it is given later (lcvd loses ten points on CIFAR-10, docs/lab/measurements.md).
        """
        network: Callable[[Tensor], Any] = self.network
        if self.compiled is not None and self.keeps_outputs and len(inputs) == self.compiled_size:
            network = self.compiled
        if inputs.shape[0] == 1 and self.norms:
            return self._forward_lone(inputs)
        with _each(self.norms, track_running_stats=False), self._autocast():
            return as_output(network(inputs))

    def update(self, losses: Tensor, weight: Tensor) -> None:
        """Step the optimizer down the gradient of sum(weight * losses)."""
        self._backward(losses, weight)
        self.step()

    def gather(self, losses: Tensor, weight: Tensor) -> None:
        """Add the gradient of sum(weight * losses) to what was gathered since the last step."""
        self._backward(losses, weight)
        if not self.keeps_outputs:  # gradients lie in the graph's memory too, which the next pass reuses
            for value in self._learned():
                value.grad = None if value.grad is None else value.grad.clone()

    def nothing(self) -> Tensor:
        """The losses of no samples."""
        return torch.zeros(0, device=self.device)

    def _learned(self) -> list[nn.Parameter]:
        return [value for group in self.optimizer.param_groups for value in group["params"]]

    def _add_up_gradients(self) -> None:
        """The sums over all processes."""
        assert self.group is not None
        self.group.add_up_gradients([each for each in self.network.parameters() if each.requires_grad])

    def _clip(self, most: float) -> None:
        nn.utils.clip_grad_norm_(self._learned(), most)

    def _backward(self, losses: Tensor, weight: Tensor) -> None:
        if not self.gathered:
            self.optimizer.zero_grad(set_to_none=True)
        if losses.requires_grad:  # a method that leaves out the whole batch may return plain zeros
            scaled = losses if self.scaler is None else self.scaler.scale(losses)
            scaled.backward(weight)  # type: ignore[no-untyped-call]
            self.gathered = True

    def step(self, scale: float = 1.0) -> None:
        """Step the optimizer down what was gathered, times `scale`."""
        if self.group is not None:  # also without a gradient of its own: the others may have one, and wait
            self._add_up_gradients()
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
            self._clip(self.clip_norm)
        if scaler is None:
            self.optimizer.step()
        else:  # passes over a step whose gradients are infinite, and scales less from then on
            scaler.step(self.optimizer)
            scaler.update()
        self.gathered = False

    def start_training(self) -> None:
        """Training mode, but for batch norms that are frozen."""
        self.network.train()
        for norm in self.frozen:
            norm.eval()

    def values(self) -> list[Tensor]:
        """Parameters and buffers, each once."""
        return [value.detach() for value in [*self.network.parameters(), *self.network.buffers()]]

    def describe(self) -> dict[str, Any]:
        """Which optimizer trains it, with which options: a run is resumed with the same."""
        return {"optimizer": [type(self.optimizer).__name__, self.made_with]}

    def set_learning_rates(self, rates: Sequence[float]) -> None:
        """The rate of the first group that has one; others keep their ratio to it."""
        for group, own in zip(self.optimizer.param_groups, self.group_rates, strict=True):
            set_rate(group, rates[0] * own / self.base_rate)

    def put_rates_back(self) -> None:
        """The rates that the optimizer came with, for a user who goes on with it."""
        for group, own in zip(self.optimizer.param_groups, self.group_rates, strict=True):
            set_rate(group, own)

    def sync(self) -> None:
        """Nothing to do: the user's module is what is trained."""

    def read(self) -> None:
        """Nothing to do here either."""

    def weights(self) -> dict[str, Tensor]:
        """All weights and buffers of the network by name."""
        return {name: value for name, value in self.network.state_dict().items() if isinstance(value, Tensor)}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        self.network.load_state_dict(weights)

    def optimizer_state(self) -> dict[str, Any]:
        """The torch optimizer's own state, and how far losses are scaled for float16."""
        scale = {} if self.scaler is None else {"scaler": self.scaler.state_dict()}
        return dict(self.optimizer.state_dict()) | scale

    def load_optimizer_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `optimizer_state` gave."""
        if self.scaler is not None:
            self.scaler.load_state_dict(saved["scaler"])
        self.optimizer.load_state_dict({name: value for name, value in saved.items() if name != "scaler"})
        for parameter, state in self.optimizer.state.items():
            for name, value in state.items():
                if isinstance(value, Tensor) and value.shape == parameter.shape:
                    # files know no strides, and torch's fused kernels go through memory side by side
                    state[name] = torch.empty_like(parameter).copy_(part_of(value, parameter))
