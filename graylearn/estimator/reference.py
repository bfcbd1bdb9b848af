"""What samples that belong look like to a fitted network, which `ood_score` and `reject_at` compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from graylearn.audit import Audit
from graylearn.data.batches.base import Preparation
from graylearn.estimator.calibration import Seen, looked_at, seen
from graylearn.estimator.networks import outputs_of
from graylearn.estimator.rejection import learn_reference, quantiles
from graylearn.estimator.trainset import TrainingSet


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
    rows = np.arange(len(samples.y))
    if audit is not None and audit.keep[samples.rows].any():
        rows = rows[audit.keep[samples.rows]]
    rows = looked_at(rows, samples.y[rows])
    x, label = samples.x[rows], samples.y[rows]
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
