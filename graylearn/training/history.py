"""History: the confidence of the network in each training sample in each epoch, from the training passes.

Three compact arrays of shape (epochs, num_samples) live on the device: the probability of the given
label, the largest probability (both float16) and the predicted class (the smallest integer that holds it).
If all epochs do not fit the memory budget, the latest are kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.data.atomic import OWN, read_arrays
from graylearn.data.written import writing
from graylearn.errors import CheckpointError, DataError, warn
from graylearn.notebook import lines, shown

DEFAULT_BUDGET = 1 << 30
"""Bytes the kept epochs may take: 200 epochs of a million samples with up to 256 classes."""

_STATE = ("label", "max", "predicted", "finished_epochs")
_SAVED = ("ids", "is_numbered", "targets", "num_classes", "epochs", *_STATE)


@torch.no_grad()
def confidences(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N,) each, of logits (N, K): the label's probability, the largest one (float16), and whose that is."""
    probability = torch.softmax(logits.float(), dim=1)
    largest, predicted = probability.max(dim=1)
    return probability.gather(1, target[:, None]).squeeze(1).half(), largest.half(), predicted


def note_probabilities(logits: Tensor) -> None:
    """Warn if what should be logits (N, K) are probabilities; it waits for the device."""
    rows = logits.detach().float()
    if len(rows) and bool((rows >= 0).all() & ((rows.sum(dim=1) - 1).abs() <= 0.02).all()):
        warn(
            "what should be logits are probabilities, of sum one: give what the network says before its "
            "softmax, or learning is slow and no sample stands out",
            UserWarning,
        )


def class_dtype(num_classes: int) -> torch.dtype:
    """The smallest type that holds class numbers below `num_classes`."""
    if num_classes <= 1 << 8:
        return torch.uint8
    return torch.int16 if num_classes <= 1 << 15 else torch.int32


def bytes_an_epoch(num_samples: int, num_classes: int) -> int:
    """Memory that one kept epoch takes."""
    return num_samples * (2 * 2 + torch.empty(0, dtype=class_dtype(num_classes)).element_size())


