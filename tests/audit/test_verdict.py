"""Verdicts: planted errors are found, clean sets left alone, and what should not matter does not."""

import numpy as np
import pandas as pd
import pytest
from planted import believable, clusters
from sklearn.linear_model import LogisticRegression

from graylearn import Audit, audit
from graylearn.audit.inputs import described
from graylearn.audit.judge import Judge, shipped
from graylearn.audit.kinds import MISLABELLED, OK, OOD, SURE
from graylearn.audit.verdict import DOUBTFUL, Known, verdict
from graylearn.errors import DataWarning

EXACT = ("ids", "suspected", "level", "kind", "suggested", "because")
CLOSE = ("score", "confidence", "posterior", "foreign", "beliefs", "probabilities")


def judged(planted, judge=None, **known):
    """The audit of some clusters, by a judge."""
    content, features = described(planted.x, planted.y)
    names = tuple(range(int(planted.true.max()) + 1))
    fields = {"content": content, "features": features, **known}
    ids = np.arange(len(planted.y))
    return Audit(**verdict(Known(ids, planted.y, names, "held-out", **fields), judge))


# What is found.


@pytest.mark.parametrize(("k", "seed"), [(2, 0), (4, 1), (6, 2)])
def test_uniform_flips_of_separated_clusters_are_found_and_named(k, seed):
    planted = clusters(200 * k, k=k, seed=seed)
    found = audit(planted.x, planted.y)
    assert found.suspected[planted.wrong].mean() >= 0.95
    assert planted.wrong[found.suspected].mean() >= 0.95
    named = planted.wrong & (found.kind == MISLABELLED)
    assert named.sum() >= 0.9 * planted.wrong.sum()
    assert (found.suggested[named] == planted.true[named]).mean() >= 0.95


@pytest.mark.parametrize(("k", "seed"), [(2, 0), (4, 1), (6, 2)])
def test_separated_clusters_without_a_wrong_label_are_left_alone(k, seed):
    planted = clusters(200 * k, k=k, seed=seed, wrong=0.0)
    assert audit(planted.x, planted.y).suspected.mean() <= 0.01


@pytest.mark.parametrize("overlap", ["auto", "none"])
def test_by_probabilities_alone_flips_are_found_and_clean_labels_left_alone(overlap):
    planted = clusters(600)
    p = believable(planted)
    found = Audit.from_predictions(p, planted.y, overlap=overlap)
    assert found.suspected[planted.wrong].mean() >= 0.8
    assert planted.wrong[found.suspected].mean() >= 0.9
    assert Audit.from_predictions(p, planted.true, overlap=overlap).suspected.mean() <= 0.01


def test_features_beside_probabilities_tell_more_than_either(flips):
    planted, _ = flips
    both = Audit.from_predictions(believable(planted, sharp=1.5), planted.y, planted.x)
    assert both.suspected[planted.wrong].mean() >= 0.95
    assert planted.wrong[both.suspected].mean() >= 0.95
    assert both.mode == "predictions"


def test_wrong_labels_lead_the_order_even_where_classes_overlap():
    planted = clusters(900, k=3, apart=2.0, wrong=0.1)
    found = audit(planted.x, planted.y)
    order = np.argsort(-found.score)
    assert planted.wrong[order[:90]].mean() > 4 * planted.wrong.mean()


# What must not matter.


def told(way, planted, order):
    x, y = planted.x[order], planted.y[order]
    if way == "frame":
        words = np.where(x[:, 2] > 0, "up", "down")
        return audit(pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": words}), y, ids=order)
    if way == "model":
        return audit(x, y, ids=order, model=LogisticRegression(), folds=3)
    if way == "history":
        return audit(x, y, ids=order, mode="history", epochs=1)
    if way == "probabilities":
        return Audit.from_predictions(believable(planted)[order], y, ids=order)
    return audit(x, y, ids=order)


@pytest.mark.parametrize("way", ["features", "frame", "model", "history", "probabilities"])
def test_rows_in_another_order_have_the_same_verdicts(way):
    planted = clusters(300, k=3)
    order = np.random.default_rng(1).permutation(300)
    one, other = told(way, planted, np.arange(300)), told(way, planted, order)
    assert one.suspected.any() or way in ("frame", "history")
    for name in EXACT:
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name)[order], err_msg=name)
    for name in CLOSE:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name)[order], atol=1e-6, err_msg=name)
    assert other.notes == one.notes


def test_nothing_is_drawn_by_a_seed(flips):
    planted, found = flips
    np.random.seed(17)  # noqa: NPY002
    again = audit(planted.x, planted.y, seed=5)
    for name in EXACT + CLOSE:
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name), err_msg=name)


