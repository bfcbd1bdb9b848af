"""`Evidence`: all that is known of the samples when the detectors are asked, under names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.beliefs import AskedAgain
from graylearn.audit.finding import Finding, threshold_of, together
from graylearn.audit.gaps import SEPARATED, gaps, pairs_of
from graylearn.audit.overlap import Overlap
from graylearn.audit.pooling import pool
from graylearn.audit.repeated import decide_labels
from graylearn.data.samples import Label
from graylearn.options import MIN_CLASS

Mode = Literal["held-out", "history", "predictions"]

MIN_SAMPLES = 30
"""Below this many samples nothing is flagged: no test of the labels can be passed."""

MAX_EPOCHS_DIFFER, UNSETTLED = 0.45, 0.7
"""Share of samples that a network calls otherwise from one epoch to the next, above which it is weak, and
above which it has learned nothing. Eight epochs of 100 classes .76 to .80, people's labels .18 to .34."""

MANY_VALUES = 8
"""Values that a column has more of to measure something: a rare word lies far out of itself, and a flag cuts
every class in two with a gap between."""
LOOKED_AT = 2000
"""About how many rows tell how many values a column has."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """N samples of K classes, as the detectors see them."""

    label: Ints
    """(N,) given labels, index in `classes`."""
    classes: tuple[Label, ...]
    """The classes in stable order."""
    probabilities: Floats
    """(N, K) class probabilities pooled over the opinions."""
    opinions: Mapping[str, Floats]
    """(N, K) class probabilities each: "network" and, with features, "neighbours", "kernel", "centre"."""
    weights: Mapping[str, float]
    """Share of each opinion in the pool."""
    no_class: Mapping[str, Floats]
    """(N,) columns by name that speak for "no class fits", standardised, larger = less likely to belong."""
    features: NDArray[np.float32] | None
    """(N, D) scaled features; None where only probabilities are known."""
    mode: Mode
    """Where the network's probabilities came from; in "history" it had seen the labels."""
    overlap: Overlap
    """Whether a sample may lie between two classes; "none": each has one true class."""
    epochs_differ: float = 0.0
    """Share of samples that the network called otherwise from one epoch of a history to the next; 1 where it
    has one epoch."""
    nearest: Ints | None = None
    """(N, k) the neighbours of each sample; None without features."""
    device: torch.device | str = "cpu"
    """Where large products are made."""
    findings: Mapping[str, Finding] = field(default_factory=dict)
    """What the detectors before this one found, by name."""
    _asked: list[tuple[Ints, AskedAgain]] = field(default_factory=list)
    """The samples that neighbours and kernel were last asked about again, and these."""

    def __len__(self) -> int:
        return len(self.label)

    @property
    def num_classes(self) -> int:
        """K, the classes without samples included."""
        return len(self.classes)

    @cached_property
    def confidence(self) -> Floats:
        """(N,) pooled probability of the given label."""
        return np.asarray(self.probabilities[np.arange(len(self)), self.label])

    @cached_property
    def best(self) -> Ints:
        """(N,) the most probable class."""
        return np.asarray(self.probabilities.argmax(axis=1) if len(self) else np.zeros(0, dtype=np.int64))

    @cached_property
    def checked(self) -> Bools:
        """(N,) whether the sample's class has samples enough to be checked."""
        return np.asarray(np.bincount(self.label, minlength=self.num_classes)[self.label] >= MIN_CLASS)

    @cached_property
    def contradicted(self) -> Bools:
        """(N,) whether the sample is checked and its label not the most probable class."""
        return np.asarray(self.checked & (self.best != self.label))

    @cached_property
    def can_be_judged(self) -> bool:
        """Whether there are samples, classes, epochs and columns enough for any test of the labels."""
        return (
            not self.is_unsettled
            and not self.is_undecided
            and len(self) >= MIN_SAMPLES
            and len(np.unique(self.label[self.checked])) >= 2
        )

    @cached_property
    def views_differ(self) -> float:
        """Share of checked samples on which network and neighbours differ: about the model's own error."""
        if "neighbours" not in self.opinions or not self.checked.any():
            return 0.0
        network, votes = (self.opinions[name].argmax(axis=1) for name in ("network", "neighbours"))
        return float((network != votes)[self.checked].mean())

    @cached_property
    def measures(self) -> NDArray[np.float32] | None:
        """(N, M) the features that measure something, without words, flags and grades."""
        if self.features is None:
            return None
        some = self.features[:: max(1, len(self) // LOOKED_AT)]
        many = [len(np.unique(column)) > MANY_VALUES for column in some.T]
        return self.features if all(many) else self.features[:, many]  # no copy without need: they are large

    def set_apart(self, rows: Ints, suggested: Ints) -> Bools:
        """Whether more than words and flags sets the class of a label apart from the one suggested, by row.

        Who was sent to a doctor saw one more often, but who did not see one bears no wrong label: a column of
        few values cuts the samples in two with a gap between, whatever it tells of their classes. That is
        asked where classes may overlap and there are such columns.
        """
        measures = self.measures
        if self.features is None or measures is None or self.overlap == "none":
            return np.ones(len(rows), dtype=bool)
        if measures.shape[1] in (0, self.features.shape[1]):
            return np.full(len(rows), measures.shape[1] > 0)
        pairs = pairs_of(self.label[rows], suggested)
        width = gaps(measures, self.label, self.best, set(pairs), self.num_classes)
        return np.array([width[pair][0] < SEPARATED for pair in pairs], dtype=bool)

    @property
    def only_probabilities(self) -> bool:
        """Whether all there is are probabilities from elsewhere."""
        return self.features is None and self.mode == "predictions"

    @property
    def is_unsettled(self) -> bool:
        """Whether all there is are the epochs of a network that had learned nothing yet."""
        return self.features is None and self.epochs_differ > UNSETTLED

    @cached_property
    def is_undecided(self) -> bool:
        """Whether classes may overlap, and equal samples show that the features do not decide the label."""
        if self.features is None or self.overlap == "none" or len(self) < MIN_SAMPLES:
            return False
        return not decide_labels(self.features, self.label, self.num_classes)

    @property
    def epochs_disagree(self) -> bool:
        """Whether all there is are the epochs of a network too weak to contradict labels."""
        return self.features is None and self.epochs_differ > MAX_EPOCHS_DIFFER

    @cached_property
    def unlearned(self) -> tuple[Label, ...]:
        """Where all there is are the epochs of a network: the classes most of whose labels it contradicts."""
        if self.features is not None or self.mode != "history":
            return ()
        count, against = (
            np.bincount(self.label[rows], minlength=self.num_classes)
            for rows in (self.checked, self.contradicted)
        )
        return tuple(self.classes[k] for k in np.flatnonzero(2 * against > count))

    @cached_property
    def unsuspected(self) -> Ints:
        """Index of the samples that are checked and that no detector so far has made a suspect."""
        posterior = together(self.findings.values(), len(self)).posterior
        return np.flatnonzero(self.checked & (posterior <= threshold_of(posterior)))

    def asked_again(self, rows: Ints) -> AskedAgain:
        """Neighbours and kernel of the samples at `rows`, kept for a detector that asks of the same next."""
        if not self._asked or not np.array_equal(self._asked[0][0], rows):
            assert self.features is not None  # detectors ask where there are features
            index = self.nearest if len(rows) == len(self) else None
            self._asked[:] = [(rows, AskedAgain(self.features[rows], index, self.device))]
        return self._asked[0][1]

    @property
    def form(self) -> str:
        """The model that the first detector that has several chose, "none" before it was asked."""
        return next((each.form for each in self.findings.values() if each.form), "none")

    @property
    def found(self) -> bool:
        """Whether any detector found something so far."""
        return any(each.found for each in self.findings.values())

    def after(self, name: str, finding: Finding) -> Evidence:
        """The same with one more finding, less those it overrules, for the detectors that come next."""
        kept = {key: each for key, each in self.findings.items() if key not in finding.overrules}
        return replace(self, findings={**kept, name: finding})


def gather(
    network: Floats,
    label: Ints,
    classes: tuple[Label, ...],
    features: NDArray[np.float32] | None,
    mode: Mode,
    overlap: Overlap,
    device: torch.device | str = "cpu",
    *,
    learned: bool = False,
    epochs_differ: float = 0.0,
) -> Evidence:
    """Evidence from a network's class probabilities (N, K) and, where given, scaled features (N, D).

    learned: whether the network learned all there is from a part of the samples; see `pool`.
    epochs_differ: as in `Evidence`.
    """
    pooled = pool(network, label, features, held_out=mode != "history", learned=learned, device=device)
    return Evidence(
        label=label,
        classes=classes,
        probabilities=pooled.probabilities,
        opinions=pooled.opinions,
        weights=pooled.weights,
        no_class=pooled.no_class,
        features=features,
        mode=mode,
        overlap=overlap,
        epochs_differ=epochs_differ,
        nearest=pooled.nearest,
        device=device,
    )
