"""Samples in groups: they are judged by samples of other groups."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import graylearn as gl
from graylearn.data.splits import label_of_groups, stratified_folds
from graylearn.errors import DataError, SettingsError

CLASSES, EACH = 5, 6


def videos(count=150, each=EACH, seed=0):
    """(x, y, groups): frames that differ little within a video, and videos of a class that differ more."""
    random = np.random.default_rng(seed)
    of_video = np.arange(count) % CLASSES
    shown = 4.0 * np.eye(CLASSES, 8)[of_video] + random.normal(size=(count, 8))
    groups = np.repeat(np.arange(count), each)
    return shown[groups] + 0.05 * random.normal(size=(len(groups), 8)), of_video[groups], groups


@pytest.fixture(scope="module")
def wrong_videos():
    """The same with a fifth of the videos labelled wrongly, and which samples these are."""
    x, y, groups = videos()
    wrong = groups % 5 == groups // 5 % 5
    return x, np.where(wrong, (y + 1 + groups % 4) % CLASSES, y), groups, wrong


@pytest.fixture(scope="module")
def heeded(wrong_videos):
    x, y, groups, _ = wrong_videos
    return gl.audit(x, y, groups=groups)


def test_videos_with_a_wrong_label_are_found_that_vouch_for_themselves(wrong_videos, heeded):
    x, y, _, wrong = wrong_videos
    alone = gl.audit(x, y)
    assert heeded.suspected[wrong].mean() >= 0.9
    assert wrong[heeded.suspected].mean() >= 0.9
    assert heeded.confidence[wrong].mean() < alone.confidence[wrong].mean() - 0.2


def test_clean_videos_are_clean():
    x, y, groups = videos(seed=1)
    assert gl.audit(x, y, groups=groups).suspected.mean() <= 0.01


def test_neither_order_nor_names_of_groups_matter(wrong_videos, heeded):
    x, y, groups, _ = wrong_videos
    order = np.random.default_rng(3).permutation(len(y))
    names = np.array([f"video {97 * each % 150}" for each in groups])
    other = gl.audit(x[order], y[order], ids=order, groups=names[order])
    np.testing.assert_array_equal(other.suspected, heeded.suspected[order])
    np.testing.assert_allclose(other.posterior, heeded.posterior[order], atol=1e-6)


def test_groups_of_one_sample_are_no_groups(wrong_videos):
    x, y, groups, _ = wrong_videos
    x, y = x[::EACH], y[::EACH]
    plain = gl.audit(x, y)
    for names in (groups[::EACH], [None] * len(y)):
        assert gl.audit(x, y, groups=names).table.equals(plain.table)


def test_samples_bring_their_groups(wrong_videos, heeded):
    x, y, groups, _ = wrong_videos
    samples = gl.Samples(x, y, tuple(range(CLASSES)), np.arange(len(y)), "array", groups=groups)
    assert gl.audit(samples).table.equals(heeded.table)


def test_a_model_and_probabilities_of_ones_own_may_be_asked(wrong_videos, heeded):
    x, y, groups, wrong = wrong_videos
    found = gl.audit(x, y, model=LogisticRegression(), groups=pd.Series(groups, dtype="string"))
    assert found.suspected[wrong].mean() >= 0.8
    again = gl.Audit.from_predictions(heeded.probabilities, y, x, groups=groups)
    assert again.suspected[wrong].mean() >= 0.8
    assert len(gl.Audit.from_predictions(heeded.probabilities, y, groups=groups)) == len(y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"groups": "video"}, DataError, "groups is the text 'video'.*give the column itself"),
        ({"groups": [1, 2, 3]}, DataError, r"shape \(3,\) for 900 samples"),
        ({"mode": "history"}, SettingsError, "saw the whole group of each sample.*pass mode='held-out'"),
    ],
)
def test_groups_that_cannot_be_heeded(options, error, message, wrong_videos):
    x, y, groups, _ = wrong_videos
    with pytest.raises(error, match=message):
        gl.audit(x, y, **{"groups": groups, **options})


def test_a_group_is_held_out_as_a_whole():
    random = np.random.default_rng(0)
    group = random.integers(40, size=400)
    label = group % 4
    fold = stratified_folds(label, 2, 3, 0, group)
    for row in fold:
        assert all(len(np.unique(row[group == each])) == 1 for each in range(40))
        for k in range(4):
            assert len(np.unique(row[label == k])) == 2, "each class is learned in each fold"
    assert label_of_groups(np.array([0, 0, 0, 1, 1, 2]), np.array([2, 1, 2, 3, 0, 1])).tolist() == [2, 0, 1]


@pytest.mark.parametrize(("folds", "repeats"), [(2, 3), (5, 1)])
def test_folds_are_stratified_and_even(folds, repeats):
    label = np.repeat([0, 1, 2, 3], [50, 21, 7, 1])
    fold = stratified_folds(label, folds, repeats, seed=0)
    assert fold.shape == (repeats, 79)
    for row in fold:
        assert np.ptp(np.bincount(row, minlength=folds)) <= 1
        for k in range(4):
            assert np.ptp(np.bincount(row[label == k], minlength=folds)) <= 1
    if repeats > 1:
        assert (fold[0] != fold[1]).any()


def test_groups_that_are_most_of_a_class_are_told_of():
    x, y, groups = videos()
    assert not gl.audit(x, y, groups=groups).notes
    few = y + CLASSES * (groups % 3)  # three groups of each class
    assert "a typical class lies in 3 of the 15 groups" in gl.audit(x, y, groups=few).summary()
