"""Samples that belong together: what an audit finds that knows of it, and one that does not.

    python -m benchmarks groups --data FOLDER      # results/groups.jsonl

--data holds series of the UCR and UEA archives (JapaneseVowels, BasicMotions, ACSF1 and PLAID, *_TRAIN.ts and
*_TEST.ts each), watch_dataset.npy of seglearn and tiny-imagenet.npz with `train_x` (uint8, N H W C) and
`train_y`; what is not there is left out, and digits come with scikit-learn. A group is an utterance of which
the frames are samples, a recording of which windows are, by their spectra, or a picture, seen several times.

    clean       as they are
    groups      15 % of the groups bear a wrong label as a whole
    samples     10 % of the samples do
    both        10 % of the groups, and 5 % of the samples
    foreign     groups of one class, or two, bear labels of others: up to 15 %

How samples are judged was chosen on all sets but photos, which were set aside.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import graylearn as gl
from benchmarks import record
from graylearn.audit import KINDS, LEVELS

RESULTS = record.RESULTS / "groups.jsonl"
NOISES = ("clean", "groups", "samples", "both", "foreign")
WAYS = ("plain", "groups")
Grouped = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Samples (N, D), what they show (N,) and their groups (N,)."""


def series(folder: Path, name: str) -> list[tuple[np.ndarray, str]]:
    """The series (channels, steps) of both files of a set, and their classes."""
    found = []
    for part in ("TRAIN", "TEST"):
        for line in (folder / f"{name}_{part}.ts").read_text(encoding="utf-8").splitlines():
            if line and line[0] not in "@#":
                *channels, label = line.split(":")
                found.append((np.array([[float(v) for v in each.split(",")] for each in channels]), label))
    return found


def windows(recordings: list[tuple[np.ndarray, str]], width: int, step: int, most: int) -> Grouped:
    """Spectra of the first windows of recordings."""
    x, y, groups = [], [], []
    for number, (values, label) in enumerate(recordings):
        for begin in list(range(0, values.shape[1] - width + 1, step))[:most]:
            spectrum = np.abs(np.fft.rfft(values[:, begin : begin + width], axis=1))
            x.append(np.log(spectrum + 0.01 * spectrum.max() + 1e-6).ravel())
            y.append(label)
            groups.append(number)
    return np.array(x), np.array(y), np.array(groups)


def speakers(folder: Path) -> Grouped:
    """Nine speakers say two vowels: frames of twelve coefficients."""
    said = series(folder, "JapaneseVowels")
    groups = np.repeat(np.arange(len(said)), [values.shape[1] for values, _ in said])
    return (
        np.concatenate([values.T for values, _ in said]),
        np.array([label for _, label in said])[groups],
        groups,
    )


def watches(folder: Path) -> Grouped:
    """Seven exercises of ten people, as their watches have them."""
    held: Any = np.load(folder / "watch_dataset.npy", allow_pickle=True).item()
    recordings = [(values.T, str(label)) for values, label in zip(held["X"], held["y"], strict=True)]
    return windows(recordings, 100, 50, 20)


def seen_again(images: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Each image 3 to 13 times, moved by a pixel at most and with noise; and which it is."""
    groups = np.repeat(np.arange(len(images)), random.integers(3, 14, len(images)))
    moved = [np.roll(images[row], random.integers(-1, 2, 2), (0, 1)) for row in groups]
    return np.stack(moved) + random.normal(0, 1.5, (len(groups), *images.shape[1:])), groups


def digits(folder: Path) -> Grouped:
    """Seven hundred digits."""
    random = np.random.default_rng(5)
    held = load_digits()
    chosen = random.permutation(len(held.target))[:700]
    x, groups = seen_again(held.images[chosen], random)
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


SETS: dict[str, tuple[str, Callable[[Path], Grouped]]] = {
    "speakers": ("JapaneseVowels_TEST.ts", speakers),
    "digits": ("", digits),
    "motions": ("BasicMotions_TEST.ts", lambda folder: windows(series(folder, "BasicMotions"), 32, 4, 18)),
    "appliances": ("PLAID_TEST.ts", lambda folder: windows(series(folder, "PLAID"), 80, 40, 12)),
    "signatures": ("ACSF1_TEST.ts", lambda folder: windows(series(folder, "ACSF1"), 146, 73, 19)),
    "watches": ("watch_dataset.npy", watches),
    "photos": ("tiny-imagenet.npz", photos),
}
"""Each set by the file that it wants."""


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


def measured(held: Grouped, noise: str, seed: int, way: str) -> dict[str, float | int | None]:
    """What one audit finds."""
    (x, y, groups), wrong = spoiled(held, noise, np.random.default_rng(seed))
    began = time.perf_counter()
    found = gl.audit(x, y, groups=groups if way == "groups" else None, seed=seed, log="none")
    seconds = time.perf_counter() - began
    flagged, sure = found.suspected, found.level == LEVELS.index("sure")
    told = found.kind[flagged & wrong] == KINDS.index("ood" if noise == "foreign" else "mislabelled")
    return {
        "samples": len(y),
        "groups": len(np.unique(groups)),
        "wrong": float(wrong.mean()),
        "flagged": float(flagged.mean()),
        "precision": float(wrong[flagged].mean()) if flagged.any() else None,
        "recall": float(flagged[wrong].mean()) if wrong.any() else None,
        "sure": float(sure.mean()),
        "precision_of_sure": float(wrong[sure].mean()) if sure.any() else None,
        "kinds_right": float(told.mean()) if len(told) else None,
        "seconds": seconds,
    }


def main() -> None:
    """Measure all that is there and not measured yet."""
    asked = record.asked_of_data(__doc__, RESULTS, 2)
    warnings.simplefilter("ignore")
    done = {(row["name"], row["noise"], row["seed"], row["way"]) for row in record.rows(asked.out)}
    for name, (file, make) in SETS.items():
        cells = [(noise, seed, way) for noise in NOISES for seed in asked.seeds for way in WAYS]
        cells = [cell for cell in cells if (name, *cell) not in done]
        if not cells or not (asked.data / file).exists():
            continue
        held = make(asked.data)
        for noise, seed, way in cells:
            row = {"name": name, "noise": noise, "seed": seed, "way": way}
            record.append(record.record("groups", **row, **measured(held, noise, seed, way)), asked.out)
