"""Networks with batch norm: no last batch of a few samples, and a look at the logits changes nothing."""

import torch
from torch import nn
from training_helpers import blobs

from graylearn.training import predict_logits, train


def normed():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def sizes_seen(model, data, **options):
    """The size of every training batch the network was given."""
    seen = []
    hook = model.register_forward_hook(lambda own, x, _: seen.append(len(x[0])) if own.training else None)
    train(model, data, log="none", **options)
    hook.remove()
    return seen


def test_the_last_two_batches_are_alike_where_there_is_batch_norm():
    x, y = blobs(samples=34)
    assert sizes_seen(normed(), (x, y), epochs=2, batch_size=16) == [16, 9, 9] * 2
    assert sizes_seen(normed(), (x[:32], y[:32]), epochs=1, batch_size=16) == [16, 16]
    assert sizes_seen(normed(), (x, y), epochs=1, batch_size=16, stream=True) == [16, 9, 9]
    dataset = [(row, int(label)) for row, label in zip(x, y, strict=True)]
    assert sizes_seen(normed(), dataset, epochs=1, batch_size=16) == [16, 9, 9]


def test_a_look_at_the_logits_leaves_each_module_its_own_mode():
    x, y = blobs()
    model = nn.Sequential(nn.Linear(x.shape[1], 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    model[1].eval()
    predict_logits(model, x)
    assert [module.training for module in model] == [True, False, True, True]
    before = model[1].running_mean.clone()
    train(model, (x, y), epochs=1)
    assert torch.equal(model[1].running_mean, before)
