"""Image folders, manifests and datasets of images into Samples."""

import datasets
import numpy as np
import pytest
from PIL import Image

from graylearn.data.read import read, read_file
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError, DataWarning


def picture(path, level):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (10, 10), (level,) * 3).save(path)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "pets"
    picture(root / "dog" / "b.png", 20)
    picture(root / "dog" / "images" / "a.png", 10)
    picture(root / "Cat" / "c.bmp", 30)
    picture(root / "Cat" / "B.JPG", 40)
    (root / "dog" / "notes.txt").write_text("not an image")
    (root / "dog" / ".hidden.png").write_bytes(b"")
    (root / ".thumbnails").mkdir()
    return root


@pytest.fixture
def options(tmp_path):
    return {"size": 8, "cache": tmp_path / "cache"}


def test_one_folder_a_class(folder, options):
    samples = read(folder, **options)
    assert samples.kind == "image"
    assert samples.x.shape == (4, 8, 8, 3)
    assert samples.classes == ("Cat", "dog")
    assert samples.ids.tolist() == ["Cat/B.JPG", "Cat/c.bmp", "dog/b.png", "dog/images/a.png"]
    assert samples.y.tolist() == [0, 0, 1, 1]
    assert samples.x[:, 0, 0, 0].tolist() == [40, 30, 20, 10]


def test_files_that_a_person_might_take_for_read_are_told(folder, options):
    (folder / "dog" / "phone.HEIC").write_bytes(b"")
    (folder / "Cat" / "more").mkdir()
    (folder / "Cat" / "more" / "plain").write_bytes(b"")
    picture(folder / "stray.png", 50)
    told = r"3 files of .*pets are passed over: .*\.heic 1.*beside the class folders 1"
    with pytest.warns(DataWarning, match=told):
        assert len(read(folder, **options)) == 4
    with pytest.warns(DataWarning, match=r"2 files of .* are passed over: [^:]*$"):
        assert len(read(folder, labelled=False, **options)) == 5


def test_folders_that_are_links_are_told(folder, options):
    (folder / "dog" / "more").symlink_to(folder / "Cat")
    with pytest.warns(DataWarning, match=r"passed over: .*a link to a folder 1"):
        assert len(read(folder, **options)) == 4


def test_classes_of_a_saved_model(folder, options):
    samples = read(folder, classes=("dog", "bird", "Cat"), **options)
    assert samples.classes == ("dog", "bird", "Cat")
    assert samples.y.tolist() == [2, 2, 0, 0]
    with pytest.raises(DataError, match=r"other names than the 1 known classes \(Cat\)"):
        read(folder, classes=("dog",), **options)


def test_folders_that_are_no_classes(tmp_path, options):
    picture(tmp_path / "set" / "train" / "dog" / "a.png", 1)
    picture(tmp_path / "set" / "test" / "dog" / "a.png", 1)
    with pytest.raises(DataError, match=r"are splits \(test, train\), not classes"):
        read(tmp_path / "set", **options)
    with pytest.raises(DataError, match=r"holds the split 'train' as a folder: give .*train"):
        read(tmp_path / "set", split="train", **options)
    picture(tmp_path / "flat" / "a.png", 1)
    with pytest.raises(DataError, match="holds no folders"):
        read(tmp_path / "flat", **options)
    for name in ("cat", "cow"):
        (tmp_path / "empty" / name).mkdir(parents=True)
    with pytest.raises(DataError, match=r"empty holds no images"):
        read(tmp_path / "empty", **options)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match="holds no images"):
        read(tmp_path / "nothing", labelled=False, **options)


def test_a_class_without_images_is_passed_over(folder, options):
    """As people leave behind who sort; what is no image stops, for it was meant to be one."""
    (folder / "cow").mkdir()
    (folder / "cow" / ".DS_Store").touch()
    with pytest.warns(DataWarning, match=r"has no images of cow: 1 folder passed over"):
        samples = read(folder, **options)
    assert samples.classes == ("Cat", "dog")
    with pytest.warns(DataWarning, match=r"has no images of cow"):
        assert read(folder, classes=("cow", "Cat", "dog"), **options).y.tolist() == [1, 1, 2, 2]
    (folder / "cow" / "a.heic").touch()
    with pytest.raises(DataError, match=r"no images .* in \S*cow, but 1 file \(\.heic\): make images"):
        read(folder, **options)


def test_manifest(folder, options):
    manifest = folder / "labels.csv"
    manifest.write_text("filename,species,breed\ndog/b.png,dog,pug\nCat/c.bmp,cat,\n")
    samples = read(manifest, label="species", **options)
    assert samples.kind == "image"
    assert samples.ids.tolist() == ["dog/b.png", "Cat/c.bmp"]
    assert samples.classes == ("cat", "dog")
    assert samples.x[:, 0, 0, 0].tolist() == [20, 30]
    manifest.write_text("id,where,label\n5,dog/b.png,dog\n6,Cat/c.bmp,cat\n")
    assert read(manifest, path="where", id="id", **options).ids.tolist() == [5, 6]
    assert read(manifest, path="where", labelled=False, **options).classes == ()


def test_broken_manifests(folder, options):
    manifest = folder / "labels.csv"
    manifest.write_text("path,label\ndog/b.png,dog\ndog/gone.png,dog\n")
    with pytest.warns(DataWarning, match=r"gone\.png \(No such file"):
        read(manifest, **options)
    manifest.write_text("path,label\ndog/b.png,dog\ndog/b.png,cat\n")
    with pytest.raises(DataError, match=r"id 'dog/b\.png' occurs more than once"):
        read(manifest, **options)
    manifest.write_text("path,label\nphotos/dog/b.png,dog\nphotos\\c.png,cat\n")
    with pytest.raises(DataError, match=r"none of the images in column 'path' is there; paths begin at the"):
        read(manifest, **options)


def test_rows_without_a_path_are_left_out_where_told(folder, options):
    manifest = folder / "labels.csv"
    manifest.write_text("path,label\ndog/b.png,dog\n,cat\nCat/c.bmp,cat\n")
    told = r"1 path in column 'path' is missing \(line 3\)"
    with pytest.warns(DataWarning, match=told + ": left out"):
        samples, origin = read_file(manifest, ReadOptions(**options))
    assert samples.ids.tolist() == ["dog/b.png", "Cat/c.bmp"]
    assert samples.y.tolist() == [1, 0]
    assert origin.left_out == (1,)
    manifest.write_text("path,label\n,cat\n,dog\n")
    with pytest.raises(
        DataError, match=r"2 paths in column 'path' are missing \(lines 2, 3\); fill them in$"
    ):
        read(manifest, path="path", **options)


def test_hugging_face_images(options):
    pixels = [np.full((6, 9, 3), level, np.uint8) for level in (10, 20, 30)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["b", "a"])})
    records = {"image": [Image.fromarray(p) for p in pixels], "label": [1, 0, 1]}
    dataset = datasets.Dataset.from_dict(records, features=features)
    broken = datasets.Dataset.from_dict(
        {"image": [{"bytes": b"no", "path": None}, {"bytes": None, "path": "gone.png"}], "label": [0, 1]},
        features=features,
    )
    with pytest.raises(DataError, match="none of the 2 images of the dataset"):
        read(broken, **options)
    mixed = datasets.concatenate_datasets([broken, dataset])
    with pytest.warns(DataWarning, match="2 of 5 images"):
        samples = read(mixed, **options)
    assert samples.ids.tolist() == [2, 3, 4]
    assert samples.x[:, 0, 0, 0].tolist() == [10, 20, 30]
