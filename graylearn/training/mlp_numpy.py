"""The passes of multilayer perceptrons on the CPU, in numpy on the memory of the tensors.

For batches of 16 and layers of 128 a call costs as much as its arithmetic, and a call of numpy costs a third
of one of torch. Measured on an ARM core, for one model: forward 42 us instead of 70, backward 70 instead
of 180.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graylearn.array_types import Singles
from graylearn.training.mlp_passes import Part, Pass, TorchPasses, Who

_quiet = np.errstate(all="ignore")  # as torch: an overflow shows in the loss, which the loop looks at


class NumpyPasses(TorchPasses):
    """As TorchPasses, but `hidden` are arrays.

    With `as_torch` the way there is torch's and sums are in its order: where weights lie in memory as
    nn.Linear has them, the numbers are those of autograd through nn.Linear. With `by_bytes` one random byte
    says whether a unit is dropped, at rates of so many 256ths, in a seventh of the time: of six networks in
    batches of 128, masks took a fifth of a step.
    """

    def __init__(
        self,
        parts: Mapping[Who, Sequence[Part]],
        generator: torch.Generator | None = None,
        *,
        as_torch: bool = False,
        by_bytes: bool = False,
    ) -> None:
        super().__init__(parts, generator)
        self.as_torch, self.by_bytes = as_torch, by_bytes
        self.arrays = {
            who: [(weight.numpy(), bias.numpy(), slope.numpy()) for (weight, bias), (slope, _), _ in layers]
            for who, layers in parts.items()
        }

    @_quiet
    def forward(self, inputs: Tensor, who: Who) -> list[Any]:
        """What each layer reads and, last, the logits."""
        if self.as_torch:
            return self._forward_as_torch(inputs, who)
        hidden: list[Singles] = [inputs.numpy()]
        multiply: Any = np.matmul if inputs.ndim == 3 else np.dot
        for (weight, bias, _), (_, _, layer) in zip(self.arrays[who], self.parts[who], strict=True):
            read = multiply(hidden[-1], weight)
            read += bias
            if layer.relu:
                np.maximum(read, 0, out=read)
            if layer.dropout:
                read *= self._mask(read.shape, layer.dropout)
            hidden.append(read)
        return hidden

    def _mask(self, shape: tuple[int, ...], rate: float) -> Singles:
        """0 for what is dropped, and what the rest is multiplied by."""
        if self.by_bytes:
            words = torch.empty(-(-math.prod(shape) // 8), dtype=torch.int64)
            drawn = words.random_(-(2**63), None, generator=self.generator).numpy().view(np.uint8)
            kept = drawn[: math.prod(shape)].reshape(shape) < round(256 * (1 - rate))
            return np.multiply(kept, np.float32(1 / (1 - rate)))
        # drawn as nn.Dropout draws it, so that one seed decides all
        mask = torch.empty(shape).bernoulli_(1 - rate, generator=self.generator)
        return mask.div_(1 - rate).numpy()

    def _forward_as_torch(self, inputs: Tensor, who: Who) -> list[Any]:
        if inputs.ndim == 2:
            return [read.numpy() for read in super().forward(inputs, who)]
        # one by one: torch's batched product rounds some shapes otherwise than its product of two matrices
        each = [super(NumpyPasses, self).forward(own, model) for model, own in enumerate(inputs)]
        return [torch.stack(read).numpy() for read in zip(*each, strict=True)]

    @_quiet
    def backward(self, done: Pass) -> None:
        """Fill the gradients from the slopes of the logits and, where they were read, of the features."""
        parts, arrays, hidden = self.parts[done.who], self.arrays[done.who], done.hidden
        rows: Singles = done.slopes[0].numpy().reshape(hidden[-1].shape)
        stacked = rows.ndim == 3
        sums_as_torch = self.as_torch or done.who != "all"
        for index in range(len(parts) - 1, -1, -1):
            weight, _, weight_gradient = arrays[index]
            bias_gradient = parts[index][1][1]
            np.matmul(hidden[index].swapaxes(-1, -2), rows, out=weight_gradient)
            if sums_as_torch:
                torch.sum(torch.from_numpy(rows), -2, keepdim=stacked, out=bias_gradient)
            else:
                np.add.reduce(rows, axis=-2, keepdims=stacked, out=bias_gradient.numpy())
            if index == 0:
                break
            rows = np.matmul(rows, weight.swapaxes(-1, -2))
            if len(done.slopes) == 2 and index == len(parts) - 1:
                rows += done.slopes[1].numpy().reshape(rows.shape)
            rows *= hidden[index] > 0  # it is 0 where ReLU or dropout closed a unit
            dropout = parts[index - 1][2].dropout
            if dropout:
                rows *= np.float32(1 / (1 - dropout))

    def stack(self, read: Sequence[Any]) -> Any:
        """(models, N, D) of what a layer read of each model."""
        return np.stack(read)
