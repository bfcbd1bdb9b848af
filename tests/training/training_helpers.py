"""Small networks, small data and the plain loop that the engine is held against."""

import copy
import platform
import signal

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset, IterableDataset

from graylearn.methods import Method
from graylearn.training import OptimizerSettings, train
from graylearn.training.seeding import epoch_order


def blobs(samples=120, features=6, classes=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(samples) % classes
    centres = torch.randn(classes, features, generator=generator) * 2
    return centres[y] + torch.randn(samples, features, generator=generator), y


def mlp(features=6, classes=3, seed=0, dropout=0.0):
    torch.manual_seed(seed)
    middle = [nn.ReLU(), nn.Dropout(dropout)] if dropout else [nn.ReLU()]
    return nn.Sequential(
        nn.Linear(features, 16), *copy.deepcopy(middle), nn.Linear(16, 16), *middle, nn.Linear(16, classes)
    )


class Opaque(nn.Module):
    """The same network in a form that cannot be taken apart, so that the general learner trains it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        if x.sum() > float("inf"):
            raise AssertionError
        return self.model(x)


def hand_loop(model, x, y, optimizer, *, epochs, batch_size, seed=0, rates=None, weights=None):
    """The plain loop, and what it saw: label confidence, max confidence, prediction by epoch and sample."""
    seen = np.zeros((3, epochs, len(x)))
    step = 0
    for epoch in range(epochs):
        for index in epoch_order(len(x), seed, epoch).split(batch_size):
            if rates is not None:
                optimizer.param_groups[0]["lr"] = rates[step]
            optimizer.zero_grad()
            logits = model(x[index])
            losses = F.cross_entropy(logits, y[index], reduction="none")
            if weights is not None:
                losses = losses * weights[index]
            losses.mean().backward()
            optimizer.step()
            step += 1
            q = torch.softmax(logits.detach().double(), 1)
            seen[0, epoch, index] = q.gather(1, y[index, None])[:, 0]
            seen[1, epoch, index], seen[2, epoch, index] = q.max(1)
    return seen


IN_BITS = 0 if platform.machine() in ("arm64", "aarch64") else 2e-5
"""How far weights may differ that come from products of other shapes: not at all on ARM. Kernels for other
processors may sum in an order that goes by the shape."""


def assert_same_weights(model, other, tolerance=2e-5):
    for (name, mine), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(
            mine, theirs, rtol=0, atol=tolerance, msg=lambda text, n=name: f"{n}: {text}"
        )


OPTIMIZERS = {
    "adam": (OptimizerSettings("adam", 1e-2, weight_decay=1e-3), torch.optim.Adam, {"weight_decay": 1e-3}),
    "adamw": (OptimizerSettings("adamw", 1e-2, weight_decay=1e-2), torch.optim.AdamW, {"weight_decay": 1e-2}),
    "sgd": (
        OptimizerSettings("sgd", 1e-2, weight_decay=1e-3, momentum=0.9, nesterov=True),
        torch.optim.SGD,
        {"weight_decay": 1e-3, "momentum": 0.9, "nesterov": True},
    ),
    "plain sgd": (OptimizerSettings("sgd", 1e-2), torch.optim.SGD, {}),
}


def pictures(samples=40, size=8):
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(256, (samples, size, size, 3), dtype=torch.uint8, generator=generator)
    return x, torch.arange(samples) % 3


def cnn():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
    )


class StopAt(Method):
    """Cross entropy, and Ctrl-C in the step with this number, counted from 1."""

    per_sample = False

    def __init__(self, step=0):
        self.wanted, self.steps = step, 0

    def loss(self, step):
        self.steps += 1
        if self.steps == self.wanted:
            signal.raise_signal(signal.SIGINT)
        return F.cross_entropy(step.logits, step.target, reduction="none")


def fit_into(folder, **changes):
    options = {"method": "gl", "epochs": 2, "batch_size": 16, "checkpoint": folder, "log": "none", **changes}
    return train(mlp(), blobs(), **options)


class Mapped(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, place):
        return self.x[place], int(self.y[place])


class Flowing(IterableDataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __iter__(self):
        return zip(self.x, self.y, strict=True)


class IterAgain:
    """An iterable of batches that has no length and no items."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)
