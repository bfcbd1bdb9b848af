"""Image files into uint8 RGB arrays of one size, decoded once into a memory-mapped file.

A second run starts at once. A cache entry is named by the paths, sizes and times of its files, in order, and
by the size of the pixels. It takes its place when it is whole: a killed run leaves nothing that could be
taken for one, and the next run clears away what it left. Threads decode, as Pillow does so without the lock
that Python holds.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from graylearn.data.atomic import flush, replacing_folder
from graylearn.errors import DataError, are, first_few, warn
from graylearn.options import check
from graylearn.paths import default_cache_folder
from graylearn.progress import progress_bar

CHANNELS = 3
"""Every cached image is RGB."""
_ENDINGS = "jpg jpeg jfif png bmp gif webp avif tif tiff ppm pgm pbm tga"
IMAGE_SUFFIXES = frozenset(f".{ending}" for ending in _ENDINGS.split())
"""Endings, in lower case, of the files taken for images."""
_AT_ONCE = 4096  # files handed to the threads


class UnreadableImageError(ValueError):
    """The bytes are not an image, are cut short, or would fill the memory."""


def decode_image(data: bytes, size: int) -> bytes:
    """The image as size * size * 3 RGB bytes: turned upright, resized and cropped to its middle square.

    The shorter side becomes `size` and what sticks out of the longer one is cut off evenly, so that shapes
    keep their proportions. Alpha is laid on white; 16-bit grey is scaled to 8; an animation gives its first
    frame. An image of more pixels than Pillow holds safe (`Image.MAX_IMAGE_PIXELS`) is refused, or of those
    that GRAYLEARN_MAX_UNPACKED allows, at four bytes each.
    """
    with _pillow_warnings():
        return _decode(data, size)


@contextmanager
def _pillow_warnings() -> Iterator[None]:
    """An error for what could fill the memory, silence for odd metadata of a file that still decodes."""
    told, before = os.environ.get("GRAYLEARN_MAX_UNPACKED", ""), Image.MAX_IMAGE_PIXELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        if told.isdecimal():
            Image.MAX_IMAGE_PIXELS = int(told) // 4
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = before


def _decode(data: bytes, size: int) -> bytes:
    try:
        with Image.open(io.BytesIO(data)) as image:
            # A JPEG decodes at a half, fourth or eighth of its scale almost for free; twice the final size
            # leaves the resampling enough to work with.
            image.draft(None, (2 * size, 2 * size))
            return _square(as_rgb(upright(image)), size).tobytes()
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UnreadableImageError(
            f"holds more than {Image.MAX_IMAGE_PIXELS} pixels, refused as a decompression bomb;"
            " set GRAYLEARN_MAX_UNPACKED to four times as many as it has"
        ) from error
    except UnidentifiedImageError as error:
        raise UnreadableImageError("is not an image that Pillow knows") from error
    except Exception as error:  # a broken file may break its decoder in any way
        raise UnreadableImageError((str(error).splitlines() or [type(error).__name__])[0]) from error


def upright(image: Image.Image) -> Image.Image:
    """As it was seen, if the camera recorded how it was held."""
    image.load()  # some formats tell the orientation behind the pixels
    try:
        if image.getexif().get(ExifTags.Base.Orientation, 1) == 1:
            return image  # exif_transpose would copy it, a twentieth of the time of a small JPEG
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF: the picture itself is whole
        return image


def as_rgb(image: Image.Image) -> Image.Image:
    """Any picture in three channels of eight bits: alpha laid on white, wide grey scaled."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode.startswith(("I", "F")):
        image = _to_eight_bits(image)
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, layer).convert("RGB")
    return image.convert("RGB")


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """Grey of 16 or 32 bits or of floats, which Pillow would clip at 255, scaled to 0..255."""
    wide = image.mode.startswith("I;16")
    image = image.convert("F")
    low, high = map(float, image.getextrema())  # type: ignore[arg-type]  # one band, so no pairs
    if wide or (low >= 0 and 255 < high <= 65535):
        scale, offset = 255 / 65535, 0.0
    elif low >= 0 and high <= 1:
        scale, offset = 255.0, 0.0
    elif low >= 0 and high <= 255:
        scale, offset = 1.0, 0.0
    else:  # no known range: from its darkest to its brightest
        scale = 255 / (high - low) if high > low else 0.0
        offset = -low * scale
    return image.point(lambda value: value * scale + (offset + 0.5)).convert("L")


def _square(image: Image.Image, size: int) -> Image.Image:
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    return image.resize((size, size), Image.Resampling.BICUBIC, box=(left, top, left + side, top + side))


class Decoded(NamedTuple):
    """A file that was read."""

    pixels: bytes
    """(size, size, 3), or none."""
    reason: str | None = None
    """Why it cannot be read; None where it can."""
    unread: bool = False
    """Whether the file could not even be opened."""


def decode_all(files: Sequence[Path], size: int, threads: int) -> Iterator[Decoded]:
    """Every file in order. threads: 0 decodes in this one."""
    names = [os.fspath(path) for path in files]
    # the warnings are set once for all of them: it takes longer than opening a file
    with _pillow_warnings(), progress_bar("Decoding images", len(names)) as advance:
        pool = ThreadPoolExecutor(max(threads, 1))
        try:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                for found in (pool.map if threads else map)(lambda name: _decode_file(name, size), some):
                    yield found
                    advance(1)
        finally:
            pool.shutdown(cancel_futures=True)


