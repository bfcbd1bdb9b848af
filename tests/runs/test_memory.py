"""What is told before data are read that may be too large for the memory."""

import numpy as np
import pandas as pd
import pytest

from graylearn.runs import RunProgress, RunSettings, memory, run


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    y = np.arange(120) % 2
    frame = pd.DataFrame(random.normal(size=(120, 9)) + y[:, None]).rename(columns=str).assign(label=y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    return tmp_path / "rows.parquet"


def test_a_run_that_may_not_fit_says_so_and_names_part_size(table, tmp_path, monkeypatch, capsys):
    settings = RunSettings(data=str(table), command="audit", epochs=1, device="cpu")
    whole = memory.expected_bytes(table, 64)
    numbers = 8 * 120 * 10
    assert 5 * numbers + 3_500 * 120 <= whole < 10 * numbers + 3_500 * 120
    for free in (2 * whole, None):
        monkeypatch.setattr(memory, "free_bytes", lambda free=free: free)
        assert memory.tight(settings) is None
    monkeypatch.setattr(memory, "free_bytes", lambda: 3 << 30)
    monkeypatch.setattr(memory, "A_ROW", 1 << 26)
    run(settings, tmp_path / "run", progress=RunProgress())
    assert (
        "rows.parquet is held in memory as a whole, about 7.5 GB with what is made of it, "
        "where 3.0 GB are free: --part-size 100000 takes a part at a time"
    ) in " ".join(capsys.readouterr().err.split())
    few = tmp_path / "few.feather"
    pd.read_parquet(table).to_feather(few)
    monkeypatch.setattr(memory, "free_bytes", lambda: 1)
    assert "a part at a time, of Parquet" in str(memory.tight(RunSettings(data=str(few))))
