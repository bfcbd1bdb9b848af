"""Large sets in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK = 1 << 24
"""Values worked on at once: 128 MB in double precision."""


def row_blocks(rows: int, values_a_row: int) -> Iterator[slice]:
    """All rows, as many at once as hold `BLOCK` values."""
    step = max(1, BLOCK // max(values_a_row, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
