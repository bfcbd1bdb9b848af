"""Image sets that are damaged, incomplete or not there: one sentence that names what is wrong."""

import gzip
import io
import pickle
import struct

import numpy as np
import pytest
from published_images import (
    pictures,
    write_cifar10,
    write_fashion,
    write_mini,
    write_npz,
    write_svhn,
    write_tiny,
)

from graylearn.data.catalog import load
from graylearn.errors import DataError, SettingsError

pytestmark = pytest.mark.usefixtures("image_cache")


def damage(path, content=b"broken"):
    path.write_bytes(content)


def test_damaged_or_incomplete_copies_are_named(tmp_path):
    cases = []

    def case(name, write, spoil, said):
        folder = tmp_path / str(len(cases))
        folder.mkdir()
        write(folder)
        spoil(folder)
        cases.append((name, folder, said))

    batches = "cifar-10-batches-py"
    case(
        "cifar10",
        write_cifar10,
        lambda f: (f / batches / "data_batch_3").unlink(),
        "data_batch_3: No such file",
    )
    case("cifar10", write_cifar10, lambda f: damage(f / batches / "batches.meta"), "batches.meta is damaged")
    wrong = pickle.dumps({"data": pictures(2, 3000), "labels": [0, 1]})
    case(
        "cifar10", write_cifar10, lambda f: damage(f / batches / "data_batch_1", wrong), "rows of 3072 values"
    )
    keyless = pickle.dumps({"data": pictures(2, 3072)})
    case("cifar10", write_cifar10, lambda f: damage(f / batches / "data_batch_1", keyless), "no 'labels'")
    far = pickle.dumps({"data": pictures(1, 3072), "labels": [77]})
    case("cifar10", write_cifar10, lambda f: damage(f / batches / "data_batch_1", far), "label 77 at row 0")
    case("svhn", write_svhn, lambda f: damage(f / "train_32x32.mat"), "train_32x32.mat is damaged")
    fashion = "fashion-mnist"
    case(
        fashion,
        write_fashion,
        lambda f: damage(f / fashion / "train-images-idx3-ubyte.gz"),
        "not an IDX file",
    )
    short = gzip.compress(struct.pack(">HBBI", 0, 8, 1, 900) + b"123")
    case(
        fashion,
        write_fashion,
        lambda f: damage(f / fashion / "train-labels-idx1-ubyte.gz", short),
        "not an IDX",
    )
    foreign = gzip.compress(struct.pack(">HBBI", 0, 13, 1, 1) + b"1234")
    case(
        fashion,
        write_fashion,
        lambda f: damage(f / fashion / "train-labels-idx1-ubyte.gz", foreign),
        "00 00 0d 01",
    )
    case(
        fashion,
        write_fashion,
        lambda f: (f / fashion / "train-labels-idx1-ubyte.gz").unlink(),
        "lacks train-",
    )
    case(
        "svhn",
        lambda f: write_npz(f, "svhn"),
        lambda f: damage(f / "svhn.npz"),
        "svhn.npz is damaged or lacks",
    )
    partial = io.BytesIO()
    np.savez(partial, train_x=pictures(1, 32, 32, 3))
    case(
        "svhn",
        lambda f: None,
        lambda f: damage(f / "svhn.npz", partial.getvalue()),
        "lacks an array .*train_y",
    )
    tiny = "tiny-imagenet-200"
    case("tiny-imagenet", write_tiny, lambda f: (f / tiny / "wnids.txt").unlink(), "cannot read .*wnids.txt")
    case(
        "tiny-imagenet",
        write_tiny,
        lambda f: (f / tiny / "wnids.txt").write_text("n01\nn07\n"),
        "n07.* is missing",
    )
    case(
        "tiny-imagenet",
        write_tiny,
        lambda f: damage(f / tiny / "train" / "n01" / "images" / "n01_1.JPEG"),
        r"1 of 9 images cannot be read: .*n01_1.JPEG",
    )
    case("mini-imagenet", lambda f: (f / "mini-imagenet").mkdir(), lambda f: None, "neither class folders")
    case(
        "mini-imagenet",
        lambda f: write_mini(f, "list"),
        lambda f: (f / "mini-imagenet" / "val.csv").write_text("file,class\na,b\n"),
        "val.csv needs the columns filename and label",
    )
    for name, folder, said in cases:
        with pytest.raises(DataError, match=said):
            load(name, folder, split="train")


def test_what_is_missing_says_what_it_needs_and_where_to_get_it(tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"SVHN is not in .*: it needs train_32x32.mat, test_32x32.mat or svhn.npz; download"
    ):
        load("svhn", tmp_path)
    with pytest.raises(DataError, match=r"Mini-ImageNet is not in .* get it at https://image-net.org"):
        load("mini-imagenet", tmp_path)
    with pytest.raises(DataError, match=r"the data folder .*nowhere is not there"):
        load("svhn", tmp_path / "nowhere")
    with pytest.raises(DataError, match="no dataset 'mnist' in the catalog; it has cifar10, cifar100"):
        load("mnist", tmp_path)
    monkeypatch.delenv("GRAYLEARN_DATA", raising=False)
    with pytest.raises(DataError, match="SVHN is not found: no data folder"):
        load("svhn")
    write_svhn(tmp_path)
    monkeypatch.setenv("GRAYLEARN_DATA", str(tmp_path))
    assert len(load("SVHN", split="test")) == 5


def test_settings_that_are_no_choice_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="split is 'val'"):
        load("svhn", tmp_path, split="val")
    with pytest.raises(SettingsError, match="protocol is 'mine'"):
        load("svhn", tmp_path, protocol="mine")
