"""What the judge learns from: dirty sets whose truth is known."""

import re

import numpy as np
import pytest

from judge.dirt import LABEL_ERRORS
from judge.draw import _merged, draw, family_of
from judge.sources import SOURCES, declared, load

SEEDS = range(120)


@pytest.fixture(scope="module")
def sources():
    return load()


@pytest.fixture(scope="module")
def sets(sources):
    return [draw(seed, sources) for seed in SEEDS]


def test_truth_is_what_was_done_to_the_labels(sets):
    for made in sets:
        foreign, wrong = made.true_label < 0, made.true_label != made.label
        np.testing.assert_array_equal(made.truth, np.where(foreign, 2, np.where(wrong, 1, 0)), str(made.info))


def test_every_set_can_be_judged(sets):
    for made in sets:
        n, k = made.info["N"], made.info["K"]
        assert made.features.shape == (n, made.info["D"])
        assert made.features.dtype == np.float32
        assert np.isfinite(made.features).all()
        np.testing.assert_array_equal(np.unique(made.label), np.arange(k), str(made.info))
        assert n >= 50
        assert k >= 2
        assert made.true_label.max() < k


def test_half_of_the_sets_are_clean_or_hopeless_and_nothing_is_wrong_in_them(sets):
    featureless = [made for made in sets if made.info["plan"] in ("clean", "hopeless")]
    assert not any(made.truth.any() for made in featureless)
    assert 0.38 < len(featureless) / len(sets) < 0.62
    dirty = [made for made in sets if made.info["plan"] not in ("clean", "hopeless")]
    assert sum(made.truth.any() for made in dirty) > 0.9 * len(dirty)


def test_a_hopeless_set_says_nothing_of_its_labels(sets):
    """Nearest neighbours bear the same label no oftener than by chance, copies and leaks apart."""
    excess = []
    for made in sets:
        if made.info["plan"] == "hopeless" and not made.info["extras"]:
            x = (made.features - made.features.mean(0)) / np.maximum(made.features.std(0), 1e-9)
            away = (x**2).sum(1)[:, None] - 2 * x @ x.T + (x**2).sum(1)
            np.fill_diagonal(away, np.inf)
            share = np.bincount(made.label) / len(made.label)
            excess.append(np.mean(made.label[away.argmin(1)] == made.label) - (share**2).sum())
    assert len(excess) >= 2
    assert abs(np.mean(excess)) < 0.05


def test_a_seed_gives_the_same_set_again(sources, sets):
    for seed in SEEDS[::20]:
        again = draw(seed, sources)
        for name in ("features", "label", "truth", "true_label"):
            np.testing.assert_array_equal(getattr(again, name), getattr(sets[seed], name))
        assert again.info == sets[seed].info


def test_no_set_reads_a_source_of_another_family(sources):
    class Watched(dict):
        def __getitem__(self, family):
            read.add(family)
            return super().__getitem__(family)

        def get(self, family, default=None):
            read.add(family)
            return super().get(family, default)

    for seed in SEEDS[:60]:
        read = set()
        made = draw(seed, Watched(sources))
        assert made.info["family"] == family_of(seed, sources)
        assert read <= {made.info["family"]}


@pytest.mark.parametrize("name", LABEL_ERRORS)
@pytest.mark.parametrize("k", [2, 6])
def test_label_errors_are_about_as_many_as_asked(name, k):
    random = np.random.default_rng(1)
    y = np.arange(1200) % k
    x = random.normal(size=(1200, 5)) + 2.0 * random.normal(size=(k, 5))[y]
    shares = []
    for _ in range(30):
        given = LABEL_ERRORS[name](random, x, y, k, 0.2)
        assert given.min() >= 0
        assert given.max() < k
        shares.append(np.mean(given != y))
    assert 0.06 < np.mean(shares) < 0.3
    assert max(shares) < 0.5


def test_a_file_without_a_licence_is_refused(tmp_path):
    np.savez(tmp_path / "unheard-of.npz", x=np.zeros((4, 2)), y=np.arange(4))
    with pytest.raises(ValueError, match=r"unheard-of\.npz"):
        load(tmp_path)


def test_sources_are_free_and_none_that_is_kept_for_measuring_alone():
    never = (
        r"cifar|abalone|arrhyt|mit-bih|sky|stellar|accent|bean|pendigits|mushroom|adult|credit|letter$|satel"
    )
    unfree = re.compile(r"NC|ND|unclear|unknown|research", re.IGNORECASE)
    for source in SOURCES:
        assert source.licence
        assert not unfree.search(source.licence), source
        assert not re.search(never, source.name), source
    for name in ("mnist", "fashion-mnist", "digits", "banking77", "wine"):  # that benchmarks/ measures on
        assert declared(name).evaluated


def test_classes_of_several_kinds_are_mostly_of_kinds_that_are_alike():
    """Six kinds in three pairs: under one name are more often the two of a pair than any two."""
    kind = np.repeat(np.arange(6), 20)
    z = np.array([[0, 0], [1, 0], [9, 0], [9, 1], [0, 9], [1, 9]])[kind] + 0.0
    together = np.zeros((6, 6))
    for seed in range(60):
        of_kind = _merged(np.random.default_rng(seed), z, kind)[::20]
        together += of_kind[:, None] == of_kind
    alike = min(together[a, a + 1] for a in (0, 2, 4))
    assert alike > 1.3 * max(together[0, 2], together[1, 4], together[3, 5])
