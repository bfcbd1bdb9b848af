"""Every exception graylearn raises on purpose, as one tree, and the warnings about data.

    GraylearnError
      DataError (ValueError)          the data cannot be what was asked of it
      SettingsError (ValueError)      a setting is out of range or contradicts another
      DivergedError (ArithmeticError) the loss turned NaN or infinite
      CheckpointError (ValueError)    a saved file is damaged, foreign or of another run
      FolderTakenError                the folder of a run is finished, in use or not a run's
      MissingExtraError (ImportError) an optional package is needed and not installed
    DataWarning (UserWarning)         the data was read, but something in it deserves a look
      IdLikeColumnWarning             a column seems to name the rows

Losses raise plain ValueError / TypeError / RuntimeError, as torch.nn.functional does.

An error knows which option it is about and which one would mend it, and each face words that its own way:
`str(error)` as Python writes a keyword, the command line as a flag.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""What the system says where there is no room to write."""


@dataclass(frozen=True)
class Hint:
    """What would mend an error: an option to give, with which value, and what comes of it."""

    option: str
    """Name of the option, as in Python."""
    value: Any = None
    """What to give it; None is up to the user."""
    purpose: str = ""
    """What comes of it, such as `to count the rows instead`."""


Spelling = Callable[[str, Any], str | None]
"""How a face writes an option and a value (None: any); None where it has no such option."""


def in_python(option: str, value: Any) -> str:
    """An option as a keyword argument."""
    return f"{option}=" if value is None else f"{option}={value!r}"


LONGEST = 1500
"""Characters of a problem that are told: what quotes a damaged file may go on for pages."""

LONGEST_VALUE = 200
"""Characters of a value that are told."""

LONGEST_NAME = 80
"""Characters of a class in a sentence or a table."""

_LINE_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def one_line(text: str) -> str:
    """Text that may quote a file, as one line without the characters that steer a terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in _LINE_BREAKS.sub(" ", text))


def first_line(error: BaseException) -> str:
    """What an error of others says, less what follows its first line; its kind where it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def first_few(names: Sequence[Any] | np.ndarray, most: int = 10, between: str = ", ") -> str:
    """Names for a sentence, so many of them at most: `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(map(str, names[:most])) + more


def shortened(name: Any) -> Any:
    """A name for people: of a long text its ends, where names of one family differ; all else as it is."""
    is_long = isinstance(name, str) and len(name) > LONGEST_NAME
    return f"{name[:60]}…{name[-19:]}" if is_long else name


def quoted(value: Any) -> str:
    """A value for a sentence, on one line and not for pages: of an array or a frame its shape alone."""
    if shape := getattr(value, "shape", ()):
        return f"of type {type(value).__name__} and shape {tuple(shape)}"
    text = one_line(repr(value))
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} ..."


def counted(count: int, noun: str) -> str:
    """A number of things for a sentence: `1 row`, `1,200 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def are(count: int) -> str:
    """The verb after so many things."""
    return "is" if count == 1 else "are"


def meant(wrong: str, right: Iterable[str]) -> str | None:
    """The one of some names that was meant by a mistyped one; None where none is near."""
    lower = {name.lower(): name for name in right}
    # who meant a name typed two thirds of it: by less, QUASAR was meant as STAR
    close = difflib.get_close_matches(wrong.lower(), list(lower), n=1, cutoff=2 / 3)
    return lower[close[0]] if close else None


def nearest(wrong: str, right: Sequence[str], otherwise: str) -> str:
    """What was meant by a mistyped name, `did you mean gl?`, or all names there are after `otherwise`.

    A name may also be meant by the first letters of its words, as learning_rate by lr.
    """
    initials = {"".join(word[:1] for word in name.split("_")): name for name in right if "_" in name}
    close = meant(str(wrong), right) or initials.get(str(wrong))
    return f"did you mean {close}?" if close else f"{otherwise} {', '.join(right)}"


class Worded(Exception):  # noqa: N818  warnings are worded too
    """A problem and, where options would mend it, hints."""

    def __init__(self, problem: str = "", *hints: Hint) -> None:
        super().__init__(problem, *hints)
        self.problem, self.hints = problem, hints

    def __str__(self) -> str:
        return self.worded(in_python)

    def worded(self, spelling: Spelling) -> str:
        """It in the words of a face; hints that it cannot spell are left out.

        A problem that ends in a colon or semicolon leaves the mending to the hints alone.
        """
        problem = one_line(self.problem)
        if len(problem) > LONGEST:
            problem = f"{problem[: LONGEST - 300]} ... {problem[-300:]}"
        spelled = [(spelling(hint.option, hint.value), hint.purpose) for hint in self.hints]
        ways = [
            one_line(f"pass {option} {purpose}").strip() for option, purpose in spelled if option is not None
        ]
        if not ways:
            return problem.rstrip(":;")
        return f"{problem}{' ' if problem.endswith((':', ';')) else ', or '}{' or '.join(ways)}"


class GraylearnError(Worded):
    """Base of all of graylearn's own exceptions."""

    option: str | None = None
    """The option that is wrong, where it is one."""
    value: Any = None
    """What it was given."""
    expected: str = ""
    """What it may be given."""


class DataError(GraylearnError, ValueError):
    """The data cannot be what was asked of it."""


@contextmanager
def told_as(sentence: str) -> Iterator[None]:
    """Whatever goes wrong inside, as a DataError with this sentence: libraries fail each in their own way."""
    try:
        yield
    except GraylearnError:
        raise
    except Exception as error:
        raise DataError(f"{sentence} ({first_line(error)})") from error


class SettingsError(GraylearnError, ValueError):
    """A setting is out of range or contradicts another."""

    @classmethod
    def wrong(cls, option: str, value: Any, expected: str) -> Self:
        """The error of an option that was given what it cannot be."""
        error = cls(f"{option} is {quoted(value)}, expected {expected}")
        error.option, error.value, error.expected = option, value, expected
        return error

    def worded(self, spelling: Spelling) -> str:
        """The error in the words of a face, which calls the option by the name it has there."""
        name = None if self.option is None else spelling(self.option, None)
        if name is None:
            return super().worded(spelling)
        return f"{name.removesuffix('=')} is {quoted(self.value)}, expected {self.expected}"


class DivergedError(GraylearnError, ArithmeticError):
    """The loss turned NaN or infinite."""


class CheckpointError(GraylearnError, ValueError):
    """A saved file is damaged, foreign or belongs to another run."""


class MissingExtraError(GraylearnError, ImportError):
    """An optional package is needed and not installed."""


class FolderTakenError(CheckpointError):
    """The run folder cannot be used for this run: it is finished, of other settings, foreign or in use."""


class DataWarning(Worded, UserWarning):
    """The data was read, but something in it deserves a look."""

    about: str | None = None
    """What it is of, where the same may be told again with other numbers."""


class IdLikeColumnWarning(DataWarning):
    """A column seems to name the rows, which a model can only learn by heart."""


def warn(told: str | Warning, kind: type[Warning] = DataWarning, about: str | None = None) -> None:
    """Warn of the line outside this package that led to it: that is where somebody can look.

    about: what a DataWarning is of, where the same may be told again with other numbers.
    """
    if about is not None:
        told = DataWarning(str(told))
        told.about = about
    inside, frame, level = str(Path(__file__).parent) + os.sep, sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, level = frame.f_back, level + 1
    warnings.warn(told, kind, stacklevel=level)
