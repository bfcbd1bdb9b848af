"""Duplicates: copies of pictures, texts and rows, contradicting labels, test samples in the training set."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageFilter

from graylearn.audit.duplicates import find_duplicates
from graylearn.data import Samples
from graylearn.errors import DataError, IdLikeColumnWarning


@pytest.fixture(scope="module")
def photos():
    """60 pictures of soft blobs, none like another."""
    random = np.random.default_rng(0)
    made = []
    for _ in range(60):
        rough = Image.fromarray(random.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        made.append(np.asarray(rough.resize((32, 32), Image.Resampling.BICUBIC)))
    return np.stack(made)


def test_copies_of_pictures_are_found_however_they_were_made(photos):
    image = Image.fromarray(photos[3])
    copies = [
        np.asarray(image),
        photos[7][:, ::-1],
        np.asarray(image.resize((24, 24)).resize((32, 32))),
        np.asarray(Image.fromarray(photos[9]).filter(ImageFilter.GaussianBlur(0.5))),
        np.asarray(Image.fromarray(photos[11]).crop((2, 2, 30, 30)).resize((32, 32))),
    ]
    found = find_duplicates(np.concatenate([photos, np.stack(copies)]))
    assert [group.tolist() for group in found.groups] == [[3, 60, 62], [7, 61], [9, 63], [11, 64]]
    assert not found.exact.any()
    only = find_duplicates(np.concatenate([photos, np.stack(copies)]), near=False)
    assert [group.tolist() for group in only.groups] == [[3, 60]]
    assert only.exact.all()
    assert found.keep.sum() == 60
    assert len(find_duplicates(photos).groups) == 0


def test_a_copy_without_a_label_contradicts_nothing():
    texts = ["one and all", "one and all", "two of us", "two of us", "three"]
    assert find_duplicates(texts, [None, "a", "b", "c", "c"]).contradicting.tolist() == [False, True]
    assert not find_duplicates(texts).contradicting.any()


def test_texts_of_signs_alone_and_vowels_that_are_marks_are_told_apart():
    texts = [":)", ":(", ":)  ", "कि", "की", "กิน", "กัน", "❤\ufe0f", "👍", "กิน!", "fine ❤\ufe0f", "Fine"]
    groups = [part.tolist() for part in find_duplicates(texts, near=False).groups]
    assert groups == [[0, 2], [5, 9], [10, 11]]


def test_texts_are_the_same_but_for_case_and_signs():
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcdefghijklmnop"), 6)) for _ in range(200)]
    texts = [" ".join(random.permutation(words)[:9]) for _ in range(40)]
    texts += ["Where is my card?", "where is my   CARD", texts[5] + "!!", texts[6] + "s"]
    found = find_duplicates(texts, labels=[0] * 40 + [1, 2, 0, 0])
    assert [group.tolist() for group in found.groups] == [[5, 42], [6, 43], [40, 41]]
    assert found.contradicting.tolist() == [False, False, True]
    assert found.exact.tolist() == [True, False, True]


def test_rows_of_a_test_set_that_stand_in_the_training_set():
    random = np.random.default_rng(0)
    train = pd.DataFrame({"a": random.normal(size=80), "b": random.choice(["x", "y"], 80)})
    test = pd.concat([train.iloc[[4, 9]], pd.DataFrame({"a": [9.0], "b": ["x"]})])[["b", "a"]]
    found = find_duplicates(train, labels=np.arange(80) % 2, test=test, near=False)
    assert found.leaked.tolist() == [0, 1]
    assert found.keep.all()
    assert "2 of 3 test samples are in the training set" in found.summary()
    assert found.table["kind"].tolist() == ["exact"] * 4
    with pytest.raises(DataError, match="test lacks the columns b: give both alike"):
        find_duplicates(train, test=test[["a"]])


def test_columns_that_name_the_rows_have_no_part_unless_kept():
    random = np.random.default_rng(2)
    rows = pd.DataFrame(random.normal(size=(60, 6))).add_prefix("x")
    rows = pd.concat([rows, rows.iloc[[0]] + 1e-4], ignore_index=True)
    rows.insert(0, "id", [f"row-{number:04}" for number in range(61)])
    with pytest.warns(IdLikeColumnWarning, match="id_like='keep' to learn from it"):
        assert [group.tolist() for group in find_duplicates(rows).groups] == [[0, 60]]
    with pytest.warns(IdLikeColumnWarning, match="id_like='drop' to leave it out"):
        assert not find_duplicates(rows, id_like="keep").groups


def test_near_rows_and_embeddings():
    random = np.random.default_rng(1)
    x = random.normal(size=(100, 16))
    x = np.concatenate([x, x[[0, 1]] + 1e-4])
    samples = Samples(x, np.r_[np.zeros(100, int), 0, 1], ("cat", "dog"), np.arange(102), "array")
    found = find_duplicates(samples)
    assert [group.tolist() for group in found.groups] == [[0, 100], [1, 101]]
    assert found.contradicting.tolist() == [False, True]
    assert "2 groups of copies, 1 group with different labels" in found.summary()
    assert (
        "2 of 3 samples are in 1 group of copies"
        in find_duplicates(np.array([[1.0], [1.0], [5.0]])).summary()
    )
    with pytest.raises(DataError, match="there are 3 labels for 102 samples"):
        find_duplicates(x, labels=[1, 2, 3])


def test_a_part_of_a_picture_is_found_wherever_it_lies(photos):
    """Neither the scale nor the place of the part is one of those that thumbnails are made of."""
    big = [Image.fromarray(photo).resize((96, 96), Image.Resampling.BICUBIC) for photo in photos[:20]]
    part = big[4].crop((3, 11, 84, 92)).resize((96, 96), Image.Resampling.BICUBIC)
    turned = big[7].crop((13, 1, 95, 83)).resize((96, 96)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    images = np.stack([np.asarray(image) for image in [*big, part, turned]])
    assert [group.tolist() for group in find_duplicates(images).groups] == [[4, 20], [7, 21]]


def test_pictures_that_are_alike_in_light_and_shade_alone_are_no_copies(photos):
    """A bright sky over dark ground in all, and something else in each: thumbnails correlate by .95."""
    sky = np.linspace(100, -100, 32)[:, None, None]
    scenes = np.clip(128 + sky + (photos - 128.0) / 4, 0, 255).astype(np.uint8)
    copy = Image.fromarray(scenes[3]).crop((2, 1, 31, 30)).resize((32, 32))
    images = np.concatenate([photos, scenes[:6], np.asarray(copy)[None]])
    assert [group.tolist() for group in find_duplicates(images).groups] == [[63, 66]]
