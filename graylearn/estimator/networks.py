"""The network of a classifier, how it is trained by default, and what it says of samples."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graylearn.data.batches import Augment, Preparation
from graylearn.errors import SettingsError
from graylearn.methods import Method, Output, as_method
from graylearn.nets import MLP, make
from graylearn.training import (
    OptimizerSettings,
    ScheduleSettings,
    Settings,
    predict_logits,
    seeding,
)
from graylearn.training.networks import FeatureTap, one_of_logits
from graylearn.training.optimizers import batch_size_for, epochs_for

NetworkLike = str | nn.Module | Callable[[int, tuple[int, ...]], nn.Module]
"""A name in NETS, a module (copied, never changed), or a function (num_classes, in_shape) -> module."""

DROPOUT, WIDE, WIDE_DROPOUT = 0.2, 256, 0.5
"""Of the default network for rows; more for rows of WIDE columns, such as sentence vectors. Accuracy on 22
kinds of questions (2,500 texts, three splits): .966, .951, .945, with 10 % wrong labels .967, .945, .934.
With .2: .970, .955, .939 and .951, .927, .913; beside logistic regression: docs/lab/refinement.md."""
_ROWS = 8192
"""Asked about at once."""
EPOCHS = 20
"""Passes over the training set; more over small ones."""


def build_network(
    network: NetworkLike,
    options: Mapping[str, Any] | None,
    num_classes: int,
    in_shape: tuple[int, ...],
    seed: int,
) -> nn.Module:
    """A network for samples of `in_shape`, its weights drawn for `seed`; a module keeps those it has."""
    with seeding.seeded(seed, torch.device("cpu")):
        seeding.seed_global(seed, "weights")
        if isinstance(network, str):
            name = ("mlp" if len(in_shape) == 1 else "small_cnn") if network == "auto" else network
            chosen = dict(options or {})
            if name == "mlp":
                chosen.setdefault("dropout", DROPOUT if math.prod(in_shape) < WIDE else WIDE_DROPOUT)
            return make(name, num_classes, in_shape, **chosen)
        if options:
            raise SettingsError(
                "network_options are for networks by name: build the module with them instead"
            )
        made: Any = network
        if isinstance(network, nn.Module):
            made = copy.deepcopy(network).cpu()
        elif callable(made):
            made = made(num_classes, in_shape)
        if not isinstance(made, nn.Module):
            raise SettingsError(
                f"network gave {type(made).__name__}: expected a name, a torch module or a function "
                "(num_classes, in_shape) that makes one"
            )
    _check_logits(made, num_classes, in_shape)
    return made


def _check_logits(network: nn.Module, num_classes: int, in_shape: tuple[int, ...]) -> None:
    """Refuse before training a network that does not give one logit a class."""
    device = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    _, found = one_of_logits(network, torch.zeros(2, *in_shape, device=device))
    if found != num_classes:
        raise SettingsError(
            f"the network gives {found} logits, expected {num_classes}: one logit a class; "
            "a function (num_classes, in_shape) can make it for any number"
        )


def method_for(method: str | Method, in_shape: tuple[int, ...]) -> str | Method:
    """The method that "auto" stands for, or the one given; in_shape is (channels, height, width) of images.

    Images are trained by SGD, whose steps shrink with the gradient: with many classes gl, which begins with
    2/K of it, learns too slowly (docs/lab/measurements.md). Rows are trained by Adam, and measured with gl.
    """
    if not isinstance(method, str) or method != "auto":
        return method
    return "gl-relative" if len(in_shape) == 3 else "gl"


HOW_TO_TRAIN = (
    "epochs", "batch_size", "learning_rate", "clip_norm", "accumulate", "average", "optimizer", "augment",
    "precision",
)  # fmt: skip
"""Parameters of a classifier that `training_settings` reads."""


def training_settings(
    num_samples: int,
    in_shape: tuple[int, ...],
    *,
    epochs: int | None,
    batch_size: int | None,
    learning_rate: float | None,
    optimizer: Any,
    augment: Augment | bool | None,
    cycle: bool = True,
    **others: Any,
) -> Settings:
    """Settings for a training set of this size; what is None is chosen here.

    Batches grow with the set, and the rate of Adam with the square root of the batch. The learning rate
    rises and falls once over the run (`cycle`), or is constant and lower.

    Measured with gl on six cells of benchmarks/audit_cells.py, two seeds: accuracy on clean sets, and with
    20 % OOD and 20 % flipped labels. One cycle 87.9 and 83.8, constant rate 88.0 and 82.7 (half the epochs
    87.1, 83.4; twice 88.9, 80.5; no dropout 88.0, 80.9; layers of 256 88.7, 81.8), the paper's 87.6, 82.3.
    """
    images = len(in_shape) == 3
    if batch_size is None:
        batch_size = batch_size_for(num_samples)
    if epochs is None:
        epochs = epochs_for(num_samples, batch_size, EPOCHS)
    by_name = optimizer is None or isinstance(optimizer, str)
    schedule = ScheduleSettings("one-cycle", warmup=0.2, initial=0.1, final=0.0)
    if by_name:
        name: Any = optimizer or ("sgd" if images else "adamw")
        if name == "sgd":
            rate = (0.1 if cycle else 0.04) * batch_size / 128
            extra: dict[str, Any] = {"momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
        else:
            rate = (2.5e-3 if cycle else 1e-3) * math.sqrt(batch_size / 32)
            extra = {"weight_decay": 1e-2} if name == "adamw" else {}
        chosen: Any = OptimizerSettings(name, rate if learning_rate is None else learning_rate, **extra)
    elif learning_rate is not None:
        raise SettingsError("learning_rate cannot reach into an optimizer of your own: set it there")
    else:
        chosen = optimizer
    if augment and not images:
        raise SettingsError("augment changes images, but X holds rows of features: leave it out")
    return Settings(
        epochs=epochs,
        batch_size=batch_size,
        optimizer=chosen,
        schedule=schedule if cycle and by_name else ScheduleSettings(),
        augment=(Augment() if augment is True else augment) or None,
        **others,
    )


def logits_of(network: nn.Module, x: NDArray[Any], preparation: Preparation) -> NDArray[np.float64]:
    """Logits (N, K) of encoded samples, on the device of the network.

    The small networks for rows are run in float64, so that what is said of a sample does not depend, not
    even in the last digits, on which others are asked about with it.
    """
    if type(network) is MLP and not preparation.images:
        return _exact(network, x, with_features=False)[0]
    return predict_logits(network, x, preparation=preparation).astype(np.float64)


def outputs_of(
    network: nn.Module, x: NDArray[Any], preparation: Preparation
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Logits (N, K), and what the last linear layer reads, (N, D); None of a network without one."""
    if type(network) is MLP and not preparation.images:
        return _exact(network, x)
    try:
        # a copy, because hooks catch features: two threads that ask at once must not catch each other's
        tap = FeatureTap(copy.deepcopy(network))
    except SettingsError:
        return logits_of(network, x, preparation), None
    features = []

    def logits_in(said: Output) -> Tensor:
        assert said.features is not None
        features.append(said.features.double().flatten(1).cpu().numpy())
        return said.logits

    logits = predict_logits(tap, x, preparation=preparation, logits=logits_in)
    return logits.astype(np.float64), np.concatenate(features)


