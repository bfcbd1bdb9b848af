"""Tables in memory and in files other than CSV, JSON lines, texts, arrays, and datasets objects."""

import json

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import torch

from graylearn.data.read import read
from graylearn.data.samples import Samples
from graylearn.errors import DataError, DataWarning

FRAME = pd.DataFrame({"size": [1.5, 2.5, 3.5], "colour": ["red", None, "blue"], "label": ["b", "a", "b"]})


def check_frame(samples: Samples) -> None:
    assert samples.kind == "table"
    assert list(samples.x.columns) == ["size", "colour"]
    assert samples.x["size"].tolist() == [1.5, 2.5, 3.5]
    assert samples.x["colour"].isna().tolist() == [False, True, False]
    assert samples.classes == ("a", "b")
    assert samples.y.tolist() == [1, 0, 1]
    assert samples.ids.tolist() == [0, 1, 2]


def test_labels_beside_the_table():
    bare = FRAME.drop(columns="label")
    check_frame(read((bare, FRAME["label"])))
    check_frame(read(bare, label=FRAME["label"].to_numpy()))
    check_frame(read(bare, label=list(FRAME["label"])))
    with pytest.raises(DataError, match="3 rows but 2 labels"):
        read(bare, label=["a", "b"])


def test_index_names_the_rows():
    frame = FRAME.set_index(pd.Index(["u", "v", "w"]))
    assert read(frame).ids.tolist() == ["u", "v", "w"]
    dated = FRAME.set_index(pd.date_range("2024-01-01", periods=3))
    assert read(dated).ids.tolist()[0].startswith("2024-01-01")
    nested = FRAME.set_index(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    assert read(nested).ids.tolist() == ["a/1", "a/2", "b/1"]


def test_repeated_index():
    frame = pd.concat([FRAME, FRAME])
    told = r"the index holds '0' more than once .* name an id column, or pass id=False to count the rows"
    with pytest.raises(DataError, match=told):
        read(frame)
    assert read(frame, id=False).ids.tolist() == list(range(6))
    frame["label"] = ["b", None, "a", "b", None, "a"]
    with pytest.warns(DataWarning, match="2 of 6 labels are missing"):
        assert read(frame, id=False).ids.tolist() == [0, 2, 3, 5]
    assert read(FRAME.set_index(pd.Index(["u", "v", "w"])), id=False).ids.tolist() == ["u", "v", "w"]


def test_columns_that_are_no_feature_are_refused_all_at_once():
    frame = FRAME.assign(bag=[{"a": 1}, {}, {}], tags=[["a"], [], []])
    with pytest.raises(
        DataError, match=r"'bag' \(records\), 'tags' \(lists\); .* pass without=\('bag', 'tags'\)"
    ):
        read(frame)
    check_frame(read(frame, without=("bag", "tags")))


def test_a_column_of_vectors_is_an_array():
    table = pa.table({"vector": [[1.0, 2.0], [3.0, 4.0]], "label": [0, 1]})
    samples = read(table)
    assert samples.kind == "array"
    assert samples.x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(DataError, match="vectors of different shapes"):
        read(pa.table({"vector": [[1.0, 2.0], [3.0]], "label": [0, 1]}))


def test_json_lines_of_text(tmp_path):
    path = tmp_path / "texts.jsonl"
    records = [{"text": "wo ist\nmeine Karte?", "intent": "card"}, {"text": "", "intent": "none"}]
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n\n", encoding="utf-8")
    samples = read(path)
    assert samples.kind == "text"
    assert samples.x.tolist() == ["wo ist\nmeine Karte?", ""]
    assert samples.classes == ("card", "none")


def test_a_column_holds_images_where_most_of_its_values_end_like_one(tmp_path):
    """The files that a server was asked for are no images, for all that the first of them is one."""
    (tmp_path / "log.csv").write_text("path,label\n/logo.png,a\n/,b\n/index.html,a\n")
    assert read(tmp_path / "log.csv").kind == "table"
    (tmp_path / "list.csv").write_text("path,label\n,a\nx.PNG,b\ny.jpg,a\n")
    with pytest.raises(DataError, match="none of the images"), pytest.warns(match="1 path in column"):
        read(tmp_path / "list.csv")


def test_text_column(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text('text,category\n"Hi, you",greet\nNA,other\n,other\n')
    samples = read(path)
    assert samples.kind == "text"
    assert samples.x.tolist() == ["Hi, you", "NA", ""], "a text is taken as it is written"
    assert samples.classes == ("greet", "other")
    assert read(path, text="category", label="text", labelled=False).x.tolist() == ["greet", "other", "other"]


def test_images_in_arrays():
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3, 8, 8), dtype=np.uint8)
    y = torch.tensor([1, 0])
    samples = read((torch.from_numpy(pixels), y))
    assert samples.kind == "image"
    np.testing.assert_array_equal(samples.x, pixels.transpose(0, 2, 3, 1))
    assert read((samples.x, y)).x.shape == (2, 8, 8, 3)
    assert read((pixels[:, 0], y)).kind == "image"
    assert read((pixels.astype(np.float32), y)).kind == "array"
    assert read((torch.zeros(2, 3, dtype=torch.bfloat16), y)).x.dtype == np.float32


