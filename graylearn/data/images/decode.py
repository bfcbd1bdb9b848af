"""One image file into size x size RGB bytes, and many of them by several threads: Pillow decodes without the
lock that Python holds."""

from __future__ import annotations

import errno
import io
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

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
