"""Slices: where suspects gather is told, and chance is not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import fisher_exact

from graylearn.audit.slices import sentences, slices
from graylearn.errors import DataError


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "camera": random.choice(["front", "rear", "side"], 600),
            "noise": random.choice(list("abcdefgh"), 600),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 180, 600), "D"),
            "size": random.normal(size=600),
        }
    )
    bad = random.random(600) < np.where(frame["camera"] == "rear", 0.4, 0.03)
    return frame, bad


def test_the_slice_with_the_suspects_is_told(rows):
    frame, bad = rows
    found = slices(bad, frame, [f"{camera}/{n}.jpg" for n, camera in enumerate(frame["camera"])])
    assert {(row["column"], row["value"]) for row in found.to_dict("records")} == {
        ("camera", "rear"),
        ("folder", "rear"),
    }
    assert slices(bad, pl.from_pandas(frame)).equals(slices(bad, frame))
    rear = frame["camera"] == "rear"
    table = [[(rear & bad).sum(), (rear & ~bad).sum()], [(~rear & bad).sum(), (~rear & ~bad).sum()]]
    alone = fisher_exact(table, alternative="greater").pvalue
    tests = 3 + 8 + 6 + 4 + 3  # values of all columns
    assert found["p"][0] == pytest.approx(alone * tests)
    (told,) = sentences(found, bad.mean(), most=1)
    assert told.startswith("suspects gather where camera is 'rear': ")


def test_chance_is_rarely_told(rows):
    frame, bad = rows
    random = np.random.default_rng(1)
    told = [len(slices(random.permutation(bad), frame)) > 0 for _ in range(40)]
    assert sum(told) <= 3
    with pytest.raises(DataError, match="there are 3 verdicts for 600 rows"):
        slices([True, False, True], frame)


def test_columns_of_lists_have_no_slices(rows):
    frame, bad = rows
    assert slices(bad, frame.assign(tags=[["a"]] * len(frame))).equals(slices(bad, frame))


def test_infinite_values_are_in_the_outer_quarters(rows):
    frame, _ = rows
    size = frame["size"].where(frame["size"] < 1.5, np.inf).where(frame["size"] > -1.5, -np.inf)
    (first,) = slices(size == np.inf, pd.DataFrame({"size": size})).to_dict("records")
    assert first["suspects"] == (size == np.inf).sum()


def test_columns_of_one_name_each_count(rows):
    frame, bad = rows
    folders = [f"{name}/{n}.jpg" for n, name in enumerate(frame["noise"])]
    both = frame[["camera", "noise"]].set_axis(["folder", "folder"], axis=1)
    found = slices(bad, both, folders)
    assert found[["column", "value"]].to_numpy().tolist() == [["folder", "rear"]]
