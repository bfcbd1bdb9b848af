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
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import nn

from graylearn.array_types import Floats, Ints
from graylearn.audit import Audit
from graylearn.audit import audit as audit_samples
from graylearn.audit.history import history_probabilities
from graylearn.data.batches import Preparation
from graylearn.data.splits import cross_fit, held_out_rows, sum_by_sample
from graylearn.estimator.networks import (
    can_share_a_stack,
    can_stand_side_by_side,
    joined,
    logits_of,
    member_seeds,
)
from graylearn.estimator.trainset import TrainingSet
from graylearn.methods import Method
from graylearn.methods.base import Softened
from graylearn.methods.robust import Standard
from graylearn.nets import MLP
from graylearn.options import OverlapSetting
from graylearn.training import History, Result, Settings, seeding, train, train_stack
from graylearn.training.devices import choose
from graylearn.training.loop import Callback

STACKED, SINGLE = 4, 2
"""Folds whose networks are trained as one stack, and folds that each take a training of their own."""

MOST_BEHIND = 1.0
"""Standard errors by which the views may say the given labels worse than the own networks alone."""
CLASS_SHARE = 0.1
"""Of the samples that bear a label, the share whose weight the class keeps at least."""

MOST_BELIEFS = 100_000_000
"""Numbers of 4 bytes that the second fit of a set in parts holds, one for each sample and class."""

Stage = Literal["features", "first", "audit", "refined"]
Made = TypeVar("Made")
Run = Callable[..., Result]
"""(settings, *callbacks) -> the result of training one network."""


