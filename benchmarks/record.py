"""One JSON line a measurement: what was measured, on what machine, with which versions and commit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def record(experiment: str, **measured: Any) -> Row:
    """A row: the experiment, what was measured, and all it takes to judge the numbers later."""
    from reproduction.provenance import provenance  # which needs torch, as reading rows does not

    return {"experiment": experiment, **measured, **provenance()}


def append(row: Row, path: str | Path) -> None:
    """Add a row to a file of JSON lines."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def rows(path: Path) -> list[Row]:
    """The rows of such a file, none where there is no file; a line that was cut short is passed over."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def described(text: str | None) -> argparse.ArgumentParser:
    """A parser whose help begins with a script's own docstring, as it stands there."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def asked_of_data(text: str | None, out: Path, seeds: int) -> argparse.Namespace:
    """What a measurement on files was asked for: `data`, their folder; `seeds`, so many; `out`, for rows."""
    made = described(text)
    made.add_argument("--data", type=Path, required=True)
    made.add_argument("--seeds", nargs="+", type=int, default=list(range(seeds)))
    made.add_argument("--out", type=Path, default=out)
    return made.parse_args()


def parser(description: str, out: Path) -> argparse.ArgumentParser:
    """The options of every measurement over seeds; its rows go to `out` unless told otherwise."""
    made = described(description)
    made.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    made.add_argument("--out", type=Path, default=out)
    made.add_argument("--summary", action="store_true", help="print the table of --out and stop")
    return made
