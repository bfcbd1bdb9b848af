"""Several annotators: consensus, their quality and the samples to ask about again, against peers.

    python -m benchmarks annotators --data FOLDER --features FOLDER   # results/annotators.jsonl, then a table

Two crowds: what three people each said of CIFAR-10 images (CIFAR-10N; --features holds cifar10.npz with
EfficientNet `features` and their `rows`), 3,000 images a seed; and 25 simulated annotators of scikit-learn's
digits, two of whom answer at random and five confuse pairs of classes, each sample labelled by one to four of
them. All ways that read a model read the same
probabilities, those of the audit's views. The estimate was designed on the first
3,000 images; no seed has just these.

    majority       the class given most often
    dawid-skene    our estimate without a model
    graylearn      our estimate with one
    crowdlab       cleanlab's get_label_quality_multiannotator
    model          the views alone
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pandas as pd
import torch
from cleanlab.multiannotator import get_label_quality_multiannotator
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from benchmarks import record
from graylearn.audit.annotators import consensus
from graylearn.audit.inputs import described
from graylearn.audit.verdict import views_say
from graylearn.metrics import auroc

RESULTS = Path(__file__).resolve().parent.parent / "results" / "annotators.jsonl"
ROWS = 3000
Case = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Features (N, D), labels (N, A) with NaN for none, true classes (N,)."""


def people(seed: int, args: argparse.Namespace) -> Case:
    with np.load(args.features / "cifar10.npz") as file:
        some = np.random.default_rng(seed).permutation(len(file["rows"]))[:ROWS]
        x, rows = file["features"][some].astype(np.float32), file["rows"][some]
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
        row["quality_rank"] = float(spearmanr(quality, right).statistic)
    return row


def measure(crowd: str, seed: int, args: argparse.Namespace) -> dict[str, dict[str, float]]:
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
        began = time.process_time()
        found = consensus(labels, pred_probs=given, classes=range(k))
        rows[way] = judged(found.probabilities.argmax(axis=1), found.confidence, found.quality, case)
        rows[way]["cpu"] = time.process_time() - began
    began = time.process_time()
    peer = get_label_quality_multiannotator(pd.DataFrame(labels), said, verbose=False)
    best, stats = peer["label_quality"], peer["annotator_stats"].sort_index()
    rows["crowdlab"] = judged(
        best["consensus_label"].to_numpy().astype(int),
        best["consensus_quality_score"].to_numpy(),
        stats["annotator_quality"].to_numpy(),
        case,
    ) | {"cpu": time.process_time() - began}
    return rows


def table(path: Path) -> str:
    rows = record.rows(path)
    shown = {"accuracy": 100, "auroc": 100, "quality_error": 100, "quality_rank": 1}
    lines = []
    for crowd in CROWDS:
        seeds = len({r["seed"] for r in rows if r["crowd"] == crowd})
        lines += [
            f"\n{crowd}, {seeds} seeds\n",
            "| way | consensus right, % | doubt tells wrong ones, AUROC % | error of quality, points | "
            "rank correlation of quality |",
            "|---|---:|---:|---:|---:|",
        ]
        for way in ("majority", "model", "dawid-skene", "graylearn", "crowdlab"):
            found = [r for r in rows if r["crowd"] == crowd and r["way"] == way]
            cells = []
            for name, times in shown.items():
                values = [times * r[name] for r in found if name in r]
                digits = 1 if times > 1 else 2
                enough = len(values) > 1
                cells.append(f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}" if enough else "-")
            lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = record.parser(__doc__, RESULTS)
    parser.add_argument("--data", type=Path, required=True, help="folder of cifar-10n")
    parser.add_argument("--features", type=Path, required=True, help="folder of the features")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for seed in [] if args.summary else args.seeds:
        for crowd in CROWDS:
            for way, row in measure(crowd, seed, args).items():
                rounded = {name: round(value, 4) for name, value in row.items()}
                record.append(
                    record.record("annotators", crowd=crowd, seed=seed, way=way, **rounded), args.out
                )
            print(crowd, seed, flush=True)
    print(table(args.out))
