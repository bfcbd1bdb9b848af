"""Samples in groups: they are judged by samples of other groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import graylearn as gl
from graylearn.audit import groups as module
from graylearn.audit.detectors import DETECTORS
from graylearn.audit.evidence import gather
from graylearn.audit.groups import deal
from graylearn.audit.verdict import judge
from graylearn.data.groups import label_of_groups
from graylearn.errors import DataError, SettingsError
from graylearn.training.cross_fit import stratified_folds

CLASSES, EACH = 5, 6


def videos(count=150, each=EACH, seed=0):
    """(x, y, groups): frames that differ little within a video, and videos of a class that differ more."""
    random = np.random.default_rng(seed)
    of_video = np.arange(count) % CLASSES
    shown = 4.0 * np.eye(CLASSES, 8)[of_video] + random.normal(size=(count, 8))
    groups = np.repeat(np.arange(count), each)
    return shown[groups] + 0.05 * random.normal(size=(len(groups), 8)), of_video[groups], groups


def wrong_videos(seed=0):
    """The same with a fifth of the videos labelled wrongly, and which samples these are."""
    x, y, groups = videos(seed=seed)
    wrong = groups % 5 == groups // 5 % 5
    return x, np.where(wrong, (y + 1 + groups % 4) % CLASSES, y), groups, wrong


def test_videos_with_a_wrong_label_are_found_that_vouch_for_themselves():
    x, y, groups, wrong = wrong_videos()
    assert not gl.audit(x, y).suspected.any(), "frames of a video vouch for its label"
    found = gl.audit(x, y, groups=groups)
    assert found.suspected[wrong].mean() > 0.9
    assert wrong[found.suspected].mean() > 0.9
    assert found.notes[0].startswith("150 groups: samples of one are not asked about one another")
    assert (found.kind[wrong & found.suspected] == 1).mean() > 0.9, "mislabelled"
    low, high = found.ranges["total"]
    assert low <= found.contamination["total"] <= high


def test_clean_videos_are_clean():
    for seed in range(3):
        x, y, groups = videos(seed=seed)
        assert not gl.audit(x, y, groups=groups).suspected.any()


def test_single_frames_with_a_wrong_label_are_found_too():
    x, y, groups = videos()
    wrong = np.random.default_rng(1).random(len(y)) < 0.08
    y = np.where(wrong, (y + 2) % CLASSES, y)
    found = gl.audit(x, y, groups=groups)
    assert found.suspected[wrong].mean() > 0.85
    assert wrong[found.suspected].mean() > 0.9


def test_a_label_that_few_of_a_group_bear_is_right_where_other_groups_say_so():
    """In some videos another class comes in at the end, and looks like the rest of its video somewhat."""
    x, y, groups = videos()
    last = (np.arange(len(y)) % EACH == EACH - 1) & (groups % 3 == 0)
    x[last] += 4.0 * (np.eye(CLASSES, 8)[(y[last] + 1) % CLASSES] - np.eye(CLASSES, 8)[y[last]])
    y[last] = (y[last] + 1) % CLASSES
    assert not gl.audit(x, y, groups=groups).suspected[last].any()


def test_neither_order_nor_names_of_groups_matter():
    x, y, groups, _ = wrong_videos()
    found = gl.audit(x, y, groups=groups).table
    order = np.random.default_rng(3).permutation(len(y))
    names = np.array([f"video {97 * each % 150}" for each in groups])
    other = gl.audit(x[order], y[order], ids=order, groups=names[order]).table.set_index("id")
    pd.testing.assert_frame_equal(other.loc[found["id"]].reset_index(), found)


def test_groups_of_one_sample_are_no_groups():
    x, y, groups, _ = wrong_videos()
    x, y = x[::EACH], y[::EACH]
    plain = gl.audit(x, y)
    for names in (groups[::EACH], [None] * len(y)):
        assert gl.audit(x, y, groups=names).table.equals(plain.table)


def test_samples_bring_their_groups():
    x, y, groups, _ = wrong_videos()
    samples = gl.Samples(x, y, tuple(range(CLASSES)), np.arange(len(y)), "array", groups=groups)
    assert gl.audit(samples).table.equals(gl.audit(x, y, groups=groups).table)


def test_a_model_and_probabilities_of_ones_own_may_be_asked():
    x, y, groups, wrong = wrong_videos()
    model = LogisticRegression()
    found = gl.audit(x, y, model=model, groups=pd.Series(groups, dtype="string"))
    assert found.suspected[wrong].mean() > 0.9
    said = found.probabilities
    assert gl.Audit.from_predictions(said, y, x).suspected[wrong].mean() < 0.5
    again = gl.Audit.from_predictions(said, y, x, groups=groups)
    assert again.suspected[wrong].mean() > 0.9
    alone = gl.Audit.from_predictions(said, y, groups=groups, overlap="none")
    assert len(alone) == len(y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"groups": "video"}, DataError, "groups is the text 'video'.*give the column itself"),
        ({"groups": [1, 2, 3]}, DataError, r"shape \(3,\) for 900 samples"),
        ({"mode": "history"}, SettingsError, "saw the whole group of each sample.*pass mode='held-out'"),
    ],
)
def test_groups_that_cannot_be_heeded(options, error, message):
    x, y, groups, _ = wrong_videos()
    with pytest.raises(error, match=message):
        gl.audit(x, y, **{"groups": groups, **options})


def test_few_groups_are_too_few():
    x, y, groups = videos(count=20)
    found = gl.audit(x, y, groups=groups)
    assert not found.suspected.any()
    assert any(note.startswith("nothing flagged: 20 groups are too few to tell") for note in found.notes)


def test_what_few_parts_find_is_chance(monkeypatch):
    """Of six parts two find something, and nothing more when they are asked without it."""
    asked = []

    def counted(evidence, ids, answers=None, *, called="", unasked=()):
        number = len(asked) % 6
        asked.append(set(unasked))
        by = ("one",) if number in (1, 4) and not unasked else ()
        found = {name: np.zeros(len(ids), dtype=np.int64) for name in ("label", "kind", "level")}
        found |= {"suspected": np.full(len(ids), bool(by)), "detector": np.full(len(ids), 0 if by else -1)}
        found["probabilities"] = np.ones((len(ids), 1))
        return found | {"ids": ids, "found_by": by, "notes": (), "form": "none", "ranges": {}}

    monkeypatch.setattr(module, "judge", counted)
    label, group = np.zeros(60, dtype=np.int64), np.repeat(np.arange(10), 6)
    found = module.verdicts(lambda rows: None, label, None, np.arange(60), group)
    assert not found["suspected"].any()
    assert asked == [set()] * 6 + [{"one"}] * 2


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_that_is_not_asked_finds_nothing_and_is_missed_by_none(name):
    x, y, _, wrong = wrong_videos()
    said = 0.9 * np.eye(CLASSES)[np.where(wrong, (y + 1) % CLASSES, y)] + 0.1 / CLASSES
    evidence = gather(said, y, tuple(range(CLASSES)), x.astype(np.float32), "held-out", "none")
    found = judge(evidence, np.arange(len(y)), unasked={name})
    assert name not in found["found_by"]
    assert not judge(evidence, np.arange(len(y)), unasked=DETECTORS)["suspected"].any()


@pytest.mark.parametrize("longest", [3, 40, 400])
def test_a_part_has_one_sample_of_a_group_and_label_at_most(longest):
    random = np.random.default_rng(longest)
    group = np.repeat(np.arange(200), random.integers(1, longest + 1, 200))
    label = np.where(random.random(len(group)) < 0.1, random.integers(4, size=len(group)), group % 4)
    parts = deal(group, label)
    pair = group * 4 + label
    for rows in parts.rows:
        assert len(np.unique(pair[rows])) == len(rows)
        assert set(group[rows]) == set(group), "a part has a slice of each group"
    assert set(pair[parts.own >= 0]) == set(pair), "some of each group and label is judged"
    for number, rows in enumerate(parts.rows):
        assert set(np.flatnonzero(parts.own == number)) <= set(rows)
    assert sum(map(len, parts.rows)) <= max(2 * len(group), 20_000) * 1.2
    usual = label == group % 4
    wrong = [(~usual[rows]).mean() for rows in parts.rows]
    assert np.mean(wrong) < 2 * (~usual).mean(), "wrong labels are no more often there"


def test_a_group_is_held_out_as_a_whole():
    random = np.random.default_rng(0)
    group = random.integers(40, size=400)
    label = group % 4
    fold = stratified_folds(label, 2, 3, 0, group)
    for row in fold:
        assert all(len(np.unique(row[group == each])) == 1 for each in range(40))
        for k in range(4):
            assert len(np.unique(row[label == k])) == 2, "each class is learned in each fold"
    assert label_of_groups(np.array([0, 0, 0, 1, 1, 2]), np.array([2, 1, 2, 3, 0, 1])).tolist() == [2, 0, 1]


def test_samples_beyond_the_parts_are_answered_for_by_the_nearest_of_their_kind(monkeypatch):
    monkeypatch.setattr(module, "MOST_PARTS", 3)
    x, y, groups, wrong = wrong_videos()
    found = gl.audit(x, y, groups=groups)
    assert len(found) == len(y)
    assert found.ids.tolist() == list(range(len(y)))
    assert found.suspected[wrong].mean() > 0.9
    assert "judged in 3 parts" in found.notes[0]


def test_what_half_of_a_group_is_sure_of_is_sure():
    level = np.array([2, 2, 1, 0, 2, 1, 0, 2])
    pair = np.array([0, 0, 0, 0, 1, 1, 1, 2])
    assert module._level(level, pair).tolist() == [2, 2, 1, 0, 1, 1, 0, 2]


def test_a_suspect_alone_in_its_group_is_one_only_where_all_samples_say_so(monkeypatch):
    """Of four samples of a group one is suspected by its part, and among all samples or not."""
    ids, label, pair = np.arange(8), np.zeros(8, dtype=np.int64), np.repeat([0, 1], 4)
    suspected = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    fields = {
        "ids": ids, "label": label, "suspected": suspected, "probabilities": np.ones((8, 1)),
        "detector": np.where(suspected, 0, -1), "found_by": ("one",), "notes": (),
        "form": "none", "ranges": {},
    }  # fmt: skip
    parts = module.Parts([ids], label, pair, np.zeros(8, dtype=bool))
    for among_all in (False, True):
        at_once = fields | {"suspected": np.full(8, among_all), "found_by": (), "detector": np.full(8, -1)}
        monkeypatch.setattr(module, "judge", lambda *given, made=at_once, **options: made)
        found = module._with_all_at_once(fields, lambda rows: None, parts)
        assert found["suspected"].tolist() == [among_all, *suspected[1:].tolist()]
        assert found["ids"].tolist() == ids.tolist()
