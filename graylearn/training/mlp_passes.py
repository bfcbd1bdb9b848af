"""The passes of multilayer perceptrons in torch: of all models of a stack side by side, or of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layer:
    """One linear layer and what follows it."""

    linear: str
    """Name of the nn.Linear within its model."""
    relu: bool
    dropout: float
    """Share of outputs dropped in training."""


Part = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], Layer]
"""Weight and bias of a layer, their gradients, and the layer: (models, in, out) and (models, 1, out) of all
models of a stack, (in, out) and (out,) of one model."""


Who = int | Literal["all", "all again"]
"""Who goes: one model of a stack, in a further pass, or all of them, in the first or in a further one."""


@dataclass(slots=True)
class Pass:
    """A way through the network, kept for the way back."""

    who: Who
    hidden: list[Any]
    """What each layer read and, last, the logits."""
    leaves: list[Tensor]
    """Where autograd ends: the logits and, where they are read, the features."""
    slopes: list[Tensor]
    """What autograd found there."""


class TorchPasses:
    """There and back through layers, given for each who may go: their gradients need not be the same."""

    def __init__(self, parts: Mapping[Who, Sequence[Part]], generator: torch.Generator | None = None) -> None:
        self.parts, self.generator = parts, generator

    def forward(self, inputs: Tensor, who: Who) -> list[Any]:
        """What each layer reads and, last, the logits."""
        hidden = [inputs]
        for (weight, bias), _, layer in self.parts[who]:
            read = add_multiply(bias, hidden[-1], weight)
            if layer.relu:
                read = read.relu_()
            if layer.dropout:
                read = self._drop(read, layer.dropout)
            hidden.append(read)
        return hidden

    def _drop(self, read: Tensor, rate: float) -> Tensor:
        if self.generator is None:
            return torch.native_dropout(read, rate, True)[0]
        mask = torch.empty_like(read, dtype=torch.bool).bernoulli_(1 - rate, generator=self.generator)
        return read.mul(mask).mul_(1 / (1 - rate))

    def backward(self, done: Pass) -> None:
        """Fill the gradients from the slopes of the logits and, where they were read, of the features."""
        parts, hidden = self.parts[done.who], done.hidden
        slope = done.slopes[0].reshape(hidden[-1].shape)
        multiply: Any = torch.bmm if slope.ndim == 3 else torch.mm
        for index in range(len(parts) - 1, -1, -1):
            (weight, _), (weight_gradient, bias_gradient), _ = parts[index]
            multiply(hidden[index].mT, slope, out=weight_gradient)
            torch.sum(slope, -2, keepdim=slope.ndim == 3, out=bias_gradient)
            if index == 0:
                break
            slope = multiply(slope, weight.mT)
            if len(done.slopes) == 2 and index == len(parts) - 1:
                slope += done.slopes[1].reshape(slope.shape)
            slope *= hidden[index].sign()  # 0 where ReLU or dropout closed a unit, else positive
            dropout = parts[index - 1][2].dropout
            if dropout:
                slope *= 1 / (1 - dropout)

    def stack(self, read: Sequence[Any]) -> Any:
        """(models, N, D) of what a layer read of each model."""
        return torch.stack(list(read))

    def together(self, passes: list[Pass]) -> list[Pass]:
        """The further passes of a step; as one where each model went once, with as many inputs."""
        everyone = [who for who in self.parts if isinstance(who, int)]
        sizes = {len(done.leaves[0]) for done in passes}
        if len(passes) < 2 or len(sizes) > 1 or [done.who for done in passes] != everyone:
            return passes
        hidden = [self.stack(read) for read in zip(*(done.hidden for done in passes), strict=True)]
        slopes = [torch.stack(found) for found in zip(*(done.slopes for done in passes), strict=True)]
        return [Pass("all again", hidden, [], slopes)]


def add_multiply(bias: Tensor, inputs: Tensor, weight: Tensor) -> Tensor:
    """A linear layer of one model or, with an axis more, of each of several."""
    return torch.baddbmm(bias, inputs, weight) if inputs.ndim == 3 else torch.addmm(bias, inputs, weight)
