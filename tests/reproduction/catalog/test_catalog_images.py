"""The catalog's image sets: small files of the publishers' layouts, and the real ones where they are."""

import pickle

import numpy as np
import pytest
from published_images import (
    WNIDS,
    colour_of,
    write_cifar10,
    write_cifar100,
    write_mini,
    write_npz,
    write_svhn,
    write_tiny,
)

from reproduction.catalog import CATALOG, load

pytestmark = pytest.mark.usefixtures("image_cache")


ARRAY_SETS = {
    "cifar10": write_cifar10,
    "cifar10, pickled by Python 3": lambda folder: write_cifar10(
        folder,
        lambda content: pickle.dumps({key.encode(): value for key, value in content.items()}, protocol=2),
    ),
    "cifar100": write_cifar100,
    "svhn": write_svhn,
    **{
        f"{name}, as npz": lambda folder, name=name: write_npz(folder, name)
        for name in CATALOG
        if CATALOG[name].kind == "image"
    },
}


def both(name, folder):
    return (load(name, folder, part) for part in ("train", "test"))


@pytest.mark.parametrize("case", ARRAY_SETS)
def test_arrays_are_read_as_their_publisher_wrote_them(tmp_path, case):
    name = case.split(",")[0]
    (train_x, train_y), (test_x, test_y), classes = ARRAY_SETS[case](tmp_path / "some")
    train, test = both(name, tmp_path)
    assert np.array_equal(train.x, train_x)
    assert np.array_equal(test.x, test_x)
    assert (train.y.tolist(), test.y.tolist()) == (train_y, test_y)
    assert train.classes == test.classes == classes
    assert train.kind == "image"
    assert train.ids.tolist() == list(range(len(train)))


def check_colours(samples):
    expected = np.array([colour_of(place) for place in samples.y])
    assert np.abs(samples.x.astype(int) - expected[:, None, None]).max() <= 6  # JPEG is not exact


@pytest.mark.parametrize("layout", ["folders", "images", "splits", "list", "list of folders"])
def test_mini_imagenet_is_one_part_with_all_pictures(tmp_path, layout):
    write_mini(tmp_path, layout)
    train, test = both("Mini-ImageNet", tmp_path)
    assert train.classes == tuple(sorted(WNIDS))
    assert train.class_counts.tolist() == [6, 6, 6]
    assert train.x.shape == (18, 32, 32, 3)
    assert len(test) == 0
    check_colours(train)
    assert all((tmp_path / "mini-imagenet" / path).is_file() for path in train.ids)


def test_tiny_imagenet_takes_the_published_val_for_test(tmp_path):
    write_tiny(tmp_path)
    train, test = both("tiny-imagenet", tmp_path)
    assert train.classes == test.classes == ("goldfish, Carassius", "bullfrog", "newt")
    assert train.class_counts.tolist() == [3, 3, 3]
    assert test.ids.tolist() == ["val/images/val_9.JPEG", "val/images/val_8.JPEG", "val/images/val_7.JPEG"]
    assert test.y.tolist() == [0, 1, 2]
    check_colours(train)
    check_colours(test)
