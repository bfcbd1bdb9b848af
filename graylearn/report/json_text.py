"""JSON for a script element, and facts as text."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def to_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the text says."""
    text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def fact_text(value: Any) -> str:
    """A fact as a person would write it."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if isinstance(value, float | np.floating):
        number = float(value)
        return f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}"
    return str(value)


def _finite(value: Any) -> Any:
    """The same value with NaN and infinity as null, which is what JSON has for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list) and value and not isinstance(value[0], int | str):
        return [_finite(part) for part in value]
    return value
