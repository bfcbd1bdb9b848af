"""`train`: one network, any data, any method."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from graylearn.errors import CheckpointError, SettingsError
from graylearn.methods import Method, as_method
from graylearn.methods.base import Softened
from graylearn.training import devices, seeding
from graylearn.training.checkpoint import (
    Saved,
    described,
    has_checkpoint,
    load_checkpoint,
    writes_checkpoints,
)
from graylearn.training.learner import ModuleLearner, compile_if_worth_it
from graylearn.training.loop import Callback, Loop
from graylearn.training.mlp import AnyLearner, MLPLearner, mlp_layers
from graylearn.training.networks import batch_norms, frozen_norms, network_for, one_of_logits
from graylearn.training.optimizers import (
    OptimizerSettings,
    ScheduleSettings,
    make_optimizer,
)
from graylearn.training.processes import Group, check_method, hand_over
from graylearn.training.processes import current as current_group
from graylearn.training.result import Result, evaluate
from graylearn.training.settings import Settings, resolve
from graylearn.training.sources import (
    Training,
    check_labels,
    make_training,
    read_labelled,
    split_soft,
    weights_for,
)


def train(
    model: nn.Module,
    data: Any,
    *,
    method: str | Method = "gl",
    preset: str | None = None,
    settings: Settings | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    validation: Any = None,
    callbacks: Callback | Sequence[Callback] = (),
    **changes: Any,
) -> Result:
    """Train `model`, any module that returns logits, on `data` with a method of learning from dirty labels.

    `data` is (x, y) arrays or tensors, Samples, a Dataset, a DataLoader, or an iterable of (x, y) or
    (x, y, index) batches. Where the model reads several inputs, x is a dict, which it is called with by
    keywords, or a tuple; an item or a batch may be one dict with its labels in it. `method` is a name in
    METHODS or a Method. `changes` are fields of Settings, such as epochs=30, and learning_rate; others are
    those of `settings`, or of `preset` (a name in PRESETS). y of shape (N, K) are probabilities of the
    classes. `sample_weight` weights the losses (scaled to mean 1), and so does `class_weight`: "balanced", a
    dict from class to weight, or one weight per class. `validation`, such as (x, y), is evaluated after each
    epoch (`patience` ends the run by it), and each of `callbacks` is called with an EpochEnd after it.

    ```python
    import torch

    import graylearn as gl

    x, y = torch.randn(64, 5), torch.randint(0, 3, (64,))
    result = gl.train(torch.nn.Linear(5, 3), (x, y), method="gl", epochs=2)
    result.history.label_confidence.shape                   # (2 epochs, 64 samples)
    ```
    """
    began = time.perf_counter()
    chosen = resolve(preset, settings, **changes)
    chosen_method = as_method(method)
    called = _listed(callbacks)
    if not isinstance(model, nn.Module):
        raise SettingsError.wrong("model", model, "a torch module that returns logits")
    where = devices.choose(chosen.device)
    hand_over(
        {
            "model": model,
            "data": data,
            "method": chosen_method,
            "settings": replace(chosen, device=None if where.type == "cuda" else where, log="none"),
            "sample_weight": sample_weight,
            "class_weight": class_weight,
            "validation": None if chosen.patience is None else validation,
        }
    )
    data, soft = split_soft(data)
    if soft is not None or chosen.label_smoothing:
        chosen_method = Softened(chosen_method, chosen.label_smoothing, soft)
    group = current_group()
    if group is not None:
        check_method(chosen_method)
    if chosen.patience is not None and validation is None:
        raise SettingsError("patience waits for a better epoch on a validation set: give validation=(x, y)")
    writes = group is None or group.is_first
    with (
        writes_checkpoints(chosen.checkpoint if writes else None),
        seeding.seeded(chosen.seed, where),
        devices.prepared(where),
    ):
        saved = _saved(chosen) if writes else None
        if group is not None:
            saved = group.from_first(saved)
        measures = len(frozen_norms(model)) < len(batch_norms(model))
        training = _training(model, data, chosen, where, group, even_tail=measures)
        source = training.source
        half = devices.autocast_type(chosen.precision, where, training.example.ndim == 4)
        network, num_classes = one_of_logits(model, training.example, chosen.logits, half)
        check_labels(source.targets, num_classes)
        learner = _learner(network, chosen_method, chosen, where, training, half)
        learner.group = group
        weights = weights_for(sample_weight, source.targets, class_weight, num_classes)
        validate: Callable[[], dict[str, float]] | None = None
        if validation is not None:
            precision = next((name for name, kind in devices.HALF.items() if kind == half), "fp32")
            asked: dict[str, Any] = {"preparation": training.preparation, "precision": precision}
            asked |= {"device": where, "logits": chosen.logits}
            validate = partial(evaluate, model, *read_labelled(validation, "validation"), **asked)
        loop = Loop(
            [model],
            learner,
            source,
            [chosen_method],
            [chosen.seed],
            chosen,
            num_classes=num_classes,
            weights=weights,
            ids=training.ids,
            callbacks=called,
            validate=validate,
        )
        weighed = weights is not None and hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest()
        # compared in this order: another method may mean other weights, and these another optimizer
        identity = {
            "method": described(chosen_method),
            "weights": {name: list(value.shape) for name, value in learner.weights().items()},
            **chosen.describe(),
            **learner.describe(),
            **loop.describe_schedule(),
            "data": training.fingerprint,
            "learner": type(learner).__name__,
            **({} if group is None else {"processes": group.size}),
            "sample_weight": weighed,
        }
        loop.resume(identity, saved)
        if isinstance(learner, ModuleLearner):
            compile_if_worth_it(learner, chosen, source, chosen_method, training.example, loop.reporter.note)
        loop.run()
        if isinstance(learner, ModuleLearner) and learner.optimizer is chosen.optimizer:
            learner.set_learning_rate(learner.base_rate)  # for further use by its owner
        model.zero_grad(set_to_none=True)  # their memory may belong to CUDA graphs, which the next run reuses
    return loop.results(training.preparation, time.perf_counter() - began)[0]


def _saved(settings: Settings) -> Saved | None:
    """The checkpoint to resume from, if any; refuses to write over a run."""
    folder = settings.checkpoint
    if folder is None or not has_checkpoint(folder):
        return None
    if not settings.resume:
        raise CheckpointError(
            f"{folder} holds a checkpoint already: pass resume=True to go on from it, or give another folder"
        )
    return load_checkpoint(folder)


def _training(
    model: nn.Module,
    data: Any,
    settings: Settings,
    device: torch.device,
    group: Group | None,
    even_tail: bool,
) -> Training:
    """The batches of this process; puts the model on the device, with the first process's weights."""
    shared = settings if group is None else replace(settings, batch_size=settings.batch_size * group.size)
    images = devices.autocast_type(settings.precision, device, True) or torch.float32
    training = make_training(data, shared, device, images, even_tail=even_tail)
    model.to(device)
    if group is not None:
        group.share(training.source)
        group.level(model)
    return training


