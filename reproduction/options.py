"""What a person may change about a sweep; the flags of `python -m reproduction` follow from it.

Nothing here imports torch, so that its --help need not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graylearn.errors import SettingsError

PROTOCOLS = ("paper", "tuned")
"""Of tables, in the order in which they are listed."""
IMAGE_PRESETS = ("paper", "paper-warm", "fast")


@dataclass(frozen=True)
class What:
    """Which cells of an experiment to run. What is None is as the experiment declares it."""

    methods: tuple[str, ...] | None = None
    """Methods, with commas: standard,gl,oracle."""
    datasets: tuple[str, ...] | None = None
    """Names as in the catalog, with commas: cifar10,tiny-imagenet,iris."""
    labels: tuple[str, ...] | None = None
    """How OOD samples are labelled: specific, random or both; or whose labels all samples have: aggregate,
    worst."""
    alphas: tuple[float, ...] | None = None
    """Shares of OOD samples, with commas: 0.05,0.2,0.5."""
    nets: tuple[str, ...] | None = None
    """Of the networks that images are trained with, these, with commas: vgg19,densenet121."""
    seeds: tuple[int, ...] | None = None
    """For every cell: 0,1,2 or 0-9; else each part of an experiment has its own."""
    protocol: tuple[str, ...] = ("paper",)
    """Of tables: paper, tuned (scaled features, epochs chosen by validation); several with commas. What the
    authors' code does is an experiment of its own, released."""
    epochs: int | None = None
    """Epochs of every cell; schedules scale along."""
    preset: str | None = None
    """How images are trained: paper; paper-warm, which begins with a low rate, for runs of few epochs; or
    fast, one cycle of a high rate, which needs the fewest."""
    batch_size: int | None = None
    """Samples a step."""
    train_size: int | None = None
    """A stratified part of so many in-distribution training samples."""
    quick: bool = False
    """A small form of the experiment on data that scikit-learn carries, in seconds."""


@dataclass(frozen=True)
class How:
    """Where cells run, and how many at once."""

    data: Path | None = None
    """The data folder. None: the one GRAYLEARN_DATA names."""
    device: str | None = None
    """Where images are trained: cuda, cuda:1, cpu; tables take the CPU. None: the first CUDA device, or else
    the CPU."""
    workers: int = 1
    """Units of work at once, each in a process of its own."""
    time_limit: float | None = None
    """Seconds after which no cell is started."""


@dataclass(frozen=True)
class Kept:
    """What stays of a sweep."""

    store: Path | None = None
    """The results store. None: results/NAME.jsonl."""


@dataclass(frozen=True)
class Options(Kept, How, What):
    """Which cells of an experiment to run, how, and what stays of them."""

    def __post_init__(self) -> None:
        from graylearn.methods import METHODS
        from reproduction.cells import LABELS, OWN_METHODS

        for name in self.methods or ():
            if name not in METHODS and name not in OWN_METHODS:
                known = ", ".join([*METHODS, *OWN_METHODS])
                raise SettingsError(f"there is no method {name!r}; choose from {known}")
        for name in self.labels or ():
            if name not in LABELS:
                raise SettingsError(f"labels are {name!r}; choose from {', '.join(LABELS)}")
        if any(not 0 <= alpha < 1 for alpha in self.alphas or ()):
            raise SettingsError(f"alphas are {self.alphas}, expected shares from 0 to below 1")
        for name in self.protocol:
            if name not in PROTOCOLS:
                raise SettingsError(f"protocol is {name!r}; choose from {', '.join(PROTOCOLS)}")
        if self.preset is not None and self.preset not in IMAGE_PRESETS:
            raise SettingsError(f"preset is {self.preset!r}; choose from {', '.join(IMAGE_PRESETS)}")
        for name in ("epochs", "batch_size", "train_size", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name} is {value}, expected at least 1")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise SettingsError(f"time_limit is {self.time_limit}, expected 0 seconds or more")
        if any(seed < 0 for seed in self.seeds or ()):
            raise SettingsError(f"seeds are {self.seeds}, expected 0 or more")
