"""Hugging Face Trainer: the Gray loss as `compute_loss_func`, and a callback that records and audits.

gray = AuditCallback(id="id")                                   # the column that numbers the samples
Trainer(..., args=TrainingArguments(..., remove_unused_columns=False),
        compute_loss_func=gray.loss, callbacks=[gray]).train()
gray.audit.table
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from graylearn.audit import Audit
from graylearn.data.atomic import replacing
from graylearn.errors import DataError
from graylearn.lazy import require
from graylearn.losses import gray_loss
from graylearn.training.recorder import Recorder, warn_of_what_went_before

LossFunction = Callable[..., Tensor]
"""(outputs, labels, num_items_in_batch=...) -> the loss, as Trainer's `compute_loss_func`."""


def gray_loss_func(
    outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None, **options: Any
) -> Tensor:
    """The Gray loss of a batch, as Trainer's `compute_loss_func`; options are those of `gray_loss`.

    Where gradients are accumulated Trainer adds up what this gives for each part, and hands over how many
    labels all parts have together: dividing by that makes the sum the mean over all of them.
    """
    logits = _logits(outputs)
    flat, target = logits.flatten(0, -2), labels.flatten()
    if num_items_in_batch is None:
        return gray_loss(flat, target, **options)
    return gray_loss(flat, target, reduction="sum", **options) / num_items_in_batch


class AuditCallback(require("transformers", "hooks").TrainerCallback):  # type: ignore[misc]
    """Records what the model says of every training sample, and audits them when training ends.

    Args:
        id: the column of the training set that numbers its samples; set `remove_unused_columns=False` in
            TrainingArguments, so that it stays, and remove columns of text yourself, of which no collator
            makes tensors. The model does not get to see it.
        loss_func: what `loss` computes; leave `compute_loss_func` out to train by the model's own loss.
        options: of `Audit.from_history`, such as `features`, `classes` or `overlap`.
    """

    def __init__(self, id: str = "id", loss_func: LossFunction = gray_loss_func, **options: Any) -> None:
        self.id = id
        self.loss_func = loss_func
        self.options = options
        self.recorder = Recorder()
        self.audit: Audit | None = None
        """The audit, once training has ended; only in the main process, where there are several."""
        self._hooks: list[Any] = []
        self._ids: Tensor | None = None
        self._pending: tuple[Tensor, Tensor] | None = None

    def loss(self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        """What to give to Trainer as `compute_loss_func`: it has the labels, which the model then has not."""
        if self._pending is not None:
            self.recorder.record(*self._pending, labels)
            self._pending = None
        return self.loss_func(outputs, labels, num_items_in_batch=num_items_in_batch)

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: nn.Module, **rest: Any) -> None:
        """Listen at the model."""
        self._go_on(_record(args, state), state)
        self._stop_listening()
        self._hooks = [
            model.register_forward_pre_hook(self._before, with_kwargs=True),
            model.register_forward_hook(self._after, with_kwargs=True),
        ]

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Lay the record into the checkpoint, so that a resumed run is audited from its first epoch on."""
        if args.should_save:
            with replacing(_record(args, state)) as partial:
                torch.save(self.recorder.state_dict(), partial)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Close the epoch, in all processes."""
        self.recorder.end_epoch()

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Audit, unless training had ended before."""
        self._stop_listening()
        if state.is_world_process_zero and self.recorder.finished_epochs:
            self.audit = Audit.from_history(self.recorder.history, **self.options)

    def _go_on(self, record: Path, state: Any) -> None:
        """Of a run that goes on from a checkpoint: take up its record, or say what is missing."""
        if state.global_step == 0 or not record.exists():
            warn_of_what_went_before(state.global_step)
            return
        saved = torch.load(record, weights_only=True)
        self.recorder.load_state_dict(saved)
        if saved["running"] and state.epoch % 1 == 0:  # saved after the last step of an epoch, before its end
            self.recorder.end_epoch()

    def _stop_listening(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._ids, self._pending = [], None, None

    def _before(self, model: nn.Module, args: Any, inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Take the ids out of what the model gets."""
        if self._pending is not None:
            raise DataError(
                "Trainer keeps the labels from the model, as it does with label_smoothing_factor, and nobody "
                "else has them: train with compute_loss_func=callback.loss"
            )
        self._ids = inputs.pop(self.id, None)
        if self._ids is None and model.training:
            raise DataError(
                f"a training batch has no {self.id!r}, only {', '.join(inputs)}: number the training set "
                "in a column of that name (Trainer's own collator drops texts) and set "
                "remove_unused_columns=False in TrainingArguments, or name the column with id="
            )
        return args, inputs

    def _after(self, model: nn.Module, args: Any, inputs: dict[str, Any], outputs: Any) -> None:
        if self._ids is None or not model.training:
            return
        logits = _logits(outputs)
        if "labels" in inputs:
            self.recorder.record(self._ids, logits, inputs["labels"])
        else:  # Trainer keeps them for the loss
            self._pending = (self._ids, logits)


def _record(args: Any, state: Any) -> Path:
    """Where a checkpoint of Trainer keeps what was recorded."""
    return Path(args.output_dir, f"checkpoint-{state.global_step}", "graylearn_record.pt")


def _logits(outputs: Any) -> Tensor:
    """Of a ModelOutput or a dict by name, else what comes first."""
    found: Tensor = outputs["logits"] if isinstance(outputs, dict) else outputs[0]
    return found