def _learner(
    model: nn.Module,
    method: Method,
    settings: Settings,
    device: torch.device,
    training: Training,
    half: torch.dtype | None,
) -> AnyLearner:
    """The learner for this model."""
    simple = method.reads_logits_alone and half is None
    simple &= isinstance(settings.schedule, ScheduleSettings) and not settings.compile
    simple &= training.example.ndim == 2 and training.example.dtype == torch.float32
    if simple and isinstance(settings.optimizer, OptimizerSettings):
        layers = mlp_layers(model)
        if layers is not None:
            return MLPLearner(
                [model], layers, settings.optimizer, device,
                generator=seeding.own_generator(device), clip_norm=settings.clip_norm,
            )  # fmt: skip
    if method.networks > 1 and isinstance(settings.optimizer, torch.optim.Optimizer):
        raise SettingsError(
            f"{type(method).__name__} trains a second network, which a ready optimizer does not know:"
            " give a function of the parameters that makes one"
        )
    seeding.seed_global(settings.seed, "second network")
    network = network_for(model, networks=method.networks, needs_features=method.needs_features)
    network = network.to(device)
    if device.type == "cuda" and training.example.ndim == 4:
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    network.training = model.training  # tells which batch norms are frozen, here and in the mean
    mean = None if method.average is None else copy.deepcopy(network)
    return ModuleLearner(
        network,
        make_optimizer(settings.optimizer, network, device),
        device=device,
        half=half,
        clip_norm=settings.clip_norm,
        mean=mean,
    )


def _listed(callbacks: Callback | Sequence[Callback]) -> list[Callback]:
    """One or several, all of them functions."""
    called = [callbacks] if callable(callbacks) else list(callbacks)
    for callback in called:
        if not callable(callback):
            raise SettingsError(
                f"callbacks hold {type(callback).__name__}, expected functions of an EpochEnd"
            )
    return called
