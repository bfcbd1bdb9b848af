"""The end of an epoch: networks with batch norm are not left with a last batch of a few samples."""

from torch import nn
from training_helpers import blobs

from graylearn.training import train


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
