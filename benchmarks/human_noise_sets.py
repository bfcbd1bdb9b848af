"""Sets of the judge's evaluation (judge/cases.py): labels wrong as people err, and foreign samples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits

from benchmarks import audit_cells
from graylearn.errors import DataError

Arrays = dict[str, np.ndarray]
ROWS = 2400
"""Rows of a set at most, but for the labels of CIFAR-10N."""
ONE_TRUE_CLASS = ("digits", "cifar10", "tiny-imagenet", "banking77")
"""Sources of photos, scans and sentences: each sample has one class that a person could tell."""
PEOPLE = ("worst", "aggregate", "random1")
"""Labels of CIFAR-10N: the worst of three annotators, their majority, the first of them."""


@dataclass(frozen=True)
class Folders:
    """Where the files are."""

    data: Path
    fetched: Path
    cache: Path

    @property
    def features(self) -> Path:
        """Features that take minutes to make, made once."""
        return self.cache / "features"


def renumbered(y: np.ndarray) -> np.ndarray:
    """(N,) classes 0..K-1 in the order of the values."""
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def arrays(x: np.ndarray, label: np.ndarray, true_label: np.ndarray, **more: np.ndarray) -> Arrays:
    """The arrays of a case; the truth follows from the true labels."""
    truth = np.where(true_label < 0, 2, np.where(label != true_label, 1, 0))
    return {
        "features": np.asarray(x, dtype=np.float32), "label": label.astype(np.int64),
        "truth": truth.astype(np.int8), "true_label": true_label.astype(np.int64), **more,
    }  # fmt: skip


@functools.lru_cache(maxsize=8)
def embedded(name: str, folders: Folders) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, classes and rows of the original set, of images or texts."""
    if name == "digits":
        x, y = load_digits(return_X_y=True)
        return x.astype(np.float32), y.astype(np.int64), np.arange(len(y))
    stem = {"cifar10": "cifar10", "tiny-imagenet": "tiny", "banking77": "banking77"}[name]
    with np.load(folders.features / f"{stem}-features.npz") as file:
        x, y = (file["x"], file["y"]) if name == "banking77" else (file["train_x"], file["train_y"])
        rows = file["rows"] if "rows" in file else np.arange(len(y))
    return x.astype(np.float32), y.astype(np.int64), rows


