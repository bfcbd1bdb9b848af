"""First fit, audit, beliefs, second fit: the one way from a dirty training set to a network.

    first fit     one network learns the labels as they are, by a method for dirty labels
    audit         who does not belong, from views of the features or from the history of the first fit
    beliefs       what the audit believes of each sample, as soft targets and weights, where that pays
    second fit    a committee of networks, or one, learns the beliefs; or the labels as they are

`GrayClassifier` runs it in memory, a run folder keeps what each stage made (`Stages`), and the reproduction
of the paper trains the fits of many pipelines side by side.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graylearn.array_types import Floats
from graylearn.audit import Audit
from graylearn.audit import audit as audit_samples
from graylearn.data.batches.base import Preparation
from graylearn.estimator.committee import can_share_a_stack, can_stand_side_by_side, joined, member_seeds
from graylearn.estimator.folds import side_by_side, single_probabilities, stacked_probabilities
from graylearn.estimator.refine import SoftTargets, know_more, pays, soft_targets
from graylearn.estimator.stages import Stage, Stages
from graylearn.estimator.trainset import TrainingSet
from graylearn.methods import Method
from graylearn.nets import MLP
from graylearn.options import OverlapSetting
from graylearn.training import History, Result, Settings, seeding, train
from graylearn.training.devices import choose
from graylearn.training.loop import Callback


@dataclass(frozen=True, eq=False)
class PlannedFit:
    """Networks to train on the samples of a pipeline; where they are several, to answer as one."""

    stage: Stage
    """Of which stage."""
    networks: tuple[nn.Module, ...]
    """With their first weights."""
    seeds: tuple[int, ...]
    """Of each."""
    method: str | Method
    """How they learn."""
    weight: Floats
    """(M,) what the loss of each sample counts."""
    is_believed: bool = False
    """Whether they learn what the audit believes."""


@dataclass(frozen=True, eq=False)
class PipelineResult:
    """What a pipeline gives."""

    network: nn.Module
    """The network that answers."""
    preparation: Preparation
    """How samples are brought to it."""
    epochs: int
    """That it was trained for."""
    history: History
    """The confidences of the first fit, by the user's samples."""
    audit: Audit | None = None
    """The verdict on the user's samples, if the second fit asked for it."""
    trained: History | None = None
    """The same confidences by the rows that were trained on, which the audit by history reads."""
    members: int = 1
    """How many networks answer as one."""
    refined: bool = False
    """Whether the second fit learned what the audit believes."""
    plan: PlannedFit | None = None
    """How the network that answers was trained."""


