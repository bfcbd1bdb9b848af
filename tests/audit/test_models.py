"""The audit by a classifier of the user's: held-out, whatever it reads and however classes are called."""

import numpy as np
import pandas as pd
import pytest
from planted import clusters
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import graylearn as gl
from graylearn.audit.models import model_probabilities


class Memory(ClassifierMixin, BaseEstimator):
    """Knows by heart what it was fitted on, and is even about the rest."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), dict(zip(X[:, 0].tolist(), y, strict=True))
        return self

    def predict_proba(self, X):
        said = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        for row, key in enumerate(X[:, 0].tolist()):
            if key in self.seen_:
                said[row] = self.classes_ == self.seen_[key]
        return said


def flipped(n=240, k=4, share=0.15):
    planted = clusters(n, k=k, d=6, wrong=share)
    return planted.x, planted.y, planted.wrong


@pytest.mark.parametrize("repeats", [1, 2])
def test_no_model_is_asked_about_what_it_was_fitted_on(repeats):
    x, label, _ = flipped()
    said = model_probabilities(
        Memory(), x, np.arange(len(x)), label, (0, 1, 2, 3), folds=3, repeats=repeats, seed=0
    )
    np.testing.assert_allclose(said, 0.25)


def test_a_model_finds_wrong_labels_in_a_frame_with_names():
    x, label, wrong = flipped()
    frame = pd.DataFrame(x, index=[f"row{i}" for i in range(len(x))])
    names = np.array(["ant", "bee", "cow", "dog"])[label]
    model = LogisticRegression()
    audit = gl.audit(frame, names, model=model)
    assert audit.mode == "held-out"
    assert audit.classes == ("ant", "bee", "cow", "dog")
    assert audit.ids[0] == "row0"
    assert audit.suspected[wrong].mean() > 0.8
    assert wrong[audit.suspected].mean() > 0.8
    assert not hasattr(model, "coef_")  # copies were fitted


def test_texts_are_left_to_a_pipeline_that_reads_them():
    random = np.random.default_rng(0)
    truth = np.arange(200) % 4
    words = np.array([[f"{topic}{number}" for number in range(6)] for topic in "abcd"])
    texts = [" ".join(random.choice(words[k], 8)) for k in truth]
    wrong = random.random(200) < 0.15
    given = np.where(wrong, (truth + random.integers(1, 4, 200)) % 4, truth)
    audit = gl.audit(texts, given, model=make_pipeline(CountVectorizer(), LogisticRegression()))
    assert audit.suspected[wrong].mean() > 0.5
    assert wrong[audit.suspected].mean() > 0.8


def test_the_seed_decides_what_a_step_of_a_pipeline_draws():
    x, label, _ = flipped()
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    one, other = (gl.audit(x, label, model=model, seed=3, log="none") for _ in range(2))
    np.testing.assert_array_equal(one.score, other.score)
    assert model.get_params()["randomforestclassifier__random_state"] is None


def test_a_class_of_one_sample_is_known_to_every_copy():
    x, label, _ = flipped()
    label = label.copy()
    label[0] = 9
    audit = gl.audit(x, label, model=DecisionTreeClassifier(max_depth=4))
    assert audit.classes == (0, 1, 2, 3, 9)
    assert np.isfinite(audit.score).all()
