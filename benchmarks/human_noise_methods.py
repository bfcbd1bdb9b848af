"""What benchmarks/human_noise.py compares: the audit as a user calls it, and its peers on the same sets."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.human_noise_sets import Case
from graylearn import Audit
from graylearn.audit import LEVELS
from graylearn.audit.evidence import Mode, gather
from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.history import history_probabilities, train_for_history
from graylearn.audit.inputs import as_features
from graylearn.audit.overlap import Overlap
from graylearn.data.order import canonical_order

Found = dict[str, Any]
FILTERS = ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning", "low_self_confidence")
"""cleanlab's ways to choose; the first is its default. The best of them is chosen in hindsight."""
MARGIN = 0.5


class Given:
    """A case, and what networks say of it, which is kept on disk where `kept` names a file to begin with.

    Networks are most of an audit's time and hang on the case alone: with them kept, a detector that was
    changed is measured anew in a second a set. `seconds` is what those asked for so far took to train.
    """

    def __init__(self, case: Case, kept: Path | None = None) -> None:
        if case.x is not None:  # in the order in which `audit` works
            order = canonical_order(case.x, case.y)
            case = replace(case, x=case.x[order], y=case.y[order], true_y=case.true_y[order])
        self.case, self.kept, self.seconds = case, kept, 0.0

    @functools.cached_property
    def features(self) -> np.ndarray:
        return as_features(self.case.x, len(self.case.y))

    @functools.cached_property
    def predictions(self) -> np.ndarray:
        """(N, K) five-fold predictions of our network, which the peers read."""
        case = self.case
        if case.probabilities is not None:
            return case.probabilities
        p = self._kept(
            "folds",
            lambda: held_out_probabilities(self.features, case.y, case.num_classes, folds=5, repeats=1),
        )
        p = np.clip(p, 1e-9, None)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def network(self, mode: Mode) -> np.ndarray:
        """(N, K) what `audit` asks its networks in this mode."""
        case = self.case
        if mode == "held-out":
            return self._kept(mode, lambda: held_out_probabilities(self.features, case.y, case.num_classes))
        return self._kept(
            mode, lambda: history_probabilities(train_for_history(self.features, case.y, case.num_classes))
        )

    def _kept(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        path = None if self.kept is None else self.kept.with_name(f"{self.kept.name} {name}.npz")
        if path is not None and path.exists():
            with np.load(path) as file:
                self.seconds += float(file["seconds"])
                return np.asarray(file["p"])
        began = time.perf_counter()
        p = make()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial.npz")
            np.savez(partial, p=p, seconds=time.perf_counter() - began)
            partial.replace(path)
        return p


def _audited(given: Given, mode: Mode) -> Found:
    """What `audit` and `Audit.from_predictions` say, by the same steps."""
    case = given.case
    names = tuple(range(case.num_classes))
    if case.history is not None:
        return read(Audit.from_history(case.history, overlap=_word(case)))
    if case.probabilities is not None:
        return read(Audit.from_predictions(case.probabilities, case.y, classes=names, overlap=_word(case)))
    evidence = gather(given.network(mode), case.y, names, given.features, mode, _word(case))
    return read(Audit.from_evidence(evidence, np.arange(len(case.y))))


def _by_probabilities(given: Given) -> Found:
    """What `Audit.from_predictions` says of our networks' answers: no features, but the user's word."""
    case = given.case
    p = case.probabilities if case.probabilities is not None else given.network("held-out")
    return read(
        Audit.from_predictions(p, case.y, classes=tuple(range(case.num_classes)), overlap=_word(case))
    )


def _word(case: Case) -> Overlap:
    """What a user says of the classes."""
    return "none" if case.one_true_class else "possible"


def read(found: Audit) -> Found:
    """What is measured of an audit."""
    return {
        "score": found.score, "flagged": found.suspected, "kind": found.kind, "suggested": found.suggested,
        "estimated": found.contamination["total"],
        **({"interval": found.ranges["total"]} if "total" in found.ranges else {}),
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
    "graylearn probabilities": _by_probabilities,
    **{f"cleanlab {name}": _cleanlab(name) for name in FILTERS},
    "predicted != given": _margin(0.0),
    f"margin > {MARGIN}": _margin(MARGIN),
}
