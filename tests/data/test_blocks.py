"""Blocks: the same samples as a reading of the whole, a part at a time and from any block on."""

import gzip
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import graylearn as gl
from graylearn.data.formats import Change, _base, _tables, format_of, hugging_face, images, parquet
from graylearn.data.read import count_rows, open_blocks, read_file
from graylearn.data.samples import joined
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError, DataWarning


@pytest.fixture(autouse=True)
def few_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path / "cache"))
    for module in (images, hugging_face):
        monkeypatch.setattr(module, "IMAGES", 4)
    for module in (parquet, hugging_face, _tables):
        monkeypatch.setattr(module, "ROWS", 4)
    monkeypatch.setattr(_base, "CHUNK", 64)


def check(blocks, whole, start=None):
    """All blocks give what a reading of the whole gives, and so do those from `start` on."""
    assert blocks.label_counts() == dict(zip(whole.classes, whole.class_counts.tolist(), strict=True))
    found = list(blocks.read(whole.classes))
    joint = joined([block.samples for block in found])
    assert joint.ids.tolist() == whole.ids.tolist()
    assert joint.y.tolist() == whole.y.tolist()
    if isinstance(whole.x, pd.DataFrame):
        pd.testing.assert_frame_equal(joint.x, whole.x, check_column_type=False)
    else:
        np.testing.assert_array_equal(joint.x, whole.x)
    start = found[1].end if start is None else start
    assert found[1].end == start
    later = list(blocks.read(whole.classes, start))
    assert [block.rows.tolist() for block in later] == [block.rows.tolist() for block in found[2:]]
    some = blocks.spread(3, blocks.label_counts())
    assert some.ids.tolist() == whole.ids[[0, (len(whole) - 1) // 2, -1]].tolist()


def write_rows(frame, path):
    """A file by its ending; a Parquet file of several blocks."""
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=100)


def test_a_folder_of_images(tmp_path):
    for number in range(11):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 7), (20 * number, 0, 0)).save(folder / f"{number:02d}.png")
    options = ReadOptions(size=8)
    check(open_blocks(tmp_path / "photos", options), gl.read(tmp_path / "photos", size=8), 8)


@pytest.mark.parametrize("source", ["folder", "manifest", "dataset"])
@pytest.mark.parametrize("unread", [range(4), range(11)])
def test_blocks_of_images_that_cannot_be_read_are_passed_over(tmp_path, source, unread):
    import datasets

    names = [f"{'ab'[number // 6]}/{number:02d}.png" for number in range(11)]
    for number, name in enumerate(names):
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        if number in unread:
            (tmp_path / "photos" / name).write_bytes(b"no image")
        else:
            Image.new("RGB", (9, 7), (20 * number, 0, 0)).save(tmp_path / "photos" / name)
    data = tmp_path / "photos"
    if source == "manifest":
        data = tmp_path / "lists"
        data.mkdir()
        paths = [f"photos/{name}" for name in names]
        for begin in (0, 4, 8):
            frame = pd.DataFrame({"path": paths, "label": [name[0] for name in names]})[begin : begin + 4]
            frame.to_parquet(data / f"{begin}.parquet")
    if source == "dataset":
        records = [{"bytes": (data / name).read_bytes(), "path": None} for name in names]
        kinds = datasets.Features({"picture": datasets.Image(), "label": datasets.Value("string")})
        labels = [name[0] for name in names]
        data = datasets.Dataset.from_dict({"picture": records, "label": labels}, features=kinds)

    def rows():
        blocks = open_blocks(data, ReadOptions(size=8))
        found = list(blocks.read(tuple(blocks.label_counts())))
        assert found[-1].end == 11
        return np.concatenate([block.rows for block in found]).tolist()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if len(unread) < 11:
            assert rows() == [number for number in range(11) if number not in unread]
        else:
            with pytest.raises(DataError, match="none of the"):
                rows()
    assert len(unread) == 11 or any("they are left out" in str(each.message) for each in told)


def test_parquet_with_an_index_that_pandas_kept(tmp_path):
    frame = pd.DataFrame({"a": np.arange(250.0), "label": list("xyxyx") * 50}, index=np.arange(250) * 3)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    plain = gl.read(frame.reset_index(drop=True))
    assert count_rows(tmp_path / "rows.parquet") == 250
    check(open_blocks(tmp_path / "rows.parquet", ReadOptions()), plain)


def test_datasets_and_streams_of_hugging_face(tmp_path):
    import datasets

    named = datasets.ClassLabel(names=["x", "nobody", "a"])
    plain = datasets.Dataset.from_dict({"a": list(range(11)), "label": ["x", "y"] * 5 + ["x"]})
    coded = datasets.Dataset.from_dict({"a": list(range(11)), "kind": [0, 2] * 5 + [0]})
    coded = coded.cast_column("kind", named)
    pictures = [Image.new("RGB", (9, 7), (20 * number, 0, 0)) for number in range(11)]
    kinds = datasets.Features({"picture": datasets.Image(), "kind": named})
    images = datasets.Dataset.from_dict({"picture": pictures, "kind": [0, 2] * 5 + [0]}, features=kinds)
    for whole in (plain, coded, images):
        for source in (whole, whole.to_iterable_dataset()):
            check(open_blocks(source, ReadOptions()), gl.read(whole, size=64), 8)
    assert list(open_blocks(coded, ReadOptions()).label_counts()) == ["x", "nobody", "a"]
    both = datasets.DatasetDict(train=coded, test=coded.select(range(3)))
    both.save_to_disk(str(tmp_path / "both"))
    blocks = open_blocks(tmp_path / "both", ReadOptions(split="train"))
    check(blocks, gl.read(coded), 8)
    assert (blocks.origin.form, blocks.origin.split) == ("hugging_face", "train")


