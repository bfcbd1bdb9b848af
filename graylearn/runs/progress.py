"""Progress of a run: bars on a terminal, plain lines elsewhere, and everything in run.log."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from graylearn.errors import DataWarning, Worded, counted
from graylearn.progress import Bar
from graylearn.runs.settings import in_flags

_WORTH_TELLING = 1.0  # seconds from which on a finished piece of work is told


class _Errors(Console):
    """Standard error; if it is closed the run continues, since its results are in the folder."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class RunProgress:
    """Reports to a person on standard error, and to later readers in run.log."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console: Console = _Errors(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self._log: Path | None = None
        self._noted: dict[str, str] = {}

    @property
    def shows(self) -> bool:
        """Whether bars are shown."""
        return self.console.is_terminal and not self.console.quiet

    @property
    def notes(self) -> list[str]:
        """All that was noted so far."""
        return list(self._noted.values())

    def also_to(self, path: Path) -> None:
        """Also write what follows to this file."""
        self._log = path

    def say(self, text: str) -> None:
        """Print one line, and keep it in run.log."""
        self.console.print(text, markup=False)
        self._keep(text)

    def _keep(self, text: str) -> None:
        if self._log is not None:
            with self._log.open("a", encoding="utf-8", errors="backslashreplace", buffering=1) as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def note(self, text: str, about: str | None = None) -> None:
        """Tell the user something once; notes with the same `about` count as the same."""
        if (about or text) not in self._noted:
            self._noted[about or text] = text
            self.say(f"note: {text}")

    @contextmanager
    def of_warnings(self) -> Iterator[None]:
        """Turn warnings into notes that name flags."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)  # each is told once, whoever read before
            warnings.showwarning = lambda message, *_, **__: self.note(
                message.worded(in_flags) if isinstance(message, Worded) else str(message),
                getattr(message, "about", None),
            )
            yield

    @contextmanager
    def working(self, title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a piece of work, and report at the end how long it took; yields a function that counts what is
        done of the total, if there is one."""
        began, shows = time.perf_counter(), self.shows
        say = self._keep if shows else self.say
        with Bar(title, total, shows=shows, console=self.console, say=say) as bar:
            yield bar.advance
        seconds = time.perf_counter() - began
        tell = self.say if seconds >= _WORTH_TELLING else self._keep
        tell(f"{title}{f': {bar.done:,}' if total else ''} ({seconds:.1f} s)")

    def trained(self, title: str, rows: list[dict[str, Any]], seconds: float) -> None:
        """Report a training, which showed its own bar, from its log."""
        if rows:
            told = f"{title}: {counted(len(rows), 'epoch')}, loss {rows[-1]['loss']:.4f}, accuracy "
            self.say(f"{told}{rows[-1]['accuracy']:.3f} ({seconds:.1f} s)")
