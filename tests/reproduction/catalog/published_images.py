"""Small files in the layouts that the publishers of image sets chose, for the tests of the catalog."""

import struct

import numpy as np
import scipy.io
from PIL import Image

rng = np.random.default_rng(0)


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


def write_npz(folder, name):
    folder.mkdir(exist_ok=True)
    parts = [(pictures(n, 32, 32, 3), rng.integers(0, 3, n).tolist()) for n in (10, 6)]
    arrays = {"train_x": parts[0][0], "train_y": parts[0][1], "test_x": parts[1][0], "test_y": parts[1][1]}
    np.savez(folder / f"{name}.npz", **arrays, class_names=np.array(["ant", "bee", "cow"]))
    return *parts, ("ant", "bee", "cow")


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
