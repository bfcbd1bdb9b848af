"""The features that benchmarks read: photos as EfficientNet-Lite0 sees them, sentences as MiniLM does.

    python -m benchmarks features --data FOLDER --out FOLDER

`--data` holds cifar10.npz and tiny-imagenet.npz (train_x, train_y), and banking77-train.csv, also in text/.
CIFAR-10: the first 10,000 training images, whose `rows` tell which labels people gave them. Tiny-ImageNet: of
50 classes, drawn once, the first 80 images each. Banking77: all questions. Ten minutes on two cores.

Rows of Tiny-ImageNet in results/ from before this file are of other images, 80 of a class too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.record import described
from graylearn.data import embed_images, embed_text

PHOTOS, CLASSES, OF_A_CLASS = 10_000, 50, 80


def cifar10(data: Path) -> dict[str, np.ndarray]:
    with np.load(data / "cifar10.npz") as file:
        x, y = file["train_x"][:PHOTOS], file["train_y"][:PHOTOS]
    return {"train_x": embed_images(x), "train_y": y, "rows": np.arange(len(y))}


def tiny(data: Path) -> dict[str, np.ndarray]:
    with np.load(data / "tiny-imagenet.npz") as file:
        x, y = file["train_x"], file["train_y"]
    chosen = np.sort(np.random.default_rng(0).permutation(np.unique(y))[:CLASSES])
    rows = np.concatenate([np.flatnonzero(y == k)[:OF_A_CLASS] for k in chosen])
    return {"train_x": embed_images(x[rows]), "train_y": y[rows], "rows": rows}


def banking77(data: Path) -> dict[str, np.ndarray]:
    path = next(
        data / name for name in ("banking77-train.csv", "text/banking77-train.csv") if (data / name).exists()
    )
    table = pd.read_csv(path)
    return {
        "x": embed_text(table["text"].tolist()),
        "y": np.unique(table["category"], return_inverse=True)[1],
    }


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for make in (cifar10, tiny, banking77):
        made, name = make(given.data), make.__name__
        np.savez(given.out / f"{name}-features.npz", **made)  # type: ignore[arg-type]
        print(name, {key: values.shape for key, values in made.items()}, flush=True)
