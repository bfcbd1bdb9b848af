"""Sets on which no label is wrong, many and of every kind: what an audit flags here, it flags for nothing.

No rule was ever set on these draws. Weak features are among them (raw pixels, few random directions of good
features), and classes that overlap.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
from sklearn import datasets

from benchmarks.audit_cells import table
from benchmarks.human_noise_sets import Arrays, Folders, arrays, embedded, renumbered
from reproduction.catalog import load

Made = Callable[[Folders], Arrays]


def later(make: Callable[..., Arrays]) -> Callable[..., Made]:
    """The same, made when the folders are known."""
    return functools.wraps(make)(lambda *words: lambda folders: make(folders, *words))


def _case(x: np.ndarray, y: np.ndarray) -> Arrays:
    y = renumbered(y)
    return arrays(x, y, y)


def _some(
    x: np.ndarray, y: np.ndarray, random: np.random.Generator, classes: int, rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """So many classes, each of at least four rows, and at most so many rows of them."""
    chosen = random.permutation(np.unique(y))[:classes]
    kept = random.permutation(np.flatnonzero(np.isin(y, chosen)))[:rows]
    large = np.flatnonzero(np.bincount(y[kept], minlength=int(y.max()) + 1) >= 4)
    kept = kept[np.isin(y[kept], large)]
    return x[kept], y[kept]


@later
def _part(
    folders: Folders, source: str, seed: list[int], classes: int, rows: int, directions: int | None = None
) -> Arrays:
    """Some classes of features or scans; with `directions`, seen through so many random directions."""
    random = np.random.default_rng(seed)
    x, y, _ = embedded(source, folders)
    x, y = _some(x, y, random, classes, rows)
    if directions is not None:
        x = x @ random.normal(size=(x.shape[1], directions)).astype(np.float32)
    return _case(x, y)


@later
def _two_kinds(folders: Folders, source: str, seed: list[int], share: float) -> Arrays:
    """Half of the classes are two of the original ones under one label, the second with so much of it."""
    random = np.random.default_rng(seed)
    x, y, _ = embedded(source, folders)
    x, y = _some(x, y, random, {"tiny-imagenet": 24, "banking77": 40}.get(source, 10), 2400)
    y = renumbered(y)
    labels = (int(y.max()) + 1) // 2
    second = y >= labels
    kept = ~second | ((y % labels < labels // 2) & (random.random(len(y)) < share / (1.0 - share)))
    return _case(x[kept], y[kept] % labels)


@later
def _look_alike(folders: Folders, digits: tuple[int, ...], rows: int, seed: list[int]) -> Arrays:
    x, y, _ = embedded("digits", folders)
    kept = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(y, digits)))[:rows]
    return _case(x[kept], y[kept])


@later
def _pixels(folders: Folders, name: str, seed: list[int], classes: int, rows: int) -> Arrays:
    """Photos as grey pixels, 16 x 16: features that say little of the class."""
    random = np.random.default_rng(seed)
    with np.load(folders.features / f"{name}.npz") as file:
        images, y = file["test_x"], file["test_y"]
    x, y = _some(images, y, random, classes, rows)
    grey = x.astype(np.float32).mean(axis=3).reshape(len(x), 16, 2, 16, 2).mean(axis=(2, 4))
    return _case(grey.reshape(len(x), -1), y)


_TABLES = {
    "wineqt": ("Id",), "abalone": (), "speech": (),
    "skyserver": ("objid", "specobjid", "rerun", "run", "camcol", "field", "fiberid", "ra", "dec"),
    "stellar": ("obj_ID", "spec_obj_ID", "rerun_ID", "run_ID", "cam_col", "field_ID", "fiber_ID", "alpha"),
}  # fmt: skip


@later
def _table(folders: Folders, name: str, seed: list[int], rows: int) -> Arrays:
    x, samples = table(name, folders.data, _TABLES[name])
    return _case(*_some(x, samples.y, np.random.default_rng(seed), 10, rows))


@later
def _beats(folders: Folders, seed: list[int], rows: int) -> Arrays:
    samples = load("arrhythmia", folders.data, split="all")
    random = np.random.default_rng(seed)
    kept = np.concatenate([random.permutation(np.flatnonzero(samples.y == k))[: rows // 5] for k in range(5)])
    return _case(np.asarray(samples.x)[kept], samples.y[kept])


@later
def _wine(folders: Folders) -> Arrays:
    return _case(*datasets.load_wine(return_X_y=True))


@later
def _blobs(folders: Folders, seed: list[int], classes: int, columns: int, spread: float, rows: int) -> Arrays:
    """Round classes that overlap the more, the larger the spread; one class in two has two centres."""
    random = np.random.default_rng(seed)
    centre = random.normal(size=(classes + classes // 2, columns))
    group = random.integers(0, len(centre), rows)
    x = centre[group] + spread * random.normal(size=(rows, columns))
    return _case(x, group % classes)


@later
def _corners(
    folders: Folders, seed: list[int], classes: int, columns: int, apart: float, rows: int
) -> Arrays:
    """Clusters at corners of a cube, several a class, most columns saying nothing."""
    number = int(np.random.default_rng(seed).integers(1 << 30))
    x, y = datasets.make_classification(
        rows, columns, n_informative=min(8, columns), n_redundant=0, n_classes=classes, class_sep=apart,
        n_clusters_per_class=2, flip_y=0.0, random_state=number,
    )  # fmt: skip
    return _case(x, y)


@later
def _cut(folders: Folders, seed: list[int], classes: int, columns: int, rows: int) -> Arrays:
    """One column, or one direction, cut into classes: no gap anywhere, and no doubt either."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, columns))
    along = x[:, 0] + 0.3 * x[:, 1]
    edges = np.quantile(along, np.linspace(0, 1, classes + 1)[1:-1])
    return _case(x, np.searchsorted(edges, along))


