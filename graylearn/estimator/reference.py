"""What samples that belong look like to a fitted network, which `ood_score` and `reject_at` compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.audit import Audit
from graylearn.data.batches.base import Preparation
from graylearn.data.splits import stratified_choice
from graylearn.estimator.calibration import Seen, seen
from graylearn.estimator.networks import outputs_of
from graylearn.estimator.rejection import learn_reference, quantiles
from graylearn.estimator.trainset import TrainingSet

MOST = 50_000
"""Samples that are looked at, at most: their features are 50 MB, those of a million a gigabyte."""


def reference_for(
    network: nn.Module,
    preparation: Preparation,
    samples: TrainingSet,
    audit: Audit | None,
    validation: tuple[NDArray[Any], NDArray[np.int64]] | None,
    held_out: Seen | None = None,
) -> dict[str, NDArray[np.float64]]:
    """What unsuspected training samples look like, and how new ones score.

    New ones score like those of the validation set; without one like the training samples did where they were
    held out; and else like the training samples themselves, which is less than new ones do.
    """
    x, label = samples.x, samples.y
    if audit is not None and audit.keep[samples.rows].any():
        kept = audit.keep[samples.rows]
        x, label = x[kept], label[kept]
    if len(x) > MOST:
        one_each = np.unique(label, return_index=True)[1]
        some = np.union1d(stratified_choice(label, MOST, 0), one_each)
        x, label = x[some], label[some]
    said = outputs_of(network, x, preparation)
    reference = learn_reference(*said, label)
    if validation is not None:
        like = seen(outputs_of(network, validation[0], preparation), validation[1], reference)
    else:
        like = held_out or seen(said, label, reference)
    return reference | {
        "quantiles": quantiles(like.unfamiliar, like.belongs),
        "label_quantiles": quantiles(like.strange, like.right),
    }
