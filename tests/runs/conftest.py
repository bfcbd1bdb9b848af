"""Finished run folders made without training anything."""

import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from graylearn.runs.folder import RunFolder
from graylearn.runs.outputs import write_data
from graylearn.runs.prepare import prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings


def _kind(suspects, name):
    return "ok" if name not in suspects else "ood" if suspects[name] is None else "mislabelled"


@pytest.fixture
def finished(tmp_path):
    """Make a finished run of `data`, whose suspects and suggestions are given by hand."""

    def make(data, suspects=None, sure=None, **settings):
        chosen = RunSettings(data=str(data), **settings)
        folder = RunFolder(tmp_path / "run")
        folder.path.mkdir()
        prepared = prepare(chosen, tmp_path / "stages", RunProgress(quiet=True))
        folder.write_settings(prepared.settings)
        write_data(folder, prepared)
        ids = [str(name) for name in prepared.train.ids]
        suspects = suspects or {}
        table = pa.table(
            {
                "id": ids,
                "label": [str(prepared.train.classes[k]) for k in prepared.train.y],
                "score": [0.9 if name in suspects else 0.1 for name in ids],
                "suspected": [name in suspects for name in ids],
                "level": [
                    "sure" if name in (sure or ()) else "review" if name in suspects else "" for name in ids
                ],
                "kind": [_kind(suspects, name) for name in ids],
                "suggested": pa.array([suspects.get(name) for name in ids], pa.string()),
            }
        )
        pa.parquet.write_table(table, folder.audit_parquet)
        folder.summary.write_text(json.dumps({}))
        return folder.path

    return make


@pytest.fixture
def plain_run(tmp_path, finished):
    """A finished run of four rows, lines 2 to 5, of which 2 and 5 are suspects."""
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    return finished(data, {"2": "y", "5": None})
