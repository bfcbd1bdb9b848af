"""Fuzzing by hand: every reader, loader and settings file, and the loss, with damaged input.

    nice -n 15 python -m benchmarks fuzz --cases 1000000 --results results/fuzz.jsonl
    python -m benchmarks fuzz --target model --case 1234    # one case again, with its traceback

Every case ends in right data or in one sentence; a raw exception, a case of more than SLOWEST seconds, one
that asks for more than MEMORY bytes and one that kills the process are findings, which are printed with the
case that made them. Each target runs in a process of its own, so that a crash is found and gone on from.
Counts go to results/fuzz.jsonl.
"""

from __future__ import annotations

import argparse
import collections
import json
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

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


def one_target(name: str, seed: int, first: int, last: int, at: Path) -> None:
    """Run the cases first..last-1 of a target; what came of them is printed as JSON."""
    import torch

    from benchmarks.fuzz_loss import loss
    from benchmarks.fuzz_targets import ALLOWED, TARGETS

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _hang)
    counts: collections.Counter[str] = collections.Counter()
    found: dict[str, list[int]] = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder, at.open("r+b") as file:
        case = (TARGETS | {"loss": loss})[name](Path(folder))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        shared = mmap.mmap(file.fileno(), 8)
        began = time.process_time()
        for number in range(first, last):
            struct.pack_into("<q", shared, 0, number)
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
    done = {
        "counts": counts,
        "found": {what: (len(cases), cases[0]) for what, cases in found.items()},
        "seconds": round(time.process_time() - began, 1),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }
    print(json.dumps(done))


def in_processes(name: str, seed: int, cases: int) -> dict[str, Any]:
    """All cases of a target; after one that kills the process the next process goes on."""
    counts: collections.Counter[str] = collections.Counter()
    found: dict[str, list[int]] = {}
    first, seconds, megabytes = 0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "at"
        at.write_bytes(bytes(8))
        while first < cases:
            last = min(cases, first + 100_000)
            command = [sys.executable, "-m", "benchmarks.fuzz", "--target", name, "--seed", str(seed)]
            command += ["--range", str(first), str(last), "--at", str(at)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                (number,) = struct.unpack("<q", at.read_bytes())
                counts["lost before a crash"] += number - first
                counts["found"] += 1
                what = f"the process ended with {done.returncode}: {done.stderr.strip()[-300:]}"
                found.setdefault(what, [0, number])[0] += 1
                first = max(number, first) + 1
                continue
            row = json.loads(done.stdout.splitlines()[-1])
            counts.update(row["counts"])
            for what, (times, case) in row["found"].items():
                found.setdefault(what, [0, case])[0] += times
            seconds, megabytes, first = seconds + row["seconds"], max(megabytes, row["megabytes"]), last
    return {"counts": dict(counts), "found": found, "seconds": round(seconds, 1), "megabytes": megabytes}


def main() -> None:
    """All targets, or one, or one case of it."""
    from benchmarks.fuzz_targets import TARGETS

    names = list(SHARES)
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--target", choices=names, help="this one alone")
    options.add_argument("--cases", type=int, default=10_000, help="of all targets")
    options.add_argument("--case", type=int, help="this one alone, with its traceback")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--range", type=int, nargs=2, help=argparse.SUPPRESS)
    options.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--results", type=Path, help="append a row a target to this file")
    given = options.parse_args()
    if given.range:
        one_target(given.target, given.seed, *given.range, given.at)
        return
    if given.case is not None:
        from benchmarks.fuzz_loss import loss

        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            (TARGETS | {"loss": loss})[given.target](Path(folder))(
                Random(f"{given.seed}:{given.target}:{given.case}")
            )
        return
    failed = 0
    for name in [given.target] if given.target else names:
        cases = given.cases if given.target else round(given.cases * SHARES[name] / sum(SHARES.values()))
        row = in_processes(name, given.seed, cases)
        failed += len(row["found"])
        print(f"{name}: {row['counts']}, {row['seconds']} s of CPU, {row['megabytes']} MB", flush=True)
        for what, (times, case) in row["found"].items():
            print(f"  {times} x {what} (--target {name!r} --case {case})", flush=True)
        if given.results:
            from benchmarks.record import append, record

            append(record("fuzz", target=name, seed=given.seed, cases=cases, **row), given.results)
    sys.exit(bool(failed))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
