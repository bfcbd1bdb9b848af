"""Which method teaches which models, and how the logits of a step become one loss per sample."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graylearn.data.batches.base import Batch
from graylearn.errors import SettingsError
from graylearn.losses.small import LIMIT
from graylearn.methods.base import Method, Output, Step, Task
from graylearn.training import seeding
from graylearn.training.history import History
from graylearn.training.learner import Learner

_FAR_APART = 600.0
"""From a range of logits of 600 on a loss may underflow and take another form, for all rows of its call."""


@dataclass(frozen=True)
class _PartOfHistory:
    """The history of one model of a stack, as its method sees it."""

    history: History
    start: int
    stop: int

    def recent_label_confidence(self, epochs: int) -> Tensor:
        return self.history.recent_label_confidence(epochs)[self.start : self.stop]


@dataclass
class _Group:
    """A method and the neighbouring models it teaches."""

    method: Method
    first: int
    models: int
    generator: torch.Generator


class Dispatch:
    """The methods of a run: one for a single model, one a group of models for a stack."""

    def __init__(
        self,
        methods: Sequence[Method],
        learner: Learner,
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
                method = copy.deepcopy(method)  # what one model's method remembers is not another's
            generator = seeding.generator(device, seeds[model], "method")
            self.groups.append(_Group(method, model, 1, generator))
        self.calls: dict[int, list[_Group]] = {}
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

    def start_epoch(self, epoch: int) -> None:
        """Tell the methods."""
        for group in self.groups:
            group.method.start_epoch(epoch)

    def end_epoch(self, epoch: int) -> None:
        """Tell the methods."""
        for group in self.groups:
            group.method.end_epoch(epoch)

    def rate_scales(self, epoch: int) -> list[float]:
        """The factor on each model's learning rate that its method asks for."""
        return [
            float(scale)
            for group in self.groups
            for scale in [group.method.learning_rate_scale(epoch)] * group.models
        ]

    def blend(self, inputs: Tensor) -> Tensor:
        """What the network is given of a batch."""
        if self.single:
            return self.groups[0].method.blend(inputs)
        if all(type(group.method).blend is Method.blend for group in self.groups):
            return inputs
        parts = [
            group.method.blend(inputs[group.first : group.first + group.models].flatten(0, 1))
            for group in self.groups
        ]
        return torch.cat(parts).view_as(inputs)

    def losses(
        self,
        batch: Batch,
        output: Output,
        epoch: int,
        of_all: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """The loss of each sample of the batch, (models * N,); `of_all` as in Step."""
        if self.single:
            forward = self.learner.forward_again
            step = Step(
                batch.inputs,
                batch.target,
                batch.index,
                output,
                epoch,
                lambda inputs: forward(inputs, 0),
                of_all,
            )
            return _checked(self.groups[0].method.loss(step), batch.target)
        size = batch.inputs.shape[1]
        groups = self._calls(output.logits, size)
        sizes = [group.models * size for group in groups]
        index = (batch.index.view(-1, size) - self.first_index).view(-1)
        features = [None] * len(sizes) if output.features is None else output.features.split_with_sizes(sizes)
        parts = []
        for group, inputs, target, own_index, logits, penultimate in zip(
            groups,
            batch.inputs.flatten(0, 1).split_with_sizes(sizes),
            batch.target.split_with_sizes(sizes),
            index.split_with_sizes(sizes),
            output.logits.split_with_sizes(sizes),
            features,
            strict=True,
        ):
            own = Output(logits, penultimate)
            step = Step(inputs, target, own_index, own, epoch, self._forward_of(group))
            parts.append(_checked(group.method.loss(step), target))
        return torch.cat(parts)

    def no_losses(self, batch: Batch, epoch: int, of_all: Callable[[Tensor], Tensor]) -> None:
        """Let a method that looks at the whole batch take part in a step without samples of this process."""
        if not self.groups[0].method.per_sample:
            logits = torch.zeros(0, self.num_classes, device=self.first_index.device)
            self.losses(batch, Output(logits, None), epoch, of_all)

    def _calls(self, logits: Tensor, size: int) -> list[_Group]:
        """Who shares a call of the loss.

        On the CPU no more models than make a small batch, and none where logits are far apart: both decide in
        which form a loss is computed, whose last bits would then depend on a model's neighbours.
        """
        if len(self.groups) == self.learner.models or logits.device.type != "cpu":
            return self.groups
        most = max(1, LIMIT // (size * logits.shape[1]))
        if not float(np.ptp(logits.detach().numpy(), axis=1).max()) < _FAR_APART:
            most = 1
        if most not in self.calls:
            self.calls[most] = [
                _Group(group.method, group.first + start, min(most, group.models - start), group.generator)
                for group in self.groups
                for start in range(0, group.models, most)
            ]
        return self.calls[most]

    def _forward_of(self, group: _Group) -> Callable[[Tensor], Output]:
        return lambda inputs: self.learner.forward_again(inputs, group.first)

    def state(self) -> list[dict[str, Any]]:
        """What a checkpoint keeps of the methods."""
        return [
            {"method": dict(group.method.state_dict()), "generator": group.generator.get_state()}
            for group in self.groups
        ]

    def load_state(self, saved: list[dict[str, Any]]) -> None:
        """Go on from what `state` gave."""
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
    if len(target) and not losses.requires_grad:
        raise SettingsError(
            "the losses that the method gave have no gradient, so that nothing would be learned:"
            " make them of step.logits, without detach, item or numpy"
        )
    return losses
