"""Experiments as data: grids of settings, and the cells they span."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from graylearn.errors import SettingsError
from reproduction.cells import CLEAN, Cell, Choices
from reproduction.options import Options

Labels = Literal["random", "specific", "aggregate", "worst"]
"""How OOD samples are labelled, or whose labels all samples have."""
CORE = ("standard", "gl", "gl+refine", "oracle")
"""Methods that are run first: with these four the claim can be judged."""


class Source(NamedTuple):
    """In-distribution samples and where the OOD samples among them come from."""

    dataset: str
    """As in Cell."""
    ood: str = "smallest-class"
    """As in Cell."""


class Schedule(NamedTuple):
    """How long and in what steps to train."""

    preset: str
    """A name in PRESETS."""
    epochs: int
    """Unless Options names others."""
    batch_size: int
    """Samples a step."""


PAPER_IMAGES = Schedule("paper", 200, 128)
"""SGD .1, x0.1 at half and at three quarters of the epochs."""
TABLE_SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"net": "mlp-128-128", "preset": "table", "epochs": 10, "batch_size": 16},
    "released": {"net": "mlp-128", "preset": "released", "epochs": 10, "batch_size": 128},
    "tuned": {"net": "mlp-128-128", "preset": "table", "epochs": 40, "batch_size": 64},
}
"""How each protocol trains a table; all with Adam at its defaults."""
TABLE_SIZES = {"arrhythmia": 5769}
"""In-distribution training samples of a table that is used in part. Arrhythmia's smallest class has 641
samples, and this is the largest part in which they make up the paper's alpha of .1 (of all 69,530 they would
be .009)."""


@dataclass(frozen=True)
class Grid:
    """A product of settings: a cell for each choice of one value of every field."""

    kind: Literal["table", "image"]
    """Tables take net, epochs and batch size from the protocol."""
    sources: tuple[Source, ...]
    """Datasets with their OOD samples."""
    methods: tuple[str, ...]
    """Names as in Cell."""
    seeds: tuple[int, ...] = (0,)
    """Unless Options names others."""
    labels: tuple[Labels, ...] = ("random",)
    """How OOD samples are labelled."""
    alphas: tuple[float, ...] = (0.1,)
    """Shares of OOD samples."""
    nets: tuple[str, ...] = ("resnet18",)
    """Of image cells."""
    schedules: tuple[Schedule, ...] = (PAPER_IMAGES,)
    """Of image cells."""
    protocol: str | None = None
    """Of tables; None is what Options asks for."""
    epochs: int | None = None
    """Of tables, unless Options names others; None is the protocol's."""
    train_size: int | None = None
    """In-distribution training samples; None is all, or what TABLE_SIZES says."""
    options: Choices = ()
    """Of the methods, where not their defaults; as in Cell."""
    recipe: Choices = ()
    """Where the training differs from its preset; as in Cell."""

    def cells(self, options: Options) -> Iterator[Cell]:
        """Every cell of the grid that the options leave in."""
        methods = [name for name in self.methods if options.methods is None or name in options.methods]
        seeds = self.seeds if options.seeds is None else options.seeds
        sources = [source for source in self.sources if _is_asked_for(source, options)]
        labelled = [way for way in self.labels if options.labels is None or way in options.labels]
        alphas = self.alphas if options.alphas is None else options.alphas
        trained = self._trained(options)
        for seed, source, alpha, labels, training, method in itertools.product(
            seeds, sources, alphas, labelled, trained, methods
        ):
            size = options.train_size or self.train_size
            if size is None and self.kind == "table" and training["protocol"] != "released":
                size = TABLE_SIZES.get(source.dataset)
            yield Cell(
                kind=self.kind, dataset=source.dataset, ood=source.ood, method=method, seed=seed,
                alpha=alpha, labels=labels, train_size=size, options=self.options, recipe=self.recipe,
                **training,
            )  # fmt: skip

    def _trained(self, options: Options) -> list[dict[str, Any]]:
        """The ways to train, as settings of a cell."""
        if self.kind == "table":
            protocols = (self.protocol,) if self.protocol else options.protocol
            ways = [{"protocol": name, **TABLE_SETTINGS[name]} for name in protocols if options.nets is None]
            for way in ways:
                way["epochs"] = self.epochs or way["epochs"]
        else:
            nets = [net for net in self.nets if options.nets is None or net in options.nets]
            ways = [{"net": net, **schedule._asdict()} for net in nets for schedule in self.schedules]
            for way in ways:
                way["preset"] = options.preset or way["preset"]
        for way in ways:
            way["epochs"] = options.epochs or way["epochs"]
            way["batch_size"] = options.batch_size or way["batch_size"]
        return ways


@dataclass(frozen=True)
class Experiment:
    """One table or figure: what the paper says there, and the cells that measure it."""

    name: str
    """What the command line calls it."""
    title: str
    """What stands above the table, stand-ins for data that is not at hand included."""
    grids: tuple[Grid, ...]
    """The whole of it."""
    quick: tuple[Grid, ...]
    """A small form on data that scikit-learn carries."""

    def cells(self, options: Options | None = None) -> list[Cell]:
        """Every cell once, the most telling first: the core methods by seed, then the others by seed."""
        options = options or Options()
        if (lack := self.lacks(options)) is not None:
            raise SettingsError(f"{self.name} has {lack}")
        ordered = sorted(self._declared(options), key=lambda cell: (cell.method not in CORE, cell.seed))
        return list(dict.fromkeys(ordered))

    def lacks(self, options: Options) -> str | None:
        """What was asked for that it has nothing of; None where it has some."""
        if next(self._declared(options), None) is not None:
            return None
        asked = ", ".join(options.datasets or ())
        there = list(self._declared(Options(datasets=options.datasets, quick=options.quick)))
        if not there:
            return f"none of the datasets {asked}, but {', '.join(self.datasets(options.quick))}"
        methods = dict.fromkeys(cell.method for cell in there)
        if options.methods is not None and not methods.keys() & options.methods:
            return f"none of the methods {', '.join(options.methods)}, but {', '.join(methods)}"
        nets = dict.fromkeys(cell.net for cell in there if cell.kind == "image")
        if options.nets is not None and not nets.keys() & options.nets:
            return f"none of the networks {', '.join(options.nets)}, but {', '.join(nets) or 'tables'}"
        # the oracle sees no OOD sample, so its cells name no labels
        ways = dict.fromkeys(cell.labels for cell in there if cell.method not in CLEAN)
        where = f" on {asked}" if asked else ""
        return f"no {' or '.join(options.labels or ())} labels{where}, but {' and '.join(ways)} ones"

    def _declared(self, options: Options) -> Iterator[Cell]:
        for grid in self.quick if options.quick else self.grids:
            yield from grid.cells(options)

    def datasets(self, quick: bool = False) -> tuple[str, ...]:
        """The datasets it is made on, in order."""
        grids = self.quick if quick else self.grids
        return tuple(dict.fromkeys(source.dataset for grid in grids for source in grid.sources))


def _is_asked_for(source: Source, options: Options) -> bool:
    asked = options.datasets
    return asked is None or source.dataset in asked or source.dataset.split("/")[0] in asked
