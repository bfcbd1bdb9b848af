"""Recorder: the history of a training loop of your own, from the ids, logits and labels of each batch.

Where several processes train together (torch.distributed), each records what it sees, and the end of an epoch
brings it together: all of them then have the same history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.errors import DataError, warn
from graylearn.training.history import (
    DEFAULT_BUDGET,
    History,
    bytes_an_epoch,
    class_dtype,
    confidences,
    note_probabilities,
)

_COLUMNS = ("label", "max", "predicted")


def warn_of_what_went_before(steps: int) -> None:
    """Warn that a resumed run is audited only from its checkpoint on."""
    if steps:
        warn(
            f"training goes on after step {steps}, and what the network said until then is not recorded: the "
            "audit will be of the samples and epochs from here on",
            UserWarning,
        )


class Recorder:
    """Takes ids, logits and labels of every batch, in any order, and gives a `History`.

    Args:
        ignore_index: labels of this value are not recorded.
        budget: bytes that the kept epochs may take, as in `History`.

    ```python
    import torch

    import graylearn as gl

    network, recorder = torch.nn.Linear(4, 3), gl.Recorder()
    ids, x, labels = torch.arange(60), torch.randn(60, 4), torch.arange(60) % 3
    for epoch in range(3):
        recorder.record(ids, network(x), labels)            # and the step of your loop
        recorder.end_epoch()
    found = gl.Audit.from_history(recorder.history)
    ```
    """

    def __init__(self, *, ignore_index: int = -100, budget: int = DEFAULT_BUDGET) -> None:
        self.ignore_index = ignore_index
        self.budget = budget
        self.num_classes = 0
        """How many logits a sample has; 0 before the first batch."""
        self._batches: list[tuple[Any, Tensor, Tensor, Tensor, Tensor]] = []
        self._resumed = pd.DataFrame()  # of this epoch, from before a checkpoint
        self._targets: pd.Series[Any] = pd.Series([], dtype=np.int64)  # by id, in the order first seen
        self._epochs: list[
            list[Tensor]
        ] = []  # complete ones that are kept: places in this order, and columns
        self.finished_epochs = 0
        """Epochs that are complete."""

    def record(self, ids: Any, logits: Any, labels: Any) -> None:
        """Take a batch: N ids, logits (N, K) and labels (N,), class numbers; tensors or arrays.

        Ids are whole numbers or texts; a sample has the same in every epoch. Nothing waits for the device
        after the first batch.
        """
        logits, labels = torch.as_tensor(logits), torch.as_tensor(labels)
        if logits.ndim != 2 or labels.shape != logits.shape[:1] or len(ids) != len(labels):
            raise DataError(
                f"logits have shape {tuple(logits.shape)}, labels {tuple(labels.shape)}, and there are "
                f"{len(ids)} ids: expected (N, K), (N,) and N"
            )
        if labels.is_floating_point() or labels.dtype == torch.bool or logits.shape[1] < 2:
            raise DataError(
                f"labels are {labels.dtype} and a sample has {logits.shape[1]} logits: expected class "
                "numbers 0..K-1, and one logit per class, also with two classes"
            )
        if self.num_classes not in (0, logits.shape[1]):
            raise DataError(
                f"logits have {logits.shape[1]} classes, those before had {self.num_classes}: "
                "use a recorder for each network"
            )
        if not self.num_classes:
            note_probabilities(logits)
        self.num_classes = logits.shape[1]
        labels = labels.detach().to(logits.device, torch.int64)
        # invalid labels are refused when the epoch ends, so that the device need not stop now
        said = confidences(logits.detach(), labels.clamp(0, self.num_classes - 1))
        self._batches.append((ids.detach() if isinstance(ids, Tensor) else ids, labels, *said))

    def end_epoch(self) -> None:
        """Close the epoch. If several processes train together all must call it."""
        everyone = _gathered((self.num_classes, self._seen()))
        self._batches, self._resumed = [], pd.DataFrame()
        self.num_classes = max(num_classes for num_classes, _ in everyone)
        parts = [seen for _, seen in everyone if len(seen)]
        if not parts:
            raise DataError(
                "no batch was recorded in this epoch: call record(ids, logits, labels) in every step"
            )
        seen = pd.concat(parts)
        self._check(seen)
        seen = seen.drop_duplicates("id", keep="last")
        new = seen[~seen["id"].isin(self._targets.index)]
        if len(new):
            targets = pd.Series(new["target"].to_numpy(), index=new["id"].to_numpy())
            self._targets = pd.concat([self._targets, targets]) if len(self._targets) else targets
        place = self._targets.index.get_indexer(seen["id"]).astype(np.int32)
        columns = [seen[name].to_numpy() for name in _COLUMNS]
        self._epochs.append([torch.tensor(each) for each in (place, *columns)])
        room = self.budget // bytes_an_epoch(len(self._targets), self.num_classes)
        self._epochs = self._epochs[-max(1, room) :]
        self.finished_epochs += 1

    @property
    def history(self) -> History:
        """What was recorded in complete epochs, on the CPU.

        Samples are sorted by id: `Audit.from_history` takes features
        in that order, or in any with `ids=`.
        """
        if not self.finished_epochs:
            raise DataError(
                "nothing was recorded in a complete epoch: call record(ids, logits, labels) in every step, "
                "and end_epoch() after the last step of each epoch"
            )
        order = np.asarray(self._targets.index.argsort())
        place_of = torch.from_numpy(order.argsort())
        targets, ids = torch.tensor(self._targets.to_numpy()[order]), self._targets.index.to_numpy()[order]
        found = History(targets, self.num_classes, self.finished_epochs, ids=ids, budget=self.budget)
        for epoch, (place, *columns) in enumerate(self._epochs, self.finished_epochs - len(self._epochs)):
            found.start_epoch(epoch)
            found.put(epoch, place_of[place.long()], *columns)
            found.end_epoch(epoch)
        unknown = int((found.count == 0).sum())
        if unknown:
            raise DataError(
                f"the logits of {unknown} samples are NaN in every epoch kept: training has diverged, try a "
                "smaller learning rate"
            )
        return found

    def state_dict(self) -> dict[str, Any]:
        """Everything recorded, as tensors, numbers and texts, for the checkpoint of your own loop.

        Of several processes, each has its own part of an epoch that is not complete.
        """
        seen = self._seen()
        return {
            "ids": _as_plain(self._targets.index.to_numpy()),
            "targets": torch.tensor(self._targets.to_numpy()),
            "num_classes": self.num_classes,
            "epochs": list(self._epochs),
            "finished_epochs": self.finished_epochs,
            "running": {name: _as_plain(seen[name].to_numpy()) for name in seen},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave; what was recorded here before is dropped.

        An incomplete epoch may be continued or repeated: the last record of a sample counts.
        """
        self._targets = pd.Series(state["targets"].numpy().copy(), index=_as_array(state["ids"]))
        self.num_classes, self.finished_epochs = state["num_classes"], state["finished_epochs"]
        self._batches, self._epochs = [], list(state["epochs"])
        self._resumed = pd.DataFrame({name: _as_array(each) for name, each in state["running"].items()})

    def _seen(self) -> pd.DataFrame:
        """This epoch so far without ignored labels: ids, targets and confidences."""
        if not self._batches:
            return self._resumed
        ids, *columns = zip(*self._batches, strict=True)
        target, label, largest, predicted = (torch.cat(column).cpu() for column in columns)
        values = (_joined(ids), target, label, largest, predicted.to(class_dtype(self.num_classes)))
        seen = pd.DataFrame(dict(zip(("id", "target", *_COLUMNS), map(np.asarray, values), strict=True)))
        seen = seen[seen["target"] != self.ignore_index]
        return pd.concat([self._resumed, seen]) if len(self._resumed) else seen

    def _check(self, seen: pd.DataFrame) -> None:
        """Refuse labels that are no classes, and a sample whose label changes: its id names two samples."""
        together = [*seen["id"].unique(), *self._targets.index[:1]]
        if pd.api.types.infer_dtype(together) not in ("integer", "string"):
            raise DataError("some ids are whole numbers and some are not: give numbers alone, or texts alone")
        low, high = seen["target"].min(), seen["target"].max()
        if low < 0 or high >= self.num_classes:
            raise DataError(
                f"there are labels {low} to {high} but logits have {self.num_classes} classes "
                f"(0..{self.num_classes - 1}): give class numbers, or name the one to skip with ignore_index="
            )
        pairs = seen[["id", "target"]].drop_duplicates()
        before = self._targets.reindex(pairs["id"]).to_numpy()
        other = pairs["id"].duplicated(keep=False) | (~np.isnan(before) & (before != pairs["target"]))
        if other.any():
            name, target = pairs[other].iloc[0]
            raise DataError(
                f"sample {name} has label {target}, and "
                "elsewhere another one: ids must name the samples of the whole training set, not of a batch, "
                "and labels must stay as they are"
            )


