"""How samples are dealt to the parts of a large set, and come back in batches."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from graylearn.audit import parts
from graylearn.runs import fit

CLASSES, ROWS = 3, 900


def test_every_sample_is_dealt_once_and_few_of_a_class_stay_together():
    counts = [5000, 300, 7, 5000]
    dealing = parts.Dealing.of(counts, 950, seed=3)
    label = np.repeat([0, 1, 2, 3], counts)
    part = dealing(np.arange(len(label)), label)
    assert dealing.parts == 11
    sizes = np.bincount(part[label == 0], minlength=11)
    assert sizes.min() > 380
    assert sizes.max() < 540
    assert len(set(part[label == 1])) == 3
    assert len(set(part[label == 2])) == 1
    shuffled = np.random.default_rng(0).permutation(len(label))
    assert (dealing(shuffled, label[shuffled]) == part[shuffled]).all()


def test_no_part_has_a_single_class():
    for counts in ([80, 80], [90, 70, 0], [40, 30, 30, 20]):
        label = np.repeat(np.arange(len(counts)), counts)
        part = parts.Dealing.of(counts, 40, seed=0)(np.arange(len(label)), label)
        assert all(len(np.unique(label[part == number])) > 1 for number in np.unique(part))


def test_every_sample_is_in_one_batch_of_an_epoch_and_the_order_is_new_each_time(tmp_path):
    rows = np.delete(np.arange(ROWS), 7)  # one is no sample
    x, label = np.repeat(rows[:, None], 2, axis=1).astype(np.float32), rows % CLASSES
    files = parts.PartFiles(tmp_path / "parts", 3)
    files.deal(files.dealt(), ROWS, rows, label, x, rows // 2 % 3)
    for number in range(3):
        suspected = np.arange(len(np.fromfile(files.part(number) / "rows", np.int64))) < 50
        pq.write_table(pa.table({"suspected": suspected}), files.part(number) / "scores.parquet")
    batches = learned = fit.PartBatches(files).of_size(32)
    aside = learned.read(learned.folders[0], learned.new)[0][:, 0]
    assert len(learned.new) == int(0.05 * len(rows))
    assert learned.new.min() >= 50  # none that is suspected
    torch.manual_seed(0)
    first, second = list(batches), list(batches)
    for epoch in (first, second):
        seen, labels, index = (torch.cat(each) for each in zip(*epoch, strict=True))
        order = index.argsort()
        assert index[order].tolist() == list(range(len(rows) - len(aside)))
        assert seen[order, 0].tolist() == np.setdiff1d(rows, aside).tolist()
        assert (seen[:, 0] % CLASSES == labels).all()
        assert (batches.targets[index] == labels.numpy()).all()
        assert max(len(each) for _, each, _ in epoch) <= 40
        assert len(epoch) == len(batches)
    assert not torch.equal(first[0][2], second[0][2])
    torch.manual_seed(0)
    assert [each[2].tolist() for each in batches] == [each[2].tolist() for each in first]
