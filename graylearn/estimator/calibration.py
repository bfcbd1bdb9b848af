"""How samples that a network has not seen will score: held out in folds, as conformal prediction has it.

A network is surer of what it was trained on than of anything new, so limits taken there reject too many new
samples. Networks trained like the one that answers, each without a part of the training set, say how that
part scores. Samples count as much as the audit believes that they belong, and their labels as much as it
believes that they are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from graylearn.audit import Audit
from graylearn.audit.heldout import stratified_folds
from graylearn.estimator.networks import outputs_of
from graylearn.estimator.pipeline import Pipeline, PipelineResult
from graylearn.estimator.rejection import learn_reference, unfamiliarity
from graylearn.estimator.trainset import TrainingSet
from graylearn.training import seeding

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 4
"""Each network learns from three quarters of the samples."""
ENOUGH = 1500
"""Samples whose scores are enough: the share beyond their .99 quantile is then 1 % give or take .26 %. Larger
sets do with fewer networks than folds."""


@dataclass(frozen=True, eq=False)
class Seen:
    """How samples scored, whose label is known."""

    unfamiliar: Floats
    """(n,) how little each seems to belong."""
    strange: Floats
    """(n,) how little its label seems to fit: 1 - its probability."""
    belongs: Floats
    """(n,) what each counts among samples that belong."""
    right: Floats
    """(n,) what each counts among samples whose label is right."""


def seen(said: tuple[Floats, Floats | None], label: Ints, reference: dict[str, Floats]) -> Seen:
    """Samples that are all taken to belong and to bear the right label; said: logits and features."""
    strange = 1.0 - softmax(said[0], axis=1)[np.arange(len(label)), label]
    return Seen(unfamiliarity(*said, reference), strange, np.ones(len(label)), np.ones(len(label)))


def held_out(pipeline: Pipeline, fitted: PipelineResult, preparation: Any) -> Seen | None:
    """The training samples as networks score them that did not see them; None where there are too few."""
    samples, audit = pipeline.samples, fitted.audit
    parts = _parts(samples, pipeline.settings.seed)
    if not parts or fitted.plan is None:
        return None
    networks = pipeline.train_without(fitted.plan, parts)
    keep = np.ones(len(samples.y), dtype=bool) if audit is None else audit.keep[samples.rows]
    found = []
    for network, rows in zip(networks, parts, strict=True):
        trained = np.ones(len(samples.y), dtype=bool)
        trained[rows] = False
        belonging = trained & keep if (trained & keep).any() else trained
        reference = learn_reference(
            *outputs_of(network, samples.x[belonging], preparation), samples.y[belonging]
        )
        found.append(seen(outputs_of(network, samples.x[rows], preparation), samples.y[rows], reference))
    held = np.concatenate(parts)
    return Seen(
        np.concatenate([part.unfamiliar for part in found]),
        np.concatenate([part.strange for part in found]),
        _less(audit, "ood_posterior", samples.rows[held]),
        _less(audit, "posterior", samples.rows[held]),
    )


def _less(audit: Audit | None, name: str, rows: Ints) -> Floats:
    """(n,) one less what the audit believes under this name."""
    return np.ones(len(rows)) if audit is None else 1.0 - np.asarray(getattr(audit, name))[rows]


def _parts(samples: TrainingSet, seed: int) -> list[Ints]:
    """Rows of the training set to hold out, one part a network; copies of a sample are in one part.

    Rows are in canonical order, so that the user's order does not matter.
    """
    of_sample, first, copies = np.unique(samples.rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    if len(of_sample) < 2 * FOLDS:
        return []
    fold = np.empty(len(of_sample), dtype=np.int64)
    fold[order] = stratified_folds(samples.y[np.sort(first)], FOLDS, 1, seeding.derive(seed, "calibration"))[
        0
    ]
    parts: list[Ints] = []
    for number in range(FOLDS):
        rows = np.flatnonzero(fold[copies] == number)
        if len(rows):
            parts.append(rows)
        if sum(map(len, parts)) >= ENOUGH:
            break
    return parts
