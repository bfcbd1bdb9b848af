"""Sets larger than memory: read in blocks, audited in parts, gone on with, and within a hard limit."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from graylearn.audit import parts
from graylearn.data.read import open_blocks
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError, SettingsError
from graylearn.estimator import saving
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs import find as finding
from graylearn.runs.apply import apply_decisions
from graylearn.runs.check import WORDS, check
from graylearn.runs.oddities import among
from graylearn.runs.predict import predict

CLASSES, ROWS = 3, 900


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Three Parquet files that are one table, of which a tenth of the labels are wrong."""
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    y = random.integers(0, CLASSES, ROWS)
    x = 4 * np.eye(CLASSES, 5)[y] + random.normal(size=(ROWS, 5))
    wrong = random.random(ROWS) < 0.1
    given = np.where(wrong, (y + 1) % CLASSES, y)
    frame = pd.DataFrame(x, columns=list("abcde")).assign(
        word=np.array(["u", "v"])[random.integers(0, 2, ROWS)],
        label=np.array(["cat", "dog", "emu"])[given],
        id=[f"row {index}" for index in range(ROWS)],
    )
    frame.loc[7, "label"] = None
    frame.loc[800, list("abcde")] = frame.loc[3, list("abcde")].to_numpy()
    frame.loc[800, "word"] = frame.loc[3, "word"]
    for number in range(3):
        frame.iloc[300 * number : 300 * (number + 1)].to_parquet(folder / f"{number}.parquet")
    return folder, frame, wrong


def settings_of(folder, **others):
    given = {"part_size": 300, "epochs": 2, "device": "cpu"}
    return RunSettings(data=str(folder / "*.parquet"), **({"command": "audit"} | given | others))


@pytest.fixture(scope="module")
def audited(tables, tmp_path_factory):
    out = tmp_path_factory.mktemp("audited") / "run"
    return out, run(settings_of(tables[0]), out, progress=RunProgress(quiet=True))


def test_an_audit_in_parts_leaves_what_any_audit_leaves(tables, audited):
    _, frame, wrong = tables
    out, summary = audited
    table = pd.read_parquet(out / "audit.parquet")
    expected = frame.drop(index=7).reset_index(drop=True)
    assert table["id"].tolist() == expected["id"].tolist()
    assert table["label"].tolist() == expected["label"].tolist()
    written = pd.read_csv(out / "audit.csv", dtype={"group": str})
    assert written["score"].to_numpy() == pytest.approx(table["score"].to_numpy())
    assert written[written["group"].notna()][["id", "group"]].to_numpy().tolist() == [
        ["row 3", "1"],
        ["row 800", "1"],
    ]
    assert summary["copies"]["groups"] == 1
    suspected = table["suspected"].to_numpy()
    bad = np.delete(wrong, 7)
    assert roc_auc_score(bad, table["score"]) > 0.93  # networks of two epochs, on 300 rows each
    assert suspected[~bad].mean() < 0.05
    assert summary["samples"] == len(table) == ROWS - 1
    assert summary["suspected"] == suspected.sum() == ROWS - 1 - summary["found"]["ok"]
    assert sum(each["samples"] for each in summary["per_class"].values()) == ROWS - 1
    assert "in 3 parts" in summary["notes"][-1]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"{summary['worst'][0]['id']}" in page
    assert "1 row without a label: not judged" in page
    assert not (out / "stages").exists()


def test_one_part_is_the_set_as_a_whole(tables, tmp_path):
    tables_of = {}
    for name, size in (("whole", None), ("one part", 1000)):
        settings = settings_of(tables[0], part_size=size, epochs=None)
        summary = run(settings, tmp_path / name, progress=RunProgress(quiet=True))
        found = {part: summary[part] for part in ("found", "per_class", "sure", "copies", "worst", "notes")}
        tables_of[name] = pd.read_parquet(tmp_path / name / "audit.parquet"), found
    (whole, said), (part, told) = tables_of.values()
    assert told == said
    pd.testing.assert_frame_equal(part, whole, rtol=1e-3)


@pytest.mark.parametrize("part_size", [None, 300])
def test_a_check_finds_what_is_wrong_in_however_many_parts(tables, tmp_path, part_size):
    _, frame, wrong = tables
    frame.loc[[3, 800]].to_csv(tmp_path / "test.csv", index=False)
    settings = settings_of(
        tables[0],
        part_size=part_size,
        epochs=None,
        test=str(tmp_path / "test.csv"),
        no_id=True,
        without=("id",),
    )
    found = check(settings, copies=True, progress=RunProgress(quiet=True))
    rows = {kind: [int(each.id) for each in found.problems if each.kind == kind] for kind in WORDS}
    assert rows["leaked"] == [3, 800]
    assert rows["copy"] == [800] if frame["label"][3] == frame["label"][800] else not rows["copy"]
    assert wrong[rows["mislabelled"]].mean() > 0.9
    assert len(rows["mislabelled"]) > 0.8 * np.delete(wrong, 7).sum()
    assert len({each.key for each in found.problems}) >= len({each.id for each in found.problems}) - 1


