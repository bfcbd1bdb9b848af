"""The results store: one JSON line a run, found again by the full settings of its cell.

A line is written in one piece under a lock and is on the disk before `append` returns. A process that was
killed while writing leaves at most one broken last line, which readers pass over and the next writer cuts
off. Lines that are whole are never touched, also a last one that lacks its newline.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock

from graylearn.errors import DataError
from reproduction.cells import Cell

Row = dict[str, Any]
"""{"experiment", "key", "cell", "measured", "hardware", "versions", "commit", "time"}."""


class Store:
    """A file of results; any number of processes and threads may read and append at once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def append(self, row: Row) -> None:
        """Add a row; when this returns it is on the disk."""
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked() as file:
            _mend(file)
            start = os.lseek(file, 0, os.SEEK_END)
            try:
                if os.write(file, line) < len(line):
                    raise OSError(f"{self.path}: the disk is full")
                os.fsync(file)
            except OSError as error:
                os.ftruncate(file, start)  # half a line would be mended later, but the disk may be full now
                raise DataError(f"cannot write to {self.path}: {error.strerror or error}") from error

    def check_writable(self) -> None:
        """Raise now what `append` would raise later, and write nothing."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                os.close(os.open(self.path, os.O_RDWR | os.O_APPEND))
            else:
                with TemporaryFile(dir=self.path.resolve().parent):
                    pass
        except OSError as error:
            raise DataError(f"cannot write results to {self.path}: {error.strerror or error}") from error

    def rows(self, experiment: str | None = None) -> list[Row]:
        """Every result in the order they came, of two for one cell the later; of one experiment or of all.

        A cell that several experiments share has a row in each.
        """
        found: dict[tuple[str, str], Row] = {}
        for row in self._read():
            if experiment in (None, row["experiment"]):
                name = (row["experiment"], row["key"])
                found.pop(name, None)  # so that the later one takes its place in the order, too
                found[name] = row
        return list(found.values())

    def pending(self, cells: Iterable[Cell], experiment: str | None = None) -> list[Cell]:
        """The cells that have no result yet, in their order, each once."""
        done = {row["key"] for row in self.rows(experiment)}
        return [cell for key, cell in {cell.key: cell for cell in cells}.items() if key not in done]

    def _read(self) -> Iterator[Row]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror}") from error
        lines = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                if number == len(lines):  # no newline after it: a writer was killed there
                    return
                raise DataError(
                    f"{self.path}, line {number} is not JSON; mend or delete that line, the others are safe"
                ) from None
            if not _is_row(row):
                raise DataError(
                    f"{self.path}, line {number} is no result of a sweep (it lacks experiment, key, cell or "
                    "measured); give the store a file of its own"
                )
            yield row

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file open for reading and writing, and nobody else writing."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise DataError(f"cannot open {self.path}: {error.strerror}") from error
        try:
            # one lock a call, so that threads of one process wait for each other too
            with FileLock(f"{self.path}.lock"):
                yield file
        finally:
            os.close(file)


def _is_row(line: Any) -> bool:
    return isinstance(line, dict) and {"experiment", "key", "cell", "measured"} <= line.keys()


def _end_of_lines(file: int) -> int:
    """The place behind the last newline."""
    end = os.lseek(file, 0, os.SEEK_END)
    while end:
        start = max(0, end - 65536)
        os.lseek(file, start, os.SEEK_SET)
        last = os.read(file, end - start).rfind(b"\n")
        if last >= 0:
            return start + last + 1
        end = start
    return 0


def _mend(file: int) -> None:
    """See that the file ends with a newline: a last line without one is cut off if it is torn, else ended."""
    end, size = _end_of_lines(file), os.lseek(file, 0, os.SEEK_END)
    if end == size:
        return
    os.lseek(file, end, os.SEEK_SET)
    try:
        json.loads(os.read(file, size - end))
    except ValueError:  # part of a row is no JSON: its last brace is missing
        os.ftruncate(file, end)
    else:
        os.write(file, b"\n")
