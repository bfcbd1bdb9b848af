"""What the options of a method can be, said by their types: `share: Share`, `ramp: Count`, a Literal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
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
        is_number = not isinstance(value, bool) and isinstance(value, Integral if int in kinds else Real)
        if is_number and self.low <= float(value) <= self.high:
            return None
        span = f"from {self.low:g} to {self.high:g}" if self.high < math.inf else f"of at least {self.low:g}"
        return f"a whole number {span}" if int in kinds else f"a number {span}"


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
