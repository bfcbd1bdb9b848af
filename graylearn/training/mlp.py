"""Multilayer perceptrons without overhead: one model, or many of one shape side by side.

All weights of a model are one flat row and each layer is a view of it, (in, out): a layer is one matrix
product for one model and one batched product for many. On the CPU passes are made by numpy and their
gradients are written out: for batches of 16 and layers of 128 a call costs as much as its arithmetic, and a
call of numpy a third of one of torch (one model on an ARM core: forward 42 us instead of 70, backward 70
instead of 180). On other devices, and for inputs that need a gradient themselves, autograd does both.

Which models are perceptrons is found by running each once, without data: a copy without memory (torch's meta
device) is run, and every call of torch in it is recorded. It affects the calling thread alone; torch.fx would
replace `nn.Module.__call__` for all threads while it traces.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from graylearn.array_types import Singles
from graylearn.methods.base import Output
from graylearn.torch_internals import backward, has_hooks
from graylearn.training.learner import Learner
from graylearn.training.optimizers import FlatOptimizer, OptimizerSettings

_RELU = (F.relu, torch.relu, Tensor.relu)
_FLATTEN = (torch.flatten, Tensor.flatten)


@dataclass(frozen=True)
class Layer:
    """One linear layer and what follows it."""

    linear: str
    """Name of the nn.Linear within its model."""
    relu: bool
    dropout: float
    """Share of outputs dropped in training."""


def mlp_layers(model: nn.Module) -> list[Layer] | None:
    """The layers of a model of linear layers with ReLU and dropout between; None of any other model."""
    linears = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    if not linears or has_hooks(model) or list(model.buffers()):
        return None
    if any(linear.bias is None or linear.weight.dtype != torch.float32 for linear in linears.values()):
        return None
    layers = next(filter(None, (_layers(model, width) for width in _widths(linears))), None)
    if layers is None or layers[-1].relu or layers[-1].dropout:
        return None
    names = [layer.linear for layer in layers]
    parameters = {name for name, value in model.named_parameters() if value.requires_grad}
    # a model that is one linear layer has no name for it
    if parameters != {f"{name}.{part}".lstrip(".") for name in names for part in ("weight", "bias")}:
        return None
    if len(set(names)) < len(names):  # a layer used twice has one weight, not two
        return None
    return layers if all(layer.relu for layer in layers[:-1]) else None


def _widths(linears: dict[str, nn.Linear]) -> list[int]:
    """The numbers of features that the model may read: those of its linear layers, in order."""
    return list(dict.fromkeys(int(linear.in_features) for linear in linears.values()))


def _layers(model: nn.Module, width: int) -> list[Layer] | None:
    """The layers in the order in which rows of this width pass them; None of any other model."""
    try:
        own: list[Tensor] = [*model.parameters(), *model.buffers()]
        twin = copy.deepcopy(model, {id(value): _without_memory(value) for value in own})
        twin.train()  # as in the loop, whatever its mode now
        rows = torch.empty(2, width, device="meta")
        linears = [(name, each) for name, each in twin.named_modules() if isinstance(each, nn.Linear)]
        names = {id(linear.weight): name for name, linear in linears}
        with torch.no_grad(), _Recorder(rows, names) as seen:
            logits = twin(rows)
    except Exception:  # whatever cannot be recorded, the general learner can train
        return None
    return seen.layers if logits is seen.last and seen.layers else None


def _without_memory(value: Tensor) -> Tensor:
    empty = torch.empty_like(value, device="meta")
    return nn.Parameter(empty, value.requires_grad) if isinstance(value, nn.Parameter) else empty


class _OtherError(Exception):
    """The model is no multilayer perceptron."""


class _Recorder(TorchFunctionMode):
    """Records every call of torch in this thread; each must take the result of the last, as a layer does."""

    def __init__(self, rows: Tensor, names: dict[int, str]) -> None:
        super().__init__()
        self.last, self.names = rows, names
        self.layers: list[Layer] = []

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if not args or args[0] is not self.last or not self._add(function, args[1:], options):
            raise _OtherError
        self.last = self._shaped(function, args, options)
        return self.last

    def _shaped(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        """The result of the call, of which only the shape matters.

        torch would import two thousand modules to run a linear layer without memory, two seconds' worth.
        """
        rows: Tensor = args[0]
        if function in _FLATTEN:
            return function(*args, **options)  # type: ignore[no-any-return]
        if function is not F.linear:
            return rows if options.get("inplace") else torch.empty(rows.shape, device="meta")
        outputs, inputs = args[1].shape
        if rows.shape[-1] != inputs:
            raise _OtherError
        return torch.empty((*rows.shape[:-1], outputs), device="meta")

    def _add(self, function: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Add the call to the layers; False if a perceptron makes no such call."""
        layers = self.layers
        if function is F.linear:
            if len(given) != 2 or id(given[0]) not in self.names:
                return False
            layers.append(Layer(self.names[id(given[0])], False, 0.0))
            return True
        if function in _RELU:
            if layers and not layers[-1].relu and not layers[-1].dropout:
                layers[-1] = Layer(layers[-1].linear, True, 0.0)
            return bool(layers)
        if function is F.dropout:
            rate = float(options["p"]) if options["training"] else 0.0
            if rate and (not layers or not layers[-1].relu or layers[-1].dropout):
                return False
            if rate:
                layers[-1] = Layer(layers[-1].linear, True, rate)
            return True
        flattens = function in _FLATTEN and given in ((1,), (1, -1)) and not options
        return flattens and not layers


