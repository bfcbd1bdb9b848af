"""Mean loss and accuracy of an epoch, and its logits into the history, without waiting for the device.

Logits and losses are collected over many steps and processed at once; only `flush` and `read` wait.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graylearn.data.batches.base import Batch
from graylearn.methods.base import Output
from graylearn.training.history import History
from graylearn.training.learner import Learner

_FLUSH_ROWS = 1 << 16
_FLUSH_VALUES = 1 << 23


class Meter:
    """Collects one epoch."""

    def __init__(self, history: History, learner: Learner, weights: Tensor | None) -> None:
        self.history = history
        self.learner = learner
        self.models = learner.models
        self.weights = weights
        self.limit = min(_FLUSH_ROWS, max(1, _FLUSH_VALUES // history.num_classes))
        self.start(0, 0)

    def start(self, epoch: int, step: int) -> None:
        """Begin `epoch`, at `step`."""
        device = self.history.targets.device
        self.epoch, self.step = epoch, step
        self.sums = torch.zeros(3, self.models, device=device)  # loss, correct, count
        self.logits: list[Tensor] = []
        self.losses: list[Tensor] = []
        self.asked: list[tuple[Tensor, Tensor]] = []  # index and target; inputs may be large
        self.rows = 0
        self.bad_step: int | None = None

    def add(self, batch: Batch, output: Output, losses: Tensor) -> bool:
        """Collect a step; True if it is time to flush."""
        logits = output.logits.detach()
        if logits.dim() == 3:
            logits = logits[0]  # of two networks, the one the user gets
        self.logits.append(logits if self.learner.keeps_outputs else logits.clone())
        self.losses.append(losses.detach())
        self.asked.append((batch.index, batch.target))
        self.rows += batch.target.shape[0]
        return self.rows >= self.limit

    def flush(self) -> None:
        """Process the collected steps; waits once, to see if losses are finite."""
        if not self.asked:
            return
        index, target = (torch.cat(each) for each in zip(*self.asked, strict=True))
        losses = torch.cat(self.losses)
        right = self.history.record(self.epoch, index, target, torch.cat(self.logits))
        if self.weights is not None:
            losses = losses * self.weights.index_select(0, index)
        values = torch.stack([losses.float(), right.float(), torch.ones_like(losses, dtype=torch.float32)])
        if self.models == 1:
            self.sums += values.sum(1, keepdim=True)
        else:
            model = index // (self.history.num_samples // self.models)
            self.sums.index_add_(1, model, values)
        if not bool(torch.isfinite(losses).all()):
            finite = [bool(torch.isfinite(part).all()) for part in self.losses]
            self.bad_step = self.step + finite.index(False) if False in finite else self.step
        self.step += len(self.asked)
        self.logits, self.losses, self.asked, self.rows = [], [], [], 0

    def read(self) -> tuple[list[float], list[float]]:
        """Mean loss and accuracy of each model so far."""
        loss, right, count = self.sums.cpu().double().tolist()
        return (
            [total / max(n, 1) for total, n in zip(loss, count, strict=True)],
            [total / max(n, 1) for total, n in zip(right, count, strict=True)],
        )

    def state(self) -> dict[str, Any]:
        """What a checkpoint within an epoch keeps, after a flush."""
        return {"sums": self.sums, "step": self.step}

    def load_state(self, saved: dict[str, Any]) -> None:
        """Take what `state` gave."""
        self.sums.copy_(saved["sums"])
        self.step = int(saved["step"])
