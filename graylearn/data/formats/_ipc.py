"""Arrow's messages, in files (Feather) and in streams: how large they are, told before they are unpacked."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.feather

from graylearn.data.formats._arrow import nothing
from graylearn.paths import Limit

_FILE, _OLD_FILE = b"ARROW1", b"FEA1"
"""How files begin, those of today and of the first version; a stream has nothing around its messages."""
Buffer: TypeAlias = Any
"""Bytes, or what maps a file into memory."""
_REPEATS = re.compile("list_view|string_view|binary_view|run_end_encoded")
"""In the names of types whose values may stand in the file once for many rows."""
_DICTIONARY, _BATCH = 2, 3
"""Kinds of messages that hold columns."""


def read_ipc(raw: bytes, path: Path) -> pa.Table:
    """The table of a file or a stream, where it unpacks to no more than it may."""
    if raw.startswith(_OLD_FILE):
        return pa.feather.read_table(pa.BufferReader(raw))  # nothing in it is compressed
    check_unpacked(raw, path)
    with (pa.ipc.open_stream if is_stream(raw) else pa.ipc.open_file)(pa.BufferReader(raw)) as messages:
        return messages.read_all()


def check_unpacked(raw: Buffer, path: Path) -> None:
    """Refuse messages that unpack to more than they may."""
    limit = Limit(path)
    for meta, body in _messages(raw):
        limit.take(_unpacked(meta, body))


def check_repeated(table: pa.Table, path: Path) -> pa.Table:
    """The table, unless columns that name one place in the file again and again take more than they may.

    Views of texts do, and runs of a value. Of lists and records that hold such nothing is learned: they are
    left as good as empty.
    """
    limit = Limit(path)
    for index, kind in enumerate(table.schema.types):
        if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
            limit.take(sum(map(_viewed, table.column(index).chunks)))
        elif pa.types.is_run_end_encoded(kind) and pa.types.is_primitive(kind.value_type):
            limit.take(8 * len(table))
        elif _REPEATS.search(str(kind)):
            table = table.set_column(index, table.schema.names[index], nothing(len(table)))
    return table


def _viewed(chunk: pa.Array) -> int:
    """Bytes of the texts that views show, each of which begins with its length."""
    views = np.frombuffer(chunk.buffers()[1], np.int32).reshape(-1, 4)[chunk.offset :][: len(chunk), 0]
    return int(views[chunk.is_valid().to_numpy(zero_copy_only=False)].sum(dtype=np.int64))


def is_stream(raw: Buffer) -> bool:
    """Whether these are messages alone, without what a file has around them."""
    return not bytes(memoryview(raw)[: len(_FILE)]).startswith((_FILE, _OLD_FILE))


def _messages(raw: Buffer) -> Iterator[tuple[memoryview, memoryview]]:
    """(metadata, body) of those that are read, of a file the ones that its footer lists.

    By hand, for pyarrow ends the process over some that are damaged.
    """
    content = memoryview(raw)
    if is_stream(raw):
        position = 0
        while position < len(raw):
            told = struct.unpack_from("<i", raw, position)[0]
            start = position + (8 if told == -1 else 4)  # old streams have no mark before the length
            length = struct.unpack_from("<i", raw, start - 4)[0]
            if length <= 0:
                return
            meta = content[start : start + length]
            field = _field(meta, _at(meta, 0), 3)
            body = 0 if field is None else int(struct.unpack_from("<q", meta, field)[0])
            if body < 0:
                raise ValueError("a message has a negative length")
            position = start + length + body
            yield meta, content[start + length : position]
        return
    end = len(raw) - len(_FILE) - 4
    footer = content[end - struct.unpack_from("<I", raw, end)[0] : end]
    for kind in (_DICTIONARY, _BATCH):  # the numbers of these lists too
        if (listed := _field(footer, _at(footer, 0), kind)) is None:
            continue
        vector = _at(footer, listed)
        for number in range(struct.unpack_from("<I", footer, vector)[0]):
            offset, length, body = struct.unpack_from("<qi4xq", footer, vector + 4 + 24 * number)
            mark = 8 if struct.unpack_from("<i", raw, offset)[0] == -1 else 4
            start = offset + length
            yield content[offset + mark : start], content[start : start + body]


def _unpacked(meta: memoryview, body: memoryview) -> int:
    """Bytes of the columns of a message: where they are compressed, each begins with its own length."""
    table = _at(meta, 0)
    kind = _field(meta, table, 1)
    header = _field(meta, table, 2)
    if kind is None or header is None or meta[kind] not in (_DICTIONARY, _BATCH):
        return 0
    batch = _at(meta, header)
    if meta[kind] == _DICTIONARY:
        data = _field(meta, batch, 1)
        if data is None:
            return 0
        batch = _at(meta, data)
    buffers = _field(meta, batch, 2)
    if _field(meta, batch, 3) is None or buffers is None:
        return len(body)
    size, vector = 0, _at(meta, buffers)
    for number in range(struct.unpack_from("<I", meta, vector)[0]):
        offset, length = struct.unpack_from("<qq", meta, vector + 4 + 16 * number)
        if length >= 8:
            told = struct.unpack_from("<q", body, offset)[0]
            size += length if told < 0 else told
    return size


def _at(meta: memoryview, position: int) -> int:
    """Where that stands which an offset at `position` points to."""
    return position + int(struct.unpack_from("<I", meta, position)[0])


def _field(meta: memoryview, table: int, number: int) -> int | None:
    """Where a field of a table stands; None where it is left out."""
    listed = table - struct.unpack_from("<i", meta, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", meta, listed)[0]:
        return None
    offset = int(struct.unpack_from("<H", meta, listed + 4 + 2 * number)[0])
    return table + offset if offset else None
