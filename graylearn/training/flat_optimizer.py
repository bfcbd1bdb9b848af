"""SGD, Adam and AdamW on one flat row of parameters per model: one call per step, for one model or many.

The arithmetic is torch's own fused kernels, those behind torch.optim's fused=True, without the bookkeeping
around them, which costs a small network more than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graylearn.torch_internals import fused_adam, fused_adamw, fused_sgd
from graylearn.training.optimizers import OptimizerSettings


class FlatOptimizer:
    """Updates `parameters` (models, size) in place from `gradients` of the same shape."""

    def __init__(self, settings: OptimizerSettings, parameters: Tensor, gradients: Tensor) -> None:
        self.settings = settings
        self.parameters, self.gradients = parameters, gradients
        self.first = torch.zeros_like(parameters)
        """Momentum, or the first moment."""
        self.second = torch.zeros_like(parameters) if settings.name != "sgd" else parameters.new_zeros(0)
        # Steps taken, which the kernels read from a tensor: on the CPU one that numpy can write to, since
        # adding to a tensor takes as long as a small matrix product.
        self.counter = np.zeros((), dtype=np.float32) if parameters.device.type == "cpu" else None
        self.count = (
            torch.zeros((), dtype=torch.float32, device=parameters.device)
            if self.counter is None
            else torch.from_numpy(self.counter)
        )
        self.taken = 0
        self.rates: Sequence[float] = [settings.learning_rate] * len(parameters)

    def step(self) -> None:
        """One update, at the rates set."""
        self.taken += 1
        if self.counter is None:
            self.count += 1
        else:
            self.counter[()] = self.taken
        rates = self.rates
        if len(rates) == 1 or all(rate == rates[0] for rate in rates):
            self._update(rates[0], self.parameters, self.gradients, self.first, self.second)
            return
        for model, rate in enumerate(rates):
            second = self.second[model] if len(self.second) else self.second
            self._update(rate, self.parameters[model], self.gradients[model], self.first[model], second)

    def _update(
        self, rate: float, parameter: Tensor, gradient: Tensor, first: Tensor, second: Tensor
    ) -> None:
        settings = self.settings
        if settings.name == "sgd":
            fused_sgd(
                [parameter],
                [gradient],
                [first] if settings.momentum else [],
                weight_decay=settings.weight_decay,
                momentum=settings.momentum,
                lr=rate,
                dampening=0.0,
                nesterov=settings.nesterov,
                maximize=False,
                is_first_step=self.taken == 1,
            )
            return
        fused = fused_adam if settings.name == "adam" else fused_adamw
        fused(
            [parameter],
            [gradient],
            [first],
            [second],
            [],
            [self.count],
            lr=rate,
            beta1=settings.betas[0],
            beta2=settings.betas[1],
            weight_decay=settings.weight_decay,
            eps=settings.eps,
            amsgrad=False,
            maximize=False,
        )

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"first": self.first, "second": self.second, "taken": self.taken}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.first.copy_(saved["first"])
        self.second.copy_(saved["second"])
        self.taken = int(saved["taken"])
        self.count.fill_(float(self.taken))
