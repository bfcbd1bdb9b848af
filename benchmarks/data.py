"""How long reading takes beside the bare library underneath; ratios are of times measured in one run.

    python -m benchmarks data --arrhythmia FOLDER/mitbih_train.csv.gz

Tables: `read` on 87,554 x 188 numbers, gzipped, against `pyarrow.csv.read_csv` alone (target: at most 2).
Images: the first pass of `cache_images` over 10,000 JPEG files against a loop that only opens, converts and
resizes them with Pillow and forgets them, in as many processes (target: at most 1.2).
Files of 128 pixels a side show the plain cost; those of 400 also what decoding at a lower scale saves.
Repeats are interleaved, and medians are told.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
from PIL import Image

from benchmarks.record import RESULTS, append, described, markdown, record, rows
from graylearn.data.images import cache_images
from graylearn.data.read import read

OUT = RESULTS / "data.jsonl"
REPEATS, IMAGES, SIZE, WORKERS = 5, 10_000, 64, 2
PILLOW_LOOP = """
import sys
from PIL import Image
size = int(sys.argv[1])
for path in sys.stdin.read().splitlines():
    with Image.open(path) as image:
        image.convert("RGB").resize((size, size), Image.Resampling.BICUBIC).tobytes()
"""


def interleaved(**works: Callable[[], Any]) -> dict[str, float]:
    """The median seconds of each, taken in turns so that a busy machine slows all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - began)
    return {name: round(statistics.median(values), 4) for name, values in times.items()}


def measure_table(path: Path) -> dict[str, Any]:
    bare = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    medians = interleaved(
        pyarrow=lambda: pyarrow.csv.read_csv(path, read_options=bare),
        graylearn=lambda: read(path, label=-1),
    )
    ratio = round(medians["graylearn"] / medians["pyarrow"], 3)
    return record("read-table", repeats=REPEATS, seconds=medians, ratio=ratio)


def make_jpegs(folder: Path, side: int) -> list[Path]:
    """Pictures of soft shapes with some grain, so that they compress about as photos do."""
    rng = np.random.default_rng(0)
    shapes = [
        Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)).resize(
            (side, side), Image.Resampling.BICUBIC
        )
        for _ in range(50)
    ]
    grain = rng.normal(0, 8, (20, side, side, 3))
    paths = []
    for number in range(IMAGES):
        pixels = np.asarray(shapes[number % 50], dtype=np.float64) + grain[number % 20]
        path = folder / f"{number:05}.jpg"
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path, quality=85)
        paths.append(path)
    return paths


def pillow_loop(paths: list[Path]) -> None:
    processes = []
    for worker in range(WORKERS):
        process = subprocess.Popen(
            [sys.executable, "-c", PILLOW_LOOP, str(SIZE)], stdin=subprocess.PIPE, text=True
        )
        process.stdin.write("\n".join(map(str, paths[worker::WORKERS])))
        process.stdin.close()
        processes.append(process)
    for process in processes:
        if process.wait():
            raise RuntimeError("the Pillow loop failed")


def measure_images(side: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "images").mkdir()
        paths = make_jpegs(Path(folder) / "images", side)

        def first_pass() -> None:
            cache_images(paths, size=SIZE, folder=Path(tempfile.mkdtemp(dir=folder)), workers=WORKERS)

        medians = interleaved(pillow=lambda: pillow_loop(paths), first_pass=first_pass)
    return record(
        "image-cache", images=IMAGES, side=side, size=SIZE, workers=WORKERS, repeats=REPEATS,
        seconds=medians, ratio=round(medians["first_pass"] / medians["pillow"], 3),
    )  # fmt: skip


def table() -> str:
    body = []
    for row in rows(OUT):
        ours, bare = ("first_pass", "pillow") if "side" in row else ("graylearn", "pyarrow")
        photos = f"10,000 JPEGs of {row.get('side')} pixels, first pass"
        what = photos if "side" in row else "Arrhythmia, 87,554 x 187, gzip"
        taken = row["seconds"]
        body.append([what, f"{taken[ours]:.1f}", f"{taken[bare]:.1f}", f"{row['ratio']:.2f}"])
    return markdown(["what", "seconds", "pyarrow or Pillow alone", "ratio"], body)


LAB_TABLES = {"measurements.md": {"data": table}}


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--arrhythmia", type=Path, help="mitbih_train.csv.gz")
    options = parser.parse_args()
    if options.arrhythmia:
        append(measure_table(options.arrhythmia), OUT)
    for side in (128, 400):
        append(measure_images(side), OUT)
