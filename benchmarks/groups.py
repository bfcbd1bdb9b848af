"""Samples that belong together: what an audit finds that knows of it, and one that does not.

    python -m benchmarks groups --data FOLDER      # results/groups.jsonl

--data holds tiny-imagenet.npz with `train_x` (uint8, N H W C) and `train_y`; digits come with scikit-learn. A
group is a picture, seen several times.

    clean       as they are
    groups      15 % of the groups bear a wrong label as a whole
    samples     10 % of the samples do
    both        10 % of the groups, and 5 % of the samples
    foreign     groups of one class, or two, bear labels of others: up to 15 %

How samples are judged was chosen on digits and series of other archives; photos were set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import graylearn as gl
from benchmarks import record

RESULTS = record.RESULTS / "groups.jsonl"
NOISES = ("clean", "groups", "samples", "both", "foreign")
WAYS = ("plain", "groups")
Grouped = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Samples (N, D), what they show (N,) and their groups (N,)."""


def digits(folder: Path) -> Grouped:
    """Seven hundred digits, each 3 to 13 times, moved by a pixel at most and with noise."""
    random = np.random.default_rng(5)
    held = load_digits()
    chosen = random.permutation(len(held.target))[:700]
    groups = np.repeat(np.arange(700), random.integers(3, 14, 700))
    moved = [np.roll(held.images[chosen][row], random.integers(-1, 2, 2), (0, 1)) for row in groups]
    x = np.stack(moved) + random.normal(0, 1.5, (len(groups), 8, 8))
    return x.reshape(len(x), -1), held.target[chosen][groups].astype(str), groups


def photos(folder: Path) -> Grouped:
    """Photos of ten classes, sixty each, cut out six times, some mirrored, as an embedding sees them."""
    random = np.random.default_rng(6)
    with np.load(folder / "tiny-imagenet.npz") as file:
        images, label = file["train_x"], file["train_y"]
    kept = np.concatenate([random.permutation(np.flatnonzero(label == k))[:60] for k in range(10)])
    groups = np.repeat(np.arange(len(kept)), 6)
    cut = []
    for row in kept[groups]:
        top, left = random.integers(0, 9, 2)
        part = images[row, top : top + 24, left : left + 24]
        cut.append(part[:, ::-1] if random.random() < 0.5 else part)
    return gl.data.embed_images(np.stack(cut)), label[kept][groups].astype(str), groups


SETS = {"digits": digits, "photos": photos}


def spoiled(held: Grouped, noise: str, random: np.random.Generator) -> tuple[Grouped, np.ndarray]:
    """The set with labels as the noise has them, and which are wrong."""
    x, y, groups = held
    true, names = np.unique(y, return_inverse=True)[::-1]
    label, count, every = true.copy(), len(names), np.unique(groups)
    shares = {"groups": (0.15, 0.0), "samples": (0.0, 0.1), "both": (0.1, 0.05)}.get(noise, (0.0, 0.0))
    moved = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    chosen = random.permutation(every)[: int(shares[0] * len(every))]
    moved[chosen] = random.integers(1, count, len(chosen))
    label = (label + moved[groups]) % count
    right = np.flatnonzero(label == true)
    alone = random.permutation(right)[: int(shares[1] * len(y))]
    label[alone] = (label[alone] + random.integers(1, count, len(alone))) % count
    kept = np.ones(len(y), dtype=bool)
    if noise == "foreign":
        gone = random.permutation(count)[: 2 if count > 5 else 1]
        left = np.setdiff1d(np.arange(count), gone)
        foreign = random.permutation(np.unique(groups[np.isin(true, gone)]))
        most = int(0.15 * len(every))
        borne = np.zeros(len(moved), dtype=np.int64)
        borne[foreign] = random.choice(left, len(foreign))
        label = np.where(np.isin(groups, foreign), borne[groups], label)
        kept = ~np.isin(groups, foreign[most:])
    return (x[kept], names[label][kept], groups[kept]), (label != true)[kept]


def measure(name: str, noise: str, seed: int, held: Grouped) -> Iterator[record.Row]:
    """What audits find that do not know the groups, and that do."""
    (x, y, groups), wrong = spoiled(held, noise, np.random.default_rng(seed))
    for way in WAYS:
        found = gl.audit(x, y, groups=groups if way == "groups" else None, seed=seed, log="none")
        flagged = found.suspected
        yield {
            "way": way, "samples": len(y), "groups": len(np.unique(groups)),
            "wrong": float(wrong.mean()), "flagged": float(flagged.mean()),
            "precision": float(wrong[flagged].mean()) if flagged.any() else None,
            "recall": float(flagged[wrong].mean()) if wrong.any() else None,
        }  # fmt: skip


def main() -> None:
    """Measure all that is not measured yet."""
    asked = record.parser(__doc__, RESULTS, "data", seeds=2).parse_args()
    for name, make in SETS.items():
        cells = [{"name": name, "noise": noise, "seed": seed} for noise in NOISES for seed in asked.seeds]
        record.sweep("groups", asked.out, cells, partial(measure, held=make(asked.data)))
