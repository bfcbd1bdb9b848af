"""The fit of a set larger than memory: a network learns from the files of its parts, one in memory at a time.

Samples were dealt to parts by chance, so a part is a sample of the whole: an epoch reads the parts in a new
order, and each in a new order of its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import Tensor

from graylearn.array_types import Ints
from graylearn.audit.parts import PartFiles, features_of, groups_of, labels_of, rows_of
from graylearn.data.samples import Label, Samples
from graylearn.estimator import GrayClassifier
from graylearn.estimator.calibration import ENOUGH
from graylearn.estimator.inputs import InputEncoder
from graylearn.estimator.streamed import Some, fit_batches
from graylearn.runs.fit import FolderStages, make_classifier
from graylearn.runs.settings import RunSettings

AT_MOST = 0.05
"""Share of the samples that are kept from training to say how new ones score, at most."""
LEAST = 20
"""Samples of a class in a part below which none is kept from training."""
FITTED = 20_000
"""Samples that an encoder is fitted to, at most."""
KNOWN = 50_000
"""Samples that tell how those score that are learned from, at most."""


def fit_parts(
    files: PartFiles,
    encoding: InputEncoder | None,
    example: Samples,
    classes: Sequence[Label],
    settings: RunSettings,
    stages: FolderStages,
) -> GrayClassifier:
    """The classifier of the settings, fitted to the samples in the audited parts.

    encoding: how a table became what the files hold; None where they hold samples as a classifier is given
    them. example: some samples as they were read.
    """
    parts = LearnedParts(files)
    first = parts.folders[0]
    given = example.x
    if encoding is None:
        given = parts.read(first)[0]
        parts.encoder = encoding = InputEncoder.fitted(given[:FITTED], "keep")
        given = given[:2].copy()

    def scored() -> tuple[Some, Some]:
        rest = np.setdiff1d(unsuspected(first), parts.new)[:KNOWN]
        known, known_label = parts.read(first, rest if len(rest) else parts.numbers(first))
        new, new_label = parts.read(first, parts.new)
        return (parts.encoded(known), known_label), (parts.encoded(new), new_label)

    return fit_batches(
        make_classifier(settings),
        lambda batch_size: PartBatches(parts, batch_size),
        len(parts.order),
        classes=classes,
        encoder=encoding,
        example=given,
        scored=scored,
        stages=stages,
    )


class LearnedParts:
    """The samples in the files of audited parts, less a few that are kept to say how new ones score."""

    def __init__(self, files: PartFiles) -> None:
        self.folders = files.having("rows")
        self.encoder: InputEncoder | None = None
        """What is still to be done to what the files hold."""
        rows = [rows_of(folder) for folder in self.folders]
        total = sum(map(len, rows))
        label = labels_of(self.folders[0])
        belong = unsuspected(self.folders[0])
        belong = belong[np.bincount(label)[label[belong]] >= LEAST]
        most = min(ENOUGH, int(AT_MOST * total))
        self.new = _kept_back(belong, label, groups_of(self.folders[0]), most)
        """Of the first part, the samples that are kept."""
        self.order = np.sort(np.concatenate([np.delete(rows[0], self.new), *rows[1:]]))
        """(N,) the row of each sample that is learned from."""

    def read(self, folder: Path, some: Ints | None = None) -> tuple[NDArray[np.float32], Ints]:
        """What the files hold of a part, all or some, and the labels."""
        taken = slice(None) if some is None else some
        return np.array(features_of(folder)[taken]), labels_of(folder)[taken].astype(np.int64)

    def encoded(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """As the network reads what the files hold."""
        return x if self.encoder is None else self.encoder.transform(x)

    def numbers(self, folder: Path) -> Ints:
        """The samples of a part that are learned from."""
        everyone = np.arange(len(features_of(folder)))
        return np.delete(everyone, self.new) if folder == self.folders[0] else everyone

    def index(self, folder: Path) -> Ints:
        """(n,) the number of each sample of a part among those learned from, in the order of the data."""
        return np.searchsorted(self.order, rows_of(folder))


def _kept_back(belong: Ints, label: NDArray[np.int32], groups: Ints | None, most: int) -> Ints:
    """Samples of a part to keep from training, of these and so many at most; of groups whole ones, so that
    none is new that was seen from its side."""
    random = np.random.default_rng(0)
    if groups is None:
        return np.sort(random.permutation(belong)[:most])
    _, group, size = np.unique(groups[belong], return_inverse=True, return_counts=True)
    place = random.permutation(len(size))
    small = np.flatnonzero(size[group] <= most)
    order = small[np.argsort(place[group[small]], kind="stable")]
    ends = np.cumsum(np.bincount(place[group[small]], minlength=len(size)))
    new = belong[order[: ends[ends <= most].max(initial=0)]]
    left = np.bincount(label) - np.bincount(label[new], minlength=int(label.max()) + 1)
    return np.sort(new[left[label[new]] >= LEAST])


class PartBatches:
    """Batches (samples, labels, index) of parts, in a new order each time.

    The order is drawn from torch's global generator, which training sets anew for each epoch.
    """

    def __init__(self, parts: LearnedParts, batch_size: int) -> None:
        self.parts, self.batch_size = parts, batch_size
        self.targets = np.empty(len(parts.order), dtype=np.int64)
        """(N,) labels in the order of the data."""
        for folder in parts.folders:
            learned = parts.numbers(folder)
            self.targets[parts.index(folder)[learned]] = labels_of(folder)[learned]

    def __len__(self) -> int:
        return sum(self._steps(len(self.parts.numbers(folder))) for folder in self.parts.folders)

    def _steps(self, samples: int) -> int:
        """Batches of a part, alike in size."""
        return max(min(samples, 1), round(samples / self.batch_size))

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        parts = self.parts
        for which in torch.randperm(len(parts.folders)).tolist():
            folder = parts.folders[which]
            (x, y), index, numbers = parts.read(folder), parts.index(folder), parts.numbers(folder)
            numbers = numbers[torch.randperm(len(numbers)).numpy()]
            for some in np.array_split(numbers, steps) if (steps := self._steps(len(numbers))) else ():
                batch = parts.encoded(x[some]), y[some], index[some]
                yield torch.from_numpy(batch[0]), torch.from_numpy(batch[1]), torch.from_numpy(batch[2])


def unsuspected(folder: Path) -> Ints:
    """The samples of an audited part that are not suspected."""
    table = pq.read_table(folder / "scores.parquet", columns=["suspected"])
    return np.flatnonzero(~table["suspected"].to_numpy())
