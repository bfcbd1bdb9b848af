"""How samples are dealt to the parts of a large set, and come back in batches."""

import dataclasses

import numpy as np
import torch

from graylearn.audit import parts
from graylearn.data.samples import Samples
from graylearn.estimator import trainset

CLASSES, ROWS = 3, 900


def test_no_part_has_a_single_class():
    for counts in ([80, 80], [90, 70, 0], [40, 30, 30, 20]):
        label = np.repeat(np.arange(len(counts)), counts)
        part = parts.Dealing.of(counts, 40, seed=0)(np.arange(len(label)), label)
        assert all(len(np.unique(label[part == number])) > 1 for number in np.unique(part))


def test_every_sample_is_in_one_batch_of_an_epoch_and_the_order_is_new_each_time():
    x = np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2)
    rows = trainset.InParts([x[:400], x[400:410], x[410:]], lambda some: some + 1)
    some = np.array([899, 3, 405, 0, 410])
    assert (rows[some] == x[some] + 1).all()
    y = np.arange(ROWS) % CLASSES
    learned = trainset.plain_training_set(Samples(x, y, tuple(range(CLASSES)), np.arange(ROWS), "array"))
    batches = dataclasses.replace(learned, x=rows).batches(32)
    torch.manual_seed(0)
    first, second = list(batches), list(batches)
    for epoch in (first, second):
        seen, labels, index = (torch.cat(each) for each in zip(*epoch, strict=True))
        assert index.sort().values.tolist() == list(range(ROWS))
        assert (seen.numpy() == x[index] + 1).all()
        assert (labels.numpy() == y[index]).all()
        assert max(len(each) for _, each, _ in epoch) <= 40
        assert len(epoch) == len(batches)
    assert not torch.equal(first[0][2], second[0][2])
    torch.manual_seed(0)
    assert [each[2].tolist() for each in batches] == [each[2].tolist() for each in first]
