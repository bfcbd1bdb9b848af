"""A committee answers as one network: joined, folded, kept and loaded."""

import numpy as np
import pytest
import torch

from graylearn.estimator import GrayClassifier
from graylearn.estimator.networks import build_network, joined, training_settings
from graylearn.estimator.pipeline import Pipeline
from graylearn.estimator.trainset import make_training_set
from graylearn.nets import MLP


@pytest.mark.parametrize("hidden", [(), (7,), (7, 5), (4, 6, 3)])
def test_a_joined_network_says_the_mean_of_its_members(hidden):
    torch.manual_seed(0)
    members = [MLP(4, (6,), hidden=hidden, dropout=0.3).eval() for _ in range(3)]
    together = joined(members)
    x = torch.randn(20, 6)
    expected = torch.stack([member(x) for member in members]).mean(0)
    torch.testing.assert_close(together(x), expected)
    assert not together.training


def asked(x, y, weight=None):
    """(training set, what a stack of networks says of it that each learned a part by heart)."""
    training_set, encoder = make_training_set(
        x, y, classes=np.unique(y), sample_weight=weight, class_weight=None, encoder=None
    )
    settings = training_settings(
        len(training_set.y), encoder.shape, epochs=80, batch_size=16, learning_rate=0.01, optimizer=None,
        augment=None, device="cpu", log="none",
    )  # fmt: skip

    def network(seed):
        return build_network("mlp", {"dropout": 0.0}, 2, encoder.shape, seed)

    pipeline = Pipeline(training_set, network, "standard", settings)
    return training_set, pipeline.held_out(pipeline.first_fit())


def test_no_network_is_asked_about_what_it_learned():
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 8)).astype(np.float32)
    y = random.integers(0, 2, 120)  # nothing can be learned, only known by heart
    _, said = asked(x, y)
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=1e-6)
    right = (said.argmax(axis=1) == y).mean()
    assert 0.3 < right < 0.7  # a network that saw the label would say it


def test_the_committee_survives_saving_and_pickle(dirty, digits, tmp_path):
    *_, x_test, _, _ = digits
    classifier = GrayClassifier(random_state=0, device="cpu", refine=True, members=3, epochs=4)
    classifier.fit(dirty.x, dirty.y)
    assert classifier.members_ == 3
    assert classifier.network_.num_features == 3 * 128
    classifier.save(tmp_path / "model")
    loaded = GrayClassifier.load(tmp_path / "model")
    assert loaded.members_ == 3
    np.testing.assert_array_equal(loaded.predict_proba(x_test), classifier.predict_proba(x_test))
    np.testing.assert_array_equal(loaded.ood_score(x_test), classifier.ood_score(x_test))


def test_with_two_classes_the_committee_learns_the_labels_as_they_are(dirty):
    part = dirty.y < 2
    classifier = GrayClassifier(random_state=0, device="cpu", refine=True, members=2, epochs=4)
    classifier.fit(dirty.x[part], dirty.y[part])
    assert not classifier.refined_
    assert classifier.members_ == 2
