"""The weight of each sample's loss, and soft targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import TensorDataset

from graylearn.data.inputs import as_plain
from graylearn.errors import DataError, SettingsError, first_line

_SUM_TOLERANCE = 1e-3


def weights_for(
    sample_weight: Any, targets: Tensor, class_weight: Any = None, num_classes: int = 0
) -> Tensor | None:
    """Sample weights, times the weight of each one's class, on the device, scaled to mean 1."""
    if sample_weight is None and class_weight is None:
        return None
    weights = torch.ones(len(targets), dtype=torch.float64)
    if sample_weight is not None:
        weights = torch.from_numpy(_numbers(sample_weight, "sample_weight")).reshape(-1)
    if len(weights) != len(targets):
        raise DataError(f"there are {len(weights)} sample weights for {len(targets)} samples: give one each")
    if not bool(torch.isfinite(weights).all()) or bool((weights < 0).any()) or float(weights.max()) <= 0:
        raise DataError("sample weights must be finite, 0 or more, and not all 0")
    weights = weights / weights.max()  # the sum of the largest floats is none
    if class_weight is not None:
        labels = targets.cpu().numpy()
        weights = weights * torch.from_numpy(_class_weights(class_weight, labels, num_classes))[labels]
        if float(weights.max()) <= 0:
            raise DataError("sample_weight and class_weight leave no sample that counts: give some of both")
    return (weights / weights.max() / (weights / weights.max()).mean()).float().to(targets.device)


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    try:
        return np.array(as_plain(values), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} holds what is no number ({first_line(error)}): give numbers") from error


def _class_weights(class_weight: Any, labels: NDArray[np.int64], num_classes: int) -> NDArray[np.float64]:
    """(K,) the weight of each class; 1 for a class that a dict does not name."""
    weights = np.ones(num_classes)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise SettingsError.wrong("class_weight", class_weight, "balanced, a dict or weights per class")
        count = np.bincount(labels, minlength=num_classes)
        return np.asarray(len(labels) / ((count > 0).sum() * np.maximum(count, 1)))
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in range(num_classes)]
        if unknown:
            raise DataError(
                f"class_weight has a weight for {unknown[0]!r}, which is no class: they are 0 to"
                f" {num_classes - 1}"
            )
        weights[[int(label) for label in class_weight]] = _numbers([*class_weight.values()], "class_weight")
    else:
        weights = _numbers(class_weight, "class_weight")
        if weights.shape != (num_classes,):
            raise DataError(
                f"class_weight has shape {weights.shape} for {num_classes} classes: give one weight per class"
            )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise DataError("class weights must be finite, 0 or more, and not all 0")
    return weights


def split_soft(data: Any) -> tuple[Any, Tensor | None]:
    """(data, soft targets): where y is (N, K) floats, the likeliest class of each sample is its label."""
    if isinstance(data, TensorDataset) and len(data.tensors) == 2:
        data = data.tensors
    if not isinstance(data, tuple) or len(data) != 2 or isinstance(data[1], tuple) or np.ndim(data[1]) != 2:
        return data, None
    given = torch.as_tensor(np.asarray(as_plain(data[1])))
    if not given.is_floating_point() or given.shape[1] < 2:
        return data, None
    soft = given.double()
    if not bool(torch.isfinite(soft).all()) or bool((soft < 0).any()):
        raise DataError("soft targets must be finite and 0 or more: give the probability of each class")
    off = (soft.sum(1) - 1).abs() > _SUM_TOLERANCE
    if bool(off.any()):
        row = int(off.nonzero()[0])
        raise DataError(f"the soft targets of sample {row} add up to {float(soft[row].sum()):.4g}, not to 1")
    return (data[0], soft.argmax(1)), (soft / soft.sum(1, keepdim=True)).float()
