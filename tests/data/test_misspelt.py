"""Labels that are another class misspelt: by spelling, and by what their samples look like."""

import warnings

import numpy as np
import pytest

import graylearn as gl
from graylearn.data.labels import meant_by, merged
from graylearn.errors import DataWarning

NAMES = ("GALAXY", "STAR", "QSO", "GALAXI")
RANDOM = np.random.default_rng(0)
CLASS = RANDOM.integers(0, 3, 1500)
LOOKS = RANDOM.normal(size=(1500, 5)) + 3 * np.eye(5)[CLASS]


def meant(label, features=None):
    looks = None if features is None else (label, features)
    return meant_by(NAMES, np.bincount(label, minlength=4), looks).tolist()


def with_some_of_the_first_misspelt(count):
    label = CLASS.copy()
    label[np.flatnonzero(CLASS == 0)[:count]] = 3
    return label


def test_a_frequent_label_is_misspelt_where_its_samples_look_like_those_of_the_class():
    label = with_some_of_the_first_misspelt(150)
    assert meant(label) == [0, 1, 2, 3]  # a third of the class, which spelling alone does not decide
    assert meant(label, LOOKS) == [0, 1, 2, 0]
    assert meant_by(("gold?", "gold", "iron"), (1, 40, 40)).tolist() == [1, 1, 2]
    assert meant(label, RANDOM.normal(size=(1500, 5))) == [0, 1, 2, 3]  # looks that say nothing


def test_a_rare_label_is_not_where_its_samples_lie_apart():
    apart = RANDOM.normal(size=(20, 5)) - 6 * np.eye(5)[np.full(20, 4)]
    label = np.concatenate([CLASS, np.full(20, 3)])
    assert meant(label) == [0, 1, 2, 0]
    assert meant(label, np.concatenate([LOOKS, apart])) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "place", "joined"), [("payed", 0, True), ("payed", 1, False), ("prayed", 0, False)]
)
def test_a_rare_label_two_errors_away_is_misspelt_where_its_samples_lie_among_those_of_the_class(
    name, place, joined
):
    label = CLASS.copy()
    label[np.flatnonzero(place == CLASS)[:5]] = 3
    names, count = ("paid", "open", "void", name), np.bincount(label)
    assert meant_by(names, count).tolist() == [0, 1, 2, 3]  # spelling alone does not decide
    assert meant_by(names, count, (label, LOOKS)).tolist() == [0, 1, 2, 0 if joined else 3]


def test_two_classes_are_left_at_least():
    assert meant_by(("Yes", "yes "), (50, 40)).tolist() == [0, 1]
    label, names = merged(np.array([0, 1, 2, 3]), NAMES, np.array([0, 1, 2, 0]))
    assert (label.tolist(), names) == ([0, 1, 2, 0], NAMES[:3])


@pytest.mark.parametrize("rows", [5, 150])
def test_misspelt_rows_are_suspects_and_change_nothing_that_is_said_of_the_others(rows):
    names = np.array(NAMES)
    wrong = CLASS.copy()
    wrong[1400:] = (wrong[1400:] + 1) % 3
    before = gl.audit(LOOKS, names[wrong])
    label = wrong.copy()
    misspelt = np.flatnonzero(wrong == 0)[:rows]
    label[misspelt] = 3
    with pytest.warns(DataWarning, match=f"'GALAXI' .{rows}. for 'GALAXY' .* --keep-labels"):
        found = gl.audit(LOOKS, names[label])
    others = np.setdiff1d(np.arange(1500), misspelt)
    columns = ["label", "score", "suspected", "kind", "suggested"]
    assert found.table[columns].iloc[others].equals(before.table[columns].iloc[others])
    told = found.table.iloc[misspelt]
    assert told["suspected"].all()
    assert (told["label"] == "GALAXI").all()
    ok = ~before.suspected[misspelt]
    assert (told["suggested"][ok] == "GALAXY").all()
    assert ok.sum() > 0.9 * rows
    assert told["because"].str.startswith("its label seems to be GALAXY, misspelt").all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = gl.audit(LOOKS, names[label], keep_labels=True)
    own = kept.classes.index("GALAXI")
    assert kept.probabilities[:, own].any()  # a class of its own
    assert not found.probabilities[:, own].any()
    assert not any("misspelt" in each for each in kept.because)
