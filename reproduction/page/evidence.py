"""All that was measured, as the rules and the prose of the page read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproduction.experiments import EXPERIMENTS
from reproduction.grids import PAPER_IMAGES
from reproduction.records import Group, Record, every_record, groups, records
from reproduction.schedules import distance
from reproduction.store import Store
from reproduction.summary import in_order

ORDER = ("kind", "dataset", "ood", "alpha", "labels")
"""How groups are listed."""
SETTING = ("kind", "protocol", "dataset", "ood", "alpha", "labels", "net")
"""What tells settings apart that a claim speaks of; schedules and parts of a training set do not."""


LEAST = 0.5
"""Of the epochs of the longest runs that a claim has: what was trained for fewer stands beside them."""


def by_schedule(found: Iterable[Group], has: Callable[[Group], object]) -> tuple[list[Group], list[Group]]:
    """(judging, others) of the groups that have what a claim is judged by.

    Of each setting the group whose schedule is nearest to the paper's judges, unless another setting was
    trained more than twice as long; the others stand beside.
    """
    able = [group for group in found if has(group)]
    nearest: dict[tuple[str, ...], Group] = {}
    for group in able:
        setting = tuple(str(group.get(name)) for name in SETTING)
        if setting not in nearest or distance(group) < distance(nearest[setting]):
            nearest[setting] = group
    least = LEAST * max(map(_length, nearest.values()), default=0)
    chosen = {
        id(group) for group in nearest.values() if group.get("kind") != "image" or _length(group) >= least
    }
    return [g for g in able if id(g) in chosen], [g for g in able if id(g) not in chosen]


def _length(group: Group) -> int:
    """Epochs of an image group, as far as the paper's go."""
    return min(int(group.get("epochs")), PAPER_IMAGES.epochs) if group.get("kind") == "image" else 0


def with_all(*methods: str) -> Callable[[Group], bool]:
    """Whether a group has results of all these methods."""
    return lambda group: all(group.values(method) for method in methods)


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
        """Their groups; a cell that several experiments share is in one group once."""
        return in_order(groups(self.records(*experiments)), ORDER)

    def drawn(self, experiment: str) -> list[Record]:
        """The records of its groups, which figures show."""
        return every_record(self.groups(experiment))

    @cached_property
    def every_group(self) -> list[Group]:
        """All groups of all experiments with OOD samples."""
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
