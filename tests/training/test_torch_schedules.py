"""Ready optimizers and schedulers of torch, against loops by hand."""

import pytest
import torch
from torch.nn import functional as F
from torch.optim import lr_scheduler
from training_helpers import StopAt, assert_same_weights, blobs, mlp

from graylearn.errors import CheckpointError, SettingsError
from graylearn.training import TorchSchedule, train
from graylearn.training.seeding import epoch_order

PLAIN = {"method": "standard", "epochs": 4, "batch_size": 16, "log": "none"}
STEPS = 4 * 8

SCHEDULES = {
    "exponential": (lambda optimizer: lr_scheduler.ExponentialLR(optimizer, 0.5), "epoch"),
    "in sequence": (
        lambda optimizer: lr_scheduler.SequentialLR(
            optimizer,
            [lr_scheduler.ConstantLR(optimizer, 0.1, 1), lr_scheduler.CosineAnnealingLR(optimizer, 3)],
            [1],
        ),
        "epoch",
    ),
    "one cycle": (lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.1, STEPS + 1), "step"),
}


def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def by_hand(make, every):
    """The loop that anybody would write, and the rate at the end of each epoch."""
    model, (x, y), rates = mlp(), blobs(), []
    optimizer = optimizer_of(model)
    scheduler = make(optimizer)
    for epoch in range(4):
        for index in epoch_order(len(x), 0, epoch).split(16):
            rate = optimizer.param_groups[0]["lr"]
            optimizer.zero_grad()
            F.cross_entropy(model(x[index]), y[index]).backward()
            optimizer.step()
            if every == "step":
                scheduler.step()
        rates.append(rate)
        if every == "epoch":
            scheduler.step()
    return model, rates


def fit(make, every, stop=0, **options):
    model = mlp()
    chosen = {**PLAIN, "optimizer": optimizer_of(model), "schedule": TorchSchedule(make, every), **options}
    return train(model, blobs(), **{**chosen, "method": StopAt(stop)})


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_scheduler_does_what_it_does_by_hand_and_goes_on_from_a_checkpoint(name, tmp_path):
    make, every = SCHEDULES[name]
    whole = fit(make, every)
    wanted, rates = by_hand(make, every)
    assert_same_weights(whole.model, wanted, tolerance=1e-6)
    assert [row["learning_rate"] for row in whole.log] == pytest.approx(rates)
    assert fit(make, every, stop=19, checkpoint=tmp_path).interrupted  # in the third epoch
    resumed = fit(make, every, checkpoint=tmp_path, resume=True)
    assert_same_weights(resumed.model, whole.model, tolerance=0)


def test_a_run_goes_on_only_with_the_scheduler_and_the_optimizer_it_had(tmp_path):
    make, every = SCHEDULES["exponential"]
    fit(make, every, checkpoint=tmp_path)
    other = {"gamma": lambda optimizer: lr_scheduler.ExponentialLR(optimizer, 0.6), "none": None}
    for changed in ({"schedule": other["gamma"]}, {"schedule": "constant"}, {"accumulate": 2}):
        with pytest.raises(CheckpointError, match=f"its {next(iter(changed))} is"):
            fit(make, every, checkpoint=tmp_path, resume=True, **changed)
    adam = lambda parameters: torch.optim.Adam(parameters, lr=0.05)  # noqa: E731
    with pytest.raises(CheckpointError, match=r"its optimizer is \['SGD'"):
        fit(make, every, checkpoint=tmp_path, resume=True, optimizer=adam)


def test_a_plateau_is_seen_in_the_validation_set():
    x, y = blobs()
    model, plateau = mlp(), lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    wrong = (x, y.roll(1))  # gets worse from epoch to epoch
    options = {**PLAIN, "optimizer": optimizer_of(model), "schedule": plateau}
    result = train(model, (x, y), validation=wrong, **options)
    assert [row["learning_rate"] for row in result.log] == pytest.approx([0.05, 0.05, 0.005, 0.0005])
    assert [row["learning_rate"] for row in train(mlp(), (x, y), **PLAIN | {"schedule": plateau}).log] == [
        0.001
    ] * 4
    with pytest.raises(SettingsError, match="leave out every='step'"):
        train(mlp(), (x, y), **PLAIN | {"schedule": TorchSchedule(plateau, "step")})


def test_a_ready_optimizer_keeps_its_moments_and_its_rates():
    model, twin = mlp(), mlp()
    optimizer = torch.optim.Adam(
        [{"params": model[0].parameters(), "lr": 1e-3}, {"params": model[2:].parameters(), "lr": 1e-2}]
    )
    twin_optimizer = torch.optim.Adam(
        [{"params": twin[0].parameters(), "lr": 1e-3}, {"params": twin[2:].parameters(), "lr": 1e-2}]
    )
    x, y = blobs()
    for run in range(2):
        train(model, (x, y), optimizer=optimizer, schedule="cosine", seed=run, **PLAIN | {"epochs": 1})
        assert [group["lr"] for group in optimizer.param_groups] == [1e-3, 1e-2]
        for step, index in enumerate(epoch_order(len(x), run, 0).split(16)):
            factor = (1 + torch.cos(torch.tensor(torch.pi * step / 8))).item() / 2
            for group, rate in zip(twin_optimizer.param_groups, (1e-3, 1e-2), strict=True):
                group["lr"] = rate * factor
            twin_optimizer.zero_grad()
            F.cross_entropy(twin(x[index]), y[index]).backward()
            twin_optimizer.step()
    assert_same_weights(model, twin, tolerance=1e-6)
