"""JSON: its example, and files that are none."""

import json

import pytest

from graylearn.data.formats import Origin, format_of
from graylearn.data.read import read, read_file
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError


def example(folder):
    path = folder / "pets.jsonl"
    records = [{"size": size, "label": ("cat", "dog")[size % 2]} for size in range(6)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_ids_beyond_64_bits_are_texts(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(
        "".join(json.dumps({"id": 2**70 + k, "size": k, "label": k % 2}) + "\n" for k in range(6))
    )
    assert read(path).ids.tolist() == [str(2**70 + k) for k in range(6)]


def test_nesting_without_end(tmp_path):
    (tmp_path / "data.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"not valid JSON|not a JSON object"):
        read(tmp_path / "data.json")


def test_lines_are_counted_from_1_and_records_of_a_list_from_0(tmp_path):
    records = [{"size": size, "label": "ab"[size % 2]} for size in range(4)]
    (tmp_path / "list.json").write_text(json.dumps(records))
    (tmp_path / "lines.json").write_text("\n".join(map(json.dumps, records)))
    for name, unit, first in (("list.json", "record", 0), ("lines.json", "line", 1)):
        samples, origin = read_file(tmp_path / name, ReadOptions())
        assert (origin.unit, samples.ids[0]) == (unit, first)
        assert Origin.from_json(json.loads(json.dumps(origin.to_json()))) == origin


def test_a_list_behind_a_mark_is_read_and_copied_as_a_list(tmp_path):
    path = tmp_path / "list.json"
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps([{"size": k, "label": "ab"[k % 2]} for k in range(4)]).encode()
    )
    assert format_of(path).endings(path) == (".csv", ".parquet")
    assert read(path).x["size"].tolist() == [0, 1, 2, 3]
