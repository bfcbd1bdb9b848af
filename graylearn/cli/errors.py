"""What a command ends with: errors in one sentence, and exit codes that mean something.

0    all went well (also when whoever read the output closed the pipe)
1    it did not: data, files or the disk; the sentence says what and how to mend it
2    wrong usage: an unknown flag or setting, a value out of range
3    the run folder is taken: finished, of other settings, foreign, or another run is at work in it
4    graylearn check: more new suspects than allowed
130  Ctrl-C; the same command goes on where the run stopped
143  SIGTERM, likewise
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import typer
from rich.console import Console

from graylearn.errors import FULL, FolderTakenError, GraylearnError, SettingsError, one_line
from graylearn.runs.settings import in_flags

_GOES_ON = "; the same command goes on where it stopped"
NUMBERS = {"int_parsing": "a whole number, such as 5", "float_parsing": "a number, such as 0.5"}
"""What is expected where a flag cannot be read, by what the validator that Typer asks calls it."""
ERROR, USAGE, TAKEN, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


class _TerminatedError(BaseException):
    """SIGTERM came; not an Exception, which somebody on the way might take for an error of theirs."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _TerminatedError


@contextmanager
def said(goes_on: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Turn whatever goes wrong inside into one sentence on standard error and an exit code.

    goes_on: whether the command, given again, goes on where it stopped; asked where something went wrong.
    """
    debug = bool(os.environ.get("GRAYLEARN_DEBUG"))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # whoever read our output has seen enough; nothing is left to flush at exit
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        _say(f"interrupted{_GOES_ON * goes_on()}", style="yellow")
        sys.exit(INTERRUPTED)
    except _TerminatedError:
        _say(f"terminated{_GOES_ON * goes_on()}", style="yellow")
        sys.exit(TERMINATED)
    except Exception as error:
        if hasattr(error, "exit_code"):  # Typer's, of wrong usage
            _say_plainly(error)
            raise
        if debug or isinstance(error, typer.Abort):  # Typer's too
            raise
        _say(f"error: {_sentence(error, goes_on)}")
        sys.exit(_code(error))


def _say_plainly(error: Exception) -> None:
    """Word what Typer says of wrong usage as ours is, without far guesses."""
    if isinstance(error, typer.BadParameter):
        error.message = error.message.removeprefix("Value error, ")
        checked: list[Any] = getattr(error.__cause__, "errors", list)()
        if checked and (expected := NUMBERS.get(checked[0]["type"])):
            error.message = f"{checked[0]['input']!r} is not {expected}"
    if not hasattr(error, "possibilities"):
        return
    if others := _commands_with(error):
        error.message += f" (it is an option of {', '.join(others)})"  # type: ignore[attr-defined]
        error.possibilities = None
    elif guesses := error.possibilities:
        error.possibilities = guesses[:1]  # the nearest comes first


def _commands_with(error: Exception) -> list[str]:
    """Which commands have the option that another was given in vain."""
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    commands = getattr(getattr(getattr(context, "parent", None), "command", None), "commands", {})
    return [name for name, each in commands.items() if any(option in has.opts for has in each.params)]


def _code(error: Exception) -> int:
    if isinstance(error, FolderTakenError):
        return TAKEN
    return USAGE if isinstance(error, SettingsError) else ERROR


def _sentence(error: Exception, goes_on: Callable[[], bool]) -> str:
    """What went wrong, and what to do."""
    if isinstance(error, GraylearnError):
        return error.worded(in_flags)
    if isinstance(error, MemoryError):
        return "the memory is not enough for this data; give a part of it, or smaller images with --size"
    if isinstance(error, OSError):
        return _of_system(error, goes_on)
    return f"unexpected {type(error).__name__} ({error}); --debug shows where, please report it"


def _of_system(error: OSError, goes_on: Callable[[], bool]) -> str:
    named = error.filename if isinstance(error.filename, str) else None
    where = f"{named}: " if named else ""
    reason = error.strerror or str(error)
    if error.errno in FULL:
        again = _GOES_ON if goes_on() else " and give the same command again"
        return f"{where or 'a file '}cannot be written ({reason}); make room{again}"
    return f"{where}{reason}"


def _say(text: str, style: str = "red") -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(one_line(text), style=style, markup=False)