def _decode_file(path: str, size: int) -> Decoded:
    try:
        # a pipe has nobody at its other end; pathlib costs as much as reading a small file
        with open(path, "rb", opener=_at_once) as file:
            data = file.read()
    except OSError as error:
        return Decoded(b"", error.strerror or str(error), unread=True)
    try:
        return Decoded(_decode(data, size))
    except UnreadableImageError as error:
        return Decoded(b"", str(error))


def _at_once(path: str, flags: int) -> int:
    """Open a file, but no pipe: who waits for what comes out of one may wait for ever."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no file")
    return handle


_FORMAT = 1  # part of every key: raise it when the same files would give other pixels
_PIXELS, _META = "pixels.bin", "meta.json"


class NoImagesError(DataError):
    """None of some images can be read: of a block others may be, of a whole set none are left."""


class CachedImages(NamedTuple):
    """Decoded images and which of the given files they are."""

    images: np.ndarray
    """(M, size, size, 3) uint8, memory-mapped and read-only."""
    kept: np.ndarray
    """(M,) int64: the index of each image among the given paths."""


def cache_images(
    paths: Sequence[str | Path],
    *,
    size: int,
    folder: str | Path | None = None,
    workers: int | None = None,
) -> CachedImages:
    """Decode image files to `size` pixels a side (see `decode_image`), or find them decoded.

    `folder` holds the caches (None: `default_cache_folder()`). A warning lists the files that cannot be read,
    which are left out. `workers` is the number of decoding threads: 0 decodes in this one, None takes one per
    core.
    """
    check({"size": size, "workers": workers})
    if not len(paths):
        raise DataError("there are no image files to decode")
    files = [Path(path).absolute() for path in paths]
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    home = default_cache_folder() if folder is None else Path(folder)
    home.mkdir(parents=True, exist_ok=True)

    entry = home / _entry_name(files, size)
    failed = _failed(entry, size)
    if failed is None:
        with FileLock(home / "decoding.lock"):  # whoever waited finds what the other has made
            failed = _failed(entry, size)
            if failed is None:
                failed = _build(entry, files, size, workers)
    kept = readable({index: f"{files[index]} ({reason})" for index, reason in failed.items()}, len(files))
    shape = (len(kept), size, size, CHANNELS)
    return CachedImages(np.memmap(entry / _PIXELS, np.uint8, "r", shape=shape), kept)


def readable(failed: Mapping[int, str], count: int, of: str = "") -> NDArray[np.int64]:
    """(M,) those of `count` images that can be read: a warning names the others. Refused where all fail."""
    told = list(failed.values())
    if len(told) == count:
        raise NoImagesError(f"none of the {count} images{of} can be read; the first is {told[0]}")
    if told:
        left_out = f"cannot be read and {are(len(told))} left out"
        warn(f"{len(told)} of {count} images{of} {left_out}: {first_few(told, 20, '; ')}")
    return np.setdiff1d(np.arange(count), list(failed)).astype(np.int64)


def _failed(entry: Path, size: int) -> dict[int, str] | None:
    """Why each of the files that cannot be read cannot, by its index; None where the entry cannot be used.

    One with a file that could not be opened is made anew, for that may pass (a network, a lock) without the
    file looking different.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        meta = json.loads((entry / _META).read_text())
        pixels = (meta["count"] - len(meta["failed"])) * size * size * CHANNELS
        if not meta["unread"] and (entry / _PIXELS).stat().st_size == pixels:
            return dict(meta["failed"])
    return None


def _build(entry: Path, files: list[Path], size: int, workers: int) -> dict[int, str]:
    """Decode all files into a new entry; one process at a time. Gives why some cannot be read."""
    for left in entry.parent.glob(".graylearn-*-images-*"):
        shutil.rmtree(left, ignore_errors=True)
    failed, unread = {}, False
    with replacing_folder(entry) as partial:
        with (partial / _PIXELS).open("wb") as file:
            for index, found in enumerate(decode_all(files, size, workers)):
                if found.reason is not None:
                    failed[index] = found.reason
                    unread |= found.unread
                file.write(found.pixels)
        meta = {"count": len(files), "failed": list(failed.items()), "unread": unread}
        (partial / _META).write_text(json.dumps(meta))
        flush(partial / _PIXELS)
        flush(partial / _META)
    return failed


def _entry_name(files: list[Path], size: int) -> str:
    """By what can be seen without reading: paths, sizes and times.

    The change time is there because a tool that keeps modification times may put other bytes of the same
    length in place.
    """
    digest = hashlib.sha256(f"{_FORMAT}|{size}".encode())
    for path in files:
        try:
            status = os.stat(path)  # noqa: PTH116 - a third of the time of Path.stat, which counts at a million
            seen = f"{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"
        except OSError:
            seen = "missing"
        digest.update(f"{path}|{seen}\n".encode("utf-8", "surrogateescape"))
    return f"images-{size}-{len(files)}-{digest.hexdigest()[:40]}"
