"""gl-history: Gray Learning that trusts a label by how it was believed in all epochs so far (ours)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graylearn.losses import gray_loss
from graylearn.methods.base import Method, Step, Task, register
from graylearn.methods.checks import Factor


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
