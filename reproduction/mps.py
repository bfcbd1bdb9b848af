"""One GPU shared by several processes through NVIDIA's Multi-Process Service (MPS).

Without it the GPU gives its time to one process after another; with it their kernels run side by side, which
for networks that do not fill it is most of what several workers gain.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

CONTROL = "nvidia-cuda-mps-control"
"""The program that starts, asks and ends the daemon."""
_PIPES, _LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
_PATIENCE = 60
"""Seconds the daemon has to answer."""


@contextmanager
def shared_gpu() -> Iterator[bool]:
    """MPS for the processes that are started inside; gives whether there is one.

    A daemon that runs already is used and left running. One that is started here has a folder of its own,
    which the environment names to the processes inside, and is ended with them.
    """
    if shutil.which(CONTROL) is None:
        yield False
        return
    if _ask("get_server_list"):
        yield True
        return
    folder = tempfile.mkdtemp(prefix="mps-")  # short: a socket's path has 108 letters at most
    before = {name: os.environ.get(name) for name in (_PIPES, _LOGS)}
    os.environ.update({_PIPES: folder, _LOGS: folder})
    try:
        started = subprocess.run([CONTROL, "-d"], capture_output=True, timeout=_PATIENCE).returncode == 0
        try:
            yield started
        finally:
            if started:
                _ask("quit")
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def _ask(word: str) -> bool:
    """Say a word to the daemon; False where none answers."""
    try:
        done = subprocess.run([CONTROL], input=f"{word}\n", capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
