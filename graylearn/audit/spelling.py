"""The verdict on misspelt labels: judged as the class that is meant, told of the label as written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graylearn.array_types import Ints
from graylearn.audit.kinds import MISLABELLED, OK, SURE
from graylearn.audit.result import Audit
from graylearn.data.samples import Label


def as_written(found: Audit, label: Ints, names: Sequence[Label], meant: Ints) -> Audit:
    """The audit of the labels that are meant, as one of the labels (N,) that were given, index in names.

    meant: (K,) as `meant_by` gives it. A misspelt label is a wrong label whose class is known: that which is
    meant, or what the audit suggests of a sample that is suspected under that one too.
    """
    misspelt = meant[label] != label
    if not misspelt.any():
        return found
    judged = np.unique(meant)
    probabilities, beliefs = np.zeros((len(label), len(names))), np.zeros((len(label), len(names)))
    probabilities[:, judged], beliefs[:, judged] = found.probabilities, found.beliefs
    only = misspelt & (found.kind == OK)
    because = found.because.copy()
    for row in np.flatnonzero(only):
        because[row] = f"its label seems to be {names[meant[label[row]]]}, misspelt"
    return replace(
        found,
        label=label,
        classes=tuple(names),
        probabilities=probabilities,
        beliefs=beliefs,
        because=because,
        confidence=np.where(misspelt, 0.0, found.confidence),
        score=np.where(only, 1.0, found.score),
        suspected=found.suspected | misspelt,
        level=np.where(only, SURE, found.level),
        kind=np.where(only, MISLABELLED, found.kind),
        suggested=np.append(judged, -1)[found.suggested],
        ranges={
            name: (low + only.mean(), high + only.mean()) if name != "ood" else (low, high)
            for name, (low, high) in found.ranges.items()
        },
    )
