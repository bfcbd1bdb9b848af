"""Samples that belong together, in a fit: held out together wherever samples are held out."""

import numpy as np
import pytest

import graylearn as gl
from graylearn.data.samples import Samples
from graylearn.errors import SettingsError
from graylearn.estimator import pipeline as pipelines
from graylearn.estimator.trainset import make_training_set

EACH = 5


def recordings(count=120, seed=0):
    """(x, y, groups, wrong): recordings of four classes, a sixth of which bear a wrong label."""
    random = np.random.default_rng(seed)
    of_one = np.arange(count) % 4
    shown = 4.0 * np.eye(4, 6)[of_one] + random.normal(size=(count, 6))
    groups = np.repeat(np.arange(count), EACH)
    wrong = random.random(count) < 1 / 6
    label = np.where(wrong, (of_one + 1 + np.arange(count) % 3) % 4, of_one)
    return shown[groups] + 0.05 * random.normal(size=(len(groups), 6)), label[groups], groups, wrong[groups]


def test_a_fit_with_groups_finds_and_forgets_recordings_with_a_wrong_label():
    x, y, groups, wrong = recordings()
    clean_x, clean_y, _, bad = recordings(seed=1)
    plain = gl.GrayClassifier(refine=True, random_state=0).fit(x, y)
    grouped = gl.GrayClassifier(refine=True, random_state=0).fit(x, y, groups=groups)
    assert grouped.audit_.suspected[wrong].mean() > max(0.8, plain.audit_.suspected[wrong].mean())
    assert wrong[grouped.audit_.suspected].mean() > 0.8
    assert grouped.refined_
    assert grouped.score(clean_x[~bad], clean_y[~bad]) >= plain.score(clean_x[~bad], clean_y[~bad])
    only = gl.GrayClassifier(random_state=0).audit_only(x, y, groups=groups)
    assert only.table.equals(grouped.audit_.table)


def test_samples_bring_their_groups_and_trees_heed_them():
    x, y, groups, wrong = recordings()
    samples = Samples(x, y, (0, 1, 2, 3), np.arange(len(y)), "array", groups=groups)
    found = gl.GrayClassifier(network="trees", random_state=0).fit(samples).audit_
    assert found.suspected[wrong].mean() > 0.7


def test_images_with_groups_are_audited_by_networks_that_saw_none_of_the_group(monkeypatch):
    _, y, groups, _ = recordings(count=40)
    random = np.random.default_rng(0)
    images = random.integers(0, 40, (len(y), 8, 8), dtype=np.uint8)
    images[np.arange(len(y)), y * 2] += 200
    held = []
    real = pipelines.single_probabilities

    def seen(samples, train, seed):
        held.extend(np.unique(samples.rows[samples.folds(2, seed) == fold]) for fold in range(2))
        return real(samples, train, seed)

    monkeypatch.setattr(pipelines, "single_probabilities", seen)
    classifier = gl.GrayClassifier(epochs=2, refine=False, random_state=0)
    found = classifier.fit(images, y, groups=groups).audit_
    assert found.mode == "held-out"
    assert len(held) == 2
    first = set(groups[classifier._pipeline(images, y, None, None, None, groups).samples.order[held[0]]])
    second = set(groups[classifier._pipeline(images, y, None, None, None, groups).samples.order[held[1]]])
    assert not first & second
    with pytest.raises(SettingsError, match=r"saw the whole group.*pass audit='held-out'"):
        gl.GrayClassifier(audit="history").fit(images, y, groups=groups)


def test_a_group_is_in_one_fold_whatever_samples_weigh():
    x, y, groups, _ = recordings()
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    samples, _ = make_training_set(
        x, y, classes=np.arange(4), sample_weight=weight, class_weight=None, encoder=None, groups=groups
    )
    fold_of = dict(zip(groups[samples.rows], samples.folds(4, 0), strict=True))
    np.testing.assert_array_equal([fold_of[group] for group in groups[samples.rows]], samples.folds(4, 0))
    again = samples.renumbered(samples.order)
    np.testing.assert_array_equal(again.groups, groups[samples.order])
