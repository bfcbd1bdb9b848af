"""The history holds what the network said of each sample, exactly."""

import numpy as np
import pytest
import torch

from graylearn.errors import CheckpointError, DataError
from graylearn.training import History


def filled(epochs=5, samples=7, classes=3, budget=1 << 20, skip=()):
    """A history of random logits, and the probabilities by numpy in float64."""
    generator = np.random.default_rng(0)
    targets = generator.integers(0, classes, samples)
    history = History(torch.from_numpy(targets), classes, epochs, budget=budget)
    probabilities = np.full((epochs, samples, classes), np.nan)
    for epoch in range(epochs):
        history.start_epoch(epoch)
        seen = np.array([place for place in generator.permutation(samples) if (epoch, place) not in skip])
        for index in np.array_split(seen, 3):
            logits = generator.normal(size=(len(index), classes)) * 3
            power = np.exp(logits - logits.max(1, keepdims=True))
            probabilities[epoch, index] = power / power.sum(1, keepdims=True)
            right = history.record(
                epoch, torch.from_numpy(index), torch.from_numpy(targets[index]), torch.from_numpy(logits)
            )
            np.testing.assert_array_equal(right, logits.argmax(1) == targets[index])
        history.end_epoch(epoch)
    label = np.take_along_axis(probabilities, targets[None, :, None], axis=2)[:, :, 0]
    return history, label, probabilities


def test_all_epochs_are_kept_in_compact_arrays():
    history, label, probabilities = filled()
    assert history.label_confidence.dtype == np.float16
    assert history.predicted.dtype == np.uint8
    np.testing.assert_allclose(history.label_confidence, label, atol=5e-4)
    np.testing.assert_allclose(history.max_confidence, probabilities.max(2), atol=5e-4)
    np.testing.assert_array_equal(history.predicted, probabilities.argmax(2))
    np.testing.assert_allclose(history.mean_label_confidence(), label.mean(0), atol=5e-4)
    np.testing.assert_allclose(history.recent_label_confidence(2), label[-2:].mean(0), atol=5e-4)
    np.testing.assert_allclose(history.recent_label_confidence(50), label.mean(0), atol=5e-4)


def test_beyond_the_budget_the_latest_epochs_are_kept():
    history, label, _ = filled(budget=7 * 5 * 2)  # two epochs of 7 samples at 5 bytes
    np.testing.assert_array_equal(history.kept_epochs, [3, 4])
    np.testing.assert_allclose(history.label_confidence, label[3:], atol=5e-4)
    np.testing.assert_allclose(history.mean_label_confidence(), label[3:].mean(0), atol=5e-4)
    assert (history.count == 2).all()


def test_a_sample_that_an_epoch_did_not_see_is_nan_there_and_left_out_of_means():
    history, label, _ = filled(skip={(0, 2), (4, 2), (4, 5)})
    expected = np.nanmean(label, axis=0)
    np.testing.assert_allclose(history.mean_label_confidence(), expected, atol=5e-4)
    np.testing.assert_array_equal(history.count, [5, 5, 3, 5, 5, 4, 5])
    assert np.isnan(history.label_confidence[-1, [2, 5]]).all()
    np.testing.assert_allclose(history.recent_label_confidence(2)[5], label[3, 5], atol=5e-4)


@pytest.mark.parametrize("budget", [1 << 20, 7 * 5 * 2])
def test_a_saved_history_comes_back_whole(budget, tmp_path):
    history, _, _ = filled(budget=budget)
    history.ids = np.array([f"file {place}.png" for place in range(7)], dtype=object)
    history.save(tmp_path / "history.npz")
    back = History.load(tmp_path / "history.npz")
    for name in ("label_confidence", "max_confidence", "predicted", "count", "kept_epochs", "targets", "ids"):
        np.testing.assert_array_equal(getattr(back, name), getattr(history, name))
    np.testing.assert_array_equal(back.mean_label_confidence(), history.mean_label_confidence())
    assert (back.num_classes, back.epochs) == (3, 5)


def test_what_is_not_a_history_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"not an archive")
    np.savez(tmp_path / "b.npz", ids=np.arange(3))
    np.save(tmp_path / "c.npz.npy", np.arange(3))
    (tmp_path / "c.npz.npy").rename(tmp_path / "c.npz")
    (tmp_path / "empty.npz").write_bytes(b"")
    filled()[0].save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "changed.npz").write_bytes(whole[:100] + b"?" + whole[101:])
    with np.load(tmp_path / "whole.npz") as file:
        kept = {name: file[name] for name in file.files if name != "finished_epochs"}
    np.savez(tmp_path / "older.npz", **kept)
    damaged = ("empty.npz", "cut.npz", "changed.npz", "older.npz")
    for name in ("a.npz", "b.npz", "c.npz", "missing.npz", *damaged):
        with pytest.raises(CheckpointError, match="not a saved history") as told:
            History.load(tmp_path / name)
        assert "allow_pickle" not in str(told.value)  # numpy's advice, which runs what the file says
    with pytest.raises(DataError, match="2 ids were given for 3 samples"):
        History(torch.zeros(3, dtype=torch.int64), 2, 1, ids=np.arange(2))
