"""Finished run folders made without training anything."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from graylearn.runs.folder import RunFolder
from graylearn.runs.prepare import prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.results import Found, write_verdicts
from graylearn.runs.settings import RunSettings


@pytest.fixture
def finished(tmp_path):
    """Make a finished run of `data`, whose suspects and suggestions are given by hand."""

    def make(data, suspects=None, sure=None, **settings):
        chosen = RunSettings(data=str(data), **settings)
        folder = RunFolder(tmp_path / "run")
        folder.path.mkdir()
        prepared = prepare(chosen, tmp_path / "stages", RunProgress(quiet=True))
        folder.write_settings(prepared.settings)
        folder.write_source(prepared)
        train, suspects = prepared.train, suspects or {}
        names, classes = [str(name) for name in train.ids], [str(label) for label in train.classes]
        is_suspect = np.array([name in suspects for name in names])
        levels = [0 if name not in suspects else 2 if name in (sure or ()) else 1 for name in names]
        other = [suspects.get(name) for name in names]
        suggested = np.array([-1 if label is None else classes.index(label) for label in other])
        score = np.where(is_suspect, 0.9, 0.1)
        found = {
            "label": train.y,
            "confidence": 1 - score,
            "score": score,
            "suspected": is_suspect,
            "level": np.array(levels),
            "kind": np.where(~is_suspect, 0, np.where(suggested < 0, 2, 1)),
            "suggested": np.where(is_suspect, suggested, train.y),
            "because": np.full(len(train), "", dtype=object),
        }
        fitted = SimpleNamespace(audit=SimpleNamespace(classes=train.classes, because=found["because"]))
        write_verdicts(folder, Found(prepared, fitted, found, {}, {}, None, {}), lambda _: None)
        folder.summary.write_text(json.dumps({}))
        return folder.path

    return make


@pytest.fixture
def plain_run(tmp_path, finished):
    """A finished run of four rows, lines 2 to 5, of which 2 and 5 are suspects."""
    data = tmp_path / "a.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    return finished(data, {"2": "y", "5": None})