class Stages:
    """What is done around the stages of a pipeline; here nothing, so that all stays in memory.

    A subclass may keep what a stage made and give it back when the pipeline is run again, or tell of it.
    """

    def train(self, stage: Stage, settings: Settings, run: Run) -> Result:
        """Train one network with `run(settings, *callbacks)`, the settings perhaps with a checkpoint."""
        return run(settings)

    def keep(self, stage: Stage, make: Callable[[], Made]) -> Made:
        """What `make` makes: the training set and its encoder at the stage "features", an Audit at "audit", a
        PipelineResult at "refined"."""
        return make()


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
    validation: tuple[NDArray[Any], NDArray[np.int64]] | None = None
    """Clean samples and labels: the best epoch is kept, and one network does."""
    patience: int = 10
    """Epochs to wait for a better one."""
    stages: Stages = field(default_factory=Stages)
    """What is done around the stages."""
    model: Any = None
    """A model of scikit-learn's kind that judges the samples, beside the views of their features."""

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
        found = self.audited(first.history) if self.refine else None
        if found is None:
            return fitted
        fitted = replace(fitted, audit=found)
        goes_on = network is not None
        return self.stages.keep(
            "refined", lambda: self._fit_again(fitted, self.second_fit(found, goes_on=goes_on))
        )

    def audited(self, history: History | None) -> Audit | None:
        """The audit of the user's samples, see `judge`; None where none is wanted."""
        return None if self.audit is None else self.stages.keep("audit", lambda: self.judge(history))

    def audit_only(self) -> Audit:
        """The audit without a fit, unless it reads the history of the first."""
        history = self.train(self.first_fit())[0].history if self.audit == "history" else None
        return self.stages.keep("audit", lambda: self.judge(history))

    def first_fit(self, network: nn.Module | None = None) -> PlannedFit:
        """One network, on the labels as they are."""
        seed = self.settings.seed
        return PlannedFit(
            "first", (network or self.new_network(seed),), (seed,), self.method, self.samples.weight
        )

    def judge(self, history: History | None) -> Audit:
        """The audit of the user's samples; history: of the first fit, None where it is not read."""
        samples = self.samples
        said: dict[str, Any] = {"classes": samples.classes.tolist(), "overlap": self.overlap}
        if self.audit == "history":
            assert history is not None  # its first fit was trained
            return Audit.from_history(samples.by_sample(history), None, samples.features, samples.ids, **said)
        if samples.features is None:
            asked = replace(self.first_fit(), stage="audit")
            return replace(self._audit_of(replace(self, validation=None).held_out(asked)), mode="held-out")
        return audit_samples(
            samples.features,
            samples.classes[samples.labels],
            model=self.model,
            ids=samples.ids,
            keep_labels=self.keep_labels,
            groups=samples.groups,
            seed=self.settings.seed,
            device=choose(self.settings.device),
            log=self.settings.log,
            **said,
        )

    def _audit_of(self, probabilities: Floats) -> Audit:
        """The audit by what networks say of samples that they did not learn from."""
        samples = self.samples
        return Audit.from_predictions(
            probabilities, samples.classes[samples.labels], samples.features, samples.ids,
            classes=samples.classes.tolist(), overlap=self.overlap, groups=samples.groups,
        )  # fmt: skip

    def second_fit(self, audit: Audit, *, goes_on: bool = False) -> PlannedFit | None:
        """What the second fit trains; None where it would only repeat the first.

        goes_on: whether the first went on from a network that was there, which labels as they are leave.
        """
        samples, method, weight = self.samples, self.method, self.samples.weight
        believed = audit if audit.suspected.any() else None
        if believed is not None and self._is_stack:
            believed = self._asked_again()
        if believed is not None:
            targets, trust = soft_targets(believed)
            method = Softened(Standard(), targets=torch.from_numpy(targets[samples.rows]).float())
            weight = trust[samples.rows] * weight
        elif goes_on or not self._is_stack or self.members == 1 or not can_share_a_stack(method):
            return None
        seeds = member_seeds(self.settings.seed, self.members if self._is_stack else 1)
        networks = tuple(self.new_network(each) for each in seeds)
        return PlannedFit("refined", networks, tuple(seeds), method, weight, believed is not None)

    def train(self, fit: PlannedFit) -> tuple[Result, int]:
        """One network: the result, and how many epochs the network that it leaves was trained for."""

        def run(settings: Settings, *callbacks: Callback) -> Result:
            return train(
                fit.networks[0],
                self.samples.batches(settings.batch_size),
                method=copy.deepcopy(fit.method),
                settings=settings,
                sample_weight=_unless_even(fit.weight),
                validation=self.validation,
                callbacks=callbacks,
            ).raise_if_interrupted()

        patience = None if self.validation is None else self.patience
        settings = replace(self.settings, patience=patience, seed=fit.seeds[0])
        result = self.stages.train(fit.stage, settings, run)
        return result, len(result.log) if result.best_epoch is None else result.best_epoch + 1

    def fit_many(self, fit: PlannedFit, weights: Floats) -> list[Result]:
        """Networks trained like those of a fit, one for each of several weights of the rows (models, M).

        One each also if the fit is a committee, and from new weights if it went on from others.
        """
        seeds = [seeding.derive(self.settings.seed, "fold", index) for index in range(len(weights))]
        networks = [self.new_network(seed) for seed in seeds]
        if self._is_stack and can_share_a_stack(fit.method):
            return self._side_by_side(networks, seeds, fit.method, weights)
        alone = self if fit.stage == "audit" else replace(self, validation=None, stages=Stages())
        fits = [
            replace(fit, networks=(network,), seeds=(seed,), weight=weight)
            for network, seed, weight in zip(networks, seeds, weights, strict=True)
        ]
        return [alone.train(each)[0] for each in fits]

    def _side_by_side(
        self, networks: list[nn.Module], seeds: list[int], method: str | Method, weight: Floats | None
    ) -> list[Result]:
        """Networks trained as one stack on the rows; weight: (M,), or (networks, M), or even."""
        results = train_stack(
            networks, (self.samples.x, self.samples.y),
            methods=method, seeds=seeds, settings=self.settings, sample_weight=weight,
        )  # fmt: skip
        return [result.raise_if_interrupted() for result in results]

    def held_out(self, fit: PlannedFit) -> Floats:
        """(N, K) what networks trained like those of a fit say of samples that they did not learn from.

        The first is also asked about samples that none learned from, such as those of weight 0. Networks for
        images are asked all through their training, of which their history tells.
        """
        samples, folds = self.samples, STACKED if self._is_stack else SINGLE
        held = held_out_rows(samples.folds(folds, self.settings.seed)[None], folds)
        asked = [np.unique(samples.rows[rows]) for rows in held]
        asked[0] = np.union1d(asked[0], np.setdiff1d(np.arange(len(samples.labels)), samples.rows))

        def said(result: Result, rows: Ints) -> Floats:
            if samples.features is None:
                return history_probabilities(samples.by_sample(result.history))[rows]
            return softmax(result.predict_logits(samples.features[rows]), axis=1)

        fitted = cross_fit(lambda weights: self.fit_many(fit, weights), samples.weight, held)
        parts = ((rows, said(result, rows)) for rows, (result, _) in zip(asked, fitted, strict=True))
        return sum_by_sample(parts, len(samples.labels), len(samples.classes))

    @cached_property
    def _is_stack(self) -> bool:
        """Whether the networks after the first are trained as one stack, which reads rows alone."""
        if not self.side_by_side or self.validation is not None or self.samples.features is None:
            return False
        return can_stand_side_by_side(self.new_network(self.settings.seed), self.settings)

    def _fit_again(self, first: PipelineResult, fit: PlannedFit | None) -> PipelineResult:
        if fit is None:
            return first
        kept = replace(first, members=len(fit.seeds), refined=fit.is_believed, plan=fit)
        if not self._is_stack:
            result, epochs = self.train(fit)
            return replace(kept, network=result.model, preparation=result.preparation, epochs=epochs)
        # networks that differ in their first weights and the order of samples, joined to one
        weight = _unless_even(fit.weight)
        results = self._side_by_side(list(fit.networks), list(fit.seeds), fit.method, weight)
        members = [result.model for result in results if isinstance(result.model, MLP)]
        return replace(kept, network=joined(members), epochs=len(results[0].log))

    def _asked_again(self) -> Audit | None:
        """The audit once more, by networks of the own kind; None where it is not worth a fit."""
        samples = self.samples
        method = self.method if can_share_a_stack(self.method) else "gl"
        said = self.held_out(replace(self.first_fit(), method=method))
        found = self._audit_of(said)
        worth = bool(found.suspected.any()) and know_as_much(
            found.probabilities[samples.rows], said[samples.rows], samples.y
        )
        return found if worth else None


