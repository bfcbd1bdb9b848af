"""Gray Learning: what a label claims and what it excludes, weighed by a confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from graylearn.losses import gray_loss
from graylearn.losses.reference import confidence_and_doubt, excluded, soft_gray_rows
from graylearn.methods.base import Factor, Method, Range, Share, Step, Task, register

# gl, gl-label, gl-relative: Gray Learning, what a label claims and what it excludes (Zhao, Cao and Wang).


@register("gl")
@dataclass
class Gray(Method):
    """C L_G + (1 - C) L_C, with the confidence C constant in the gradient."""

    confidence: Literal["max", "label", "relative"] = "max"
    """C = max_k Q_k ("max"), C = q ("label") or max_k Q_k over its median in the batch, at most 1
    ("relative"). Default: the authors' code."""
    w: Annotated[float | None, Range(0, 1)] = None
    """(1 - w) C L_G + w (1 - C) L_C, as in the authors' code, whose default is .5: half of the loss.
    Default: the paper's equation, which has no such weight."""
    eps: Share = 0.0
    """L_C = -sum log(1 - Q_k + eps), as in the authors' code with 1e-5: no other label then costs more than
    11.5. Default: none, as in the paper's equation."""
    mean: bool = False
    """L_C as the mean over the K - 1 other labels. Default: their sum, as in the paper and its code."""
    detach: bool = True
    """C is constant in the gradient. Default: yes, as in the authors' code."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.per_sample = self.confidence != "relative"

    def can_be_shared(self) -> bool:
        """Yes: of the other samples it needs the median alone, which `loss` asks all processes for."""
        return True

    def loss(self, step: Step) -> Tensor:
        """The gray loss of each sample."""
        confidence = self._confidence(step)
        if self._is_plain:
            return gray_loss(
                step.logits, step.target, confidence=confidence, detach=self.detach, reduction="none"
            )
        logits, index = step.logits, step.target.unsqueeze(1)
        log_probs = logits.log_softmax(1)
        certain, doubt = confidence_and_doubt(log_probs, index, confidence)
        if self.detach:
            certain, doubt = certain.detach(), doubt.detach()
        every = -(1 - log_probs.exp() + self.eps).log() if self.eps else excluded(logits)
        rejected = every.scatter(1, index, 0.0).sum(1, keepdim=True)
        claims, excludes = (1.0, 1.0) if self.w is None else (1 - self.w, self.w)
        if self.mean:
            excludes /= logits.shape[1] - 1
        loss = excludes * doubt * rejected - claims * certain * log_probs.gather(1, index)
        return loss.squeeze(1)

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """At the cost of one label, where the loss is the plain one."""
        if not (self._is_plain and self.detach):
            return super().soft_loss(step, share)
        return soft_gray_rows(step.logits, share.to(step.logits.dtype), self._confidence(step))

    @property
    def _is_plain(self) -> bool:
        return self.w is None and not self.eps and not self.mean

    def _confidence(self, step: Step) -> str | Tensor:
        """The rule, or the values where several processes have parts of the batch."""
        if self.confidence != "relative" or step.of_all is None:
            return self.confidence
        top = step.logits.detach().softmax(1).amax(1)
        # a NaN has its loss say so
        return (top / step.of_all(top).nanmedian()).clamp(max=1.0).nan_to_num(1.0)


@register("gl-relative")
@dataclass
class GrayRelative(Gray):
    """The same with confidence measured against that of the batch.

    An untrained network is equally unsure of all: C is 1, and the loss begins as cross entropy. C = max Q is
    1/K there and learns at 2/K of the rate, which a short schedule with many classes never makes up.
    """

    confidence: Literal["max", "label", "relative"] = "relative"
    """As in gl. Default: what this name stands for."""


@register("gl-label")
@dataclass
class GrayLabel(Gray):
    """The same with the confidence of the paper's equation."""

    confidence: Literal["max", "label", "relative"] = "label"
    """As in gl. Default: C = q, the paper's C(x, y): robust, but slow to fit where q is small."""


# gl-history: Gray Learning that trusts a label by how it was believed in all epochs so far (ours).


@register("gl-history")
@dataclass
class GrayHistory(Method):
    """C L_G + (1 - C) L_C, C the label's mean probability over the epochs against that of its class.

    C = max Q trusts what was just memorised: in 200 epochs on 100 classes it ends near 1 for OOD samples too.
    A mean over all epochs remembers when a label was learnt, and typical samples are trusted from the start.
    """

    power: Factor = 2.0
    """C = min(1, mean q / median of the mean q of its class) ** power. Default: 2 was better than 1 on
    features of images (benchmarks/memorising.py)."""

    per_sample = False
    state = ("mean", "trust", "times")

    def start(self, task: Task) -> None:
        """Every label is trusted until there is a history: the first epoch is cross entropy."""
        super().start(task)
        self.mean = torch.zeros(task.num_samples, device=task.device)
        self.trust = torch.ones(task.num_samples, device=task.device)
        self.times = torch.zeros(task.num_samples, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """The gray loss of each sample, by the trust of the last epoch."""
        return gray_loss(step.logits, step.target, confidence=self.trust[step.index], reduction="none")

    def end_epoch(self, epoch: int) -> None:
        """Take the epoch that ended into the mean, and measure it anew against the class.

        A loader that drops its last batch, or a sampler, leaves samples out of an epoch.
        """
        last, targets = self.task.history.recent_label_confidence(1), self.task.targets
        now = ~last.isnan()
        self.times = self.times + now
        self.mean = torch.where(now, self.mean + (last - self.mean) / self.times, self.mean)
        known = self.times > 0
        usual = class_median(self.mean[known], targets[known], self.task.num_classes)
        relative = self.mean / usual[targets].clamp_min(torch.finfo(torch.float32).tiny)
        self.trust = torch.where(known, relative.clamp(max=1) ** self.power, 1.0)


def class_median(value: Tensor, label: Tensor, num_classes: int) -> Tensor:
    """(num_classes,) the lower median of the values of each class; 0 for a class without samples."""
    order = value.argsort()
    order = order[label[order].argsort(stable=True)]
    count = torch.bincount(label, minlength=num_classes)
    middle = count.cumsum(0) - count + (count - 1).clamp_min(0) // 2
    found = value[order][middle.clamp(max=max(len(value) - 1, 0))]
    return torch.where(count > 0, found, torch.zeros_like(found))
