"""One JSON line a measurement: what was measured, on what machine, with which versions and commit."""

from __future__ import annotations

import argparse
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


def parser(description: str, out: Path) -> argparse.ArgumentParser:
    """The options of every measurement over seeds; its rows go to `out` unless told otherwise."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    made.add_argument("--out", type=Path, default=out)
    made.add_argument("--summary", action="store_true", help="print the table of --out and stop")
    return made
