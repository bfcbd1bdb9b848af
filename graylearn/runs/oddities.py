"""What is odd about samples whatever their labels: copies, and pictures that show little.

Copies are groups in the data of a run, and samples of the test set that were learned from. Pictures are of
one colour, dark, blurred, tiny, or of an odd shape; what holds for a fifth of a set or more is how the set
looks, and not odd.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from graylearn.array_types import Floats, Ints
from graylearn.audit.duplicates import Duplicates, find_duplicates
from graylearn.data.column_kinds import kind_of, looks_like_id
from graylearn.data.csv_files import write_csv
from graylearn.data.formats import Origin
from graylearn.data.read import read_file
from graylearn.data.samples import Samples
from graylearn.data.tables import PIXELS_SIZE
from graylearn.data.written import check_writable, writing
from graylearn.errors import SettingsError, counted
from graylearn.runs.folder import options_of
from graylearn.runs.prepare import check_ids, read_test
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings

KIND = "table of copies"
NEAR = {"image": 10_000, "text": 20_000, "table": 20_000, "array": 20_000}
"""Largest number of samples, by kind, for which near copies are looked for."""


def copies_among(shown: Samples, test: Samples | None, way: str, progress: RunProgress) -> Duplicates | None:
    """Copies among samples as a person knows them, and between them and a test set; None if the setting
    `duplicates`, given as `way`, is "off"."""
    if way == "off":
        return None
    many, most = len(shown) + (0 if test is None else len(test)), NEAR[shown.kind]
    if way == "near" and many > most:
        progress.note(
            f"of {many:,} samples only exact copies are looked for: near ones among {most:,} at most"
        )
    with progress.working("looking for copies"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the columns, which reading the data told already
        train = _without_names(shown)
        if test is not None and isinstance(train.x, pd.DataFrame):
            test = replace(test, x=test.x[[name for name in train.x if name in test.x]])
        return find_duplicates(train, test=test, near=way == "near" and many <= most)


def write_copies(settings: RunSettings, out: str | Path, progress: RunProgress) -> Duplicates:
    """Look for copies in the data of `settings` and in its test set, and write a table of them.

    One row per sample that has a copy: group, set (train, test), id, label, kind (exact, near) and
    contradicting.
    """
    check_writable(out, KIND, of=settings.reads)
    size, test = settings.size or PIXELS_SIZE, None
    with progress.of_warnings():
        train, origin = read_file(settings.data, options_of(settings, size, settings.split))
        check_ids(train, Path(settings.data))
        if settings.test is not None or settings.test_split is not None:
            test = read_test(settings, size, origin)
            check_ids(test, Path(settings.test or settings.data))
    found = copies_among(train, test, settings.duplicates, progress)
    if found is None:
        raise SettingsError("duplicates is 'off', but copies are to be found: leave it out")
    table = found.table
    sets = [train] if test is None else [train, test]
    ids = np.concatenate([each.ids.astype(object) for each in sets])
    labels = np.array([each.classes[k] for each in sets for k in each.y], dtype=object)
    rows = table["index"].to_numpy(dtype=np.int64)
    named = pd.DataFrame(
        {
            "group": table["group"] + 1,
            "set": np.where(rows < found.count, "train", "test"),
            "id": ids[rows],
            "label": labels[rows],
            "kind": table["kind"],
            "contradicting": table["contradicting"],
        }
    )
    with writing(out, KIND, of=settings.reads) as partial:
        write_csv(partial, named)
    return found


def among(copies: Duplicates, chosen: Ints) -> Duplicates:
    """The groups that lie entirely within the chosen samples, indexed by these."""
    at = np.full(copies.total, -1)
    at[chosen] = np.arange(len(chosen))
    whole = [number for number, members in enumerate(copies.groups) if (at[members] >= 0).all()]
    groups = tuple(at[copies.groups[number]] for number in whole)
    number = len(chosen)
    return Duplicates(groups, copies.exact[whole], copies.contradicting[whole], float("inf"), number, number)


def group_column(copies: Duplicates) -> pd.Series[int]:
    """(N,) the group of each sample, numbered from 1; missing if it has no copy."""
    number = copies.group[: copies.count] + 1
    return pd.Series(pd.array(np.where(number > 0, number, 0), dtype="Int64")).replace(0, pd.NA)


def copies_in_numbers(copies: Duplicates) -> dict[str, int]:
    """For summary.json: counts of copies, including those in the test set."""
    return {
        "groups": len(copies.groups),
        "samples": sum(map(len, copies.groups)),
        "contradicting": int(copies.contradicting.sum()),
        "leaked": len(copies.leaked),
    }


def note_of(copies: Duplicates) -> str | None:
    """One note on the copies for people; None without copies."""
    if not copies.groups:
        return None
    told = copies.summary()
    equal = sum(len(members) for members, same in zip(copies.groups, copies.exact, strict=True) if same)
    if len(copies.leaked):
        told += ", which measures too well"
    if 2 * equal > copies.total:
        return f"{told}; where columns have few values, equal rows are no sign of copying"
    trained = np.array([(members < copies.count).sum() > 1 for members in copies.groups])
    if (trained & ~copies.exact & ~copies.contradicting).any():  # of exact ones the audit asks about one
        told += (
            ". Near copies vouch for one another's labels, wrong ones too: look at them in the report, and "
            "if they show the same, run `graylearn apply … --duplicates keep-one` and audit what is left"
        )
    return told


def _without_names(samples: Samples) -> Samples:
    """The samples without columns that name the rows, since copies differ in them."""
    if not isinstance(samples.x, pd.DataFrame):
        return samples
    frame: pd.DataFrame = samples.x
    kept = [
        name for name in map(str, frame.columns) if not looks_like_id(frame, name, kind_of(frame[name], name))
    ]
    return replace(samples, x=frame[kept]) if kept else samples


SOLID_WORDS = "of one colour"
SOLID, DARK = 2.0, 40.0
"""Thresholds of 255: standard deviation of a picture of one colour, 99th percentile of a dark one."""
BLURRED = 0.27
"""Sharpness (detail between neighbouring pixels by contrast) of a blurred picture, relative to the median.
17 of 6,000 photos of CIFAR-100 are less sharp: plains and the sea."""
TINY, LONG = 0.25, 3.0
"""Shorter side of a tiny picture relative to the median; aspect ratio of an odd shape."""
USUAL = 0.2
"""From this share of a set on, a property is usual and not odd."""
BLOCK, SIDE = 128, 64
Checks = Mapping[str, list[int]]


def looks_of(samples: Samples, origin: Origin) -> Floats | None:
    """(N, 5) contrast, 99th percentile of brightness, sharpness, width and height of each picture; width and
    height are NaN without a file of its own. None if the samples are not pictures."""
    if samples.kind != "image" or not len(samples) or min(samples.x.shape[1:3]) < 3:
        return None
    return np.column_stack([*_looks(samples.x), _sizes(samples, origin)])


def odd_pictures(looks: Floats | None) -> Checks:
    """Indices of pictures that show little, by what is odd; each picture is listed once."""
    if looks is None:
        return {}
    spread, bright, sharp, *_ = looks.T
    found = {SOLID_WORDS: spread < SOLID, "dark": bright < DARK}
    sizes = looks[:, 3:]
    if not np.isnan(sizes).all():
        sizes = np.where(np.isnan(sizes), np.nanmedian(sizes), sizes)
        least, most = sizes.min(axis=1), sizes.max(axis=1)
        found["tiny"] = least < TINY * np.median(least)
        found["of an odd shape"] = most > LONG * least
    plain = spread >= SOLID
    found["blurred"] = plain & (sharp < BLURRED * np.median(sharp[plain])) if plain.any() else ~plain
    seen = np.zeros(len(looks), dtype=bool)
    odd: dict[str, list[int]] = {}
    for words, which in found.items():
        if which.mean() < USUAL:
            odd[words] = np.flatnonzero(which & ~seen).tolist()
            seen |= which
    return {words: indices for words, indices in odd.items() if indices}


def note_of_pictures(checks: Checks) -> str:
    """One sentence for people."""
    total = sum(map(len, checks.values()))
    each = ", ".join(f"{len(indices):,} {words}" for words, indices in checks.items())
    return f"{counted(total, 'picture')} may show too little to be judged: {each}"


def picture_column(checks: Checks) -> dict[int, str]:
    """What is odd about each picture, by index."""
    return {index: words for words, indices in checks.items() for index in indices}


def _looks(x: NDArray[np.uint8]) -> tuple[Floats, Floats, Floats]:
    """(contrast, 99th percentile of brightness, sharpness), (N,) each."""
    found = np.empty((3, len(x)))
    for start in range(0, len(x), BLOCK):
        block = np.asarray(x[start : start + BLOCK])
        block = block.reshape(*block.shape[:3], -1)
        spread = block.reshape(len(block), -1, block.shape[3])[:, ::3].std(axis=1, dtype=np.float32)
        bands = [block[..., k].astype(np.float32) for k in range(block.shape[3])]
        bright = _small(np.mean(bands, axis=0)).reshape(len(block), -1)
        # the band that tells most: colours of the same brightness have no contrast in grey
        told = _small(np.stack(bands)[spread.argmax(axis=1), np.arange(len(block))])
        inner = told[:, 1:-1, 1:-1]
        edges = 4 * inner - told[:, :-2, 1:-1] - told[:, 2:, 1:-1] - told[:, 1:-1, :-2] - told[:, 1:-1, 2:]
        at = slice(start, start + len(block))
        found[0, at] = spread.max(axis=1)
        found[1, at] = np.quantile(bright, 0.99, axis=1)
        found[2, at] = edges.std(axis=(1, 2)) / np.maximum(told.std(axis=(1, 2)), 1.0)
    return found[0], found[1], found[2]


def _small(band: NDArray[Any]) -> NDArray[Any]:
    """The band averaged down to a side of about SIDE pixels, at which a blurred picture is still blurred."""
    by = max(1, min(band.shape[1:]) // SIDE)
    height, width = band.shape[1] // by, band.shape[2] // by
    cut = band[:, : height * by, : width * by].reshape(len(band), height, by, width, by)
    return np.asarray(cut.mean(axis=(2, 4)))


def _sizes(samples: Samples, origin: Origin) -> Floats:
    """(N, 2) width and height of the files; NaN without files."""
    sizes = np.full((len(samples), 2), np.nan)
    for index, name in enumerate(samples.ids if origin.form == "folder" else ()):
        with suppress(Exception), Image.open(Path(origin.root) / str(name)) as picture:
            sizes[index] = picture.size  # one that is gone since it was read, others tell
    return sizes
