"""Samples of no class at test time: ood_score beside the scores and the methods that the paper names.

    python -m benchmarks test_time --features FOLDER --out results/test_time.jsonl

Small networks (two layers of 128) on features of images, not the paper's networks on pixels: FOLDER has
cifar10-features.npz and tiny-features.npz (train_x, train_y) and svhn-features.npz (test_x), made by
`graylearn.data.embed_images`. Each set has samples to learn from, new ones of the same classes, samples of no
class to test on, and others that are known to belong to no class, for the methods that ask for such:

    cifar10-svhn       CIFAR-10 against SVHN; known: Tiny-ImageNet
    cifar10-tiny       CIFAR-10 against half of the classes of Tiny-ImageNet; known: the other half
    cifar8-cifar2      eight classes of CIFAR-10 against the other two; known: Tiny-ImageNet
    tiny25-tiny25      half of the classes of Tiny-ImageNet against the other half; known: CIFAR-10
    digits             pixels of digits 0 to 7 against 8 and 9; nothing is known

Learned from as they are (clean), or with a fifth of them samples of no class under random labels, taken from
where those of the test are (dirty). "known" in the name of a method: it has the known samples.
Samples of no class are the positives of AUROC.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

from benchmarks import record
from graylearn import metrics
from graylearn.data import contaminate
from graylearn.data.batches import Preparation
from graylearn.estimator.networks import outputs_of
from graylearn.estimator.rejection import OURS, SCORES, learn_reference
from graylearn.methods import make_method
from graylearn.nets import MLP, PrototypeNet
from graylearn.training import train

RESULTS = record.RESULTS / "test_time.jsonl"
SETS = ("cifar10-svhn", "cifar10-tiny", "cifar8-cifar2", "tiny25-tiny25", "digits")
SETTINGS = ("clean", "dirty")
METHODS = ("standard", "gl", "isomax", "confident", "oe", "oe known", "prior-network", "prior-network known")
SCORE_OF = {
    "standard": "msp", "gl": OURS, "isomax": "entropy", "confident": "msp", "oe": "msp", "oe known": "msp",
    "prior-network": "mutual-information", "prior-network known": "mutual-information",
}  # fmt: skip
"""The score that its authors ask the network of a method for."""
TRAIN, TEST, KNOWN = 1500, 800, 1500
EPOCHS, BATCH = 10, 64
CIFAR_LIKE = (116, 145, 153)
"""Classes of Tiny-ImageNet that are also of CIFAR-10: limousine, school bus, sports car."""


@dataclass
class Split:
    """Samples to learn from and to test on, scaled by the first."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    ood_x: np.ndarray
    known: np.ndarray | None


def arrays(path: Path, *names: str) -> list[np.ndarray]:
    with np.load(path) as file:
        return [file[name].astype(np.float32 if name.endswith("x") else np.int64) for name in names]


