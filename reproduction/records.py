"""Rows of the results store as the tables and pages of the reproduction read them.

A row is one trained network: {"experiment", "cell": {settings}, "measured": {numbers}, ...}. Here alone the
names of its fields are known; accuracies and calibration errors become percent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reproduction.cells import CLEAN, with_options
from reproduction.names import METHOD_TITLES

Row = Mapping[str, Any]

METHOD_ORDER: tuple[str, ...] = tuple(METHOD_TITLES)
"""The order of methods in every table; others follow by name."""

NOT_SETTINGS = frozenset({"method", "options", "seed", "revision"})
"""Fields of a cell that do not tell one row of a table from another."""

CONTAMINATION = frozenset({"labels", "alpha", "ood"})
"""What the oracle, which sees no OOD sample, need not share with the methods it is set beside."""


def method_rank(name: str) -> tuple[int, str]:
    """Sorts methods into METHOD_ORDER, those with options behind the same without."""
    plain = name.partition(" (")[0]
    return (METHOD_ORDER.index(plain) if plain in METHOD_ORDER else len(METHOD_ORDER), name)


@dataclass(frozen=True, eq=False)
class Record:
    """One finished cell."""

    experiment: str
    """The experiment it was run for."""
    cell: Mapping[str, Any]
    """Its settings, as the store has them."""
    measured: Mapping[str, Any]
    """What was measured, as the store has it."""
    row: Row
    """The whole row."""

    @property
    def method(self) -> str:
        """The method's name, with its options where they are not the defaults."""
        return with_options(str(self.cell["method"]), self.cell.get("options", {}))

    @property
    def seed(self) -> int:
        """The seed of split, contamination, initialisation and order."""
        return int(self.cell.get("seed", 0))

    def percent(self, name: str) -> float | None:
        """A measured share in percent; None where it was not measured."""
        value = self.measured.get(name)
        return None if value is None else 100 * float(value)

    def settings(self, without: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
        """What this cell shares with the other methods and seeds of its column, in a form to compare."""
        left_out = NOT_SETTINGS | set(without)
        return tuple(
            (name, json.dumps(value, sort_keys=True))
            for name, value in sorted(self.cell.items())
            if name not in left_out and value is not None
        )


def records(rows: Iterable[Row]) -> list[Record]:
    """Rows of the store as records; rows that hold no accuracy (failed cells) are left out."""
    return [
        Record(str(row["experiment"]), row["cell"], row["measured"], row)
        for row in rows
        if "cell" in row and "accuracy" in row.get("measured", {})
    ]


@dataclass(frozen=True, eq=False)
class Group:
    """All methods and seeds of one setting: one column of a table, one point of a figure."""

    cell: Mapping[str, Any]
    """The settings its records share, oracle aside."""
    by_method: Mapping[str, Mapping[int, Record]]
    """Method -> seed -> record."""

    @property
    def methods(self) -> list[str]:
        """Those measured, in order."""
        return sorted(self.by_method, key=method_rank)

    def values(self, method: str, name: str = "accuracy") -> dict[int, float]:
        """Seed -> percent of a measured share, seeds in order."""
        found = self.by_method.get(method, {})
        pairs = ((seed, found[seed].percent(name)) for seed in sorted(found))
        return {seed: value for seed, value in pairs if value is not None}

    def get(self, name: str, default: Any = None) -> Any:
        """A shared setting; None counts as not set."""
        value = self.cell.get(name)
        return default if value is None else value


def groups(found: Sequence[Record]) -> list[Group]:
    """Records by their settings, each group with the oracle that fits it.

    An oracle that names other labels, alpha or OOD samples, or none, serves every group that shares the rest.
    """
    by_settings: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    oracles: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in found:
        if record.method in CLEAN:
            oracles.setdefault(record.settings(CONTAMINATION), []).append(record)
        else:
            by_settings.setdefault(record.settings(), []).append(record)
    made = []
    for settings, members in sorted(by_settings.items()):  # so that the order of rows changes nothing
        by_method: dict[str, dict[int, Record]] = {}
        members.sort(key=lambda record: record.seed)
        for record in [*_oracles_for(settings, members[0], oracles), *members]:
            by_method.setdefault(record.method, {})[record.seed] = record
        shared = {name: value for name, value in members[0].cell.items() if name not in NOT_SETTINGS}
        made.append(Group(shared, by_method))
    return made


def _oracles_for(
    settings: tuple[tuple[str, str], ...],
    member: Record,
    oracles: Mapping[tuple[tuple[str, str], ...], list[Record]],
) -> list[Record]:
    """Oracles of exactly these settings last, so that they take the place of more distant ones."""
    near = oracles.get(member.settings(CONTAMINATION), [])
    return sorted(near, key=lambda record: (record.settings() == settings, record.seed))