@torch.no_grad()
def _exact(
    network: MLP, x: NDArray[Any], *, with_features: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Logits and features in float64; the network stays as it is, and its layers are not copied."""
    layers = [part for part in [*network.body, network.head] if isinstance(part, nn.Linear)]
    exact = [(part.weight.double(), part.bias.double()) for part in layers]
    logits, features = [], []
    for start in range(0, max(len(x), 1), _ROWS):
        rows = torch.from_numpy(np.ascontiguousarray(x[start : start + _ROWS], dtype=np.float64))
        hidden = rows.to(exact[0][0].device).flatten(1)
        for weight, bias in exact[:-1]:
            hidden = nn.functional.linear(hidden, weight, bias).relu_()
        if with_features:
            features.append(hidden.cpu().numpy())
        logits.append(nn.functional.linear(hidden, *exact[-1]).cpu().numpy())
    return np.concatenate(logits), np.concatenate(features) if with_features else None


# -- a committee: the mean of the logits of several perceptrons is itself a perceptron, as wide as all of them
#    together and without connections between them, so it is kept, saved and asked like one network ----------


def can_stand_side_by_side(network: nn.Module, settings: Settings) -> bool:
    """Whether several of this network can be trained as one stack and joined."""
    return type(network) is MLP and isinstance(settings.optimizer, OptimizerSettings)


def can_share_a_stack(method: str | Method) -> bool:
    """Whether a stack with held-out samples can train by this method: one network, whose features it leaves.

    Those that read features learn from all samples of a batch, also from those whose loss counts nothing.
    """
    return as_method(method).reads_logits_alone


def wide(one: MLP, count: int) -> MLP:
    """A network of the shape that so many of this one have together, with weights of its own."""
    dropout = next((part.p for part in one.body if isinstance(part, nn.Dropout)), 0.0)
    hidden = [count * part.out_features for part in one.body if isinstance(part, nn.Linear)]
    return MLP(one.num_classes, one.in_shape, hidden=hidden, dropout=dropout)


@torch.no_grad()
def joined(members: Sequence[MLP]) -> MLP:
    """One network that says the mean of the members' logits, exactly; they are of one shape."""
    first, count = members[0], len(members)
    layers = [[part for part in member.body if isinstance(part, nn.Linear)] for member in members]
    with torch.device("meta"):  # weights that are about to be replaced need not be drawn
        together = wide(first, count)
    deep = [name for name, part in together.body.named_children() if isinstance(part, nn.Linear)]
    weights: dict[str, Tensor] = {}
    for depth, name in enumerate(deep):
        own = [parts[depth] for parts in layers]
        blocks = [part.weight for part in own]
        # all read the same inputs; from then on each reads its own
        weights[f"body.{name}.weight"] = (
            torch.cat(blocks) if depth == 0 else torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
        )
        weights[f"body.{name}.bias"] = torch.cat([part.bias for part in own])
    heads = [member.head.weight / count for member in members]
    weights["head.weight"] = torch.cat(heads, dim=1) if deep else torch.stack(heads).sum(0)
    weights["head.bias"] = torch.stack([member.head.bias for member in members]).mean(0)
    # assigned, not written into: to make room for them on a device, torch imports sympy, a second
    together.load_state_dict(weights, assign=True)
    return together.eval()


def member_seeds(seed: int, count: int) -> list[int]:
    """The seeds of a committee: the first member is what one network would be."""
    return [seed, *(seeding.derive(seed, "member", index) for index in range(1, count))]