def test_npz(tmp_path):
    path = tmp_path / "set.npz"
    x, y = np.arange(6.0).reshape(3, 2), np.array([2, 0, 2])
    np.savez(path, x=x, y=y, ids=np.array(["p", "q", "r"]))
    samples = read(path)
    assert samples.classes == (0, 2)
    assert samples.ids.tolist() == ["p", "q", "r"]
    np.savez(path, embeddings=x, labels=y)
    assert read(path).x.tolist() == x.tolist()
    np.savez(path, train_x=x, train_y=y, test_x=x[:1], test_y=y[:1], class_names=np.array(["u", "v", "w"]))
    with pytest.raises(DataError, match="splits test, train; pass split= to choose one"):
        read(path)
    samples = read(path, split="test")
    assert samples.classes == ("u", "v", "w")
    assert samples.y.tolist() == [2]
    again = read(path, split="train", classes=("w", "v", "u"))
    assert again.y.tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"z": np.zeros(3)}, "holds z; expected an array called x"),
        ({"x": np.array([{}, None], dtype=object), "y": np.zeros(2)}, "Python objects"),
        (
            {"x": np.zeros((2, 2)), "y": np.array([0, 5]), "class_names": np.array(["a", "b"])},
            "labels from 0 to 5 but names 2 classes",
        ),
    ],
)
def test_npz_that_cannot_be_read(tmp_path, arrays, message):
    path = tmp_path / "set.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=message):
        read(path)
    path.write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(DataError, match="damaged"):
        read(path)


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    assert read(tmp_path / "x.npy", label=[0, 1, 1]).y.tolist() == [0, 1, 1]


def test_hugging_face_text_keeps_the_order_of_its_labels():
    features = datasets.Features(
        {"text": datasets.Value("string"), "intent": datasets.ClassLabel(names=["z", "a"])}
    )
    dataset = datasets.Dataset.from_dict(
        {"text": ["one", "two", "three"], "intent": [0, 1, 0]}, features=features
    )
    samples = read(dataset)
    assert samples.kind == "text"
    assert samples.classes == ("z", "a")
    assert samples.y.tolist() == [0, 1, 0]
    chosen = read(datasets.DatasetDict(train=dataset, test=dataset.select([2])), split="test")
    assert chosen.x.tolist() == ["three"]
    with pytest.raises(DataError, match="splits train, test; pass split= to choose one"):
        read(datasets.DatasetDict(train=dataset, test=dataset))
    with pytest.raises(DataError, match="streams its rows"):
        read(dataset.to_iterable_dataset())


def test_columns_to_leave_out_with_commas_between(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b,"a,b",label\n1,2,3,x\n4,5,6,y\n')
    assert list(read(path, without=["a,b"]).x.columns) == ["a", "b"]
    assert list(read(path, without=["b, a"]).x.columns) == ["a,b"]
    with pytest.raises(DataError, match="has no column 'a,c' to leave out"):
        read(path, without=["a,c"])