def drawn_source(name: str, folders: Folders, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ROWS rows of the classes that the audit's cells call their own, drawn by the seed."""
    x, y, _ = embedded(name, folders)
    random = np.random.default_rng(seed)
    classes = np.random.default_rng(5).permutation(np.unique(y))
    inside = np.isin(y, classes[: {"tiny-imagenet": 25, "banking77": 40}.get(name, 10)])
    kept = np.flatnonzero(inside)
    kept = random.permutation(kept)[:ROWS]
    return x[kept], renumbered(y[kept])


# How labels go wrong: (features, classes, rate, random) -> given labels.


def pairs(x: np.ndarray, y: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """Each class is taken for the next one."""
    wrong = random.random(len(y)) < rate
    return np.where(wrong, (y + 1) % (y.max() + 1), y)


def by_class(x: np.ndarray, y: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """Each class has a rate of its own, and classes of its own that it is taken for."""
    k = int(y.max()) + 1
    rates = random.uniform(0.4, 1.6, k)
    rates = np.minimum(rate * rates / rates.mean(), 0.45)
    to = random.dirichlet(np.full(k, 0.25), k)
    np.fill_diagonal(to, 0.0)
    to /= to.sum(axis=1, keepdims=True)
    drawn = (to.cumsum(axis=1)[y] < random.random(len(y))[:, None]).sum(axis=1)
    return np.where(random.random(len(y)) < rates[y], np.minimum(drawn, k - 1), y)


def by_feature(x: np.ndarray, y: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """The farther along a random direction of the features, the likelier taken for the class most alike.

    Never more often than not: where most labels of a kind are wrong, they are what the kind is called.
    """
    scaled = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6)
    along = scaled @ random.normal(size=x.shape[1])
    rank = (along.argsort().argsort() + 0.5) / len(y)
    slope = 2.0 * rate if rate <= 0.25 else 0.125 / (0.5 - rate)  # so that the mean is the rate
    chance = np.minimum(slope * rank, 0.5)
    centre = np.stack([scaled[y == k].mean(axis=0) for k in range(y.max() + 1)])
    away = ((centre[:, None] - centre[None]) ** 2).sum(axis=2) + 1e9 * np.eye(len(centre))
    return np.where(random.random(len(y)) < chance, away.argmin(axis=1)[y], y)


def by_instance(x: np.ndarray, y: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """Each sample has a rate of its own, and what it is taken for hangs on its features and its class."""
    k = int(y.max()) + 1
    scaled = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6)
    rates = np.clip(random.normal(rate, 0.1, len(y)), 0.0, 1.0)
    rates *= rate / rates.mean()
    to = random.normal(size=(k, x.shape[1], k)) / np.sqrt(x.shape[1])
    score = np.stack([scaled[i] @ to[y[i]] for i in range(len(y))]) * 2.0
    score[np.arange(len(y)), y] = -np.inf
    chance = softmax(score, axis=1)
    drawn = (chance.cumsum(axis=1) < random.random(len(y))[:, None]).sum(axis=1)
    return np.where(random.random(len(y)) < rates, np.minimum(drawn, k - 1), y)


def uniform(x: np.ndarray, y: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """Any other class, each as likely."""
    other = random.integers(0, y.max(), len(y))
    return np.where(random.random(len(y)) < rate, other + (other >= y), y)


NOISES: dict[str, Callable[[np.ndarray, np.ndarray, float, np.random.Generator], np.ndarray]] = {
    "pairs": pairs, "by-class": by_class, "by-feature": by_feature, "by-instance": by_instance,
    "uniform": uniform,
}  # fmt: skip


def few_classes(folders: Folders, name: str, classes: int, noise: str, rate: float, seed: int) -> Arrays:
    """Two or three classes of a source, some of their labels wrong."""
    x, y = drawn_source(name, folders, seed)
    random = np.random.default_rng([seed, classes])
    kept = np.isin(y, random.permutation(int(y.max()) + 1)[:classes])
    x, y = x[kept], renumbered(y[kept])
    return arrays(x, NOISES[noise](x, y, rate, random), y)


def noisy(folders: Folders, name: str, noise: str, rate: float, seed: int) -> Arrays:
    """A source whose labels were made wrong."""
    x, y = drawn_source(name, folders, seed)
    random = np.random.default_rng([seed, round(1000 * rate), list(NOISES).index(noise)])
    return arrays(x, NOISES[noise](x, y, rate, random), y)


def people(folders: Folders, labels: str, seed: int, rows: int = 4000) -> Arrays:
    """CIFAR-10 images as EfficientNet sees them, with the labels that people gave."""
    x, y, source = embedded("cifar10", folders)
    kept = np.random.default_rng(seed).permutation(len(y))[:rows]
    with np.load(folders.data / "cifar-10n" / "labels.npz") as file:
        given, clean = file[labels][source[kept]], file["clean"][source[kept]]
    if not np.array_equal(clean, y[kept]):
        raise ValueError("the CIFAR-10 features are not in the order of CIFAR-10's training set")
    return arrays(x[kept], given, clean)


def foreign(folders: Folders, cell: str, setting: str, seed: int) -> Arrays:
    """A cell of audit_cells.py: foreign samples, and flips with `mix`."""
    source = audit_cells.CELLS[cell](folders.data, folders.features)
    made = audit_cells.mixed(source, audit_cells.SETTINGS[setting], seed)
    return arrays(made.x, made.y, made.true_y)


_ALSO_IN_CIFAR = (
    "cat", "dog", "retriever", "shepherd", "terrier", "poodle", "chihuahua", "frog", "truck", "car", "wagon",
    "limousine", "convertible", "bird", "goose", "albatross", "penguin", "stork", "boat", "ship", "liner",
    "gondola", "trolleybus", "bus", "van", "vehicle", "tractor", "gazelle", "bison", "ox", "hog",
)  # fmt: skip
"""Words in names of Tiny-ImageNet's classes that are classes of CIFAR-10 too, or nearly."""


def _other_photos(folders: Folders, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of Tiny-ImageNet's photos that show nothing of CIFAR-10's classes, shuffled."""
    x, y, _ = embedded("tiny-imagenet", folders)
    with np.load(folders.features / "tiny-imagenet.npz") as file:
        names = [str(name).lower() for name in file["class_names"]]
    allowed = [k for k in np.unique(y) if not any(word in names[k] for word in _ALSO_IN_CIFAR)]
    rows = random.permutation(np.flatnonzero(np.isin(y, allowed)))
    return x[rows], y[rows]


def _with_foreign(
    inside: Arrays, x: np.ndarray, group: np.ndarray, share: float, labels: str, random: np.random.Generator
) -> Arrays:
    """The set with foreign samples, such a share of all: random labels, or each group on one label."""
    y, true = inside["label"], inside["true_label"]
    count, classes = round(len(y) * share / (1 - share)), int(true.max()) + 1
    if count > len(x):
        raise DataError(f"{len(x)} foreign samples, {count} are needed")
    label_of = random.integers(0, classes, int(group.max()) + 1)
    drawn = random.integers(0, classes, count)
    given = label_of[group[:count]] if labels == "specific" else drawn
    return arrays(
        np.concatenate([inside["features"], x[:count]]),
        np.concatenate([y, given]),
        np.concatenate([true, np.full(count, -1)]),
    )


def foreign_photos(folders: Folders, labels: str, seed: int) -> Arrays:
    """CIFAR-10 with photos of Tiny-ImageNet's other classes: random labels, or each class on one label."""
    x, y, _ = embedded("cifar10", folders)
    random = np.random.default_rng([seed, 77])
    inside = random.permutation(len(y))[:ROWS]
    own = arrays(x[inside], y[inside], y[inside])
    return _with_foreign(own, *_other_photos(folders, random), 0.2, labels, random)


MIXED = (*(("cifar10", labels) for labels in PEOPLE), ("banking77", "pairs"), ("banking77", "by-feature"))
"""Source, and labels that people got wrong, or how a tenth was made wrong."""


def mixed(folders: Folders, source: str, noise: str, labels: str, seed: int, share: float = 0.2) -> Arrays:
    """Samples of MIXED, and foreign ones labelled as `_with_foreign` says."""
    random = np.random.default_rng([seed, 78, round(100 * share)])
    if source == "cifar10":
        inside, others = people(folders, noise, seed), _other_photos(folders, random)
    else:
        x, y, _ = embedded(source, folders)
        classes = np.random.default_rng(5).permutation(np.unique(y))[:40]  # those of `noisy`
        rows = random.permutation(np.flatnonzero(~np.isin(y, classes)))
        inside, others = noisy(folders, source, noise, 0.1, seed), (x[rows], renumbered(y[rows]))
    return _with_foreign(inside, *others, share, labels, random)
