"""What a run tells while it goes: bars on a terminal, plain lines elsewhere, and all of it in run.log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from graylearn.runs.folder import open_to_append

_WORTH_TELLING = 2.0  # seconds from which on the end of a piece of work is news
_SILENCE = 10.0  # seconds of work after which a plain log wants a sign of life

Advance = Callable[[int, str], None]
"""Called with how much is done in all, and what to say of it."""


class News:
    """Tells a person on standard error, and later readers in run.log."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self._log: Path | None = None

    def also_to(self, path: Path) -> None:
        """Keep all that follows in this file too."""
        self._log = path

    def say(self, text: str) -> None:
        """One line."""
        self.console.print(text, markup=False)
        self._keep(text)

    @contextmanager
    def working(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Show that something is being done, and how far it is where `total` is known."""
        began = time.perf_counter()
        spoken, last = began, ""
        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal or self.console.quiet,
        )
        with bar:
            task = bar.add_task(title, total=total, note="")

            def advance(done: int, note: str = "") -> None:
                nonlocal spoken, last
                last = note
                bar.update(task, completed=done, note=note)
                now = time.perf_counter()
                if bar.disable and now - spoken > _SILENCE:
                    spoken = now
                    self.say(f"{title}: {done}{'' if total is None else f'/{total}'}{note and ', ' + note}")

            yield advance
        seconds = time.perf_counter() - began
        told = f"{title}{last and ': ' + last} ({seconds:.1f} s)"
        if seconds >= _WORTH_TELLING or last:
            self.say(told)
        else:
            self._keep(told)

    def _keep(self, text: str) -> None:
        if self._log is not None:
            with open_to_append(self._log) as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
