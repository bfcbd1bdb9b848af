"""What stands beside a sample: the numbers behind the comparisons, against plain numpy."""

import numpy as np
import pandas as pd
import pytest
from report_tables import make_table

from graylearn.report import ReportData
from graylearn.report.beside import odd_columns
from graylearn.report.payload import build_payload

CLASSES = ("cat", "dog", "owl")


def payload(**fields):
    return build_payload(ReportData(title="Pets", table=make_table(), classes=CLASSES, **fields))


@pytest.mark.parametrize("columns", [3, 40], ids=["by distance", "by direction"])
def test_nearest_and_typical_samples_are_those_of_brute_force(columns):
    x = np.random.default_rng(0).normal(size=(120, columns))
    main, _ = payload(features=x)
    rows = x if columns < 16 else x / np.linalg.norm(x, axis=1, keepdims=True)
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    near = main["beside"]["nearest"]
    assert near["of"] == list(range(60))  # the suspects
    assert np.array(near["index"]).reshape(60, 3).tolist() == np.argsort(apart[:60], axis=1)[:, :3].tolist()
    for k in range(3):
        members = np.array([i for i in range(60, 120) if i % 3 == k])
        centre = rows[members].mean(axis=0)
        closest = members[np.argsort(np.linalg.norm(rows[members] - centre, axis=1))[:3]]
        assert main["beside"]["typical"][k] == closest.tolist()


def test_the_map_is_within_its_frame_and_parts_the_classes():
    rng = np.random.default_rng(0)
    table = make_table(300, 30)
    x = 8.0 * np.eye(3)[np.arange(300) % 3] @ rng.normal(size=(3, 6)) + rng.normal(size=(300, 6))
    found = build_payload(ReportData(title="t", table=table, classes=CLASSES, features=x))[0]["map"]
    assert sorted(found["index"]) == list(range(300))
    assert found["index"][-30:] == list(range(30))  # suspects are drawn last
    where = np.stack([found["x"], found["y"]], axis=1)
    assert where.min() == 0
    assert where.max() == found["extent"]
    label = np.array(found["index"]) % 3
    centres = np.stack([where[label == k].mean(axis=0) for k in range(3)])
    guessed = np.linalg.norm(where[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (guessed == label).mean() > 0.95


def test_odd_are_numbers_and_words_that_repeat_in_a_class_of_some_rows():
    rng, label = np.random.default_rng(0), np.array([0] * 60 + [1] * 60 + [2] * 3)  # 2 is misspelt
    rows = pd.DataFrame(
        {
            "day": np.repeat(pd.date_range("2024-01-01", periods=3).strftime("%Y-%m-%d"), 41),
            "when": pd.Timestamp("2024-01-01"),
            "town": [f"town {k // 3}" for k in range(123)],
            "channel": np.where(label == 1, "store", "web"),
            "weight": rng.normal(size=123),
        }
    )
    rows.loc[[0, 122], ["day", "channel", "weight"]] = "2025-06-30", "phone", 50.0
    rows.loc[0, "when"] = pd.Timestamp("2025-06-30")
    found = odd_columns(rows, label, np.isin(np.arange(123), [0, 120, 121, 122]), 3)
    assert found.of(0) == [[4, "50"], [3, "phone"]]
    assert found.of(122) == []
    assert [middle[:4] for middle in found.middle] == [["", "", "", word] for word in ("web", "store", "")]
    assert [middle[4] != "" for middle in found.middle] == [True, True, False]