@pytest.mark.parametrize("change", [lambda x: 1000 * x + 7, lambda x: x.astype(np.float32)])
def test_units_and_precision_do_not_matter(flips, change):
    planted, found = flips
    again = audit(change(planted.x.astype(np.float64)), planted.y)
    np.testing.assert_array_equal(again.suspected, found.suspected)
    np.testing.assert_allclose(again.score, found.score, atol=0.02)


def test_names_of_classes_do_not_matter(flips):
    planted, found = flips
    names = np.array(["delta", "alpha", "omega", "beta"])
    other = audit(planted.x, names[planted.y])
    assert (other.suspected != found.suspected).mean() <= 0.001
    np.testing.assert_allclose(other.posterior, found.posterior, atol=1e-3)


def test_five_rows_of_a_misspelt_class_change_no_other_verdict():
    planted = clusters(1000)
    names = np.array(["GALAXY", "STAR", "QSO", "COMET"], dtype=object)[planted.y]
    before = audit(planted.x, names)
    misspelt = np.flatnonzero((names == "QSO") & ~planted.wrong)[:5]
    names[misspelt] = "QS0"
    with pytest.warns(DataWarning, match="QS0"):
        after = audit(planted.x, names)
    others = np.setdiff1d(np.arange(1000), misspelt)
    assert (after.suspected != before.suspected)[others].mean() <= 0.005
    assert after.suspected[misspelt].all()
    assert {after.classes[each] for each in after.suggested[misspelt]} == {"QSO"}
    assert (after.level[misspelt] == SURE).all()
    assert after.misspelt == 1
    assert f"{len(after.classes) - 1} classes and 1 misspelt label" in after.summary()
    assert "its label seems to be QSO, misspelt" in after.because[misspelt].tolist()
    clean = np.array(["GALAXY", "STAR", "QSO", "COMET"], dtype=object)[planted.true]
    clean[np.flatnonzero(clean == "QSO")[:5]] = "QS0"
    with pytest.warns(DataWarning, match="QS0"):
        found = audit(planted.x, clean)
    assert found.suspected.sum() == 5


def test_five_rows_of_a_class_of_their_own_change_few_verdicts():
    planted = clusters(1000)
    before = audit(planted.x, planted.y)
    label = planted.y.copy()
    label[np.flatnonzero(~planted.wrong)[:5]] = 4
    after = audit(planted.x, label)
    same = label == planted.y
    assert (after.suspected != before.suspected)[same].mean() <= 0.01


# What an audit says adds up.


def test_beliefs_and_the_chance_of_no_class_add_up(flips, mix, some):
    for found in (flips[1], mix[1], some):
        np.testing.assert_allclose(found.beliefs.sum(axis=1) + found.foreign, 1.0, atol=1e-6)
        assert (found.beliefs >= 0).all()
        np.testing.assert_allclose(found.posterior, found.score, atol=1e-9)
        np.testing.assert_allclose(found.wrong + found.foreign, found.posterior, atol=1e-6)
        assert found.suspected.any()


def test_fields_follow_from_the_posterior_and_two_settings(flips):
    found, settings = flips[1], shipped().settings
    np.testing.assert_array_equal(found.suspected, found.posterior > settings["threshold"])
    np.testing.assert_array_equal(found.level == SURE, found.suspected & (found.posterior > settings["sure"]))
    np.testing.assert_array_equal(found.kind == OOD, found.suspected & (found.foreign > found.wrong))
    np.testing.assert_array_equal(found.kind == OK, ~found.suspected)
    assert found.judge == shipped().id
    assert (found.because[found.suspected] != "").all()
    assert ((found.because != "") == (found.suspected | (found.score >= DOUBTFUL))).all()


def test_another_judge_is_asked_in_the_same_way(flips):
    planted, found = flips
    never = Judge(shipped().weights, {**shipped().settings, "threshold": 1.0, "sure": 1.0})
    silent = judged(planted, never)
    assert not silent.suspected.any()
    np.testing.assert_allclose(silent.posterior, found.posterior, atol=1e-6)
    assert silent.judge != found.judge
    assert 0 < silent.look_first <= 50
    assert f"the first {silent.look_first} by score worth a look" in repr(silent)
    assert "suspected: none is flagged" in silent.summary()
    assert f'table.nlargest({silent.look_first}, "score")' in silent.summary()
    assert silent.summary().count("not flagged (score ") == 5
    assert (silent.because[np.argsort(-silent.score)[: silent.look_first]] != "").all()


def test_the_sentence_on_a_suspect_comes_from_its_evidence(flips):
    planted, found = flips
    row = np.flatnonzero(found.suspected & planted.wrong)[0]
    assert f"of its neighbours are {planted.true[row]}" in found.because[row]
    assert f"% to {planted.true[row]}" in found.because[row]


