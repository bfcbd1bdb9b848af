"""Classes held out: every sample once, and the classes numbered anew."""

import numpy as np
import pytest

from graylearn.data.samples import Samples
from graylearn.errors import DataError
from reproduction.splits import hold_out_classes, hold_out_smallest


def make(counts, classes=None):
    """Samples whose x holds their class, so that a lost or mixed-up label shows."""
    y = np.random.default_rng(7).permutation(np.repeat(np.arange(len(counts)), counts))
    classes = classes or tuple(f"class {place}" for place in range(len(counts)))
    return Samples(y[:, None].astype(float), y, classes, np.arange(len(y)) + 1000, "array")


def original_labels(samples, classes):
    return [classes[int(row[0])] for row in samples.x]


def test_named_classes_are_held_out():
    samples = make([3, 4, 5, 6], ("cat", "dog", "eel", "fox"))
    inside, ood = hold_out_classes(samples, ["eel", "cat"])
    assert inside.classes == ("dog", "fox")
    assert ood.classes == ("eel", "cat")
    assert inside.class_counts.tolist() == [4, 6]
    assert ood.class_counts.tolist() == [5, 3]
    assert [inside.classes[place] for place in inside.y] == original_labels(inside, samples.classes)
    assert [ood.classes[place] for place in ood.y] == original_labels(ood, samples.classes)
    assert not set(inside.ids) & set(ood.ids)


def test_the_smallest_class_is_held_out():
    inside, ood = hold_out_smallest(make([9, 0, 4, 7, 4]))
    assert ood.classes == ("class 2",)  # class 1 has no sample; of 2 and 4 the first
    assert len(ood) == 4
    assert inside.classes == ("class 0", "class 1", "class 3", "class 4")
    with pytest.raises(DataError, match="two classes or more, there are 1"):
        hold_out_smallest(make([5, 0]))
