"""JSON for a script element."""

from __future__ import annotations

import json
import math
from typing import Any

_WHOLE = frozenset({int, bool, str, type(None)})
"""Types in which nothing can be NaN: long lists of them need no second look."""


def to_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the text says."""
    text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    """The same value with NaN and infinity as null, which is what JSON has for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and not _WHOLE.issuperset(map(type, value)):
        return [_finite(part) for part in value]
    return value
