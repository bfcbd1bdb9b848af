"""A committee answers as one network, also once it was kept and loaded."""

import numpy as np

from graylearn.estimator import GrayClassifier, pipeline


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


def test_two_classes_are_refined_unless_the_views_know_less(dirty, monkeypatch):
    part = dirty.y < 2
    classifier = GrayClassifier(random_state=0, device="cpu", refine=True, members=2, epochs=4)
    assert classifier.fit(dirty.x[part], dirty.y[part]).refined_
    monkeypatch.setattr(pipeline, "know_as_much", lambda views, own, label: False)
    classifier.fit(dirty.x[part], dirty.y[part])
    assert not classifier.refined_
    assert classifier.members_ == 2


def test_views_know_as_much_within_a_standard_error():
    label = np.zeros(100, dtype=int)
    right, wrong = np.tile([0.9, 0.1], (100, 1)), np.tile([0.9, 0.1], (100, 1))
    wrong[:3] = [0.1, 0.9]
    assert pipeline.know_as_much(right, right, label)
    assert pipeline.know_as_much(right, wrong, label)
    assert not pipeline.know_as_much(wrong, right, label)
