"""Boosted trees, or any classifier of scikit-learn's kind, in the place of the network of a GrayClassifier.

The stages are those of `Pipeline`: a first fit on the labels as they are, an audit by copies that did not see
the samples, and a second fit on what it believes. What is fitted stands where a network would, as one whose
logits are the logs of its probabilities, so that all that is asked of a network can be asked of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor, nn

from graylearn.array_types import Floats
from graylearn.audit import Audit
from graylearn.audit import audit as audit_samples
from graylearn.audit.models import check_model, class_probabilities, fit_model, new_copy
from graylearn.data.batches.base import Preparation
from graylearn.errors import Hint, SettingsError
from graylearn.estimator.pipeline import Pipeline, PipelineResult, PlannedFit
from graylearn.estimator.refine import SoftTargets, soft_targets
from graylearn.training import History

TREES = "trees"
"""The name of scikit-learn's boosted trees as a network."""
LEAST_SHARE = 0.01
"""Of a sample's target, what a class must have for the sample to be shown under it too."""
_FOR_NETWORKS = {
    "method": "auto", "network_options": None, "epochs": None, "batch_size": None, "learning_rate": None,
    "clip_norm": None, "accumulate": 1, "average": None, "optimizer": None, "augment": None,
    "warm_start": False, "precision": "auto", "members": 5,
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
class ModelPipeline(Pipeline):
    """A pipeline whose networks are copies of a model; how networks would be made and trained is not read."""

    model: Any = TREES
    """Not fitted; copies of it are."""

    def __post_init__(self) -> None:
        if self.samples.features is None:
            raise SettingsError(
                "X holds images, which trees and other models of scikit-learn do not read:",
                Hint("network", "auto", "for a network"),
            )
        if not isinstance(self.model, str):
            check_model(self.model)

    def run(self, network: nn.Module | None = None, members: int = 1) -> PipelineResult:
        """All stages; there is no network that they could go on from."""
        seeds = (self.settings.seed,)
        plan = PlannedFit("first", (), seeds, self.method, self.samples.weight)
        fitted = self._fit(plan)
        history = self._history(fitted)
        found = self.audit_only() if self.refine and self.audit is not None else None
        refined = found is not None and bool(found.suspected.any())
        if found is not None and refined:
            targets, trust = (values[self.samples.rows] for values in soft_targets(found))
            teacher = SoftTargets(torch.from_numpy(targets))
            plan = PlannedFit("refined", (), seeds, teacher, trust * self.samples.weight, is_believed=True)
            fitted = self._fit(plan)
        return PipelineResult(fitted, Preparation(), 1, history, found, refined=refined, plan=plan)

    def fit_many(self, fit: PlannedFit, weights: Floats) -> list[nn.Module]:
        """Models like that of a fit, one for each of several weights of the rows (models, M)."""
        return [self._fit(replace(fit, weight=each)) for each in weights]

    def judge(self, history: History | None) -> Audit:
        """The audit of the user's samples, by copies of the model that were not shown them."""
        samples = self.samples
        return audit_samples(
            samples.features,
            samples.classes[samples.labels],
            model=self._unfitted,
            ids=samples.ids,
            classes=samples.classes.tolist(),
            overlap=self.overlap,
            keep_labels=self.keep_labels,
            groups=samples.groups,
            seed=self.settings.seed,
            log=self.settings.log,
        )

    @property
    def _unfitted(self) -> Any:
        return HistGradientBoostingClassifier() if isinstance(self.model, str) else self.model

    def _fit(self, fit: PlannedFit) -> ModelNetwork:
        """A sample of several possible classes is shown under each of them, as much as it is believed."""
        samples = self.samples
        row, label, weight = np.arange(len(samples.y)), samples.y, fit.weight
        if isinstance(fit.method, SoftTargets):
            targets = fit.method.distributions.numpy()
            row, label = np.nonzero(targets >= LEAST_SHARE)
            weight = targets[row, label] * weight[row]
        model = new_copy(self._unfitted, self.settings.seed)
        weighs = has_fit_parameter(model, "sample_weight")
        # what it cannot weigh it is shown or not
        shown = weight > (0.0 if weighs else 0.5 * weight.max())
        x, label, weight = samples.x[row[shown]], label[shown], weight[shown]
        even = not weighs or bool((weight == weight[0]).all())
        fitted = fit_model(model, x, label, **({} if even else {"sample_weight": weight}))
        return ModelNetwork(fitted, len(samples.classes))

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
