"""Which samples have a preview in the page, and their previews in blocks that it reads one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.errors import DataError
from graylearn.report.columns import OddColumns
from graylearn.report.data import Preview, ReportData
from graylearn.report.json_text import to_json
from graylearn.report.previews import cell_text

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
    look = data.previews.get if isinstance(data.previews, Mapping) else data.previews or _nothing
    columns: list[Any] = []
    if odd is not None and data.rows is not None:
        columns = [data.rows.iloc[:, column].array for column in range(len(odd.names))]
    for done, index in enumerate(wanted.tolist()):
        left_out = len(wanted) - done
        if pictures >= MAX_PICTURES:
            break
        preview = look(index)
        if preview is None:
            continue
        item = to_json(_item(preview, sets, _oddest(index, preview, odd, columns)))
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


def _nothing(index: int) -> None:
    """What a sample looks like where nobody can say."""


def _oddest(index: int, preview: Preview, odd: OddColumns | None, columns: list[Any]) -> list[list[Any]]:
    """[column, value as text] of the oddest columns of a row, the oddest first."""
    if odd is None or preview.kind != "row":
        return []
    return [[column, cell_text(columns[column][index])] for column in odd.of(index)]


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
