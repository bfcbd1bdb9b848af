"""Multilayer perceptrons without overhead: one model, or many of one shape side by side.

All weights of a model are one flat row and each layer is a view of it, (in, out): a layer is one matrix
product for one model and one batched product for many. On the CPU passes are made by numpy and their
gradients are written out: for batches of 16 and layers of 128 a call costs as much as its arithmetic, and a
call of numpy a third of one of torch (one model on an ARM core: forward 42 us instead of 70, backward 70
instead of 180). On other devices, and for inputs that need a gradient themselves, autograd does both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graylearn.array_types import Singles
from graylearn.methods.base import Output
from graylearn.nets import MLP
from graylearn.torch_internals import backward, has_hooks
from graylearn.training.learner import Learner, ModuleLearner
from graylearn.training.optimizers import FlatOptimizer, OptimizerSettings


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
    layers: list[Layer] = []
    for name, part in _in_order(model):
        last = layers[-1] if layers else None
        if type(part) is nn.Linear and part.bias is not None and (last is None or last.relu):
            layers.append(Layer(name, False, 0.0))
        elif type(part) is nn.ReLU and last is not None and not last.relu:
            layers[-1] = Layer(last.linear, True, 0.0)
        elif type(part) is nn.Dropout and last is not None and last.relu and not last.dropout and part.p < 1:
            layers[-1] = Layer(last.linear, True, float(part.p))
        elif type(part) is not nn.Flatten or last is not None or (part.start_dim, part.end_dim) != (1, -1):
            return None
    values = list(model.parameters())  # each once: a layer used twice has one weight, not two
    if not layers or layers[-1].relu or len(values) != 2 * len(layers) or has_hooks(model):
        return None
    plain = all(value.requires_grad and value.dtype == torch.float32 for value in values)
    return layers if plain else None


def _in_order(model: nn.Module, name: str = "") -> Iterator[tuple[str, nn.Module]]:
    """What samples pass, one after another; a module with a `forward` of its own is one part."""
    if type(model) in (nn.Sequential, MLP) and "forward" not in vars(model):
        for child, part in model._modules.items():
            if part is not None:
                yield from _in_order(part, f"{name}.{child}".lstrip("."))
    else:
        yield name, model


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
        self.base_rate = optimizer.learning_rate
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

    def set_learning_rate(self, rate: float) -> None:
        """The rate of all models."""
        self.optimizer.rate = rate

    def _pairs(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Each weight and bias here, and the same in the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self.weights_and_biases, self.layers, strict=True):
                linear = module.get_submodule(layer.linear)
                yield weight[model].T, linear.get_parameter("weight")
                yield bias[model, 0], linear.get_parameter("bias")

    @torch.no_grad()
    def sync(self) -> None:
        """Write the weights into the modules."""
        for own, theirs in self._pairs():
            theirs.copy_(own)

    @torch.no_grad()
    def read(self) -> None:
        """Take the weights from the modules."""
        for own, theirs in self._pairs():
            own.copy_(theirs)

    def weights(self) -> dict[str, Tensor]:
        """The weights of the one module; a stack keeps no checkpoints."""
        self.sync()
        return dict(self.modules[0].state_dict())

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        self.modules[0].load_state_dict(weights)
        self.read()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of the optimizer."""
        return self.optimizer.state_dict()

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.optimizer.load_state_dict(saved)


def _leaf(values: Singles) -> Tensor:
    """(rows, values) of one model or of several end to end, where autograd begins."""
    return torch.from_numpy(values).view(-1, values.shape[-1]).requires_grad_()


AnyLearner: TypeAlias = ModuleLearner | MLPLearner
"""What the loop trains with."""
