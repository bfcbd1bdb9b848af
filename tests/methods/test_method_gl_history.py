"""gl-history: how much each label is trusted, epoch by epoch."""

import numpy as np
import torch
from hand_made import make_step, make_task

from graylearn.losses import gray_loss
from graylearn.methods import make_method

TARGET = np.array([0, 0, 0, 1, 1, 1, 1])
LOGITS = np.random.default_rng(0).normal(size=(7, 4))


def started(confidence, **options):
    method = make_method("gl-history", **options)
    method.start(make_task(TARGET, 4, confidence=confidence))
    return method


def test_trust_is_the_mean_over_all_epochs_against_the_median_of_the_class():
    epochs = np.array([[0.2, 0.4, 0.9, 0.1, 0.5, 0.5, 0.6], [0.4, 0.8, 0.9, 0.9, 0.5, 0.7, 0.6]])
    method = started(epochs[0], power=2.0)
    for epoch, confidence in enumerate(epochs):
        method.task.history.confidence = torch.as_tensor(confidence)
        method.end_epoch(epoch)
    mean = epochs.mean(0)
    usual = np.where(
        TARGET == 0, np.sort(mean[:3])[1], np.sort(mean[3:])[1]
    )  # the lower of the two in the middle
    np.testing.assert_allclose(method.trust, np.minimum(1, mean / usual) ** 2, rtol=1e-6)
    index = np.array([6, 0, 3])
    loss = method.loss(make_step(LOGITS[index], TARGET[index], index=index))
    expected = gray_loss(
        torch.as_tensor(LOGITS[index]), torch.as_tensor(TARGET[index]), confidence=method.trust[index],
        reduction="none",
    )  # fmt: skip
    torch.testing.assert_close(loss, expected)


def test_epochs_that_did_not_see_a_sample_have_no_part_in_its_mean():
    epochs = np.array([[np.nan, 0.4, 0.9, 0.1, 0.5, 0.5, 0.6], [0.2, np.nan, 0.9, 0.9, 0.5, 0.7, 0.6]])
    method = started(epochs[0], power=1.0)
    method.end_epoch(0)
    np.testing.assert_allclose(method.trust[:3], [1, 1, 1])  # the first is trusted until it was seen
    method.task.history.confidence = torch.as_tensor(epochs[1])
    method.end_epoch(1)
    np.testing.assert_allclose(method.mean, np.nanmean(epochs, axis=0), rtol=1e-6)
    np.testing.assert_allclose(method.trust[:3], [0.5, 1, 1])  # of .2, .4 and .9


def test_a_class_that_is_never_believed_is_learnt_by_cross_entropy():
    method = started(np.where(TARGET == 0, 0.0, 0.5))
    method.end_epoch(0)
    assert method.trust[TARGET == 1].tolist() == [1.0] * 4
    assert method.trust.isfinite().all()
