"""The features that benchmarks read: photos as EfficientNet-Lite0 sees them, sentences as MiniLM does.

    python -m benchmarks features --data FOLDER --fetched FOLDER --out FOLDER

`--data` and `--fetched` are those of judge/cases.py. CIFAR-10: the first 10,000 training images, whose `rows`
tell which labels people gave them; CIFAR-100: the first 4,000. Of 50 classes of Tiny-ImageNet, drawn once,
the first 80 images each; of 20 of Mini-ImageNet, 250. Banking77: all questions. Twenty minutes on two cores.

Rows of Tiny-ImageNet in results/ from before this file are of other images, 80 of a class too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import unseen
from benchmarks.record import described
from graylearn.data import embed_images, embed_text

Arrays = dict[str, np.ndarray]


def photos(
    data: Path, fetched: Path, name: str, key: str = "x", first: int | None = None,
    chosen: Callable[[np.ndarray], np.ndarray] | None = None, each: int = 0,
) -> Arrays:  # fmt: skip
    """The first photos of a set, or the first of each of some classes."""
    with np.load(fetched / f"{name}.npz") as file:
        x, y = file["train_x"][:first], file["train_y"][:first]
    rows = np.arange(len(y))
    if chosen is not None:
        rows = np.concatenate([np.flatnonzero(y == k)[:each] for k in np.sort(chosen(y))])
    return {key: embed_images(x[rows]), key.replace("x", "y"): y[rows], "rows": rows}


def banking77(data: Path, fetched: Path) -> Arrays:
    table = pd.read_csv(data / "text/banking77-train.csv")
    y = np.unique(table["category"], return_inverse=True)[1]
    return {"x": embed_text(table["text"].tolist()), "y": y}


def clinc(data: Path, fetched: Path) -> Arrays:
    """Requests of 22 intents, of 18 others, and such as belong to none."""
    said = json.loads((fetched / "clinc.json").read_text())
    order = np.random.default_rng(42).permutation(150)
    names = np.array(sorted({kind for _, kind in said["train"]}))[order]
    rows = [row for part in ("train", "val", "test") for row in said[part] if row[1] in names[:22]]
    rows += [row for row in said["train"] if row[1] in names[22:40]]
    rows += [row for part in ("oos_val", "oos_train", "oos_test") for row in said[part]]
    text, kind = zip(*rows, strict=True)
    return {"x": embed_text(list(text)), "y": np.array(kind), "kinds": names[:22]}


def news(data: Path, fetched: Path, name: str) -> Arrays:
    return dict(zip("xy", unseen.news(name, fetched), strict=True))


def _tiny(y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(np.unique(y))[:50]


def _mini(y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(42).permutation(100)[:20]


MAKERS: dict[str, Callable[[Path, Path], Arrays]] = {
    "cifar10": partial(photos, name="cifar10", key="train_x", first=10_000),
    "tiny": partial(photos, name="tiny-imagenet", key="train_x", chosen=_tiny, each=80),
    "mini": partial(photos, name="mini-imagenet", chosen=_mini, each=250),
    "cifar100": partial(photos, name="cifar100", first=4000),
    "banking77": banking77,
    "clinc": clinc,
    "newsgroups": partial(news, name="newsgroups"),
    "reuters": partial(news, name="reuters"),
}


def write(out: Path, data: Path, fetched: Path) -> None:
    """Make what is missing in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    for name, make in MAKERS.items():
        path = out / f"{name}-features.npz"
        if not path.exists():
            np.savez(path, **make(data, fetched))  # type: ignore[arg-type]
            print(path.name, flush=True)


def main() -> None:
    parser = described(__doc__)
    for folder in ("data", "fetched", "out"):
        parser.add_argument(f"--{folder}", type=Path, required=True)
    given = parser.parse_args()
    write(given.out, given.data, given.fetched)
