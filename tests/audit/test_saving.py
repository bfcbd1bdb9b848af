"""Audits as files: what is saved comes back, and what is no audit is refused."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from graylearn.audit import Audit
from graylearn.errors import CheckpointError, SettingsError


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_saved_audit_comes_back_whole(some, mix, tmp_path, format):
    for place, one in enumerate((some, mix[1])):
        one.save(tmp_path / str(place), format=format)
        back = Audit.load(tmp_path / str(place))
        pd.testing.assert_frame_equal(back.table, one.table)
        assert back.contamination == one.contamination
        for each in dataclasses.fields(Audit):
            value, saved = getattr(one, each.name), getattr(back, each.name)
            assert np.array_equal(saved, value) if isinstance(value, np.ndarray) else saved == value, (
                each.name
            )
        read = pd.read_csv if format == "csv" else pd.read_parquet
        table = read(tmp_path / str(place) / f"table.{format}")
        assert table["kind"].tolist() == one.table["kind"].tolist()
        np.testing.assert_allclose(table["score"], one.score)


def test_damaged_or_foreign_folders_are_refused(some, tmp_path):
    with pytest.raises(CheckpointError, match="does not hold a saved audit"):
        Audit.load(tmp_path)
    some.save(tmp_path / "a")
    content = (tmp_path / "a" / "arrays.npz").read_bytes()
    (tmp_path / "a" / "arrays.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="does not hold a saved audit"):
        Audit.load(tmp_path / "a")
    some.save(tmp_path / "b")
    (tmp_path / "b" / "audit.json").write_text('{"format": "something else"}')
    with pytest.raises(CheckpointError, match="not of a saved audit"):
        Audit.load(tmp_path / "b")
    some.save(tmp_path / "d")
    meta = json.loads((tmp_path / "d" / "audit.json").read_text())
    for change in ({"num_samples": "many"}, {"notes": 3}, {"ranges": [1]}):
        (tmp_path / "d" / "audit.json").write_text(json.dumps(meta | change))
        with pytest.raises(CheckpointError, match="damaged audit"):
            Audit.load(tmp_path / "d")
    some.save(tmp_path / "e")
    with np.load(tmp_path / "e" / "arrays.npz") as file:
        arrays = {name: file[name] for name in file.files if name not in ("score", "ids")}
    np.savez(tmp_path / "e" / "arrays.npz", **arrays)
    with pytest.raises(CheckpointError, match=r"damaged audit \(it lacks ids, score\)"):
        Audit.load(tmp_path / "e")
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="file is a file; name another"):
        some.save(tmp_path / "file")
    with pytest.raises(SettingsError, match="use csv or parquet"):
        some.save(tmp_path / "c", format="pickle")


def test_a_save_that_breaks_off_leaves_the_one_before(some, tmp_path, monkeypatch):
    some.save(tmp_path)
    later = dataclasses.replace(some, score=1 - some.score)

    def full(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space"):
        later.save(tmp_path)
    pd.testing.assert_frame_equal(Audit.load(tmp_path).table, some.table)  # the first one, whole
