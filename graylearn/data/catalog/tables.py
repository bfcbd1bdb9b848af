"""The paper's eight tables, read from the files their publishers ship.

Protocol `paper` drops columns that only number the rows, and rows that are not measurements. Protocol
`released` reads what the code of the paper's authors reads, class order included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from graylearn.data.catalog.files import Finder
from graylearn.data.samples import Label, Samples, encode_labels
from graylearn.errors import DataError

Protocol: TypeAlias = Literal["paper", "released"]
"""Whose way of preparing the data: the paper's text, or its authors' code."""

ABALONE_COLUMNS = (
    "sex",
    "length",
    "diameter",
    "height",
    "whole_weight",
    "shucked_weight",
    "viscera_weight",
    "shell_weight",
    "rings",
)
IRIS_COLUMNS = ("sepal_length", "sepal_width", "petal_length", "petal_width", "species")
SENTINEL = -9999.0
"""What SDSS writes where a magnitude could not be measured."""


class Released(NamedTuple):
    """What the released code makes of a table's classes."""

    classes: tuple[Label, ...]
    """In its order."""
    ood: Label
    """The class it takes for OOD, chosen by hand."""


RELEASED: dict[str, Released] = {
    "abalone": Released(("M", "F", "I"), "M"),
    "arrhythmia": Released((0, 1, 2, 3, 4), 3),
    "gene": Released(("PRAD", "LUAD", "BRCA", "KIRC", "COAD"), "COAD"),
    "iris": Released(("setosa", "versicolor", "virginica"), "setosa"),
    "skyserver": Released(("STAR", "GALAXY", "QSO"), "GALAXY"),
    "speech": Released(("ES", "FR", "GE", "IT", "UK", "US"), "GE"),
    "stellar": Released(("GALAXY", "QSO", "STAR"), "STAR"),
    "wineqt": Released(("5", "6", "7", "other"), "7"),
}


@dataclass(frozen=True)
class TableFiles:
    """A table that was found: where, in which form, and how to read it."""

    where: Path | None
    """The file or folder it is read from; None for one that scikit-learn carries."""
    form: str
    """"published" as its publisher ships it, or "scikit-learn"."""
    read: Callable[[Protocol], Samples]
    """Read it into memory."""


def find_table(name: str, finder: Finder) -> TableFiles | None:
    """One of the eight tables."""
    if name == "gene":
        found = finder.beside("data.csv", "labels.csv")
        if found is None:
            return None
        return TableFiles(found[0].parent, "published", partial(_read_gene, found[0], found[1]))
    files = {
        "abalone": ("abalone.data",),
        "arrhythmia": ("mitbih_train.csv",),
        "iris": ("iris.data",),
        "skyserver": ("Skyserver_SQL2_27_2018 6_51_39 PM.csv", "Skyserver.csv"),
        "speech": ("accent-mfcc-data-1.csv",),
        "stellar": ("star_classification.csv",),
        "wineqt": ("WineQT.csv",),
    }
    read = {
        "abalone": _read_abalone,
        "arrhythmia": _read_arrhythmia,
        "iris": _read_iris,
        "skyserver": _read_skyserver,
        "speech": _read_speech,
        "stellar": _read_stellar,
        "wineqt": _read_wineqt,
    }
    path = finder.file(*files[name])
    if path is None:
        return TableFiles(None, "scikit-learn", partial(_read_iris, None)) if name == "iris" else None
    return TableFiles(path, "published", partial(read[name], path))


def _read_abalone(path: Path, protocol: Protocol) -> Samples:
    frame = _read_csv(path, ABALONE_COLUMNS)
    return _samples("abalone", path, frame.drop(columns="sex"), frame["sex"], protocol)


def _read_arrhythmia(path: Path, protocol: Protocol) -> Samples:
    columns = [f"t{time:03}" for time in range(187)]
    frame = _read_csv(path, (*columns, "class"), np.dtype(np.float32))
    return _samples("arrhythmia", path, frame[columns], frame["class"].astype(np.int64), protocol)


