"""Experiments are lists of cells: what the paper compares, and always what judges it."""

import numpy as np
import pytest

from graylearn.data import Samples
from graylearn.errors import DataError, SettingsError
from reproduction.experiments import EXPERIMENTS
from reproduction.measure import trained
from reproduction.options import Options
from reproduction.sets import cell_samples
from reproduction.stand_ins import SHARED_WITH_CIFAR10, group_of, ood_classes, shared_with_cifar10


def test_options_change_every_cell():
    options = Options(
        methods=("gl", "mae"), datasets=("tiny-imagenet",), seeds=(7,), epochs=20,
        batch_size=64, train_size=300,
    )  # fmt: skip
    cells = EXPERIMENTS["table1"].cells(options)
    assert {(c.method, c.labels) for c in cells} == {("gl", "random"), ("gl", "specific"), ("mae", "random")}
    assert {(c.dataset, c.seed, c.epochs, c.batch_size, c.train_size) for c in cells} == {
        ("tiny-imagenet/100", 7, 20, 64, 300)
    }
    with pytest.raises(SettingsError, match="has none of the datasets iris, but cifar10"):
        EXPERIMENTS["table1"].cells(Options(datasets=("iris",)))
    with pytest.raises(SettingsError, match="human has none of the methods mae, but standard"):
        EXPERIMENTS["human"].cells(Options(methods=("mae",)))
    with pytest.raises(SettingsError, match="table2 has no specific labels, but random ones"):
        EXPERIMENTS["table2"].cells(Options(labels=("specific",)))


def tiny_like() -> Samples:
    names = [*SHARED_WITH_CIFAR10.values(), *(f"thing {n}, Res {n}" for n in range(170))]
    order = np.random.default_rng(0).permutation(200)
    classes = tuple(names[place] for place in order)
    return Samples(np.zeros((400, 2, 2, 3), np.uint8), np.arange(400) % 200, classes, np.arange(400), "image")


def test_tiny_imagenet_lends_no_class_of_cifar10_and_ten_equal_groups():
    lent = ood_classes("tiny-imagenet", tiny_like())
    assert not set(lent.classes) & set(SHARED_WITH_CIFAR10.values())
    groups = [group_of(lent, number).classes for number in range(10)]
    assert [len(group) for group in groups] == [17] * 10
    assert sum(groups, ()) == lent.classes
    whole = tiny_like()
    assert ood_classes("svhn", whole) is whole
    with pytest.raises(DataError, match="no group 10"):
        group_of(lent, 10)


def test_birds_among_the_paper_s_ood_samples_are_known_and_left_out_once(tmp_path):
    y = np.repeat(np.arange(10), 600)
    names = [f"n{number:02d}" for number in range(100)]
    # each picture shows the number of its class
    for name, classes, shown in [("mini-imagenet", names, y + 100), ("cifar10", names[:10], y)]:
        x = np.broadcast_to(shown[:, None, None, None], (6000, 2, 2, 3)).astype(np.uint8)
        arrays = {
            f"{part}_{axis}": value for part in ("train", "test") for axis, value in (("x", x), ("y", y))
        }
        np.savez(tmp_path / f"{name}.npz", **arrays, class_names=classes)
    cell = next(
        c for c in EXPERIMENTS["table1"].cells() if (c.dataset, c.ood) == ("cifar10", "mini-imagenet/0")
    )
    train, _ = cell_samples(cell, tmp_path)
    shared = shared_with_cifar10(cell, train)
    np.testing.assert_array_equal(shared, np.isin(train.x[:, 0, 0, 0], (100, 101, 105, 106)))

    class Told:
        def mean_label_confidence(self):
            return np.where(shared, 0.9, np.where(train.is_ood, 0.1, 0.5))

    measured = trained(train, Told(), clean=False, shared=shared)
    assert measured["ood_apart_auroc"] == 1
    assert measured["ood_auroc"] == pytest.approx(1 - shared.sum() / train.is_ood.sum())
    assert shared_with_cifar10(cell.but(ood="mini-imagenet/1"), train) is None


def test_the_oracle_trains_on_the_very_samples_that_the_others_have_in_distribution():
    gl = next(c for c in EXPERIMENTS["table1"].cells(Options(quick=True)) if c.method == "gl")
    mixed, test = cell_samples(gl, None)
    clean, same_test = cell_samples(gl.but(method="oracle"), None)
    assert mixed.alpha == pytest.approx(0.1, abs=0.005)
    assert (~mixed.is_ood).sum() == gl.train_size
    np.testing.assert_array_equal(mixed.clean().x, clean.x)
    np.testing.assert_array_equal(test.ids, same_test.ids)
    assert test.num_classes == 8
