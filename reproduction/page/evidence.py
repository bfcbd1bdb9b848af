"""All that was measured, as the rules and the prose of the page read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproduction import names, paper
from reproduction.experiments import EXPERIMENTS
from reproduction.records import Group, Record, every_record, groups, records
from reproduction.statistics import spread
from reproduction.store import Store
from reproduction.summary import in_order

ORDER = ("kind", "dataset", "ood", "alpha", "labels")
"""How groups are listed."""
SHORT_OF_THE_PAPER = 10.0
"""Points. An image setting whose best method stays further below the paper's standard training than this was
not trained to the end: there methods differ by how far they came, not by what they make of OOD samples."""


def is_finished(group: Group) -> bool:
    """Whether the networks of a setting were trained far enough to judge a claim by."""
    printed = paper.TABLE1.get((str(group.get("dataset")), group.get("labels")))
    best = max((s.mean for m in group.methods if (s := spread(group.values(m)))), default=0.0)
    return printed is None or best >= printed["standard"] - SHORT_OF_THE_PAPER


@dataclass(frozen=True, eq=False)
class Evidence:
    """The records of every store in a results folder that a claim can be judged by."""

    by_experiment: dict[str, list[Record]]
    """Experiment -> its records; an experiment that was not run has none."""

    replaced: tuple[tuple[Record, Record], ...] = ()
    """(earlier, latest) of each cell that was run again."""

    @classmethod
    def read(cls, folder: str | Path) -> Evidence:
        """Everything in a results folder; what is not there is empty."""
        folder = Path(folder)
        stores = {name: Store(folder / f"{name}.jsonl") for name in EXPERIMENTS}
        again = [records(pair) for name, store in stores.items() for pair in store.replaced(name)]
        return cls(
            {name: records(store.rows(name)) for name, store in stores.items()},
            tuple((pair[0], pair[1]) for pair in again if len(pair) == 2),
        )

    def records(self, *experiments: str) -> list[Record]:
        """The records of some experiments."""
        return [record for name in experiments for record in self.by_experiment.get(name, [])]

    def groups(self, *experiments: str) -> list[Group]:
        """Their finished groups; a cell that several experiments share is in one group once."""
        return in_order([g for g in groups(self.records(*experiments)) if is_finished(g)], ORDER)

    def drawn(self, experiment: str) -> list[Record]:
        """The records of its finished groups, which figures show."""
        return every_record(self.groups(experiment))

    def unfinished(self, *experiments: str) -> list[Group]:
        """Their groups that were not trained to the end."""
        return in_order([g for g in groups(self.records(*experiments)) if not is_finished(g)], ORDER)

    @cached_property
    def every_group(self) -> list[Group]:
        """All finished groups of all experiments with OOD samples."""
        return self.groups(*(name for name in EXPERIMENTS if name != "human"))


def where(found: Iterable[Group], **settings: object) -> list[Group]:
    """Groups with these settings; a tuple of values means any of them."""

    def fits(group: Group, name: str, wanted: object) -> bool:
        value = group.get(name)
        return value in wanted if isinstance(wanted, tuple) else value == wanted

    return [group for group in found if all(fits(group, name, value) for name, value in settings.items())]


def labelled(found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """(labels, groups) with specific and with random labels, where there are any."""
    pairs = [(labels, where(found, labels=labels)) for labels in ("specific", "random")]
    return [(labels, members) for labels, members in pairs if members]


def trained_alike(found: Sequence[Group]) -> list[tuple[str, list[Group]]]:
    """(schedule, groups) of those trained the same way, networks aside."""
    ways: dict[str, list[Group]] = {}
    for group in found:
        ways.setdefault(f"{names.length(group.cell)}, batch {group.get('batch_size')}", []).append(group)
    return list(ways.items())
