"""Notes on labels: columns that give them away, and labels that look measured."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import graylearn as gl
from graylearn.data.labels import note_labels, note_telling_columns
from graylearn.errors import DataWarning

RANDOM = np.random.default_rng(0)
LABEL = RANDOM.permutation(np.arange(600) % 4)
NOISE = RANDOM.normal(size=600)


def told(frame, label):
    """The words of each warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        note_telling_columns(pd.DataFrame(frame), label)
    assert all(each.category is DataWarning for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(
    "values",
    [
        np.array(["K7", "K9", "Z1", "Z2"])[LABEL],
        np.array([3.5, 1.25, np.nan, 8.0])[LABEL],
        pd.Categorical([f"{k}-{row % 25}" for row, k in enumerate(LABEL)]),  # a hundred
    ],
)
def test_a_column_that_alone_tells_the_label_is_told(values):
    (words,) = told({"a": NOISE, "my code": values}, LABEL)
    assert words.startswith(
        "column 'my code' alone tells the label of 100.0% of the rows; if it was made from"
    )
    assert "(on the command line with --without 'my code')" in words
    assert ("--group" in words) == (pd.Series(values).nunique() >= 30)


@pytest.mark.parametrize(
    "values",
    [
        [f"K{row}" for row in range(600)],  # names of rows
        [f"group {row // 4}" for row in range(600)],  # and of a few rows each
        np.sort(NOISE),
        np.arange(600) // 6,  # a hundred numbers
        RANDOM.integers(0, 4, 600),
        np.ones(600),
    ],
)
def test_names_measurements_and_common_categories_are_not_told(values):
    assert told({"a": values}, np.sort(LABEL)) == []


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_columns_of_known_tables_are_not_told(load):
    table = load(as_frame=True)
    assert told(table.data, table.target.to_numpy()) == []


@pytest.mark.parametrize("values", [range(18, 90), np.linspace(0, 1, 60)])
def test_labels_that_look_measured_are_told(values):
    with pytest.warns(
        DataWarning, match=rf"{len(values)} different numbers on 400 rows, each taken as a class"
    ):
        note_labels(tuple(values), np.bincount(np.arange(400) % len(values)))


@pytest.mark.parametrize(
    ("classes", "n"),
    [
        ([1.0, 1.3, 1.7, 2.0, 2.3, 2.7, 3.0, 3.3, 3.7, 4.0, 5.0], 400),
        (range(18, 90), 720),  # ten rows a class
        (range(150), 600),  # numbers of classes
        ([f"intent {number}" for number in range(150)], 600),
    ],
)
def test_labels_that_are_classes_are_not(classes, n):
    note_labels(tuple(classes), np.bincount(np.arange(n) % len(classes)))  # a warning would be an error


@pytest.mark.parametrize("word", ["NA", "?"])
def test_words_that_say_that_there_is_no_label_are_told(word):
    with pytest.warns(DataWarning) as caught:
        note_labels(("ant", "Nan Madol", word, "null"), [20, 3, 7, 0])
    (words,) = [str(each.message) for each in caught]
    assert words.startswith(
        f"the label {word!r}, given 7 times, counts as a class; if it means that no label"
    )
    assert words.endswith("in a table empty these cells")


def test_audit_and_classifier_tell_both():
    numbers = 1900 + 2 * (np.arange(330) % 60)
    frame = pd.DataFrame({"a": NOISE[:330], "code": np.array(["x", "y"])[LABEL[:330] % 2]})
    fit = gl.GrayClassifier(epochs=1, audit=None, refine=False).fit
    for tell in (lambda *given: gl.audit(*given, repeats=1, epochs=1), fit):
        with pytest.warns(DataWarning, match=r"column 'code' alone tells the label of 100\.0% of the rows"):
            tell(frame, LABEL[:330] % 2)
        with pytest.warns(DataWarning, match="60 different numbers on 330 rows"):
            tell(frame, numbers)


@pytest.mark.parametrize(
    "times",
    [
        {"cat": 900, "car": 3},
        {"class_a": 900, "class_b": 3, "stage 11": 900, "stage 12": 3, "A1234": 900, "A1235": 3},
        {"moral": 100, "amoral": 10},
        {1234: 900, 1235: 3},
        {"typical": 900, "atypical": 3, "a": 90, "A": 3, "K015": 900, "K010": 3},
        {"<=50K": 900, ">50K": 30, "C": 90, "C++": 30, "C#": 3, "A+": 30, "A-": 30},
    ],
)
def test_short_words_numbers_and_frequent_labels_are_not_taken_for_misspelt(times):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_labels(list(times), list(times.values()))


def test_labels_in_another_order_than_their_samples_are_told():
    random = np.random.default_rng(0)
    y = pd.Series(np.arange(60) % 3, index=[f"row {number}" for number in range(60)])
    x = pd.DataFrame(random.normal(size=(60, 2)), index=y.index)
    p = pd.DataFrame(np.full((60, 3), 1 / 3), index=y.index)
    for told, labels in (
        (True, y[::-1]),
        (False, y),
        (False, y.reset_index(drop=True)),
        (False, y.to_numpy()),
    ):
        for ask in (
            lambda labels: gl.audit(x, labels, mode="history", epochs=1),
            lambda labels: gl.GrayClassifier(epochs=1, audit=None).fit(x, labels),
            lambda labels: gl.Audit.from_predictions(p, labels),
        ):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                ask(labels)
            assert any("in another order" in str(each.message) for each in found) == told
