"""Processes of their own that need not import torch and its kind: each is forked from one that has.

Otherwise they are fresh: graylearn is imported anew, and signals, exit codes and kills are real.
"""

import multiprocessing
import os
import signal
import sys
import tempfile

LIBRARIES = """
torch scipy.stats pandas pyarrow.parquet pyarrow.csv pyarrow.compute safetensors.torch
PIL.Image yaml typer
rich.console rich.progress rich.table sklearn.cluster sklearn.datasets sklearn.decomposition sklearn.ensemble
sklearn.discriminant_analysis sklearn.feature_extraction.text sklearn.neighbors
"""
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(LIBRARIES.split())


class Process:
    """One that runs `code` with `words` as its arguments; it has what `subprocess.Popen` has, but no pipes.

    What it says on standard error goes to the terminal `error`, or is kept, as is what it says on the other.
    """

    def __init__(self, code, *words, folder=".", environment=None, error=None):
        self._said = [tempfile.NamedTemporaryFile("rb") for _ in range(2)]  # noqa: SIM115
        out, kept = (file.name for file in self._said)
        given = dict(os.environ if environment is None else environment)
        told = (code, [str(word) for word in words], str(folder), given, out, error or kept)
        self._process = _context.Process(target=_run, args=told)
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        """The exit code, or minus the signal that ended it; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number):
        """As Ctrl-C or a kill would."""
        os.kill(self.pid, number)

    def communicate(self):
        """(stdout, stderr, its exit code as `poll` tells it), at its end."""
        self._process.join()
        with self._said[0] as out, self._said[1] as error:
            return out.read().decode(), error.read().decode(), self.poll()


def _run(code, words, folder, environment, out, error):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in ((0, os.devnull), (1, out), (2, error)):
        os.dup2(os.open(name, os.O_RDWR | os.O_APPEND | os.O_NOCTTY), number)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
    sys.argv = ["graylearn", *words]
    exec(code, {"__name__": "__main__"})
