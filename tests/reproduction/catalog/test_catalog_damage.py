"""Image sets that are damaged, incomplete or not there: one sentence that names what is wrong."""

import io

import numpy as np
import pytest
from published_images import pictures, write_cifar10, write_svhn, write_tiny

from graylearn.errors import DataError
from reproduction.catalog import load

pytestmark = pytest.mark.usefixtures("image_cache")


def remove(name):
    """Take a file away."""
    return lambda folder: (folder / name).unlink()


def put(name, content=b"broken"):
    """Something else in a file's place."""
    return lambda folder: (folder / name).write_bytes(content)


def archive(**arrays):
    written = io.BytesIO()
    np.savez(written, **arrays)
    return written.getvalue()


def nothing(folder):
    pass


CIFAR, TINY, MINI = "cifar-10-batches-py", "tiny-imagenet-200", "mini-imagenet"
PHOTO = f"{TINY}/train/n01/images/n01_1.JPEG"
DAMAGED = [
    ("cifar10", write_cifar10, put(f"{CIFAR}/batches.meta"), "batches.meta is damaged"),
    ("svhn", write_svhn, put("train_32x32.mat"), "train_32x32.mat is damaged"),
    ("svhn", nothing, put("svhn.npz", archive(train_x=pictures(1, 32, 32, 3))), "lacks an array .*train_y"),
    ("tiny-imagenet", write_tiny, remove(f"{TINY}/wnids.txt"), "cannot read .*wnids.txt"),
    ("tiny-imagenet", write_tiny, put(PHOTO), r"1 of 9 images cannot be read: .*n01_1.JPEG"),
    (MINI, lambda folder: (folder / MINI).mkdir(), nothing, "neither class folders"),
]


@pytest.mark.parametrize(("name", "write", "spoil", "said"), DAMAGED, ids=[case[-1] for case in DAMAGED])
def test_damaged_or_incomplete_copies_are_named(tmp_path, name, write, spoil, said):
    write(tmp_path)
    spoil(tmp_path)
    with pytest.raises(DataError, match=said):
        load(name, tmp_path, split="train")


def test_what_is_missing_says_what_it_needs_and_where_to_get_it(tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"SVHN is not in .*: it needs train_32x32.mat, test_32x32.mat or svhn.npz; download"
    ):
        load("svhn", tmp_path, "train")
    with pytest.raises(DataError, match=r"Mini-ImageNet is not in .* get it at https://image-net.org"):
        load("mini-imagenet", tmp_path, "train")
    with pytest.raises(DataError, match=r"the data folder .*nowhere is not there"):
        load("svhn", tmp_path / "nowhere", "train")
    with pytest.raises(DataError, match="no dataset 'mnist' in the catalog; it has cifar10, cifar100"):
        load("mnist", tmp_path)
    monkeypatch.delenv("GRAYLEARN_DATA", raising=False)
    with pytest.raises(DataError, match="SVHN is not found: no data folder"):
        load("svhn", None, "train")
    write_svhn(tmp_path)
    monkeypatch.setenv("GRAYLEARN_DATA", str(tmp_path))
    assert len(load("SVHN", split="test")) == 5
