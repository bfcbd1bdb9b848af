"""The data of a run: what form it has, which columns mean what, and a fingerprint to know it again."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from graylearn.data.progress import progress_bar
from graylearn.data.readers.arrays import samples_from_npz
from graylearn.data.readers.image_folder import (
    IMAGE_SUFFIXES,
    ImageOptions,
    path_column,
    samples_from_image_folder,
    samples_from_manifest,
)
from graylearn.data.readers.table_files import TABLE_SUFFIXES, read_table_file, table_suffix
from graylearn.data.readers.tables import LABEL_NAMES, TEXT_NAMES, Table, samples_from_table
from graylearn.data.samples import Label, Samples
from graylearn.errors import DataError, SettingsError
from graylearn.runs.settings import RunSettings

Form = Literal["delimited", "parquet", "feather", "json", "npz", "folder"]

_FORMS: dict[str, Form] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".npz": "npz",
    ".npy": "npz",
}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")


@dataclass(frozen=True)
class Columns:
    """Which column means what; None where none does."""

    label: str | None = None
    """The labels."""
    id: str | None = None
    """What names the samples."""
    text: str | None = None
    """The texts, where samples are texts."""
    path: str | None = None
    """The paths of images, where samples are images."""


@dataclass(frozen=True)
class Source:
    """What a run read, as data.json keeps it."""

    path: str
    """Absolute path."""
    form: Form
    """What kind of file or folder it is."""
    columns: Columns
    """Which column means what, where it is a table."""
    kind: str
    """What one sample is: array, table, image or text."""
    separator: str | None = None
    """What parts the cells of a delimited file, where it was given."""
    encoding: str = "utf-8"
    """Of a delimited file."""
    split: str | None = None
    """Of an .npz file."""
    names: tuple[str, ...] = ()
    """All columns of a table, in order."""
    left_out: tuple[int, ...] = ()
    """Rows of a table that are no samples, for their images cannot be read."""

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Source:
        """What `to_json` gave."""
        lists = {name: tuple(saved.get(name, ())) for name in ("names", "left_out")}
        return cls(**{**saved, **lists, "columns": Columns(**saved["columns"])})


def form_of(path: Path) -> Form:
    """The form of a file or folder, by its name."""
    if path.is_dir():
        return "folder"
    if not path.exists():
        raise DataError(f"{path} does not exist")
    form = form_by_name(path)
    if form is None and path.suffix.lower() in _SPREADSHEETS:
        raise DataError(f"{path} is a spreadsheet, which is not read: save it as CSV (UTF-8) and give that")
    if form is None:
        raise DataError(
            f"{path} ends in {table_suffix(path) or 'nothing'!r}; known are {', '.join(TABLE_SUFFIXES)}, "
            ".npz, .npy and folders of images"
        )
    return form


def form_by_name(path: Path) -> Form | None:
    """The form of a file that need not be there yet; None where its ending is not known."""
    suffix = table_suffix(path)
    return _FORMS.get(suffix, "delimited" if suffix in TABLE_SUFFIXES else None)


def read_labelled(
    path: Path, settings: RunSettings, *, size: int, split: str | None, classes: Sequence[Label] | None = None
) -> tuple[Samples, Source]:
    """The labelled samples of a file or folder, and what was read."""
    form = form_of(path)
    images = ImageOptions(size=size, on_error=settings.unreadable)
    columns = Columns()
    names: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()
    if form == "folder":
        if settings.label is not None:
            raise SettingsError(f"{path} is a folder, whose folders are the classes: leave out label")
        samples = samples_from_image_folder(path, images, classes=classes)
    elif form == "npz":
        samples = samples_from_npz(path, split=split, label=settings.label, classes=classes)
    else:
        table = read_table_file(path, separator=settings.separator, encoding=settings.encoding)
        names = tuple(str(name) for name in table.frame.columns)
        table = _without(table, settings.without)
        columns = find_columns(table, settings)
        samples = _of_table(table, path, columns, images, labelled=True, classes=classes)
        left_out = _left_out(table, columns, samples)
    _check_ids(samples, path)
    source = Source(
        str(path.absolute()),
        form,
        columns,
        samples.kind,
        settings.separator,
        settings.encoding,
        split,
        names,
        left_out,
    )
    return samples, source


def read_unlabelled(path: Path, source: Source, settings: RunSettings, *, size: int) -> Samples:
    """New samples of the kind that `source` held; labels, where there are any, are passed over."""
    samples = _unlabelled(path, source, settings, size)
    _check_ids(samples, path)
    return samples


def _unlabelled(path: Path, source: Source, settings: RunSettings, size: int) -> Samples:
    images = ImageOptions(size=size, on_error=settings.unreadable)
    if path.is_file() and path.suffix.lower() in IMAGE_SUFFIXES:
        one = Table(pd.DataFrame({"path": [path.name]}), str(path), np.zeros(1, dtype=np.int64))
        return samples_from_manifest(one, "path", path.parent, images, labelled=False)
    form = form_of(path)
    if form == "folder":
        return samples_from_image_folder(path, images, labelled=False)
    if form == "npz":
        return samples_from_npz(path, split=settings.split, labelled=False)
    table = read_table_file(path, separator=settings.separator, encoding=settings.encoding)
    known = set(table.frame.columns)
    was = source.columns
    for column, meaning in ((was.text, "texts"), (was.path, "image paths")):
        if column is not None and column not in known:
            raise DataError(
                f"{path} has no column {column!r}, from which the model takes the {meaning}; "
                f"its columns are {table.columns_text()}"
            )
    path_from = was.path
    if path_from is None and source.kind == "image":
        found = path_column(table, was.label)
        if found is None:
            raise DataError(
                f"{path} has no column of image paths, which the model reads; name it path, or give a folder"
            )
        path_from = str(found)
    id_column = was.id if was.id in known and not settings.no_id else None
    columns = Columns(was.label if was.label in known else None, id_column, was.text, path_from)
    return _of_table(table, path, columns, images, labelled=False, classes=None)


def _check_ids(samples: Samples, path: Path) -> None:
    """Refuse names that the files of a run could not hold, before hours are spent on it."""
    if samples.ids.dtype.kind not in "iu":
        for name in map(str, samples.ids):
            if not _is_unicode(name):
                raise DataError(f"{path} holds {name!r}, whose name is not UTF-8: rename it")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_table(
    table: Table,
    path: Path,
    columns: Columns,
    images: ImageOptions,
    *,
    labelled: bool,
    classes: Sequence[Label] | None,
) -> Samples:
    id_column: Any = False if columns.id is None else columns.id
    options: dict[str, Any] = {
        "label": columns.label,
        "id": id_column,
        "labelled": labelled,
        "classes": classes,
    }
    if columns.path is not None:
        return samples_from_manifest(table, columns.path, path.parent, images, **options)
    return samples_from_table(table, text=columns.text, **options)


def _left_out(table: Table, columns: Columns, samples: Samples) -> tuple[int, ...]:
    """The rows of a table of images that became no samples."""
    if columns.path is None or len(samples) == len(table.frame):
        return ()
    names: Any = table.frame[columns.path]
    if columns.id is not None:
        names = samples_from_table(table, id=columns.id, text=columns.path, labelled=False).ids
    kept = set(map(str, samples.ids))
    return tuple(row for row, name in enumerate(map(str, names)) if name not in kept)


def find_columns(table: Table, settings: RunSettings) -> Columns:
    """Which column means what: as the settings say, or as the names leave no doubt."""
    label = _column(table, settings.label, "labels", "--label")
    text = _column(table, settings.text, "texts", "--text")
    path = _column(table, settings.path, "image paths", "--path")
    if path is None and text is None:
        found = path_column(table, label)
        path = None if found is None else str(found)
    id_column = _column(table, settings.id, "ids", "--id")
    if id_column is None and not settings.no_id:
        id_column = _guessed_id(table, label)
    rest = [str(name) for name in table.frame.columns if name not in (label, id_column, path)]
    if text is None and path is None:
        named = [name for name in rest if name.lower() in TEXT_NAMES]
        if len(named) == 1 and len(rest) == (2 if label is None else 1) and _is_text(table, named[0]):
            text = named[0]
    if label is None:
        label = _guessed_label(
            table, [name for name in rest if name != text], text is not None or path is not None
        )
    return Columns(label, id_column, text, path)


def _without(table: Table, names: Sequence[str]) -> Table:
    """The table less some columns."""
    dropped = [_column(table, name, "column to leave out", "--without") for name in names]
    return replace(table, frame=table.frame.drop(columns=dropped)) if dropped else table


def _column(table: Table, given: str | None, meaning: str, flag: str) -> str | None:
    """The column that was given by name, or by place where no column has that name."""
    names = [str(name) for name in table.frame.columns]
    if given is None or given in names:
        return given
    if given.lstrip("-").isdigit() and -len(names) <= int(given) < len(names):
        return names[int(given)]
    raise DataError(
        f"{table.name} has no column {given!r} ({meaning}); {flag} is one of: {table.columns_text()}"
    )


def _guessed_id(table: Table, label: str | None) -> str | None:
    names = [str(name) for name in table.frame.columns]
    if names and names[0] in ("", "Unnamed: 0") and names[0] != label and table.frame.iloc[:, 0].is_unique:
        return names[0]  # what pandas calls an index that it wrote without a name
    named = [name for name in names if name.lower() == "id" and name != label]
    return named[0] if len(named) == 1 else None


def _guessed_label(table: Table, rest: list[str], all_else_is_known: bool) -> str:
    if all_else_is_known and len(rest) == 1:
        return rest[0]
    named = [name for name in rest if name.lower() in LABEL_NAMES]
    if len(named) == 1:
        return named[0]
    doubt = f"both {named[0]!r} and {named[1]!r} could be" if named else "no column is plainly"
    distinct = {name: int(table.frame[name].nunique()) for name in named or rest}
    most = max(2, min(200, len(table.frame) // 3))
    likely = sorted((name for name in distinct if 2 <= distinct[name] <= most), key=distinct.__getitem__)
    shown = [f"{name} ({distinct[name]} different values)" for name in likely[:5]] or rest[:20]
    raise DataError(
        f"{table.name}: {doubt} the label; name it with --label, such as one of: {', '.join(shown)}"
    )


def _is_text(table: Table, column: Hashable) -> bool:
    kind = table.frame[column].dtype
    return bool(pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind))


# -- knowing the data again -------------------------------------------------------------------------


def file_fingerprint(path: Path) -> dict[str, Any]:
    """Size and hash of one file."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": path.stat().st_size, "sha256": digest}
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error})") from error


def image_fingerprints(folder: Path, names: Sequence[str] | np.ndarray) -> list[str]:
    """The hash of each image of a folder, by its path within it."""
    hashes = []
    with progress_bar("Fingerprints of the images", len(names)) as advance:
        for name in names:
            hashes.append(str(file_fingerprint(folder / str(name))["sha256"]))
            advance(1)
    return hashes


def joint_fingerprint(names: Sequence[str] | np.ndarray, hashes: Sequence[str]) -> dict[str, Any]:
    """One hash of all images of a folder and where they lie."""
    digest = hashlib.sha256()
    for name, own in zip(names, hashes, strict=True):
        digest.update(f"{name}\0{own}\0".encode("utf-8", "surrogateescape"))
    return {"images": len(hashes), "sha256": digest.hexdigest()}