def test_the_sentence_on_what_is_of_no_class_says_where_it_lies():
    planted = clusters(300, k=3)
    x = np.concatenate([planted.x, 40.0 + np.random.default_rng(0).normal(size=(30, planted.x.shape[1]))])
    found = audit(x, np.append(planted.y, np.random.default_rng(1).integers(0, 3, 30)))
    foreign = np.flatnonzero(found.kind == 2)
    assert len(foreign) >= 20
    assert all("neighbours" in found.because[row] for row in foreign)
    assert not any("a model of the other" in found.because[row] for row in foreign)


class CallsAllForeign:
    id, settings = "none", shipped().settings

    def __call__(self, evidence):
        return np.tile([0.05, 0.05, 0.9], (len(evidence.label), 1))


def test_the_sentence_on_a_group_apart_names_the_group_and_not_its_neighbours():
    planted = clusters(300, k=3)
    apart = np.flatnonzero(planted.y == 1)[:25]
    planted.x[apart] = 20.0 + 0.3 * np.random.default_rng(0).normal(size=(25, planted.x.shape[1]))
    planted.y[apart] = 1
    because = judged(planted, CallsAllForeign()).because
    assert all("it lies in a part of 1 (2" in because[row] for row in apart)
    assert not any("apart" in because[row] for row in np.flatnonzero(planted.y == 2))


def test_shares_and_their_ranges_are_told(flips):
    found = flips[1]
    share, ends = found.contamination, found.ranges
    assert share["total"] == pytest.approx(share["ood"] + share["mislabelled"])
    for name, (low, high) in ends.items():
        assert 0 <= low <= share[name] <= high <= 1
    assert share["total"] == pytest.approx(found.posterior.mean())
    assert f"estimated contamination: {share['total']:.1%}" in found.summary()


def test_what_cannot_be_judged_says_so():
    few = clusters(20)
    found = audit(few.x, few.y)
    assert found.notes[0] == "not judged: 20 samples are too few (at least 30)"
    assert not found.suspected.any()
    assert found.contamination["total"] is None
    assert found.ranges == {}
    alike = audit(np.random.default_rng(0).normal(size=(60, 3)), np.zeros(60, dtype=int))
    assert alike.notes[0] == "not judged: all samples have the same label"
    assert not alike.suspected.any()
    constant = audit(np.ones((60, 3)), np.arange(60) % 3)
    assert constant.notes[0].startswith("not judged: every column has one value")
    assert "suspected: not judged" in constant.summary()


def test_a_class_most_of_which_is_suspected_is_told(flips):
    """By a judge that suspects every sample above the lowest posterior of one class."""
    planted, found = flips
    low = float(np.median(found.posterior[planted.y == 2])) - 1e-9
    strict = judged(planted, Judge(shipped().weights, {**shipped().settings, "threshold": low, "sure": 1.0}))
    assert any("suspected ('2'" in note or "'2': " in note for note in strict.notes)
    assert not any("suspected (" in note for note in found.notes)


def test_a_model_that_was_trained_on_these_labels_is_told_of():
    planted = clusters(600)
    by_heart = 0.95 * np.eye(4)[planted.y] + 0.05 / 4
    found = Audit.from_predictions(by_heart, planted.y)
    assert found.suspected.mean() <= 0.01
    assert any("as cross_val_predict makes them" in note for note in found.notes)
    assert not any("cross_val" in n for n in Audit.from_predictions(believable(planted), planted.y).notes)


def test_an_audit_names_the_pair_that_is_confused_and_how_often():
    planted = clusters(1000, wrong=0.0)
    given = np.where((planted.true == 1) & (np.arange(1000) % 5 == 0), 3, planted.true)
    found = audit(planted.x, np.array(list("abcd"))[given])
    first, wrong = found.confusions.iloc[0], (given != planted.true).sum()
    assert (first.label, first.true_class) == ("d", "b")
    assert first.suspected >= 0.8 * wrong
    assert 0.4 * wrong <= first.samples <= 1.3 * wrong
    assert first.share == pytest.approx(first.samples / (given == 3).sum())
    assert found.confusions["samples"].sum() == pytest.approx(found.contamination["mislabelled"] * 1000)
    assert f"{first.share:.1%} of 'd' are 'b'" in found.summary()


def test_where_nothing_is_suspected_no_pair_is_told():
    p = np.eye(3)[np.arange(600) % 3] * 0.9 + 0.1 / 3
    found = Audit.from_predictions(p, np.arange(600) % 3)
    assert not found.confusions["suspected"].any()
    assert "mistaken" not in found.summary()
