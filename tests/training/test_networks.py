"""A look at the logits of the user's network leaves it as it was."""

import torch
from torch import nn
from training_helpers import blobs

from graylearn.training import predict_logits, train


def test_a_look_at_the_logits_leaves_each_module_its_own_mode():
    x, y = blobs()
    model = nn.Sequential(nn.Linear(x.shape[1], 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    model[1].eval()
    predict_logits(model, x)
    assert [module.training for module in model] == [True, False, True, True]
    before = model[1].running_mean.clone()
    train(model, (x, y), epochs=1)
    assert torch.equal(model[1].running_mean, before)
