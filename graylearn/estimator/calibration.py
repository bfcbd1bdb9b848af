"""How samples that a network has not seen will score: held out in folds, as conformal prediction has it.

A network is surer of what it was trained on than of anything new, so limits taken there reject too many new
samples. Networks trained like the one that answers, each without a part of the training set, say how that
part scores; of a large set the one that answers does without a part itself. Samples count as much as the
audit believes that they belong, and their labels as much as it believes that they are right.

That takes longer than the fit itself, and so does the audit. Whoever fits in folds asks for neither:
`cross_val_score` of 2,000 rows took 24.7 s with both and 3.9 s without. So a fit leaves them to `FoundLater`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from torch import nn

from graylearn.array_types import Floats, Ints
from graylearn.audit import Audit
from graylearn.data.batches import Preparation
from graylearn.data.splits import cross_fit, stratified_choice
from graylearn.estimator.networks import outputs_of
from graylearn.estimator.pipeline import Pipeline, PipelineResult
from graylearn.estimator.rejection import learn_reference, quantiles, unfamiliarity
from graylearn.estimator.trainset import InParts, TrainingSet
from graylearn.training import seeding

FOLDS = 4
"""Each network learns from three quarters of the samples."""
ENOUGH = 1500
"""Samples whose scores are enough: the share beyond their .99 quantile is then 1 % give or take .26 %. Larger
sets do with fewer networks than folds."""
LARGE, AT_MOST = 50_000, 20
"""Samples from which on so many are kept aside from every network, 3 % of them or less: none is trained for
the sake of scores. Of sets in parts one in so many is, at most."""
MOST = 50_000
"""Samples that are looked at, at most: their features are 50 MB, those of a million a gigabyte."""


Said = tuple[Floats, Floats | None]
"""Logits (n, K), and features (n, D) of a network that has some."""


def scores(said: Said, label: Ints, reference: dict[str, Floats]) -> tuple[Floats, Floats]:
    """(n,) how little each sample seems to belong, and how little its label seems to fit: 1 - its
    probability."""
    strange = 1.0 - softmax(said[0], axis=1)[np.arange(len(label)), label]
    return unfamiliarity(*said, reference), strange


def kept_aside(samples: TrainingSet, seed: int) -> Ints:
    """Rows of a large training set that no network is to learn from; none are of a class of few samples."""
    wanted, samples = max(1, min(ENOUGH, len(samples.rows) // AT_MOST)), samples.first
    n = len(np.unique(samples.rows))
    if n < LARGE and not isinstance(samples.x, InParts):
        return np.zeros(0, dtype=np.int64)
    folds = max(2, n // wanted)
    aside = samples.folds(folds, seeding.derive(seed, "calibration")) == 0
    aside &= (np.bincount(samples.y) >= 2 * folds)[samples.y]
    return np.flatnonzero(aside)


def _parts(samples: TrainingSet, seed: int) -> list[Ints]:
    """Rows of the training set to hold out, one part per network; none where there are too few."""
    if len(np.unique(samples.rows)) < 2 * FOLDS:
        return []
    fold = samples.folds(FOLDS, seeding.derive(seed, "calibration"))
    parts = [rows for number in range(FOLDS) if len(rows := np.flatnonzero(fold == number))]
    before = np.cumsum([0, *map(len, parts)])
    return [part for part, done in zip(parts, before, strict=False) if done < ENOUGH]


@dataclass(frozen=True, eq=False)
class FoundLater:
    """The training set and the fit, kept until both the audit and the reference are there."""

    pipeline: Pipeline
    """With the training set."""
    fitted: PipelineResult
    """What it gave."""
    preparation: Preparation
    """How samples are brought to its network."""

    def audit(self) -> Audit | None:
        """The verdict on the training set; None where none is wanted."""
        return self.fitted.audit or self.pipeline.audited(self.fitted.trained)

    def reference(self, audit: Audit | None) -> dict[str, NDArray[np.float64]]:
        """What unsuspected training samples look like, and how new ones score; see `ood_score` and
        `reject_at`.

        New ones score like those of the validation set; without one like the training samples did where they
        were held out; and else like the training samples themselves, which is less than new ones do.
        """
        pipeline, network, held = self.pipeline, self.fitted.network, None
        if pipeline.samples.audits is not None:
            audit = next(pipeline.samples.audits())
        said, label = self._known(network, np.arange(len(pipeline.samples.first.y)), audit)
        reference = learn_reference(*said, label)
        if pipeline.validation is not None:
            new, label = pipeline.validation
            like = scores(outputs_of(network, new, self.preparation), label, reference)
        elif (held := self._held_out()) is not None:
            each = [self._scored(model, rows, audit) for model, rows in held]
            like = np.concatenate([one for one, _ in each]), np.concatenate([other for _, other in each])
        else:
            like = scores(said, label, reference)
        belongs = right = None
        if held is not None and audit is not None:
            of = pipeline.samples.first.rows[np.concatenate([rows for _, rows in held])]
            belongs, right = 1.0 - audit.foreign[of], 1.0 - audit.posterior[of]
        return reference | {
            "quantiles": quantiles(like[0], belongs),
            "label_quantiles": quantiles(like[1], right),
        }

    def _held_out(self) -> list[tuple[nn.Module, Ints]] | None:
        """Networks, and the rows that each did not learn from; None where there are none."""
        pipeline, samples, plan = self.pipeline, self.pipeline.samples, self.fitted.plan
        if len(samples.aside):
            return [(self.fitted.network, samples.aside)]
        parts = _parts(samples, pipeline.settings.seed) if pipeline.audit == "held-out" else []
        if not parts or plan is None:
            return None
        found = cross_fit(lambda weights: pipeline.fit_many(plan, weights), plan.weight, parts)
        return [(result.model, rows) for result, rows in found]

    def _scored(self, network: nn.Module, rows: Ints, audit: Audit | None) -> tuple[Floats, Floats]:
        """The scores of rows that a network did not learn from, by the others."""
        samples = self.pipeline.samples.first
        said, label = self._known(network, np.delete(np.arange(len(samples.y)), rows), audit)
        new = outputs_of(network, samples.x[rows], self.preparation)
        return scores(new, samples.y[rows], learn_reference(*said, label))

    def _known(self, network: nn.Module, rows: Ints, audit: Audit | None) -> tuple[Said, Ints]:
        """What the network says of those of the rows that belong, and their labels: of at most so many as are
        looked at, every class among them."""
        samples = self.pipeline.samples.first
        if audit is not None and (kept := rows[audit.keep[samples.rows[rows]]]).size:
            rows = kept
        label = samples.y[rows]
        if len(rows) > MOST:
            one_each = np.unique(label, return_index=True)[1]
            rows = rows[np.union1d(stratified_choice(label, MOST, 0), one_each)]
        return outputs_of(network, samples.x[rows], self.preparation), samples.y[rows]
