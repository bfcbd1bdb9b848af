"""The paper's eight tables, read from the files their publishers ship.

Protocol `paper` drops columns that only number the rows, and rows that are not measurements. Protocol
`released` reads what the code of the paper's authors reads, class order included.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from graylearn.data.samples import Label, Samples, encode_labels
from graylearn.errors import DataError, first_few, first_line
from reproduction.catalog.files import Finder, Found

Protocol: TypeAlias = Literal["paper", "released"]
"""Whose way of preparing the data: the paper's text, or its authors' code."""

ABALONE = "sex length diameter height whole_weight shucked_weight viscera_weight shell_weight rings"
IRIS = "sepal_length sepal_width petal_length petal_width species"
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


class Published(NamedTuple):
    """A table that is published as one CSV file."""

    files: tuple[str, ...]
    """Names of the file."""
    label: str
    """The column of the labels."""
    unused: tuple[str, ...] = ()
    """Columns that only number the rows; protocol "released" drops the first `unused_there` of them."""
    unused_there: int = 0
    columns: tuple[str, ...] | None = None
    """The columns of a file without a header."""


PUBLISHED: dict[str, Published] = {
    "abalone": Published(("abalone.data",), "sex", columns=tuple(ABALONE.split())),
    "arrhythmia": Published(
        ("mitbih_train.csv",), "class", columns=(*(f"t{time:03}" for time in range(187)), "class")
    ),
    "iris": Published(("iris.data",), "species", columns=tuple(IRIS.split())),
    "skyserver": Published(
        ("Skyserver_SQL2_27_2018 6_51_39 PM.csv", "Skyserver.csv"), "class", ("objid", "specobjid")
    ),
    "speech": Published(("accent-mfcc-data-1.csv",), "language"),
    # The authors used 16 of the 17 columns and do not say which; the row number is the likeliest to go.
    "stellar": Published(("star_classification.csv",), "class", ("obj_ID", "spec_obj_ID"), 1),
    "wineqt": Published(("WineQT.csv",), "quality", ("Id",), 1),
}


def find_table(name: str, finder: Finder) -> Found | None:
    """One of the eight tables."""
    if name == "gene":
        found = finder.beside("data.csv", "labels.csv")
        if found is None:
            return None
        return Found(found[0].parent, "published", partial(_read_gene, found[0], found[1]))
    path = finder.file(*PUBLISHED[name].files)
    if path is None:
        return Found(None, "scikit-learn", _iris_of_sklearn) if name == "iris" else None
    return Found(path, "published", partial(_read_published, name, path))


def _read_published(name: str, path: Path, protocol: Protocol) -> Samples:
    told = PUBLISHED[name]
    dtype = np.dtype(np.float32) if name == "arrhythmia" else None
    frame = _read_csv(path, told.columns, dtype)
    labels = _column(frame, told.label, path)
    unused = told.unused[: told.unused_there] if protocol == "released" else told.unused
    x, ids = frame.drop(columns=[told.label, *unused], errors="ignore"), np.arange(len(frame))
    if name == "arrhythmia":
        labels = labels.astype(np.int64)
    elif name == "iris":
        labels = labels.str.removeprefix("Iris-")
    elif name == "wineqt" and protocol == "released":  # the three rarest qualities are one class there
        labels = labels.astype(str).where(labels.isin([5, 6, 7]), "other")
    elif name == "stellar" and protocol == "paper":
        measured = ~(x == SENTINEL).any(axis=1).to_numpy()
        x, labels, ids = x[measured].reset_index(drop=True), labels[measured], ids[measured]
    return _samples(name, path, x, labels, protocol, ids)


def _read_gene(data: Path, labels: Path, protocol: Protocol) -> Samples:
    x, y = (frame.set_index(frame.columns[0]) for frame in (_read_csv(data), _read_csv(labels)))
    if not x.index.equals(y.index):
        raise DataError(f"the samples of {data} and {labels} are not the same ones in the same order")
    return _samples("gene", data, x, _column(y, "Class", labels), protocol, x.index.to_numpy())


def _iris_of_sklearn(protocol: Protocol) -> Samples:
    from sklearn.datasets import load_iris  # late: it takes a second and seven of eight tables do without

    bunch = load_iris()
    x = pd.DataFrame(bunch.data, columns=IRIS.split()[:4])
    return _samples("iris", Path("iris"), x, bunch.target_names[bunch.target], protocol, np.arange(len(x)))


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
        raise DataError(f"cannot read {path}: {first_line(error)}") from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _column(frame: pd.DataFrame, name: str, path: Path) -> pd.Series:
    if name not in frame:
        raise DataError(f"{path} has no column {name!r}; it has {first_few(list(frame.columns), 20)}")
    column: pd.Series = frame[name]
    return column


def _samples(
    name: str,
    path: Path,
    x: pd.DataFrame,
    labels: pd.Series | np.ndarray,
    protocol: Protocol,
    ids: np.ndarray,
) -> Samples:
    """The table as Samples; every feature of these tables is a number."""
    words = [name for name, dtype in x.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
    if words:
        raise DataError(f"{path}: column {words[0]!r} should hold numbers only")
    try:
        y, classes = encode_labels(labels, RELEASED[name].classes if protocol == "released" else None)
        return Samples(x, y, classes, ids, "table")
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
