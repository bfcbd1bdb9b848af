"""What a method is: how the logits of one batch become one loss per sample.

A method sees a `Step` and returns losses of shape (N,); the engine weights them, takes their mean
and steps the optimizer. A method that selects samples returns zero for those it leaves out and
scales the rest itself, so that the mean over the batch is the loss its authors meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, get_type_hints

import torch
from torch import Tensor

from graylearn.methods import checks


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
    """The part of the engine's History that a method may read."""

    def recent_label_confidence(self, epochs: int) -> Tensor:
        """(num_samples,) on the device: mean probability of the given label over the last `epochs` epochs."""
        ...


@dataclass(frozen=True)
class Task:
    """What a method is told once, before the first step."""

    targets: Tensor
    """(num_samples,) given labels, on the device."""
    num_classes: int
    epochs: int
    device: torch.device
    history: ConfidenceHistory
    generator: torch.Generator
    """The run's random numbers for methods, on the device; saved and restored with a checkpoint."""

    @property
    def num_samples(self) -> int:
        """How many training samples there are; `Step.index` runs below it."""
        return len(self.targets)


@dataclass(frozen=True)
class Step:
    """What a method sees of one batch."""

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


class Method:
    """Base of all methods. Subclasses are dataclasses whose fields are their options.

    Only `loss` must be written. Tensors that change during training (weights of samples, centroids,
    ...) are set in `start` and named in `state`, so that a resumed run goes on where it was.

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
    """How many networks are trained side by side; with two, `step.logits` is (2, N, K)."""
    per_sample: bool = True
    """The loss of a sample follows from its own logits and label alone: not from other samples, the
    index, the epoch, the history, a random draw or anything remembered. Then one object may serve
    several models whose batches are laid end to end; otherwise each model needs an object of its own."""
    plans_epochs: bool = False
    """What it does in an epoch depends on how many there are (`task.epochs`), so that none can be added."""
    state: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes a checkpoint must keep: tensors (of any size, also empty) and numbers."""
    _name: ClassVar[str] = ""
    _option_types: ClassVar[dict[str, Any]] = {}  # of a registered method: they say what options can be

    def __post_init__(self) -> None:
        for option, kind in self._option_types.items():
            checks.check(self._name, option, kind, getattr(self, option))

    def can_be_shared(self) -> bool:
        """Whether several processes may each take a part of its batches: no loss looks at other samples.

        A method that looks at the batch through `step.of_all` alone may say so here too.
        """
        return self.per_sample and self.networks == 1 and not self.needs_features

    def start(self, task: Task) -> None:
        """Called once before training; make what the method remembers."""
        self.task = task

    def start_epoch(self, epoch: int) -> None:
        """Called before the first step of each epoch."""

    def blend(self, inputs: Tensor) -> Tensor:
        """What the network is given in place of the inputs of a batch; here the inputs themselves."""
        return inputs

    def loss(self, step: Step) -> Tensor:
        """The loss of each sample of the batch, (N,)."""
        raise TypeError(f"{type(self).__name__} does not say what its loss is: write loss(self, step)")

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """The loss to be expected where labels are drawn by `share`, (N, K), of each sample: (N,).

        K losses per sample, for a method whose loss follows from logits and label; write it where it is less.
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
        """Called after the last step of each epoch, when the history holds it."""

    def learning_rate_scale(self, epoch: int) -> float:
        """A factor on the scheduled learning rate, for methods that fine-tune at a lower one."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this method: the live tensors and numbers by name, not copies."""
        return {name: getattr(self, name) for name in self.state}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what a checkpoint kept; called after `start`."""
        for name in self.state:
            value = saved[name]
            # a copy, because a method may change its tensors in place and what was saved is loaded twice
            own = value.to(self.task.device, copy=True) if isinstance(value, Tensor) else value
            setattr(self, name, own)


REGISTERED: dict[str, Callable[..., Method]] = {}
"""What `register` was told, in the order of the imports; graylearn.METHODS has it in order."""
M = TypeVar("M", bound=Method)


def register(name: str) -> Callable[[type[M]], type[M]]:
    """Give a method its name in METHODS: `@register("gce")` above its class."""

    def add(method: type[M]) -> type[M]:
        hints = get_type_hints(method, include_extras=True)
        method._name = name
        method._option_types = {option: hints[option] for option in inspect.signature(method).parameters}
        REGISTERED[name] = method
        return method

    return add
