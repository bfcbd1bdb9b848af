"""Boosted trees, or any classifier of scikit-learn's kind, in the place of the network of a GrayClassifier.

The stages are those of `Pipeline`: a first fit on the labels as they are, an audit by copies that did not see
the samples, and a second fit on what it believes. What is fitted stands where a network would, as one whose
logits are the logs of its probabilities, so that all that is asked of a network can be asked of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor, nn

from graylearn.audit import Audit
from graylearn.audit import audit as audit_samples
from graylearn.audit.models import check_model, class_probabilities, new_copy
from graylearn.data.batches.base import Preparation
from graylearn.errors import Hint, SettingsError
from graylearn.estimator.pipeline import Pipeline, PipelineResult
from graylearn.estimator.refine import soft_targets
from graylearn.estimator.trainset import TrainingSet
from graylearn.training import History

Floats = NDArray[np.float64]

TREES = "trees"
"""The name of scikit-learn's boosted trees as a network."""
LEAST_SHARE = 0.01
"""Of a sample's target, what a class must have for the sample to be shown under it too."""
_FOR_NETWORKS = {
    "method": "auto", "network_options": None, "epochs": None, "batch_size": None, "learning_rate": None,
    "optimizer": None, "augment": None, "warm_start": False,
}  # fmt: skip
"""Parameters that say nothing to such a model, and their defaults."""


def is_model(network: Any) -> bool:
    """Whether it is a classifier of scikit-learn's kind, or stands for one, and no network."""
    return (isinstance(network, str) and network == TREES) or (
        hasattr(network, "fit") and not isinstance(network, nn.Module | type) and is_classifier(network)
    )


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that only a network could follow."""
    for name, default in _FOR_NETWORKS.items():
        value = parameters[name]
        if type(value) is not type(default) or value != default:
            raise SettingsError(
                f"{name} is for networks, and network is {parameters['network']!r}: leave it out, and "
                "set what the model has for it in the model"
            )
    if parameters["audit"] == "history":
        raise SettingsError(
            "audit='history' needs the epochs of a network:", Hint("audit", "held-out", "for this model")
        )


class ModelNetwork(nn.Module):
    """A fitted model as a network: (N, D) to the logs of its class probabilities (N, K)."""

    def __init__(self, model: Any, num_classes: int) -> None:
        super().__init__()
        self.model = model
        self.num_classes = num_classes

    def forward(self, x: Tensor) -> Tensor:
        """Ask the model, on the CPU."""
        rows = x.detach().cpu().numpy()
        said = class_probabilities(self.model, rows, len(rows), np.arange(self.num_classes))
        return torch.from_numpy(np.log(np.clip(said, 1e-12, None))).float()


@dataclass(frozen=True, eq=False)
class ModelPipeline:
    """The way of a training set through a model, as it was planned for a network."""

    planned: Pipeline
    """Of which the samples, the seed, the audit and the stages count."""
    model: Any
    """Not fitted, or "trees"; copies of it are."""

    @property
    def samples(self) -> TrainingSet:
        """What to learn from."""
        return self.planned.samples

    @property
    def validation(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Clean samples and labels, which `reject_at` is measured on; the fit does not read them."""
        return self.planned.validation

    def run(self, *begun: Any) -> PipelineResult:
        """All stages; there is nothing that they could go on from."""
        samples = self.samples
        network = self._fit(samples.x, samples.y, samples.weight)
        history = self._history(network)
        found = None if self.planned.audit is None else self.audit_only()
        refined = found is not None and self.planned.refine and bool(found.posterior.any())
        if found is not None and refined:
            network = self._fit_believed(found)
        return PipelineResult(network, Preparation(), 1, history, found, refined=refined)

    def audit_only(self) -> Audit:
        """The audit that `run` would make, by copies of the model that did not see the samples."""
        return self.planned.stages.keep("audit", self._judge)

    def _judge(self) -> Audit:
        """In the canonical order and back, as `Pipeline.judge`."""
        order = self.samples.order
        samples = self.samples.renumbered(order)
        return audit_samples(
            samples.features,
            samples.classes[samples.labels],
            model=self._unfitted,
            ids=samples.ids,
            classes=samples.classes.tolist(),
            overlap=self.planned.overlap,
            seed=self.planned.settings.seed,
        ).take(np.argsort(order))

    @property
    def _unfitted(self) -> Any:
        return HistGradientBoostingClassifier() if isinstance(self.model, str) else self.model

    def _fit_believed(self, audit: Audit) -> ModelNetwork:
        """A sample of several possible classes is shown under each of them, as much as it is believed."""
        samples = self.samples
        targets, trust = (values[samples.rows] for values in soft_targets(audit))
        row, label = np.nonzero(targets >= LEAST_SHARE)
        return self._fit(samples.x[row], label, targets[row, label] * (trust * samples.weight)[row])

    def _fit(self, x: NDArray[Any], label: NDArray[np.int64], weight: Floats) -> ModelNetwork:
        model = new_copy(self._unfitted, self.planned.settings.seed)
        if (weight == weight[0]).all():
            fitted = model.fit(x, label)
        elif has_fit_parameter(model, "sample_weight"):
            fitted = model.fit(x, label, sample_weight=weight)
        else:  # what it cannot weigh it is shown or not
            shown = weight > 0.5 * weight.max()
            fitted = model.fit(x[shown], label[shown])
        return ModelNetwork(fitted, len(self.samples.classes))

    def _history(self, network: ModelNetwork) -> History:
        """One epoch: what the first fit says of the samples."""
        samples = self.samples
        assert samples.features is not None  # images are refused
        label = torch.from_numpy(samples.labels)
        history = History(label, network.num_classes, 1, ids=samples.ids)
        history.start_epoch(0)
        history.record(0, torch.arange(len(label)), label, network(torch.from_numpy(samples.features)))
        history.end_epoch(0)
        return history


def with_model(planned: Pipeline, model: Any) -> ModelPipeline:
    """The pipeline of a model in the place of a network, for rows of numbers."""
    if planned.samples.features is None:
        raise SettingsError(
            "X holds images, which trees and other models of scikit-learn do not read:",
            Hint("network", "auto", "for a network"),
        )
    if not isinstance(model, str):
        check_model(model)
    return ModelPipeline(planned, model)