@dataclass(frozen=True, eq=False)
class PartsPipeline(Pipeline):
    """A pipeline of samples in parts that were audited before; its second fit is of one network."""

    def run(self, network: nn.Module | None = None, members: int = 1) -> PipelineResult:
        """The fits; the second if the views of the first part know more of what no network learned from."""
        fitted, samples, seed = super().run(network, members), self.samples, self.settings.seed
        beliefs = len(samples.y) * len(samples.classes)
        if not self.refine or not len(aside := samples.aside) or beliefs > MOST_BELIEFS:
            return fitted
        assert samples.audits is not None
        found = next(samples.audits())
        own = logits_of(fitted.network, samples.x[aside], fitted.preparation)
        if found.mode != "held-out" or not know_as_much(found.probabilities[aside], own, samples.y[aside]):
            return fitted
        soft = [(np.float32(target), trust) for target, trust in map(soft_targets, samples.audits())]
        targets = torch.from_numpy(np.concatenate([target for target, _ in soft]))
        weight = np.concatenate([trust for _, trust in soft]) * samples.weight
        method = Softened(Standard(), targets=targets)
        fit = PlannedFit("refined", (self.new_network(seed),), (seed,), method, weight, is_believed=True)
        return self._fit_again(fitted, fit)


def _unless_even(weight: Floats) -> Floats | None:
    """Weights that are all equal weigh nothing."""
    return weight if (weight != weight[0]).any() else None


# -- beliefs: a sample that seems mislabelled is taught as what it looks like, one that belongs to no class
#    counts less, and the rest stay as they are --------------------------------------------------------------


def know_as_much(views: Floats, own: Floats, label: NDArray[np.int64]) -> bool:
    """Whether the pooled views (N, K) know no less of the samples than networks of the own kind (N, K) do.

    Both were asked about labels that they had not seen. Wrong labels disagree with everyone alike, so that
    agreement with the given labels, the wrong ones included, tells who is nearer to the truth. A fit on what
    the views believe comes out about as good as they are: where they know clearly less than the network finds
    by itself in the labels as they are, there is nothing to gain and something to lose.
    """
    difference = (views.argmax(axis=1) == label).astype(np.float64) - (own.argmax(axis=1) == label)
    error = float(difference.std()) / np.sqrt(len(label))
    return bool(difference.mean() >= -MOST_BEHIND * error)


def soft_targets(audit: Audit) -> tuple[Floats, Floats]:
    """(targets (N, K), weights (N,)) for the second fit.

    The target is what the audit believes of the class, the weight the chance that the sample has one.
    """
    weight = 1.0 - audit.foreign
    target = audit.beliefs / np.maximum(audit.beliefs.sum(axis=1, keepdims=True), 1e-12)
    return keep_classes_alive(audit, target, weight)


def keep_classes_alive(audit: Audit, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The same, but a class that would be left with next to nothing keeps its least suspected samples."""
    target, weight = target.copy(), weight.copy()
    for k in np.unique(audit.label):
        members = np.flatnonzero(audit.label == k)
        needed = max(1, int(np.ceil(CLASS_SHARE * len(members))))
        if (weight * target[:, k]).sum() < needed:
            kept = members[np.argsort(audit.posterior[members], kind="stable")[:needed]]
            target[kept], weight[kept] = np.eye(target.shape[1])[k], 1.0
    return target, weight
