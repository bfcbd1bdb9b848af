"""Compressed files: what may follow the ending of a file that is read whole, unpacked and packed."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from graylearn.errors import DataError

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
"""Endings, and what packs the files that have them."""
ERRORS = (
    OSError, EOFError, pa.ArrowException, lzma.LZMAError, zipfile.BadZipFile, zlib.error,
    NotImplementedError, MemoryError,
)  # fmt: skip
"""What damaged files fail with; the last where they name a way of packing, or a size, that cannot be."""


def packed(content: bytes, path: Path, partial: Path) -> None:
    """Write content to `partial`, compressed as the name of `path` says; equal content gives equal bytes."""
    compression = COMPRESSIONS[path.suffix.lower()]
    if compression == "xz":
        partial.write_bytes(lzma.compress(content))
    elif compression == "zip":
        inside = zipfile.ZipInfo(path.stem, (1980, 1, 1, 0, 0, 0))
        with zipfile.ZipFile(partial, "w") as archive:
            archive.writestr(inside, content, zipfile.ZIP_DEFLATED)
    else:
        with pa.output_stream(str(partial), compression=compression) as stream:
            stream.write(content)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A stream of what a compressed file holds."""
    compression = COMPRESSIONS[path.suffix.lower()]
    if compression == "xz":
        with lzma.open(path) as stream:
            yield stream
    elif compression == "zip":
        with zipfile.ZipFile(path) as archive:
            files = [each for each in archive.namelist() if not each.endswith("/") and "__MACOSX" not in each]
            if len(files) != 1:
                raise DataError(f"{path} holds {len(files)} files: expected one; unpack it and give that")
            try:
                with archive.open(files[0]) as stream:
                    yield stream
            except RuntimeError as error:  # a password is needed
                raise DataError(f"{path} cannot be read ({error})") from error
    else:
        with pa.input_stream(str(path), compression=compression) as stream:
            yield stream
