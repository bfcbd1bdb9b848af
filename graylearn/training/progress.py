"""What is told of a training: a bar or lines, and the mean loss and accuracy of an epoch."""

from __future__ import annotations

import sys
from typing import Any, Self

import torch
from torch import Tensor

from graylearn.data.batches import Batch
from graylearn.methods.base import Output
from graylearn.options import Log
from graylearn.progress import Bar, settled
from graylearn.training.history import History
from graylearn.training.mlp import AnyLearner

Row = dict[str, Any]
"""What the log holds of an epoch."""


class Reporter:
    """Shows a run: a bar over its steps, with the numbers of the epoch so far, or a line per epoch."""

    def __init__(self, log: Log, epochs: int, steps: int) -> None:
        self.log, self.epochs, self.total = settled(log), epochs, epochs * steps
        self.bar = Bar("training", self.total, shows=self.log == "bar")
        self.epoch, self.done, self.numbers = 0, 0, ""

    def __enter__(self) -> Self:
        self.bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.__exit__()

    def step(self, epoch: int, done: int) -> None:
        """`done` steps of the whole run are done."""
        self.epoch, self.done = epoch, done
        if self.log == "bar":
            more = f", epoch {self.epoch + 1}/{self.epochs}{self.numbers}"
            self.bar.show("", self.done, self.total, more)

    def seen(self, loss: float, accuracy: float) -> None:
        """Loss and accuracy of the epoch so far."""
        self.numbers = f"  loss {loss:.4f}  accuracy {accuracy:.4f}"
        self.step(self.epoch, self.done)

    def row(self, row: Row) -> None:
        """An epoch is over."""
        self.seen(row["loss"], row["accuracy"])
        if self.log == "lines":
            validation = row.get("validation_accuracy")
            numbers = self.numbers + ("" if validation is None else f"  validation {validation:.4f}")
            self.note(f"epoch {row['epoch'] + 1}/{self.epochs}{numbers}  {row['seconds']:.1f} s")

    def note(self, text: str) -> None:
        """Tell the user something, above the bar where there is one."""
        if self.log == "lines" or (self.log == "bar" and self.bar.console is None):
            print(text, file=sys.stderr, flush=True)
        elif self.log == "bar":
            self.bar.console.print(text, highlight=False, markup=False)


_FLUSH_ROWS = 1 << 16
_FLUSH_VALUES = 1 << 23


class Meter:
    """Collects one epoch."""

    def __init__(self, history: History, learner: AnyLearner, weights: Tensor | None) -> None:
        self.history = history
        self.learner = learner
        self.models = learner.models
        self.weights = weights
        self.limit = min(_FLUSH_ROWS, max(1, _FLUSH_VALUES // history.num_classes))
        self.start(0)

    def start(self, epoch: int) -> None:
        """Begin `epoch`."""
        device = self.history.targets.device
        self.epoch, self.step = epoch, 0
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
