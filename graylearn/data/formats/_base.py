"""What a file format is: how its files are known, read, known again, and rewritten with decisions applied.

What is packed is unpacked as it is read, up to a limit, and packed as it is written.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import numpy as np
import pyarrow as pa

from graylearn.data.atomic import signature
from graylearn.data.samples import Samples
from graylearn.data.tables import Columns, RawTable, ReadOptions, Table
from graylearn.errors import DataError, first_line, shortened
from graylearn.paths import Limit, sign_of

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
"""What may follow the ending of a file that is read whole, and what packs it."""
CHUNK = 8 << 20
"""Bytes of text that are read at once where a file is read in blocks."""
_ERRORS = (
    OSError, EOFError, pa.ArrowException, lzma.LZMAError, zipfile.BadZipFile, zlib.error,
    NotImplementedError, MemoryError,
)  # fmt: skip
"""What damaged files fail with; the last where they name a way of packing, or a size, that cannot be."""


def suffix_of(path: Path, compressed: bool = True) -> str:
    """The ending that tells the format, in lower case, with any of COMPRESSIONS left off."""
    plain = path.with_suffix("") if compressed and _packing(path) else path
    return plain.suffix.lower()


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked where its name says so."""
    return b"".join(_pieces(path))


def chunks_of(path: Path) -> Iterator[tuple[bytes, bool]]:
    """(some of the content of a text file, whether it is the last); what is plainly no text is refused."""
    for number, raw in enumerate(_pieces(path)):
        if number == 0 and (known := sign_of(raw)) is not None:
            raise DataError(f"{path} is not text but {known.words}")
        yield raw, False
    yield b"", True


