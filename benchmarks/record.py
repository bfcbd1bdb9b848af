"""One JSON line a measurement: what was measured, on what machine, with which versions and commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reproduction.provenance import provenance


def record(experiment: str, **measured: Any) -> dict[str, Any]:
    """A row: the experiment, what was measured, and all it takes to judge the numbers later."""
    return {"experiment": experiment, **measured, **provenance()}


def append(row: dict[str, Any], path: str | Path) -> None:
    """Add a row to a file of JSON lines."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
