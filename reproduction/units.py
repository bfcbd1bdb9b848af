"""Units of work: cells that are run together because that is cheaper, and give the same numbers as alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graylearn.errors import DivergedError, first_line
from reproduction.cells import Cell
from reproduction.checkpoints import NONE, Checkpoints
from reproduction.images import run_images
from reproduction.measure import rounded
from reproduction.provenance import provenance
from reproduction.sets import Folder
from reproduction.store import Row
from reproduction.tables import run_tables

STACK = 5
"""Seeds of a table that are trained as one stack: ten are no faster, and more is lost when a sweep dies."""

Unit = tuple[Cell, ...]


def make_units(cells: Sequence[Cell]) -> list[Unit]:
    """The cells in units, in the order of the first cell of each."""
    units: dict[str, list[Cell]] = {}
    for cell in cells:
        units.setdefault(_together(cell), []).append(cell)
    return [tuple(unit) for unit in units.values()]


def _together(cell: Cell) -> str:
    """Equal for cells of one unit: gl with gl+refine, which begins with its fit; of tables several seeds."""
    alike = cell.but(method="gl") if cell.method == "gl+refine" else cell
    settings = alike.to_dict()
    if cell.kind == "table":
        settings["seed"] //= STACK
    return json.dumps(settings, sort_keys=True)


@dataclass(frozen=True)
class Failure:
    """A cell that could not be trained."""

    cell: Cell
    """Which."""
    reason: str
    """Why, in a sentence."""


def run_unit(
    unit: Unit, experiment: str, folder: Folder, device: str | None, checkpoints: Checkpoints = NONE
) -> Iterator[list[Row | Failure]]:
    """The rows of a unit's cells in pieces, each as soon as it is trained; what cannot be fails alone.

    A piece is what was trained together: to ask for no further one loses nothing that was computed.
    """
    done: set[Cell] = set()
    try:
        for results in _results(unit, folder, device, checkpoints):
            done |= {cell for cell, _ in results}
            yield [_row(experiment, cell, measured) for cell, measured in results]
    except (DivergedError, RuntimeError) as error:  # torch says out of memory by the latter
        left = [cell for cell in unit if cell not in done]
        if len(left) == 1:
            yield [Failure(left[0], f"{type(error).__name__}: {first_line(error)}")]
            return
        for cell in left:
            yield from run_unit((cell,), experiment, folder, device, checkpoints)


def _results(
    unit: Unit, folder: Folder, device: str | None, checkpoints: Checkpoints
) -> Iterator[list[tuple[Cell, dict[str, Any]]]]:
    if unit[0].kind == "table":
        yield list(zip(unit, run_tables(unit, folder), strict=True))
    else:
        for result in run_images(unit, folder, device, checkpoints):
            yield [result]


def _row(experiment: str, cell: Cell, measured: dict[str, Any]) -> Row:
    return {
        "experiment": experiment,
        "key": cell.key,
        "cell": cell.to_dict(),
        "measured": rounded(measured),
        **provenance(),
    }
