"""Negative learning: a label says which classes a sample does not belong to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.errors import SettingsError
from graylearn.losses import complementary_loss, negative_loss
from graylearn.methods.base import Count, Method, Share, Step, Task, mean_over, register

# nl: negative learning, only what the label excludes (Kim et al., 2019; L_C of Gray Learning).


@register("nl")
@dataclass
class Negative(Method):
    """L_C = -sum over k != y of log(1 - Q_k)."""

    sampled: bool = False
    """Reject one other label, drawn anew for each sample at each step, as its authors do, instead of
    all K - 1 at once. Default: all, the NL of Gray Learning's ablation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.per_sample = not self.sampled  # models that share a batch would share the draws

    def loss(self, step: Step) -> Tensor:
        """The complementary loss of each sample."""
        if self.sampled:
            return negative_loss(step.logits, step.target, generator=self.task.generator, reduction="none")
        return complementary_loss(step.logits, step.target, reduction="none")


# standard+nl: the even mixture that Gray Learning's ablation compares with.


@register("standard+nl")
@dataclass
class StandardNegative(Method):
    """(L_G + L_C) / 2: gl with its confidence fixed at one half."""

    def loss(self, step: Step) -> Tensor:
        """The mean of both losses of each sample."""
        claimed = F.cross_entropy(step.logits, step.target, reduction="none")
        return (claimed + complementary_loss(step.logits, step.target, reduction="none")) / 2


# nlnl: negative learning in three phases, NL then SelNL then SelPL (Kim et al., 2019).


@register("nlnl")
@dataclass
class NegativePositive(Method):
    """First NL on all; then NL where the label is likelier than chance; then CE where it is likely.

    How likely a label is: its mean probability over the last `window` epochs.
    """

    selnl_from: Share = 1 / 3
    """Share of the epochs after which SelNL begins. Default: the authors give each phase about a third."""
    selpl_from: Share = 2 / 3
    """Share of the epochs after which SelPL begins. Default: as above."""
    window: Count = 10
    """Epochs that the mean probability is taken over. Default: ten, so that no single epoch decides."""
    threshold: Share = 0.5
    """Mean probability from which SelPL trusts a label. Default: the authors'."""
    sampled: bool = True
    """Reject one drawn label per step rather than all K - 1. Default: the authors'."""

    per_sample = False
    plans_epochs = True
    state = ("trusted",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selnl_from > self.selpl_from:
            raise SettingsError(
                f"nlnl: selnl_from ({self.selnl_from:g}) must not be larger than selpl_from "
                f"({self.selpl_from:g}), because SelNL comes first"
            )

    def start(self, task: Task) -> None:
        """Every label is trusted until there is a history."""
        super().start(task)
        self.trusted = torch.ones(task.num_samples, dtype=torch.bool, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """The loss of the phase that this epoch is in, over the samples it trusts."""
        if self.phase(step.epoch) == "SelPL":
            loss = F.cross_entropy(step.logits, step.target, reduction="none")
        elif self.sampled:
            loss = negative_loss(step.logits, step.target, generator=self.task.generator, reduction="none")
        else:
            loss = complementary_loss(step.logits, step.target, reduction="none")
        return mean_over(loss, self.trusted[step.index])

    def end_epoch(self, epoch: int) -> None:
        """Choose, from the history, the samples that the next epoch trusts."""
        phase = self.phase(epoch + 1)
        if phase != "NL":
            least = self.threshold if phase == "SelPL" else 1 / self.task.num_classes
            self.trusted = self.task.history.recent_label_confidence(self.window) >= least

    def phase(self, epoch: int) -> str:
        """NL, SelNL or SelPL; the first epoch is always NL, since it has no history to select by."""
        if epoch == 0 or epoch < self.selnl_from * self.task.epochs:
            return "NL"
        return "SelNL" if epoch < self.selpl_from * self.task.epochs else "SelPL"
