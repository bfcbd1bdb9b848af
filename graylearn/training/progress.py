"""Progress of a training: a bar on a terminal, plain lines elsewhere, and a log in JSON lines."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Self

from graylearn.data.atomic import write_text
from graylearn.errors import FolderTakenError
from graylearn.options import Log, settled
from graylearn.progress import Bar

Row = dict[str, Any]
"""What the log holds of an epoch."""
_NAMES = {"epoch", "loss", "accuracy", "learning_rate", "seconds", "samples_per_second"}
"""Of every row; beside them there may be what was measured in validation."""


class RunLog:
    """One row per epoch, in memory and, given a folder, as JSON lines in its log.jsonl."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.path: Path | None = None

    def keep_in(self, folder: Path | None) -> None:
        """Write the rows so far, and those to come, to a folder; of a resumed run all are made anew that
        follow its checkpoint."""
        if folder is not None:
            self.path = folder / "log.jsonl"
            if not self.rows and os.path.lexists(self.path) and not _of_a_training(self.path):
                raise FolderTakenError(
                    f"{self.path} is not as a training writes it, so it is not replaced: name another folder,"
                    " or remove it first"
                )
            write_text(self.path, "".join(json.dumps(row) + "\n" for row in self.rows))

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows.append(row)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def _of_a_training(path: Path) -> bool:
    """Whether a log holds only what a training writes, as one does that was killed before its checkpoint."""
    if path.is_symlink() or not path.is_file():
        return False
    *lines, rest = path.read_bytes().split(b"\n")
    if not b'{"epoch": '.startswith(rest[:10]):  # half a row, or none
        return False
    try:
        rows = [json.loads(line) for line in lines]
    except ValueError:
        return False
    return all(
        isinstance(row, dict) and {name for name in row if not name.startswith("validation_")} == _NAMES
        for row in rows
    )


class Reporter:
    """Shows the progress of a run; this one is silent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def step(self, epoch: int, done: int) -> None:
        """`done` steps of the whole run are done."""

    def seen(self, loss: float, accuracy: float) -> None:
        """Loss and accuracy of the epoch so far."""

    def row(self, row: Row) -> None:
        """An epoch is over."""

    def note(self, text: str) -> None:
        """Tell the user something."""


class Lines(Reporter):
    """One plain line per epoch, on standard error."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def row(self, row: Row) -> None:
        """Print the epoch."""
        validation = f"  validation {row['validation_accuracy']:.4f}" if "validation_accuracy" in row else ""
        self.note(
            f"epoch {row['epoch'] + 1}/{self.epochs}  loss {row['loss']:.4f}  accuracy {row['accuracy']:.4f}"
            f"{validation}  {row['seconds']:.1f} s"
        )

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)


class BarReporter(Reporter):
    """A bar over all steps of the run, with the loss and accuracy of the epoch so far."""

    def __init__(self, epochs: int, steps: int) -> None:
        self.bar, self.epochs, self.total = Bar("training", epochs * steps), epochs, epochs * steps
        self.epoch, self.done, self.numbers = 0, 0, ""

    def __enter__(self) -> Self:
        self.bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.__exit__()

    def _show(self) -> None:
        more = f", epoch {self.epoch + 1}/{self.epochs}{self.numbers}"
        self.bar.show("training", self.done, self.total, more)

    def step(self, epoch: int, done: int) -> None:
        """Move the bar."""
        self.epoch, self.done = epoch, done
        self._show()

    def seen(self, loss: float, accuracy: float) -> None:
        """Show the latest numbers."""
        self.numbers = f"  loss {loss:.4f}  accuracy {accuracy:.4f}"
        self._show()

    def row(self, row: Row) -> None:
        """Show the numbers of the epoch."""
        self.seen(row["loss"], row["accuracy"])

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(text, highlight=False, markup=False)


def make_reporter(log: Log, epochs: int, steps: int) -> Reporter:
    """The reporter of this kind."""
    kind = settled(log)
    if kind == "bar":
        return BarReporter(epochs, steps)
    return Lines(epochs) if kind == "lines" else Reporter()
