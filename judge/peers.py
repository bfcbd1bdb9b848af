"""What else finds wrong labels and foreign samples, on the same cases as the judge.

cleanlab's five filters over five-fold predictions of logistic regression, boosted trees and a forest; two
detectors of PyOD; the area under the margin (Pleiss et al.), with its threshold from samples of an invented
class; and the order by 1 - confidence of each model, which is no audit at all. Each is used as its
documentation has it, with what it chooses by default.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from judge.dirt import standardised

MODELS = ("logistic", "boosted", "forest")
FILTERS = ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning", "low_self_confidence")
"""cleanlab's ways to choose; the first is its default."""
WIDE = 200
"""Of more columns than this, which only embeddings have, trees are not asked: regression is better there, and
they take minutes."""
EPOCHS = 30
Found = dict[str, Any]


def _model(name: str) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "logistic":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    if name == "forest":
        return RandomForestClassifier(random_state=0)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=50, n_jobs=1, verbosity=-1, random_state=0)


def folds(name: str, features: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(N, K) out-of-fold probabilities of a model; a class that a fold's training part lacks gets 0."""
    from sklearn.model_selection import StratifiedKFold

    warnings.filterwarnings("ignore")
    features = np.nan_to_num(features)
    p = np.zeros((len(label), int(label.max()) + 1))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(features, label):
        model = _model(name).fit(features[train], label[train])
        p[np.ix_(test, model.classes_)] = model.predict_proba(features[test])
    p = np.clip(p, 1e-6, None)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def area_under_margin(features: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score (N,), the larger the worse, and what is suspected, by margins while a small network learns.

    Twice, 1/(K+1) of the samples each time bear the label of an invented class: what has a smaller area than
    99 % of these have is suspected. A sample is judged by the run in which it kept its label.
    """
    import torch
    from torch.nn.functional import cross_entropy

    random, k = np.random.default_rng(0), int(label.max()) + 1
    x = torch.as_tensor(standardised(features))
    order, count = random.permutation(len(label)), max(1, len(label) // (k + 1))
    area, suspected = np.full(len(label), np.nan), np.zeros(len(label), dtype=bool)
    for invented in (order[:count], order[count : 2 * count]):
        torch.manual_seed(0)
        y = torch.as_tensor(label.copy())
        y[invented] = k
        net = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 256), torch.nn.ReLU(), torch.nn.Linear(256, k + 1)
        )
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
        margins = torch.zeros(len(y))
        for _ in range(EPOCHS):
            for rows in torch.as_tensor(random.permutation(len(y))).split(64):
                logits = net(x[rows])
                optimizer.zero_grad()
                cross_entropy(logits, y[rows]).backward()
                optimizer.step()
                with torch.no_grad():
                    own = logits.gather(1, y[rows, None])[:, 0]
                    other = logits.scatter(1, y[rows, None], -torch.inf).amax(1)
                    margins[rows] += (own - other) / EPOCHS
        found, kept = margins.numpy(), np.ones(len(y), dtype=bool)
        kept[invented] = False
        limit = np.quantile(found[invented], 0.99)
        fresh = kept & np.isnan(area)
        area[fresh], suspected[fresh] = found[fresh], found[fresh] < limit
    return -area, suspected


def peers(case: dict[str, np.ndarray]) -> Iterator[tuple[str, Found]]:
    """Name and what was found, of each peer that can read the case; seconds with the predictions."""
    label, features = case["label"], case["features"]
    if "probabilities" in case:
        opinions = {"given": (np.clip(case["probabilities"].astype(np.float64), 1e-6, None), 0.0)}
    else:
        models = MODELS if features.shape[1] <= WIDE else MODELS[:1]
        opinions = {name: _timed(folds, name, features, label) for name in models}
    for name, (p, seconds) in opinions.items():
        score = 1.0 - p[np.arange(len(label)), label]
        yield f"1 - confidence, {name}", {"score": score, "seconds": seconds}
        yield from _cleanlab(name, p / p.sum(axis=1, keepdims=True), label, score, seconds)
    if features.shape[1] and len(label) >= 100:
        (score, suspected), seconds = _timed(area_under_margin, features, label)
        yield "aum", {"score": score, "suspected": suspected, "seconds": seconds}
    if features.shape[1]:
        yield from _pyod(features)


def _timed(call: Callable[..., Any], *words: Any, **more: Any) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    began = time.process_time()
    found = call(*words, **more)
    return found, time.process_time() - began


def _cleanlab(
    name: str, p: np.ndarray, label: np.ndarray, score: np.ndarray, seconds: float
) -> Iterator[tuple[str, Found]]:
    from cleanlab.filter import find_label_issues

    for filter_by in FILTERS:
        try:
            found, took = _timed(find_label_issues, label, p, filter_by=filter_by, n_jobs=1)
        except Exception:  # a filter may refuse a set; the others are kept
            continue
        answer = {"score": score, "suspected": np.asarray(found, dtype=bool), "seconds": seconds + took}
        yield f"cleanlab {filter_by}, {name}", answer


def _pyod(features: np.ndarray) -> Iterator[tuple[str, Found]]:
    from pyod.models.iforest import IForest
    from pyod.models.knn import KNN

    scaled = standardised(features)
    for name, detector in (("knn", KNN()), ("iforest", IForest(random_state=0))):
        _, seconds = _timed(detector.fit, scaled)
        suspected = detector.labels_.astype(bool)
        yield f"pyod {name}", {"score": detector.decision_scores_, "suspected": suspected, "seconds": seconds}
