"""The audit beside cleanlab's label issues by logistic regression in five folds; see `scale.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graylearn.audit.audit import audit
from graylearn.data.splits import stratified_choice
from reproduction.catalog import load


def measure_heartbeats(n: int, data: Path) -> Iterator[dict[str, Any]]:
    """Beside cleanlab on real rows that no plane parts: heartbeats, a tenth of them labelled at random."""
    beats = load("arrhythmia", data, split="all")
    some = beats.take(stratified_choice(beats.y, min(n, len(beats.y)), 0))
    random = np.random.default_rng(0)
    drawn = random.integers(0, some.num_classes, len(some.y))
    given = np.where(random.random(len(some.y)) < 0.1, drawn, some.y)
    found = beside_cleanlab(np.asarray(some.x, dtype=np.float32), given, given != some.y)
    yield {"samples": len(given), **found}  # there may be fewer than asked for


def beside_cleanlab(x: np.ndarray, y: np.ndarray, bad: np.ndarray) -> dict[str, Any]:
    """Beside cleanlab's label quality by logistic regression in five folds."""
    from cleanlab.filter import find_label_issues

    def theirs() -> np.ndarray:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        said = cross_val_predict(model, x, y, cv=5, method="predict_proba")
        find_label_issues(y, said, return_indices_ranked_by="self_confidence", n_jobs=1)
        return np.asarray(said[np.arange(len(y)), y])

    audit(x[:500], y[:500])  # imports
    began = time.process_time()
    found = audit(x, y)
    mine, began = time.process_time() - began, time.process_time()
    quality = theirs()
    taken = time.process_time() - began
    return {
        "cpu_seconds": mine, "ap": float(average_precision_score(bad, found.score)),
        "cleanlab_cpu_seconds": taken, "cleanlab_ap": float(average_precision_score(bad, -quality)),
        "ratio": mine / taken,
    }  # fmt: skip
