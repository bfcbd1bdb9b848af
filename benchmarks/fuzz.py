"""Fuzzing by hand: every reader, loader and settings file, and the loss, with damaged input.

    nice -n 15 python -m benchmarks fuzz --cases 1000000 --results results/fuzz.jsonl
    python -m benchmarks fuzz --target model --case 1234    # one case again, with its traceback

Every case ends in right data or in one sentence; a raw exception, a case of more than SLOWEST seconds, one
that asks for more than MEMORY bytes and one that kills the process are findings, which are printed with the
case that made them. Each target runs in a process of its own, so that a crash is found and gone on from.
Counts go to results/fuzz.jsonl.
"""

from __future__ import annotations

import collections
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz_targets import ALLOWED, TARGETS
from benchmarks.record import append, described, record

MEMORY = 3 << 30
"""Bytes beyond what the process has at its start."""
SLOWEST = 20
"""Seconds of CPU of one case."""
SHARES = {
    "read text": 60, "read compressed": 30, "read parquet": 30, "read feather": 50, "read npz": 60,
    "images": 160, "pickles": 150, "model": 8, "audit": 10, "history": 70, "checkpoint": 12, "settings": 110,
    "decisions": 240, "loss": 20, "read excel": 6, "read sqlite": 40, "read duckdb": 4,
    "read hugging face": 6, "label studio": 60,
}  # fmt: skip
"""How the cases are shared out: more where a case costs less."""
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None


class HangError(Exception):
    """A case took too long."""


def _hang(*_: Any) -> None:
    raise HangError(f"more than {SLOWEST} s")


def cases_of(name: str, seed: int, numbers: range) -> dict[str, Any]:
    """Run some cases of a target, in this process; what came of them."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _hang)
    counts: collections.Counter[str] = collections.Counter()
    found: dict[str, list[int]] = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        case = TARGETS[name](Path(folder))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        began = time.process_time()
        for number in numbers:
            signal.setitimer(signal.ITIMER_PROF, SLOWEST)
            try:
                case(Random(f"{seed}:{name}:{number}"))
                counts["data"] += 1
            except ALLOWED as error:
                if "\n" in str(error) or len(str(error)) > 2000:
                    found["an error of many lines: " + type(error).__name__].append(number)
                counts["sentence"] += 1
            except BaseException as error:
                counts["found"] += 1
                ours = [
                    each for each in traceback.extract_tb(error.__traceback__) if "graylearn" in each.filename
                ]
                where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
                found[f"{type(error).__name__} at {where}: {str(error)[:150]}"].append(number)
            signal.setitimer(signal.ITIMER_PROF, 0)
    return {
        "counts": counts,
        "found": {what: (len(cases), cases[0]) for what, cases in found.items()},
        "seconds": time.process_time() - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def in_processes(name: str, seed: int, cases: int) -> dict[str, Any]:
    """All cases of a target; where one kills its process, halves are run until it is alone."""
    counts: collections.Counter[str] = collections.Counter()
    found: dict[str, list[int]] = {}
    seconds, megabytes, left = 0.0, 0, [range(cases)]
    while left:
        part = left.pop()
        try:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                row = pool.submit(cases_of, name, seed, part).result()
        except BrokenProcessPool:
            if len(part) > 1:
                left += [part[: len(part) // 2], part[len(part) // 2 :]]
                continue
            row = {"counts": {"found": 1}, "found": {"the process ended": (1, part[0])}}
        counts.update(row["counts"])
        for what, (times, case) in row["found"].items():
            found.setdefault(what, [0, case])[0] += times
        seconds, megabytes = seconds + row.get("seconds", 0.0), max(megabytes, row.get("megabytes", 0))
    return {"counts": dict(counts), "found": found, "seconds": round(seconds, 1), "megabytes": megabytes}


def main() -> None:
    """All targets, or one, or one case of it."""
    options = described(__doc__)
    options.add_argument("--target", choices=list(SHARES), help="this one alone")
    options.add_argument("--cases", type=int, default=10_000, help="of all targets")
    options.add_argument("--case", type=int, help="this one alone, with its traceback")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--results", type=Path, help="append a row a target to this file")
    given = options.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes to come
    if given.case is not None:
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            TARGETS[given.target](Path(folder))(Random(f"{given.seed}:{given.target}:{given.case}"))
        return
    failed = 0
    for name in [given.target] if given.target else SHARES:
        cases = given.cases if given.target else round(given.cases * SHARES[name] / sum(SHARES.values()))
        row = in_processes(name, given.seed, cases)
        failed += len(row["found"])
        print(f"{name}: {row['counts']}, {row['seconds']} s of CPU, {row['megabytes']} MB", flush=True)
        for what, (times, case) in row["found"].items():
            print(f"  {times} x {what} (--target {name!r} --case {case})", flush=True)
        if given.results:
            append(record("fuzz", target=name, seed=given.seed, cases=cases, **row), given.results)
    sys.exit(bool(failed))
