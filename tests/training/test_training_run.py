"""What a run tells and how it ends: divergence, progress, interruption."""

import os
import signal

import pytest
import torch
from torch import nn
from training_helpers import Opaque, blobs, mlp

from graylearn.errors import DivergedError
from graylearn.methods import make_method
from graylearn.training import train
from graylearn.training.checkpoint import load_checkpoint
from graylearn.training.seeding import epoch_order


@pytest.mark.parametrize("opaque", [False, True])
def test_a_loss_that_is_not_finite_stops_and_says_where_and_what_to_try(opaque, tmp_path):
    x, y = blobs()
    x[7] = 3e38  # finite, and too much for any layer
    model = Opaque(mlp()) if opaque else mlp()
    with pytest.raises(DivergedError, match=r"epoch 1, at learning rate 0.001: try 0.0001") as caught:
        train(model, (x, y), method="standard", epochs=3, checkpoint=tmp_path, log="none")
    # the step is the one that first met the sample
    step = int((epoch_order(120, 0, 0) == 7).nonzero()) // 16 + 1
    assert f"at step {step} of 8" in str(caught.value)
    assert not (tmp_path / "checkpoint.safetensors").exists()


def test_divergence_keeps_the_last_good_checkpoint(tmp_path):
    method = make_method("standard")
    plain = method.loss
    method.loss = lambda step: plain(step) * (float("nan") if step.epoch == 2 else 1.0)
    with pytest.raises(DivergedError, match="epoch 3"):
        train(mlp(), blobs(), method=method, epochs=4, checkpoint=tmp_path, log="none")
    assert load_checkpoint(tmp_path)[1]["epoch"] == 2


def test_without_a_terminal_each_epoch_is_one_plain_line(capsys):
    result = train(mlp(), blobs(), epochs=2, validation=blobs(), log="auto")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(f"epoch 2/2  loss {result.log[1]['loss']:.4f}  accuracy ")
    assert f"validation {result.log[1]['validation_accuracy']:.4f}" in lines[1]


def test_ctrl_c_in_this_process_returns_what_there_is():
    method = make_method("standard")
    plain = method.loss

    def loss(step):
        if step.epoch == 1:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(0, 0)  # the signal is delivered at the latest when this call returns
        return plain(step)

    method.loss = loss
    before = signal.getsignal(signal.SIGINT)
    # the first signal asks to stop after the step; the loss is not computed again, so no second one comes
    result = train(mlp(), blobs(), method=method, epochs=5, log="none")
    assert result.interrupted
    assert len(result.log) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_at_the_very_end_is_not_forgotten():
    interrupt = lambda end: signal.raise_signal(signal.SIGINT)  # noqa: E731
    result = train(mlp(), blobs(), epochs=1, log="none", callbacks=[interrupt])
    assert len(result.log) == 1
    assert result.interrupted
    with pytest.raises(KeyboardInterrupt):
        result.raise_if_interrupted()
    undisturbed = train(mlp(), blobs(), epochs=1, log="none")
    assert undisturbed.raise_if_interrupted() is undisturbed


def test_the_second_ctrl_c_stops_at_once():
    method = make_method("standard")

    def loss(step):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            torch.zeros(1)
        return step.logits.sum(1)

    method.loss = loss
    with pytest.raises(KeyboardInterrupt):
        train(mlp(), blobs(), method=method, epochs=5, log="none")


@pytest.mark.parametrize(("width", "expected"), [(16, 1), (4096, 2)])
def test_small_networks_train_on_one_thread_and_give_the_others_back(width, expected):
    x, y = blobs()
    seen = []
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        model = nn.Sequential(nn.Linear(x.shape[1], width), nn.ReLU(), nn.Linear(width, int(y.max()) + 1))
        train(
            model, (x, y), epochs=1, batch_size=1024, log="none",
            callbacks=[lambda end: seen.append(torch.get_num_threads())],
        )  # fmt: skip
        assert seen == [expected]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
