"""All that was measured, as the claims and sections of the page ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction import names, paper
from reproduction.experiments import EXPERIMENTS
from reproduction.page.verdicts import SEEDS
from reproduction.records import Group, Record, groups, records
from reproduction.statistics import Interval, gain
from reproduction.store import Store

OWN_TABLES = ("abalone", "gene", "iris", "speech", "wineqt")
"""Tables whose files are the published ones, whole."""


def grid(top: Sequence[str], body: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A Markdown table: the columns of `words` to the left, numbers to the right."""
    rule = ["---" if place in words else "---:" for place in range(len(top))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [top, rule, *body])


def where(found: Iterable[Group], **settings: object) -> list[Group]:
    """Groups with these settings; None is one that is not set."""
    return [g for g in found if all(g.get(name) == value for name, value in settings.items())]


@dataclass(frozen=True)
class Setting:
    """One column of the paper's first table, and what was measured of it with one source of OOD samples."""

    dataset: str
    """The in-distribution set."""
    labels: str
    """Of the OOD samples."""
    group: Group | None
    """Our runs of 200 epochs."""
    stand_in: bool = False
    """Whether the source is not the paper's."""

    @property
    def own(self) -> bool:
        """Whether source and sets are the paper's; our SVHN is cropped anew from JPEG."""
        return self.group is not None and not self.stand_in and self.dataset != "svhn"

    @property
    def title(self) -> str:
        """The column's name, with a star where another source stands in."""
        return f"{names.dataset_title(self.dataset)}, {self.labels}{' *' if self.stand_in else ''}"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The records of every store in a results folder."""

    by_experiment: dict[str, list[Record]]
    """Experiment -> its records; an experiment that was not run has none."""

    @classmethod
    def read(cls, folder: str | Path) -> Evidence:
        """Everything in a results folder; what is not there is empty."""
        stores = {name: Store(Path(folder) / f"{name}.jsonl") for name in EXPERIMENTS}
        return cls({name: records(store.rows(name)) for name, store in stores.items()})

    def groups(self, *experiments: str) -> list[Group]:
        """The groups of some experiments; a cell that several share is in one group once."""
        return groups([record for name in experiments for record in self.by_experiment.get(name, [])])

    def images(self, **settings: object) -> list[Group]:
        """Image groups of the paper's 200 epochs, whole training set, as the paper trains ResNet18."""
        whole = {"preset": "paper", "epochs": 200, "batch_size": 128, "train_size": None, "net": "resnet18"}
        return where(self.groups("table1", "readings"), **{"recipe": None, **whole, **settings})

    def settings(self) -> list[Setting]:
        """The six columns of Table 1; one whose own source has too few seeds, or lacks a method that the
        stand-in has, is there with both sources."""
        made = []
        for dataset, labels in paper.TABLE1:
            found = self.images(dataset=dataset, labels=labels)
            known = [g for g in found if g.values("gl")]
            own = [g for g in known if str(g.get("ood")).startswith("mini-imagenet") and g.get("alpha") < 0.2]
            other = where(known, ood="tiny-imagenet")
            enough = own and len(own[0].values("gl")) >= SEEDS
            if other and not (enough and {*own[0].methods} >= {*other[0].methods}):
                made.append(Setting(dataset, labels, other[0], stand_in=True))
            if own or not other:
                made.append(Setting(dataset, labels, own[0] if own else None))
        return made

    def table(self, dataset: str, protocol: str = "paper", **settings: object) -> Group | None:
        """The runs of one table: by the text ("paper"), the released loop ("released") or "tuned"."""
        wanted: dict[str, object] = {"dataset": dataset, "protocol": protocol, "recipe": None}
        if protocol == "released":
            wanted["epochs"] = 10
        found = where(self.groups("released" if protocol == "released" else "table2"), **(wanted | settings))
        return found[0] if found else None


def deciding(found: Iterable[tuple[Setting, Interval | None]]) -> list[tuple[Setting, Interval]]:
    """What was measured; of a stand-in only where the paper's own source has too few seeds."""
    known = [(setting, gain) for setting, gain in found if gain is not None]
    own = {(s.dataset, s.labels) for s, gain in known if not s.stand_in and gain.n >= SEEDS}
    return [(s, gain) for s, gain in known if not (s.stand_in and (s.dataset, s.labels) in own)]


def gain_of(
    group: Group | None, first: str = "gl", second: str = "standard", measure: str = "accuracy"
) -> Interval | None:
    """One method's measure minus another's; None where they share no seed."""
    return None if group is None else gain(group.values(first, measure), group.values(second, measure))
