"""The norms of a real network's layers, as the bounds need them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from graylearn.errors import SettingsError


def layer_norms(model: nn.Module, example: Tensor | None = None) -> list[float]:
    """Frobenius norms of the weight matrices of a network's linear and convolutional layers, in order.

    With `example`, a batch that the network takes, layers come in the order they run, and a layer that is
    applied at many places counts as the whole matrix it stands for: its norm grows with the square root of
    the number of places (at padded borders the true one is a little smaller). Without an example, the
    network may hold linear layers alone. The theorems know neither biases nor batch norm, which are left
    out here, nor shortcuts, whose layers are listed like any other.
    """
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d)]
    if not layers:
        raise SettingsError(
            f"{type(model).__name__} has no linear or convolutional layer, expected at least one to measure"
        )
    if example is None:
        if not all(isinstance(layer, nn.Linear) for layer in layers):
            raise SettingsError(
                f"{type(model).__name__} has convolutions, whose matrices grow with the input: "
                "give a batch as example="
            )
        return [float(layer.weight.detach().norm()) for layer in layers]
    norms: list[float] = []

    def measure(layer: nn.Module, _: object, output: Tensor) -> None:
        # Every output value has one row of the matrix, and one row of weights serves all its places.
        rows = output.numel() / len(example)
        weight = layer.get_parameter("weight")
        norms.append(float(weight.detach().norm()) * math.sqrt(rows / len(weight)))

    hooks = [layer.register_forward_hook(measure) for layer in layers]
    was_training = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with torch.no_grad():
            model(example)
    finally:
        for module, mode in was_training.items():
            module.training = mode
        for hook in hooks:
            hook.remove()
    return norms
