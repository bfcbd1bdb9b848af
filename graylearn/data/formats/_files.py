"""Files as bytes: what is packed is unpacked as it is read, up to a limit, and packed as it is written."""

from __future__ import annotations

import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from graylearn.data.atomic import replacing, signature
from graylearn.errors import DataError, first_line
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
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
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
    """A whole file or none, packed where its name says so; equal content gives equal bytes."""
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
    with replacing(path) as partial:
        partial.write_bytes(content)


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
