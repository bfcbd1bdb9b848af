"""Several annotators: consensus, their quality and the samples to ask about again, against peers.

    python -m benchmarks annotators --data FOLDER --features FOLDER   # results/annotators.jsonl

Two crowds: what three people each said of CIFAR-10 images (CIFAR-10N; --features is what `benchmarks
features` made), 3,000 images a seed; and 25 simulated annotators of scikit-learn's digits, two of whom
answer at random and five confuse pairs of classes, each sample labelled by one to four of them. All ways
that read a model read the same probabilities, those of the audit's views. The estimate was designed on the
first 3,000 images; no seed has just these.

    majority       the class given most often
    dawid-skene    our estimate without a model
    graylearn      our estimate with one
    crowdlab       cleanlab's get_label_quality_multiannotator
    model          the views alone
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from benchmarks import record
from graylearn.audit.annotators import consensus
from graylearn.audit.inputs import described
from graylearn.audit.verdict import views_say
from graylearn.metrics import auroc

RESULTS = record.RESULTS / "annotators.jsonl"
WAYS = ("majority", "model", "dawid-skene", "graylearn", "crowdlab")
MEASURES = {"accuracy": "right, %", "auroc": "doubt, AUROC %", "quality_error": "quality"}
ROWS = 3000
Case = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Features (N, D), labels (N, A) with NaN for none, true classes (N,)."""


def people(seed: int, args: argparse.Namespace) -> Case:
    with np.load(args.features / "cifar10-features.npz") as file:
        some = np.random.default_rng(seed).permutation(len(file["rows"]))[:ROWS]
        x, rows = file["train_x"][some].astype(np.float32), file["rows"][some]
    with np.load(args.data / "cifar-10n" / "labels.npz") as file:
        labels = np.stack([file[f"random{number}"][rows] for number in (1, 2, 3)], axis=1)
        return x, labels.astype(float), file["clean"][rows].astype(np.int64)


def simulated(seed: int, args: argparse.Namespace) -> Case:
    x, true = load_digits(return_X_y=True)
    random, count = np.random.default_rng(seed), 25
    labels = np.full((len(true), count), np.nan)
    quality = random.uniform(0.55, 0.95, count)
    quality[:2] = 0.1
    for row, k in enumerate(true):
        for person in random.choice(count, random.integers(1, 5), replace=False):
            if random.random() < quality[person]:
                labels[row, person] = k
            elif 2 <= person < 7:
                labels[row, person] = k ^ 1  # takes each digit for its neighbour
            else:
                labels[row, person] = random.integers(10)
    return x.astype(np.float32), labels, true


CROWDS = {"people": people, "simulated": simulated}


def judged(
    best: np.ndarray, confidence: np.ndarray, quality: np.ndarray | None, case: Case
) -> dict[str, float]:
    """Accuracy, how well doubt tells wrong answers, and how near the qualities are to the true ones."""
    _, labels, true = case
    row = {"accuracy": float((best == true).mean()), "auroc": float(auroc(-confidence, best != true))}
    if quality is not None:
        given = ~np.isnan(labels)
        right = ((labels == true[:, None]) & given).sum(axis=0) / given.sum(axis=0)
        row["quality_error"] = float(np.abs(quality - right).mean())
    return row


def measure(crowd: str, seed: int, args: argparse.Namespace) -> list[record.Row]:
    from cleanlab.multiannotator import get_label_quality_multiannotator

    case = CROWDS[crowd](seed, args)
    x, labels, _ = case
    k = 10
    votes = np.stack([(labels == c).sum(axis=1) for c in range(k)], axis=1).astype(float)
    random = np.random.default_rng(seed)
    first = (votes + 1e-6 * random.random(votes.shape)).argmax(axis=1)
    said = views_say(*described(x, first), first, k)
    agrees = np.nanmean(np.where(np.isnan(labels), np.nan, labels == first[:, None]), axis=0)
    rows = {
        "majority": judged(first, votes.max(axis=1) / votes.sum(axis=1), agrees, case),
        "model": judged(said.argmax(axis=1), said.max(axis=1), None, case),
    }
    for way, given in (("dawid-skene", None), ("graylearn", said)):
        found = consensus(labels, pred_probs=given, classes=range(k))
        rows[way] = judged(found.probabilities.argmax(axis=1), found.confidence, found.quality, case)
    peer = get_label_quality_multiannotator(pd.DataFrame(labels), said, verbose=False)
    best, stats = peer["label_quality"], peer["annotator_stats"].sort_index()
    rows["crowdlab"] = judged(
        best["consensus_label"].to_numpy().astype(int),
        best["consensus_quality_score"].to_numpy(),
        stats["annotator_quality"].to_numpy(),
        case,
    )
    return [{"way": way, **row} for way, row in rows.items()]


def table() -> str:
    """Percent and points, over seeds."""
    body = []
    for crowd in CROWDS:
        for way in WAYS:
            found = [r for r in record.rows(RESULTS) if (r["crowd"], r["way"]) == (crowd, way)]
            cells = [record.spread([r[name] for r in found if name in r]) for name in MEASURES]
            body.append([f"{crowd}: {way}", *cells])
    return record.markdown(["", *MEASURES.values()], body)


LAB_TABLES = {"team.md": {"annotators": table}}


def main() -> None:
    args = record.parser(__doc__, RESULTS, "data", "features").parse_args()
    cells = [{"crowd": crowd, "seed": seed} for seed in args.seeds for crowd in CROWDS]
    record.sweep("annotators", args.out, cells, partial(measure, args=args))
