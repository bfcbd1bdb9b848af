"""Large sets: CPU seconds, memory and what is found.

    python -m benchmarks scale cleanlab --rows 100000           # the audit beside cleanlab, synthetic rows
    python -m benchmarks scale classes --rows 30000             # 5,000 classes
    python -m benchmarks scale fit --rows 100000                # beside scikit-learn's MLPClassifier
    python -m benchmarks scale audited --rows 100000            # a fit with its audit beside one without
    python -m benchmarks scale bounded --rows 1400000           # 16 GB of features within 1.5 GiB

One part and size per process, so that the peak of memory is its own. Compare times within one run only.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import graylearn as gl
from benchmarks.record import RESULTS, Row, append, described, markdown, record, rows

MADE = 1_000_000
"""Synthetic rows made at once: in double precision they take several times their size."""
COLUMNS, CLASSES, ROWS_OF_A_FILE = 3_000, 4, 5_000
LIMIT = 3 << 29
"""Bytes of data, heap and stacks that a bounded run may have: 1.5 GiB. Mapped files do not count."""
FEW_RESERVED = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "1048576",
    "MIMALLOC_ARENA_RESERVE": "16MiB",
}
"""Memory that is reserved and never used counts too: Arrow's allocator would start with a gigabyte."""
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
    settings = RunSettings(data="data/*.parquet", command="audit", **options)
    summary = run(settings, "run", progress=RunProgress())
    found = {name: summary[name] for name in ("samples", "suspected", "found")}
    print(json.dumps({**found, "cpu_seconds": time.process_time(), **peak}))
"""


def clouds(n: int, columns: int = 128, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Features, labels and which labels are random (a tenth): eight clouds per class."""
    random = np.random.default_rng(seed)
    centres, plane = random.normal(size=(classes * 8, columns)), None
    x, y, bad = np.empty((n, columns), np.float32), np.empty(n, np.int64), np.empty(n, bool)
    for start in range(0, n, MADE):
        part = slice(start, min(start + MADE, n))
        count = part.stop - start
        own = random.integers(0, classes, count)
        along = random.normal(size=(count, 16))
        plane = random.normal(size=(16, columns)) / 4 if plane is None else plane
        x[part] = centres[own * 8 + random.integers(0, 8, count)] + along @ plane
        x[part] += 0.7 * random.normal(size=(count, columns)).astype(np.float32)
        bad[part] = random.random(count) < 0.1
        y[part] = np.where(bad[part], random.integers(0, classes, count), own)
    return x, y, bad


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def measure_cleanlab(n: int, device: str) -> Row:
    """Seconds and average precision of the audit, and of cleanlab by logistic regression in five folds."""
    from cleanlab.filter import find_label_issues

    x, y, bad = clouds(n)

    def theirs() -> np.ndarray:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        said = cross_val_predict(model, x, y, cv=5, method="predict_proba")
        find_label_issues(y, said, return_indices_ranked_by="self_confidence", n_jobs=1)
        return np.asarray(said[np.arange(len(y)), y])

    gl.audit(x[:500], y[:500], device=device)  # imports
    mine, found = seconds(lambda: gl.audit(x, y, device=device))
    taken, quality = seconds(theirs)
    return {
        "cpu_seconds": mine, "ap": float(average_precision_score(bad, found.score)),
        "cleanlab_cpu_seconds": taken, "cleanlab_ap": float(average_precision_score(bad, -quality)),
        "ratio": mine / taken,
    }  # fmt: skip


def measure_classes(n: int, device: str, classes: int = 5000) -> Row:
    random = np.random.default_rng(3)
    label = random.permutation(
        np.concatenate([np.arange(classes), random.integers(classes, size=n - classes)])
    )
    x = random.normal(size=(classes, 64))[label] + 0.3 * random.normal(size=(n, 64))
    taken, _ = seconds(lambda: gl.audit(x.astype(np.float32), label, device=device))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"classes": classes, "cpu_seconds": taken, "peak_mb": peak}


