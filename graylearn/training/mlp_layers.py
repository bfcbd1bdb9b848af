"""Which models are multilayer perceptrons: found by running each once, without data.

A copy of the model without memory (torch's meta device) is run, and every call of torch in it is recorded. It
affects the calling thread alone; torch.fx would replace `nn.Module.__call__` for all threads while it traces.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from graylearn.torch_internals import has_hooks

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
