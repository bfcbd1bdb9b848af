"""Foreign samples that share one label: the networks have learnt it, but they lie apart (`apart.py`)."""

from __future__ import annotations

import numpy as np

from graylearn.array_types import Floats, Ints
from graylearn.audit.apart import MIN_CLASSES, Apart, apart_among, parts_of_some
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing

AFTER = ("random_labels",)
MAX_DIFFER = 0.36
"""Share of samples on which network and neighbours differ above which the detector abstains: weak features
(random directions, .39 to .47) have parts and ranks as foreign samples do."""
FEW_RANDOM, SEVERAL_TIMES = 0.1, 2.0
"""Where some labels look drawn at random, all are parted if those are no more of the samples than the first,
and that is believed if what lies apart is this many times as much."""


def find(evidence: Evidence) -> Finding:
    """Look among the samples that no detector before has made a suspect."""
    if evidence.features is None or evidence.num_classes < MIN_CLASSES or evidence.views_differ > MAX_DIFFER:
        return nothing(len(evidence))
    rest, some_random = evidence.unsuspected, evidence.found
    far_more = _far_more_apart(evidence) if some_random else None
    if far_more is not None:
        rest, some_random = np.flatnonzero(evidence.checked), False
    apart = far_more or apart_among(evidence, rest, parts=not some_random)
    details = {"foreign_clusters": apart.share}
    doubt = 1.0 - evidence.confidence
    if apart.rank is not None:
        away = 1.0 - apart.rank
        if apart.share > 0 and not some_random:
            # Where no label looks drawn at random, probabilities have learnt the foreign samples' labels.
            doubt[rest] = away
        else:
            doubt[rest] = 0.5 * (doubt[rest] + away)
    if apart.share == 0:
        # Nothing is held against them, yet the order may serve a person where there is no other.
        return nothing(len(evidence), doubt=None if some_random else doubt, details=details)
    return lie_apart(evidence, rest, apart, doubt, overrules=("random_labels",) if far_more else ())


def lie_apart(
    evidence: Evidence, rows: Ints, apart: Apart, doubt: Floats | None = None, overrules: tuple[str, ...] = ()
) -> Finding:
    """The finding that among these samples some lie apart."""
    posterior = np.zeros(len(evidence))
    posterior[rows] = apart.posterior
    note = (
        f"{apart.share:.1%} of the samples that fit their label by probability lie apart from the "
        "others of that label: foreign samples that share one label, or a class of two kinds"
    )
    return Finding(
        posterior,
        posterior,
        posterior,
        np.zeros(len(evidence)),
        sure=np.zeros(len(evidence), dtype=bool),  # a class of two kinds looks the same
        doubt=doubt,
        notes=(note,),
        overrules=overrules,
        details={"foreign_clusters": apart.share},
    )


def _far_more_apart(evidence: Evidence) -> Apart | None:
    """What lies apart among all samples, where that is far more than was found so far.

    A few foreign samples whose label the networks did not learn look drawn at random; the others would then
    not be looked for. Foreign photos, one draw of five: 93 found so, 640 lie apart. In large sets only where
    some of the samples show parts of one source: to rank all of them takes long.
    """
    rows = np.flatnonzero(evidence.checked)
    found = len(rows) - len(evidence.unsuspected)
    if found > FEW_RANDOM * len(rows):
        return None
    some = parts_of_some(evidence, rows)
    if some is not None and not some.of_one_source:
        return None
    apart = apart_among(evidence, rows)
    return apart if apart.share * len(rows) >= SEVERAL_TIMES * found else None