@dataclass(frozen=True, eq=False)
class Pipeline:
    """One training set on its way; `run` goes all of it."""

    samples: TrainingSet
    """What to learn from."""
    new_network: Callable[[int], nn.Module]
    """Makes a network with weights drawn for a seed."""
    method: str | Method
    """How the first fit learns."""
    settings: Settings
    """How each network is trained; its seed is that of all stages."""
    audit: Literal["held-out", "history"] | None = "held-out"
    """How the samples are judged: by views that did not see them, by the first fit's own history, not."""
    overlap: OverlapSetting = "auto"
    """Whether samples may lie between two classes; see `graylearn.audit.audit`."""
    keep_labels: bool = False
    """Whether labels that seem misspelt are judged as classes of their own."""
    refine: bool = False
    """Whether to fit a second time."""
    members: int = 1
    """Networks of the second fit, where they can be trained side by side."""
    side_by_side: bool = True
    """Whether networks are trained as one stack where they can: the committee of the second fit, and before
    it folds of the same kind, whose beliefs it learns where they know more than the labels."""
    teach: Callable[[Tensor], Method] = SoftTargets
    """How a network learns distributions over the classes, (M, K)."""
    validation: tuple[NDArray[Any], NDArray[np.int64]] | None = None
    """Clean samples and labels: the best epoch is kept, and one network does."""
    patience: int = 10
    """Epochs to wait for a better one."""
    stages: Stages = field(default_factory=Stages)
    """What is done around the stages."""

    def run(self, network: nn.Module | None = None, members: int = 1) -> PipelineResult:
        """The fits; the first goes on from `network` where one is given, as which `members` answer.

        The audit is left to `audited`, unless a second fit learns from it.
        """
        plan = self.first_fit(network)
        first, epochs = self.train(plan)
        history = self.samples.by_sample(first.history)
        fitted = PipelineResult(
            first.model, first.preparation, epochs, history,
            trained=first.history, members=members, plan=plan,
        )  # fmt: skip
        found = self.audited(fitted) if self.refine else None
        if found is None:
            return fitted
        fitted = replace(fitted, audit=found)
        return self.stages.keep(
            "refined", lambda: self._fit_again(fitted, found, goes_on=network is not None)
        )

    def audited(self, fitted: PipelineResult) -> Audit | None:
        """The audit of what `run` learned from; None where none is wanted."""
        if self.audit is None or fitted.audit is not None:
            return fitted.audit
        return self._kept_audit(fitted.trained)

    def audit_only(self) -> Audit:
        """The audit without a fit, unless it reads the history of the first."""
        by_history = self.audit == "history"
        return self._kept_audit(self.train(self.first_fit())[0].history if by_history else None)

    def _kept_audit(self, history: History | None) -> Audit:
        return self.stages.keep("audit", lambda: self.judge(history))

    def first_fit(self, network: nn.Module | None = None) -> PlannedFit:
        """One network, on the labels as they are."""
        seed = self.settings.seed
        return PlannedFit(
            "first", (network or self.new_network(seed),), (seed,), self.method, self.samples.weight
        )

    def judge(self, history: History | None) -> Audit:
        """The audit of the user's samples; history: of the first fit, None where it is not read."""
        samples, seed = self.samples, self.settings.seed
        classes = samples.classes.tolist()
        if self.audit == "history":
            assert history is not None  # its first fit was trained
            by_sample = samples.by_sample(history)
            return Audit.from_history(
                by_sample, None, samples.features, samples.ids, classes=classes, overlap=self.overlap
            )
        if samples.features is not None:
            device = choose(self.settings.device)
            return audit_samples(
                samples.features,
                samples.classes[samples.labels],
                ids=samples.ids,
                classes=classes,
                overlap=self.overlap,
                keep_labels=self.keep_labels,
                groups=samples.groups,
                seed=seed,
                device=device,
                log=self.settings.log,
            )
        alone = replace(self, validation=None)

        def train_on(weight: Floats) -> Result:
            fit = PlannedFit("audit", (self.new_network(seed),), (seed,), self.method, weight)
            return alone.train(fit)[0]

        order = samples.order
        said = np.empty((len(samples.labels), len(classes)))
        said[order] = single_probabilities(samples.renumbered(order), train_on, seed)
        labels = samples.classes[samples.labels]
        found = Audit.from_predictions(
            said, labels, None, samples.ids, classes=classes, overlap=self.overlap, groups=samples.groups
        )
        return replace(found, mode="held-out")

    def second_fit(self, audit: Audit, *, goes_on: bool = False) -> PlannedFit | None:
        """What the second fit trains; None where it would only repeat the first.

        goes_on: whether the first went on from a network that was there, which labels as they are leave.
        """
        samples, seed = self.samples, self.settings.seed
        believed = audit if pays(audit) else None
        if believed is not None and self._is_stack and samples.features is not None:
            believed = self._asked_again()
        if believed is not None:
            targets, trust = soft_targets(believed)
            method: str | Method = self.teach(torch.from_numpy(targets[samples.rows]))
            weight = trust[samples.rows] * samples.weight
        elif goes_on or not self._is_stack or self.members == 1 or not can_share_a_stack(self.method):
            return None
        else:
            method, weight = self.method, samples.weight
        seeds = member_seeds(seed, self.members if self._is_stack else 1)
        networks = tuple(self.new_network(each) for each in seeds)
        return PlannedFit("refined", networks, tuple(seeds), method, weight, believed is not None)

    def train(self, fit: PlannedFit) -> tuple[Result, int]:
        """One network: the result, and how many epochs the network that it leaves was trained for."""

        def run(settings: Settings, *callbacks: Callback) -> Result:
            return train(
                fit.networks[0],
                (self.samples.x, self.samples.y),
                method=copy.deepcopy(fit.method),
                settings=settings,
                sample_weight=_unless_even(fit.weight),
                validation=self.validation,
                callbacks=callbacks,
            ).raise_if_interrupted()

        patience = None if self.validation is None else self.patience
        result = self.stages.train(fit.stage, replace(self.settings, patience=patience), run)
        return result, len(result.log) if result.best_epoch is None else result.best_epoch + 1

    def train_committee(self, fit: PlannedFit) -> tuple[MLP, int]:
        """Networks that differ in their first weights and the order of samples, joined; and their epochs."""
        weight = _unless_even(fit.weight)
        results = side_by_side(self.samples, fit.networks, fit.seeds, fit.method, self.settings, weight)
        members = [result.model for result in results]
        return joined([member for member in members if isinstance(member, MLP)]), len(results[0].log)

    def fit_many(self, fit: PlannedFit, weights: Floats) -> list[nn.Module]:
        """Networks trained like those of a fit, one for each of several weights of the rows (models, M).

        One each also if the fit is a committee, and from new weights if it went on from others.
        """
        seeds = [seeding.derive(self.settings.seed, "without", index) for index in range(len(weights))]
        networks = [self.new_network(seed) for seed in seeds]
        if self._is_stack and self.samples.features is not None and can_share_a_stack(fit.method):
            results = side_by_side(self.samples, networks, seeds, fit.method, self.settings, weights)
            return [result.model for result in results]
        alone = replace(self, validation=None, stages=Stages())
        fits = [
            PlannedFit(fit.stage, (network,), (seed,), fit.method, weight)
            for network, seed, weight in zip(networks, seeds, weights, strict=True)
        ]
        return [alone.train(each)[0].model for each in fits]

    @cached_property
    def _is_stack(self) -> bool:
        """Whether the networks after the first are trained as one stack."""
        if not self.side_by_side or self.validation is not None:
            return False
        return can_stand_side_by_side(self.new_network(self.settings.seed), self.settings)

    def _fit_again(self, first: PipelineResult, audit: Audit, *, goes_on: bool) -> PipelineResult:
        fit = self.second_fit(audit, goes_on=goes_on)
        if fit is None:
            return first
        kept = replace(first, members=len(fit.seeds), refined=fit.is_believed, plan=fit)
        if self._is_stack:
            network, epochs = self.train_committee(fit)
            return replace(kept, network=network, epochs=epochs)
        result, epochs = self.train(fit)
        return replace(kept, network=result.model, preparation=result.preparation, epochs=epochs)

    def _asked_again(self) -> Audit | None:
        """The audit once more, by networks of the own kind; None where it is not worth a fit."""
        order = self.samples.order
        samples = self.samples.renumbered(order)
        method = self.method if can_share_a_stack(self.method) else "gl"
        said = stacked_probabilities(samples, self.new_network, method, self.settings, self.settings.seed)
        labels, classes = samples.classes[samples.labels], samples.classes.tolist()
        found = Audit.from_predictions(
            said,
            labels,
            samples.features,
            samples.ids,
            classes=classes,
            overlap=self.overlap,
            groups=samples.groups,
        )
        worth = bool(found.suspected.any()) and know_more(
            found.probabilities[samples.rows], said[samples.rows], samples.y
        )
        return found.take(np.argsort(order)) if worth else None


def _unless_even(weight: Floats) -> Floats | None:
    """Weights that are all equal weigh nothing."""
    return weight if (weight != weight[0]).any() else None