class History:
    """Confidence by sample and epoch. A sample that an epoch did not see has NaN there.

    `label_confidence`, `max_confidence` and `predicted` are numpy arrays (kept epochs, num_samples);
    `kept_epochs` says which epochs their rows are, and over these run all means.
    """

    def __init__(
        self,
        targets: Tensor,
        num_classes: int,
        epochs: int,
        *,
        ids: NDArray[Any] | None = None,
        budget: int = DEFAULT_BUDGET,
    ) -> None:
        device, num_samples = targets.device, len(targets)
        if ids is not None and len(ids) != num_samples:
            raise DataError(f"{len(ids)} ids were given for {num_samples} samples: give one each")
        self.targets = targets
        self.num_classes = num_classes
        self.epochs = epochs
        self.ids = np.arange(num_samples) if ids is None else np.asarray(ids)
        self.is_numbered = ids is None
        """Whether the ids are row numbers, because none were given."""
        classes = class_dtype(num_classes)
        kept = max(1, min(epochs, budget // max(1, bytes_an_epoch(num_samples, num_classes))))
        self._label = torch.full((kept, num_samples), torch.nan, dtype=torch.float16, device=device)
        self._max = torch.full_like(self._label, torch.nan)
        self._predicted = torch.zeros((kept, num_samples), dtype=classes, device=device)
        self.finished_epochs = 0
        """Epochs that are complete."""

    @property
    def num_samples(self) -> int:
        """How many samples are followed."""
        return len(self.targets)

    # -- filled by the engine -------------------------------------------------------------------

    def start_epoch(self, epoch: int) -> None:
        """Begin `epoch`: its row starts as not seen."""
        row = epoch % len(self._label)
        self._label[row].fill_(torch.nan)
        self._max[row].fill_(torch.nan)

    def record(self, epoch: int, index: Tensor, target: Tensor, logits: Tensor) -> Tensor:
        """Record the logits (N, K) of the samples `index`; returns which were predicted as labelled, (N,).

        Nothing here waits for the device.
        """
        label, largest, predicted = confidences(logits, target)
        self.put(epoch, index, label, largest, predicted)
        return predicted == target

    def put(self, epoch: int, index: Tensor, label: Tensor, largest: Tensor, predicted: Tensor) -> None:
        """Take what `confidences` gave, (n,) each, of the samples `index`."""
        row = epoch % len(self._label)
        self._label[row].index_copy_(0, index, label)
        self._max[row].index_copy_(0, index, largest)
        self._predicted[row].index_copy_(0, index, predicted.to(self._predicted.dtype))

    def gather(self, epoch: int, add_up: Callable[[Tensor], Tensor]) -> None:
        """Combine what several processes recorded of `epoch`, each of other samples."""
        row = epoch % len(self._label)
        seen = ~self._label[row].isnan()
        told = torch.stack(
            [
                seen.float(),
                self._label[row].float().nan_to_num(0.0),
                self._max[row].float().nan_to_num(0.0),
                torch.where(seen, self._predicted[row].float(), 0.0),
            ]
        )
        by_any, label, largest, predicted = add_up(told)
        self._label[row] = torch.where(by_any > 0, label, torch.nan).half()
        self._max[row] = torch.where(by_any > 0, largest, torch.nan).half()
        self._predicted[row] = predicted.to(self._predicted.dtype)

    def end_epoch(self, epoch: int) -> None:
        """Close `epoch`."""
        self.finished_epochs = epoch + 1

    # -- read by methods and by the audit -------------------------------------------------------

    def recent_label_confidence(self, epochs: int) -> Tensor:
        """Mean probability of the given label over the last complete epochs: (num_samples,), on the device.

        NaN for samples seen in none of them; all NaN before the first epoch is complete.
        """
        total = torch.zeros(self.num_samples, device=self._label.device)
        count = torch.zeros_like(total)
        for row in self._rows()[-epochs:].tolist():  # one at a time, for memory's sake
            total += self._label[row].float().nan_to_num(0.0)
            count += ~self._label[row].isnan()
        return total / count

    @property
    def kept_epochs(self) -> NDArray[np.int64]:
        """Which epochs the rows of `label_confidence`, `max_confidence` and `predicted` are."""
        return np.arange(max(0, self.finished_epochs - len(self._label)), self.finished_epochs)

    @property
    def label_confidence(self) -> NDArray[np.float16]:
        """(kept epochs, num_samples) probability of the given label."""
        return self._array(self._label)

    @property
    def max_confidence(self) -> NDArray[np.float16]:
        """(kept epochs, num_samples) largest probability."""
        return self._array(self._max)

    @property
    def predicted(self) -> NDArray[Any]:
        """(kept epochs, num_samples) predicted class; undefined where the confidences are NaN."""
        return self._array(self._predicted)

    @property
    def count(self) -> NDArray[np.int64]:
        """(num_samples,) the number of epochs in which each sample was seen."""
        counted: NDArray[np.int64] = (~np.isnan(self.label_confidence)).sum(0)
        return counted

    def mean_label_confidence(self) -> NDArray[np.float32]:
        """(num_samples,) mean over epochs of the probability of the given label: low = does not belong."""
        return self.recent_label_confidence(len(self._label)).cpu().numpy()

    def _rows(self) -> NDArray[np.int64]:
        return self.kept_epochs % len(self._label)

    def _array(self, rows: Tensor) -> NDArray[Any]:
        return rows.cpu().numpy()[self._rows()]

    def part(self, start: int, stop: int) -> History:
        """The history of samples start ... stop - 1 alone (one model of a stack), sharing no memory."""
        return self.selected(
            lambda values: values[..., start:stop].clone(),
            self.targets[start:stop].clone(),
            np.arange(stop - start),
        )

    def selected(self, take: Callable[[Tensor], Tensor], targets: Tensor, ids: NDArray[Any]) -> History:
        """The history of samples with these targets and ids; `take` gives theirs of (..., num_samples)."""
        other = copy.copy(self)
        other.targets, other.ids = targets, ids
        other._label, other._max, other._predicted = map(take, (self._label, self._max, self._predicted))
        return other

    def __repr__(self) -> str:
        return f"<History of {self.num_samples} samples over {self.finished_epochs} epochs>"

    def _repr_html_(self) -> str:
        """The confidence in the given labels over the epochs, for notebooks."""
        seen = [row[np.isfinite(row)].astype(np.float64) for row in self.label_confidence]
        curves = {
            name: [float(np.quantile(row, share)) if len(row) else float("nan") for row in seen]
            for name, share in (("median", 0.5), ("lowest tenth", 0.1))
        }
        return shown(repr(self).strip("<>"), lines("confidence in the label by epoch", curves))

    # -- files ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps: arrays and numbers by name."""
        values = (self._label, self._max, self._predicted, self.finished_epochs)
        return dict(zip(_STATE, values, strict=True))

    def load_state(self, saved: dict[str, Any]) -> None:
        """Take what `state` gave."""
        for name, mine in (("label", self._label), ("max", self._max), ("predicted", self._predicted)):
            rows = len(saved[name])
            if rows < len(mine) and int(saved["finished_epochs"]) <= rows:
                mine = mine[:rows]  # of a run that was extended by further epochs
            if saved[name].shape != mine.shape:
                raise CheckpointError(
                    f"the saved history has shape {tuple(saved[name].shape)}, not {tuple(mine.shape)}:"
                    " resume with the same data, epochs and history budget"
                )
            mine.copy_(saved[name])
        self.finished_epochs = int(saved["finished_epochs"])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything by name, as an npz file holds it and `History.load` reads it."""
        ids = self.ids.astype(str) if self.ids.dtype == object else self.ids
        kept = {
            name: value.cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
            for name, value in self.state().items()
        }
        names = ("num_classes", "epochs", "is_numbered")
        own = {name: np.asarray(getattr(self, name)) for name in names}
        return {"ids": ids, "targets": self.targets.cpu().numpy(), **own, **kept}

    def save(self, path: str | Path) -> None:
        """Write the history to an npz file that `History.load` and numpy read, whole or not at all."""
        with writing(path, "history") as partial:
            self.write(partial)

    def write(self, path: Path) -> None:
        """Write what `save` writes, wherever that is."""
        with path.open("wb") as file:
            np.savez(file, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what `save` wrote, onto the CPU."""
        try:
            arrays = read_arrays(Path(path), always=OWN)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} is not a saved history ({error})") from error
        missing = set(_SAVED) - set(arrays)
        if missing:
            raise CheckpointError(f"{path} is not a saved history: it lacks {', '.join(sorted(missing))}")
        targets, num_classes = torch.from_numpy(arrays["targets"]), int(arrays["num_classes"])
        budget = len(arrays["label"]) * bytes_an_epoch(len(targets), num_classes)
        history = cls(targets, num_classes, int(arrays["epochs"]), ids=arrays["ids"], budget=budget)
        history.is_numbered = bool(arrays["is_numbered"])
        history.load_state({name: torch.from_numpy(arrays[name]) for name in _STATE})
        return history
