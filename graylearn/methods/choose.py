"""Methods of ours that choose the target between the label and what the network itself predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from graylearn.array_types import MANY_COLUMNS
from graylearn.methods.base import Factor, Method, Share, Step, Task, register
from graylearn.methods.blends import blendable

# Distorted images that a person still recognises: turned, stretched, moved, recoloured, a square left out.


def some_distorted(images: Tensor, generator: torch.Generator, often: Tensor | float) -> Tensor:
    """Each image distorted as often as it says, (N, 1, 1, 1) or one for all, drawn anew each time."""
    other = torch.rand(len(images), 1, 1, 1, generator=generator, device=images.device) < often
    new = distorted(images, generator)
    return torch.where(other, new, images, out=torch.empty_like(images))  # laid out as the images are


def distorted(images: Tensor, generator: torch.Generator) -> Tensor:
    """The images (N, C, H, W) changed, each in its own way; values are taken to have mean 0 and spread 1."""
    count, size = len(images), images.shape[-2:]

    def draw(low: float, high: float, *shape: int) -> Tensor:
        drawn = torch.rand(count, *shape, generator=generator, device=images.device)
        return low + (high - low) * drawn

    full = images.float()
    angle, across, along = draw(-0.5, 0.5), draw(0.75, 1.25), draw(0.75, 1.25)
    shear, moved = draw(-0.3, 0.3), draw(-0.25, 0.25, 2)
    cos, sin = angle.cos(), angle.sin()
    rows = (across * cos, shear - sin, moved[:, 0], sin, along * cos, moved[:, 1])
    grid = torch.nn.functional.affine_grid(
        torch.stack(rows, 1).view(count, 2, 3), list(full.shape), align_corners=False
    )
    full = torch.nn.functional.grid_sample(full, grid, padding_mode="reflection", align_corners=False)
    full = torch.lerp(full.mean(1, keepdim=True), full, draw(0.2, 1.8, 1, 1, 1))  # less or more colour
    full = torch.lerp(full.mean((1, 2, 3), keepdim=True), full, draw(0.4, 1.6, 1, 1, 1))  # contrast
    full = full + draw(-0.5, 0.5, 1, 1, 1) + draw(-0.2, 0.2, full.shape[1], 1, 1)
    left_out = (
        _beside(draw(0, 1, 1), size[0])[:, None, :, None] & _beside(draw(0, 1, 1), size[1])[:, None, None]
    )
    return full.masked_fill(left_out, 0.0).to(images.dtype)


def _beside(centre: Tensor, size: int) -> Tensor:
    """(N, size) what lies within a quarter of `size` of each centre, (N, 1), in shares of `size`."""
    at = torch.arange(size, device=centre.device) - size * centre
    return at.abs() < size / 4


def _mixed(values: Tensor, other: Tensor, part: Tensor) -> Tensor:
    """(N, ...) values with so much of others for the rest; part is (N,), or (1,) for all."""
    return torch.lerp(values[other], values, part.to(values.dtype).view(-1, *[1] * (values.ndim - 1)))


# choose: the target is chosen in each step between the label and the network's own predictions (ours).


@register("choose")
@dataclass
class Choose(Method):
    """Cross entropy on mixed pairs of samples, with targets between the label and the mean prediction.

    t = s y + (1 - s) sharpened a, where a is the mean over epochs of the network's predictions for the
    sample and s = a_y / max a: a label that they find likely is taught, any other is replaced by them.
    Predictions of the current epoch alone would trust what was just memorised.
    """

    begin: Share = 0.15
    """Share of the epochs before which targets are the labels. Default: ours."""
    momentum: Share = 0.9
    """Weight of the past in the mean prediction. Default: ours."""
    sharpness: Factor = 2.0
    """Power that sharpens the mean prediction into a target; 1 leaves it as it is. Default: ours."""
    mixed: bool | None = None
    """Learn from mixed pairs of samples, whose shares are drawn uniformly, instead of the samples. None mixes
    images and rows of 32 numbers and more, but no short rows: what lies between two rows of a table is often
    of a third class (it cost two points on tables, and won as many on features of photos)."""
    distorted: bool = True
    """Distort every second image (turned, moved, recoloured); samples of other shapes stay as they are."""

    each: ClassVar[bool] = False
    """Each pair is mixed in a share of its own, and images are distorted the more often, the more their label
    is doubted."""
    per_sample = False
    plans_epochs = True
    state: ClassVar[tuple[str, ...]] = ("answers", "asked")

    def start(self, task: Task) -> None:
        """No answers yet."""
        super().start(task)
        self.answers = torch.zeros(task.num_samples, task.num_classes, device=task.device)
        self.asked = torch.zeros(task.num_samples, dtype=torch.bool, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample or pair with what is chosen for it."""
        return self.soft_loss(step, one_hot(step.target, step.logits.shape[1]).to(step.logits.dtype))

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """The same, with a distribution over the classes in the place of the label."""
        target, logits = self._chosen(step, share), step.logits
        numbers = isinstance(step.inputs, Tensor) and step.inputs.is_floating_point()
        distorts = self.distorted and numbers and step.inputs.ndim == 4
        mixes = numbers and step.inputs[0].numel() >= MANY_COLUMNS if self.mixed is None else self.mixed
        inputs = step.inputs
        if mixes or distorts:
            inputs, generator = blendable(inputs, self._name), self.task.generator
            if distorts:
                often = 1 - (target * share).sum(1).view(-1, 1, 1, 1) / 2 if self.each else 0.5
                inputs = some_distorted(inputs, generator, often)
            if mixes:
                other = torch.randperm(len(inputs), generator=generator, device=inputs.device)
                count = len(inputs) if self.each else 1
                drawn = torch.rand(count, generator=generator, device=inputs.device)
                part = torch.maximum(drawn, 1 - drawn)  # a pair counts what its first sample weighs
                inputs = _mixed(inputs, other, part)
                target = _mixed(target, other, part)
            inputs = inputs.to(step.inputs.dtype)
        if inputs is not step.inputs or self.average is not None:
            # a further pass, so that the history is of the samples as they are
            logits = step.forward(inputs).logits.to(target.dtype)
        return -(target * logits.log_softmax(1)).sum(1)

    def _chosen(self, step: Step, told: Tensor) -> Tensor:
        """(N, K) what to teach of each sample; its answer joins the mean."""
        said = step.logits.detach().softmax(1)
        kept = self.momentum * self.asked[step.index].to(said.dtype).unsqueeze(1)
        answer = torch.lerp(said, self.answers[step.index].to(said.dtype), kept)
        self.answers[step.index] = answer.to(self.answers.dtype)
        self.asked[step.index] = True
        if step.epoch < self.begin * self.task.epochs:
            return told
        answer = self._weighed(answer)
        relative = answer / answer.amax(1, keepdim=True)
        believed = (relative * told).sum(1, keepdim=True)
        sharp = relative**self.sharpness
        return torch.lerp(sharp / sharp.sum(1, keepdim=True), told, believed)

    def _weighed(self, answer: Tensor) -> Tensor:
        """The mean answers, as far as they are to be followed in each class."""
        return answer


