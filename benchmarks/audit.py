"""The audit against cleanlab, PyOD and a standard-trained network: does it find what does not belong?

    python benchmarks/audit.py --data FOLDER --features FOLDER --out results/audit.jsonl

One JSON line a cell, setting, seed and method; a run that was cut short goes on where it was. All methods
see the same scaled features. `--features` holds cifar10-features.npz, tiny-features.npz (EfficientNet-Lite0)
and banking77-features.npz (MiniLM), as graylearn.data.embed_images and embed_text make them.
`--summary` prints the tables of an output file and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import audit_cells as cells
import numpy as np
import pandas as pd
import record
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from graylearn.audit import audit
from graylearn.audit.heldout import held_out_probabilities, schedule_for
from graylearn.audit.inputs import as_features
from graylearn.audit.views import scaled
from graylearn.data import Contaminated
from graylearn.nets.mlp import MLP
from graylearn.training import OptimizerSettings, train

Scores = dict[str, Any]


class Set:
    """One contaminated set, and the 5-fold predictions that several peers share."""

    def __init__(self, data: Contaminated) -> None:
        self.data = data
        self.y, self.num_classes = data.y, len(data.classes)
        self.raw = scaled(np.asarray(data.x))  # what peers get: all columns
        self.features = as_features(data.x, len(data))
        self.folds: dict[str, tuple[np.ndarray, float]] = {}

    def five_folds(self, kind: str) -> tuple[np.ndarray, float]:
        """Out-of-sample class probabilities of a logistic regression or of our network, and their time."""
        if kind not in self.folds:
            began = time.perf_counter()
            if kind == "mlp":
                p = held_out_probabilities(self.features, self.y, self.num_classes, folds=5, repeats=1)
            else:
                p = self._logistic()
            self.folds[kind] = np.asarray(p), time.perf_counter() - began
        return self.folds[kind]

    def _logistic(self) -> np.ndarray:
        p = np.zeros((len(self.y), self.num_classes))
        for seen, held in StratifiedKFold(5, shuffle=True, random_state=0).split(self.features, self.y):
            model = LogisticRegression(C=0.1, max_iter=200).fit(self.features[seen], self.y[seen])
            p[np.ix_(held, model.classes_)] = model.predict_proba(self.features[held])
        return np.clip(p, 1e-9, None) / np.clip(p, 1e-9, None).sum(axis=1, keepdims=True)


def _ours(mode: str) -> Callable[[Set], Scores]:
    def method(given: Set) -> Scores:
        found = audit(given.data.x, given.y, classes=range(given.num_classes), mode=mode)  # type: ignore[arg-type]
        kinds = {"kind": found.kind, "suggested": found.suggested, "form": found.form}
        return {
            "score": found.score,
            "flagged": found.suspected,
            "estimated": found.contamination["total"],
            **kinds,
        }

    return method


def _standard(given: Set) -> Scores:
    """Label probability of a network trained by cross entropy, after its last epoch."""
    batch, rate, epochs = schedule_for(len(given.y), 20)
    torch.manual_seed(0)
    model = MLP(given.num_classes, (given.features.shape[1],), dropout=0.2)
    run = train(
        model,
        (given.features, given.y),
        method="standard",
        epochs=epochs,
        batch_size=batch,
        optimizer=OptimizerSettings("adamw", rate, weight_decay=1e-2),
        device="cpu",
        log="none",
    )
    p = torch.softmax(torch.as_tensor(run.predict_logits(given.features)), dim=1).numpy()
    return {"score": 1 - p[np.arange(len(given.y)), given.y]}


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
        p, seconds = given.five_folds("mlp")
        began = time.perf_counter()
        score = 1 - OutOfDistribution().fit_score(pred_probs=p, labels=given.y, verbose=False)
        return {"score": score, "seconds": seconds + time.perf_counter() - began}

    return method


def _pyod(kind: str) -> Callable[[Set], Scores]:
    def method(given: Set) -> Scores:
        from pyod.models.ecod import ECOD
        from pyod.models.iforest import IForest
        from pyod.models.knn import KNN
        from pyod.models.lof import LOF

        made = {"iforest": lambda: IForest(random_state=0), "lof": LOF, "ecod": ECOD, "knn": KNN}[kind]()
        made.fit(given.features)
        return {"score": np.asarray(made.decision_scores_)}

    return method


METHODS: dict[str, Callable[[Set], Scores]] = {
    "graylearn held-out": _ours("held-out"),
    "graylearn history": _ours("history"),
    "standard": _standard,
    "cleanlab mlp": _cleanlab("mlp"),
    "cleanlab logistic": _cleanlab("logistic"),
    "cleanlab ood probabilities": _cleanlab_ood("probabilities"),
    "cleanlab ood features": _cleanlab_ood("features"),
    "pyod iforest": _pyod("iforest"),
    "pyod lof": _pyod("lof"),
    "pyod ecod": _pyod("ecod"),
    "pyod knn": _pyod("knn"),
}


MEASURES = (
    "auroc", "ap", "precision", "recall", "f1", "auroc_wrong", "ap_wrong", "flagged", "estimated",
    "kind_ood", "kind_wrong", "suggestion", "seconds",
)  # fmt: skip


def judged(data: Contaminated, found: Scores) -> dict[str, Any]:
    """All measures of one method on one set."""
    bad, wrong = data.is_ood | data.is_flipped, data.is_flipped
    score = np.nan_to_num(np.asarray(found["score"], dtype=np.float64), posinf=1e30, neginf=-1e30)
    row: dict[str, Any] = {"contaminated": float(bad.mean())}
    if bad.any():
        row |= {"auroc": roc_auc_score(bad, score), "ap": average_precision_score(bad, score)}
    if wrong.any():
        inside = ~data.is_ood
        row |= {
            "auroc_wrong": roc_auc_score(wrong[inside], score[inside]),
            "ap_wrong": average_precision_score(wrong[inside], score[inside]),
        }
    if "flagged" in found:
        flagged = np.asarray(found["flagged"], dtype=bool)
        hit = int((flagged & bad).sum())
        row["flagged"] = float(flagged.mean())
        if bad.any():
            row["precision"] = hit / max(int(flagged.sum()), 1)
            row["recall"] = hit / int(bad.sum())
            row["f1"] = 2 * hit / max(int(flagged.sum() + bad.sum()), 1)
    if "kind" in found:
        row |= {"form": found["form"], "estimated": found["estimated"]}
        for name, truth, kind in (("kind_ood", data.is_ood, 2), ("kind_wrong", wrong, 1)):
            caught = truth & found["flagged"]
            if caught.any():
                row[name] = float((found["kind"][caught] == kind).mean())
        named = wrong & (found["kind"] == 1)
        if named.any():
            row["suggestion"] = float((found["suggested"][named] == data.true_y[named]).mean())
    return {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}


def measure(
    cell: str, setting: str, seed: int, methods: list[str], args: argparse.Namespace
) -> list[dict[str, Any]]:
    """Rows of all methods on one set."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    given = Set(cells.make(cell, setting, seed, args.data, args.features))
    rows = []
    for method in methods:
        began = time.perf_counter()
        found = METHODS[method](given)
        seconds = found.get("seconds", time.perf_counter() - began)
        rows.append(
            {
                "cell": cell, "setting": setting, "seed": seed, "method": method, "K": given.num_classes,
                "N": len(given.y), "D": given.raw.shape[1], "seconds": round(seconds, 3),
                **judged(given.data, found),
            }
        )  # fmt: skip
    return rows


