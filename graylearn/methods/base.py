"""What a method is: how the logits of one batch become one loss per sample.

A method gets a `Step` and returns losses of shape (N,); training weights them, takes their mean and steps the
optimizer. A method that selects samples returns zero for those it leaves out and scales up the rest, so that
the mean over the batch is the loss its authors meant (`mean_over`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import torch
from torch import Tensor

from graylearn.errors import SettingsError


def _at_least_float32(values: Tensor) -> Tensor:
    """Losses in half precision lose the small differences that methods select by."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


class Output(NamedTuple):
    """What one forward pass of the network gives."""

    logits: Tensor
    """(N, K); (networks, N, K) for a method that trains several networks at once."""
    features: Tensor | None
    """(N, D) penultimate features, where the method asks for them with `needs_features`."""


class ConfidenceHistory(Protocol):
    """The part of `History` that a method may read."""

    def recent_label_confidence(self, epochs: int) -> Tensor:
        """(num_samples,) on the device: mean probability of the given label over the last `epochs` epochs."""
        ...


@dataclass(frozen=True)
class Task:
    """What a method is given once, before the first step."""

    targets: Tensor
    """(num_samples,) given labels, on the device."""
    num_classes: int
    epochs: int
    device: torch.device
    history: ConfidenceHistory
    generator: torch.Generator
    """Random numbers for the method, on the device; saved and restored with a checkpoint."""

    @property
    def num_samples(self) -> int:
        """How many training samples there are; `Step.index` runs below it."""
        return len(self.targets)


@dataclass(frozen=True)
class Step:
    """What a method is given of one batch."""

    inputs: Tensor
    """(N, ...) what the network was given, after augmentation."""
    target: Tensor
    """(N,) given labels."""
    index: Tensor
    """(N,) index of each sample in the training set."""
    output: Output
    epoch: int
    """Counted from 0."""
    forward: Callable[[Tensor], Output]
    """A further pass of the network under training, for methods that make inputs of their own."""
    of_all: Callable[[Tensor], Tensor] | None = None
    """In several processes: (N,) values of this one's samples -> those of the whole batch."""

    @property
    def logits(self) -> Tensor:
        """The logits of this batch, in float32 where autocast made them smaller."""
        return _at_least_float32(self.output.logits)

    @property
    def features(self) -> Tensor:
        """The penultimate features of this batch, in float32 where autocast made them smaller."""
        if self.output.features is None:
            raise RuntimeError("this method reads features: set needs_features = True on its class")
        return _at_least_float32(self.output.features)