def parts(name: str, features: Path, random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """(x, y) of the classes that belong, samples of no class, and known ones of no class, or none."""
    if name == "digits":
        x, y = load_digits(return_X_y=True)
        return x[y < 8].astype(np.float32), y[y < 8], x[y >= 8].astype(np.float32), None
    cifar_x, cifar_y = arrays(features / "cifar10-features.npz", "train_x", "train_y")
    tiny_x, tiny_y = arrays(features / "tiny-features.npz", "train_x", "train_y")
    half = np.isin(tiny_y, random.permutation(np.unique(tiny_y))[:25])
    if name == "tiny25-tiny25":
        return tiny_x[half], tiny_y[half], tiny_x[~half], cifar_x
    other = ~np.isin(tiny_y, CIFAR_LIKE)
    if name == "cifar10-svhn":
        return cifar_x, cifar_y, arrays(features / "svhn-features.npz", "test_x")[0], tiny_x[other]
    if name == "cifar10-tiny":
        return cifar_x, cifar_y, tiny_x[other & half], tiny_x[other & ~half]
    eight = np.isin(cifar_y, random.permutation(10)[:8])
    return cifar_x[eight], cifar_y[eight], cifar_x[~eight], tiny_x[other]


@lru_cache(maxsize=1)
def make(name: str, setting: str, seed: int, features: Path) -> Split:
    random = np.random.default_rng(seed)
    x, y, ood_x, known = parts(name, features, random)
    y = np.unique(y, return_inverse=True)[1]
    order, ood_order = random.permutation(len(x)), random.permutation(len(ood_x))
    train_size = min(TRAIN, len(x) - min(TEST, len(x) // 3))
    own, new = order[:train_size], order[train_size : train_size + TEST]
    test_size = min(TEST, len(ood_x) // 2)
    given_x, given_y = x[own], y[own]
    if setting == "dirty":
        mixed = contaminate(
            given_x, given_y, ood_x[ood_order[test_size:]], alpha=0.2, on_shortage="subsample", seed=seed
        )
        given_x, given_y = np.asarray(mixed.x), mixed.y
    if known is not None:
        known = known[random.permutation(len(known))[:KNOWN]]
    middle, spread = given_x.mean(axis=0), np.maximum(given_x.std(axis=0), 1e-3)

    def scaled(rows: Any) -> Any:
        return None if rows is None else ((rows - middle) / spread).astype(np.float32)

    outside = ood_x[ood_order[:test_size]]
    return Split(scaled(given_x), given_y, scaled(x[new]), y[new], scaled(outside), scaled(known))


def measure(where: str, setting: str, seed: int, name: str, features: Path) -> Iterator[record.Row]:
    """Train by one method, and judge every score of its network."""
    split = make(where, setting, seed, features)
    torch.manual_seed(seed)
    classes = int(split.y.max()) + 1
    network: Any = MLP(classes, split.x.shape[1:], hidden=(128, 128))
    network = PrototypeNet(network) if name == "isomax" else network
    bare = name.removesuffix(" known")
    method = make_method(bare, **({"outliers": split.known} if bare != name else {}))
    train(
        network, (split.x, split.y), method=method, epochs=EPOCHS, batch_size=BATCH,
        optimizer="adam", learning_rate=1e-3, seed=seed, device="cpu", log="none",
    )  # fmt: skip
    network.eval()
    own, new, outside = (outputs_of(network, x, Preparation()) for x in (split.x, split.test_x, split.ood_x))
    reference = learn_reference(*own, split.y)
    is_ood = np.repeat([False, True], [len(split.test_x), len(split.ood_x)])
    found = {}
    for score, ask in SCORES.items():
        values = np.concatenate([ask(*new, reference), ask(*outside, reference)])
        found[score] = {"auroc": round(metrics.auroc(values, is_ood), 4)}
    right = float(np.mean(new[0].argmax(axis=1) == split.test_y))
    sizes = {"samples": len(split.y), "classes": classes, "columns": split.x.shape[1]}
    yield {**sizes, "accuracy": round(right, 4), "scores": found}


def of_scores() -> str:
    """AUROC of every score of networks by cross entropy and by gl, mean over sets."""
    body = []
    for score in SCORES:
        cells = []
        for setting, method in itertools.product(SETTINGS, ("standard", "gl")):
            by_set = defaultdict(list)
            for row in record.rows(RESULTS):
                if (row["setting"], row["method"]) == (setting, method):
                    by_set[row["set"]].append(row["scores"][score]["auroc"])
            cells.append(f"{mean(map(mean, by_set.values())):.3f}")
        body.append([score, *cells])
    head = ["score", "clean, cross entropy", "clean, gl", "dirty, cross entropy", "dirty, gl"]
    return record.markdown(head, body)


def of_methods() -> str:
    """Methods by the score of their authors and by ours: means over sets, of what all have."""
    lines: dict[str, list[str]] = {}
    for setting in SETTINGS:
        found = {
            (row["method"], row["set"], row["seed"]): row
            for row in record.rows(RESULTS)
            if row["setting"] == setting and row["set"] != "digits"
        }
        cells = {key[1:] for key in found}
        cells = {cell for cell in cells if all((method, *cell) in found for method in METHODS)}
        for method in METHODS:
            for score in dict.fromkeys((SCORE_OF[method], OURS)):
                by_set = defaultdict(list)
                for name, seed in cells:
                    row = found[method, name, seed]
                    by_set[name].append([row["scores"][score]["auroc"], row["accuracy"]])
                auroc, right = np.mean([np.mean(each, axis=0) for each in by_set.values()], axis=0)
                lines.setdefault(f"{method}, {score}", []).extend([f"{auroc:.3f}", f"{100 * right:.1f}"])
    head = ["", *(f"{setting}: {name}" for setting in SETTINGS for name in ("AUROC", "accuracy, %"))]
    return record.markdown(head, [[name, *cells] for name, cells in lines.items()])


LAB_TABLES = {"test-time.md": {"scores": of_scores, "methods": of_methods}}


def main() -> None:
    args = record.parser(__doc__, RESULTS, "features").parse_args()
    tried = itertools.product(SETS, SETTINGS, args.seeds, METHODS)
    cells = [dict(zip(("set", "setting", "seed", "method"), each, strict=True)) for each in tried]
    cells = [c for c in cells if c["set"] != "digits" or not c["method"].endswith("known")]
    record.sweep("test time", args.out, cells, partial(measure, features=args.features))
