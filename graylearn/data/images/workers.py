"""The processes that decode image files: started, fed chunk by chunk, and always ended."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from graylearn.data.images import decode
from graylearn.data.images.decode import CHANNELS, decode_files
from graylearn.data.progress import progress_bar
from graylearn.errors import DataError

CHUNK = 64
"""Files a worker takes at a time."""

_Done: TypeAlias = Callable[[int, list[tuple[str, str | None]]], None]


def decode_all(
    files: list[Path], size: int, out: Path | None, workers: int, title: str
) -> list[tuple[str, str | None]]:
    """(digest, why it cannot be read or None) of every file in order; pixels to `out`, else only hashed."""
    names = [os.fspath(path) for path in files]
    chunks = [(start, names[start : start + CHUNK]) for start in range(0, len(names), CHUNK)]
    results: list[tuple[str, str | None]] = [("", None)] * len(names)
    with progress_bar(title, len(names)) as advance:

        def done(start: int, chunk: list[tuple[str, str | None]]) -> None:
            results[start : start + len(chunk)] = [(digest, reason) for digest, reason in chunk]
            advance(len(chunk))

        if workers == 0 or not sys.executable:
            _in_this_process(chunks, size, out, done)
        else:
            _in_workers(chunks, size, out, min(workers, len(chunks)), done)
    return results


def _in_this_process(chunks: list[tuple[int, list[str]]], size: int, out: Path | None, done: _Done) -> None:
    if out is None:
        for start, names in chunks:
            done(start, decode_files(names, size, None))
        return
    with out.open("r+b") as file:
        for start, names in chunks:
            file.seek(start * size * size * CHANNELS)
            done(start, decode_files(names, size, file))


def _in_workers(
    chunks: list[tuple[int, list[str]]], size: int, out: Path | None, workers: int, done: _Done
) -> None:
    """Hand the chunks to processes of `decode`, one thread waiting on each."""
    todo: queue.SimpleQueue[tuple[int, list[str]]] = queue.SimpleQueue()
    for chunk in chunks:
        todo.put(chunk)
    errors: list[Exception] = []
    # -P keeps this folder's files from being found as modules; the path is ours, so that Pillow is found.
    command = [sys.executable, "-P", str(decode.__file__), str(size), "" if out is None else str(out)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes: list[subprocess.Popen[str]] = []

    def start_worker() -> subprocess.Popen[str]:
        # ASCII carries any path: JSON escapes the rest, also names that are not valid text.
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, encoding="ascii")

    def feed(process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            while not errors:
                try:
                    start, names = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    process.stdin.write(json.dumps({"start": start, "paths": names}) + "\n")
                    process.stdin.flush()
                    answer = process.stdout.readline()
                except OSError:
                    answer = ""
                if not answer:
                    raise DataError(
                        f"a decoding process ended with code {process.wait()} while it read {names[0]} "
                        f"to {names[-1]}; its message, if any, is above; fewer workers need less memory"
                    )
                done(start, json.loads(answer))
        except Exception as error:
            errors.append(error)

    try:
        while len(processes) < workers:
            processes.append(start_worker())
        threads = [threading.Thread(target=feed, args=(process,), daemon=True) for process in processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for process in processes:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
            process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
    if errors:
        raise errors[0]