# believe: `choose` by a network that is the mean of its own past, with classes of equal size (ours).

_ROUNDS = 20
"""Of making classes equal; each goes half of the way."""
_MOST = 2.0
"""An answer is made at most so many times larger or smaller."""


@register("believe")
@dataclass
class Believe(Choose):
    """As `choose`, with the mean over epochs of what the network of the mean weights says.

    Answers are scaled by class so that what is taught without labels adds up to the same for every class:
    people give some labels far too often, and a network that learns from itself makes that worse.
    """

    momentum: Share = 0.8
    """Weight of the past in the mean answer. Default: ours, less than in `choose`, because a mean of the
    weights answers."""
    equal: bool = True
    """Take classes to be of equal size; False where they are not."""

    average: ClassVar[float | None] = 0.999
    each: ClassVar[bool] = True
    state = (*Choose.state, "scale")

    def start(self, task: Task) -> None:
        """All classes count alike."""
        super().start(task)
        self.scale = torch.ones(task.num_classes, device=task.device)

    def end_epoch(self, epoch: int) -> None:
        """Scale the classes anew; samples count by how sure the answer is, so foreign ones count little."""
        if not self.equal:
            return
        top, says = self.answers.max(1)
        agrees = (says == self.task.targets).to(top.dtype)
        sure = (top * agrees).sum() / agrees.sum().clamp(min=1)
        counts = (top / sure.clamp(min=1e-12)).clamp(max=1)
        for _ in range(_ROUNDS):
            taught = self._weighed(self.answers) ** self.sharpness
            sizes = counts @ (taught / taught.sum(1, keepdim=True).clamp(min=1e-30))
            step = (sizes.mean() / sizes.clamp(min=1e-6)) ** 0.25  # a quarter, as answers are squared
            self.scale = (self.scale * step).clamp(1 / _MOST, _MOST)

    def _weighed(self, answer: Tensor) -> Tensor:
        return answer * self.scale.to(answer.dtype)
