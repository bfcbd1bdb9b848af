"""The options that decide how graylearn learns: each declared once, with type, default and meaning.

`RunSettings` is built on them, and with it the flags of the command line; `GrayClassifier` has parameters of
these names, and `graylearn.training.Settings` those of them that concern one training. Nothing here imports
torch, so that `graylearn --help` need not wait for it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from graylearn.errors import SettingsError

Precision = Literal["auto", "fp32", "bf16", "fp16"]
ModeSetting = Literal["auto", "held-out", "history"]
IdLike = Literal["drop", "keep"]
OverlapSetting = Literal["auto", "none", "possible"]
Log = Literal["auto", "bar", "lines", "none"]
"""How a person is told how far something is: "auto" is a bar on a terminal and lines elsewhere."""


LEAST = {
    "epochs": 1,
    "folds": 2,
    "repeats": 1,
    "batch_size": 1,
    "size": 1,
    "part_size": 100,
    "members": 1,
    "accumulate": 1,
    "patience": 1,
    "checkpoint_epochs": 1,
    "seed": 0,
    "workers": 0,
    "history_bytes": 0,
}
"""Options that count something, and the least they can be."""
BELOW = {
    "learning_rate": (math.inf, "a positive number"),
    "clip_norm": (math.inf, "a positive number, such as 1.0"),
    "average": (1.0, "a share between 0 and 1, such as 0.999"),
}
"""Options that are above 0: what they are below, and what is expected of them in words."""
CHOICES: dict[str, tuple[str, ...]] = {
    "overlap": get_args(OverlapSetting),
    "id_like": get_args(IdLike),
    "precision": get_args(Precision),
    "log": get_args(Log),
}
"""Options that are one of several words."""

MIN_CLASS = 4
"""Classes with fewer samples than this are never flagged: half of the folds saw one of them at most."""


@dataclass(frozen=True)
class Learning:
    """How to learn. None is chosen by the size of the data."""

    method: str = "auto"
    """How to learn from dirty labels: a name in METHODS; auto is gl for rows, gl-relative for pixels."""
    network: str = "auto"
    """A name in NETS, such as resnet18; auto is mlp for rows and small_cnn for pixels."""
    epochs: int | None = None
    """Passes over the training set. None: 20, more for small sets."""
    batch_size: int | None = None
    """Samples per step. None: 16 to 128."""
    learning_rate: float | None = None
    """The highest learning rate of the run. None: by the batch."""
    clip_norm: float | None = None
    """The largest norm of a gradient: a larger one is scaled down to it. None: any."""
    accumulate: int = 1
    """Batches whose gradients make one step together, as one batch of all their samples would."""
    average: float | None = None
    """Answer by a running mean of the weights, which keeps this share of itself each step, such as 0.999; it
    keeps less in the first steps. None: by the weights of the last step."""
    augment: bool = False
    """Random crops and flips of training images."""
    mode: ModeSetting = "auto"
    """How to audit: by views that do not see a sample's label (held-out), or by the history of the one fit;
    auto is held-out, but for pixels history."""
    overlap: OverlapSetting = "auto"
    """Whether a sample may lie between two classes, as measured quantities do (possible), or each has one
    true class that a person could tell (none); auto says nothing of them."""
    id_like: IdLike = "drop"
    """Columns of a table that seem to name the rows, because their values are all different and count, are
    single words or are called an id: drop leaves them out of what is learned from, keep learns from them."""
    keep_labels: bool = False
    """Take labels that seem misspelt, such as QS0 or `STAR `, for classes of their own; else they are judged
    as the class that is meant, and are suspects."""
    refine: bool = True
    """Fit again on what the audit believes of each sample."""
    seed: int = 0
    """Of everything random: order, augmentation, dropout, what a method draws, further networks."""
    device: str | None = None
    """cpu or cuda. None: the first CUDA device, or else the CPU."""
    precision: Precision = "auto"
    """bf16 runs the network under bfloat16 autocast, losses in float32; auto does for images on CUDA. fp16 is
    for GPUs that have float16 alone: gradients are scaled, and the scale is found on the way."""


def check(values: Mapping[str, Any], needed: Collection[str] = ("seed",)) -> None:
    """Refuse counts, rates, shares and words that cannot be; numbers that are not `needed` may be None."""
    given = {name: value for name, value in values.items() if value is not None or name in needed}
    for name, least in LEAST.items():
        value = given.get(name, least)
        if not (isinstance(value, Integral) and int(value) >= least):
            raise SettingsError.wrong(name, value, f"a whole number of at least {least}")
    for name, (top, expected) in BELOW.items():
        value = given.get(name, 0.5)
        if not (isinstance(value, Real) and 0 < float(value) < top):
            raise SettingsError.wrong(name, value, expected)
    smoothing = values.get("label_smoothing", 0.0)
    if not (isinstance(smoothing, Real) and 0 <= float(smoothing) < 1):
        raise SettingsError.wrong("label_smoothing", smoothing, "a share from 0 to below 1, such as 0.1")
    for name, words in CHOICES.items():
        if name in values and values[name] not in words:
            raise SettingsError.wrong(name, values[name], f"{', '.join(words[:-1])} or {words[-1]}")


@functools.cache
def documented(declaration: type) -> dict[str, str]:
    """What each field of a dataclass means: the string that follows it, its own or that of a base.

    Empty where the source is not at hand, as in a program that was frozen into one file.
    """
    found: dict[str, str] = {}
    for base in reversed(declaration.__mro__[:-1]):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError):
            continue
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[field.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found
