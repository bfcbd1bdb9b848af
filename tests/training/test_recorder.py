"""A loop of anybody's gives the history that our own engine would have gathered."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax
from training_helpers import blobs

import graylearn as gl
from graylearn.errors import DataError

N, K, EPOCHS = 12, 3, 4


@pytest.fixture
def run():
    """Random logits (EPOCHS, N, K), labels and the label's probability by scipy in float64."""
    random = np.random.default_rng(0)
    logits, labels = random.normal(size=(EPOCHS, N, K)) * 3, random.integers(0, K, N)
    return logits, labels, softmax(logits, axis=2)[:, np.arange(N), labels]


def recorded(run, names=None, skip=(), **options):
    """Every epoch in an order of its own, in batches of five."""
    logits, labels, _ = run
    names = np.arange(N) if names is None else np.asarray(names)
    recorder = gl.Recorder(**options)
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation([i for i in range(N) if (epoch, i) not in skip])
        for rows in np.split(order, range(5, len(order), 5)):
            ids = torch.from_numpy(names[rows]) if names.dtype.kind == "i" else names[rows].tolist()
            recorder.record(ids, torch.from_numpy(logits[epoch, rows]), torch.from_numpy(labels[rows]))
        recorder.end_epoch()
    return recorder


def test_every_epoch_is_what_the_network_said(run):
    logits, labels, expected = run
    history = recorded(run).history
    np.testing.assert_array_equal(history.ids, np.arange(N))
    np.testing.assert_array_equal(history.targets, labels)
    np.testing.assert_allclose(history.label_confidence, expected, atol=5e-4)
    np.testing.assert_array_equal(history.predicted, logits.argmax(2))
    np.testing.assert_allclose(history.max_confidence, softmax(logits, axis=2).max(2), atol=5e-4)
    np.testing.assert_allclose(history.mean_label_confidence(), expected.mean(0), atol=5e-4)
    assert history.finished_epochs == EPOCHS


def test_samples_may_have_names_and_epochs_may_leave_some_out(run):
    names = [f"s{index:02}" for index in range(N)]
    history = recorded(run, names, skip={(0, 3), (0, 4), (2, 3)}).history
    assert history.ids.tolist() == names
    assert np.isnan(history.label_confidence[[0, 0, 2], [3, 4, 3]]).all()
    assert history.count.tolist() == [4, 4, 4, 2, 3, *[4] * 7]
    expected = run[2][[1, 3], 3].mean()
    np.testing.assert_allclose(history.mean_label_confidence()[3], expected, atol=5e-4)


def three_epochs(ids, x, y):
    """A history of three epochs in which every label is believed more and more."""
    recorder = gl.Recorder()
    for epoch in range(3):
        recorder.record(ids, torch.nn.functional.one_hot(y, 3) * (1.0 + epoch) + 0.1 * x[:, :3], y)
        recorder.end_epoch()
    return recorder.history


@pytest.mark.parametrize("name", ["photo {}".format, lambda row: 7000 - row])
def test_features_and_labels_are_brought_together_with_the_history_by_ids(name):
    x, y = blobs(samples=60)
    ids = [name(row) for row in range(60)]  # photo 10 comes before photo 2, and 6941 before 7000
    named, plain = three_epochs(ids, x, y), three_epochs(range(60), x, y)
    given = {"y": y, "features": x, "ids": ids}
    found = gl.Audit.from_history(named, **given).table
    wanted = gl.Audit.from_history(plain, **given).table
    assert list(found["id"]) == ids
    pd.testing.assert_frame_equal(found, wanted)
    given["ids"] = [*ids[:-1], ids[-1] * 2]
    with pytest.raises(gl.GraylearnError, match="the history has no sample"):
        gl.Audit.from_history(named, **given)
    other = [f"renamed {row}" for row in range(60)]
    assert list(gl.Audit.from_history(named, ids=other).ids) == other


@pytest.mark.parametrize("saved", [False, True])
def test_numbers_in_another_order_are_the_names_that_a_recorder_was_given(saved, tmp_path):
    """As of a frame that was shuffled. `gl.train` was told no names: there they are new ones, row by row."""
    x, y = blobs(samples=60)
    ids = np.random.default_rng(0).permutation(60)
    history, plain = three_epochs(ids, x, y), three_epochs(range(60), x, y)
    if saved:
        history.save(tmp_path / "history.npz")
        history = gl.History.load(tmp_path / "history.npz")
    found = gl.Audit.from_history(history, features=x, ids=ids).table
    wanted = gl.Audit.from_history(plain, features=x).table.assign(id=ids)
    pd.testing.assert_frame_equal(found, wanted)
    network = gl.nets.make("mlp", num_classes=3, in_shape=x.shape[1:])
    result = gl.train(network, (x, y), epochs=2, device="cpu", log="none")
    found = gl.Audit.from_history(result.history, y, features=x, ids=ids)
    assert list(found.ids) == list(ids)


