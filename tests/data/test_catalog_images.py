"""The catalog's image sets: small files of the publishers' layouts, and the real ones where they are."""

import gzip
import io
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image

from graylearn.data.catalog import CATALOG, available, datasets_table, load
from graylearn.data.catalog.safe_pickle import load_plain_pickle
from graylearn.data.samples import Samples
from graylearn.data.splits import split_sources
from graylearn.errors import DataError, SettingsError

REAL = Path(os.environ.get("GRAYLEARN_DATA") or Path(__file__).parents[3] / "shared" / "data")
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Decoded pictures go to a folder of this test's own, not to the user's."""
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path_factory.mktemp("cache")))


def pictures(n, *shape):
    return rng.integers(0, 256, (n, *shape), dtype=np.uint8)


def python2_pickle(content):
    """A dictionary as Python 2 pickled it in 2009: 8-bit text and old NumPy, which no one writes today."""

    def text(value):
        return b"T" + struct.pack("<i", len(value)) + value

    def value(item):
        if isinstance(item, np.ndarray):
            shape = b"".join(b"J" + struct.pack("<i", length) for length in item.shape)
            return (
                b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + text(b"b") + b"tR(K\x01("
                + shape + b"tcnumpy\ndtype\n(" + text(b"u1") + b"K\x00K\x01tR(K\x03" + text(b"|")
                + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" + text(item.tobytes()) + b"tb"
            )  # fmt: skip
        if isinstance(item, list):
            return b"](" + b"".join(value(each) for each in item) + b"e"
        return b"K" + bytes([item]) if isinstance(item, int) else text(item.encode("latin1"))

    items = b"".join(text(key.encode()) + value(each) for key, each in content.items())
    return b"\x80\x02}(" + items + b"u."


def planes(images):
    """(N, 32, 32, 3) as the rows of red, green and blue planes that CIFAR files hold."""
    return np.concatenate([images[..., channel].reshape(len(images), -1) for channel in range(3)], axis=1)


def write_cifar10(folder, dump=python2_pickle):
    place = folder / "cifar-10-batches-py"
    place.mkdir(parents=True)
    names = ["airplane", "automobile", "bird"]
    train = [(pictures(4, 32, 32, 3), [0, 1, 2, number % 3]) for number in range(5)]
    test = (pictures(3, 32, 32, 3), [2, 0, 1])
    for number, (x, y) in enumerate(train, start=1):
        (place / f"data_batch_{number}").write_bytes(
            dump({"data": planes(x), "labels": y, "batch_label": "b"})
        )
    (place / "test_batch").write_bytes(dump({"data": planes(test[0]), "labels": test[1]}))
    (place / "batches.meta").write_bytes(dump({"label_names": names, "num_vis": 30}))
    x, y = np.concatenate([x for x, _ in train]), [label for _, labels in train for label in labels]
    return (x, y), test, tuple(names)


def write_cifar100(folder):
    place = folder / "deeper" / "cifar-100-python"
    place.mkdir(parents=True)
    names = [f"fine {number}" for number in range(100)]
    parts = [(pictures(6, 32, 32, 3), rng.integers(0, 100, 6).tolist()) for _ in range(2)]
    for name, (x, y) in zip(("train", "test"), parts, strict=True):
        content = {"data": planes(x), "fine_labels": y, "coarse_labels": [label % 20 for label in y]}
        (place / name).write_bytes(python2_pickle(content))
    (place / "meta").write_bytes(python2_pickle({"fine_label_names": names, "coarse_label_names": ["c"]}))
    return *parts, tuple(names)


def write_svhn(folder):
    folder.mkdir(exist_ok=True)
    parts = [(pictures(n, 32, 32, 3), rng.integers(0, 10, n).tolist()) for n in (12, 5)]
    for name, (x, y) in zip(("train", "test"), parts, strict=True):
        digits = np.array([[label or 10] for label in y], dtype=np.uint8)  # the publisher writes 10 for 0
        scipy.io.savemat(folder / f"{name}_32x32.mat", {"X": x.transpose(1, 2, 3, 0), "y": digits})
    return *parts, tuple("0123456789")


def write_idx(path, array):
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    content = header + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_fashion(folder, ending=".gz"):
    place = folder / "fashion-mnist"
    place.mkdir(parents=True)
    parts = [(pictures(n, 28, 28), rng.integers(0, 10, n).tolist()) for n in (9, 4)]
    for name, (x, y) in zip(("train", "t10k"), parts, strict=True):
        write_idx(place / f"{name}-images-idx3-ubyte{ending}", x)
        write_idx(place / f"{name}-labels-idx1-ubyte{ending}", np.array(y, dtype=np.uint8))
    from graylearn.data.catalog.images import FASHION_CLASSES

    return *parts, FASHION_CLASSES


def write_torchvision_fashion(folder):
    """The place torchvision unpacks it to."""
    content = write_fashion(folder, "")
    (folder / "FashionMNIST").mkdir()
    (folder / "fashion-mnist").rename(folder / "FashionMNIST" / "raw")
    return content


def write_npz(folder, name):
    folder.mkdir(exist_ok=True)
    parts = [(pictures(n, 32, 32, 3), rng.integers(0, 3, n).tolist()) for n in (10, 6)]
    arrays = {"train_x": parts[0][0], "train_y": parts[0][1], "test_x": parts[1][0], "test_y": parts[1][1]}
    np.savez(folder / f"{name}.npz", **arrays, class_names=np.array(["ant", "bee", "cow"]))
    return *parts, ("ant", "bee", "cow")


ARRAY_SETS = {
    "cifar10": write_cifar10,
    "cifar10, pickled by Python 3": lambda folder: write_cifar10(
        folder,
        lambda content: pickle.dumps({key.encode(): value for key, value in content.items()}, protocol=2),
    ),
    "cifar100": write_cifar100,
    "svhn": write_svhn,
    "fashion-mnist": write_fashion,
    "fashion-mnist, unpacked": lambda folder: write_fashion(folder, ""),
    "fashion-mnist, as torchvision puts it": write_torchvision_fashion,
    **{
        f"{name}, as npz": lambda folder, name=name: write_npz(folder, name)
        for name in CATALOG
        if CATALOG[name].kind == "image"
    },
}


@pytest.mark.parametrize("case", ARRAY_SETS)
def test_arrays_are_read_as_their_publisher_wrote_them(tmp_path, case):
    name = case.split(",")[0]
    (train_x, train_y), (test_x, test_y), classes = ARRAY_SETS[case](tmp_path / "some")
    train, test = load(name, tmp_path)
    assert np.array_equal(train.x, train_x)
    assert np.array_equal(test.x, test_x)
    assert (train.y.tolist(), test.y.tolist()) == (train_y, test_y)
    assert train.classes == test.classes == classes
    assert train.kind == "image"
    assert train.ids.tolist() == list(range(len(train)))
    whole = load(name, tmp_path, split="all")
    assert np.array_equal(whole.x, np.concatenate([train_x, test_x]))
    assert whole.ids.tolist() == list(range(len(whole)))
    assert np.array_equal(load(name, tmp_path, split="test").x, test_x)


def save_picture(path, colour, size=(48, 36)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, quality=95)


def colour_of(place):
    return (20 + 60 * place, 200 - 50 * place, 90)


WNIDS = ["n03", "n01", "n02"]  # published lists are not sorted, classes are


def write_mini(folder, layout):
    """Six pictures a class, each class of one colour."""
    place = folder / "mini-imagenet"
    for position, wnid in enumerate(sorted(WNIDS)):
        for number in range(6):
            name = f"{wnid}{number:08}.jpg"
            split = "train" if wnid == "n01" else "val" if wnid == "n02" else "test"
            path = {
                "folders": place / wnid / name,
                "images": place / "images" / wnid / name,
                "splits": place / split / wnid / name,
                "list": place / "images" / name,
                "list of folders": place / "images" / wnid / name,
            }[layout]
            save_picture(path, colour_of(position))
            if layout.startswith("list"):
                with (place / f"{split}.csv").open("a") as file:
                    file.write(("filename,label\n" if file.tell() == 0 else "") + f"{name},{wnid}\n")
    return place


def write_tiny(folder):
    place = folder / "tiny-imagenet-200"
    place.mkdir(parents=True)
    (place / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    (place / "words.txt").write_text("n01\tgoldfish, Carassius\nn02\tbullfrog\nn03\tnewt\nn99\tentity\n")
    notes = []
    for position, wnid in enumerate(sorted(WNIDS)):
        for number in range(3):
            save_picture(
                place / "train" / wnid / "images" / f"{wnid}_{number}.JPEG", colour_of(position), (64, 64)
            )
        (place / "train" / wnid / f"{wnid}_boxes.txt").write_text("")
        save_picture(place / "val" / "images" / f"val_{9 - position}.JPEG", colour_of(position), (64, 64))
        notes.append(f"val_{9 - position}.JPEG\t{wnid}\t0\t32\t44\t62\n")
    (place / "val" / "val_annotations.txt").write_text("".join(notes))
    save_picture(place / "test" / "images" / "test_0.JPEG", (0, 0, 0))
    return place


def check_colours(samples):
    expected = np.array([colour_of(place) for place in samples.y])
    assert np.abs(samples.x.astype(int) - expected[:, None, None]).max() <= 6  # JPEG is not exact


@pytest.mark.parametrize("layout", ["folders", "images", "splits", "list", "list of folders"])
def test_mini_imagenet_has_all_classes_in_both_parts(tmp_path, layout):
    write_mini(tmp_path, layout)
    train, test = load("Mini-ImageNet", tmp_path)
    assert train.classes == test.classes == tuple(sorted(WNIDS))
    assert train.class_counts.tolist() == [5, 5, 5]
    assert test.class_counts.tolist() == [1, 1, 1]
    assert not set(train.ids) & set(test.ids)
    assert train.x.shape == (15, 32, 32, 3)
    check_colours(train)
    check_colours(test)
    larger = load("mini-imagenet", tmp_path, split="all", size=40)
    assert larger.x.shape == (18, 40, 40, 3)
    assert all((tmp_path / "mini-imagenet" / path).is_file() for path in larger.ids)
    assert len(split_sources(larger, 3)) == 3


def test_tiny_imagenet_takes_the_published_val_for_test(tmp_path):
    write_tiny(tmp_path)
    train, test = load("tiny-imagenet", tmp_path)
    assert train.classes == test.classes == ("goldfish, Carassius", "bullfrog", "newt")
    assert train.class_counts.tolist() == [3, 3, 3]
    assert test.ids.tolist() == ["val/images/val_9.JPEG", "val/images/val_8.JPEG", "val/images/val_7.JPEG"]
    assert test.y.tolist() == [0, 1, 2]
    check_colours(train)
    check_colours(test)


def test_tiny_imagenet_tells_classes_of_one_name_apart(tmp_path):
    (write_tiny(tmp_path) / "words.txt").write_text("n01\tcrane\nn02\tcrane\nn03\tnewt\n")
    assert load("tiny-imagenet", tmp_path, split="test").classes == (
        "crane (n01)",
        "crane (n02)",
        "newt (n03)",
    )


class Evil:
    def __reduce__(self):
        return os.system, ("echo this must not run",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pickle.dumps({"data": Evil()}), r"asks for (posix|nt)\.system"),
        (pickle.dumps({"data": Path("x")}), r"asks for pathlib"),
        (pickle.dumps([1, 2]), "holds list"),
        (python2_pickle({"data": pictures(2, 3072)})[:-40], "damaged"),
        (b"", "damaged"),
        (b"<html>404</html>", "damaged"),
    ],
)
def test_pickles_hold_arrays_and_nothing_that_runs(tmp_path, capfd, content, said):
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(DataError, match=said):
        load_plain_pickle(tmp_path / "batch")
    assert "must not run" not in capfd.readouterr().out


def test_pickles_of_every_plain_value_are_read(tmp_path):
    content = {"n": 1, "t": "text", "f": 0.5, "l": [1, (2, None, True)], "a": np.arange(6.0).reshape(2, 3)}
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "file").write_bytes(pickle.dumps(content, protocol=min(protocol, 4)))
        back = load_plain_pickle(tmp_path / "file")
        assert np.array_equal(back.pop("a"), content["a"])
        assert back == {key: value for key, value in content.items() if key != "a"}


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


def test_the_list_of_datasets_tells_what_is_here_and_what_is_not(tmp_path, monkeypatch):
    write_cifar10(tmp_path / "images" / "old")
    write_npz(tmp_path, "svhn")
    rows = {row.name: row for row in datasets_table(tmp_path)}
    assert list(rows) == list(CATALOG)
    assert len(rows) == 14
    assert available(tmp_path) == ("cifar10", "svhn", "iris")
    assert rows["cifar10"].form == "published"
    assert rows["cifar10"].where == str(tmp_path / "images" / "old" / "cifar-10-batches-py")
    assert rows["svhn"].form == "npz"
    assert (rows["iris"].form, rows["iris"].where) == ("scikit-learn", None)
    assert (rows["gene"].present, rows["gene"].form, rows["gene"].where) == (False, None, None)
    assert all(row.licence and row.source.startswith("http") and row.needs for row in rows.values())
    monkeypatch.delenv("GRAYLEARN_DATA", raising=False)
    assert available() == ("iris",)


def test_published_files_go_before_the_npz_form_and_mnist_is_not_fashion(tmp_path):
    (train_x, _), _, _ = write_cifar10(tmp_path)
    write_npz(tmp_path, "cifar10")
    assert np.array_equal(load("cifar10", tmp_path, split="train").x, train_x)
    (write_fashion(tmp_path), (tmp_path / "fashion-mnist").rename(tmp_path / "mnist"))
    assert "fashion-mnist" not in available(tmp_path)


def published_sets():
    """Image sets that are really here, and one made to the published counts, so that there always is one."""
    real = (
        [row.name for row in datasets_table(REAL) if row.kind == "image" and row.present]
        if REAL.is_dir()
        else []
    )
    return ["made", *real]


@pytest.mark.parametrize("name", published_sets())
def test_image_sets_have_the_published_counts(tmp_path, name):
    folder = REAL
    if name == "made":
        name, folder = "cifar10", tmp_path
        y = np.arange(10_000) % 10
        arrays = {
            "test_x": np.zeros((10_000, 32, 32, 3), np.uint8),
            "test_y": y,
            "class_names": np.arange(10),
        }
        np.savez_compressed(folder / "cifar10.npz", **arrays)
    test = load(name, folder, split="test")
    assert isinstance(test, Samples)
    assert test.num_classes == CATALOG[name].classes
    assert test.x.shape[1:] == CATALOG[name].shape
    assert len(test) == {"svhn": 26_032}.get(name, 10_000)
    assert (test.class_counts > 0).all()


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("kind", ["uint8", ">i8", "float32", "<U3"])
def test_arrays_in_pickles_come_back_as_they_were(tmp_path, protocol, kind):
    whole = np.arange(12).reshape(3, 4).astype(kind)
    saved = {"data": whole, "turned": np.asfortranarray(whole), "names": ["a", "b"]}
    (tmp_path / "batch").write_bytes(pickle.dumps(saved, protocol))
    found = load_plain_pickle(tmp_path / "batch")
    for name in ("data", "turned"):
        np.testing.assert_array_equal(found[name], whole)
        assert found[name].dtype == whole.dtype
    assert found["names"] == ["a", "b"]


def test_a_pickle_that_lies_about_its_array_does_not_reach_numpy(tmp_path):
    """NumPy crashes on some of these: a type that is set up anew, memory that is not there."""
    whole = pickle.dumps({"data": np.arange(4)}, 2)
    for old, new in ((b"i8", b"O8"), (b"K\x04\x85", b"K\x7f\x85"), (b"i8", b"V9"), (b"i8", b"S0")):
        assert old in whole
        (tmp_path / "batch").write_bytes(whole.replace(old, new))
        with pytest.raises(DataError, match="is damaged or not a dataset"):
            load_plain_pickle(tmp_path / "batch")
