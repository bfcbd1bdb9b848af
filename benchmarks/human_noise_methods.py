"""What benchmarks/human_noise.py compares: the audit as a user calls it, and its peers on the same sets."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from human_noise_sets import Case

from graylearn import Audit, audit
from graylearn.audit import LEVELS
from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.inputs import as_features

Found = dict[str, Any]
FILTERS = ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning", "low_self_confidence")
"""cleanlab's ways to choose; the first is its default. The best of them is chosen in hindsight."""
MARGIN = 0.5


class Given:
    """A case, and the five-fold predictions of our network that the peers read where it has only features."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @functools.cached_property
    def predictions(self) -> np.ndarray:
        case = self.case
        if case.probabilities is not None:
            return case.probabilities
        features = as_features(case.x, len(case.y))
        p = held_out_probabilities(features, case.y, case.num_classes, folds=5, repeats=1)
        p = np.clip(p, 1e-9, None)
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def _audited(given: Given, mode: str) -> Found:
    case = given.case
    names = range(case.num_classes)
    if case.probabilities is not None:
        found = Audit.from_predictions(case.probabilities, case.y, classes=names, **_word(case))
    else:
        found = audit(case.x, case.y, classes=names, mode=mode, **_word(case))  # type: ignore[arg-type]
    return read(found)


def _word(case: Case) -> dict[str, Any]:
    """What a user says of the classes."""
    return {"overlap": "none" if case.one_true_class else "possible"}


def read(found: Audit) -> Found:
    """What is measured of an audit."""
    return {
        "score": found.score, "flagged": found.suspected, "kind": found.kind, "suggested": found.suggested,
        "estimated": found.contamination["total"], "interval": found.ranges.get("total", (0.0, 1.0)),
        "sure": found.level == LEVELS.index("sure"), "by": "+".join(found.found_by) or "nothing",
    }  # fmt: skip


def _cleanlab(filter_by: str) -> Callable[[Given], Found]:
    def method(given: Given) -> Found:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores

        p, y = given.predictions, given.case.y
        quality = get_label_quality_scores(y, p, method="self_confidence")
        flagged = find_label_issues(y, p, filter_by=filter_by, n_jobs=1)
        return {"score": 1 - quality, "flagged": np.asarray(flagged, dtype=bool)}

    return method


def _margin(least: float) -> Callable[[Given], Found]:
    def method(given: Given) -> Found:
        p, y = given.predictions, given.case.y
        margin = p.max(axis=1) - p[np.arange(len(y)), y]
        return {"score": margin, "flagged": margin > least}

    return method


METHODS: dict[str, Callable[[Given], Found]] = {
    "graylearn": functools.partial(_audited, mode="held-out"),
    "graylearn history": functools.partial(_audited, mode="history"),
    **{f"cleanlab {name}": _cleanlab(name) for name in FILTERS},
    "predicted != given": _margin(0.0),
    f"margin > {MARGIN}": _margin(MARGIN),
}
