"""What a sample looks like, made small: thumbnails of pictures, cut text, the columns of a row."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from graylearn.data import Samples
from graylearn.data.images.decode import as_rgb, upright
from graylearn.errors import DataError
from graylearn.report.data import Preview

THUMBNAIL = 160
"""Longest side of an embedded picture, in pixels."""
LOSSLESS = 32
"""Pictures up to this side are kept pixel by pixel: JPEG would smear them and save nothing."""
TEXT_LENGTH = 600
"""Characters of a text that are embedded."""
VALUE_LENGTH = 120
"""Characters of one value of a row that are embedded."""
ROW_COLUMNS = 40
"""Columns of a row that are embedded."""


def image_preview(picture: Any) -> Preview:
    """A small copy of a picture: an array (H, W) or (H, W, C), a PIL image, or a path.

    Photos are turned upright. Arrays that are not uint8 are stretched from their least to their largest.
    """
    if isinstance(picture, str | Path):
        with Image.open(picture) as opened:
            opened.draft("RGB", (2 * THUMBNAIL, 2 * THUMBNAIL))  # a JPEG decodes at an eighth almost for free
            return image_preview(opened)
    if isinstance(picture, Image.Image):
        image = upright(picture)
    else:
        image = Image.fromarray(_as_pixels(np.asarray(picture)))
    if image.mode != "L" or "transparency" in image.info:
        image = as_rgb(image)
    if max(image.size) > THUMBNAIL:
        image = image.copy()
        image.thumbnail((THUMBNAIL, THUMBNAIL))
    encoded = io.BytesIO()
    if max(image.size) <= LOSSLESS:
        image.save(encoded, "PNG", optimize=True)
        kind = "png"
    else:
        image.save(encoded, "JPEG", quality=80, optimize=True)
        kind = "jpeg"
    return Preview("image", f"data:image/{kind};base64,{base64.b64encode(encoded.getvalue()).decode()}")


def text_preview(text: str) -> Preview:
    """A text, cut where it is long."""
    return Preview("text", text[:TEXT_LENGTH], max(len(text) - TEXT_LENGTH, 0))


def row_preview(row: Mapping[str, Any]) -> Preview:
    """A row of a table as column names with their values, each as text."""
    names = list(row)[:ROW_COLUMNS]
    return Preview("row", {str(name): cell_text(row[name]) for name in names}, len(row) - len(names))


def preview_samples(samples: Samples) -> Callable[[int], Preview | None]:
    """Previews of samples by index: pictures, texts or rows, as their kind and shape allow."""
    x = samples.x
    if samples.kind == "text":
        return lambda index: text_preview(x[index])
    if isinstance(x, pd.DataFrame):
        names = [str(name) for name in x.columns][:ROW_COLUMNS]
        columns = [x.iloc[:, column].array for column in range(len(names))]
        left_out = x.shape[1] - len(names)

        def of_row(index: int) -> Preview:
            values = (cell_text(column[index]) for column in columns)
            return Preview("row", dict(zip(names, values, strict=True)), left_out)

        return of_row
    if samples.kind == "image" or _looks_like_pictures(x):
        return lambda index: image_preview(x[index])
    if x.ndim == 2:
        return lambda index: row_preview({str(column): value for column, value in enumerate(x[index])})
    return lambda index: None


def _looks_like_pictures(x: Any) -> bool:
    side_by_side = x.ndim == 3 or (x.ndim == 4 and x.shape[-1] in (1, 3, 4))
    return bool(side_by_side and x.shape[1] >= 4 and x.shape[2] >= 4)


def _as_pixels(array: Any) -> Any:
    """(H, W) or (H, W, 3 or 4) uint8."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or not array.size:
        raise DataError(f"a picture has shape {array.shape}; expected (height, width) or (height, width, 3)")
    if array.dtype != np.uint8:
        values = np.nan_to_num(array.astype(np.float64))
        low, high = values.min(), values.max()
        array = ((values - low) * (255.0 / (high - low) if high > low else 0.0)).round().astype(np.uint8)
    return np.ascontiguousarray(array)


def cell_text(value: Any) -> str:
    """A cell as a person would write it."""
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{float(value):.6g}"
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        value = value.date()  # a column of dates is read as midnights
    text = str(value)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"
