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
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor, nn

from graylearn.audit.models import check_model, class_probabilities, fit_model, new_copy
from graylearn.data.batches import Preparation
from graylearn.errors import Hint, SettingsError
from graylearn.estimator.networks import HOW_TO_TRAIN
from graylearn.estimator.pipeline import Pipeline, PlannedFit
from graylearn.methods.base import Softened
from graylearn.training import History, Result

TREES = "trees"
"""The name of scikit-learn's boosted trees as a network."""
LEAST_SHARE = 0.01
"""Of a sample's target, what a class must have for the sample to be shown under it too."""
_FOR_NETWORKS = ("method", "network_options", *HOW_TO_TRAIN, "warm_start", "members")
"""Parameters that say nothing to such a model."""


def is_model(network: Any) -> bool:
    """Whether it is a classifier of scikit-learn's kind, or stands for one, and no network."""
    return (isinstance(network, str) and network == TREES) or (
        hasattr(network, "fit") and not isinstance(network, nn.Module | type) and is_classifier(network)
    )


def check_parameters(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse parameters that only a network could follow, other than by default."""
    for name in _FOR_NETWORKS:
        value, default = parameters[name], defaults[name]
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

    def __post_init__(self) -> None:
        if self.samples.features is None:
            raise SettingsError(
                "X holds images, which trees and other models of scikit-learn do not read:",
                Hint("network", "auto", "for a network"),
            )
        check_model(self.model)

    def train(self, fit: PlannedFit) -> tuple[Result, int]:
        """A copy of the model, fitted: a sample of several possible classes is shown under each of them, as
        much as it is believed."""
        samples = self.samples
        row, label, weight = np.arange(len(samples.y)), samples.y, fit.weight
        if isinstance(fit.method, Softened) and fit.method.targets is not None:
            targets = fit.method.targets.numpy()
            row, label = np.nonzero(targets >= LEAST_SHARE)
            weight = targets[row, label] * weight[row]
        model = new_copy(self.model, self.settings.seed)
        weighs = has_fit_parameter(model, "sample_weight")
        # what it cannot weigh it is shown or not
        shown = weight > (0.0 if weighs else 0.5 * weight.max())
        x, label, weight = samples.x[row[shown]], label[shown], weight[shown]
        even = not weighs or bool((weight == weight[0]).all())
        fitted = fit_model(model, x, label, **({} if even else {"sample_weight": weight}))
        network = ModelNetwork(fitted, len(samples.classes))
        history = History(torch.from_numpy(samples.y), network.num_classes, 1)  # one epoch: what it says
        history.start_epoch(0)
        rows = torch.arange(len(samples.y))
        history.record(0, rows, history.targets, network(torch.from_numpy(samples.x)))
        history.end_epoch(0)
        return Result(network, [], history, self.settings, Preparation()), 1
