"""Predictions of a trained network: logits in batches, loss and accuracy."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset

from graylearn.data.batches.base import Preparation, as_classes
from graylearn.data.batches.items import are_several, as_inputs, collate, inputs_of, joined, split_item
from graylearn.data.inputs import as_rows, is_hugging_face, is_sparse
from graylearn.errors import DataError
from graylearn.training.networks import Which, ask, in_eval_mode

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""The types of autocast by the name of the precision."""


def as_tensor(values: Any, what: str = "x") -> Tensor:
    """Arrays, tensors, lists or frames of numbers as a tensor; float64 becomes float32."""
    if isinstance(values, Tensor):
        tensor = values.detach()
    else:
        values = as_rows(values, what)
        if is_sparse(values):
            raise DataError(f"{what} is a sparse matrix: give it dense, as its toarray() is")
        array = np.asarray(values)
        kinds = values.dtypes if isinstance(values, pd.DataFrame) else [array.dtype]
        if array.dtype == object and all(map(pd.api.types.is_numeric_dtype, kinds)):
            array = values.to_numpy(np.float32, na_value=np.nan)  # flags beside floats, as of get_dummies
        if array.dtype.kind not in "biuf":
            mend = "encode tables and text before training"
            if what == "y":
                mend = "number the classes, as numpy.unique(y, return_inverse=True)[1] does"
            raise DataError(f"{what} holds {array.dtype}, expected numbers: {mend}")
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()  # torch warns of arrays that may not be written to
        tensor = torch.from_numpy(array)
    plain = tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested
    if not plain or tensor.is_meta or (tensor.dtype.itemsize == 1 and tensor.is_floating_point()):
        raise DataError(
            f"{what} is sparse, quantized, nested, of 8-bit floats or meta: give a dense float32 one"
        )
    if tensor.is_complex():
        raise DataError(f"{what} is complex: give real and imaginary parts as features of their own")
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def as_labels(values: Any) -> Tensor:
    """Labels as a tensor; False and True become 0 and 1."""
    labels = as_tensor(values, "y")
    return labels.long() if labels.dtype == torch.bool else labels


@torch.no_grad()
def predict_logits(
    model: nn.Module,
    x: Any,
    *,
    preparation: Preparation | None = None,
    batch_size: int = 2048,
    device: torch.device | str | None = None,
    precision: str = "fp32",
    logits: Which = None,
) -> NDArray[np.float32]:
    """Logits (N, K) of the samples `x`, with the model in eval mode.

    `preparation` is the one of the Result that trained the model: it holds the pixel scale of uint8 images.
    Several inputs are a dict or a tuple; `logits` says which they are if the model returns more. `x` may be
    a Dataset or a DataLoader, which are read a batch at a time, in the order they have.
    """
    if isinstance(x, DataLoader) or _is_dataset(x):
        batches = x if isinstance(x, DataLoader) else DataLoader(x, batch_size=batch_size, collate_fn=collate)
        kept: dict[str, Any] = {"preparation": preparation, "precision": precision, "logits": logits}
        each = [predict_logits(model, inputs_of(item), device=device, **kept) for item in batches]
        if not each:
            raise DataError("there are no samples to predict")
        return np.concatenate(each)
    samples: Any = as_inputs(x) if are_several(x) else as_tensor(getattr(x, "x", x))
    if device is None:
        device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    device = torch.device(device)
    preparation = preparation or Preparation()
    if precision not in HALF and preparation.dtype != torch.float32:  # trained under autocast
        preparation = dataclasses.replace(preparation, dtype=torch.float32)
    if samples.dtype == torch.uint8 and samples.ndim == 4 and not preparation.images:
        raise DataError("x holds uint8 images: give preparation=result.preparation, which knows their scale")
    autocast: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if precision in HALF:
        autocast = torch.autocast(device.type, dtype=HALF[precision])
    parts = []
    with in_eval_mode(model):
        for start in range(0, len(samples), batch_size):
            piece = preparation.stored(samples[start : start + batch_size].to(device, non_blocking=True))
            with autocast:
                parts.append(ask(model, preparation.finish(piece), logits).float())
    if not parts:
        raise DataError("there are no samples to predict")
    return torch.cat(parts).cpu().numpy()


def _is_dataset(data: Any) -> bool:
    """Whether it is read item by item, as datasets of torch and of Hugging Face are."""
    return isinstance(data, Dataset) or (is_hugging_face(data) and not isinstance(data, Mapping))


def check_sized(data: Any, name: str) -> None:
    """Refuse a map-style Dataset without a length."""
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset) and not hasattr(data, "__len__"):
        raise DataError(
            f"{name} is {type(data).__name__}, a Dataset without a length: give it a __len__, or make it an "
            "IterableDataset"
        )


def read_labelled(data: Any, name: str) -> tuple[Any, Any]:
    """(x, y) of samples with their labels; a Dataset or DataLoader is read once, into memory."""
    if isinstance(data, tuple | list) and len(data) == 2:
        return data[0], data[1]
    if _is_dataset(data):
        check_sized(data, name)
        data = DataLoader(data, batch_size=256, collate_fn=collate)
    if isinstance(data, DataLoader):
        parts = [split_item(item) for item in data]
        if not parts:
            raise DataError(f"there are no samples in {name}")
        if any(np.ndim(part[1]) == 0 for part in parts):
            raise DataError(f"the DataLoader of {name} gives no batches of (x, y): give it a batch_size")
        return joined([as_inputs(part[0]) for part in parts]), torch.cat([as_classes(y) for _, y, _ in parts])
    if hasattr(data, "x") and hasattr(data, "y"):  # Samples
        return data.x, data.y
    raise DataError(
        f"{name} is {type(data).__name__}, expected a tuple (x, y) with the labels, Samples, a Dataset or a"
        " DataLoader"
    )


def check_labels(targets: Tensor, num_classes: int) -> None:
    """Refuse labels for which the network has no logit."""
    if num_classes < 2:
        raise DataError("the network gives one logit per sample, expected one per class, even for two")
    largest = int(targets.max())
    if largest >= num_classes:
        raise DataError(
            f"there is a label {largest} but the network gives {num_classes} logits (0..{num_classes - 1})"
        )


def evaluate(model: nn.Module, x: Any, y: Any = None, **options: Any) -> dict[str, float]:
    """Mean cross entropy and accuracy of the model on samples with their true labels.

    Without `y`, x brings the labels: a tuple (x, y), Samples, a Dataset or a DataLoader, which are read into
    memory. Options are those of `predict_logits`.
    """
    if y is None:
        x, y = read_labelled(x, "x")
    logits = torch.from_numpy(predict_logits(model, x, **options))
    target = as_classes(as_tensor(y, "y")).cpu()
    if len(target) != len(logits):
        raise DataError(f"there are {len(logits)} samples but {len(target)} labels: one per sample is needed")
    check_labels(target, logits.shape[1])
    return {
        "loss": float(F.cross_entropy(logits, target)),
        "accuracy": float((logits.argmax(1) == target).double().mean()),
    }
