"""Parquet's pages: how much their lists and dictionaries may unpack to, told before they are unpacked.

A list of a billion zeros takes a few bytes, and so do a million rows that name one long text. By hand, for
pyarrow does not tell of pages, and what it tells of columns ends the process where it is damaged. What is
told are structures of Thrift's compact protocol.
"""

from __future__ import annotations

import mmap
import struct
from typing import Any, NamedTuple

Buffer = bytes | mmap.mmap
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_TEXTS = (6, 7)  # columns of bytes of any length, and of one length
_DEEPEST = 20


class Held(NamedTuple):
    """What pages unpack to."""

    listed: int
    """Values in the pages of repeated columns."""
    dictionary: int
    """Bytes of the largest dictionary of texts: no value of it, which many rows may name, has more."""


def held_in_pages(raw: Buffer) -> Held:
    """What the pages of a file hold that is larger than its columns tell."""
    (length,) = struct.unpack_from("<I", raw, len(raw) - 8)
    footer = _struct(raw, len(raw) - 8 - length)[0]
    repeated = _repeated(footer[2])
    listed = largest = 0
    for group in footer.get(4, ()):
        for chunk in group[1]:
            told = chunk[3]
            is_listed = b".".join(told[3]) in repeated
            if is_listed or told[1] in _TEXTS:
                start = min(told[9], told.get(11) or told[9])
                values, dictionary = _in_pages(raw, start, start + told[7])
                listed += values if is_listed else 0
                largest = max(largest, dictionary)
    return Held(listed, largest)


def _repeated(elements: list[dict[int, Any]]) -> set[bytes]:
    """The paths of columns that hold several values a row, of a schema listed from its root downwards."""
    found: set[bytes] = set()
    open_groups = [[elements[0][5], False]]  # of each: elements to come, whether it is repeated
    path: list[bytes] = []
    for element in elements[1:]:
        while open_groups[-1][0] == 0:
            open_groups.pop()
            path.pop()
        open_groups[-1][0] -= 1
        repeated = open_groups[-1][1] or element.get(3) == 2
        if element.get(5):
            open_groups.append([element[5], repeated])
            path.append(element[4])
        elif repeated:
            found.add(b".".join([*path, element[4]]))
    return found


def _in_pages(raw: Buffer, position: int, end: int) -> tuple[int, int]:
    """(values, bytes of the largest dictionary) of the pages of a column."""
    total = largest = 0
    while position < end:
        page, position = _struct(raw, position)
        for header in (5, 8):  # of data pages, the first version and the second
            total += max(0, page[header][1]) if header in page else 0
        if 7 in page:
            largest = max(largest, page[2])
        if page[3] < 0:
            raise ValueError("a page has a negative length")
        position += page[3]
    return total, largest


def _struct(raw: Buffer, position: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and where it ends."""
    if depth > _DEEPEST:
        raise ValueError("what it tells of itself is nested without end")
    found: dict[int, Any] = {}
    number = 0
    while head := raw[position]:
        position += 1
        if head >> 4:
            number += head >> 4
        else:
            number, position = _integer(raw, position)
        kind = head & 15
        if kind in (_TRUE, _FALSE):
            found[number] = kind == _TRUE
        else:
            found[number], position = _value(raw, position, kind, depth)
    return found, position + 1


def _value(raw: Buffer, position: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE, _BYTE):  # the first two in a list
        return raw[position], position + 1
    if kind in _INTEGERS:
        return _integer(raw, position)
    if kind == _DOUBLE:
        return None, position + 8
    if kind == _BINARY:
        length, position = _varint(raw, position)
        return raw[position : position + length], position + length
    if kind in (_LIST, _SET):
        head, position = raw[position], position + 1
        count = head >> 4
        if count == 15:
            count, position = _varint(raw, position)
        items = []
        for _ in range(count):
            item, position = _value(raw, position, head & 15, depth + 1)
            items.append(item)
        return items, position
    if kind == _STRUCT:
        return _struct(raw, position, depth + 1)
    raise ValueError(f"what it tells of itself holds the unknown type {kind}")


def _integer(raw: Buffer, position: int) -> tuple[int, int]:
    value, position = _varint(raw, position)
    return (value >> 1) ^ -(value & 1), position


def _varint(raw: Buffer, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte, position = raw[position], position + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    raise ValueError("a number in what it tells of itself has no end")
