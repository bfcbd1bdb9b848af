"""The results store: no line is lost or mixed, whoever writes and however a writer ends."""

import dataclasses
import json
import os

import pytest

from reproduction.cells import Cell
from reproduction.store import Store

CELL = Cell("table", "iris", "gl", 0)
OTHER_SETTINGS = {
    "kind": "image", "dataset": "wine", "method": "standard", "seed": 1, "protocol": "tuned",
    "ood": "other-classes", "alpha": 0.2, "labels": "specific", "net": "mlp-64", "preset": "paper",
    "epochs": 11, "batch_size": 17, "train_size": 50, "revision": 99,
    "options": {"w": 0.5}, "recipe": {"momentum": 0.0},
}  # fmt: skip


def row(cell=CELL, experiment="table2", **measured):
    return {"experiment": experiment, "key": cell.key, "cell": cell.to_dict(), "measured": measured}


def test_a_result_is_found_by_the_full_settings_of_its_cell(tmp_path):
    store = Store(tmp_path / "deep" / "results.jsonl")
    assert store.rows() == []
    assert store.pending([CELL]) == [CELL]
    store.append(row(accuracy=0.5))
    assert store.rows()[0]["measured"] == {"accuracy": 0.5}
    assert store.pending([Cell.from_dict(json.loads(json.dumps(CELL.to_dict())))]) == []


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Cell)])
def test_a_changed_setting_never_reuses_an_old_result(tmp_path, name):
    store = Store(tmp_path / "results.jsonl")
    store.append(row(accuracy=0.5))
    changed = CELL.but(**{name: OTHER_SETTINGS[name]})
    assert store.pending([CELL, changed, changed]) == [changed]


def test_of_two_results_the_later_counts_and_experiments_keep_their_own(tmp_path):
    store = Store(tmp_path / "results.jsonl")
    second = CELL.but(seed=1)
    for line in (row(n=1), row(second, n=2), row(n=3), row(experiment="ablation", n=4)):
        store.append(line)
    assert [found["measured"]["n"] for found in store.rows("table2")] == [2, 3]
    assert [found["measured"]["n"] for found in store.rows("ablation")] == [4]
    assert store.pending([CELL, second], "ablation") == [second]


@pytest.mark.parametrize("broken", [b'{"experiment": "tab', b"{", b'{"key": "\xc3', b"x" * 200_000])
def test_a_last_line_that_was_cut_short_is_passed_over_and_mended(tmp_path, broken):
    store = Store(tmp_path / "results.jsonl")
    store.append(row(n=1))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + broken)
    assert [found["measured"]["n"] for found in store.rows()] == [1]
    assert store.path.read_bytes() == whole + broken  # who reads changes nothing
    store.append(row(CELL.but(seed=1), n=2))
    assert store.path.read_bytes().startswith(whole)
    assert [found["measured"]["n"] for found in store.rows()] == [1, 2]


@pytest.mark.parametrize("filler", [10, 200_000])
def test_a_whole_last_line_that_lacks_its_newline_is_kept(tmp_path, filler):
    store = Store(tmp_path / "results.jsonl")
    store.append(row(n=1))
    store.append(row(CELL.but(seed=1), n=2, filler="x" * filler))
    store.path.write_bytes(store.path.read_bytes()[:-1])
    store.append(row(CELL.but(seed=2), n=3))
    assert [found["measured"]["n"] for found in store.rows()] == [1, 2, 3]
    assert store.path.read_bytes().count(b"\n") == 3


def _write_many(path, writer, count):
    store = Store(path)
    for n in range(count):
        # lines of very different length, so that a torn or mixed one could not pass unseen
        store.append(row(CELL.but(seed=writer * count + n), n=n, filler="x" * (n % 7) * 3000))


def test_several_processes_lose_and_mix_no_line(tmp_path):
    path, writers, count = tmp_path / "results.jsonl", 4, 60
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            try:
                _write_many(path, writer, count)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    found = Store(path).rows()
    assert sorted(line["cell"]["seed"] for line in found) == list(range(writers * count))
    assert all(len(line["measured"]["filler"]) == line["measured"]["n"] % 7 * 3000 for line in found)
