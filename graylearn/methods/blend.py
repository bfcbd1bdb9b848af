"""What the methods that blend inputs share."""

from __future__ import annotations

import torch
from torch import Tensor

from graylearn.errors import SettingsError


def blendable(inputs: Tensor, method: str) -> Tensor:
    """The inputs in at least float32, or a sentence where a mean of inputs would mean nothing."""
    if not inputs.is_floating_point():
        raise SettingsError(
            f"{method} blends inputs, so it needs floating point ones, but these are {inputs.dtype}: "
            "give it embeddings or normalised images, or choose another method"
        )
    return inputs.to(torch.promote_types(inputs.dtype, torch.float32))
