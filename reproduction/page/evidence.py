"""All that was measured, as the claims and sections of the page ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction import paper
from reproduction.experiments import EXPERIMENTS
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
    """One column of the paper's first table, and what was measured of it."""

    dataset: str
    """The in-distribution set."""
    labels: str
    """Of the OOD samples."""
    group: Group | None
    """Our runs of 200 epochs, with the paper's source of OOD samples if there are any."""
    own: bool
    """Whether source and sets are the paper's."""


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
        """The six columns of Table 1."""
        made = []
        for dataset, labels in paper.TABLE1:
            found = self.images(dataset=dataset, labels=labels)
            own = [g for g in found if str(g.get("ood")).startswith("mini-imagenet") and g.get("alpha") < 0.2]
            # SVHN is cropped anew from JPEG, so it is not the paper's whatever its source
            chosen = next(iter([g for g in own if g.values("gl")] or where(found, ood="tiny-imagenet")), None)
            made.append(Setting(dataset, labels, chosen, chosen in own and dataset != "svhn"))
        return made

    def table(self, dataset: str, protocol: str = "paper", **settings: object) -> Group | None:
        """The runs of one table: by the text ("paper"), the released loop ("released") or "tuned"."""
        wanted: dict[str, object] = {"dataset": dataset, "protocol": protocol, "recipe": None}
        if protocol == "released":
            wanted["epochs"] = 10
        found = where(self.groups("released" if protocol == "released" else "table2"), **(wanted | settings))
        return found[0] if found else None


def gain_of(
    group: Group | None, first: str = "gl", second: str = "standard", measure: str = "accuracy"
) -> Interval | None:
    """One method's measure minus another's; None where they share no seed."""
    return None if group is None else gain(group.values(first, measure), group.values(second, measure))
