"""What the methods share that teach a network what belongs to no class: where such inputs come from."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graylearn.errors import SettingsError
from graylearn.methods.base import Step
from graylearn.methods.blend import blendable


def outside_inputs(outliers: Any, step: Step, generator: torch.Generator, method: str) -> Tensor:
    """As many inputs of no class as the batch has samples: drawn from `outliers` (M, ...), or without any
    the batch itself with the values of every column, or pixel, dealt anew among its samples.
    """
    inputs = blendable(step.inputs, method)
    if outliers is None:
        flat = inputs.flatten(1)
        order = torch.rand(flat.shape, generator=generator, device=flat.device).argsort(dim=0)
        return flat.gather(0, order).view_as(inputs).to(step.inputs.dtype)
    known = torch.as_tensor(outliers)
    if known.shape[1:] != inputs.shape[1:] or not len(known):
        raise SettingsError(
            f"{method}: outliers have shape {tuple(known.shape)}, but must be samples as the network reads "
            f"them, (M, {', '.join(map(str, inputs.shape[1:]))})"
        )
    rows = torch.randint(len(known), (len(inputs),), generator=generator, device=inputs.device)
    return known[rows.to(known.device)].to(inputs.device, step.inputs.dtype)


def uniform_loss(logits: Tensor) -> Tensor:
    """(N,) cross entropy to the uniform distribution, -1/K sum_k log Q_k."""
    return logits.logsumexp(dim=1) - logits.mean(dim=1)