def test_what_was_found_in_parts_can_be_applied(tables, audited, tmp_path):
    done = apply_decisions(audited[0], None, tmp_path / "clean.parquet", suspects="drop")
    kept = pd.read_parquet(tmp_path / "clean.parquet")
    assert len(kept) - 1 == done["kept"] == ROWS - 1 - audited[1]["suspected"]


def test_a_stopped_audit_keeps_its_blocks_and_parts(tables, audited, tmp_path, monkeypatch):
    out, seen, real, deal = tmp_path / "run", [], finding.audit_part, parts.PartFiles.deal
    most = 1

    def stops_after_two(self, state, end, *given):
        deal(self, state, end, *given)
        if end == 600:
            with (self.part(0) / "rows").open("ab") as file:
                file.write(b"half a bl")  # what a kill leaves
            raise KeyboardInterrupt

    def stops_after_one(folder, *given, **options):
        if len(seen) == most:
            raise KeyboardInterrupt
        seen.append(folder.name)
        real(folder, *given, **options)

    def goes_on():
        run(settings_of(tables[0]), out, progress=RunProgress(quiet=True))

    with monkeypatch.context() as patch:
        patch.setattr(parts.PartFiles, "deal", stops_after_two)
        with pytest.raises(KeyboardInterrupt):
            goes_on()
    monkeypatch.setattr(finding, "audit_part", stops_after_one)
    with pytest.raises(KeyboardInterrupt):
        goes_on()
    most = 3
    goes_on()
    assert len(seen) == len(set(seen)) == 3  # each part once
    pd.testing.assert_frame_equal(
        pd.read_parquet(out / "audit.parquet"), pd.read_parquet(audited[0] / "audit.parquet")
    )


def test_a_stream_of_hugging_face_is_audited_and_once_saved_cleaned(tables, audited, tmp_path):
    import datasets

    files = sorted(map(str, tables[0].glob("*.parquet")))
    stream = datasets.load_dataset(
        "parquet", data_files=files, split="train", streaming=True, cache_dir=str(tmp_path / "cache")
    )
    out, settings = tmp_path / "run", replace(settings_of(tables[0]), data="")
    summary = run(settings, out, progress=RunProgress(quiet=True), source=stream)
    assert summary["found"] == audited[1]["found"]
    pd.testing.assert_frame_equal(
        pd.read_parquet(out / "audit.parquet"), pd.read_parquet(audited[0] / "audit.parquet")
    )
    with pytest.raises(DataError, match="in no file: write them with save_to_disk"):
        apply_decisions(out, None, tmp_path / "clean.parquet", suspects="drop")
    datasets.Dataset.from_pandas(tables[1]).save_to_disk(str(tmp_path / "saved"))
    clean = tmp_path / "clean.parquet"
    done = apply_decisions(out, None, clean, suspects="drop", data=tmp_path / "saved")
    assert len(pd.read_parquet(clean)) - 1 == done["kept"] == ROWS - 1 - summary["suspected"]
    with pytest.raises(SettingsError, match="source is list, expected a dataset of Hugging Face"):
        run(settings, tmp_path / "other", source=[1, 2])


@pytest.fixture(scope="module")
def fitted(tables, tmp_path_factory):
    """A run that was stopped while its model was saved, and gone on with."""
    out, test = tmp_path_factory.mktemp("fitted") / "run", tmp_path_factory.mktemp("clean") / "clean.csv"
    folder, frame, wrong = tables
    frame[~wrong].dropna().head(100).to_csv(test, index=False)
    settings = settings_of(folder, command="fit", epochs=4, test=str(test))
    quiet = RunProgress(quiet=True)
    stopped = mock.patch.object(saving, "card", side_effect=KeyboardInterrupt)
    with stopped, pytest.raises(KeyboardInterrupt):
        run(settings, out, progress=quiet)
    assert not (out / "summary.json").exists()
    return out, run(settings, out, progress=quiet)


def test_a_fit_in_parts_leaves_a_model_and_the_audit(tables, fitted, audited):
    folder, frame, wrong = tables
    out, summary = fitted
    pd.testing.assert_frame_equal(
        pd.read_parquet(out / "audit.parquet")[["id", "label"]],
        pd.read_parquet(audited[0] / "audit.parquet")[["id", "label"]],
    )
    assert summary["model"] == str(out / "model")
    assert sorted(path.name for path in (out / "model").iterdir()) == [
        "history.npz", "model-card.md", "model.json", "weights.safetensors",
    ]  # fmt: skip
    assert set(summary["test"]) == {"gray", "refined", "standard"}
    assert summary["test"]["gray"]["accuracy"] > 0.9
    assert summary["copies"]["leaked"] == summary["test_samples"] == 100
    said = predict(out, str(folder / "*.parquet"))
    names = np.array(["cat", "dog", "emu"])
    right = names[(names.searchsorted(frame["label"].fillna("cat")) - wrong) % CLASSES]
    assert (said["class"].to_numpy() == right).mean() > 0.9


