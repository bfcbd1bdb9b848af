"""Checks of a method's options, each a sentence that says what was given and what is possible."""

from __future__ import annotations

import math

from graylearn.errors import SettingsError


def number(method: str, option: str, value: float, low: float, high: float = math.inf) -> None:
    """Raise unless `value` is a number from `low` to `high`, both included."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        span = f"from {low:g} to {high:g}" if high < math.inf else f"of at least {low:g}"
        raise SettingsError(f"{method}: {option} is {value!r}, but must be a number {span}")


def whole(method: str, option: str, value: int, low: int) -> None:
    """Raise unless `value` is a whole number of at least `low`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise SettingsError(f"{method}: {option} is {value!r}, but must be a whole number of at least {low}")


def one_of(method: str, option: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is among `choices`."""
    if value not in choices:
        allowed = " or ".join(repr(choice) for choice in choices)
        raise SettingsError(f"{method}: {option} is {value!r}, but must be {allowed}")