# -- what an option can be, said by its type: `share: Share`, `ramp: Count`, a Literal --------------------


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; whole ones in a type of int."""

    low: float
    high: float = math.inf

    def refusal(self, kind: Any, value: Any) -> str | None:
        """What an option of this type expects instead of `value`; None if the value is right."""
        kinds = get_args(kind) or (kind,)
        is_number = not isinstance(value, bool) and isinstance(value, Integral if int in kinds else Real)
        inside = is_number and self.low <= float(value) <= self.high and math.isfinite(value)
        if inside or (value is None and type(None) in kinds):
            return None
        span = f"from {self.low:g} to {self.high:g}" if self.high < math.inf else f"of at least {self.low:g}"
        return f"a whole number {span}" if int in kinds else f"a number {span}"


Share = Annotated[float, Range(0, 1)]
Factor = Annotated[float, Range(0)]
Count = Annotated[int, Range(1)]


_types_of: Callable[[Any], dict[str, Any]] = functools.cache(partial(get_type_hints, include_extras=True))


def check_options(named: str, given: object, types: dict[str, Any] | None = None) -> None:
    """Refuse what the types of the fields of a dataclass do not allow: ranges, and words of a Literal."""
    for option, kind in (types or _types_of(type(given))).items():
        value, expected = getattr(given, option), None
        if get_origin(kind) is Annotated:
            plain, limit = get_args(kind)
            expected = limit.refusal(plain, value)
        elif get_origin(kind) is Literal and value not in get_args(kind):
            expected = " or ".join(map(repr, get_args(kind)))
        if expected is not None:
            raise SettingsError(f"{named}: {option} is {value!r}, but must be {expected}")


# -- the methods themselves -------------------------------------------------------------------------------


class Method:
    """Base of all methods. Subclasses are dataclasses whose fields are their options.

    Only `loss` must be written. Tensors that change during training (weights of samples, centroids,
    ...) are set in `start` and named in `state`, so that a resumed run goes on from the end of an epoch.

    ```python
    from dataclasses import dataclass

    import torch.nn.functional as F

    import graylearn as gl

    @dataclass
    class Smoothed(gl.Method):
        amount: float = 0.1

        def loss(self, step):
            return F.cross_entropy(step.logits, step.target, label_smoothing=self.amount, reduction="none")

    gl.GrayClassifier(method=Smoothed())
    ```
    """

    needs_features: ClassVar[bool] = False
    """The method reads `step.features`."""
    networks: ClassVar[int] = 1
    """How many networks are trained together; with two, `step.logits` is (2, N, K)."""
    average: ClassVar[float | None] = None
    """What a running mean of the weights keeps of itself each step; with one, `step.logits` is what the
    network of the mean says of the batch, without gradient: the network learns from `step.forward`, and the
    one of the mean is left."""
    per_sample: bool = True
    """Whether the loss of a sample depends on its own logits and label alone: not on other samples,
    the index, the epoch, the history, a random draw or any state. Then one object serves all models of a
    stack, whose batches are laid end to end; otherwise each model gets a copy."""
    plans_epochs: bool = False
    """Whether it reads `task.epochs`: a finished run then cannot be extended by further epochs."""
    state: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes to keep in a checkpoint: tensors (of any size, also empty) and numbers."""
    _name: ClassVar[str] = ""
    _option_types: ClassVar[dict[str, Any]] = {}  # by option, set by `register`

    def __post_init__(self) -> None:
        if self._option_types:
            check_options(self._name, self, self._option_types)

    @property
    def reads_logits_alone(self) -> bool:
        """Whether it trains one network, and reads nothing but the logits that this gives in training."""
        return self.networks == 1 and not self.needs_features and self.average is None

    def can_be_shared(self) -> bool:
        """Whether each of several processes may compute the losses of its part of the batch.

        True of a method that reads other samples through `step.of_all` alone, too.
        """
        return self.per_sample and self.reads_logits_alone

    def start(self, task: Task) -> None:
        """Called once before training; create the state here."""
        self.task = task

    def loss(self, step: Step) -> Tensor:
        """The loss of each sample of the batch, (N,)."""
        raise TypeError(f"{type(self).__name__} does not say what its loss is: write loss(self, step)")

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """The expected loss (N,) if the label of each sample is drawn from `share`, (N, K).

        Computed as K losses per sample; override it where a closed form is cheaper.
        """
        n, k = share.shape
        each = Step(
            inputs=step.inputs,
            target=torch.arange(k, device=step.target.device).repeat(n),
            index=step.index.repeat_interleave(k),
            output=Output(step.logits.repeat_interleave(k, dim=0), None),
            epoch=step.epoch,
            forward=step.forward,
        )
        return (self.loss(each).view(n, k) * share).sum(1)

    def end_epoch(self, epoch: int) -> None:
        """Called after the last step of each epoch; the history already holds that epoch."""

    def state_dict(self) -> dict[str, Any]:
        """The state to keep in a checkpoint by name; the tensors themselves, not copies."""
        return {name: getattr(self, name) for name in self.state}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Restore the state from a checkpoint; called after `start`."""
        for name in self.state:
            value = saved[name]
            setattr(self, name, value.to(self.task.device) if isinstance(value, Tensor) else value)


def mean_over(loss: Tensor, selected: Tensor) -> Tensor:
    """Losses whose mean over the batch is the mean over the selected samples: the others become 0.

    If none is selected all are 0, still with a graph.

    `loss` and `selected` are (..., N); the count is taken over the last axis, without reading it back
    from the device.
    """
    count = selected.sum(-1, keepdim=True, dtype=loss.dtype).clamp(min=1)
    return torch.where(selected, loss, 0.0) * (loss.shape[-1] / count)


REGISTERED: dict[str, Callable[..., Method]] = {}
"""Filled by `register`, in the order of the imports; graylearn.METHODS has them in the listed order."""
M = TypeVar("M", bound=Method)


def register(name: str) -> Callable[[type[M]], type[M]]:
    """Give a method its name in METHODS: `@register("gce")` above its class."""

    def add(method: type[M]) -> type[M]:
        hints = _types_of(method)
        method._name = name
        method._option_types = {option: hints[option] for option in inspect.signature(method).parameters}
        REGISTERED[name] = method
        return method

    return add


_OF_THE_METHOD = ("average", "plans_epochs", "can_be_shared", "end_epoch", "state_dict", "load_state_dict")
"""What the labels are makes no difference to these."""


class Softened(Method):
    """Another method, taught by distributions over the classes: label smoothing, or soft targets.

    The loss is the one to be expected where the label is drawn from the target: sum_k t_k * loss(logits, k).
    For cross entropy that is cross entropy with t, for the Gray loss what t claims and what it excludes, C
    being as ever a matter of the network alone. Both are computed so, as their `soft_loss`; of others each
    step costs K losses per sample.
    """

    per_sample = False

    def __init__(self, method: Method, smoothing: float = 0.0, targets: Tensor | None = None) -> None:
        alone = method.per_sample and method.reads_logits_alone
        # a subclass that changes the loss alone has not the short form of what it comes from
        last = next(kind for kind in type(method).__mro__ if {"loss", "soft_loss"} & vars(kind).keys())
        self.soft_loss_of = type(method).soft_loss if "soft_loss" in vars(last) else Method.soft_loss
        if not alone and self.soft_loss_of is Method.soft_loss:
            raise SettingsError(
                f"{type(method).__name__} selects, draws or compares, which soft labels do not allow:"
                " leave label_smoothing out and give class labels, or take gl, standard or another method"
                " whose loss follows from logits and label"
            )
        self.method, self.smoothing, self.targets = method, smoothing, targets
        for name in _OF_THE_METHOD:
            setattr(self, name, getattr(method, name))

    def __repr__(self) -> str:
        """With a digest of the targets, because a run is resumed with the same."""
        kept = None if self.targets is None else hashlib.sha256(self.targets.cpu().numpy().tobytes())
        inner = repr(self.method) if dataclasses.is_dataclass(self.method) else type(self.method).__name__
        return f"{inner} {self.smoothing} {kept and kept.hexdigest()}"

    def start(self, task: Task) -> None:
        """Bring the targets to the device."""
        super().start(task)
        self.method.start(task)
        if self.targets is not None:
            if self.targets.shape[1] != task.num_classes:
                raise SettingsError(
                    f"there are soft targets of {self.targets.shape[1]} classes but the network gives"
                    f" {task.num_classes} logits: give one per class"
                )
            self.targets = self.targets.to(task.device)

    def loss(self, step: Step) -> Tensor:
        """The expected loss of each sample."""
        k = step.logits.shape[1]
        if self.targets is None:
            share = torch.nn.functional.one_hot(step.target, k).float()
        else:
            share = self.targets[step.index]
        share = (1 - self.smoothing) * share + self.smoothing / k
        return self.soft_loss_of(self.method, step, share)
