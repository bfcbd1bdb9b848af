"""float16 with a scaler, as far as a CPU can show it."""

import copy

import pytest
import torch
from torch.nn import functional as F
from training_helpers import assert_same_weights, blobs, mlp

from graylearn.errors import SettingsError
from graylearn.training import train
from graylearn.training.learner import ModuleLearner

CPU = torch.device("cpu")


def learner_of(model, clip_norm=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return ModuleLearner(model, optimizer, device=CPU, half=torch.float16, clip_norm=clip_norm)


def one_step(learner, scale=1.0, size=16):
    x, y = blobs()
    losses = F.cross_entropy(learner.forward(x[:size] * scale).logits.float(), y[:size], reduction="none")
    learner.gather(losses, torch.full((size,), 1 / size))
    learner.step()


def test_a_scaled_step_is_the_plain_one_and_clips_the_plain_gradient():
    model, twin = mlp(), mlp()
    learner = learner_of(model, clip_norm=0.1)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        one_step(learner)
        x, y = blobs()
        optimizer.zero_grad()
        F.cross_entropy(twin(x[:16]), y[:16]).backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.1)
        optimizer.step()
    assert_same_weights(model, twin, tolerance=2e-3)  # what float16 rounds
    with pytest.raises(AssertionError):
        assert_same_weights(model, mlp(), tolerance=2e-3)


def test_a_step_that_overflows_is_passed_over_and_the_scale_goes_down_and_into_the_checkpoint():
    model = mlp()
    learner = learner_of(model)
    one_step(learner)
    before = [value.detach().clone() for value in model.parameters()]
    scale = learner.scaler.get_scale()
    one_step(learner, scale=3e4)  # gradients beyond 65504
    assert learner.scaler.get_scale() == scale / 2
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    other = learner_of(mlp())
    other.load_weights(learner.weights())
    other.load_state_dict(copy.deepcopy(learner.state_dict()))
    for each in (learner, other):
        one_step(each)
    assert other.scaler.get_scale() == scale / 2
    assert_same_weights(other.network, model, tolerance=0)


def test_float16_is_for_cuda():
    with pytest.raises(SettingsError, match=r"fp16 is for CUDA devices, and this is cpu: .*precision='bf16'"):
        train(mlp(), blobs(), epochs=1, precision="fp16", device="cpu", log="none")
