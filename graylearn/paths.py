"""Paths as people give them; nothing here imports torch, so that a wrong one is told at once."""

import glob
import hashlib
import itertools
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from graylearn.errors import DataError, SettingsError


class Sign(NamedTuple):
    """How files of a kind begin."""

    start: bytes
    """Their first bytes."""
    ending: str
    """What a file of them, of which nothing else is known, is called; empty where none is read."""
    words: str
    """What they are and what to do with one that is called otherwise."""


_SIGNS = (
    Sign(b"PAR1", ".parquet", "a Parquet file: let its name end in .parquet"),
    Sign(b"ARROW1", ".arrow", "an Arrow file: let its name end in .arrow"),
    Sign(b"\xff\xff\xff\xff", ".arrow", "an Arrow stream: let its name end in .arrow"),
    Sign(b"PK\x03\x04", ".xlsx", "a spreadsheet or a zip archive: let its name end in .xlsx, or .csv.zip"),
    Sign(b"\xd0\xcf\x11\xe0", "", "an old spreadsheet: save it as CSV (UTF-8) and give that"),
    Sign(b"SQLite format 3\x00", ".sqlite", "an SQLite database: let its name end in .sqlite"),
    Sign(b"\x1f\x8b", ".csv.gz", "compressed by gzip: let its name end in .gz"),
    Sign(b"\x28\xb5\x2f\xfd", ".csv.zst", "compressed by zstd: let its name end in .zst"),
    Sign(b"BZh", ".csv.bz2", "compressed by bzip2: let its name end in .bz2"),
    Sign(b"\xfd7zXZ\x00", ".csv.xz", "compressed by xz: let its name end in .xz"),
)
UNPACKED, RATIO = 1 << 30, 200
"""Bytes that a compressed file may always unpack to, and how many times its own size beyond that."""


def as_path(given: str | os.PathLike[str]) -> Path:
    """A path as a person gives it: `~` is their home, and none is not this folder but an error."""
    if not str(given).strip():
        raise DataError("the name is empty: give a file or a folder; . is this one")
    return Path(os.path.expanduser(given))  # noqa: PTH111  a user who is not there stays as written


def existing(given: str | os.PathLike[str]) -> Path:
    """The path of data that is there, or a glob of some; an address is looked at when it is read.

    The command line saves what comes on standard input (`saved_input`); others refuse it.
    """
    path, text = as_path(given), str(given)
    if address_of(text) is not None:
        return path
    if text == "-" and not path.exists():
        raise DataError("standard input is not read: save the data to a file and give that")
    if not path.exists() and not matching(path):
        if path.is_symlink():
            raise DataError(f"{path} is a link to {path.readlink()}, which does not exist")
        raise DataError(f"{path} does not exist")
    for each in (path, *matching(path)):
        if each.exists() and not os.access(each, os.R_OK):
            raise DataError(f"{each} may not be read: permission denied")
        if each.exists() and not (each.is_file() or each.is_dir()):  # a pipe gives what it gives once
            raise DataError(f"{each} is no file and no folder: save what it gives to a file and give that")
    return path


def default_cache_folder() -> Path:
    """GRAYLEARN_CACHE if set, else `graylearn` in the user's cache folder."""
    if chosen := os.environ.get("GRAYLEARN_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA"):
        return Path(base) / "graylearn"
    try:
        return Path.home() / ".cache" / "graylearn"
    except RuntimeError as error:  # as in a container under a number that has no name
        raise SettingsError("there is no home folder to keep files in: set GRAYLEARN_CACHE") from error


def inside(folder: Path, name: str) -> Path:
    """The path of a name that a file gave, within a folder; a name that leads out of it is refused."""
    path = Path(name)
    if not name or "\0" in name or path.anchor or ".." in path.parts:
        raise DataError(f"{name!r} leads out of {folder}: names of files lie inside it")
    return folder / path


def is_standard(given: str | os.PathLike[str]) -> bool:
    """Whether standard input or output is meant: `-`, unless a file is called so."""
    return str(given) == "-" and not Path(given).exists()


def saved_input(stem: Path, write: Callable[[Path, bytes], object] = Path.write_bytes) -> Path:
    """What stands on standard input, in a file beginning with `stem` whose ending says what it is.

    Its name tells its content, so that no other input is ever written over it.
    """
    content = sys.stdin.buffer.read()
    if not content:
        raise DataError("there is nothing on standard input")
    known = sign_of(content)
    text = {b"{": ".jsonl", b"[": ".json"}.get(content.lstrip()[:1], ".csv")
    digest = hashlib.sha256(content).hexdigest()[:12]
    path = stem.with_name(f"{stem.name}-{digest}{known.ending if known and known.ending else text}")
    write(path, content)
    return path


def sign_of(content: bytes) -> Sign | None:
    """What a file is by its first bytes; None where it may be text."""
    return next((sign for sign in _SIGNS if content.startswith(sign.start)), None)


def address_of(given: str | os.PathLike[str]) -> str | None:
    """The address (s3://..., https://...) that was given, also as a path; None where it is none."""
    found = re.match(r"([A-Za-z][A-Za-z\d+.-]+):/+(.*)", str(given), re.DOTALL)  # a drive has one letter
    if found is not None and found[1].lower() == "file":
        raise DataError(f"{given} is the address of a file on this machine: give its path, /{found[2]}")
    return None if found is None else f"{found[1]}://{found[2]}"


def matching(pattern: Path) -> list[Path]:
    """What a glob such as folder/**/*.parquet finds, by name; nothing where it is none."""
    if not re.search(r"[*?[]", str(pattern)):
        return []
    return sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207  it may begin anywhere


def beside(data: str, what: str) -> Path:
    """Where a run goes that nobody named: `orders-audit` beside orders.csv; in this folder, if data come
    from an address or standard input."""
    if data == "-" or address_of(data) is not None:
        named = Path("input" if data == "-" else data.rstrip("/").rpartition("/")[2])
    else:
        whole = itertools.takewhile(lambda part: not re.search(r"[*?[]", part), as_path(data).parts)
        named = Path(*whole)
        if not named.name or ".." in named.parts:
            named = named.resolve()
    stem = re.sub(r"(\.[A-Za-z]\w*){1,2}$", "", named.name) or "data"
    return named.parent / f"{stem}-{what}"


class Limit:
    """The bytes that a file may take in memory, counted as they arrive: more is meant to fill the memory.

    `always` is what a file of any size may take, by default UNPACKED; beyond that RATIO times its own size.
    The environment variable GRAYLEARN_MAX_UNPACKED sets another limit. Text that is compressed well has a
    twentieth of its size.
    """

    def __init__(self, *files: Path | str, always: int | None = None, size: int | None = None) -> None:
        told = os.environ.get("GRAYLEARN_MAX_UNPACKED", "")
        least = UNPACKED if always is None else always
        size = sum(Path(file).stat().st_size for file in files) if size is None else size
        self.most = int(told) if told.isdecimal() else max(least, RATIO * size)
        self.name = str(files[0]) if len(files) == 1 else str(Path(files[0]).parent)
        self.taken = 0

    def take(self, size: int) -> None:
        """Count so many bytes more; a DataError where they are too many."""
        self.taken += int(size)
        if self.taken > self.most:
            raise DataError(
                f"{self.name} cannot be read: it unpacks to more than {self.most:,} bytes; set "
                "GRAYLEARN_MAX_UNPACKED to allow as many as it needs"
            )
