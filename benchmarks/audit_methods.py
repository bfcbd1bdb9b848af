"""The methods that benchmarks/audit.py compares: the audit, and its peers on the same features."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from graylearn.audit import audit
from graylearn.audit.heldout import held_out_probabilities, schedule_for
from graylearn.audit.inputs import as_features
from graylearn.audit.scaling import scaled
from graylearn.data import Contaminated
from graylearn.nets.mlp import MLP
from graylearn.training import OptimizerSettings, train

Scores = dict[str, Any]


def _stand_ins() -> None:
    """PyOD imports numba for a decorator and matplotlib for plots, cleanlab termcolor for coloured print.

    None of them changes what is measured here.
    """
    if importlib.util.find_spec("termcolor") is None:
        termcolor = types.ModuleType("termcolor")
        vars(termcolor)["colored"] = lambda text, *_, **__: text
        sys.modules["termcolor"] = termcolor
    if importlib.util.find_spec("numba") is None:
        numba = types.ModuleType("numba")
        vars(numba)["njit"] = lambda function: function
        sys.modules["numba"] = numba
    if importlib.util.find_spec("matplotlib") is None:
        sys.modules["matplotlib"] = types.ModuleType("matplotlib")
        sys.modules["matplotlib.pyplot"] = types.ModuleType("matplotlib.pyplot")


_stand_ins()


class Set:
    """One contaminated set, and the 5-fold predictions that several peers share."""

    def __init__(self, data: Contaminated) -> None:
        self.data = data
        self.y, self.num_classes = data.y, len(data.classes)
        self.raw = scaled(np.asarray(data.x))  # all columns
        began = time.perf_counter()
        self.features = as_features(data.x, len(data))  # what all learn from: at most 256 columns
        self.encoding = time.perf_counter() - began
        self.folds: dict[str, tuple[np.ndarray, float]] = {}

    def five_folds(self, kind: str) -> tuple[np.ndarray, float]:
        """Out-of-sample class probabilities and the time they took, the encoding of the features included.

        `logistic`: a regression; `mlp`: our network, all folds as one stack and averaged over epochs, which
        is more than a peer would do for itself; `mlp one by one`: the same network, fold after fold, as
        cross_val_predict does it.
        """
        if kind not in self.folds:
            began = time.perf_counter()
            if kind == "mlp":
                p = held_out_probabilities(self.features, self.y, self.num_classes, folds=5, repeats=1)
            else:
                p = self._fold_after_fold(kind)
            self.folds[kind] = np.asarray(p), time.perf_counter() - began + self.encoding
        return self.folds[kind]

    def _fold_after_fold(self, kind: str) -> np.ndarray:
        p = np.zeros((len(self.y), self.num_classes))
        for seen, held in StratifiedKFold(5, shuffle=True, random_state=0).split(self.features, self.y):
            if kind == "logistic":
                model = LogisticRegression(C=0.1, max_iter=200).fit(self.features[seen], self.y[seen])
                p[np.ix_(held, model.classes_)] = model.predict_proba(self.features[held])
            else:
                p[held] = self.trained(seen, held)
        return np.clip(p, 1e-9, None) / np.clip(p, 1e-9, None).sum(axis=1, keepdims=True)

    def trained(self, seen: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Class probabilities of the samples `asked` by our network trained by cross entropy on `seen`."""
        batch, rate, epochs = schedule_for(len(seen), 20)
        torch.manual_seed(0)
        model = MLP(self.num_classes, (self.features.shape[1],), dropout=0.2)
        run = train(
            model,
            (self.features[seen], self.y[seen]),
            method="standard",
            epochs=epochs,
            batch_size=batch,
            optimizer=OptimizerSettings("adamw", rate, weight_decay=1e-2),
            device="cpu",
            log="none",
        )
        return torch.softmax(torch.as_tensor(run.predict_logits(self.features[asked])), dim=1).numpy()


