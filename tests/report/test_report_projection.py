import numpy as np
import pytest
from report_tables import make_table
from sklearn import config_context

from graylearn.report.data import ReportData
from graylearn.report.projection import _two_dimensions, positions


@pytest.mark.parametrize("sizes", [(30, 1, 1), (1, 1, 1), (20, 20, 1)])
def test_classes_of_one_sample_are_on_the_map_too(sizes: tuple[int, ...]):
    """Warnings are errors here: the spread of one sample is not asked for."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    x = np.random.default_rng(0).normal(size=(len(label), 5)) + 3 * label[:, None]
    found = _two_dimensions(x, label, np.ones(len(label), dtype=bool))
    assert found.shape == (len(label), 2)
    assert np.isfinite(found).all()
    assert len(np.unique(found, axis=0)) == len(label)


def test_what_pipelines_are_set_to_hand_on_does_not_matter():
    label = np.arange(60) % 3
    x = np.random.default_rng(0).normal(size=(60, 51)) + 3 * label[:, None]
    data = ReportData(title="Clouds", table=make_table(60, 0), classes=("cat", "dog", "owl"), features=x)
    asked = data, np.arange(60), label, np.zeros(60, dtype=bool)
    expected = positions(*asked)
    for library in ("pandas", "polars"):
        with config_context(transform_output=library):
            assert positions(*asked) == expected
