"""What the options of a method can be, said by their types: `share: Share`, `ramp: Count`, a Literal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from graylearn.errors import SettingsError


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; whole ones in a type of int."""

    low: float
    high: float = math.inf

    def refusal(self, kind: Any, value: Any) -> str | None:
        """What is expected instead of `value` in an option of this type; None where it is right."""
        kinds = get_args(kind) or (kind,)
        if value is None and type(None) in kinds:
            return None
        number = (int, "a whole number") if int in kinds else (int | float, "a number")
        if isinstance(value, number[0]) and not isinstance(value, bool) and self.low <= value <= self.high:
            return None
        span = f"from {self.low:g} to {self.high:g}" if self.high < math.inf else f"of at least {self.low:g}"
        return f"{number[1]} {span}"


Share = Annotated[float, Range(0, 1)]
Factor = Annotated[float, Range(0)]
Count = Annotated[int, Range(1)]


def check(method: str, option: str, kind: Any, value: Any) -> None:
    """Raise, with what is possible, where `value` is not what the type of the option says."""
    expected = None
    if get_origin(kind) is Annotated:
        plain, limit = get_args(kind)
        expected = limit.refusal(plain, value)
    elif get_origin(kind) is Literal and value not in get_args(kind):
        expected = " or ".join(map(repr, get_args(kind)))
    if expected is not None:
        raise SettingsError(f"{method}: {option} is {value!r}, but must be {expected}")
