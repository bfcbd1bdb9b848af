"""contaminate meets alpha to the sample, tells the truth about each one, and leaves the data as it was."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graylearn.data.contaminate import Contaminated, contaminate
from graylearn.data.samples import Samples
from graylearn.errors import DataError


def rows(n, start=0):
    """n rows that tell where they came from."""
    return np.arange(start, start + n, dtype=np.float64)[:, None] * [1.0, 10.0]


def labels(n, K):
    return np.arange(n) % K


mixtures = st.fixed_dictionaries(
    {
        "n": st.integers(2, 60),
        "K": st.integers(1, 7),
        "groups": st.integers(1, 15),
        "alpha": st.floats(0, 0.8),
        "flip": st.floats(0, 1),
        "labels": st.sampled_from(["random", "specific"]),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def mix(case, **changes):
    case = case | changes
    n, K = case["n"], min(case["K"], case["n"])
    flip = case["flip"] if K > 1 else 0.0
    ood = rows(250, start=1000)
    x, y = rows(n), labels(n, K)
    settings_ = {"alpha": case["alpha"], "labels": case["labels"], "flip": flip, "seed": case["seed"]}
    mixed = contaminate(x, y, ood, ood_groups=np.arange(250) % case["groups"], **settings_)
    return mixed, x, y, ood, K, flip


@settings(max_examples=150, deadline=None)
@given(mixtures)
def test_counts_truth_and_rows(case):
    mixed, x, y, ood, K, flip = mix(case)
    n, n_ood = len(x), int(mixed.is_ood.sum())
    assert isinstance(mixed, Samples)
    assert len(mixed) == n + n_ood

    # alpha to the nearest sample: the exact number lies within half a sample
    assert abs(n_ood - case["alpha"] / (1 - case["alpha"]) * n) <= 0.5 + 1e-6
    assert mixed.alpha == pytest.approx(n_ood / (n + n_ood))

    # every row is the row it says it is, and no OOD sample is drawn twice
    assert np.array_equal(mixed.x[~mixed.is_ood], x)
    assert np.array_equal(mixed.x[mixed.is_ood], ood[mixed.source[mixed.is_ood]])
    assert np.array_equal(mixed.source[~mixed.is_ood], np.arange(n))
    assert len(set(mixed.source[mixed.is_ood])) == n_ood
    assert mixed.x.dtype == x.dtype

    # flips: exact count, never among OOD samples, always another label than the truth
    assert mixed.is_flipped.sum() == round(flip * n)
    assert not (mixed.is_flipped & mixed.is_ood).any()
    inside = ~mixed.is_ood
    assert np.array_equal(mixed.true_y[inside], y)
    assert np.array_equal(mixed.y[inside] != mixed.true_y[inside], mixed.is_flipped[inside])
    assert (mixed.true_y[mixed.is_ood] == -1).all()
    assert ((mixed.y >= 0) & (mixed.y < K)).all()

    if case["labels"] == "specific":
        given_labels = mixed.y[mixed.is_ood]
        group = mixed.source[mixed.is_ood] % case["groups"]
        label_of = {g: set(given_labels[group == g]) for g in set(group)}
        assert all(len(found) == 1 for found in label_of.values())
        per_label = np.bincount([min(found) for found in label_of.values()], minlength=K)
        if n_ood:
            assert per_label.max() - per_label.min() <= 1

    clean = mixed.clean()
    assert np.array_equal(clean.x, x)
    assert np.array_equal(clean.y, y)
    assert type(clean) is Samples


@settings(max_examples=30, deadline=None)
@given(mixtures)
def test_one_seed_gives_one_mixture(case):
    one, other = mix(case)[0], mix(case)[0]
    for name in ("x", "y", "ids", "is_ood", "is_flipped", "true_y", "source"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_with_one_seed_labels_and_flips_change_labels_only_and_alpha_adds_samples():
    case = {"n": 60, "K": 5, "groups": 10, "alpha": 0.4, "flip": 0.0, "labels": "random", "seed": 3}
    base = mix(case)[0]
    for change in ({"labels": "specific"}, {"flip": 0.5}):
        changed = mix(case, **change)[0]
        assert np.array_equal(changed.source, base.source)
        assert np.array_equal(changed.is_ood, base.is_ood)
        assert not np.array_equal(changed.y, base.y)
    fewer = mix(case, alpha=0.2)[0]
    label_of = dict(zip(base.source[base.is_ood], base.y[base.is_ood], strict=True))
    assert set(fewer.source[fewer.is_ood]) < set(label_of)
    assert all(
        label_of[s] == y for s, y in zip(fewer.source[fewer.is_ood], fewer.y[fewer.is_ood], strict=True)
    )


def test_random_labels_are_uniform_and_ood_places_are_spread():
    mixed = contaminate(rows(5000), labels(5000, 5), rows(6000, 9000), alpha=0.5, seed=4)
    counts = np.bincount(mixed.y[mixed.is_ood], minlength=5)
    # chi-square with 4 degrees of freedom: 18.5 is passed by chance once in a thousand
    assert ((counts - 1000) ** 2 / 1000).sum() < 18.5
    assert abs(mixed.is_ood[:5000].sum() - 2500) < 200
    assert contaminate(rows(9), labels(9, 3), rows(9), alpha=0).alpha == 0


def test_flipped_labels_are_spread_over_the_other_classes():
    mixed = contaminate(rows(6000), labels(6000, 4), rows(1), alpha=0, flip=0.5, seed=1)
    for true in range(4):
        wrong = mixed.y[mixed.is_flipped & (mixed.true_y == true)]
        counts = np.delete(np.bincount(wrong, minlength=4), true)
        assert abs(counts - len(wrong) / 3).max() < 5 * np.sqrt(len(wrong) / 3)


def as_frame(values):
    return pd.DataFrame(
        {
            "number": values[:, 0],
            "count": values[:, 0].astype(np.int32),
            "word": [f"w{int(v)}" for v in values[:, 0]],
            "group": pd.Categorical([f"g{int(v) % 3 + (v >= 1000)}" for v in values[:, 0]]),
        }
    )


def as_images(values):
    return np.tile((values[:, 0] % 251).astype(np.uint8)[:, None, None, None], (1, 4, 4, 3))


def as_text(values):
    return np.array([f"question {int(v)}" for v in values[:, 0]], dtype=object)


@pytest.mark.parametrize(
    ("form", "kind"),
    [(as_frame, "table"), (as_images, "image"), (as_text, "text"), (lambda v: v.astype(np.float16), "array")],
)
@pytest.mark.parametrize("how", ["random", "specific"])
def test_every_kind_of_sample_is_mixed_with_its_type_kept(form, kind, how):
    x, ood = form(rows(30)), form(rows(40, 1000))
    mixed = contaminate(x, labels(30, 3), ood, alpha=0.4, labels=how, seed=2)
    assert mixed.kind == kind
    assert type(mixed.x) is type(x)
    assert mixed.is_ood.sum() == 20
    chosen = mixed.source[mixed.is_ood]
    if kind == "table":
        inside = mixed.x[~mixed.is_ood].reset_index(drop=True)
        pd.testing.assert_frame_equal(inside.astype({"group": str}), x.astype({"group": str}))
        assert mixed.x["count"].dtype == np.int32
        assert isinstance(mixed.x["group"].dtype, pd.CategoricalDtype)
        assert mixed.x["number"].tolist() == [
            1000 + s if o else s for s, o in zip(mixed.source, mixed.is_ood, strict=True)
        ]
        assert mixed.x["group"][mixed.is_ood].tolist() == ood["group"].iloc[chosen].tolist()
    else:
        assert mixed.x.dtype == x.dtype
        assert np.array_equal(mixed.x[~mixed.is_ood], x)
        assert np.array_equal(mixed.x[mixed.is_ood], ood[chosen])


@pytest.mark.parametrize("labelled", ["random", "specific"])
@pytest.mark.parametrize("form", [as_frame, as_images, np.asarray])
def test_wrong_labels_alone_need_no_foreign_samples(form, labelled):
    x, y = form(rows(40)), labels(40, 4)
    dirty = contaminate(x, y, alpha=0, flip=0.25, labels=labelled)
    assert not dirty.is_ood.any()
    assert dirty.is_flipped.sum() == 10
    assert type(dirty.x) is type(x)
    assert len(dirty.x) == 40


def make_samples(n, K, ids, start=0):
    return Samples(rows(n, start), labels(n, K), tuple(f"c{k}" for k in range(K)), np.asarray(ids), "array")


def test_samples_bring_their_labels_ids_and_ood_groups():
    inside = make_samples(20, 4, [f"in/{i}.png" for i in range(20)])
    ood = make_samples(20, 5, [f"out/{i}.png" for i in range(20)], start=500)
    mixed = contaminate(inside, ood_x=ood, alpha=0.5, labels="specific", seed=1)
    assert mixed.classes == inside.classes
    for i in range(len(mixed)):
        assert mixed.ids[i] == (
            f"out/{mixed.source[i]}.png" if mixed.is_ood[i] else f"in/{mixed.source[i]}.png"
        )
    given_labels, group = mixed.y[mixed.is_ood], ood.y[mixed.source[mixed.is_ood]]
    assert all(len(set(given_labels[group == g])) == 1 for g in range(5))
    assert set(given_labels) == set(range(4))
    clash = contaminate(inside, ood_x=make_samples(20, 5, inside.ids), alpha=0.5)
    assert clash.ids.tolist() == list(range(40))
    assert contaminate(inside, ood_x=rows(20), alpha=0.5).ids.tolist() == list(range(40))


def test_groups_are_found_where_none_are_given():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    group = np.arange(90) % 3
    ood = centres[group] + rng.normal(size=(90, 2))
    mixed = contaminate(rows(90), labels(90, 3), ood, alpha=0.5, labels="specific", seed=0)
    given_labels, group = mixed.y[mixed.is_ood], group[mixed.source[mixed.is_ood]]
    assert sorted(given_labels[group == g][0] for g in range(3)) == [0, 1, 2]
    assert all(len(set(given_labels[group == g])) == 1 for g in range(3))


def test_a_shortage_names_the_largest_alpha_which_then_works():
    x, y, ood = rows(90), labels(90, 3), rows(7, 200)
    with pytest.raises(
        DataError, match=r"alpha 0\.1 needs 10 OOD samples beside 90 .* has 7; .* reach is 0\.0721:"
    ):
        contaminate(x, y, ood, alpha=0.1)
    assert contaminate(x, y, ood, alpha=0.0721).is_ood.sum() == 7


def test_a_shortage_may_lower_alpha_or_use_fewer_in_distribution_samples():
    x, y, ood = rows(90), labels(90, 3), rows(7, 200)
    lower = contaminate(x, y, ood, alpha=0.1, on_shortage="lower")
    assert (lower.is_ood.sum(), len(lower)) == (7, 97)
    fewer = contaminate(x, y, ood, alpha=0.1, on_shortage="subsample")
    assert (fewer.is_ood.sum(), len(fewer)) == (7, 70)
    assert np.bincount(fewer.true_y[~fewer.is_ood]).tolist() == [21, 21, 21]
    assert np.array_equal(fewer.x[~fewer.is_ood], x[fewer.source[~fewer.is_ood]])
    enough = contaminate(x, y, rows(50, 200), alpha=0.1, on_shortage="subsample")
    assert len(enough) == 100
    with pytest.raises(DataError, match=r"alpha 0\.7 needs 210 OOD samples .* or set on_shortage='lower'$"):
        contaminate(x, y, ood[:0], alpha=0.7, on_shortage="subsample")  # no in-distribution sample would stay


def test_take_keeps_the_truth_beside_the_sample():
    mixed = contaminate(rows(20), labels(20, 2), rows(20, 100), alpha=0.4, flip=0.2, seed=6)
    part = mixed.take(np.arange(len(mixed))[::-2])
    assert isinstance(part, Contaminated)
    for name in ("x", "y", "ids", "is_ood", "is_flipped", "true_y", "source"):
        assert np.array_equal(getattr(part, name), getattr(mixed, name)[::-2])
    assert mixed.take(mixed.is_ood).alpha == 1
    assert mixed.take([]).alpha == 0


def test_data_that_does_not_fit_is_refused():
    x, y = rows(10), labels(10, 2)
    cases = [
        (lambda: contaminate(x, None, x), "y is missing"),
        (lambda: contaminate(x, y), "ood_x is missing.*or alpha=0"),
        (lambda: contaminate(x, y[:5], x), "x holds 10 samples but there are 5 labels"),
        (lambda: contaminate(x, y, np.zeros((9, 3))), r"shape \(2,\) and one of ood_x \(3,\)"),
        (lambda: contaminate(as_images(x), y, np.zeros((9, 4, 4, 3))), "x is uint8 and ood_x float64"),
        (lambda: contaminate(x, np.zeros(10, int), x, flip=0.5), "flip needs two classes"),
        (lambda: contaminate(x[:0], y[:0], x), "x holds no samples"),
        (lambda: contaminate(x, ["a"] * 9 + [None], x), "missing"),
    ]
    for call, said in cases:
        with pytest.raises(DataError, match=said):
            call()
