"""From posteriors to verdicts: who is flagged, as what, and who is left alone."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from graylearn.audit import Audit, apart
from graylearn.audit.apart import Apart
from graylearn.audit.evidence import gather
from graylearn.audit.finding import threshold_of
from graylearn.audit.kinds import OK, OOD, REVIEW, SURE
from graylearn.audit.shares import chances_by_kind
from graylearn.audit.verdict import SITTING, _doubts, _unexpected


def planted(n=1500, k=5, wrong=0.3, seed=0):
    """Probabilities (N, K) that say the truth, and labels of which a share is drawn at random."""
    random = np.random.default_rng(seed)
    p = softmax(3 * random.normal(size=(n, k)), axis=1)
    true = (p.cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    return p, np.where(random.random(n) < wrong, random.integers(k, size=n), true)


def judged(p, label, *, features=None, mode="predictions", overlap="none"):
    evidence = gather(p, label, tuple(range(p.shape[1])), features, mode, overlap)
    return Audit.from_evidence(evidence, np.arange(len(label)))


def test_a_label_that_is_clearly_wrong_is_named_with_the_class_it_looks_like():
    p, label = planted()
    found = judged(p, label)
    clear, best = p.max(axis=1) > 0.98, p.argmax(axis=1)
    wrong = clear & (label != best)
    assert wrong.sum() > 30
    np.testing.assert_array_equal(found.suspected[clear], wrong[clear])
    np.testing.assert_array_equal(found.kind[clear], wrong[clear])  # 1 is mislabelled
    np.testing.assert_array_equal(found.suggested[clear], best[clear])


def test_a_suspect_that_looks_like_its_own_label_is_nobodys():
    p, label = planted(wrong=0.7)
    unsure = np.arange(8)
    p[unsure] = 0.19
    p[unsure, label[unsure]] = 0.24
    found = judged(p, label)
    assert found.form == "constant"
    assert found.suspected[unsure].all()  # where most labels are random, a weak yes is not believed
    assert (found.kind[unsure] == 2).all()
    assert (found.suggested[unsure] == -1).all()
    relabelled = found.kind == 1
    assert relabelled.any()
    assert (found.suggested[relabelled] != label[relabelled]).all()


@pytest.mark.parametrize(("k", "wrong"), [(2, 0.6), (3, 0.75)])
def test_of_few_classes_a_random_label_that_is_right_is_no_suspect(k, wrong):
    p, label = planted(n=3000, k=k, wrong=wrong)
    found = judged(p, label)
    assert found.form == "constant"
    assert found.posterior.min() > 0.4  # any label may be random, and many random ones are right
    np.testing.assert_array_equal(found.suspected, p.argmax(axis=1) != label)
    assert (found.kind[found.suspected] == 1).all()


def test_of_three_classes_no_label_is_sure_where_there_are_more_than_random_ones():
    """A star that looks like a galaxy to every view is no wrong label: its like are too many."""
    random = np.random.default_rng(0)
    looks = random.integers(3, size=1800)
    p = softmax(6 * np.eye(3)[looks] + random.normal(size=(1800, 3)), axis=1)
    flipped = random.random(1800) < 0.08
    label = np.where(flipped, (looks + random.integers(1, 3, 1800)) % 3, looks)
    even = judged(p, label, overlap="possible", mode="held-out")
    assert even.form == "constant"
    assert (even.level == SURE).sum() > 0.7 * flipped.sum()
    hidden = (looks == 1) & ~flipped & (random.random(1800) < 0.08)  # of class 0, and look like class 1
    label[hidden] = 0
    found = judged(p, label, overlap="possible", mode="held-out")
    sure = found.level == SURE
    assert found.suspected[hidden].mean() > 0.7  # for review: nothing tells them from wrong labels
    assert not sure[hidden].any()
    assert sure.sum() > 40
    assert flipped[sure].all()


def with_an_unseen_class():
    """The same with four samples of a class that the network takes for another."""
    p, label = planted(k=6)
    label[label == 5] = 0
    p = np.concatenate([p, np.tile([0.95, 0.01, 0.01, 0.01, 0.01, 0.01], (4, 1))])
    return p, np.concatenate([label, np.full(4, 5)])


def test_the_audit_doubts_itself_where_it_suspects_most_of_a_class():
    assert not any("most of" in note for note in judged(*planted()).notes)
    found = judged(*with_an_unseen_class())
    assert found.suspected[-4:].all()
    told = [note for note in found.notes if note.startswith("most of 2 classes is suspect ('5': 4 of 4, '0'")]
    assert len(told) == 1
    assert told[0] in found.summary()


def test_several_classes_most_of_which_are_suspect_are_told_in_one_note():
    classes, label = tuple("abcdefg"), np.repeat(np.arange(7), 4)
    (told,) = _doubts(classes, label, np.isin(np.arange(28), [0, 4, 5, 6, 7]) | (label > 1))
    assert told.startswith(
        "most of 6 classes is suspect ('b': 4 of 4, 'c': 4 of 4, 'd': 4 of 4, 'e': 4 of 4, 'f': 4 of 4 and 1 "
        "more): many labels there are wrong"
    )


def test_long_names_of_classes_are_told_by_their_ends():
    p, label = with_an_unseen_class()
    names = [f"plants > {'flowering > ' * 20}kind {k}" for k in range(6)]
    found = Audit.from_predictions(p, np.array(names)[label], classes=names, overlap="none")
    shown = "plants > flowering > flowering > flowering > flowering > flo… flowering > kind 5"
    assert any(f"is suspect ('{shown}': 4 of 4" in note for note in found.notes)
    assert not any(name in found.summary() for name in names)


def test_probabilities_alone_make_nothing_sure():
    p, label = planted()
    found = judged(p, label)
    assert (found.level[found.suspected] == REVIEW).all()
    assert sum(note.startswith("nothing is sure") for note in found.notes) == 1
    np.testing.assert_array_equal(found.suspected, judged(p, label, mode="held-out").suspected)
    assert not any(note.startswith("nothing is sure") for note in judged(*planted(wrong=0)).notes)


def test_the_estimate_is_not_below_what_is_sure():
    found = judged(*planted(), mode="held-out")
    surely = replace(found, kind=np.where(found.level == SURE, OOD, OK), posterior=np.zeros(len(found)))
    assert surely.contamination["ood"] == (found.level == SURE).mean() > 0
    assert surely.contamination["total"] >= surely.contamination["ood"]


def test_labels_that_nobody_expected_are_told_where_nothing_is_flagged():
    p, label = planted(n=400, wrong=0)
    assert not any("have a confidence" in note for note in judged(p, label).notes)
    p[:30] = 0.2495  # like no class in particular, and not like their labels at all
    p[np.arange(30), label[:30]] = 0.002
    evidence = gather(p, label, tuple(range(5)), None, "predictions", "none")
    (told,) = _unexpected(evidence)
    assert re.match(r"3\d labels have a confidence below 1% all the same, where 2 would by chance", told)


@pytest.mark.parametrize(("size", "flagged"), [(3, 0), (4, 4)])
def test_classes_of_three_samples_are_not_judged(size, flagged):
    p, label = planted(k=6)
    label[label == 5] = 0
    p = np.concatenate([p, np.tile([0.95, 0.01, 0.01, 0.01, 0.01, 0.01], (size, 1))])
    found = judged(p, np.concatenate([label, np.full(size, 5)]))  # nothing like their label
    assert found.suspected[-size:].sum() == flagged
    told = [note for note in found.notes if note == "not judged: classes with fewer than 4 samples (5)"]
    assert len(told) == (size == 3)


@pytest.mark.parametrize("wrong", [0, 0.1])
def test_classes_that_are_not_judged_come_last_by_score(wrong):
    """No network expects what it saw three times: were they first, a person would look at nothing else."""
    p, label = planted(k=24, wrong=wrong)
    p, label = p[label < 4], label[label < 4]
    others = np.repeat(np.arange(4, 24), 3)
    p = np.concatenate([p, np.eye(24)[others % 4] * 0.9 + 0.1 / 24])
    found = judged(p, np.concatenate([label, others]))
    assert bool(found.suspected.sum()) == bool(wrong)
    assert found.score[label.size :].max() <= found.score[: label.size].min()
    assert found.look_first <= (p.argmax(axis=1)[: label.size] != label).sum()


def test_a_network_that_has_seen_the_labels_must_gain_more():
    """Between gains of 4 and 8, twice the log-likelihood, labels are doubted where they were not seen."""
    between = 0
    for seed in range(40):
        p, label = planted(n=250, wrong=0.03, seed=seed)
        told = judged(p, label).details
        gain = 2 * (told["log_likelihood_constant"] - told["log_likelihood_none"])
        if 4 < gain < 8:
            between += 1
            assert judged(p, label).form == "constant"
            assert judged(p, label, mode="history").form == "none"
    assert between > 2


def lengthened(p):
    """Features by which neighbours agree with the probabilities: the model is not too weak to ask on."""
    return np.log(p).astype(np.float32)


def lying_apart(monkeypatch, chance):
    """Let every sample that is asked about lie apart with this chance; returns how it was asked."""
    asked = []

    def say(features, *_, parts, **__):
        asked.append(parts)
        return Apart(np.full(len(features), chance), chance, "")

    monkeypatch.setattr(apart, "lying_apart", say)
    return asked


def test_the_chance_of_a_foreign_sample_stands_beside_that_of_a_random_label(monkeypatch):
    p, label = planted()
    features = lengthened(p)
    lying_apart(monkeypatch, 0.0)
    before = judged(p, label, features=features)
    lying_apart(monkeypatch, 0.4)
    after = judged(p, label, features=features)
    rest = before.posterior <= threshold_of(before.posterior)
    assert before.posterior[rest].max() > 0.1
    np.testing.assert_allclose(after.posterior[rest], 1 - (1 - before.posterior[rest]) * (1 - 0.4))
    np.testing.assert_array_equal(after.posterior[~rest], before.posterior[~rest])
    assert before.found_by == ("random_labels",)
    assert after.found_by == ("random_labels", "foreign_clusters")


def test_labels_are_parted_only_where_none_looks_drawn_at_random(monkeypatch):
    asked = lying_apart(monkeypatch, 0.0)
    for wrong, overlap in ((0.0, "none"), (0.3, "none"), (0.0, "possible")):
        p, label = planted(wrong=wrong)
        found = judged(p, label, features=lengthened(p), overlap=overlap)
        assert ("random_labels" in found.found_by) == (wrong > 0)
    assert asked == [True, False, False]


@pytest.mark.parametrize(("chance", "overruled"), [(0.4, True), (0.15, False)])
def test_far_more_that_lies_apart_overrules_a_few_labels_that_look_random(monkeypatch, chance, overruled):
    p, label = planted(wrong=0.12)
    asked = lying_apart(monkeypatch, chance)
    found = judged(p, label, features=lengthened(p))
    assert found.found_by == (("foreign_clusters",) if overruled else ("random_labels", "foreign_clusters"))
    assert asked == ([True] if overruled else [True, False])


def test_the_threshold_is_the_best_for_the_f1_that_the_posterior_expects():
    random = np.random.default_rng(0)
    for _ in range(20):
        posterior = random.beta(0.3, 1.0, size=200)

        def expected(limit, posterior=posterior):
            flagged = posterior > limit
            return 2 * posterior[flagged].sum() / (flagged.sum() + posterior.sum())

        best = max(expected(limit) for limit in np.linspace(0.25, 0.5, 251))
        assert expected(threshold_of(posterior)) >= best - 1e-9
    assert threshold_of(np.zeros(5)) == 0.5


def pairs_of(n=1200, k=3, wrong=0.15, seed=0):
    """Features in clouds, held-out probabilities that have learnt the pair flips, and labels with them."""
    random = np.random.default_rng(seed)
    true = random.integers(k, size=n)
    bad = random.random(n) < wrong
    label = np.where(bad, (true + 1) % k, true)
    p = np.full((n, k), 0.01)
    p[np.arange(n), (true + 1) % k] = wrong
    p[np.arange(n), true] = 1 - p.sum(axis=1) + 0.01
    p = np.clip(p * random.uniform(0.95, 1.05, size=p.shape), 1e-6, None)
    return p / p.sum(axis=1, keepdims=True), label, bad, true


def test_labels_that_go_wrong_the_same_way_are_told_where_they_cannot_be_flagged():
    p, label, bad, _ = pairs_of()
    found = judged(p, label, overlap="possible")
    assert not found.suspected.any()
    note = next(note for note in found.notes if "look like another class" in note)
    assert note.startswith(f"{bad.sum()} samples look like another class all the same (")
    assert "1 like 0: " in note
    order = np.argsort(-found.score)
    assert bad[order[: bad.sum()]].all()  # they lead the order
    clean = judged(p[~bad], label[~bad], overlap="possible")
    assert not any("look like" in note for note in clean.notes)


def test_labels_that_go_wrong_the_same_way_are_flagged_where_they_lie_apart():
    random = np.random.default_rng(1)
    p, label, bad, true = pairs_of(k=8, wrong=0.1)
    centre = random.normal(size=(8, 40))
    x = (centre[true] + 0.7 * random.normal(size=(len(label), 40))).astype(np.float32)
    found = judged(p, label, features=x)
    assert (found.form, found.found_by) == ("transition", ("class_confusion",))
    assert found.suspected[bad].mean() > 0.9
    assert not found.suspected[~bad].any()
    assert (found.kind[found.suspected] == 1).all()  # mislabelled, and as which
    np.testing.assert_array_equal(found.suggested[found.suspected], true[found.suspected])
    left = (found.probabilities.argmax(1) != label) & ~found.suspected
    low, high = found.ranges["ood"]  # what contradicts its label and was not flagged may be foreign
    assert low == 0
    assert left.mean() <= high <= left.mean() + 0.01
    assert found.ranges["total"][1] >= found.contamination["total"] + high
    assert any(note.startswith("labels are mistaken for one another (") for note in found.notes)


def test_where_nothing_is_flagged_the_range_reaches_to_all_that_contradicts():
    random = np.random.default_rng(0)
    true = random.integers(2, size=600)
    wrong = random.random(600) < 0.15
    label = np.where(wrong, 1 - true, true)
    chance = random.uniform(0.83, 0.87, 600)  # as one that learnt from such labels has it
    p = np.where(np.eye(2)[true] > 0, chance[:, None], 1 - chance[:, None])
    silent = judged(p, label, overlap="possible")
    assert not silent.suspected.any()
    assert silent.contamination == {"ood": None, "mislabelled": None, "total": None}  # not told is not 0
    low, high = silent.ranges["total"]
    assert low == 0
    assert wrong.mean() < high < wrong.mean() + 0.05
    assert f"estimated contamination: at most {high:.1%}" in silent.summary()
    assert any(note.startswith("nothing flagged: nothing stands out enough") for note in silent.notes)
    assert any(note.startswith(f"none to {high:.1%} of the labels may be wrong") for note in silent.notes)
    assert silent.look_first == SITTING < wrong.sum()
    told = f"worth a look: the first {SITTING} by score"
    assert any(told in note for note in silent.notes)
    assert f"none flagged, the first {SITTING} by score worth a look" in repr(silent)
    assert "suspected: none is flagged" in silent.summary()
    assert f'table.nlargest({SITTING}, "score")' in silent.summary()
    assert silent.summary().count("not flagged (score ") == 5
    assert judged(*planted()).look_first == 0  # there are suspects to look at
    p = np.eye(2)[true] * 0.98 + 0.01
    assert judged(p, true, overlap="possible").look_first == 0
    label = true.copy()
    label[0] = 1 - label[0]
    alone = judged(p, label, overlap="possible")
    assert alone.look_first == 1
    assert any("worth a look: the first by score, which looks least like its label" in n for n in alone.notes)
    assert "nothing flagged: every sample looks like its label" in judged(p, true, overlap="possible").notes
    for found in (alone, judged(p, true, overlap="possible")):  # of a model that may have seen the samples
        assert any("as cross_val_predict makes them" in note for note in found.notes)
    for found in (silent, judged(p, true, mode="held-out", overlap="possible")):
        assert not any("cross_val_predict" in note for note in found.notes)
    assert judged(p, true, overlap="possible").ranges["total"] == (0, 0)
    assert (
        judged(p, true, overlap="possible").contamination["total"] == 0
    )  # every label is what it looks like


def test_where_views_err_too_often_only_the_most_is_told():
    random = np.random.default_rng(0)
    label = random.integers(2, size=600)
    silent = judged(softmax(0.2 * random.normal(size=(600, 2)), axis=1), label, overlap="possible")
    assert not silent.suspected.any()
    high = silent.ranges["total"][1]
    assert high > 0.4
    assert silent.contamination["total"] is None
    assert f"estimated contamination: at most {high:.1%}" in silent.summary()
    assert any(
        note.endswith("so samples do not tell their class, or many labels are wrong") for note in silent.notes
    )
    many = judged(softmax(0.2 * random.normal(size=(600, 6)), axis=1), random.integers(6, size=600))
    assert many.ranges["total"][1] > 0.8  # labels that nothing explains
    assert any("wrong labels cannot be told from hard samples" in note for note in many.notes)
    few = judged(np.full((20, 2), 0.5), np.arange(20) % 2)  # too few to judge
    assert few.ranges == {}


@pytest.mark.parametrize("wrong", [0.1, 0.3, 0.6])
def test_no_estimate_is_below_what_is_flagged(wrong):
    found = judged(*planted(wrong=wrong))
    shares = {"mislabelled": found.kind == 1, "ood": found.kind == OOD, "total": found.suspected}
    assert found.suspected.any()
    for name, flagged in shares.items():
        low, high = found.ranges[name]
        assert low <= (found.contamination[name] or 0) <= high + 1e-9
        assert (found.contamination[name] or 0) >= flagged.mean() - 1e-9


@pytest.mark.parametrize("wrong", [0.1, 0.6])
def test_one_estimate_is_told_wherever_a_share_is(wrong):
    found = judged(*planted(wrong=wrong))
    share = found.contamination["mislabelled"]
    pairs = found.confusions
    assert pairs["samples"].sum() == pytest.approx(share * len(found))
    assert pairs["suspected"].sum() == (found.kind == 1).sum()
    in_label = pairs.groupby("label")["share"].sum() * np.bincount(found.label)
    assert in_label.sum() == pytest.approx(share * len(found))
    assert f"estimated contamination: {found.contamination['total']:.1%}, 90% range" in found.summary()


def test_chances_count_as_what_was_found_and_add_up_to_what_is_flagged():
    ood, wrong = np.array([0.2, 0.1, 0.1, 0.0]), np.array([0.5, 0.3, 0.1, 0.0])
    told = chances_by_kind(ood, wrong, np.array([1, 1, 0, 0]))
    np.testing.assert_allclose(told["ood"], [0, 0, 0.1, 0])
    # two are flagged, 1.2 are expected: the 0.3 and 0.6 that the suspects lack are raised alike
    np.testing.assert_allclose(told["mislabelled"], [0.7 + 0.3 * 8 / 9, 0.4 + 0.6 * 8 / 9, 0.1, 0.0])
    np.testing.assert_allclose(chances_by_kind(ood, wrong, np.zeros(4, dtype=int))["mislabelled"], wrong)


def test_a_model_that_learned_these_samples_is_told_of_whatever_features_say():
    random = np.random.default_rng(0)
    true = np.arange(600) % 3
    x = 2 * np.eye(3)[true] + random.normal(size=(600, 3))
    label = np.where(random.random(600) < 0.1, (true + 1) % 3, true)
    by_heart = np.eye(3)[label] * 0.5 + np.eye(3)[true] * 0.47 + 0.01  # doubts what it learned, no more
    found = Audit.from_predictions(by_heart, label, x)
    assert not found.suspected.any()
    assert (found.probabilities.argmax(axis=1) != label).mean() > 0.01  # neighbours contradict some labels
    assert any("as cross_val_predict makes them" in note for note in found.notes)
