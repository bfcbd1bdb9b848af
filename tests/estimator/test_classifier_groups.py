"""Samples that belong together, in a fit: held out together wherever samples are held out."""

import numpy as np

import graylearn as gl
from graylearn.data.samples import Samples

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
    assert plain.audit_.suspected[wrong].mean() < 0.5
    grouped = gl.GrayClassifier(refine=True, random_state=0).fit(x, y, groups=groups)
    assert grouped.audit_.suspected[wrong].mean() > 0.9
    assert wrong[grouped.audit_.suspected].mean() > 0.9
    assert grouped.refined_
    assert grouped.score(clean_x[~bad], clean_y[~bad]) >= plain.score(clean_x[~bad], clean_y[~bad])
    only = gl.GrayClassifier(random_state=0).audit_only(x, y, groups=groups)
    assert only.table.equals(grouped.audit_.table)


def test_samples_bring_their_groups_and_trees_heed_them():
    x, y, groups, wrong = recordings()
    samples = Samples(x, y, (0, 1, 2, 3), np.arange(len(y)), "array", groups=groups)
    found = gl.GrayClassifier(network="trees", random_state=0).fit(samples).audit_
    assert found.suspected[wrong].mean() > 0.7
