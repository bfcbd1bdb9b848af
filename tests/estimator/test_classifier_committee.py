"""A committee answers as one network, also once it was kept and loaded."""

import numpy as np

from graylearn.estimator import GrayClassifier


def test_the_committee_survives_saving(dirty, digits, tmp_path):
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
