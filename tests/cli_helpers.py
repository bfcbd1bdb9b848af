"""The command line: as people run it, real processes in folders of their own, and within this process."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from unittest import mock

import warm
from blobs import blobs

from graylearn.cli import main
from graylearn.runs import progress

GRAYLEARN = str(Path(sys.executable).parent / "graylearn")


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if name not in ("GRAYLEARN_DATA", "COLUMNS")}
    return kept | {"OMP_NUM_THREADS": "1"} | changes


def run(*words, folder, **changes):
    """One command; gives what `subprocess.run` gives, in bytes."""
    return subprocess.run([GRAYLEARN, *words], cwd=folder, env=environment(**changes), capture_output=True)


MAIN = "from graylearn.cli import main; main()"
HELD = """
import sys, time
from pathlib import Path
from graylearn.training import loop

plain, gate = loop.save_checkpoint, Path(sys.argv.pop(1))

def save_and_wait(*given, **named):
    plain(*given, **named)
    gate.with_suffix(".reached").touch()
    while not gate.with_suffix(".open").exists():
        time.sleep(0.01)

loop.save_checkpoint = save_and_wait
from graylearn.cli import main
main()
"""


@contextlib.contextmanager
def held(*words, folder, gate):
    """A command that waits after its first checkpoint: gives it there, and lets it go on."""
    process = warm.Process(HELD, gate, *words, folder=folder, environment=environment())
    try:
        while not gate.with_suffix(".reached").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        yield process
    finally:
        gate.with_suffix(".open").touch()


def several(*commands, folder):
    """[(exit code, stdout, stderr), ...] of commands given as lists of words, run in this process."""
    told = []
    changed = mock.patch.dict(os.environ, environment(COLUMNS="120"), clear=True)
    terminated = signal.getsignal(signal.SIGTERM)
    nothing = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    # nothing is told for being slow
    no_clock = mock.patch.object(progress, "_WORTH_TELLING", float("inf"))
    with contextlib.chdir(folder), changed, nothing, no_clock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, as in a process of its own
        for words in commands:
            out, err, code = io.StringIO(), io.StringIO(), 0
            named = mock.patch.object(sys, "argv", ["graylearn", *words])
            with named, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    main()
                except SystemExit as end:
                    code = end.code or 0
            told.append((code, out.getvalue(), err.getvalue()))
    signal.signal(signal.SIGTERM, terminated)
    return told


def is_one_sentence(message):
    """Whether an error is said in one line, without a traceback."""
    lines = message.strip().splitlines()
    return len(lines) == 1 and lines[0].startswith("error: ") and "Traceback" not in message


LABELS = ("жук 🐞", 'say "cow"', "dog; cat")


def write_csv(path, n=90):
    """A table of the groups under labels that need care."""
    x, y = blobs(n)
    names = [label.replace('"', '""') for label in LABELS]
    rows = [f'{a:.4f};{b:.4f};{c:.4f};"{names[k]}"' for (a, b, c), k in zip(x, y, strict=True)]
    path.write_text("one;two;three;label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path