def _pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, CHUNK bytes at a time."""
    try:
        limit = Limit(path)
        with _opened(path) as stream:
            while raw := stream.read(CHUNK):
                limit.take(len(raw) * (_packing(path) is not None))
                yield raw
    except _ERRORS as error:
        raise DataError(f"{path} cannot be read ({first_line(error)}); is the file whole?") from error


def _packing(path: Path) -> str | None:
    return COMPRESSIONS.get(path.suffix.lower())


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A stream of what a file holds."""
    if _packing(path) == "zip":
        with zipfile.ZipFile(path) as archive:
            files = [each for each in archive.namelist() if not each.endswith("/") and "__MACOSX" not in each]
            if len(files) != 1:
                raise DataError(f"{path} holds {len(files)} files: expected one; unpack it and give that")
            try:
                with archive.open(files[0]) as stream:
                    yield stream
            except RuntimeError as error:  # a password is needed
                raise DataError(f"{path} cannot be read ({error})") from error
    elif _packing(path) == "xz":
        with lzma.open(path) as stream:
            yield stream
    elif _packing(path) is not None:
        with pa.input_stream(str(path), compression=_packing(path)) as stream:
            yield stream
    else:
        with path.open("rb") as stream:
            yield stream


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, packed where its name says so; equal content gives equal bytes."""
    packing = _packing(path)
    if packing == "xz":
        content = lzma.compress(content)
    elif packing == "zip":
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            archive.writestr(zipfile.ZipInfo(path.stem, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
        content = written.getvalue()
    elif packing is not None:
        buffer = pa.BufferOutputStream()
        with pa.CompressedOutputStream(buffer, packing) as stream:
            stream.write(content)
        content = buffer.getvalue().to_pybytes()
    path.write_bytes(content)


def file_fingerprint(path: Path) -> dict[str, Any]:
    """Size and hash of one file."""
    try:
        return signature(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error})") from error


def moved_path(image: Any, path: Path, out: Path) -> Any:
    """The path of an image that the table at `path` lists, as the table at `out` has to write it.

    A row without a label may have no path either, and what is no path stays as it is.
    """
    before, after = path.absolute().parent.resolve(), out.absolute().parent.resolve()
    if not isinstance(image, str) or not image or before == after or Path(image).is_absolute():
        return image
    try:
        return Path(os.path.relpath(before / image, after)).as_posix()
    except ValueError:  # on another drive of Windows
        return (before / image).as_posix()


NAMELESS = "the dataset"
"""The path of data that were in no file."""
TABLES = frozenset({".csv", ".tsv", ".parquet", ".pq", ".feather", ".arrow", ".jsonl", ".ndjson", ".xlsx"})
"""Endings of files that hold samples themselves, as folders may hold some."""


@dataclass(frozen=True)
class Origin:
    """What was read and how: all that is needed to read more of its kind, or to rewrite it."""

    path: str
    """Absolute path."""
    form: str
    """The name of its format."""
    columns: Columns = field(default_factory=Columns)
    """Which column means what, where it is a table."""
    kind: str = ""
    """What one sample is: array, table, image or text."""
    encoding: str = "utf-8"
    """Of delimited text."""
    split: str | None = None
    """Of an .npz file."""
    names: tuple[str, ...] = ()
    """All columns of a table, in order."""
    left_out: tuple[int, ...] = ()
    """Rows of a table that are no samples: their labels are missing, or their images cannot be read."""
    unread: tuple[str, ...] = ()
    """Images of a folder that cannot be read."""
    unit: str = "row"
    """What the ids of a table count where no column gives them, as of `RawTable`."""
    separator: str | None = None
    """What parts the cells of delimited text."""
    decimal: str | None = None
    """The decimal mark of delimited text."""

    @property
    def root(self) -> Path:
        """Where the paths of images begin."""
        path = Path(self.path)
        return path if self.form == "folder" and not path.is_file() else path.parent

    def of(self, table: RawTable, columns: Columns, kind: str, left_out: Sequence[int] = ()) -> Origin:
        """With what was found in a table; of a folder of images it is made up."""
        if self.form == "folder":
            return replace(self, kind=kind)
        names, gone = tuple(table.frame.columns), tuple(left_out)
        return replace(
            self, columns=columns, kind=kind, names=names, unit=table.unit, left_out=gone, **table.of_file
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Origin:
        """What `to_json` gave; a TypeError or ValueError where it cannot have been that."""
        tuples = ("names", "left_out", "unread")
        kinds = get_type_hints(cls) | {"columns": dict} | dict.fromkeys(tuples, list)
        for name, value in saved.items():
            if not isinstance(value, kinds[name]):
                raise TypeError(f"{name} is {shortened(repr(value))}")
        columns, names = Columns(**saved["columns"]), saved["names"]
        for name, column in vars(columns).items():
            if not isinstance(column, str | int | None) or (
                names and name in ("label", "path") and column not in (None, *names)
            ):
                raise ValueError(f"columns.{name} is {shortened(repr(column))}")
        if len(saved["separator"] or ",") != 1:
            raise ValueError(f"separator is {shortened(repr(saved['separator']))}")
        return cls(**{**saved, **{name: tuple(saved[name]) for name in tuples}, "columns": columns})


@dataclass(frozen=True)
class Change:
    """What becomes of the N samples of a file.

    A new label is never spelled anew: it is the label of another sample that bears it, copied as it stands
    there, so that quotes, types and encodings are those of the file.
    """

    ids: list[str]
    """(N,) their names."""
    labels: list[str]
    """(N,) their labels as text."""
    keep: list[bool]
    """(N,) which stay."""
    label_of: list[int]
    """(N,) the index of the sample whose label each gets: its own, or that of another class."""
    link: bool = False
    """Whether files that stay as they are become hard links instead of copies."""

    @property
    def kept(self) -> list[int]:
        """The indices of those that stay."""
        return [index for index, keep in enumerate(self.keep) if keep]

    def check_count(self, path: Path, rows: int) -> None:
        """Refuse a file that has another number of rows than were read of it."""
        if rows != len(self.keep):
            raise DataError(f"{path} has {rows} rows where {len(self.keep)} samples were read")

    def with_rows(self, left_out: Sequence[int]) -> Change:
        """The same for all rows of a table, of which those at `left_out` are no samples and stay."""
        if not left_out:
            return self
        n, gone = len(self.keep) + len(left_out), set(left_out)
        rows = [row for row in range(n) if row not in gone]  # of each sample
        if len(rows) != len(self.keep):
            raise DataError("the run does not tell which rows are its samples; make it anew")
        whole = Change([""] * n, [""] * n, [True] * n, list(range(n)))
        for index, row in enumerate(rows):
            whole.ids[row], whole.labels[row] = self.ids[index], self.labels[index]
            whole.keep[row], whole.label_of[row] = self.keep[index], rows[self.label_of[index]]
        return whole


def edited(
    records: Sequence[str],
    rows: Sequence[int],
    change: Change,
    columns: Columns,
    span: Callable[[str, Any], tuple[int, int]],
    moved: Callable[[str], str],
) -> list[str]:
    """Records of text less the rows that go, each row with its new label; all else as it stands.

    Args:
        records: what the file holds, of which `rows` (N,) are the samples.
        span: where the value of a column begins and ends in a record.
        moved: the path of an image, as it stands there, as the new file has to write it.
    """
    written = dict(enumerate(records))
    for at, number in enumerate(rows):
        if not change.keep[at]:
            del written[number]
            continue
        record = records[number]
        if (other := change.label_of[at]) != at:
            bearer = records[rows[other]]
            start, end = span(bearer, columns.label)
            record = _spliced(record, span(record, columns.label), bearer[start:end])
        if columns.path is not None:
            start, end = span(record, columns.path)
            record = _spliced(record, (start, end), moved(record[start:end]))
        written[number] = record
    return list(written.values())


def _spliced(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


class Format(ABC):
    """One way to keep a dataset in files."""

    name: ClassVar[str]
    """As a run remembers it."""
    suffixes: ClassVar[tuple[str, ...]]
    """Endings of its files, in lower case."""
    compressed: ClassVar[bool] = True
    """Whether one of COMPRESSIONS may follow the ending."""

    has_splits: ClassVar[bool] = False
    """Whether it may hold several sets: splits, tables or sheets."""

    takes_any_folder: ClassVar[bool] = False
    """Whether it is asked last, because it takes folders that are nobody's."""

    def takes(self, path: Path) -> bool:
        """Whether a file, which need not be there yet, is of this format; here by its name."""
        return not path.is_dir() and suffix_of(path, self.compressed) in self.suffixes

    beside: ClassVar[tuple[str, ...]] = ()
    """What follows the name of files in which its program keeps what belongs to it and is not in it yet."""

    @abstractmethod
    def open(self, path: Path, options: ReadOptions) -> Table | Samples:
        """The table in it, or samples where the file says itself what they are."""

    def read(self, path: Path, options: ReadOptions) -> RawTable | Samples:
        """All rows of the table, or the samples."""
        found = self.open(path, options)
        return found.whole() if isinstance(found, Table) else found

    @abstractmethod
    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> str | None:
        """Write the changed dataset to `out`; what did not change stays as it is.

        Gives a sentence on what is otherwise than in the data, where something is.
        """

    def endings(self, path: Path) -> tuple[str, ...]:
        """How names end that the rewritten file may bear, COMPRESSIONS left off; the usual one first."""
        return self.suffixes

    def may_become(self, path: Path, out: Path) -> bool:
        """Whether `out` is a name that the rewritten file may bear."""
        return not out.is_dir() and suffix_of(out, self.compressed) in self.endings(path)

    def files(self, path: Path) -> list[Path]:
        """All files that make it up."""
        around = [each for ending in self.beside if (each := Path(f"{path}{ending}")).exists()]
        if strange := [each for each in around if not each.is_file()]:  # a pipe would be waited for
            raise DataError(f"{strange[0]} is no file, but stands where a part of {path} would: move it away")
        return [path, *(each for each in around if each.stat().st_size)]

    @contextmanager
    def still(self, path: Path) -> Iterator[None]:
        """A DataError where somebody writes to it meanwhile: nobody would know what was read."""
        before = self._touched(path)
        yield
        if self._touched(path) != before:
            raise DataError(f"{path} was written to while it was read: do it again once nobody writes")

    def _touched(self, path: Path) -> list[tuple[Path, int, int]]:
        return [(file, (found := file.stat()).st_size, found.st_mtime_ns) for file in self.files(path)]

    def fingerprint(
        self, path: Path, ids: Sequence[Any] | np.ndarray
    ) -> tuple[dict[str, Any], list[str] | None]:
        """What to know the dataset again by, and the hash of each sample where samples are files."""
        files = self.files(path)
        if files == [path]:
            return file_fingerprint(path), None
        joint, size = hashlib.sha256(), 0
        for file in files:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name.removeprefix(path.name)
            found = file_fingerprint(file)
            joint.update(f"{name}\0{found['sha256']}\0".encode("utf-8", "surrogateescape"))
            size += found["bytes"]
        return {"bytes": size, "sha256": joint.hexdigest()}, None
