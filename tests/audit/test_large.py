"""Large sets: many classes, and values far from all others."""

import numpy as np

from graylearn.audit import audit
from graylearn.audit.scaling import scaled


def test_an_audit_of_more_classes_than_a_class_has_samples():
    """300 classes of two to seven samples: finished, and every number is one."""
    random = np.random.default_rng(3)
    label = random.permutation(np.concatenate([np.arange(300), random.integers(300, size=900)]))
    x = random.normal(size=(300, 32))[label] + 0.3 * random.normal(size=(1200, 32))
    found = audit(x.astype(np.float32), label)
    assert found.probabilities.shape == found.beliefs.shape == (1200, 300)
    assert np.isfinite(found.score).all()
    np.testing.assert_allclose(found.beliefs.sum(axis=1) + found.foreign, 1.0, atol=1e-6)


def test_a_value_far_from_all_others_has_no_say_in_the_scale():
    x = np.random.default_rng(0).normal(size=(500, 2))
    broken = x.copy()
    broken[:5, 0] = 99_999
    np.testing.assert_allclose(scaled(broken)[5:, 0], scaled(x)[5:, 0], atol=0.02)
    assert scaled(broken)[:5, 0].max() == 10
    huge = scaled(np.r_[x, [[np.nan, 1e308]]])
    assert np.isfinite(huge).all()
