"""The pages of measurements show what the results hold, no more and no less."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import lab_tables  # noqa: E402


@pytest.mark.parametrize("script", ["tables.py", "audit_tables.py", "refine_tables.py"])
def test_the_tables_are_made_from_the_results(script):
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / script, "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", lab_tables.PAGES)
def test_the_tables_of_the_lab_book_are_made_from_the_results(name):
    page = (lab_tables.LAB / name).read_text(encoding="utf-8")
    assert "<!-- table: " in page
    assert lab_tables.filled(page, lab_tables.PAGES[name]) == page


def test_a_table_is_the_mean_over_seeds():
    values = {"a": {"x": [1.0, 2.0], "y": [4.0]}, "b": {"x": [3.0]}}
    made = lab_tables.table(values, ["x", "y", "z"], "{:.1f}").splitlines()
    assert made[0] == "|  | x (2) | y (1) | mean |"
    assert made[2:] == ["| a | 1.5 | 4.0 | 1.5 |", "| b | 3.0 | - | 3.0 |"]  # the mean: of what both have
