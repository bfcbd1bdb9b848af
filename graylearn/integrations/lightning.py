"""Lightning: a callback that records what a LightningModule says of its training samples, and audits them.

def training_step(self, batch, batch_idx):
    ...
    return {"loss": loss, "ids": ids, "logits": logits, "labels": labels}

gray = AuditCallback()
Trainer(..., callbacks=[gray]).fit(...)
gray.audit.table
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graylearn.audit import Audit
from graylearn.errors import DataError
from graylearn.lazy import require
from graylearn.training.recorder import Recorder, warn_of_what_went_before

_NEEDED = ("ids", "logits", "labels")
_KEPT = "graylearn_record"
"""What the record is called in a checkpoint."""


class AuditCallback(require("lightning.pytorch", "hooks").Callback):  # type: ignore[misc]
    """Records every training batch, and audits the training set when the fit ends.

    Args:
        options: of `Audit.from_history`, such as `features`, `classes` or `overlap`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
        self.recorder = Recorder()
        self.audit: Audit | None = None
        """The audit, once the fit has ended; only in the main process, where there are several."""
        self._epoch: int | None = None
        """The epoch that is recorded and not closed."""

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Keep the record, so that a resumed run is audited from its first epoch on."""
        checkpoint[_KEPT] = {"recorder": self.recorder.state_dict(), "epoch": self._epoch}

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Take the record up to go on training; a test from a checkpoint leaves ours as it is."""
        if trainer.state.fn == "fit" and _KEPT in checkpoint:
            self.recorder.load_state_dict(checkpoint[_KEPT]["recorder"])
            self._epoch = checkpoint[_KEPT]["epoch"]

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Of a run that goes on: close an epoch that was complete but for its end, or say what is missing."""
        if self._epoch is None and not self.recorder.finished_epochs:
            warn_of_what_went_before(trainer.global_step)
        elif self._epoch not in (None, trainer.current_epoch):  # saved after the last batch of an epoch
            self.recorder.end_epoch()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Record what `training_step` returned beside the loss."""
        missing = [name for name in _NEEDED if not isinstance(outputs, Mapping) or name not in outputs]
        if missing:
            raise DataError(
                f"training_step returned no {', '.join(missing)}: return a dict of loss, ids (what each "
                "sample is called, the same in every epoch), logits and labels"
            )
        self.recorder.record(*(outputs[name] for name in _NEEDED))
        self._epoch = trainer.current_epoch

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Close the epoch, in all processes."""
        self.recorder.end_epoch()
        self._epoch = None

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Audit, unless training had ended before."""
        if trainer.is_global_zero and self.recorder.finished_epochs:
            self.audit = Audit.from_history(self.recorder.history, **self.options)
