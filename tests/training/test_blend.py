"""A method may give the network other inputs than those of the batch: alone, and beside others in a stack."""

from dataclasses import dataclass

import pytest
import torch.nn.functional as F
from training_helpers import assert_same_weights, blobs, mlp

from graylearn.methods import Method
from graylearn.training import train, train_stack

PLAIN = {"epochs": 2, "log": "none"}


@dataclass
class Halved(Method):
    """Standard training on inputs of half their size."""

    def blend(self, inputs):
        return inputs / 2

    def loss(self, step):
        return F.cross_entropy(step.logits, step.target, reduction="none")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_network_learns_from_what_its_method_blends(smoothing):
    x, y = blobs()
    options = {"label_smoothing": smoothing, **PLAIN}
    plain = train(mlp(), (x, y), method="standard", **options)
    halved = train(mlp(), (x / 2, y), method="standard", **options)
    assert_same_weights(train(mlp(), (x, y), method=Halved(), **options).model, halved.model)
    with pytest.raises(AssertionError):
        assert_same_weights(plain.model, halved.model)


def test_in_a_stack_each_network_has_its_own_inputs():
    x, y = blobs()
    alone = [train(mlp(), (inputs, y), method="standard", **PLAIN) for inputs in (x, x / 2)]
    stack = train_stack([mlp(), mlp()], (x, y), methods=["standard", Halved()], seeds=[0, 0], **PLAIN)
    for one, other in zip(stack, alone, strict=True):
        assert_same_weights(one.model, other.model)
