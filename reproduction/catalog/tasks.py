"""The paper's experiments on tables as one call: a contaminated training set and a clean test set."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from graylearn.data.contaminate import Contaminated, contaminate
from graylearn.data.samples import Samples
from graylearn.data.splits import train_test_split
from reproduction.catalog.entries import CATALOG
from reproduction.splits import hold_out_smallest

TABLES: tuple[str, ...] = tuple(entry.name for entry in CATALOG.values() if entry.kind == "table")
"""The names of the paper's eight tables."""


def paper_task(
    samples: Samples, seed: int = 0, *, alpha: float = 0.1, labels: Literal["random", "specific"] = "random"
) -> tuple[Contaminated, Samples]:
    """(train, test) of a table as the paper's text says; features are as published, not scaled.

    The smallest class is OOD (of equally small ones the first), a stratified fifth of the others is test, and
    OOD samples with random or specific labels make up `alpha` of train. Where the smallest class is too small
    for that (Arrhythmia, WineQT) all of it is taken and `train.alpha` is lower.
    """
    inside, ood = hold_out_smallest(samples)
    train, test = train_test_split(inside, seed=seed)
    return contaminate(train, ood_x=ood, alpha=alpha, labels=labels, on_shortage="lower", seed=seed), test


def feature_sum_labels(x: np.ndarray, num_classes: int) -> np.ndarray:
    """The released code's labels for OOD rows: int(|sum of features|) mod K, summed by torch in float32."""
    sums = [row.sum().item() for row in torch.from_numpy(x.astype(np.float32))]
    return np.array([int(abs(total)) % num_classes for total in sums], dtype=np.int64)
