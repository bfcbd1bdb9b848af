"""Groups in sets larger than memory: dealt as they belong together, and gone on with."""

import numpy as np
import pandas as pd
import pytest

from graylearn.audit import parts
from graylearn.errors import DataError
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs import find as finding
from graylearn.runs.prepare import prepare

ROWS, QUIET = 600, RunProgress(quiet=True)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two Parquet files that are one table, in which videos go from one to the other."""
    folder = tmp_path_factory.mktemp("videos")
    random = np.random.default_rng(0)
    video = random.integers(0, 60, ROWS)
    y = video % 2
    x = 4 * np.eye(2, 3)[y] + random.normal(size=(ROWS, 3))
    frame = pd.DataFrame(x, columns=list("abc")).assign(label=np.array(["cat", "dog"])[y], video=video)
    frame["video"] = frame["video"].astype("Int64").mask(frame.index >= 590)
    for number in range(2):
        frame.iloc[300 * number : 300 * (number + 1)].to_parquet(folder / f"{number}.parquet")
    return folder, frame


def settings_of(folder, **others):
    given = {"command": "audit", "part_size": 200, "epochs": 1, "device": "cpu", "group": "video"}
    return RunSettings(data=str(folder / "*.parquet"), **(given | others))


def dealt(settings, folder):
    """The parts of the data, after their samples were dealt."""
    opened = prepare(settings, folder, QUIET)
    dealing = parts.Dealing.of(opened.counts, settings.part_size, settings.seed)
    files = parts.PartFiles(folder, dealing.parts)
    finding.deal(opened, opened.blocks, dealing, files, QUIET)
    return files


def test_a_video_lies_in_one_part(data, tmp_path):
    folder, frame = data
    files = dealt(settings_of(folder), tmp_path / "parts")
    part_of = {}
    for part in files.having("rows"):
        rows, groups = parts.of_part(part, "rows"), parts.of_part(part, "groups")
        videos = frame["video"].iloc[rows]
        assert (
            pd.factorize(groups)[0].tolist()
            == pd.factorize(videos.fillna(-1) - (videos.isna() * rows))[0].tolist()
        )
        for video in videos.dropna().unique():
            assert part_of.setdefault(video, part.name) == part.name
    assert len(part_of) == 60
    assert len(set(part_of.values())) == 3
    alone = dealt(settings_of(folder, group=None, without=("video",)), tmp_path / "alone")
    assert not alone.having("groups")


def test_groups_too_large_for_the_parts_are_refused_before_they_are_encoded(tmp_path):
    video = np.repeat(np.arange(4), 150)
    frame = pd.DataFrame({"a": np.arange(600.0), "label": np.array(["x", "y"])[video % 2], "video": video})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"of 4 parts would hold one class alone.*part_size=600 or more"):
        run(settings_of(tmp_path, part_size=150), tmp_path / "run", progress=QUIET)
    assert not (tmp_path / "run" / "stages" / "parts").exists()
    assert run(settings_of(tmp_path, part_size=600), tmp_path / "one", progress=QUIET)["samples"] == 600
