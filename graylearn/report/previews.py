"""What a sample looks like, made small: thumbnails of pictures, cut text, the columns of a row; in blocks of
JSON that the page reads one at a time."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from graylearn.data import Samples
from graylearn.data.images import as_rgb, upright
from graylearn.errors import DataError
from graylearn.report.beside import OddColumns, cell_text
from graylearn.report.data import Preview, ReportData

THUMBNAIL = 160
"""Longest side of an embedded picture, in pixels."""
LOSSLESS = 32
"""Pictures up to this side are kept pixel by pixel: JPEG would smear them and save nothing."""
TEXT_LENGTH = 600
"""Characters of a text that are embedded."""
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


_WHOLE = frozenset({int, bool, str, type(None)})
"""Types in which nothing can be NaN: long lists of them need no second look."""


def to_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the text says."""
    text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    """The same value with NaN and infinity as null, which is what JSON has for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and not _WHOLE.issuperset(map(type, value)):
        return [_finite(part) for part in value]
    return value


MAX_PICTURES = 4_000
"""Pictures embedded in a page."""
MAX_PREVIEW_BYTES = 20_000_000
"""Bytes that all previews of a page may take."""
PREVIEWS_A_BLOCK = 1_000
"""Previews that the page reads at once."""


def preview_blocks(
    data: ReportData, wanted: NDArray[np.int64], odd: OddColumns | None
) -> tuple[dict[str, Any], list[str]]:
    """As many previews as the limits allow, in the order wanted; and what the page must know of them."""
    indices: list[int] = []
    items: list[str] = []
    sets: dict[tuple[str, ...], int] = {}
    left_out = size = pictures = 0
    look = data.previews or (lambda _: None)
    for done, index in enumerate(wanted.tolist()):
        left_out = len(wanted) - done
        if pictures >= MAX_PICTURES:
            break
        preview = look(index)
        if preview is None:
            continue
        item = to_json(_item(preview, sets, [] if odd is None or preview.kind != "row" else odd.of(index)))
        if size + len(item) > MAX_PREVIEW_BYTES:
            break
        pictures += preview.kind == "image"
        size += len(item)
        indices.append(index)
        items.append(item)
    else:
        left_out = 0
    blocks = [
        f"[{','.join(items[start : start + PREVIEWS_A_BLOCK])}]"
        for start in range(0, len(items), PREVIEWS_A_BLOCK)
    ]
    about = {
        "index": indices,
        "columns": [list(names) for names in sets],
        "leftOut": left_out,
        "block": PREVIEWS_A_BLOCK,
        "pictures": pictures,
        "odd": None if odd is None else {"names": list(odd.names), "middle": odd.middle},
    }
    return about, blocks


def _item(preview: Preview, sets: dict[tuple[str, ...], int], oddest: list[list[Any]]) -> list[Any]:
    """["image", address], ["text", text, left out] or ["row", which columns, values, left out, oddest]."""
    if isinstance(preview.content, str):
        if preview.kind == "image":
            if not preview.content.startswith("data:image/"):
                raise DataError("a picture's preview must be a data:image/ address: see image_preview")
            return ["image", preview.content]
        return ["text", preview.content, preview.left_out]
    names = tuple(str(name) for name in preview.content)
    which = sets.setdefault(names, len(sets))
    return ["row", which, [str(value) for value in preview.content.values()], preview.left_out, oddest]
