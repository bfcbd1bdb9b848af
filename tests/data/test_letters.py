"""Columns of texts beside others: their letters are learned where they tell more of the labels."""

import numpy as np
import pandas as pd
import pytest

import graylearn as gl
from graylearn.data.encode import OF_SENTENCES, OF_WORDS, TableEncoder
from graylearn.errors import DataWarning

N = 400
SUBJECTS = (
    "my parcel never came to the door",
    "the invoice shows a wrong amount again",
    "I forgot the word to log in",
)
FILLERS = ("and", "so", "we", "wait", "here", "now", "for", "some", "time", "or", "more", "than", "that")


def sentences(about, random):
    """Sentences on the subjects of some classes, each with fillers of its own."""
    words = [[*SUBJECTS[each].split(), *random.choice(FILLERS, 4)] for each in about]
    return [" ".join(random.permutation(text)) + f" {n}" for n, text in enumerate(words)]


def table(subject_tells):
    random = np.random.default_rng(0)
    label = random.integers(3, size=N)
    about = label if subject_tells else random.integers(3, size=N)
    frame = pd.DataFrame(
        {
            "size": label + random.normal(0, 1, N),
            "weight": random.normal(size=N),
            "note": sentences(about, random),
        }
    )
    return frame, label


def widths(encoder):
    return {name: plan["hashed"] for name, plan in encoder.categories_.items()}


def test_sentences_that_tell_the_labels_apart_are_learned():
    frame, label = table(subject_tells=True)
    with pytest.warns(
        DataWarning, match=r"'note' holds sentences, of which the letters .* --text note .*embed_text"
    ):
        encoder = TableEncoder().fit(frame, label)
    assert widths(encoder) == {"note": OF_SENTENCES}
    assert encoder.transform(frame).shape == (N, len(encoder.get_feature_names_out()))


def test_sentences_about_other_things_are_left_out_and_need_not_come_again():
    frame, label = table(subject_tells=False)
    with pytest.warns(DataWarning, match="'note' holds sentences, whose letters tell no more .* left out"):
        encoder = TableEncoder().fit(frame, label)
    assert list(encoder.kinds_) == ["size", "weight"]
    assert encoder.transform(frame[["size", "weight"]]).shape == (N, 2)


def test_names_keep_the_frequent_ones_and_lose_letters_that_tell_nothing():
    frame, label = table(subject_tells=False)
    random = np.random.default_rng(1)
    frame["note"] = np.where(random.random(N) < 0.5, "Bern", [f"{n % 90} Lane" for n in range(N)])
    encoder = TableEncoder().fit(frame, label)
    assert widths(encoder) == {"note": 0}
    assert "note=bern" in encoder.get_feature_names_out()


def test_names_whose_letters_tell_are_learned_by_them():
    frame, label = table(subject_tells=False)
    frame["note"] = [f"{('ax', 'bo', 'cu')[each]}-{n % 90}" for n, each in enumerate(label)]
    assert widths(TableEncoder().fit(frame, label)) == {"note": OF_WORDS}


@pytest.mark.filterwarnings("ignore::graylearn.errors.DataWarning")
@pytest.mark.parametrize("subject_tells", [True, False])
def test_neither_the_order_of_rows_nor_the_names_of_labels_matter(subject_tells):
    frame, label = table(subject_tells)
    order = np.random.default_rng(2).permutation(N)
    names = np.array(["one", "two", "three"])[label]
    plain = TableEncoder().fit(frame, label)
    assert widths(TableEncoder().fit(frame.iloc[order], names[order])) == widths(plain)


def test_a_comment_that_tells_nothing_costs_an_audit_nothing():
    frame, label = table(subject_tells=False)
    frame["size"] = 4 * label + np.random.default_rng(3).normal(size=N)
    given = label.copy()
    given[:40] = (given[:40] + 1) % 3
    with pytest.warns(DataWarning, match="left out"):
        found = gl.audit(frame, given)
    alone = gl.audit(frame[["size", "weight"]], given)
    assert found.suspected[:40].sum() >= alone.suspected[:40].sum() - 2
    assert found.suspected[40:].sum() <= alone.suspected[40:].sum() + 2
    assert alone.suspected[:40].mean() > 0.7
