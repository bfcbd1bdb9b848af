"""Copies among real photos, at the automatic threshold, against a perceptual hash and cleanlab's Datalab.

    python -m benchmarks duplicates --images FOLDER      # results/duplicates.jsonl

--images holds cifar10.npz and tiny-imagenet.npz with `train_x` (uint8, N H W C). Of 1,000 photos a third has
a copy that was resized to three quarters and back, recompressed (JPEG, quality 40), cropped to .85 a side,
mirrored, or left as it is. The threshold was chosen on CIFAR-10, seeds 100 and 101; Tiny-ImageNet was not
looked at.

    graylearn   find_duplicates
    hash        64 bits of the low frequencies (a perceptual hash); copies differ in 6 bits at most
    datalab     cleanlab's near_duplicate issues, of the thumbnails that graylearn compares

Precision and recall are of pairs. CIFAR-10 has near duplicates of its own, which count as wrong here.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
from PIL import Image
from scipy.fft import dctn

from benchmarks import record
from graylearn.audit.duplicates import find_duplicates
from graylearn.audit.near_copies import small_ones, thumbnails

RESULTS = record.RESULTS / "duplicates.jsonl"
PHOTO_SETS = {"tiny-imagenet": "Tiny-ImageNet", "cifar10": "CIFAR-10"}
PHOTOS = 1000
KINDS = ("exact", "mirrored", "resized", "recompressed", "cropped")
Pairs = set[tuple[int, int]]


def copied(image: np.ndarray, kind: str, random: np.random.Generator) -> np.ndarray:
    photo, side = Image.fromarray(image), image.shape[0]
    if kind == "mirrored":
        photo = photo.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    elif kind == "resized":
        small = photo.resize((side * 3 // 4,) * 2, Image.Resampling.BICUBIC)
        photo = small.resize((side, side), Image.Resampling.BICUBIC)
    elif kind == "recompressed":
        packed = io.BytesIO()
        photo.save(packed, "JPEG", quality=40)
        photo = Image.open(packed).convert("RGB")
    elif kind == "cropped":
        part = round(0.85 * side)
        left, top = (int(each) for each in random.integers(0, side - part + 1, 2))
        photo = photo.crop((left, top, left + part, top + part)).resize((side, side))
    return np.asarray(photo)


def by_us(images: np.ndarray) -> Pairs:
    groups = find_duplicates(images).groups
    return {(int(a), int(b)) for group in groups for a, b in itertools.combinations(sorted(group), 2)}


def by_hash(images: np.ndarray) -> Pairs:
    """Pairs whose hashes differ in 6 of 64 bits at most."""
    grey = images.mean(axis=3)
    low = dctn(grey, axes=(1, 2))[:, :8, :8].reshape(len(images), -1)
    bits = (low > np.median(low, axis=1, keepdims=True)).astype(np.float32)
    differ = bits @ (1 - bits).T
    differ = differ + differ.T
    a, b = np.nonzero(np.triu(differ <= 6, 1))
    return set(zip(a.tolist(), b.tolist(), strict=True))


def by_datalab(images: np.ndarray) -> Pairs:
    from cleanlab import Datalab

    lab = Datalab({"y": [0] * len(images)}, verbosity=0)
    lab.find_issues(
        features=thumbnails(small_ones(images, np.arange(len(images)))).views[0],
        issue_types={"near_duplicate": {}},
    )
    issues = lab.get_issues("near_duplicate")
    sets = issues["near_duplicate_sets"]
    return {
        (min(i, int(j)), max(i, int(j)))
        for i in np.flatnonzero(issues["is_near_duplicate_issue"])
        for j in sets.iloc[i]
    }


WAYS = {"graylearn": by_us, "hash": by_hash, "datalab": by_datalab}


def measure(photos: str, seed: int, folder: Path) -> Iterator[record.Row]:
    with np.load(folder / f"{photos}.npz") as file:
        every = file["train_x"]
    random = np.random.default_rng(seed)
    shown = every[random.permutation(len(every))[:PHOTOS]]
    source = random.permutation(PHOTOS)[: PHOTOS // 3]
    kinds = random.choice(KINDS, len(source))
    copies = [copied(shown[s], kind, random) for s, kind in zip(source, kinds, strict=True)]
    images = np.concatenate([shown, np.stack(copies)])
    true = {(int(s), PHOTOS + row): kind for row, (s, kind) in enumerate(zip(source, kinds, strict=True))}
    for way, find in WAYS.items():
        found = find(images)
        row: record.Row = {"way": way, "precision": len(found & set(true)) / max(len(found), 1)}
        row["recall"] = len(found & set(true)) / len(true)
        for kind in KINDS:
            of_kind = {pair for pair, each in true.items() if each == kind}
            row[f"recall {kind}"] = len(found & of_kind) / len(of_kind)
        yield row


def table() -> str:
    """Percent, means over seeds."""
    told = [kind for kind in KINDS if kind != "exact"]  # which all find
    names = ("precision", "recall", *(f"recall {kind}" for kind in told))
    rows, body = record.rows(RESULTS, "duplicates"), []
    for photos, title in PHOTO_SETS.items():
        for way in WAYS:
            found = [r for r in rows if (r["photos"], r["way"]) == (photos, way)]
            body.append([f"{title}: {way}", *(f"{100 * mean(r[name] for r in found):.1f}" for name in names)])
    return record.markdown(["", "precision", "recall", *told], body)


LAB_TABLES = {"team.md": {"duplicates": table}}


def main() -> None:
    args = record.parser(__doc__, RESULTS, "images").parse_args()
    cells = [{"photos": photos, "seed": seed} for seed in args.seeds for photos in PHOTO_SETS]
    record.sweep("duplicates", args.out, cells, partial(measure, folder=args.images))
