"""Multilayer perceptrons without overhead: one model, or many of one shape side by side.

All weights of a model are one flat row, each layer a view of it, (in, out), so that a layer is one matrix
product for one model and one batched product for many. The way back is written out; autograd runs on the
logits alone, where the method's loss begins.

On the CPU the passes are numpy's, on other devices torch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from graylearn.methods.base import Output
from graylearn.training.flat_optimizer import FlatOptimizer
from graylearn.training.mlp_numpy import NumpyPasses
from graylearn.training.optimizers import OptimizerSettings

_engine = torch.autograd.Variable._execution_engine


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
    if any(hooked._forward_hooks or hooked._forward_pre_hooks for hooked in model.modules()):
        return None
    if not any(isinstance(module, nn.Linear) for module in model.modules()):
        return None
    try:
        graph = fx.Tracer().trace(model)
    except Exception:  # whatever a user's forward does that cannot be traced, the general learner can run
        return None
    modules = dict(model.named_modules())
    layers: list[Layer] = []
    previous: fx.Node | None = None
    for node in graph.nodes:
        if node.op == "placeholder":
            if previous is not None:
                return None
        elif node.op == "output":
            if node.args != (previous,):
                return None
        elif not node.args or node.args[0] is not previous or not _add(node, modules, layers):
            return None
        previous = node
    names = [layer.linear for layer in layers]
    parameters = {name for name, value in model.named_parameters() if value.requires_grad}
    expected = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
    if not layers or layers[-1].relu or layers[-1].dropout or parameters != expected or list(model.buffers()):
        return None
    return layers if all(layer.relu for layer in layers[:-1]) else None


def _add(node: fx.Node, modules: dict[str, nn.Module], layers: list[Layer]) -> bool:
    """Add what `node` does to `layers`; False where it is something else."""
    kind: Any = type(modules[str(node.target)]) if node.op == "call_module" else node.target
    if kind is nn.Linear:
        layer = modules[str(node.target)]
        layers.append(Layer(str(node.target), False, 0.0))
        return layer.bias is not None and layer.weight.dtype == torch.float32
    if kind in (nn.ReLU, torch.relu, F.relu, "relu"):
        if layers and not layers[-1].relu and not layers[-1].dropout:
            layers[-1] = Layer(layers[-1].linear, True, 0.0)
        return bool(layers)
    if kind is nn.Dropout:
        rate = float(modules[str(node.target)].p)  # type: ignore[arg-type]
        if rate and (not layers or not layers[-1].relu or layers[-1].dropout):
            return False
        if rate:
            layers[-1] = Layer(layers[-1].linear, True, rate)
        return True
    flattens = kind in ("flatten", torch.flatten) and tuple(node.args[1:]) == (1,) and not node.kwargs
    return kind is nn.Identity or (not layers and (flattens or kind is nn.Flatten))


class MLPLearner:
    """Trains the given models, all of one shape, side by side."""

    keeps_outputs = True

    def __init__(
        self,
        models: Sequence[nn.Module],
        layers: Sequence[Layer],
        optimizer: OptimizerSettings,
        device: torch.device,
    ) -> None:
        self.modules = list(models)
        self.models = len(self.modules)
        self.layers = list(layers)
        linears = [self.modules[0].get_submodule(layer.linear) for layer in layers]
        self.shapes = [(int(linear.in_features), int(linear.out_features)) for linear in linears]  # type: ignore[arg-type]
        size = sum(inputs * outputs + outputs for inputs, outputs in self.shapes)
        self.flat = torch.zeros(self.models, size, device=device)
        self.gradient = torch.zeros_like(self.flat)
        self.leaf = self.flat.detach().requires_grad_()  # the same memory, for passes through autograd
        single = self.models == 1
        self.add_multiply: Any = torch.addmm if single else torch.baddbmm
        self.multiply: Any = torch.mm if single else torch.bmm
        views, gradients = self._views(self.flat, single), self._views(self.gradient, single)
        self.parts = list(zip(views, gradients, layers, strict=True))
        self.transposed = [weight.mT for weight, _ in views]
        self.optimizer = FlatOptimizer(optimizer, self.flat, self.gradient)
        self.used_leaf = False
        self.kept: list[tuple[Tensor, float]] = []
        self.logits: Tensor | None = None
        self.on_cpu: NumpyPasses | None = None
        if device.type == "cpu":
            self.on_cpu = NumpyPasses(
                views, gradients, [layer.relu for layer in layers], [layer.dropout for layer in layers]
            )
        self.read()

    def _views(self, flat: Tensor, single: bool) -> list[tuple[Tensor, Tensor]]:
        """Weight (G, in, out) and bias (G, 1, out) of each layer; without G for a single model."""
        views, start = [], 0
        for inputs, outputs in self.shapes:
            weight = flat[:, start : start + inputs * outputs].view(-1, inputs, outputs)
            start += inputs * outputs
            bias = flat[:, start : start + outputs].view(-1, 1, outputs)
            start += outputs
            views.append((weight[0], bias[0, 0]) if single else (weight, bias))
        return views

    def forward(self, inputs: Tensor) -> Output:
        """Logits (models * N, K) of inputs (N, D) or (models, N, D); keeps what the way back needs."""
        self.used_leaf = False
        if self.on_cpu is not None:
            self.logits = self.on_cpu.forward(inputs).requires_grad_()
            return Output(self.logits, None)
        hidden = inputs
        kept = self.kept
        kept.clear()
        for (weight, bias), _, layer in self.parts:
            kept.append((hidden, layer.dropout))
            hidden = self.add_multiply(bias, hidden, weight)
            if layer.relu:
                hidden = hidden.relu_()
            if layer.dropout:
                hidden = torch.native_dropout(hidden, layer.dropout, True)[0]
        logits = hidden if self.models == 1 else hidden.view(-1, hidden.shape[-1])
        self.logits = logits.requires_grad_()
        return Output(self.logits, None)

    def forward_again(self, inputs: Tensor, model: int = 0) -> Output:
        """A further pass of one model, through autograd."""
        self.used_leaf = True
        hidden = inputs.flatten(1)
        for (weight, bias), layer in zip(self._views(self.leaf, False), self.layers, strict=True):
            hidden = torch.addmm(bias[model, 0], hidden, weight[model])
            if layer.relu:
                hidden = F.dropout(hidden.relu(), layer.dropout, training=True)
        return Output(hidden, None)

    def update(self, losses: Tensor, weight: Tensor) -> None:
        """Step the optimizer down the gradient of sum(weight * losses)."""
        if not losses.requires_grad:
            return
        wanted = (self.logits, self.leaf) if self.used_leaf else (self.logits,)
        # what torch.autograd.grad calls, without its checks: a tenth of the step
        found: tuple[Tensor | None, ...] = _engine.run_backward(
            (losses,), (weight,), False, False, wanted, allow_unreachable=True, accumulate_grad=False
        )
        if found[0] is None:
            self.gradient.zero_()
        elif self.on_cpu is not None:
            self.on_cpu.backward(found[0])
        else:
            self._backward(found[0])
        if self.used_leaf and found[1] is not None:
            self.gradient += found[1]
        self.optimizer.step()

    def _backward(self, slope: Tensor) -> None:
        """Fill `gradient` from the gradient of the logits."""
        multiply, single = self.multiply, self.models == 1
        if not single:
            slope = slope.view(self.models, -1, slope.shape[-1])
        for place in range(len(self.parts) - 1, -1, -1):
            weight_gradient, bias_gradient = self.parts[place][1]
            hidden = self.kept[place][0]
            multiply(hidden.mT, slope, out=weight_gradient)
            if single:
                torch.sum(slope, 0, out=bias_gradient)
            else:
                torch.sum(slope, 1, keepdim=True, out=bias_gradient)
            if place == 0:
                break
            # hidden is 0 where ReLU or dropout closed a unit, else positive
            slope = multiply(slope, self.transposed[place]).mul_(hidden.sign())
            dropout = self.kept[place - 1][1]
            if dropout:
                slope = slope.mul_(1 / (1 - dropout))

    def set_learning_rates(self, rates: Sequence[float]) -> None:
        """The rate of each model."""
        self.optimizer.rates = rates

    @torch.no_grad()
    def sync(self) -> None:
        """Write the weights into the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self._views(self.flat, False), self.layers, strict=True):
                module.get_parameter(f"{layer.linear}.weight").copy_(weight[model].T)
                module.get_parameter(f"{layer.linear}.bias").copy_(bias[model, 0])

    @torch.no_grad()
    def read(self) -> None:
        """Take the weights from the modules."""
        for model, module in enumerate(self.modules):
            for (weight, bias), layer in zip(self._views(self.flat, False), self.layers, strict=True):
                weight[model].copy_(module.get_parameter(f"{layer.linear}.weight").T)
                bias[model, 0].copy_(module.get_parameter(f"{layer.linear}.bias"))

    def weights(self) -> dict[str, Tensor]:
        """The weights of the module, of a stack's modules with their number before the name."""
        self.sync()
        if self.models == 1:
            return dict(self.modules[0].state_dict())
        return {
            f"{model}.{name}": value
            for model, module in enumerate(self.modules)
            for name, value in module.state_dict().items()
        }

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take weights that `weights` gave."""
        if self.models == 1:
            self.modules[0].load_state_dict(weights)
        else:
            for model, module in enumerate(self.modules):
                own = f"{model}."
                module.load_state_dict(
                    {name.removeprefix(own): v for name, v in weights.items() if name.startswith(own)}
                )
        self.read()

    def optimizer_state(self) -> dict[str, Any]:
        """The flat optimizer's own state."""
        return self.optimizer.state()

    def load_optimizer_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `optimizer_state` gave."""
        self.optimizer.load_state(saved)