def plan(args: argparse.Namespace) -> Iterator[tuple[str, str, int, list[str]]]:
    """What is left to measure: cell, setting, seed, methods."""
    done = set()
    if args.out.exists():
        for line in args.out.read_text().splitlines():
            row = json.loads(line)
            done.add((row["cell"], row["setting"], row["seed"], row["method"]))
    for seed in args.seeds:
        for cell in args.cells:
            for setting in args.settings:
                if setting in cells.HARD and cell not in cells.HARD_CELLS:
                    continue
                left = [m for m in args.methods if (cell, setting, seed, m) not in done]
                if left:
                    yield cell, setting, seed, left


def summary(path: Path) -> str:
    """The tables of an output file: means over seeds and cells, by method."""
    frame = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    frame = frame.reindex(columns=[*frame.columns, *(set(MEASURES) - set(frame.columns))])
    usual = frame[frame.setting.isin(["ood10", "ood20", "mix"])]
    parts = []
    for title, part in (
        ("K >= 4: 10 % OOD, 20 % OOD, mix", usual[usual.K >= 4]),
        ("K <= 3: 10 % OOD, 20 % OOD, mix", usual[usual.K < 4]),
        ("specific labels", frame[frame.setting == "specific"]),
    ):
        columns = ["auroc", "ap", "precision", "recall", "f1", "auroc_wrong", "ap_wrong", "seconds"]
        parts.append(f"## {title}\n{part.groupby('method')[columns].mean().round(3).to_string()}")
    clean = frame[frame.setting == "clean"]
    parts.append(
        "## flagged on clean sets\n"
        + clean.groupby("method").flagged.agg(["mean", "max"]).dropna().round(4).to_string()
    )
    table = usual.pivot_table(index="method", columns="cell", values="ap").round(3)
    parts.append(f"## average precision by cell\n{table.to_string()}")
    ours = frame[frame.method.str.startswith("graylearn")]
    table = ours.groupby(["method", "setting", "cell"])[[*MEASURES, "contaminated"]].mean().round(3)
    parts.append(f"## the audit, by setting and cell\n{table.to_string()}")
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = [*cells.SETTINGS, *cells.HARD]
    default = Path(os.environ.get("GRAYLEARN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of the tables")
    parser.add_argument(
        "--features", type=Path, default=default / "features", help="folder of the feature files"
    )
    parser.add_argument("--cells", nargs="+", default=list(cells.CELLS), choices=list(cells.CELLS))
    parser.add_argument("--settings", nargs="+", default=every, choices=every)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("results/audit.jsonl"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--summary", action="store_true", help="print the tables of --out and stop")
    args = parser.parse_args()
    if not args.summary:
        left = list(plan(args))
        with parallel_config("loky", inner_max_num_threads=1):
            results = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(
                delayed(measure)(*task, args) for task in left
            )
        for count, rows in enumerate(results, 1):
            for row in rows:
                record.append(record.record("audit", **row), args.out)
            print(f"{count}/{len(left)} {rows[0]['cell']} {rows[0]['setting']} {rows[0]['seed']}", flush=True)
    print(summary(args.out))


if __name__ == "__main__":
    main()
