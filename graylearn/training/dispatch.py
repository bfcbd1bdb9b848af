"""Which models learn by which method, and how the logits of a step become one loss per sample."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from graylearn.data.batches import Batch
from graylearn.errors import SettingsError
from graylearn.losses.fused import LIMIT
from graylearn.methods.base import Method, Output, Step, Task
from graylearn.training import seeding
from graylearn.training.history import History
from graylearn.training.mlp import AnyLearner


@dataclass(frozen=True)
class _PartOfHistory:
    """The history of some models of a stack, for their method."""

    history: History
    start: int
    stop: int

    def recent_label_confidence(self, epochs: int) -> Tensor:
        return self.history.recent_label_confidence(epochs)[self.start : self.stop]


@dataclass
class _Group:
    """A method and the neighbouring models that learn by it, which share each call of its loss."""

    method: Method
    first: int
    models: int
    generator: torch.Generator


class Dispatch:
    """The methods of a run: one for a single model, or one per group of models of a stack."""

    def __init__(
        self,
        methods: Sequence[Method],
        learner: AnyLearner,
        history: History,
        *,
        epochs: int,
        num_classes: int,
        seeds: Sequence[int],
    ) -> None:
        self.learner = learner
        self.single = len(methods) == 1
        self.num_classes = num_classes
        self.num_samples = history.num_samples // len(methods)
        device = history.targets.device
        self.groups: list[_Group] = []
        for model, method in enumerate(methods):
            last = self.groups[-1] if self.groups else None
            if (
                last is not None
                and method.per_sample
                and last.method == method
                and type(last.method) is type(method)
            ):
                last.models += 1
                continue
            if any(group.method is method for group in self.groups):
                method = copy.deepcopy(method)  # each has a state of its own
            generator = seeding.generator(device, seeds[model], "method")
            self.groups.append(_Group(method, model, 1, generator))
        # the index of each group's first sample, once for each of its models: (models, 1)
        self.first_index = torch.tensor(
            [[group.first * self.num_samples] for group in self.groups for _ in range(group.models)],
            device=device,
        )
        for group in self.groups:
            start = group.first * self.num_samples
            stop = start + group.models * self.num_samples
            group.method.start(
                Task(
                    targets=history.targets[start:stop],
                    num_classes=num_classes,
                    epochs=epochs,
                    device=device,
                    history=history if self.single else _PartOfHistory(history, start, stop),
                    generator=group.generator,
                )
            )

    def end_epoch(self, epoch: int) -> None:
        """Pass it on to the methods."""
        for group in self.groups:
            group.method.end_epoch(epoch)

    def losses(
        self, batch: Batch, output: Output, epoch: int, of_all: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """The loss of each sample of the batch, (models * N,); `of_all` as in Step."""
        calls = [(self.groups[0], batch.inputs, batch.target, batch.index, output)]
        if not self.single:
            calls = self._calls(batch, output)
        parts = []
        for group, inputs, target, index, own in calls:
            forward = partial(self.learner.forward_again, model=group.first)
            step = Step(inputs, target, index, own, epoch, forward, of_all)
            parts.append(_checked(group.method.loss(step), target))
        return parts[0] if self.single else torch.cat(parts)

    def no_losses(self, batch: Batch, epoch: int, of_all: Callable[[Tensor], Tensor]) -> None:
        """Take part in a step of which this process has no sample, if the method reads the whole batch."""
        if not self.groups[0].method.per_sample:
            logits = torch.zeros(0, self.num_classes, device=self.first_index.device)
            self.losses(batch, Output(logits, None), epoch, of_all)

    def _calls(self, batch: Batch, output: Output) -> list[tuple[_Group, Tensor, Tensor, Tensor, Output]]:
        """The batch by the models that share a call of the loss: on the CPU few enough for its form for small
        batches."""
        size = batch.inputs.shape[1]
        most = max(1, LIMIT // (size * self.num_classes))
        groups = self.groups
        if self.first_index.device.type == "cpu" and any(group.models > most for group in groups):
            groups = [
                replace(group, first=group.first + start, models=min(most, group.models - start))
                for group in groups
                for start in range(0, group.models, most)
            ]
        sizes = [group.models * size for group in groups]
        index = (batch.index.view(-1, size) - self.first_index).view(-1)
        cut = [
            each.split_with_sizes(sizes)
            for each in (batch.inputs.flatten(0, 1), batch.target, index, output.logits)
        ]
        features = [None] * len(sizes) if output.features is None else output.features.split_with_sizes(sizes)
        *others, logits = cut
        outputs = [Output(*pair) for pair in zip(logits, features, strict=True)]
        return list(zip(groups, *others, outputs, strict=True))

    def state_dict(self) -> list[dict[str, Any]]:
        """What a checkpoint keeps of the methods."""
        return [
            {"method": dict(group.method.state_dict()), "generator": group.generator.get_state()}
            for group in self.groups
        ]

    def load_state_dict(self, saved: list[dict[str, Any]]) -> None:
        """Take what `state_dict` gave."""
        for group, kept in zip(self.groups, saved, strict=True):
            group.method.load_state_dict(kept["method"])
            group.generator.set_state(kept["generator"])


def _checked(losses: Tensor, target: Tensor) -> Tensor:
    shape = tuple(losses.shape) if isinstance(losses, Tensor) else None
    if shape != tuple(target.shape):
        given = type(losses).__name__ if shape is None else f"losses of shape {shape}"
        raise SettingsError(
            f"the method gave {given} for {len(target)} samples: loss(step) must return one loss per sample"
        )
    if not torch.is_grad_enabled():
        raise SettingsError(
            "torch keeps no gradients here, so that nothing would be learned: train outside of no_grad"
        )
    if len(target) and not losses.requires_grad:
        raise SettingsError(
            "the losses that the method gave have no gradient, so that nothing would be learned:"
            " make them of step.logits, without detach, item or numpy"
        )
    return losses