def test_a_fit_in_parts_learns_what_the_audits_believe(tmp_path):
    x, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    flipped = np.where(random.random(len(y)) < 0.3, (y + random.integers(1, 10, len(y))) % 10, y)
    frame = pd.DataFrame(x, columns=[f"pixel {number}" for number in range(64)])
    frame[:1400].assign(label=flipped[:1400]).to_csv(tmp_path / "dirty.csv", index=False)
    frame[1400:].assign(label=y[1400:]).to_csv(tmp_path / "clean.csv", index=False)
    settings = RunSettings(data=str(tmp_path / "dirty.csv"), test=str(tmp_path / "clean.csv"), part_size=700)
    summary = run(settings, tmp_path / "run", progress=RunProgress(quiet=True))
    assert summary["refined"]
    assert summary["test"]["refined"]["accuracy"] > summary["test"]["gray"]["accuracy"]


def test_copies_are_found_across_parts(tmp_path):
    random = np.random.default_rng(0)
    rows = np.delete(np.arange(200), 7)
    x = random.normal(size=(200, 3)).astype(np.float32)
    x[0, 0], x[150, 0] = 0.0, -0.0
    for copy, of in ((150, 0), (30, 20), (40, 20), (199, 198)):
        x[copy, (copy == 150) :] = x[of, (copy == 150) :]
    label = np.zeros(200, dtype=np.int64)
    label[40] = 1
    files = parts.PartFiles(tmp_path / "parts", 4)  # of which one stays empty
    files.deal(files.dealt(), 200, rows, label[rows], x[rows], rows % 3)
    found = finding.copies_in_parts(files)
    number = np.searchsorted(rows, np.arange(200))  # of each row among the samples
    groups = [number[[0, 150]], number[[20, 30, 40]], number[[198, 199]]]
    assert [members.tolist() for members in found.groups] == [group.tolist() for group in groups]
    assert found.contradicting.tolist() == [False, True, False]
    assert (found.exact.all(), found.count, found.total) == (True, 199, 199)
    shown = among(found, number[[0, 20, 30, 40, 198]])
    assert [members.tolist() for members in shown.groups] == [[1, 2, 3]]  # others are not there as a whole


def test_data_that_cannot_be_read_in_blocks_say_so(tmp_path):
    np.savez(tmp_path / "few.npz", x=np.eye(2), y=[0, 1])
    with pytest.raises(DataError, match="which is read as a whole"):
        open_blocks(tmp_path / "few.npz", ReadOptions())
    settings = RunSettings(data=str(tmp_path / "few.csv"), part_size=1000, test_share=0.2)
    with pytest.raises(SettingsError, match="read as a whole: name a test set"):
        run(settings, tmp_path / "run", progress=RunProgress(quiet=True))


LIMITED = """
import json, resource, sys
import numpy as np
from pathlib import Path
from graylearn.audit import parts
from graylearn.runs import RunProgress, RunSettings, run

parts.SHOWN = parts.OTHERS = 50  # of rows of 24 kilobytes

def fitted(name):
    settings = RunSettings(
        data=f"{name}.parquet", command="fit", part_size=900, epochs=1, batch_size=128, mode="history"
    )
    return run(settings, f"run-{name}", progress=RunProgress(quiet=True))

def data_bytes():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmData:")[1].split()[0])

fitted("small")
limit = data_bytes() + (100 << 20)  # half is needed; allocators and numbers of threads differ
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.ones(120 << 20, dtype=np.uint8)
except MemoryError:
    print(json.dumps(fitted("large")["found"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on data is Linux's")
def test_a_set_far_larger_than_the_memory_is_audited_and_learned_from(tmp_path):
    """A hundred megabytes beyond what a seventh of it left, where the vectors alone are 118."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(2, 3000))
    for name, blocks in (("small", 1), ("large", 7)):
        with pq.ParquetWriter(
            tmp_path / f"{name}.parquet",
            pa.schema({"x": pa.list_(pa.float64()), "label": pa.int64()}),
            compression="none",
            use_dictionary=False,
        ) as writer:
            for _ in range(blocks):
                y = random.integers(0, 2, 700)
                x = centres[y] + random.normal(size=(700, 3000))
                writer.write_table(pa.table({"x": pa.array(list(x)), "label": y}))
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    threads["MALLOC_MMAP_THRESHOLD_"] = "1048576"  # what is let go of goes back, and is no room to hide in
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
    )
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(done.stdout).values()) == 4_900
