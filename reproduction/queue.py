"""What a sweep runs next, while other sweeps may be at work on the same store."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from reproduction.cells import Cell
from reproduction.store import Row, Store
from reproduction.units import Unit, make_units


class Queue:
    """The units that are left, one by one; cells that another sweep has finished meanwhile are passed over.

    Before each unit the store is asked for what was appended since. Once the work of another sweep shows
    there, units are drawn at random: two sweeps that began together would otherwise go through one order side
    by side, and compute everything twice.
    """

    def __init__(self, store: Store, experiment: str, cells: Sequence[Cell], since: int) -> None:
        self.elsewhere = 0
        """Cells that another sweep finished, so far."""
        self._store, self._experiment, self._position = store, experiment, since
        self._units = make_units(cells)
        self._wanted = {cell.key for cell in cells}
        self._seen: Counter[str] = Counter()
        self._own: Counter[str] = Counter()
        self._shared = False
        self._draw = random.Random()  # not the one that training seeds: every sweep would draw the same

    def __iter__(self) -> Iterator[Unit]:
        while self._units:
            self._look()
            unit = self._units.pop(self._draw.randrange(len(self._units)) if self._shared else 0)
            todo = tuple(cell for cell in unit if cell.key not in self._seen)
            self.elsewhere += len(unit) - len(todo)
            if todo:
                yield todo

    def append(self, row: Row) -> None:
        """Write a row of this sweep to the store."""
        self._own[row["key"]] += 1  # first, for a thread of joblib's may be looking right now
        self._store.append(row)

    def _look(self) -> None:
        """Take note of what was appended to the store."""
        rows, self._position = self._store.appended(self._position)
        for row in rows:
            key = row["key"]
            if row["experiment"] == self._experiment and key in self._wanted:
                self._seen[key] += 1
                self._shared |= self._seen[key] > self._own[key]
