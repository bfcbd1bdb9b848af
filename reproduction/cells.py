"""A cell: the full settings of one run, and the key that names it in the results store."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from graylearn.errors import SettingsError
from graylearn.methods import METHODS

REVISIONS = {"table": 1, "released": 2, "image": 2}
"""By kind; raised whenever the code changes what a cell's numbers mean, so that older results are run anew.
Images: 2 since the last two batches of an epoch share what is left. Protocol released: 2 since it is the
authors' loop step by step."""

RECIPE = ("weight_decay", "momentum", "padding", "zipped", "double_softmax", "normalised")
"""What a cell may change of how its preset or protocol trains. Images: two settings of SGD; what lies beyond
the edge of a crop; as many OOD samples in each batch, in their order; a softmax at the end of the network.
Tables of protocol released: features of mean 0 and standard deviation 1."""

OWN_METHODS = ("oracle", "majority", "gl+refine")
"""What a cell may name beside METHODS: standard training on the in-distribution samples alone; the prediction
of the training set's largest class for every sample of a table; and Gray Learning followed by a second fit on
what its audit believes."""

CLEAN = ("oracle", "majority")
"""Methods that see no OOD sample: one run serves all that differ only in these."""

RELEASED_METHODS = ("oracle", "majority", "standard", "mae", "bt", "spl", "il", "sl", "nl", "gl")
"""Those of protocol released, whose code has no others."""

HUMAN_LABELS = ("aggregate", "worst", "random1", "random2", "random3")
"""What people said CIFAR-10's training images are (CIFAR-10N): the vote of three, the worst of three, and
each of the three. There are no OOD samples beside them."""

LABELS = ("specific", "random", *HUMAN_LABELS)
"""How the samples of an experiment may be labelled."""

Choices = tuple[tuple[str, Any], ...]
"""Settings by name that are not at their defaults, sorted: (("eps", 1e-05), ("w", 0.5))."""


@dataclass(frozen=True)
class Cell:
    """One run. Two cells with equal settings are one; the experiment that asks for it is no part of it."""

    kind: Literal["table", "image"]
    """What the samples are, and with it which fitter runs the cell."""
    dataset: str
    """A name of the catalog or of scikit-learn (wine, digits); NAME/K is its first K classes."""
    method: str
    """A name in METHODS, "oracle" or "gl+refine"."""
    seed: int
    """Of the split, the contamination, the weights and the order of the samples."""
    protocol: Literal["paper", "released", "tuned"] = "paper"
    """Whose way of preparing and training tables; images have the paper's alone."""
    ood: str = "smallest-class"
    """Where OOD samples come from: "smallest-class", "other-classes", a dataset, or SOURCE/I for the I-th
    group of its classes; "none" where it makes no difference."""
    alpha: float = 0.1
    """The share of OOD samples asked for; the share reached is measured."""
    labels: str = "random"
    """How OOD samples are labelled: "random", "specific", "released" as the authors' code does, "none" for
    the oracle; or one of HUMAN_LABELS, which are the labels of all samples."""
    net: str = "mlp-128-128"
    """A name in NETS; mlp-W-W... has hidden layers of these widths, small_cnn-W a first layer of this."""
    preset: str = "table"
    """Optimizer, rate, schedule and augmentation: a name in PRESETS."""
    epochs: int = 10
    """Passes over the training set; for protocol "tuned" the most there may be."""
    batch_size: int = 16
    """Samples a step."""
    train_size: int | None = None
    """How many in-distribution training samples, a stratified part of them; None is all."""
    revision: int = 0
    """Of the measuring code; 0 becomes that of the kind as it is now."""
    options: Choices = ()
    """Of the method, where they are not its defaults."""
    recipe: Choices = ()
    """Where the training differs from its preset or protocol: names in RECIPE."""

    def __post_init__(self) -> None:
        if self.kind not in ("table", "image"):
            raise SettingsError(f"kind is {self.kind!r}; choose 'table' or 'image'")
        if self.revision == 0:
            self._set(revision=REVISIONS["released" if self.protocol == "released" else self.kind])
        if self.method not in METHODS and self.method not in OWN_METHODS:
            known = ", ".join([*METHODS, *OWN_METHODS])
            raise SettingsError(f"there is no method {self.method!r}; choose from {known}")
        if self.protocol not in ("paper", "released", "tuned"):
            raise SettingsError(f"protocol is {self.protocol!r}; choose 'paper', 'released' or 'tuned'")
        if self.method not in (RELEASED_METHODS if self.protocol == "released" else (*METHODS, *OWN_METHODS)):
            raise SettingsError(
                f"the released code has no {self.method!r}; it has {', '.join(RELEASED_METHODS)}"
            )
        self._set(options=_sorted(self.options), recipe=_sorted(self.recipe))
        for name, _ in self.recipe:
            if name not in RECIPE:
                raise SettingsError(f"recipe has {name!r}; it may have {', '.join(RECIPE)}")
        if self.method in CLEAN:
            # they see no OOD sample, so their number, source and labels make no difference: run once
            self._set(labels="none", alpha=0.0)
            if self.kind == "image":
                self._set(ood="none")
        elif self.labels in HUMAN_LABELS:
            self._set(alpha=0.0, ood="none")
        elif self.protocol == "released":
            self._set(labels="released")

    def _set(self, **changes: Any) -> None:
        for name, value in changes.items():
            object.__setattr__(self, name, value)

    @property
    def key(self) -> str:
        """A hash of all settings: the cell's name in a store."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON holds them; options and recipe only where there are any."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name in ("options", "recipe"):
            chosen = dict(settings.pop(name))
            if chosen:
                settings[name] = chosen
        return settings

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The cell that `to_dict` told of."""
        choices = {name: _sorted(settings.get(name, {})) for name in ("options", "recipe")}
        return cls(**(settings | choices))

    def but(self, **changes: Any) -> Self:
        """The same cell with other settings: `cell.but(method="standard")`."""
        return dataclasses.replace(self, **changes)

    def __str__(self) -> str:
        parts = [self.dataset, with_options(self.method, self.options), f"seed {self.seed}"]
        if self.ood not in ("smallest-class", "other-classes", "none"):
            parts.insert(1, f"+ {self.ood}")
        if self.labels in ("random", "specific"):
            parts.append(f"{self.labels} labels, alpha {self.alpha:g}")
        elif self.labels in HUMAN_LABELS:
            parts.append(f"{self.labels} labels")
        if self.kind == "image":
            parts.append(f"{self.net}, {self.preset} {self.epochs} epochs")
        elif self.protocol != "paper":
            parts.append(self.protocol)
        if self.recipe:
            parts[-1] += f", {told(self.recipe)}"
        return " ".join(parts[:-1]) + ", " + parts[-1] if len(parts) > 3 else " ".join(parts)


def with_options(method: str, options: Choices | Mapping[str, Any]) -> str:
    """ "gl (eps 1e-05, w 0.5)": a method and its options as one name."""
    return f"{method} ({told(options)})" if options else method


def told(choices: Choices | Mapping[str, Any]) -> str:
    """ "momentum 0, weight decay 0"."""
    return ", ".join(
        name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {_shown(value)}"
        for name, value in _sorted(choices)
    )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sorted(choices: Choices | Mapping[str, Any]) -> Choices:
    pairs = choices.items() if isinstance(choices, Mapping) else choices
    return tuple(sorted((str(name), value) for name, value in pairs))