def _read_gene(data: Path, labels: Path, protocol: Protocol) -> Samples:
    x, y = (frame.set_index(frame.columns[0]) for frame in (_read_csv(data), _read_csv(labels)))
    if not x.index.equals(y.index):
        raise DataError(f"the samples of {data} and {labels} are not the same ones in the same order")
    return _samples("gene", data, x, _column(y, "Class", labels), protocol, ids=x.index.to_numpy())


def _read_iris(path: Path | None, protocol: Protocol) -> Samples:
    if path is None:
        from sklearn.datasets import load_iris  # late: it takes a second and seven of eight tables do without

        bunch = load_iris()
        x = pd.DataFrame(bunch.data, columns=list(IRIS_COLUMNS[:4]))
        return _samples("iris", Path("iris"), x, bunch.target_names[bunch.target], protocol)
    frame = _read_csv(path, IRIS_COLUMNS)
    species = frame["species"].str.removeprefix("Iris-")
    return _samples("iris", path, frame.drop(columns="species"), species, protocol)


def _read_skyserver(path: Path, protocol: Protocol) -> Samples:
    frame = _read_csv(path)
    y = _column(frame, "class", path)
    unused = ["class"] if protocol == "released" else ["class", "objid", "specobjid"]
    return _samples("skyserver", path, frame.drop(columns=unused, errors="ignore"), y, protocol)


def _read_speech(path: Path, protocol: Protocol) -> Samples:
    frame = _read_csv(path)
    y = _column(frame, "language", path)
    return _samples("speech", path, frame.drop(columns="language"), y, protocol)


def _read_stellar(path: Path, protocol: Protocol) -> Samples:
    frame = _read_csv(path)
    y = _column(frame, "class", path)
    # The authors used 16 of the 17 columns and do not say which; the row number is the likeliest to go.
    unused = ["class", "obj_ID"] if protocol == "released" else ["class", "obj_ID", "spec_obj_ID"]
    x = frame.drop(columns=unused, errors="ignore")
    ids = np.arange(len(x))
    if protocol == "paper":
        measured = ~(x == SENTINEL).any(axis=1).to_numpy()
        x, y, ids = x[measured].reset_index(drop=True), y[measured], ids[measured]
    return _samples("stellar", path, x, y, protocol, ids=ids)


def _read_wineqt(path: Path, protocol: Protocol) -> Samples:
    frame = _read_csv(path)
    quality = _column(frame, "quality", path)
    if protocol == "released":  # the three rarest qualities are one class there
        quality = quality.astype(str).where(quality.isin([5, 6, 7]), "other")
    return _samples("wineqt", path, frame.drop(columns=["quality", "Id"], errors="ignore"), quality, protocol)


def _read_csv(
    path: Path, columns: tuple[str, ...] | None = None, dtype: np.dtype | None = None
) -> pd.DataFrame:
    """A CSV file, packed or not; `columns` names those of a file without a header."""
    types = None if columns is None or dtype is None else dict.fromkeys(columns, pa.from_numpy_dtype(dtype))
    try:
        table = pyarrow.csv.read_csv(
            path,
            # A row of Gene has 20,531 values and must fit into one block.
            read_options=pyarrow.csv.ReadOptions(column_names=columns, block_size=1 << 24),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types),
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _column(frame: pd.DataFrame, name: str, path: Path) -> pd.Series:
    if name not in frame:
        raise DataError(f"{path} has no column {name!r}; it has {', '.join(map(str, frame.columns[:20]))}")
    column: pd.Series = frame[name]
    return column


def _samples(
    name: str,
    path: Path,
    x: pd.DataFrame,
    labels: pd.Series | np.ndarray,
    protocol: Protocol,
    ids: np.ndarray | None = None,
) -> Samples:
    """The table as Samples; every feature of these tables is a number."""
    words = [name for name, dtype in x.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
    if words:
        raise DataError(f"{path}: column {words[0]!r} should hold numbers only")
    try:
        y, classes = encode_labels(labels, RELEASED[name].classes if protocol == "released" else None)
        return Samples(x, y, classes, np.arange(len(x)) if ids is None else ids, "table")
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
