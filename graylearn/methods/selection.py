"""Losses of a part of the batch, scaled so that the mean over the batch is the mean over that part."""

from __future__ import annotations

import torch
from torch import Tensor


def mean_over(loss: Tensor, selected: Tensor) -> Tensor:
    """Zero where not `selected`, the rest scaled up; nothing selected gives zeros that still have a graph.

    `loss` and `selected` are (..., N); the count is taken over the last axis, without reading it back
    from the device.
    """
    count = selected.sum(-1, keepdim=True, dtype=loss.dtype).clamp(min=1)
    return torch.where(selected, loss, 0.0) * (loss.shape[-1] / count)
