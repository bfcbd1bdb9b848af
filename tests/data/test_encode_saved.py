"""TableEncoder: a trip through JSON loses nothing, and what is damaged or foreign is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from hand_made_frame import FRAME

from graylearn.data.encode import TableEncoder
from graylearn.errors import CheckpointError


def awkward_frame(rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "tiny": rng.normal(size=rows) * 1e-300,
            "third": rng.integers(0, 9, rows) / 3,
            "huge": rng.normal(size=rows) * 1e300,
            "word": rng.choice(["é", '"', "a,b", "\n", "日本", ""], rows),
            "place": [f"place {n % 60}" for n in range(rows)],
            "flag": rng.random(rows) < 0.5,
            "day": pd.Timestamp("2020-02-29") + pd.to_timedelta(rng.integers(0, 10**9, rows), unit="s"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1)


def test_the_same_transform_after_a_trip_through_json():
    frame = awkward_frame()
    encoder = TableEncoder(limit=7.5, max_categories=12, id_like="drop").fit(frame)
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    np.testing.assert_array_equal(loaded.transform(frame), encoder.transform(frame))
    assert loaded.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert loaded.get_params() == encoder.get_params()


def test_foreign_and_contradictory_content():
    saved = TableEncoder().fit(FRAME).to_json()
    for change in (
        {"kinds": None},
        {"kinds": {"size": "number"}},
        {"kinds": {"size": "magic"}},
        {"numbers": {}},
        {"settings": {"x": 1}},
        {"categories": {"colour": {"values": [], "hashed": 2_000_000_000}}},
    ):
        with pytest.raises(CheckpointError, match="cannot be used"):
            TableEncoder.from_json(saved | change)