BLOBS = (
    (3, 5, 1.0, 600), (5, 10, 0.7, 1000), (8, 20, 1.0, 1600), (10, 40, 1.5, 2000), (4, 64, 2.0, 1200),
    (6, 3, 0.4, 800),
)  # fmt: skip
CORNERS = (4, 20, 1.0, 1200), (6, 40, 0.7, 1500), (8, 64, 1.5, 1600), (2, 10, 0.5, 600)
CUTS = (4, 5, 800), (5, 40, 1500), (3, 2, 600), (6, 12, 1000)
SELDOM = (
    (600, 0.08, 8, None), (1500, 0.04, 8, None), (3000, 0.02, 8, None), (1500, 0.08, 16, None),
    (800, 0.08, 6, 1.0), (1500, 0.03, 20, 3.0), (3000, 0.02, 6, 3.0), (3000, 0.08, 20, 1.0),
)  # fmt: skip
TAILS = (3, 2.0, 4.0, 900), (3, 3.0, 4.0, 1500), (3, 2.0, 8.0, 600), (2, 2.0, 5.0, 900), (4, 2.0, 6.0, 1200)


def clean_sets() -> Iterator[tuple[str, Made]]:
    """Name and maker of every clean set."""
    for i in range(4):
        classes, rows = ((10, 1797), (7, 900), (5, 500), (4, 700))[i]
        yield f"digits {i}", _part("digits", [1, 1, i], classes, rows)
    for i, group in enumerate(((3, 5, 8, 9, 1), (2, 3, 8, 9))):
        yield f"digits alike {i}", _look_alike(group, 620, [2, 1, i])
    for i, d in enumerate((7, 11, 17, 33)):
        yield f"digits directions {i}", _part("digits", [3, 1, i], 10, 1500, d)
    for s, source in enumerate(("cifar10", "tiny-imagenet", "banking77")):
        many = (10, 25, 40)[s]
        for i, (classes, rows) in enumerate(((many, 2000), (many // 2, 1200), (4, 400), (3, 300), (2, 300))):
            yield f"{source} {i}", _part(source, [4, 1, s, i], classes, rows)
        for i, d in enumerate((5, 9, 17, 33, 65)):
            yield f"{source} directions {i}", _part(source, [5, 1, s, i], many, 1600, d)
    for s, name in enumerate(("cifar10", "tiny-imagenet")):
        for i, (classes, rows) in enumerate(((10, 1500), (5, 1000), (4, 600), (2, 600))):
            yield f"{name} pixels {i}", _pixels(name, [6, 1, s, i], classes, rows)
    for i, name in enumerate(_TABLES):
        for r, rows in enumerate((2000, 600)):
            yield f"{name} {r}", _table(name, [7, 1, i, r], rows)
    for i, rows in enumerate((1500, 500)):
        yield f"arrhythmia {i}", _beats([8, 1, i], rows)
    yield "wine", _wine()
    for i, words in enumerate(BLOBS):
        yield f"blobs {i}", _blobs([9, 1, i], *words)
    for i, words in enumerate(CORNERS):
        yield f"corners {i}", _corners([10, 1, i], *words)
    for i, words in enumerate(CUTS):
        yield f"cut {i}", _cut([11, 1, i], *words)


def two_kinds() -> Iterator[tuple[str, Made]]:
    """Clean sets in which classes are of two kinds: as foreign samples with one label are."""
    for s, source in enumerate(("digits", "cifar10", "tiny-imagenet", "banking77")):
        for i, share in enumerate((0.25, 0.45)):
            yield f"{source} {i}", _two_kinds(source, [12, 1, s, i], share)


@later
def _cut_down(folders: Folders, made: Made, ratio: int, rows: int, seed: list[int]) -> Arrays:
    """The largest class of a set, at most so many rows, and one in `ratio` of that of every other."""
    case, random = made(folders), np.random.default_rng(seed)
    x, y = case["features"], case["label"]
    count = np.bincount(y)
    most = min(rows, int(count.max()))
    sizes = [most if k == count.argmax() else max(4, most // ratio) for k in range(len(count))]
    kept = np.concatenate([random.permutation(np.flatnonzero(y == k))[:n] for k, n in enumerate(sizes)])
    kept = random.permutation(kept)
    return _case(x[kept], y[kept])


@later
def _seldom(
    folders: Folders, seed: list[int], rows: int, positive: float, columns: int, steep: float | None
) -> Arrays:
    """Two classes, one of them rare: clusters, or with `steep` a chance that rises along two columns."""
    random = np.random.default_rng(seed)
    if steep is None:
        x, y = datasets.make_classification(
            rows, columns, n_informative=4, n_redundant=0, weights=[1.0 - positive], flip_y=0.0,
            class_sep=random.uniform(0.6, 1.6), random_state=int(random.integers(1 << 30)),
        )  # fmt: skip
        return _case(x, y)
    x = random.normal(size=(rows, columns))
    chance = steep * (x[:, 0] + 0.7 * x[:, 1] - 0.5 * x[:, 2] * x[:, 3]) + random.logistic(size=rows)
    return _case(x, chance > np.quantile(chance, 1.0 - positive))


@later
def _tails(
    folders: Folders, seed: list[int], classes: int, freedom: float, apart: float, rows: int
) -> Arrays:
    """Clouds with heavy tails (t of so many degrees of freedom): some lie far inside another class."""
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=rows)
    centre = apart * np.linalg.qr(random.normal(size=(4, 4)))[0][:classes]
    return _case(centre[y] + random.standard_t(freedom, size=(rows, 4)), y)


def rare_sets() -> Iterator[tuple[str, Made]]:
    """Clean sets in which one class or more is rare (1:10 to 1:50), or classes have heavy tails."""
    for s, (source, classes) in enumerate((("digits", 10), ("cifar10", 5), ("banking77", 10), ("digits", 2))):
        for i, ratio in enumerate((10, 20)):
            made = _part(source, [13, 1, s, i], classes, 10**6)
            yield f"{source} {classes} rare {i}", _cut_down(made, ratio, 1000, [14, 1, s, i])
    for s, name in enumerate(("skyserver", "stellar", "abalone", "wineqt")):
        made = _table(name, [13, 1, 9, s], 9000)
        for i, ratio in enumerate((10, 50)):
            yield f"{name} rare {i}", _cut_down(made, ratio, 1500, [14, 1, 9, s, i])
    for i, words in enumerate(SELDOM):
        yield f"seldom {i}", _seldom([15, 1, i], *words)
    for i, words in enumerate(TAILS):
        yield f"tails {i}", _tails([16, 1, i], *words)