def measure_fit(n: int, device: str, epochs: int = 5) -> Row:
    """Both with two hidden layers of 128 and batches of 128; by turns, after a small fit that imports all."""
    x, y, _ = clouds(n, columns=50, classes=5)
    mine = gl.GrayClassifier(epochs=epochs, audit=None, random_state=0)
    peer = MLPClassifier((128, 128), batch_size=128, max_iter=epochs, n_iter_no_change=1000, random_state=0)
    for model in (mine, peer):
        model.fit(x[:500], y[:500])
    taken = [[seconds(lambda: model.fit(x, y))[0] for model in (mine, peer)] for _ in range(2)]  # noqa: B023
    ours, theirs = (min(each) for each in zip(*taken, strict=True))
    return {"epochs": epochs, "cpu_seconds": ours, "sklearn_cpu_seconds": theirs, "ratio": ours / theirs}


def measure_audited(n: int, device: str) -> Row:
    x, y, _ = clouds(n, columns=50, classes=5)
    gl.GrayClassifier(random_state=0).fit(x[:500], y[:500])
    alone, _ = seconds(lambda: gl.GrayClassifier(audit=None, refine=False, random_state=0).fit(x, y))
    audited, _ = seconds(lambda: gl.GrayClassifier(refine=False, random_state=0).fit(x, y))
    return {"cpu_seconds": alone, "audited_cpu_seconds": audited, "ratio": audited / alone}


def write_data(folder: Path, n: int) -> int:
    """Parquet files of about n rows, a tenth of the labels wrong; one file under many names saves disk."""
    random = np.random.default_rng(0)
    own = min(n, ROWS_OF_A_FILE)
    y = random.integers(0, CLASSES, own)
    x = (random.normal(size=(CLASSES, COLUMNS)) / 4)[y] + random.normal(size=(own, COLUMNS))
    y = np.where(random.random(own) < 0.1, (y + 1) % CLASSES, y)
    ends = pa.array(np.arange(0, own * COLUMNS + 1, COLUMNS, dtype=np.int32))
    values = pa.array(x.astype(np.float32).ravel())
    table = pa.table({"x": pa.ListArray.from_arrays(ends, values), "label": y})
    folder.mkdir(parents=True)
    first = folder / "00000.parquet"
    pq.write_table(table, first, compression="none", use_dictionary=False, row_group_size=1_000)
    count = max(1, n // own)
    for number in range(1, count):
        os.link(first, folder / f"{number:05}.parquet")
    return count * own


def measure_bounded(n: int, device: str) -> Row:
    """An audit of n rows of 3,000 columns in a process that may not have more than LIMIT."""
    settings = {"mode": "history", "epochs": 1, "duplicates": "off"}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        count = write_data(Path(folder) / "data", n)
        done = subprocess.run(
            [sys.executable, "-c", UNDER_LIMIT, str(LIMIT), json.dumps(settings)],
            cwd=folder, stdout=subprocess.PIPE, text=True, check=True,
            env={**os.environ, **FEW_RESERVED, "PYTHONPATH": str(RESULTS.parent)},
        )  # fmt: skip
    decoded = count * COLUMNS * 4
    return {
        "samples": count, "limit_mb": LIMIT / 2**20, "features_mb": decoded / 2**20,
        "times_the_limit": decoded / LIMIT, **json.loads(done.stdout.splitlines()[-1]),
    }  # fmt: skip


def large_audits() -> str:
    names = ("cpu_seconds", "ap", "cleanlab_cpu_seconds", "cleanlab_ap", "ratio")
    forms = ("{:.1f}", "{:.4f}", "{:.1f}", "{:.4f}", "{:.1f}")
    body = [
        [f"{row['rows']:,}", *(form.format(row[name]) for name, form in zip(names, forms, strict=True))]
        for row in rows(RESULTS / "scale.jsonl", "scale, cleanlab")
    ]
    head = ["rows", "audit, s", "average precision", "cleanlab, s", "its average precision", "ratio"]
    return markdown(head, body)


LAB_TABLES = {"measurements.md": {"large audits": large_audits}}


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("part", choices=("cleanlab", "classes", "fit", "audited", "bounded"))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--device", default="cpu", help="of the audits")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    found = globals()[f"measure_{asked.part}"](asked.rows, asked.device)
    row = record(f"scale, {asked.part}", rows=asked.rows, **found, device=asked.device, threads=1)
    append(row, RESULTS / "scale.jsonl")
    print(row)
