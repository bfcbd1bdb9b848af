"""A finished run goes on for more epochs, where the epochs so far are those of the longer run."""

import numpy as np
import pytest
from torch.optim import lr_scheduler
from training_helpers import Opaque, assert_same_weights, blobs, mlp

from graylearn.errors import CheckpointError
from graylearn.training import ScheduleSettings, train


def fit(folder=None, net=mlp, **changes):
    options = {"method": "gl", "batch_size": 16, "log": "none", "checkpoint": folder, **changes}
    return train(net(), blobs(), **options)


SCHEDULES = {
    "constant": "constant",
    "milestones": ScheduleSettings("step", milestones=(1, 3), gamma=0.5),
    "torch's": lambda optimizer: lr_scheduler.StepLR(optimizer, 2),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("net", [mlp, lambda: Opaque(mlp())], ids=["small", "any"])
def test_more_epochs_give_the_bits_of_the_longer_run(schedule, net, tmp_path):
    options = {"net": net, "schedule": SCHEDULES[schedule], "average": 0.9}
    whole = fit(epochs=4, **options)
    fit(tmp_path, epochs=2, **options)
    longer = fit(tmp_path, epochs=4, resume=True, **options)
    assert_same_weights(longer.model, whole.model, tolerance=0)
    np.testing.assert_array_equal(longer.history.label_confidence, whole.history.label_confidence)
    assert [row["epoch"] for row in longer.log] == [0, 1, 2, 3]


def test_a_history_that_kept_the_last_epochs_goes_on_so(tmp_path):
    options = {"history_bytes": 2 * 120 * 5}
    whole = fit(epochs=5, **options)
    fit(tmp_path, epochs=3, **options)
    longer = fit(tmp_path, epochs=5, resume=True, **options)
    np.testing.assert_array_equal(longer.history.label_confidence, whole.history.label_confidence)
    assert longer.history.kept_epochs.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("options", "epochs", "why"),
    [
        ({}, 1, "fewer epochs cannot be: it was started with 2, not 1"),
        ({"schedule": "cosine"}, 3, "its schedule cosine was laid out over 2 epochs"),
        ({"method": "nlnl"}, 3, "its method NegativePositive was laid out over 2 epochs"),
    ],
)
def test_where_more_epochs_would_be_another_run_it_says_why(options, epochs, why, tmp_path):
    fit(tmp_path, epochs=2, **options)
    with pytest.raises(CheckpointError, match=why):
        fit(tmp_path, epochs=epochs, resume=True, **options)
    with pytest.raises(CheckpointError, match="resume with epochs=2"):
        fit(tmp_path, epochs=epochs, resume=True, **options)