_quiet = np.errstate(all="ignore")  # as torch: an overflow shows in the loss, which the loop checks
Who = int | slice
"""One model of a stack, or all of them."""


@dataclass(slots=True)
class _Pass:
    """A forward pass in numpy, kept for the backward pass."""

    who: Who
    hidden: list[Singles]
    """What each layer read and, last, the logits."""
    leaves: list[Tensor]
    """Where autograd ends: the logits and, if they are read, the features."""


class MLPLearner(Learner):
    """Trains the given models, all of one shape, side by side.

    With `features` a pass also gives what the last layer reads. Dropout draws from `generator`, or else from
    torch's global one.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        layers: Sequence[Layer],
        optimizer: OptimizerSettings,
        device: torch.device,
        *,
        features: bool = False,
        generator: torch.Generator | None = None,
        clip_norm: float | None = None,
    ) -> None:
        self.device, self.generator, self.clip_norm = device, generator, clip_norm
        self.modules, self.layers, self.features = list(models), list(layers), features
        self.models = len(self.modules)
        linears = [self.modules[0].get_submodule(layer.linear) for layer in layers]
        self.shapes = [(int(linear.in_features), int(linear.out_features)) for linear in linears]  # type: ignore[arg-type]
        self.largest_layer = max(inputs * outputs for inputs, outputs in self.shapes)
        size = sum(inputs * outputs + outputs for inputs, outputs in self.shapes)
        self.flat = torch.zeros(self.models, size, device=device)
        self.gradient = torch.zeros_like(self.flat)
        self.weights_and_biases = self._views(self.flat)
        """(models, in, out) and (models, 1, out) of each layer."""
        self.slopes = self._views(self.gradient)
        self.everyone: Who = 0 if self.models == 1 else slice(None)
        self.by_numpy = device.type == "cpu"
        if self.by_numpy:
            self.arrays = [(weight.numpy(), bias.numpy()) for weight, bias in self.weights_and_biases]
            self.slope_arrays = [(weight.numpy(), bias.numpy()) for weight, bias in self.slopes]
        self.optimizer = FlatOptimizer(optimizer, self.flat, self.gradient)
        self.passes: list[_Pass] = []
        self.leaves: list[Tensor] = []  # weights and biases as autograd sees them in this step
        self.gathered = False
        self.read()

    def _views(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weight (models, in, out) and bias (models, 1, out) of each layer."""
        views, start = [], 0
        for inputs, outputs in self.shapes:
            weight = flat[:, start : start + inputs * outputs].view(-1, inputs, outputs)
            start += inputs * outputs
            views.append((weight, flat[:, start : start + outputs].view(-1, 1, outputs)))
            start += outputs
        return views

    # -- forward ----------------------------------------------------------------------------------------

    def forward(self, inputs: Tensor) -> Output:
        """Logits (models * N, K) of inputs (N, D) or (models, N, D)."""
        self.passes.clear()
        self.leaves.clear()
        return self._pass(inputs, self.everyone)

    def forward_again(self, inputs: Tensor, model: int = 0) -> Output:
        """A further pass of one model."""
        return self._pass(inputs.flatten(1), model)

    def _pass(self, inputs: Tensor, who: Who) -> Output:
        if not self.by_numpy or inputs.requires_grad:
            read = self._forward_by_autograd(inputs, who)
            leaves = [values.flatten(0, -2) for values in (read[-1], read[-2])]
            return Output(leaves[0], leaves[1] if self.features else None)
        hidden = self._forward(inputs.numpy(), who)
        leaves = [_leaf(hidden[-1]), *([_leaf(hidden[-2])] if self.features else [])]
        self.passes.append(_Pass(who, hidden, leaves))
        return Output(leaves[0], leaves[1] if self.features else None)

    @_quiet
    def _forward(self, inputs: Singles, who: Who) -> list[Singles]:
        """What each layer reads and, last, the logits."""
        hidden = [inputs]
        multiply: Any = np.matmul if inputs.ndim == 3 else np.dot
        for (weight, bias), layer in zip(self.arrays, self.layers, strict=True):
            read = multiply(hidden[-1], weight[who])
            read += bias[who]
            if layer.relu:
                np.maximum(read, 0, out=read)
            if layer.dropout:
                # drawn as nn.Dropout draws it, so that one seed decides all
                mask = torch.empty(read.shape).bernoulli_(1 - layer.dropout, generator=self.generator)
                read *= mask.div_(1 - layer.dropout).numpy()
            hidden.append(read)
        return hidden

    def _forward_by_autograd(self, inputs: Tensor, who: Who) -> list[Tensor]:
        """As `_forward`, with a graph."""
        if not self.leaves:
            both = [part for pair in self.weights_and_biases for part in pair]
            self.leaves = [part[self.everyone].detach().requires_grad_() for part in both]  # the same memory
        hidden = [inputs]
        for weight, bias, layer in zip(self.leaves[::2], self.leaves[1::2], self.layers, strict=True):
            if who != self.everyone:
                weight, bias = weight[who], bias[who]
            multiply = torch.baddbmm if hidden[-1].ndim == 3 else torch.addmm
            read = multiply(bias, hidden[-1], weight)
            if layer.relu:
                read = read.relu_()
            if layer.dropout and self.generator is None:
                read = F.dropout(read, layer.dropout)
            elif layer.dropout:
                mask = torch.empty_like(read).bernoulli_(1 - layer.dropout, generator=self.generator)
                read = read * mask.div_(1 - layer.dropout)
            hidden.append(read)
        return hidden

    # -- backward ---------------------------------------------------------------------------------------

    def gather(self, losses: Tensor, weight: Tensor) -> None:
        """Add the gradient of sum(weight * losses) to what was gathered since the last step."""
        if not losses.requires_grad:
            return
        slopes = iter(
            backward(losses, weight, [*(x for done in self.passes for x in done.leaves), *self.leaves])
        )
        for done in self.passes:
            # a loss that does not read all of them gives None for some
            pairs = zip(done.leaves, slopes, strict=False)
            own = [torch.zeros_like(leaf) if slope is None else slope for leaf, slope in pairs]
            self._backward(done, [slope.numpy() for slope in own])
            self.gathered = True
        if self.leaves:
            if not self.gathered:
                self.gradient.zero_()
            into = (part[self.everyone] for pair in self.slopes for part in pair)
            for part, slope in zip(into, slopes, strict=True):
                if slope is not None:
                    part += slope
            self.gathered = True

    @_quiet
    def _backward(self, done: _Pass, slopes: list[Singles]) -> None:
        """Add the gradient of a pass, from that of its logits and, if they were read, of its features."""
        hidden, who = done.hidden, done.who
        rows = slopes[0].reshape(hidden[-1].shape)
        for index in range(len(self.layers) - 1, -1, -1):
            of_weight, of_bias = (slope[who] for slope in self.slope_arrays[index])
            transposed = hidden[index].swapaxes(-1, -2)
            if self.gathered:
                of_weight += np.matmul(transposed, rows)
                of_bias += np.add.reduce(rows, axis=-2, keepdims=True)
            else:  # the first of a step is of all models
                np.matmul(transposed, rows, out=of_weight)
                np.add.reduce(rows, axis=-2, keepdims=True, out=of_bias)
            if index == 0:
                break
            rows = np.matmul(rows, self.arrays[index][0][who].swapaxes(-1, -2))
            if len(slopes) == 2 and index == len(self.layers) - 1:
                rows += slopes[1].reshape(rows.shape)
            rows *= hidden[index] > 0  # it is 0 where ReLU or dropout closed a unit
            dropout = self.layers[index - 1].dropout
            if dropout:
                rows *= np.float32(1 / (1 - dropout))

    def step(self, scale: float = 1.0) -> None:
        """Step the optimizer down what was gathered, times `scale`."""
        if not self.gathered:
            if self.group is None:
                return
            self.gradient.zero_()  # the other processes may have gradients, and wait
        self.gathered = False
        if scale != 1.0:
            self.gradient *= scale
        if self.group is not None:
            self.group.add_up(self.gradient)
        if self.clip_norm is not None:
            for own in self.gradient:  # each model's gradient has a length of its own
                own *= (self.clip_norm / (torch.linalg.vector_norm(own) + 1e-6)).clamp(max=1.0)
        self.optimizer.step()

    # -- weights ----------------------------------------------------------------------------------------

    def start_training(self) -> None:
        """Put the modules into training mode."""
        for module in self.modules:
            module.train()

    def values(self) -> list[Tensor]:
        """All weights of all models, as one."""
        return [self.flat]

    def set_learning_rates(self, rates: Sequence[float]) -> None:
        """The rate of each model."""
        self.optimizer.rates = rates

    @torch.no_grad()
    def sync(self) -> None:
        """Write the weights into the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self.weights_and_biases, self.layers, strict=True):
                linear = module.get_submodule(layer.linear)
                linear.get_parameter("weight").copy_(weight[model].T)
                linear.get_parameter("bias").copy_(bias[model, 0])

    @torch.no_grad()
    def read(self) -> None:
        """Take the weights from the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self.weights_and_biases, self.layers, strict=True):
                linear = module.get_submodule(layer.linear)
                weight[model].copy_(linear.get_parameter("weight").T)
                bias[model, 0].copy_(linear.get_parameter("bias"))

    def weights(self) -> dict[str, Tensor]:
        """The weights of the one module; a stack keeps no checkpoints."""
        self.sync()
        return dict(self.modules[0].state_dict())

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        self.modules[0].load_state_dict(weights)
        self.read()

    def optimizer_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the optimizer."""
        return self.optimizer.state()

    def load_optimizer_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `optimizer_state` gave."""
        self.optimizer.load_state(saved)


def _leaf(values: Singles) -> Tensor:
    """(rows, values) of one model or of several end to end, where autograd begins."""
    return torch.from_numpy(values).view(-1, values.shape[-1]).requires_grad_()