def _ours(mode: str) -> Callable[[Set], Scores]:
    def method(given: Set) -> Scores:
        found = audit(given.data.x, given.y, classes=range(given.num_classes), mode=mode)  # type: ignore[arg-type]
        return {
            "score": found.score, "flagged": found.suspected, "kind": found.kind, "form": found.form,
            "suggested": found.suggested, "estimated": found.contamination["total"],
        }  # fmt: skip

    return method


def _standard(given: Set) -> Scores:
    """Label probability of a network trained by cross entropy, after its last epoch."""
    began = time.perf_counter()
    everyone = np.arange(len(given.y))
    p = given.trained(everyone, everyone)
    return {"score": 1 - p[everyone, given.y], "seconds": time.perf_counter() - began + given.encoding}


def _cleanlab(kind: str) -> Callable[[Set], Scores]:
    def method(given: Set) -> Scores:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores

        p, seconds = given.five_folds(kind)
        began = time.perf_counter()
        quality = get_label_quality_scores(given.y, p, method="self_confidence")
        flagged = find_label_issues(given.y, p, n_jobs=1)
        return {"score": 1 - quality, "flagged": flagged, "seconds": seconds + time.perf_counter() - began}

    return method


def _cleanlab_ood(kind: str) -> Callable[[Set], Scores]:
    def method(given: Set) -> Scores:
        from cleanlab.outlier import OutOfDistribution

        if kind == "features":
            return {"score": 1 - OutOfDistribution().fit_score(features=given.raw, verbose=False)}
        p, seconds = given.five_folds(kind)
        began = time.perf_counter()
        score = 1 - OutOfDistribution().fit_score(pred_probs=p, labels=given.y, verbose=False)
        return {"score": score, "seconds": seconds + time.perf_counter() - began}

    return method


def _pyod(module: str, name: str) -> Callable[[Set], Scores]:
    """A detector with its own settings; it flags the tenth that its default contamination says."""

    def method(given: Set) -> Scores:
        made = getattr(importlib.import_module(module), name)
        began = time.perf_counter()
        detector = made(random_state=0) if name == "IForest" else made()
        detector.fit(given.features)
        return {
            "score": np.asarray(detector.decision_scores_),
            "flagged": np.asarray(detector.labels_, dtype=bool),
            "seconds": time.perf_counter() - began + given.encoding,
        }

    return method


METHODS: dict[str, Callable[[Set], Scores]] = {
    "graylearn held-out": _ours("held-out"),
    "graylearn history": _ours("history"),
    "standard": _standard,
    "cleanlab mlp": _cleanlab("mlp"),
    "cleanlab logistic": _cleanlab("logistic"),
    "cleanlab ood mlp": _cleanlab_ood("mlp"),
    "cleanlab ood logistic": _cleanlab_ood("logistic"),
    "cleanlab ood features": _cleanlab_ood("features"),
    "pyod iforest": _pyod("pyod.models.iforest", "IForest"),
    "pyod lof": _pyod("pyod.models.lof", "LOF"),
    "pyod ecod": _pyod("pyod.models.ecod", "ECOD"),
    "pyod knn": _pyod("pyod.models.knn", "KNN"),
}
TIMED_ONLY = {"cleanlab mlp, fold after fold": _cleanlab("mlp one by one")}
"""For `--time` alone: the folds as a user would run them."""
NEEDED = {
    "cleanlab": ("cleanlab.filter", "cleanlab.rank", "cleanlab.outlier"),
    "pyod iforest": ("pyod.models.iforest",),
    "pyod lof": ("pyod.models.lof",),
    "pyod ecod": ("pyod.models.ecod",),
    "pyod knn": ("pyod.models.knn",),
}


def importable(methods: list[str]) -> list[str]:
    """The methods whose packages can be imported here; a note is printed for each that cannot."""
    kept = []
    for method in methods:
        modules = next((names for start, names in NEEDED.items() if method.startswith(start)), ())
        try:
            for module in modules:
                importlib.import_module(module)
        except Exception as error:  # a peer may fail in any way; its rows are left out
            print(f"left out: {method} ({type(error).__name__}: {error})", flush=True)
            continue
        kept.append(method)
    return kept
