"""Paths as people give them; nothing here imports torch, so that a wrong one is told at once."""

import glob
import os
import re
import sys
from pathlib import Path

from graylearn.errors import DataError

_SIGNS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"PK\x03\x04": ".xlsx",
    b"SQLite format 3\x00": ".sqlite",
    b"\x1f\x8b": ".csv.gz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ\x00": ".csv.xz",
}
"""How files begin, and the ending that they should have."""
UNPACKED, RATIO = 1 << 30, 200
"""Bytes that a compressed file may always unpack to, and how many times its own size beyond that."""


def existing(given: str | os.PathLike[str]) -> Path:
    """The path of data that is there, or a glob of some; an address is looked at when it is read.

    The command line saves what comes on standard input (`saved_input`); others refuse it.
    """
    path, text = Path(given), str(given)
    if address_of(text) is not None:
        return path
    if text == "-" and not path.exists():
        raise DataError("standard input is not read: save the data to a file and give that")
    if not path.exists() and not matching(path):
        raise DataError(f"{path} does not exist")
    return path


def is_standard(given: str | os.PathLike[str]) -> bool:
    """Whether standard input or output is meant: `-`, unless a file is called so."""
    return str(given) == "-" and not Path(given).exists()


def saved_input(stem: Path) -> Path:
    """What stands on standard input, in a file beginning with `stem` whose ending says what it is."""
    content = sys.stdin.buffer.read()
    if not content:
        raise DataError("there is nothing on standard input")
    start = content.lstrip()[:1]
    ending = next((end for sign, end in _SIGNS.items() if content.startswith(sign)), None)
    path = stem.with_name(f"{stem.name}{ending or {b'{': '.jsonl', b'[': '.json'}.get(start, '.csv')}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def address_of(given: str | os.PathLike[str]) -> str | None:
    """The address (s3://..., https://...) that was given, also as a path; None where it is none."""
    found = re.match(r"([A-Za-z][A-Za-z\d+.-]+):/+(.*)", str(given), re.DOTALL)  # a drive has one letter
    return None if found is None else f"{found[1]}://{found[2]}"


def matching(pattern: Path) -> list[Path]:
    """What a glob such as folder/**/*.parquet finds, by name; nothing where it is none."""
    if not re.search(r"[*?[]", str(pattern)):
        return []
    return sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207  it may begin anywhere


def most_unpacked(path: Path, always: int | None = None) -> int:
    """Bytes that a compressed file may unpack to: more is no data but meant to fill the memory.

    So many are `always` allowed, by default UNPACKED, which files of our own do not need. The environment
    variable GRAYLEARN_MAX_UNPACKED sets another limit. Text that is compressed well has a twentieth of its
    size.
    """
    told = os.environ.get("GRAYLEARN_MAX_UNPACKED", "")
    least = UNPACKED if always is None else always
    return int(told) if told.isdecimal() else max(least, RATIO * path.stat().st_size)


def too_large(limit: int) -> str:
    """What to say of a file that unpacks to more."""
    return f"it unpacks to more than {limit:,} bytes; set GRAYLEARN_MAX_UNPACKED to allow as many as it needs"
