"""An hour of trying to break it: fits, runs, saves and applied decisions, killed, starved and run together.

    nice -n 15 make soak                      # 60 minutes, a row to results/soak.jsonl
    python -m benchmarks soak --minutes 2

A story is one piece of work that is broken again and again and gone on with until it is done. Then it must be
what an unbroken one gives, bit by bit, with every id in it, and nothing left behind. What may break it:
SIGKILL before a file operation drawn by lot, SIGKILL and Ctrl-C after a time drawn by lot, a full disk, and
other processes in the same folder. Children are forked from one process that has imported everything, so
that a kill costs little. Beside them one process fits and audits over and over: the same bits each time, and
its memory, files and threads do not grow.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import graylearn as gl
from benchmarks import soak_jobs as jobs
from benchmarks.record import append, record
from graylearn.errors import FULL, GraylearnError
from graylearn.training.checkpoint import load_checkpoint

DONE, SENTENCE, RAW = 0, 3, 4
FLAT = 24
"""Megabytes by which the steady process may grow after it has warmed up."""
Work = Callable[[], None]


class BrokenPromiseError(AssertionError):
    """Something was lost, differs or stayed behind."""


def promise(kept: bool, what: str) -> None:
    """Fail the soak unless a promise was kept."""
    if not kept:
        raise BrokenPromiseError(what)


class Soak:
    """The stories, and what came of them."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng, self.folder = random.Random(seed), folder
        self.counts: collections.Counter[str] = collections.Counter()
        self.broken: list[str] = []
        self.errors = folder / "errors.txt"
        self.wholes: dict[str, Any] = {}

    def start(self, work: Work, prepare: Work | None = None) -> int:
        """A child at work; gives its process id."""
        child = os.fork()
        if child:
            return child
        code = RAW
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if prepare is not None:
                prepare()
            work()
            code = DONE
        except (GraylearnError, KeyboardInterrupt):
            code = SENTENCE
        except BaseException as error:
            if isinstance(error, OSError) and error.errno in FULL:
                code = SENTENCE  # the command line words it
            else:
                with self.errors.open("a") as file:
                    file.write(traceback.format_exc())
        finally:
            os._exit(code)

    def wait(self, child: int) -> int:
        """How a child ended; a raw exception is a broken promise."""
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.counts["kills"] += code == -signal.SIGKILL
        self.counts["sentences"] += code == SENTENCE
        promise(code in (DONE, SENTENCE, -signal.SIGKILL), f"a child ended with {code}")
        return code

    def break_once(self, work: Work, room: bool = True) -> int:
        """Start the work and do something to it."""
        kind = self.rng.random()
        self.counts["processes"] += 1
        if kind < 0.7:
            at = self.rng.randrange(1, 90)
            return self.wait(self.start(work, lambda: jobs.kill_at_file_event(at)))
        if kind < 0.85:
            child = self.start(work)
            time.sleep(self.rng.random() * 0.3)
            number = signal.SIGKILL if self.rng.random() < 0.7 else signal.SIGINT
            self.counts["interrupts"] += number == signal.SIGINT
            os.kill(child, number)  # not waited for yet, so it is still ours
            return self.wait(child)
        if kind < 0.93 and room:
            self.counts["full disks"] += 1
            size = self.rng.choice((100, 700, 2_000, 6_000))
            return self.wait(self.start(work, lambda: jobs.fill_disk(size)))
        self.counts["together"] += 1
        children = [self.start(work) for _ in range(3)]
        self.counts["processes"] += 2
        return min([self.wait(child) for child in children], key=abs)

    def finish(self, work: Work) -> None:
        """Unbroken to its end."""
        promise(self.wait(self.start(work)) == DONE, "the work was not done when nothing broke it")

    # -- the stories -----------------------------------------------------------------------------------

    def training(self) -> None:
        """Killed and resumed, a training ends with the bits of an unbroken one, and one checkpoint."""
        config = {
            "seed": self.rng.randrange(6),
            "method": self.rng.choice(("gl", "spl", "standard")),
            "epochs": self.rng.choice((2, 3)),
            "steps": self.rng.choice((1, 2)),
        }
        whole, key = self.folder / "whole.npz", json.dumps(config)
        if key not in self.wholes:
            self.finish(lambda: jobs.training(config, self.folder / "whole", whole))
            self.wholes[key] = dict(np.load(whole))
            shutil.rmtree(self.folder / "whole")
        folder, out = self.folder / "story", self.folder / "story.npz"
        work = lambda: jobs.training(config, folder, out)  # noqa: E731
        for _ in range(self.rng.randrange(4, 16)):
            self.break_once(work)
            if out.exists():
                break
        self.finish(work)
        same(self.wholes[key], dict(np.load(out)))
        weights, _ = load_checkpoint(folder)
        promise(len(weights) == 4, "the last checkpoint is not whole")
        names = sorted(path.name for path in folder.iterdir())
        promise(names == ["checkpoint.safetensors", "log.jsonl"], f"left behind: {names}")

    def a_run(self) -> None:
        """A run ends with the files of an unbroken one; every id of the table is in its audit."""
        seed = self.rng.randrange(3)
        config = {
            "data": str(jobs.write_table(self.folder / f"table-{seed}.csv", seed)),
            "command": self.rng.choice(("fit", "audit")),
            "refine": self.rng.random() < 0.5,
            "seed": seed,
        }
        key, whole = json.dumps(config), self.folder / "whole"
        if key not in self.wholes:
            self.finish(lambda: jobs.a_run(config, whole))
            self.wholes[key] = contents(whole)
            shutil.rmtree(whole)
        folder = self.folder / "story"
        work = lambda: jobs.a_run(config, folder)  # noqa: E731
        for _ in range(self.rng.randrange(2, 9)):
            if (folder / "summary.json").exists():
                break
            self.break_once(work, room=False)
        if not (folder / "summary.json").exists():
            self.finish(work)
        if (folder / "stages").exists() or any(
            folder.rglob(".graylearn-????????-*")
        ):  # killed after its last file
            self.counts["killed at the very end"] += 1
        found = contents(folder)
        promise(found == self.wholes[key], "a run that was broken gave other files")
        ids = [line.split(",")[0] for line in found["audit.csv"].decode().splitlines()[1:]]
        promise(sorted(ids) == sorted(f"s{index}" for index in range(48)), "ids are lost")

    def saving(self) -> None:
        """Saved over another, a classifier is the old one or the new one; never none, and never a mixture."""
        first, second = self.wholes["models"]
        folder = self.folder / "story"
        shutil.copytree(self.rng.choice((first, second)), folder)
        answers = [answer(first), answer(second)]
        work = lambda: jobs.saving({"model": str(second)}, folder)  # noqa: E731
        for _ in range(self.rng.randrange(2, 8)):
            self.break_once(work)
            promise(answer(folder) in answers, "a classifier was saved that is neither of the two")
            self.counts["loaded after a kill"] += 1
        self.finish(work)
        promise(answer(folder) == answers[1], "the classifier that was saved last is another")
        names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        expected = sorted(str(path.relative_to(second)) for path in second.rglob("*"))
        promise(names == expected, f"left behind: {sorted(set(names) - set(expected))}")

    def applying(self) -> None:
        """The cleaned table is whole or not there."""
        config = {"run": str(self.wholes["run"])}
        folder = self.folder / "story"
        folder.mkdir()
        work = lambda: jobs.applying(config, folder)  # noqa: E731
        for _ in range(self.rng.randrange(2, 8)):
            self.break_once(work)
            if (folder / "clean.csv").exists():
                promise((folder / "clean.csv").read_bytes() == self.wholes["clean"], "half a table")
        self.finish(work)
        promise((folder / "clean.csv").read_bytes() == self.wholes["clean"], "another table")

    def prepare(self) -> None:
        """Two saved classifiers, and a run with its cleaned table."""
        models = [self.folder / "model-0", self.folder / "model-1"]
        run = self.folder / "made-run"
        table = jobs.write_table(self.folder / "table.csv", 9)
        config = {"data": str(table), "command": "audit", "refine": False, "seed": 0}

        # in this process, so that what is imported late is there in every child
        for seed, path in enumerate(models):
            fitted(seed).save(path)
        jobs.a_run(config, run)
        jobs.applying({"run": str(run)}, self.folder)
        first = {"seed": 0, "method": "spl", "epochs": 1, "steps": 1}
        jobs.training(first, self.folder / "first", self.folder / "first.npz")
        answer(models[0])
        shutil.rmtree(self.folder / "first")
        (self.folder / "first.npz").unlink()
        clean = self.folder / "clean.csv"
        self.wholes |= {"models": models, "run": run, "clean": clean.read_bytes()}
        clean.unlink()

    def story(self) -> None:
        """One of them, drawn by lot, from a clean folder to a clean folder."""
        name = self.rng.choices(("training", "saving", "applying", "a run"), weights=(5, 6, 3, 1))[0]
        before = set(self.folder.iterdir())
        try:
            getattr(self, name.replace(" ", "_"))()
            self.counts[f"stories: {name}"] += 1
        except BrokenPromiseError as error:
            self.broken.append(f"{name}: {error}")
            kept = self.folder.parent / f"broken-{len(self.broken)}"
            if (self.folder / "story").exists():
                shutil.copytree(self.folder / "story", kept, dirs_exist_ok=True)
        for path in (self.folder / "story", self.folder / "whole"):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.folder / "story.npz", self.folder / "whole.npz"):
            path.unlink(missing_ok=True)
        strange = {path.name for path in set(self.folder.iterdir()) - before}
        strange = {name for name in strange if not name.startswith(("table-", "errors", "part-"))}
        if strange:
            self.broken.append(f"{name}: left behind {sorted(strange)}")


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """The same names and bits."""
    promise(one.keys() == other.keys(), "other arrays")
    for name in one:
        promise(
            np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f"), f"other {name}"
        )


