"""Robust losses, of a sample's own logits and label, and negative learning, from what a label excludes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.errors import SettingsError
from graylearn.losses import (
    bootstrap_loss,
    complementary_loss,
    generalized_loss,
    mae_loss,
    negative_loss,
    symmetric_loss,
)
from graylearn.methods.base import Count, Method, Range, Share, Step, Task, mean_over, register

# standard: cross entropy on the given label, the method every other one is compared with.


@register("standard")
@dataclass
class Standard(Method):
    """L_G = -log q."""

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample."""
        return F.cross_entropy(step.logits, step.target, reduction="none")

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """Cross entropy to `share`."""
        return F.cross_entropy(step.logits, share.to(step.logits.dtype), reduction="none")


# mae: mean absolute error between the label and the softmax (Ghosh, Kumar and Sastry, 2017).


@register("mae")
@dataclass
class MAE(Method):
    """2 (1 - q): bounded, so that no wrong label has unlimited influence; slow to fit."""

    def loss(self, step: Step) -> Tensor:
        """The distance of each sample's softmax from its label."""
        return mae_loss(step.logits, step.target, reduction="none")


# gce: generalised cross entropy, between cross entropy and MAE (Zhang and Sabuncu, 2018).


@register("gce")
@dataclass
class Generalized(Method):
    """(1 - q^p) / p with the power p, the option `q`: near 0 it is cross entropy, at 1 half of MAE."""

    q: Share = 0.7
    """The power. Default: the authors'."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.q == 0:
            raise SettingsError("gce: q is 0, where the loss is cross entropy: use the method 'standard'")

    def loss(self, step: Step) -> Tensor:
        """The generalised cross entropy of each sample."""
        return generalized_loss(step.logits, step.target, q=self.q, reduction="none")


# sl: symmetric learning, cross entropy plus its reverse (Wang et al., 2019).

MANY_CLASSES = 50
"""Classes from which on the authors' weights for 100 classes are taken, not those for 10."""


@register("sl")
@dataclass
class Symmetric(Method):
    """a CE + b RCE with RCE = -A (1 - q), A standing for log 0."""

    alpha: Annotated[float | None, Range(0)] = None
    """Weight of cross entropy. Default: the authors', .1 below 50 classes (theirs: 10), else 6 (100)."""
    beta: Annotated[float | None, Range(0)] = None
    """Weight of the reverse. Default: the authors', 1 below 50 classes (theirs: 10), else .1 (100)."""
    log_zero: Annotated[float, Range(-1e4, 0)] = -4.0
    """What stands for log 0. Default: the authors' paper; their code has log(1e-4) = -9.21."""

    def loss(self, step: Step) -> Tensor:
        """The symmetric loss of each sample."""
        alpha, beta = (0.1, 1.0) if step.logits.shape[1] < MANY_CLASSES else (6.0, 0.1)
        return symmetric_loss(
            step.logits,
            step.target,
            alpha=alpha if self.alpha is None else self.alpha,
            beta=beta if self.beta is None else self.beta,
            log_zero=self.log_zero,
            reduction="none",
        )


# bt, bt-hard: bootstrapping, the label mixed with what the network says (Reed et al., 2015).


@register("bt")
@dataclass
class Bootstrap(Method):
    """-sum_k [b y_k + (1 - b) t_k] log Q_k with t = Q, the softmax."""

    beta: Share = 0.95
    """Share of the given label in the target. Default: the authors' for soft targets."""
    mode: ClassVar[str] = "soft"

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample with its mixed target."""
        return bootstrap_loss(step.logits, step.target, mode=self.mode, beta=self.beta, reduction="none")


@register("bt-hard")
@dataclass
class HardBootstrap(Bootstrap):
    """The same with t = onehot(argmax Q)."""

    beta: Share = 0.8
    """Share of the given label in the target. Default: the authors' for hard targets."""

    mode = "hard"


# il-lite: cross entropy weighted by confidence, as Gray Learning's released code has it for IL.


@register("il-lite")
@dataclass
class IterativeLite(Method):
    """max_k Q_k (constant in the gradient) times cross entropy."""

    def loss(self, step: Step) -> Tensor:
        """The weighted cross entropy of each sample."""
        confidence = step.logits.detach().softmax(1).amax(1)
        return confidence * F.cross_entropy(step.logits, step.target, reduction="none")


# isomax: isotropy maximisation, logits that are distances to prototypes (Macêdo et al., 2021).


@register("isomax")
@dataclass
class Isotropic(Method):
    """-log softmax(s z)_y with z_k = -|f - p_k|, the distances of features to learned prototypes.

    The network gives z: `graylearn.nets.PrototypeNet` around any other. The factor s is left out when it is
    asked, so that probabilities are spread out and their entropy tells what belongs to no class. Logits of
    another kind are multiplied by s, and this is their cross entropy.
    """

    scale: Annotated[float, Range(1e-6)] = 10.0
    """s, in training alone. Default: the authors'."""

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of the scaled logits of each sample."""
        return F.cross_entropy(self.scale * step.logits, step.target, reduction="none")


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
