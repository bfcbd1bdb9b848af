"""What the loop makes of the user's network: a second one, and a look at its logits."""

import torch
from torch import nn
from training_helpers import blobs

from graylearn.training import predict_logits, train
from graylearn.training.networks import fresh_copy


def backbone_and_head():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    backbone[1].running_mean.fill_(0.5)
    for value in backbone.parameters():
        value.requires_grad_(False)
    return nn.Sequential(backbone, nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_the_second_network_keeps_what_is_frozen_and_draws_the_rest():
    model = backbone_and_head()
    model[1].bias.requires_grad_(False)  # beside a weight that learns
    model[2].running_mean.fill_(0.5)
    peer = fresh_copy(model)
    for name, mine in model[0].state_dict().items():
        assert torch.equal(mine, peer[0].state_dict()[name]), name
    assert torch.equal(model[1].bias, peer[1].bias)
    assert not torch.equal(model[1].weight, peer[1].weight)
    assert not torch.equal(model[4].weight, peer[4].weight)
    assert float(peer[2].running_mean.abs().max()) == 0
    assert [value.requires_grad for value in peer.parameters()] == [
        value.requires_grad for value in model.parameters()
    ]


def test_a_look_at_the_logits_leaves_each_module_its_own_mode():
    x, y = blobs()
    model = nn.Sequential(nn.Linear(x.shape[1], 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    model[1].eval()
    predict_logits(model, x)
    assert [module.training for module in model] == [True, False, True, True]
    before = model[1].running_mean.clone()
    train(model, (x, y), epochs=1)
    assert torch.equal(model[1].running_mean, before)
