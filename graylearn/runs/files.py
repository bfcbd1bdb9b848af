"""Files of a run: JSON that is whole or not there, and names that are of one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graylearn.data.atomic import write_text
from graylearn.errors import SettingsError
from graylearn.paths import matching


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people too."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one existing file or folder."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def check_not_data(out: Path, *data: str | Path | None) -> None:
    """Refuse to write over what is read; data may be a pattern of files, or None."""
    for each in [Path(given) for given in data if given]:
        if out.absolute() == each.absolute() or any(same_file(out, one) for one in (each, *matching(each))):
            raise SettingsError(f"{out} is the data itself, which is never written over; name another")
