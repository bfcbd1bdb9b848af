"""Whether data fit the memory, told before they are read: a run that is not in parts holds all of them."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from graylearn.data.formats import format_of
from graylearn.data.formats.hugging_face import arrow_files
from graylearn.data.formats.parquet import parts_of
from graylearn.data.images.decode import CHANNELS, IMAGE_SUFFIXES
from graylearn.data.options import EMBED_SIZE
from graylearn.data.remote import local
from graylearn.runs.settings import RunSettings

TIMES, A_ROW = 5, 3_500
"""Bytes that a run takes at its peak for each byte of its numbers, and for each sample beside them: a fit of
200,000 x 50 peaks 990 MB above one of 20,000."""
OTHERS = 8
"""The same for each byte of a file that does not tell its number of rows."""
OF_FREE = 0.7
"""Share of the free memory from which on it is told."""
IN_PARTS = ("parquet", "delimited", "json", "folder", "hugging_face")
"""Formats that are read in blocks."""


def tight(settings: RunSettings) -> str | None:
    """What to say before data that may be too large for the memory are read as a whole; None of others."""
    path, free = local(settings.data), free_bytes()
    needed = expected_bytes(path, settings.size or EMBED_SIZE)
    if free is None or needed < OF_FREE * free:
        return None
    in_parts = "--part-size 100000 takes a part at a time"
    if format_of(path).name not in IN_PARTS:
        in_parts = "--part-size takes a part at a time, of Parquet, CSV and JSON lines"
    return (
        f"{path.name} is held in memory as a whole, about {needed / 2**30:.1f} GB with what is made of it, "
        f"where {free / 2**30:.1f} GB are free: {in_parts}"
    )


def expected_bytes(path: Path, size: int) -> int:
    """About what a run takes beside the program itself, by what files tell; images at `size` pixels."""
    form = format_of(path).name
    if form == "folder":
        names = (name for _, _, inside in os.walk(path) for name in inside)
        images = sum(Path(name).suffix.lower() in IMAGE_SUFFIXES for name in names)
        return images * (size * size * CHANNELS + A_ROW)
    if form == "parquet":
        try:
            tables = [pq.read_metadata(part) for part in parts_of(path)]
        except (OSError, pa.ArrowException):
            return 0  # reading it will tell what is wrong
        groups = [table.row_group(number) for table in tables for number in range(table.num_row_groups)]
        rows = int(sum(table.num_rows for table in tables))
        stored = int(sum(group.total_byte_size for group in groups))
        numbers = 8 * rows * max((table.num_columns for table in tables), default=0)
        return TIMES * max(numbers, stored) + A_ROW * rows
    files = arrow_files(path) if form == "hugging_face" else [path]
    return OTHERS * sum(file.stat().st_size for file in files if file.is_file())


def free_bytes() -> int | None:
    """The memory that this process may still take; None where the system does not tell."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = 1024 * int(told["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None
    try:  # of a container
        most, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):
        return free
    return min(free, max(most - used, 0))
