"""Files of a run: JSON that is whole or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graylearn.data.atomic import write_text


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people too."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
