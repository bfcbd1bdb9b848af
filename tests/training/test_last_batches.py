"""The end of an epoch: networks with batch norm are not left with a last batch of a few samples."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from training_helpers import blobs

from graylearn.data.batches.base import ArrayBatches, batch_ends
from graylearn.data.batches.streams import StreamBatches
from graylearn.training import train


def normed(features=6, classes=3, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(features, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, classes))


def sizes_seen(model, data, **options):
    """The size of every training batch the network was given."""
    seen = []
    hook = model.register_forward_hook(lambda own, x, _: seen.append(len(x[0])) if own.training else None)
    train(model, data, log="none", **options)
    hook.remove()
    return seen


@given(st.integers(1, 400), st.integers(1, 64), st.booleans())
def test_batches_cover_an_epoch_and_an_even_tail_has_no_small_batch(samples, size, even):
    sizes = np.diff([0, *batch_ends(samples, size, even)])
    assert sizes.sum() == samples
    assert sizes.max() <= size
    assert sizes.min() >= 1
    plain = np.full(-(-samples // size), size)
    plain[-1] = samples - (len(plain) - 1) * size
    assert len(sizes) == len(plain)  # as many steps, so the same schedule
    if not even or len(sizes) == 1:
        np.testing.assert_array_equal(sizes, plain)
    else:
        assert (sizes[:-2] == size).all()
        assert sizes[-2] - sizes[-1] in (0, 1)
        assert 2 * sizes[-1] >= size


def test_the_last_two_batches_are_alike_where_there_is_batch_norm():
    x, y = blobs(samples=34)
    assert sizes_seen(normed(), (x, y), epochs=2, batch_size=16) == [16, 9, 9] * 2
    assert sizes_seen(normed(), (x[:32], y[:32]), epochs=1, batch_size=16) == [16, 16]
    assert sizes_seen(normed(), (x, y), epochs=1, batch_size=16, stream=True) == [16, 9, 9]
    dataset = [(row, int(label)) for row, label in zip(x, y, strict=True)]
    assert sizes_seen(normed(), dataset, epochs=1, batch_size=16) == [16, 9, 9]


def test_every_sample_is_seen_once_an_epoch_from_wherever_it_is_resumed():
    x, y = torch.arange(34.0)[:, None], torch.arange(34) % 3
    options = {"batch_size": 8, "device": torch.device("cpu"), "even_tail": True}
    order = lambda epoch: torch.randperm(34, generator=torch.Generator().manual_seed(epoch))  # noqa: E731
    held = ArrayBatches(x, y, order=order, **options)
    held.window = 2  # batches gathered at a time: the tail is cut over two windows
    rows = [(row, int(label)) for row, label in zip(x, y, strict=True)]
    streamed = StreamBatches(rows, order=order, **options)
    whole = [batch.index.tolist() for batch in held.epoch(1)]
    assert [len(index) for index in whole] == [8, 8, 8, 5, 5]
    assert [place for index in whole for place in index] == order(1).tolist()
    for start in range(6):
        for source in (held, streamed):
            batches = list(source.epoch(1, start))
            assert [batch.index.tolist() for batch in batches] == whole[start:]
            for batch in batches:
                assert batch.inputs[:, 0].tolist() == batch.index.tolist()
                assert batch.target.tolist() == (batch.index % 3).tolist()