def contents(folder: Path) -> dict[str, bytes]:
    """What must not differ between two runs of the same settings."""
    names = ("audit.csv", "audit.parquet", "samples.parquet", "model/weights.safetensors")
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


def fitted(seed: int) -> gl.GrayClassifier:
    """A small classifier with its audit."""
    x, y = jobs.groups(36, seed)
    classifier = gl.GrayClassifier(network_options={"hidden": [6]}, epochs=2, refine=False, random_state=seed)
    return classifier.fit(x.numpy(), y.numpy())


def answer(folder: Path) -> bytes:
    """What a saved classifier says of some samples."""
    loaded = gl.GrayClassifier.load(folder)
    return bytes(loaded.predict_proba(jobs.groups(9, 5)[0].numpy()).tobytes())


class Steady:
    """A process that fits, audits, saves and loads each time it is asked, and tells how large it is."""

    def __init__(self, folder: Path) -> None:
        (asked, ask), (told, tell) = os.pipe(), os.pipe()
        self.child = os.fork()
        if not self.child:
            os.close(ask)
            self._serve(os.fdopen(asked), os.fdopen(tell, "w", buffering=1), folder)
            os._exit(0)
        os.close(asked), os.close(tell)
        self.ask, self.told = os.fdopen(ask, "w", buffering=1), os.fdopen(told)
        self.sizes: list[dict[str, int]] = []

    @staticmethod
    def _serve(asked: Any, tell: Any, folder: Path) -> None:
        first = None
        for _ in asked:
            fitted(0).save(folder)
            now = answer(folder)
            first = first or now
            memory = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
            row = {
                "same": now == first,
                "megabytes": memory,
                "files": len(list(Path("/proc/self/fd").iterdir())),
                "threads": len(list(Path("/proc/self/task").iterdir())),
            }
            tell.write(json.dumps(row) + "\n")

    def turn(self) -> None:
        """One fit more."""
        self.ask.write("\n")
        self.sizes.append(json.loads(self.told.readline()))
        promise(bool(self.sizes[-1]["same"]), "the same fit gave other bits")

    def grown(self) -> dict[str, int]:
        """By how much, since it had warmed up."""
        settled = self.sizes[min(20, len(self.sizes) // 2)]
        return {name: self.sizes[-1][name] - settled[name] for name in ("megabytes", "files", "threads")}


def main() -> None:
    """Stories for so many minutes."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--results", type=Path, help="append a row to this file")
    given = options.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    scratch = "/dev/shm" if Path("/dev/shm").is_dir() else None
    top = Path(tempfile.mkdtemp(prefix="soak-", dir=scratch))
    (top / "tmp").mkdir(), (top / "work").mkdir()
    os.environ["TMPDIR"] = str(top / "tmp")
    soak, steady = Soak(given.seed, top / "work"), Steady(top / "steady")
    began, told = time.monotonic(), 0.0
    soak.prepare()
    while time.monotonic() - began < given.minutes * 60:
        soak.story()
        soak.counts["stories"] += 1
        if soak.counts["stories"] % 4 == 0:
            steady.turn()
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{(told - began) / 60:.0f} min: {dict(soak.counts)}, broken: {soak.broken}", flush=True)
    steady.ask.close()
    os.waitpid(steady.child, 0)
    grown = steady.grown()
    if grown["megabytes"] > FLAT or grown["files"] > 0 or grown["threads"] > 0:
        soak.broken.append(f"the steady process grew by {grown}")
    left = sorted(path.name for path in (top / "tmp").iterdir())
    row = {
        "minutes": round((time.monotonic() - began) / 60, 1),
        "seed": given.seed,
        "counts": dict(soak.counts),
        "steady_turns": len(steady.sizes),
        "grown": grown,
        "left_in_tmp": left,
        "broken": soak.broken,
    }
    print(json.dumps(row, indent=1))
    if given.results:
        append(record("soak", **row), given.results)
    if soak.broken:
        sys.exit(f"{len(soak.broken)} promises broken; see {top}")
    shutil.rmtree(top)