@pytest.mark.parametrize("name", [int, "photo {}".format])
@pytest.mark.parametrize("again", [False, True])
def test_a_loop_goes_on_within_an_epoch_or_begins_it_again(run, name, again, tmp_path):
    """What torch.save keeps, torch.load reads without executing anything."""
    logits, labels, expected = run

    def record(recorder, epoch, rows):
        recorder.record([name(row) for row in rows], logits[epoch, rows], labels[rows])

    first, second = gl.Recorder(), gl.Recorder()
    record(first, 0, np.arange(N))
    first.end_epoch()
    record(first, 1, np.arange(5))
    torch.save(first.state_dict(), tmp_path / "checkpoint.pt")
    second.load_state_dict(torch.load(tmp_path / "checkpoint.pt"))
    torch.save(second.state_dict(), tmp_path / "checkpoint.pt")  # broken off a second time
    second.load_state_dict(torch.load(tmp_path / "checkpoint.pt"))
    record(second, 2 if again else 1, np.arange(0 if again else 5, N))
    second.end_epoch()
    record(second, 3, np.arange(N))
    second.end_epoch()
    order = np.argsort([name(row) for row in range(N)])
    np.testing.assert_array_equal(second.history.ids, [name(row) for row in order])
    said = expected[[0, 2 if again else 1, 3]][:, order]
    np.testing.assert_allclose(second.history.label_confidence, said, atol=5e-4)


FRAMES = {"array": np.asarray, "tensor": torch.as_tensor, "frame": pd.DataFrame, "list": lambda x: x.tolist()}


@pytest.mark.parametrize("as_kind", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", [int, "photo {}".format])
def test_features_may_be_of_samples_that_a_sampler_passed_over(name, as_kind):
    x, y = blobs(samples=60)
    drawn = [row for row in range(60) if row % 7]
    recorder = gl.Recorder()
    for epoch in range(3):
        logits = torch.nn.functional.one_hot(y, 3) * (1.0 + epoch) + 0.1 * x[:, :3]
        recorder.record([name(row) for row in drawn], logits[drawn], y[drawn])
        recorder.end_epoch()
    ids = None if name is int else [name(row) for row in range(60)]
    found = gl.Audit.from_history(recorder.history, y, as_kind(x.numpy()), ids)
    wanted = gl.Audit.from_history(
        recorder.history, y[drawn], as_kind(x.numpy()[drawn]), [name(row) for row in drawn]
    )
    assert list(found.ids) == [name(row) for row in drawn]
    pd.testing.assert_frame_equal(found.table, wanted.table)


def test_whose_the_rows_are_is_asked_where_it_cannot_be_told(run):
    """A history that numbers its samples from 0 on may be of any of the rows."""
    with pytest.raises(DataError, match=rf"the history saw {N} samples, .* of {N + 3}: give ids="):
        gl.Audit.from_history(recorded(run).history, features=np.zeros((N + 3, 3)))
    for nothing in (5, np.array(5.0)):
        with pytest.raises(DataError, match=r"X is (int|a single|ndarray).*: give rows|Expected 2D array"):
            gl.Audit.from_history(recorded(run).history, features=nothing)
    with pytest.raises(DataError, match=r"history is a Recorder.* its \.history"):
        gl.Audit.from_history(gl.Recorder())


@pytest.mark.parametrize(
    ("ids", "logits", "labels", "told"),
    [
        ([0, 1], torch.zeros(2, 3, 4), torch.zeros(2).long(), r"logits have shape \(2, 3, 4\)"),
        ([0, 1, 2], torch.zeros(2, 3), torch.zeros(2).long(), "there are 3 ids"),
        ([0, 1], torch.zeros(2, 3), torch.tensor([0, 3]), r"labels 0 to 3 but logits have 3 classes"),
        ([0, "a"], torch.zeros(2, 3), torch.zeros(2).long(), "whole number"),
        ([5, 5], torch.zeros(2, 3), torch.tensor([0, 1]), "sample 5 has label 0, and elsewhere another one"),
    ],
)
def test_what_cannot_be_recorded_is_told(ids, logits, labels, told):
    def epoch():
        recorder = gl.Recorder()
        recorder.record(np.array(ids, dtype=object) if "a" in ids else ids, logits, labels)
        recorder.end_epoch()

    with pytest.raises(DataError, match=told):
        epoch()


def test_numbers_of_a_batch_are_no_ids():
    recorder = gl.Recorder()
    recorder.record([0, 1], torch.zeros(2, 3), torch.tensor([0, 1]))
    recorder.end_epoch()
    recorder.record([0, 1], torch.zeros(2, 3), torch.tensor([2, 1]))
    with pytest.raises(DataError, match="not of a batch"):
        recorder.end_epoch()
    with pytest.raises(DataError, match="no batch was recorded"):
        recorder.end_epoch()
    with pytest.raises(DataError, match="use a recorder for each network"):
        recorder.record([0], torch.zeros(1, 4), torch.tensor([0]))
    with pytest.raises(DataError, match="nothing was recorded"):
        _ = gl.Recorder().history


def test_a_network_that_diverged_is_not_audited():
    recorder = gl.Recorder()
    recorder.record(
        torch.arange(3), torch.tensor([[0.0, 1.0], [float("nan")] * 2, [2.0, 0.0]]), torch.ones(3).long()
    )
    recorder.end_epoch()
    with pytest.raises(DataError, match="logits of 1 samples are NaN"):
        _ = recorder.history


def test_probabilities_in_the_place_of_logits_are_warned_of():
    x, y = torch.randn(40, 3), torch.arange(40) % 4
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Softmax(dim=1))
    recorder = gl.Recorder()
    with pytest.warns(UserWarning, match="are probabilities, of sum one: .* before its softmax"):
        recorder.record(range(40), network(x), y)
    recorder.record(range(40), network(x), y)  # told once; any warning is an error here
    with pytest.warns(UserWarning, match="are probabilities"):
        gl.train(network, (x, y), epochs=1, log="none")
    gl.Recorder().record(range(40), network[0](x), y)
