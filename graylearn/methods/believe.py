"""believe: labels are taught as far as they are believed, by a network that is the mean of its own past (ours).

What is believed of a sample is Bayes' rule. Its prior is what the network of the mean weights said of the
sample in the epochs so far, each on a view of its own; its evidence is the given label, by how often the
labels of this class are given to samples of that one, which is estimated in between. So a label that people
confuse with the class counts little, and one that nobody would give by mistake counts much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from graylearn.array_types import MANY_COLUMNS
from graylearn.methods.base import Factor, Method, Range, Share, Step, Task, register
from graylearn.methods.blends import blendable, distorted, log_rejection

_ROUNDS = 10
"""Of estimating which labels are given to which class, when it is done first; later one an epoch."""
_PSEUDO = 2.0
"""Samples of each class that are taken to have been labelled right, before any is counted."""
_ROWS = 1 << 14


@register("believe")
@dataclass
class Believe(Method):
    """Cross entropy of mixed, distorted pairs of samples with what is believed of them.

    The belief in class k is a_k^sharpness T(y given k), scaled to sum one: a is the mean answer of the network
    of the mean weights, T how labels are given. Samples count by how sure it is of any class, so one that
    belongs to none is taught next to nothing, but that it is not what its label says.
    """

    begin: Share = 0.1
    """Share of the epochs before which targets are the labels. Default: ours."""
    momentum: Share = 0.7
    """Weight of the past in the mean answer, from one epoch to the next. Default: ours."""
    sharpness: Factor = 2.0
    """Power that sharpens the mean answer; mixed pairs leave it too flat. Default: ours."""
    trust: Annotated[float, Range(1)] = 20.0
    """How many times likelier a label may make its class at most: network and label are not independent,
    since the one has learned from the other. Default: ours."""
    weighed: bool = True
    """Samples count by how sure the mean answer is, and not all alike."""
    complement: Factor = 0.0
    """Weight of -log(1 - Q_y), for as much as a sample does not count. Default: none."""
    distorted: bool = True
    """Distort images (turned, moved, recoloured): every second one whose label is believed, and more of the
    others. Samples of other shapes stay as they are."""
    mixed: bool | None = None
    """Learn from mixed pairs; None as in `choose`."""

    average: ClassVar[float | None] = 0.999
    per_sample = False
    plans_epochs = True
    state = ("answers", "asked", "given", "sure")

    def start(self, task: Task) -> None:
        """Nothing is known but the labels."""
        super().start(task)
        classes, device = task.num_classes, task.device
        self.answers = torch.zeros(task.num_samples, classes, device=device)
        self.asked = torch.zeros(task.num_samples, dtype=torch.bool, device=device)
        self.given = torch.eye(classes, device=device)
        self.sure = torch.ones((), device=device)

    def start_epoch(self, epoch: int) -> None:
        """Estimate anew which labels are given to samples of each class, and how sure answers are."""
        first = self._first()
        if epoch < first:
            return
        if epoch == first:
            self.given = torch.full_like(self.given, 1 / len(self.given))  # the first round: the answers alone
        for _ in range(_ROUNDS if epoch == first else 1):
            self._estimate()

    def _first(self) -> int:
        """The first epoch that teaches beliefs; one epoch at least has answered."""
        return max(1, -int(-self.begin * self.task.epochs // 1))

    def _estimate(self) -> None:
        """T from what is believed of all samples by the T so far."""
        classes = len(self.given)
        counts = torch.eye(classes, device=self.given.device) * _PSEUDO + 0.5 / classes
        agreed = torch.zeros(2, device=self.given.device)
        for rows in torch.arange(len(self.answers), device=self.given.device).split(_ROWS):
            target, answer = self.task.targets[rows], self.answers[rows]
            told = one_hot(target, classes).float()
            believed = self._belief(answer, told) * self.asked[rows].unsqueeze(1)
            counts += believed.T @ told
            top, says = answer.max(1)
            agrees = (says == target) & self.asked[rows]
            agreed += torch.stack([(top * agrees).sum(), agrees.sum()])
        self.given = counts / counts.sum(1, keepdim=True)
        self.sure = agreed[0] / agreed[1].clamp(min=1)

    def _belief(self, answer: Tensor, told: Tensor) -> Tensor:
        """(N, K) what is believed of samples with these mean answers and labels."""
        own = self.given.diagonal()
        likely = torch.maximum(self.given, own / self.trust)  # of each label, by the class
        relative = answer / answer.amax(1, keepdim=True).clamp(min=1e-12)
        belief = relative**self.sharpness * (told @ likely.T)
        return belief / belief.sum(1, keepdim=True).clamp(min=1e-12)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample or pair with what is believed of it."""
        return self.soft_loss(step, one_hot(step.target, step.logits.shape[1]).to(step.logits.dtype))

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """The same, with a distribution over the classes in the place of the label."""
        target, counts = self._believed(step, share)
        doubt = 1 - (target * share).sum(1)
        inputs, other, part = self._views(step, doubt)
        taught, refused = target * counts, share * (1 - counts)
        if other is not None:
            taught, refused, target = (torch.lerp(each[other], each, part) for each in (taught, refused, target))
        # a further pass, so that what the network of the mean is asked are the samples as they are
        logits = step.forward(inputs).logits.to(target.dtype)
        loss = -(taught * logits.log_softmax(1)).sum(1)
        if self.complement:
            loss = loss - self.complement * (refused * (1 - target) * log_rejection(logits)).sum(1)
        return loss

    def _believed(self, step: Step, told: Tensor) -> tuple[Tensor, Tensor]:
        """(N, K) what to teach of each sample, and (N, 1) how much it counts; its answer joins the mean."""
        said = step.logits.detach().softmax(1)
        kept = self.momentum * self.asked[step.index].to(said.dtype).unsqueeze(1)
        answer = torch.lerp(said, self.answers[step.index].to(said.dtype), kept)
        self.answers[step.index] = answer.to(self.answers.dtype)
        self.asked[step.index] = True
        everything = torch.ones_like(answer[:, :1])
        if step.epoch < self._first():
            return told, everything
        counts = (answer.amax(1, keepdim=True) / self.sure.to(answer.dtype)).clamp(max=1)
        return self._belief(answer, told), counts if self.weighed else everything

    def _views(self, step: Step, doubt: Tensor) -> tuple[Tensor, Tensor | None, Tensor | float]:
        """What the network learns from: (inputs, with which other ones they are mixed, their own part)."""
        numbers = isinstance(step.inputs, Tensor) and step.inputs.is_floating_point()
        distorts = self.distorted and numbers and step.inputs.ndim == 4
        mixes = numbers and step.inputs[0].numel() >= MANY_COLUMNS if self.mixed is None else self.mixed
        if not (distorts or mixes):
            return step.inputs, None, 1.0
        inputs, generator = blendable(step.inputs, "believe"), self.task.generator
        n, device = len(inputs), inputs.device
        if distorts:
            drawn = torch.rand(n, generator=generator, device=device) < 0.5 + 0.5 * doubt
            new = distorted(inputs, generator)
            inputs = torch.where(drawn.view(-1, 1, 1, 1), new, inputs, out=torch.empty_like(inputs))
        if not mixes:
            return inputs.to(step.inputs.dtype), None, 1.0
        other = torch.randperm(n, generator=generator, device=device)
        drawn = torch.rand(n, generator=generator, device=device)
        part = torch.maximum(drawn, 1 - drawn)  # a pair counts what its first sample weighs
        inputs = torch.lerp(inputs[other], inputs, part.view(-1, *[1] * (inputs.ndim - 1)))
        return inputs.to(step.inputs.dtype), other, part.unsqueeze(1)
