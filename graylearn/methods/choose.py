"""choose: what is taught is chosen anew in each step, between label and own answers (ours)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from graylearn.array_types import MANY_COLUMNS
from graylearn.methods.base import Method, Step, Task, register
from graylearn.methods.blend import blendable
from graylearn.methods.checks import Factor, Share
from graylearn.methods.distort import half_distorted


@register("choose")
@dataclass
class Choose(Method):
    """Cross entropy on mixed pairs of samples, with targets that lie between label and mean answer.

    t = s y + (1 - s) sharpened a, where a is the mean of the network's answers to the sample as it is, and
    s = a_y / max a: a label that the answers hold likely is taught, another is replaced by them. An answer of
    today would believe what was just learned by heart; the mean over epochs remembers what was said before.
    """

    begin: Share = 0.15
    """Share of the epochs after which answers are believed; before, labels are. Default: ours."""
    momentum: Share = 0.9
    """What a new answer leaves of the mean so far. Default: ours."""
    sharpness: Factor = 2.0
    """Power that makes the mean answer a target: 1 takes it as it is. Default: ours."""
    mixed: bool | None = None
    """Learn from mixed pairs of samples, whose shares are drawn uniformly, instead of the samples. None mixes
    images and rows of 32 numbers and more, but no short rows: what lies between two rows of a table is often
    of a third class (it cost two points on tables, and won as many on features of photos)."""
    distorted: bool = True
    """Turn, move and recolour every second image before; samples of other shapes stay as they are."""

    per_sample = False
    plans_epochs = True
    state = ("answers", "asked")

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
        if mixes or distorts:
            inputs, generator = blendable(step.inputs, "choose"), self.task.generator
            if distorts:
                inputs = half_distorted(inputs, generator)
            if mixes:
                other = torch.randperm(len(inputs), generator=generator, device=inputs.device)
                drawn = torch.rand((), generator=generator, device=inputs.device)
                part = torch.maximum(drawn, 1 - drawn)  # a pair counts what its first sample weighs
                inputs = torch.lerp(inputs[other], inputs, part)
                target = torch.lerp(target[other], target, part)
            # a further pass, so that the history is of the samples as they are
            logits = step.forward(inputs.to(step.inputs.dtype)).logits.to(target.dtype)
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
        relative = answer / answer.amax(1, keepdim=True)
        believed = (relative * told).sum(1, keepdim=True)
        sharp = relative**self.sharpness
        return torch.lerp(sharp / sharp.sum(1, keepdim=True), told, believed)