def test_datasets_of_hugging_face_that_list_images_by_their_paths(tmp_path):
    import datasets

    names = [f"{number:02d}.png" for number in range(11)]
    for number, name in enumerate(names):
        Image.new("RGB", (9, 7), (20 * number, 0, 0)).save(tmp_path / name)
    listed = datasets.Dataset.from_dict({"file": names, "label": ["x", "y"] * 5 + ["x"]})
    listed.save_to_disk(str(tmp_path / "listed"))
    whole, origin = read_file(tmp_path / "listed", ReadOptions())
    assert (whole.kind, whole.ids.tolist()) == ("image", names)
    check(open_blocks(tmp_path / "listed", ReadOptions()), whole, 8)
    change = Change(names, [], [True] * 10 + [False], list(range(11)))
    out = tmp_path / "new" / "clean.parquet"
    out.parent.mkdir()
    format_of(tmp_path / "listed").rewrite(tmp_path / "listed", out, origin, change)
    assert gl.read(out).ids.tolist() == [f"../{name}" for name in names[:10]]


def test_delimited_text(tmp_path):
    texts = ["plain", 'with ""quotes""', "two\nlines", "a;b", "émile"]
    rows = [
        f'{n};"{texts[n % 5]}";{n if n < 20 else n + 0.5};{"" if n == 3 else n % 3};{"x" if n % 2 else "y"}'
        for n in range(30)
    ]
    files = (("utf-8-sig", "\n", "a.csv"), ("latin-1", "\r\n", "b.csv"), ("utf-16", "\n", "c.csv"))
    for encoding, end, name in files:
        text = end.join(["n;text;later a fraction;few;label", *rows]) + end
        (tmp_path / name).write_text(text, encoding=encoding, newline="")
        given = {"encoding": "latin-1" if encoding == "latin-1" else "utf-8"}
        blocks = open_blocks(tmp_path / name, ReadOptions(**given))
        check(blocks, gl.read(tmp_path / name, **given))
        assert blocks.origin.separator == ";"


def test_labels_and_ids_of_text_are_alike_in_all_blocks(tmp_path):
    rows = [f"{n:03d},{n % 2},{n / 4}" for n in range(98, 130)]
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress("\n".join(["id,label,a", *rows]).encode()))
    check(open_blocks(tmp_path / "rows.csv.gz", ReadOptions()), gl.read(tmp_path / "rows.csv.gz"))
    whole = gl.read(tmp_path / "rows.csv.gz")
    assert (whole.ids[0], whole.ids[-1], whole.classes) == ("098", "129", (0, 1))


def test_json_lines(tmp_path):
    rows = [{"a": n, "label": "xy"[n % 2]} | ({"late": n / 2} if n > 20 else {}) for n in range(30)]
    lines = [json.dumps(row) for row in rows]
    lines.insert(4, "")
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    check(open_blocks(tmp_path / "rows.jsonl", ReadOptions()), gl.read(tmp_path / "rows.jsonl"))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl"])
def test_ids_that_stand_in_several_blocks_are_told(tmp_path, name):
    frame = pd.DataFrame({"key": np.arange(400) % 398, "a": np.arange(400.0), "label": list("xy") * 200})
    path = tmp_path / name
    write_rows(frame, path)
    told = r"2 ids in column 'key' occur more than once \(such as 0, 1\); make ids unique, or pass id=False"
    with pytest.raises(DataError, match=told):
        open_blocks(path, ReadOptions(label="label", id="key")).label_counts()
    counts = open_blocks(path, ReadOptions(label="label", id=False)).label_counts()
    assert counts == {"x": 200, "y": 200}
    frame.loc[[1, 398], "label"] = None  # no samples, where such rows are left out
    write_rows(frame, path)
    options = ReadOptions(label="label", id="key")
    with pytest.warns(DataWarning, match="2 of 400 labels are missing; these rows are left out"):
        assert open_blocks(path, options).label_counts() == {"x": 199, "y": 199}


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
@pytest.mark.parametrize("unlabelled", [slice(0, 150), slice(100, 300)])
def test_blocks_without_a_label_are_passed_over(tmp_path, name, unlabelled):
    frame = pd.DataFrame({"a": np.arange(400.0), "label": list("xy") * 200})
    frame.loc[frame.index[unlabelled], "label"] = None
    write_rows(frame, tmp_path / name)
    blocks = open_blocks(tmp_path / name, ReadOptions(label="label"))
    with pytest.warns(DataWarning, match="labels are missing"):
        counts = blocks.label_counts()
    labelled = np.flatnonzero(frame["label"].notna())
    assert counts == {"x": len(labelled) // 2, "y": len(labelled) // 2}
    found = list(blocks.read(tuple(counts)))
    assert np.concatenate([block.rows for block in found]).tolist() == labelled.tolist()
    assert found[-1].end == 400
    assert list(blocks.read(tuple(counts), found[-1].end)) == []
    assert blocks.spread(2, counts).x["a"].tolist() == labelled[[0, -1]].tolist()


def test_data_without_any_label_are_refused(tmp_path):
    write_rows(pd.DataFrame({"a": np.arange(400.0), "label": [None] * 400}), tmp_path / "rows.csv")
    with pytest.raises(DataError, match="column 'label': every label is missing"):
        open_blocks(tmp_path / "rows.csv", ReadOptions(label="label"))
