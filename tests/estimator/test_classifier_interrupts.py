"""Ctrl-C in a fit is an error like any other, and leaves the classifier as it was."""

import signal

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from graylearn.estimator import GrayClassifier
from graylearn.training.loop import Loop

EPOCHS = 6


@pytest.fixture
def ctrl_c(monkeypatch):
    """Ctrl-C while an epoch ends, given the epoch and how many networks learn at once; tells how often."""
    plain, came = Loop._finish_epoch, []

    def arm(epoch, networks=1):
        def finish(loop):
            if loop.epoch == epoch and len(loop.models) == networks:
                came.append(epoch)
                signal.raise_signal(signal.SIGINT)
            return plain(loop)

        monkeypatch.setattr(Loop, "_finish_epoch", finish)
        return came

    yield arm
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def blobs(classes=2, seed=0):
    y = np.arange(30 * classes) % classes
    return np.random.default_rng(seed).normal(size=(len(y), 3)) + 4 * y[:, None], y


def classifier(**options):
    return GrayClassifier(**{"epochs": EPOCHS, "audit": None, "random_state": 0, **options})


@pytest.mark.parametrize("epoch", [0, EPOCHS // 2, EPOCHS - 1])
def test_a_fit_that_is_interrupted_is_no_fit(ctrl_c, epoch):
    x, y = blobs()
    model = classifier()
    came = ctrl_c(epoch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    assert came == [epoch]
    assert vars(model) == vars(classifier())
    with pytest.raises(NotFittedError):
        model.predict(x)


def test_the_fit_before_stays_as_it_was(ctrl_c):
    x, y = blobs()
    model = classifier().fit(x, y)
    said, before = model.predict_proba(x), dict(vars(model))
    ctrl_c(2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*blobs(3))
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict_proba(x), said)


def test_a_warm_start_that_is_interrupted_changes_no_weight(ctrl_c):
    x, y = blobs()
    model = classifier(warm_start=True).fit(x, y)
    said = model.predict_proba(x)
    ctrl_c(2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    np.testing.assert_array_equal(model.predict_proba(x), said)
    assert model.n_iter_ == EPOCHS


def test_partial_fit_can_begin_again(ctrl_c):
    x, y = blobs()
    model = classifier()
    ctrl_c(0)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(x, y, classes=[0, 1])
    ctrl_c(None)  # no epoch: no more
    assert not hasattr(model, "classes_")
    model.partial_fit(x, y, classes=[0, 1])
    assert model.n_iter_ == 1


def test_a_committee_that_is_interrupted_does_not_answer(ctrl_c):
    x, y = blobs()
    model = classifier(audit="history", refine=True, members=3)
    came = ctrl_c(1, networks=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    assert came == [1]
    assert not hasattr(model, "network_")