def _as_plain(values: NDArray[Any]) -> Tensor | list[str]:
    """What a checkpoint keeps of an array: a tensor, or texts."""
    return [str(value) for value in values] if values.dtype == object else torch.tensor(values)


def _as_array(values: Tensor | list[str]) -> NDArray[Any]:
    return values.numpy().copy() if isinstance(values, Tensor) else np.array(values, dtype=object)


def _joined(parts: Sequence[Any]) -> NDArray[Any]:
    """The ids of many batches as one array: of whole numbers, or of texts as objects."""
    arrays = [part.cpu().numpy() if isinstance(part, Tensor) else np.asarray(part) for part in parts]
    kinds = {array.dtype.kind for array in arrays}
    if any(array.ndim != 1 for array in arrays) or not (kinds <= set("iu") or kinds <= set("UO")):
        raise DataError(
            f"ids are of type {arrays[0].dtype} and shape {arrays[0].shape}: expected a whole number or a "
            "text for each sample, in all batches alike"
        )
    if kinds <= set("UO"):
        return np.concatenate(arrays).astype(object)
    if any(array.dtype == np.uint64 and (array >> 63).any() for array in arrays):
        raise DataError("some ids are larger than 64 bits with a sign can hold: give them as texts")
    return np.concatenate([array.astype(np.int64) for array in arrays])


def _gathered(seen: Any) -> list[Any]:
    """What all processes have, in the order of their ranks; of one process that alone."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return [seen]
    everyone: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everyone, seen)
    return everyone
