"""Rows of measurements, one JSON line each with machine, versions and commit, and the tables made of them."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "results"
Row = dict[str, Any]


def record(experiment: str, **measured: Any) -> Row:
    """A row: the experiment, what was measured, and all it takes to judge the numbers later."""
    from reproduction.provenance import provenance  # which needs torch, as reading rows does not

    rounded = {
        name: round(value, 5) if isinstance(value, float) else value for name, value in measured.items()
    }
    return {"experiment": experiment, **rounded, **provenance()}


def append(row: Row, path: str | Path) -> None:
    """Add a row to a file of JSON lines."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def rows(path: Path, experiment: str | None = None) -> list[Row]:
    """The rows of a file, of one experiment if named; a line that was cut short is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return [row for row in found if experiment in (None, row["experiment"])]


def described(text: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a script's own docstring."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def parser(text: str | None, out: Path, *folders: str, seeds: int = 5) -> argparse.ArgumentParser:
    """The options of every measurement over seeds: `seeds`, `out`, and the folders that it reads."""
    made = described(text)
    made.add_argument("--seeds", nargs="+", type=int, default=list(range(seeds)))
    made.add_argument("--out", type=Path, default=out)
    for folder in folders:
        made.add_argument(f"--{folder}", type=Path, required=True)
    return made


def sweep(experiment: str, out: Path, cells: Iterable[Row], measure: Callable[..., Iterable[Row]]) -> None:
    """Append what is measured of every cell, of its values in order, that has no row yet; on one thread."""
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    known = rows(out)
    for cell in cells:
        if any(cell.items() <= row.items() for row in known):
            continue
        for measured in measure(*cell.values()):
            append(record(experiment, **cell, **measured), out)
        print(*cell.values(), flush=True)


def markdown(head: list[str], body: list[list[Any]]) -> str:
    """A table; a number to three places, and a dash where there is none."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    cells = [["-" if x != x else f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in body]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *cells])


def spread(values: list[float], digits: int = 1, times: float = 100.0, sign: str = "") -> str:
    """Mean ± standard deviation over seeds, in percent; a dash if nothing was measured."""
    if not values:
        return "-"
    text = f"{times * mean(values):{sign}.{digits}f}"
    return f"{text} ± {times * stdev(values):.{digits}f}" if len(values) > 1 else text
