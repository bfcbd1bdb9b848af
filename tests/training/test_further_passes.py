"""Passes that a method asks for beside the one on the batch, and batch norm's running statistics."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from training_helpers import blobs

from graylearn.methods import Method
from graylearn.training import train


def normed(momentum=0.1):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, momentum=momentum), nn.ReLU(), nn.Linear(8, 3))


class Further(Method):
    """Cross entropy, and one more pass on inputs of the method's own that costs nothing."""

    per_sample = False

    def __init__(self, made):
        self.made = made

    def loss(self, step):
        further = step.forward(self.made(step.inputs)).logits
        assert further.requires_grad
        return F.cross_entropy(step.logits, step.target, reduction="none") + 0 * further.sum()


@pytest.mark.parametrize("momentum", [0.1, None])
def test_running_statistics_are_of_the_samples_alone(momentum):
    plain, further = normed(momentum), normed(momentum)
    train(plain, blobs(samples=48), method="standard", epochs=2, batch_size=16, log="none")
    train(
        further, blobs(samples=48), method=Further(lambda x: 9 * x + 5), epochs=2, batch_size=16, log="none"
    )
    for name, value in plain[1].state_dict().items():
        torch.testing.assert_close(further[1].state_dict()[name], value, msg=name)
    assert further[1].track_running_stats


def test_a_further_pass_is_normed_by_its_own_batch():
    spread = []

    class Watched(nn.BatchNorm1d):
        def forward(self, x):
            out = super().forward(x)
            if self.training:
                spread.append((float(x.detach().std()), float(out.detach().std())))
            return out

    model = nn.Sequential(nn.Linear(6, 8), Watched(8), nn.ReLU(), nn.Linear(8, 3))
    train(model, blobs(samples=16), method=Further(lambda x: 9 * x), epochs=1, batch_size=16, log="none")
    (first, first_out), (second, second_out) = spread[-2:]
    assert second > 5 * first
    assert second_out == pytest.approx(first_out, rel=0.05)


def test_a_lone_sample_can_be_passed_again():
    x, y = blobs(samples=16)
    model = normed()
    train(model, (x, y), method=Further(lambda inputs: inputs[:1]), epochs=1, batch_size=16, log="none")
    assert all(torch.isfinite(value).all() for value in model.state_dict().values())
