"""The training set of one fit: encoded samples in canonical order, and the way back to the user's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length
from torch import Tensor

from graylearn.array_types import Ints
from graylearn.audit import Audit
from graylearn.data.inputs import as_class_weights, as_plain, is_sparse
from graylearn.data.labels import note_labels
from graylearn.data.samples import Samples, take_rows
from graylearn.data.splits import canonical_order, stratified_folds
from graylearn.errors import DataError
from graylearn.estimator.inputs import InputEncoder, refused, spread_weights
from graylearn.training import History


class InParts:
    """Encoded samples of a set larger than memory, in the files of its parts; what is asked for is read."""

    def __init__(
        self, parts: Sequence[NDArray[Any]], encode: Callable[[NDArray[Any]], NDArray[np.float32]]
    ) -> None:
        self.parts, self.encode = parts, encode
        self.starts = np.cumsum([0, *map(len, parts)])
        """Number of the first sample of each part, and of all."""

    def __getitem__(self, rows: Ints) -> NDArray[np.float32]:
        part = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(part, kind="stable")
        found = [self.read(k, rows[part == k] - self.starts[k]) for k in np.unique(part)]
        return np.concatenate(found)[np.argsort(order)]

    def read(self, part: int, some: Ints | slice = slice(None)) -> NDArray[np.float32]:
        """The samples of a part, all or some."""
        return self.encode(np.array(self.parts[part][some]))


@dataclass(frozen=True)
class _Batches:
    """Batches (samples, labels, index), one part in memory at a time.

    Samples were dealt to parts by chance, so an epoch reads the parts in a new order, and each in a new order
    of its samples, drawn from torch's global generator, which training sets anew for each epoch.
    """

    x: InParts
    targets: Ints
    batch_size: int

    def _steps(self, part: int) -> int:
        """Batches of a part, alike in size."""
        return max(1, round(len(self.x.parts[part]) / self.batch_size))

    def __len__(self) -> int:
        return sum(map(self._steps, range(len(self.x.parts))))

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for part in torch.randperm(len(self.x.parts)).tolist():
            x, labels = self.x.read(part), self.targets[self.x.starts[part] :]
            for rows in np.array_split(torch.randperm(len(x)).numpy(), self._steps(part)):
                index = torch.from_numpy(rows + self.x.starts[part])
                yield torch.from_numpy(x[rows]), torch.from_numpy(labels[rows]), index


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """M rows to train on, made of the user's N samples."""

    x: NDArray[Any] | InParts
    """(M, ...) encoded samples."""
    y: Ints
    """(M,) index of each label in `classes`."""
    weight: NDArray[np.float64]
    """(M,) what the loss of each counts."""
    rows: Ints
    """(M,) which of the user's samples each is."""
    features: NDArray[np.float32] | None
    """(N, D) all of the user's samples, encoded; None of images."""
    labels: Ints
    """(N,) index of each label in `classes`."""
    ids: NDArray[Any]
    """(N,) what the user calls each sample."""
    classes: NDArray[Any]
    """(K,) the classes in order."""
    aside: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Rows of no weight, which tell how samples score that no network learned from."""
    groups: Ints | None = None
    """(N,) samples of one number belong together, and are held out together; None: each stands alone."""
    audits: Callable[[], Iterator[Audit]] | None = None
    """Reads what is known of each part of a set in parts, which were audited before."""

    @property
    def first(self) -> TrainingSet:
        """The rows of the first part, as samples of their own; all, where they are in memory."""
        if not isinstance(self.x, InParts):
            return self
        end = self.x.starts[1]
        y, groups = self.y[:end], None if self.groups is None else self.groups[self.rows[:end]]
        return replace(self, y=y, weight=self.weight[:end], rows=np.arange(end), labels=y, groups=groups)

    def batches(self, batch_size: int) -> Any:
        """The rows and their labels as `train` takes them."""
        return _Batches(self.x, self.y, batch_size) if isinstance(self.x, InParts) else (self.x, self.y)

    def without(self, aside: Ints) -> TrainingSet:
        """The same, with these of the rows kept aside."""
        weight = self.weight.copy()
        weight[aside] = 0.0
        return replace(self, weight=weight, aside=aside)

    def folds(self, count: int, seed: int) -> Ints:
        """(M,) the fold of each row; copies of a sample share one, and so do samples of a group.

        Rows are in canonical order, so that the user's order does not matter.
        """
        samples, first, copies = np.unique(self.rows, return_index=True, return_inverse=True)
        fold = np.empty(len(samples), dtype=np.int64)
        rows = np.sort(first)
        group = None if self.groups is None else self.groups[self.rows[rows]]
        fold[np.argsort(first)] = stratified_folds(self.y[rows], count, 1, seed, group)[0]
        return np.asarray(fold[copies])

    def by_sample(self, history: History) -> History:
        """The history of a training on these M rows, by the user's N samples.

        A sample that was trained on several times has the history of its first copy; one that was left out
        has none (NaN). On the CPU, so that it can be kept, saved and read anywhere.
        """
        first = np.full(len(self.labels), -1)
        first[self.rows[::-1]] = np.arange(len(self.rows))[::-1]
        unseen = torch.from_numpy(first < 0)
        index = torch.from_numpy(np.maximum(first, 0))

        def taken(values: Tensor) -> Tensor:
            found = values.cpu()[..., index]
            if bool(unseen.any()):
                found[..., unseen] = torch.nan if values.ndim == 2 and values.is_floating_point() else 0
            return found

        return history.selected(taken, torch.from_numpy(self.labels), self.ids)


def plain_training_set(samples: Samples, features: NDArray[np.float32] | None = None) -> TrainingSet:
    """Samples as they are and in their order, each once; `features` (N, D) are what an audit reads."""
    n = len(samples.y)
    classes = np.arange(samples.num_classes)
    return TrainingSet(
        samples.x, samples.y, np.ones(n), np.arange(n), features, samples.y, samples.ids, classes
    )


def make_training_set(
    given: Any,
    labels: Ints,
    *,
    classes: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    encoder: InputEncoder | None,
    ids: NDArray[Any] | None = None,
    constant: Literal["keep", "drop"] = "drop",
    id_like: Literal["keep", "drop"] = "drop",
    groups: Ints | None = None,
) -> tuple[TrainingSet, InputEncoder]:
    """The set, and the encoder that was fitted on it where none was given, see `InputEncoder.fitted`."""
    with refused("give one label per sample"):
        check_consistent_length(given, labels)
    n = len(labels)
    rows, weight = np.arange(n), np.ones(n)
    if sample_weight is not None:
        with refused("give one finite number per sample as sample_weight"):
            checked = _check_sample_weight(as_plain(sample_weight), given, dtype=np.float64)
        if (checked < 0).any() or not np.isfinite(checked).all():
            raise DataError("sample_weight must be finite and not negative")
        if not checked.any():
            raise DataError("Sample weights must contain at least one non-zero number")
        rows, losses = spread_weights(checked)
        weight = np.ones(len(rows)) if losses is None else losses
    all_once = len(rows) == n and bool((rows == np.arange(n)).all())
    kept = given if all_once else take_rows(given.tocsr() if is_sparse(given) else given, rows)
    if encoder is None:
        note_labels(classes, np.bincount(labels, minlength=len(classes)))
        encoder = InputEncoder.fitted(kept, constant, id_like, labels[rows])
    x, y = encoder.transform(kept), labels[rows]
    features = None
    if encoder.kind == "rows":
        features = x if all_once else encoder.transform(given)
    if class_weight is not None:
        weight = weight * as_class_weights(class_weight, y, classes)[y]
        if not weight.any():
            raise DataError("class_weight must be positive for some class")
    order = canonical_order(x, y)
    names = np.arange(n) if ids is None else ids
    return TrainingSet(
        x[order], y[order], weight[order], rows[order], features, labels, names, classes, groups=groups
    ), encoder
