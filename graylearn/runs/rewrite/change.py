"""What becomes of the samples of a dataset, and the files they are read from and written to.

A new label is never spelled anew: it is the label of another sample that bears it, copied as it stands there,
so that quotes, types and encodings are those of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from graylearn.data.atomic import replacing
from graylearn.runs.source import Source

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Change:
    """What becomes of the N samples of a source."""

    ids: list[str]
    """(N,) their names."""
    labels: list[str]
    """(N,) their labels as text."""
    keep: list[bool]
    """(N,) which stay."""
    label_of: list[int]
    """(N,) the place of the sample whose label each gets: its own, or that of another class."""

    @property
    def places(self) -> list[int]:
        """The places of those that stay."""
        return [place for place, keep in enumerate(self.keep) if keep]

    def with_rows(self, left_out: Sequence[int]) -> Change:
        """The same for all rows of a table, of which those at `left_out` are no samples and go."""
        if not left_out:
            return self
        n, gone = len(self.keep) + len(left_out), set(left_out)
        rows = [row for row in range(n) if row not in gone]  # of each sample
        whole = Change([""] * n, [""] * n, [False] * n, list(range(n)))
        for place, row in enumerate(rows):
            whole.ids[row], whole.labels[row] = self.ids[place], self.labels[place]
            whole.keep[row], whole.label_of[row] = self.keep[place], rows[self.label_of[place]]
        return whole


@dataclass(frozen=True)
class MovedPaths:
    """Paths of images that were relative to one folder and are to be relative to another."""

    column: str
    before: Path
    after: Path

    def moved(self, path: str) -> str:
        """The path from where it is to be read."""
        if Path(path).is_absolute():
            return path
        return Path(os.path.relpath(self.before / path, self.after)).as_posix()


def moved_paths(source: Source, data: Path, out: Path) -> MovedPaths | None:
    """How paths of images change with the folder of their table; None where they need not."""
    before, after = data.absolute().parent.resolve(), out.absolute().parent.resolve()
    if source.columns.path is None or before == after:
        return None
    return MovedPaths(source.columns.path, before, after)


@contextmanager
def _stream(path: Path) -> Iterator[Any]:
    compression = _COMPRESSIONS.get(path.suffix.lower())
    with pa.input_stream(str(path), compression=compression) as stream:
        yield stream


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed where its name says so."""
    with _stream(path) as stream:
        raw: bytes = stream.read()
    return raw


def write_bytes(path: Path, content: bytes) -> None:
    """Compressed where the name says so."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    with replacing(path) as partial, pa.output_stream(str(partial), compression=compression) as stream:
        stream.write(content)
