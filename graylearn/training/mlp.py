"""Multilayer perceptrons without overhead: one model, or many of one shape side by side.

All weights of a model are one flat row, each layer a view of it, (in, out), so that a layer is one matrix
product for one model and one batched product for many. The way back is written out, also of the further
passes a method asks for; autograd runs from the losses to the logits (and features) of each pass.

On the CPU the passes are numpy's, on other devices torch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graylearn.methods.base import Output
from graylearn.torch_internals import backward
from graylearn.training.flat_optimizer import FlatOptimizer
from graylearn.training.group import Group
from graylearn.training.mlp_numpy import NumpyPasses
from graylearn.training.mlp_passes import Layer, Part, Pass, TorchPasses, Who
from graylearn.training.optimizers import OptimizerSettings


class MLPLearner:
    """Trains the given models, all of one shape, side by side.

    With `features` a pass also gives what the last layer reads, and weights lie in memory as nn.Linear has
    them: the numbers are then those of the general learner, which reads features of other networks (on an ARM
    core to the last bit). Dropout draws from `generator`, or else from torch's global one; on the CPU with
    `by_bytes` in other draws, which cost less, at rates that are so many 256ths.
    """

    keeps_outputs = True

    in_parts = False

    def __init__(
        self,
        models: Sequence[nn.Module],
        layers: Sequence[Layer],
        optimizer: OptimizerSettings,
        device: torch.device,
        *,
        features: bool = False,
        generator: torch.Generator | None = None,
        by_bytes: bool = False,
        clip_norm: float | None = None,
    ) -> None:
        self.generator = generator
        self.group: Group | None = None
        """The processes that train it together."""
        self.clip_norm = clip_norm
        self.gathered: Tensor | None = None
        self.modules = list(models)
        self.models = len(self.modules)
        self.layers = list(layers)
        self.features = features
        linears = [self.modules[0].get_submodule(layer.linear) for layer in layers]
        self.shapes = [(int(linear.in_features), int(linear.out_features)) for linear in linears]  # type: ignore[arg-type]
        size = sum(inputs * outputs + outputs for inputs, outputs in self.shapes)
        self.flat = torch.zeros(self.models, size, device=device)
        self.gradient = torch.zeros_like(self.flat)
        self.further = torch.zeros_like(self.flat)  # the gradient of a further pass
        alone = 0 if self.models == 1 else None
        self.parts = self._parts(self.gradient, alone)
        parts: dict[Who, list[Part]] = {"all": self.parts, "all again": self._parts(self.further, alone)}
        for model in range(self.models):
            parts[model] = self._parts(self.further, model)
        on_cpu = device.type == "cpu"
        self.passes = (
            NumpyPasses(parts, generator, as_torch=features, by_bytes=by_bytes)
            if on_cpu
            else TorchPasses(parts)
        )
        self.optimizer = FlatOptimizer(optimizer, self.flat, self.gradient)
        self.done: list[Pass] = []
        self.leaf: Tensor | None = None
        self.read()

    def _views(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weight (models, in, out) and bias (models, 1, out) of each layer."""
        views, start = [], 0
        for inputs, outputs in self.shapes:
            weight = flat[:, start : start + inputs * outputs]
            start += inputs * outputs
            bias = flat[:, start : start + outputs].view(-1, 1, outputs)
            start += outputs
            if self.features:
                views.append((weight.view(-1, outputs, inputs).mT, bias))
            else:
                views.append((weight.view(-1, inputs, outputs), bias))
        return views

    def _parts(self, gradient: Tensor, model: int | None) -> list[Part]:
        """The layers of all models, or of one, each with its part of `gradient`."""
        parts = []
        for values, slopes, layer in zip(
            self._views(self.flat), self._views(gradient), self.layers, strict=True
        ):
            if model is not None:
                values, slopes = ((weight[model], bias[model, 0]) for weight, bias in (values, slopes))
            parts.append((values, slopes, layer))
        return parts

    def forward(self, inputs: Tensor) -> Output:
        """Logits (models * N, K) of inputs (N, D) or (models, N, D); keeps what the way back needs."""
        self.done.clear()
        self.leaf = None
        return self._pass(inputs, "all")

    def forward_again(self, inputs: Tensor, model: int = 0) -> Output:
        """A further pass of one model."""
        if inputs.requires_grad:
            return self._through_autograd(inputs.flatten(1), model)
        return self._pass(inputs.flatten(1), model)

    def _pass(self, inputs: Tensor, who: Who) -> Output:
        hidden = self.passes.forward(inputs, who)
        leaves = [_leaf(hidden[-1])]
        if self.features:
            leaves.append(_leaf(hidden[-2]))
        self.done.append(Pass(who, hidden, leaves, []))
        return Output(leaves[0], leaves[1] if self.features else None)

    def _through_autograd(self, inputs: Tensor, model: int) -> Output:
        """A further pass whose inputs have a slope of their own, as those of an adversary."""
        if self.leaf is None:
            self.leaf = self.flat.detach().requires_grad_()  # the same memory
        hidden = [inputs]
        for (weight, bias), layer in zip(self._views(self.leaf), self.layers, strict=True):
            read = torch.addmm(bias[model, 0], hidden[-1], weight[model])
            if layer.relu:
                read = read.relu()
            if layer.dropout:
                mask = torch.empty_like(read).bernoulli_(1 - layer.dropout, generator=self.generator)
                read = read * mask.div_(1 - layer.dropout)
            hidden.append(read)
        return Output(hidden[-1], hidden[-2] if self.features else None)

    def update(self, losses: Tensor, weight: Tensor) -> None:
        """Step the optimizer down the gradient of sum(weight * losses)."""
        if losses.requires_grad:
            self._slope(losses, weight)
        elif self.group is None:
            return
        else:
            self.gradient.zero_()  # the others may have gradients, and wait
        self._step()

    def nothing(self) -> Tensor:
        """The losses of no samples."""
        return torch.zeros(0, device=self.flat.device)

    def gather(self, losses: Tensor, weight: Tensor) -> None:
        """Add the gradient of sum(weight * losses) to what was gathered since the last step."""
        if losses.requires_grad:
            self._slope(losses, weight)
            self.gathered = self.gradient + (0 if self.gathered is None else self.gathered)

    def step(self, scale: float) -> None:
        """Step the optimizer down what was gathered, times `scale`."""
        if self.gathered is not None:
            torch.mul(self.gathered, scale, out=self.gradient)
        elif self.group is None:
            return
        else:
            self.gradient.zero_()
        self.gathered = None
        self._step()

    def _step(self) -> None:
        if self.group is not None:
            self.group.add_up(self.gradient)
        if self.clip_norm is not None:
            for own in self.gradient:  # each model's gradient has a length of its own
                own *= (self.clip_norm / (torch.linalg.vector_norm(own) + 1e-6)).clamp(max=1.0)
        self.optimizer.step()

    def start_training(self) -> None:
        """Put the modules into training mode."""
        for module in self.modules:
            module.train()

    def values(self) -> list[Tensor]:
        """All weights of all models, as one."""
        return [self.flat]

    def _slope(self, losses: Tensor, weight: Tensor) -> None:
        """The gradient of sum(weight * losses) into `gradient`."""
        wanted = [leaf for done in self.done for leaf in done.leaves]
        if self.leaf is not None:
            wanted.append(self.leaf)
        slopes = iter(backward(losses, weight, wanted))
        for done in self.done:
            # of a loss that does not look at all of them, some slopes are None
            pairs = zip(done.leaves, slopes, strict=False)
            done.slopes = [torch.zeros_like(leaf) if slope is None else slope for leaf, slope in pairs]
        first, *further = self.done
        self.passes.backward(first)
        for done in self.passes.together(further):
            self.passes.backward(done)
            own = done.who if isinstance(done.who, int) else slice(None)
            self.gradient[own] += self.further[own]
        rest = next(slopes, None)
        if rest is not None:
            self.gradient += rest

    def set_learning_rates(self, rates: Sequence[float]) -> None:
        """The rate of each model."""
        self.optimizer.rates = rates

    @torch.no_grad()
    def sync(self) -> None:
        """Write the weights into the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self._views(self.flat), self.layers, strict=True):
                linear = module.get_submodule(layer.linear)
                linear.get_parameter("weight").copy_(weight[model].T)
                linear.get_parameter("bias").copy_(bias[model, 0])

    @torch.no_grad()
    def read(self) -> None:
        """Take the weights from the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self._views(self.flat), self.layers, strict=True):
                linear = module.get_submodule(layer.linear)
                weight[model].copy_(linear.get_parameter("weight").T)
                bias[model, 0].copy_(linear.get_parameter("bias"))

    def describe(self) -> dict[str, Any]:
        """Nothing: the settings say it all."""
        return {}

    def weights(self) -> dict[str, Tensor]:
        """The weights of the one module; a stack keeps no checkpoints."""
        self.sync()
        return dict(self.modules[0].state_dict())

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        self.modules[0].load_state_dict(weights)
        self.read()

    def optimizer_state(self) -> dict[str, Any]:
        """The flat optimizer's own state."""
        return self.optimizer.state()

    def load_optimizer_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `optimizer_state` gave."""
        self.optimizer.load_state(saved)


def _leaf(values: Tensor | NDArray[np.float32]) -> Tensor:
    """(rows, values) of one model or of several end to end, where autograd begins."""
    tensor = values.detach() if isinstance(values, Tensor) else torch.from_numpy(values)
    return tensor.view(-1, tensor.shape[-1]).requires_grad_()
