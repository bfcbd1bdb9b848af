"""What the methods that blend inputs share."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graylearn.errors import SettingsError

_SMALL = 1 << 16
"""Most values of inputs whose shuffles are gathered all at once."""


def blendable(inputs: Tensor, method: str) -> Tensor:
    """The inputs in at least float32, or a sentence where a mean of inputs would mean nothing."""
    if not isinstance(inputs, Tensor):
        raise SettingsError(
            f"{method} blends inputs of one tensor, but the network reads several: choose another method"
        )
    if not inputs.is_floating_point():
        raise SettingsError(
            f"{method} blends inputs, so it needs floating point ones, but these are {inputs.dtype}: "
            "give it embeddings or normalised images, or choose another method"
        )
    return inputs.to(torch.promote_types(inputs.dtype, torch.float32))


def sum_with_shuffles(inputs: Tensor, others: Tensor) -> Tensor:
    """inputs + inputs[others[0]] + inputs[others[1]] + ..., added in this order; others is (shuffles, N)."""
    if inputs.device.type == "cpu" and inputs.numel() <= _SMALL and not inputs.requires_grad:
        # 19 shuffles of 16 x 8 on an ARM core: 26 us instead of 250, and the same bits
        rows = inputs.numpy()
        taken = rows[others.numpy()]
        taken[0] += rows
        return torch.from_numpy(np.add.reduce(taken, axis=0))
    total = inputs
    for other in others:
        total = total + inputs[other]
    return total
