"""Classes held out as out-of-distribution (OOD), as the paper's experiments do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError, first_few


def hold_out_classes(samples: Samples, ood_classes: Sequence[Label]) -> tuple[Samples, Samples]:
    """Cut into (in-distribution, OOD) by the labels of the OOD classes.

    Each part has only its own classes, numbered anew in the same order.
    """
    held_out = set(ood_classes)
    inside = [label for label in samples.classes if label not in held_out]
    if not inside:
        raise DataError("every class is held out; leave at least one in-distribution class")
    return keep_classes(samples, inside), keep_classes(samples, ood_classes)


def hold_out_smallest(samples: Samples) -> tuple[Samples, Samples]:
    """Cut into (in-distribution, OOD) where the OOD class is the one with fewest samples.

    Classes without a sample do not count; of several equally small the first in class order is taken.
    """
    counts = samples.class_counts
    present = np.flatnonzero(counts)
    if len(present) < 2:
        raise DataError(f"holding a class out needs samples of two classes or more, there are {len(present)}")
    smallest = present[np.argmin(counts[present])]
    return hold_out_classes(samples, [samples.classes[smallest]])


def keep_classes(samples: Samples, labels: Sequence[Label]) -> Samples:
    """The samples of some classes only, in the order of the data; classes are numbered as in `labels`."""
    indices = [_index_of(samples, label) for label in labels]
    if len(set(indices)) < len(indices):
        raise DataError(f"a class is named twice in {list(labels)}")
    new_index = np.full(samples.num_classes, -1)
    new_index[indices] = np.arange(len(indices))
    kept = samples.take(np.isin(samples.y, indices))
    return replace(kept, y=new_index[kept.y], classes=tuple(samples.classes[index] for index in indices))


def _index_of(samples: Samples, label: Label) -> int:
    """Where a label stands among the classes."""
    if label not in samples.classes:
        raise DataError(f"class {label!r} is not among the classes {first_few(samples.classes)}")
    return samples.classes.index(label)
