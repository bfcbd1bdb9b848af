"""One pipeline: the classifier, a run folder and the reproduction answer alike on the same samples."""

import dataclasses

import numpy as np
import pytest
import torch

from graylearn.data.splits import canonical_order
from graylearn.estimator import GrayClassifier
from graylearn.estimator.networks import training_settings
from graylearn.metrics import accuracy, ece
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.training import PRESETS
from reproduction import images
from reproduction.cells import Cell
from reproduction.sets import cell_samples

PICTURES = Cell(
    "image", "digits/8", "gl", 0, ood="other-classes", alpha=0.05, net="small_cnn", preset="same",
    epochs=8, batch_size=16, train_size=300,
)  # fmt: skip


def in_canonical_order(samples, encoded):
    """The classifier trains in this order, whatever order it is given; the reproduction in the one it is."""
    return samples.take(canonical_order(encoded, samples.y))


def assert_same_weights(one, other):
    """To the last bit."""
    mine, theirs = one.state_dict(), other.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_pictures(tmp_path, monkeypatch):
    train, test = cell_samples(PICTURES, None)
    random = np.random.default_rng(0)
    is_wrong = random.random(len(train)) < 0.2
    train = dataclasses.replace(train, y=np.where(is_wrong, random.integers(0, 8, len(train)), train.y))
    train = in_canonical_order(train, train.x)
    settings = training_settings(
        len(train), (1, 16, 16), epochs=8, batch_size=16, learning_rate=None, optimizer=None, augment=None
    )
    monkeypatch.setitem(PRESETS, "same", settings)
    monkeypatch.setattr(images, "cell_samples", lambda *_: (train, test))
    options = {"epochs": 8, "batch_size": 16, "device": "cpu", "overlap": "none"}
    classifier = GrayClassifier("gl", refine=True, random_state=0, **options)
    classifier.fit(train.x, train.y)
    assert classifier.refined_
    said = classifier.predict_proba(test.x)

    np.savez(tmp_path / "digits.npz", x=train.x, y=train.y)
    chosen = RunSettings(data=str(tmp_path / "digits.npz"), features="pixels", method="gl", **options)
    run(chosen, tmp_path / "run", progress=RunProgress(quiet=True))
    np.testing.assert_array_equal(GrayClassifier.load(tmp_path / "run" / "model").predict_proba(test.x), said)

    ((_, measured),) = images.run_images([PICTURES.but(method="gl+refine")], None, "cpu")
    assert measured["refined"]
    assert measured["accuracy"] == accuracy(said, test.y)
    assert measured["ece"] == pytest.approx(ece(said, test.y, bins=20), abs=1e-6)
    pipeline = dataclasses.replace(images.pipeline_of(PICTURES, train, test, "cpu"), refine=True)
    assert_same_weights(pipeline.run().network, classifier.network_)
