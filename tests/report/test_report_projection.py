import numpy as np
import pytest

from graylearn.report.projection import _two_dimensions


@pytest.mark.parametrize("sizes", [(30, 1, 1), (1, 1, 1), (20, 20, 1)])
def test_classes_of_one_sample_are_on_the_map_too(sizes: tuple[int, ...]):
    """Warnings are errors here: the spread of one sample is not asked for."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    x = np.random.default_rng(0).normal(size=(len(label), 5)) + 3 * label[:, None]
    found = _two_dimensions(x, label, np.ones(len(label), dtype=bool))
    assert found.shape == (len(label), 2)
    assert np.isfinite(found).all()
    assert len(np.unique(found, axis=0)) == len(label)
