"""Who may write into a run folder, and when."""

import json
from contextlib import suppress
from dataclasses import replace

import pandas as pd
import pytest

from graylearn.data.csv_files import unguarded, write_csv
from graylearn.errors import DataError, FolderTakenError
from graylearn.runs.folder import RunFolder, writing
from graylearn.runs.settings import RunSettings

SETTINGS = RunSettings(data="/a.csv", epochs=3)


def start(path, settings=SETTINGS):
    """A run that read its data and was killed."""
    with writing(path, settings, overwrite=False) as folder:
        folder.data.write_text("{}")
    return folder


def test_what_a_killed_run_was_writing_is_cleared_away(tmp_path):
    start(tmp_path)
    (tmp_path / "stages").mkdir()
    left = [tmp_path / ".graylearn-0123abcd-audit.csv", tmp_path / "stages" / ".graylearn-89ef4567-said.npy"]
    for path in left:
        path.write_text("half")
    with writing(tmp_path, SETTINGS, overwrite=False):
        assert not any(path.exists() for path in left)


def test_cells_that_a_spreadsheet_would_run_are_guarded(tmp_path):
    table = pd.DataFrame(
        {"id": ["=cmd()", "+1", "-x", "@a", "'=b", "\tc", "plain", "+", "-", "'+"], "score": -1.5}
    )
    write_csv(tmp_path / "a.csv", table)
    rows = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert rows == [
        "'=cmd(),-1.5", "+1,-1.5", "'-x,-1.5", "'@a,-1.5", "''=b,-1.5", "'\tc,-1.5", "plain,-1.5",
        "+,-1.5", "-,-1.5", "'+,-1.5",
    ]  # fmt: skip
    again = pd.read_csv(tmp_path / "a.csv", dtype={"id": str})["id"]
    assert [unguarded(cell) for cell in again] == table["id"].tolist()


def test_a_run_that_never_read_its_data_holds_nobody_up(tmp_path):
    with writing(tmp_path, SETTINGS, overwrite=False):
        pass
    other = RunSettings(data="/b.csv")
    with writing(tmp_path, other, overwrite=False) as folder:
        assert folder.settings() == other


def fail(path, stages=(), overwrite=False):
    """A run that is refused before it read its data."""
    with suppress(DataError), writing(path, SETTINGS, overwrite=overwrite) as folder:
        folder.environment.write_text("{}")
        folder.stages.mkdir()
        for name in stages:
            (folder.stages / name).write_text("work")
        raise DataError("no such column")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_that_is_refused_leaves_nothing(tmp_path, overwrite):
    fail(tmp_path / "run", overwrite=overwrite)
    assert not (tmp_path / "run").exists()
    (tmp_path / "there").mkdir()
    fail(tmp_path / "there", overwrite=overwrite)
    assert list((tmp_path / "there").iterdir()) == []


def test_a_run_that_is_refused_leaves_what_took_long(tmp_path):
    fail(tmp_path / "run", ["embeddings"])
    assert (tmp_path / "run" / "stages" / "embeddings").exists()
    started = start(tmp_path / "started")
    with (
        pytest.raises(DataError, match="the test set is gone"),
        writing(tmp_path / "started", SETTINGS, overwrite=False),
    ):
        raise DataError("the test set is gone")
    assert started.is_started


def test_a_finished_run_stays_unless_overwritten(tmp_path):
    start(tmp_path)
    (tmp_path / "mine.txt").write_text("not graylearn's")
    with writing(tmp_path, SETTINGS, overwrite=False) as folder:
        folder.finish({"found": 1})
    with (
        pytest.raises(FolderTakenError, match=r"finished.*--overwrite"),
        writing(tmp_path, SETTINGS, overwrite=False),
    ):
        pass
    assert json.loads(folder.summary.read_text()) == {"found": 1}
    with writing(tmp_path, SETTINGS, overwrite=True):
        assert not folder.is_finished
        assert not folder.data.exists()
        assert (tmp_path / "mine.txt").exists()


def files_of(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def finished(path):
    with writing(path, SETTINGS, overwrite=False) as folder:
        folder.data.write_text("{}")
        folder.model.mkdir()
        (folder.model / "weights").write_text("old")
        folder.finish({"found": 1})
    return files_of(path)


@pytest.mark.parametrize("error", [DataError, KeyboardInterrupt])
def test_a_finished_run_is_kept_until_the_new_one_has_read_its_data(tmp_path, error):
    before = finished(tmp_path)
    other = RunSettings(data="/a.csv", epochs=9)
    with suppress(error), writing(tmp_path, other, overwrite=True):
        assert not RunFolder(tmp_path).is_finished
        raise error("no column 'lable'")
    after = files_of(tmp_path)
    assert {name: text for name, text in after.items() if name != ".lock"} == {
        name: text for name, text in before.items() if name != ".lock"
    }


def test_a_finished_run_is_gone_once_the_new_one_has_read_its_data(tmp_path):
    finished(tmp_path)
    other = RunSettings(data="/a.csv", epochs=9)
    with suppress(DataError), writing(tmp_path, other, overwrite=True) as folder:
        folder.data.write_text("{}")
        raise DataError("later")
    assert not (tmp_path / ".graylearn-replaced").exists()
    assert (folder.settings().epochs, folder.model.exists(), folder.is_finished) == (9, False, False)


def test_a_run_on_private_data_makes_the_folder_of_a_public_one_private(tmp_path):
    run, data = tmp_path / "run", tmp_path / "private.csv"
    run.mkdir(mode=0o755)
    run.chmod(0o755)
    finished(run)
    data.write_text("a,label\n1,x\n")
    data.chmod(0o600)
    with writing(run, replace(SETTINGS, data=str(data)), overwrite=True):
        pass
    assert run.stat().st_mode & 0o077 == 0


def test_a_run_that_stood_aside_comes_back_after_a_kill(tmp_path):
    before = finished(tmp_path)
    folder = RunFolder(tmp_path)
    folder._set_aside()
    folder.write_settings(RunSettings(data="/a.csv", epochs=9))  # and then the machine went down
    with (
        pytest.raises(FolderTakenError, match="a finished run of these settings"),
        writing(tmp_path, SETTINGS, overwrite=False),
    ):
        pass
    assert files_of(tmp_path) == before


def test_a_finished_run_is_told_with_its_label(tmp_path, plain_run):
    settings = RunSettings(data=str(tmp_path / "a.csv"))
    told = "holds a finished run with labels from column 'label'"
    with pytest.raises(FolderTakenError, match=told), writing(plain_run, settings, overwrite=False):
        pass
