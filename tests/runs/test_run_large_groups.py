"""Groups in sets larger than memory: dealt as they belong together, and gone on with."""

import numpy as np
import pandas as pd
import pytest

from graylearn.audit import parts
from graylearn.errors import DataError
from graylearn.runs import RunProgress, RunSettings, large, large_fit, run

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
    opened = large.open_large(settings, QUIET)
    dealing = parts.Dealing.of(list(opened.counts.values()), settings.part_size, settings.seed)
    files = parts.PartFiles(folder, dealing.parts)
    large.deal(opened, dealing, files, QUIET)
    return files


def test_a_video_lies_in_one_part(data, tmp_path):
    folder, frame = data
    files = dealt(settings_of(folder), tmp_path / "parts")
    part_of = {}
    for part in files.having("rows"):
        rows, groups = parts.rows_of(part), parts.groups_of(part)
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


def test_what_a_kill_left_half_written_is_cut_off(data, tmp_path, monkeypatch):
    settings, deal = settings_of(data[0]), parts.PartFiles.deal
    whole = dealt(settings, tmp_path / "whole")

    def stops(self, state, end, *given):
        deal(self, state, end, *given)
        with (self.part(0) / "groups").open("ab") as file:
            file.write(b"half a bl")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(parts.PartFiles, "deal", stops)
        with pytest.raises(KeyboardInterrupt):
            dealt(settings, tmp_path / "stopped")
    again = dealt(settings, tmp_path / "stopped")
    for one, other in zip(whole.having("rows"), again.having("rows"), strict=True):
        for name in ("rows", "label", "groups", "features"):
            assert (one / name).read_bytes() == (other / name).read_bytes()


def test_parts_are_audited_by_their_groups(data, tmp_path, monkeypatch):
    seen, real = [], parts.audit

    def noted(samples, **options):
        seen.append(samples.groups)
        return real(samples, **options)

    monkeypatch.setattr(parts, "audit", noted)
    summary = run(settings_of(data[0]), tmp_path / "run", progress=QUIET)
    assert summary["samples"] == ROWS
    assert sum(map(len, seen)) == ROWS
    assert len(np.unique(np.concatenate(seen))) == 60 + 10, "a number is a video in all parts"


def test_groups_too_large_for_the_parts_are_refused_before_they_are_encoded(tmp_path):
    video = np.repeat(np.arange(4), 150)
    frame = pd.DataFrame({"a": np.arange(600.0), "label": np.array(["x", "y"])[video % 2], "video": video})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"of 4 parts would hold one class alone.*part_size=600 or more"):
        run(settings_of(tmp_path, part_size=150), tmp_path / "run", progress=QUIET)
    assert not (tmp_path / "run" / "stages" / "parts").exists()
    assert run(settings_of(tmp_path, part_size=600), tmp_path / "one", progress=QUIET)["samples"] == 600


def test_a_fit_keeps_whole_groups_back(data, tmp_path):
    folder, _ = data
    summary = run(settings_of(folder, command="fit"), tmp_path / "run", progress=QUIET)
    assert summary["samples"] == ROWS
    groups, label = np.repeat(np.arange(40), 10), np.arange(400) % 3
    belong = np.flatnonzero(np.arange(400) % 10 != 7)
    new = large_fit._kept_back(belong, label, groups, 30)
    assert len(new) == 27
    assert np.isin(new, belong).all()
    assert len(np.intersect1d(groups[new], groups[np.setdiff1d(belong, new)])) == 0
    assert len(large_fit._kept_back(belong, label, groups, 8)) == 0, "no group is so small"
    few = np.where(np.isin(np.arange(400), new[:20]), 3, label)  # nobody else bears this label
    assert set(few[large_fit._kept_back(belong, few, groups, 30)]) <= {0, 1, 2}
