"""`train_stack`: many small networks at once, one batched matrix product per layer, for sweeps and folds."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from graylearn.data.batches import ArrayBatches, Preparation, check_lengths
from graylearn.errors import DataError, SettingsError
from graylearn.methods import Method, as_method
from graylearn.training import devices, seeding
from graylearn.training.loop import Loop
from graylearn.training.mlp import Layer, MLPLearner, mlp_layers
from graylearn.training.optimizers import OptimizerSettings, ScheduleSettings
from graylearn.training.result import Result
from graylearn.training.settings import Settings, resolve
from graylearn.training.sources import as_labels, as_tensor, check_finite, check_labels, weights_for

_FOR_ONE = ("checkpoint", "label_smoothing", "augment", "scale", "compile", "patience")
"""Settings of a single training."""
_NOT_READ = ("seed", "precision", "logits", "resume", "stream", "workers", "checkpoint_epochs")
"""Those of `settings` are not read; to name one in the call is an error."""


def train_stack(
    models: Sequence[nn.Module] | Callable[[], nn.Module],
    data: tuple[Any, Any],
    *,
    methods: str | Method | Sequence[str | Method] = "gl",
    seeds: int | Sequence[int] = 0,
    settings: Settings | None = None,
    sample_weight: Any = None,
    **changes: Any,
) -> list[Result]:
    """Train several multilayer perceptrons of one shape side by side; one Result per model, in order.

    `models` are `nn.Sequential`s of linear layers with ReLU and dropout between, or MLPs of `graylearn.nets`;
    or a function that makes one, called once per model after seeding with its seed. `methods` and `seeds` are
    one for all or one per model; the seed of a model decides its order of samples, as it does in `train`.
    `data` is (x, y), x of shape (num_samples, features) shared or (models, num_samples, features), y of shape
    (num_samples,) or (models, num_samples). `sample_weight` has the shape of y; a sample of weight 0 is not
    learned from, yet its confidence is in the history: held-out folds at no extra pass. Methods that read
    features are given what the last linear layer reads. `changes` are fields of Settings, as in `train`. All
    is computed in float32, whatever the precision of `settings`.

    ```python
    import torch

    import graylearn as gl

    x, y = torch.randn(64, 5), torch.randint(0, 3, (64,))
    make = lambda: torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    results = gl.train_stack(make, (x, y), methods=["standard", "gl"], epochs=2)
    [result.log[-1]["loss"] for result in results]
    ```
    """
    began = time.perf_counter()
    chosen = resolve(None, settings, **changes)
    _check(chosen, changes)
    count = _count(models, methods, seeds)
    numbers = [int(seeds)] * count if isinstance(seeds, int | Integral) else [int(seed) for seed in seeds]
    listed = [methods] * count if isinstance(methods, str | Method) else methods
    chosen_methods = [as_method(copy.deepcopy(item)) for item in listed]
    for method in chosen_methods:
        if method.networks != 1 or method.average is not None:
            raise SettingsError(
                f"{type(method).__name__} asks two networks, which a stack cannot give: train it alone"
            )
    where = devices.choose(chosen.device)
    with seeding.seeded(numbers[0], where), devices.prepared(where):
        nets = _networks(models, numbers) if callable(models) else list(models)
        if not all(isinstance(net, nn.Module) for net in nets):
            raise SettingsError(f"models hold {type(nets[0]).__name__}, expected torch modules")
        layers = _layers_of_all(nets)
        x, y = _sets(as_tensor(data[0]), as_labels(data[1]), count)
        source = ArrayBatches(
            x,
            y.reshape(-1),
            batch_size=chosen.batch_size,
            order=lambda epoch: torch.stack(
                [seeding.epoch_order(y.shape[1], seed, epoch) for seed in numbers]
            ),
            device=where,
            models=count,
        )
        num_classes = list(nets[0].parameters())[-1].shape[0]
        check_labels(source.targets, num_classes)
        for net in nets:
            net.to(where)
        assert isinstance(chosen.optimizer, OptimizerSettings)
        learner = MLPLearner(
            nets,
            layers,
            chosen.optimizer,
            where,
            features=any(method.needs_features for method in chosen_methods),
            generator=seeding.own_generator(where),
            clip_norm=chosen.clip_norm,
        )
        weights = weights_for(sample_weight, source.targets, models=count)
        loop = Loop(
            nets, learner, source, chosen_methods, numbers, chosen, num_classes=num_classes, weights=weights
        )
        loop.run()
    return loop.results(Preparation(), time.perf_counter() - began)


def _check(chosen: Settings, changes: Mapping[str, Any]) -> None:
    """Refuse what a stack cannot train with."""
    if not isinstance(chosen.optimizer, OptimizerSettings):
        raise SettingsError("a stack cannot use an optimizer of your own: name sgd, adam or adamw")
    if not isinstance(chosen.schedule, ScheduleSettings):
        raise SettingsError(
            "a stack cannot use a scheduler of torch: name constant, step, one-cycle or cosine"
        )
    given = [name for name in _FOR_ONE if getattr(chosen, name)]
    given += [name for name in _NOT_READ if changes.get(name) is not None]
    if given:
        raise SettingsError(
            f"a stack takes no {given[0]}: leave {given[0]} out, or train the models one by one"
        )


def _sets(x: Tensor, y: Tensor, models: int) -> tuple[Tensor, Tensor]:
    """(rows, D) samples of all models or of one after the other, and the labels (models, N) of each."""
    if x.ndim not in (2, 3) or (x.ndim == 3 and len(x) != models):
        raise DataError(
            f"x has shape {tuple(x.shape)}, expected (num_samples, features) for all models"
            f" or ({models}, num_samples, features), one set per model"
        )
    if y.ndim not in (1, 2) or (y.ndim == 2 and len(y) != models):
        raise DataError(f"y has shape {tuple(y.shape)}, expected (num_samples,) or ({models}, num_samples)")
    y = y.expand(models, -1)
    check_lengths(x[0] if x.ndim == 3 else x, y[0])
    check_finite(x)
    return x.reshape(-1, x.shape[-1]), y


def _layers_of_all(models: list[nn.Module]) -> list[Layer]:
    """The layers of the first network, once all are known to be like it."""
    layers = [mlp_layers(model) for model in models]
    shapes = [[value.shape for value in model.parameters()] for model in models]
    first = layers[0]
    if first is None or any(own != first for own in layers) or any(own != shapes[0] for own in shapes):
        raise SettingsError(
            "a stack needs networks of one shape, nn.Sequential or MLP of linear layers with ReLU and dropout"
            " between, each layer used once and without hooks: train others one by one"
        )
    return first


def _count(models: Any, methods: Any, seeds: Any) -> int:
    """How many models there are, once all that is given one per model agrees."""
    lengths = {
        name: len(value)
        for name, value in (("models", models), ("methods", methods), ("seeds", seeds))
        if not isinstance(value, str | Integral | Method) and not callable(value)
    }
    if not lengths:
        raise SettingsError("how many models? Give a list of models, methods or seeds")
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise SettingsError(f"there are {told}: give one each, or one for all")
    if 0 in lengths.values():
        raise SettingsError("there is no model to train")
    return next(iter(lengths.values()))


def _networks(make: Callable[[], nn.Module], seeds: list[int]) -> list[nn.Module]:
    made = []
    for seed in seeds:
        seeding.seed_global(seed, "weights")
        made.append(make())
    return made
