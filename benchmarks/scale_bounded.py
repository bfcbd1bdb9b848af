"""A set ten times larger than the memory that its audit may have, under a hard limit of the system.

The rows are those of one file, which stands in the folder under as many names as it takes: little disk for
the data, but every row is read, encoded, written to its part, audited and written to the tables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graylearn.audit.parts import part_size

COLUMNS, CLASSES, ROWS_OF_A_FILE = 3_000, 4, 5_000
LIMIT = 3 << 29
"""Bytes of data, heap and stacks together, that the process may have: 1.5 GiB. Mapped files are beside it."""
FEW_RESERVED = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "1048576",
    "MIMALLOC_ARENA_RESERVE": "16MiB",
}
"""What is reserved and never touched counts too: Arrow's allocator would begin with a gigabyte."""

UNDER_LIMIT = """
import json, resource, sys, threading, time
from pathlib import Path

limit, options = int(sys.argv[1]), json.loads(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

import numpy as np
from graylearn.runs import RunProgress, RunSettings, run

peak = {"VmData": 0, "RssAnon": 0}

def watch():
    while True:
        told = Path("/proc/self/status").read_text()
        for name in peak:
            peak[name] = max(peak[name], int(told.split(name + ":")[1].split()[0]) / 1024)
        time.sleep(0.02)

threading.Thread(target=watch, daemon=True).start()
try:
    np.ones(limit, dtype=np.uint8)
except MemoryError:  # the limit holds
    began = time.process_time()
    summary = run(RunSettings(data="data/*.parquet", command="audit", **options), "run",
                  progress=RunProgress())
    told = {name: summary[name] for name in ("samples", "suspected", "found")}
    print(json.dumps({**told, "cpu_seconds": time.process_time() - began, **peak}))
"""


def write_data(folder: Path, rows: int, columns: int = COLUMNS) -> int:
    """Parquet files of about so many rows, a tenth of the labels wrong; gives the rows there are."""
    random = np.random.default_rng(0)
    own = min(rows, ROWS_OF_A_FILE)
    y = random.integers(0, CLASSES, own)
    x = (random.normal(size=(CLASSES, columns)) / 4)[y] + random.normal(size=(own, columns))
    y = np.where(random.random(own) < 0.1, (y + 1) % CLASSES, y)
    values = pa.array(x.astype(np.float32).ravel())
    ends = pa.array(np.arange(0, own * columns + 1, columns, dtype=np.int32))
    table = pa.table({"x": pa.ListArray.from_arrays(ends, values), "label": y})
    folder.mkdir(parents=True)
    first = folder / "00000.parquet"
    pq.write_table(table, first, compression="none", use_dictionary=False, row_group_size=1_000)
    count = max(1, rows // own)
    for number in range(1, count):
        os.link(first, folder / f"{number:05}.parquet")
    return count * own


def measure_bounded(n: int, **options: Any) -> Iterator[dict[str, Any]]:
    """An audit of n rows of 3,000 columns under the limit."""
    size = part_size(CLASSES, COLUMNS)  # what a set of a million rows gets unless told
    settings = {"mode": "history", "epochs": 1, "part_size": size, "duplicates": "off", **options}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        rows = write_data(Path(folder) / "data", n)
        root = Path(__file__).resolve().parents[1]
        done = subprocess.run(
            [sys.executable, "-c", UNDER_LIMIT, str(LIMIT), json.dumps(settings)],
            cwd=folder, stdout=subprocess.PIPE, text=True, check=True,
            env={**os.environ, **FEW_RESERVED, "PYTHONPATH": str(root)},
        )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    decoded = rows * COLUMNS * 4
    yield {
        "columns": COLUMNS, "samples": rows, "settings": settings, "limit_mb": LIMIT / 2**20,
        "features_mb": decoded / 2**20, "times_the_limit": decoded / LIMIT,
        "peak_data_mb": told.pop("VmData"), "peak_anonymous_mb": told.pop("RssAnon"), **told,
    }  # fmt: skip
