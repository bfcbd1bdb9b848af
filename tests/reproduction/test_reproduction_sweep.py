"""Sweeps: what is done is not done twice, whatever ended the last one, and where it runs changes nothing."""

import dataclasses

import numpy as np
import pytest

from reproduction import sweep, tables
from reproduction.grids import Experiment, Grid, Schedule, Source
from reproduction.options import Options
from reproduction.units import Failure

SMALL = Experiment(
    name="small",
    title="small",
    grids=(
        Grid("table", (Source("iris"),), ("standard", "gl", "spl"), seeds=(0, 1, 5)),
        Grid(
            "image", (Source("digits/8", "other-classes"),), ("standard", "gl", "gl+refine"),
            nets=("small_cnn-8",), schedules=(Schedule("paper", 1, 32),), train_size=100,
        ),
    ),
    quick=(),
)  # fmt: skip


def run(experiment, store, **options):
    return sweep.sweep(experiment, Options(store=store, **options))


def numbers(rows):
    """What was measured of each cell, less what the clock says."""
    clocks = ("seconds", "images_per_second")
    return {
        row["key"]: {name: value for name, value in row["measured"].items() if name not in clocks}
        for row in rows
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The small experiment in one process: what every other way must give."""
    outcome = run(SMALL, tmp_path_factory.mktemp("alone") / "small.jsonl")
    assert outcome.ran == len(outcome.cells) == len(outcome.rows()) == 12
    return outcome


def test_a_second_sweep_runs_nothing_and_a_new_setting_runs_anew(alone):
    before = alone.store.path.read_bytes()
    again = run(SMALL, alone.store.path)
    assert (again.ran, again.left) == (0, 0)
    assert alone.store.path.read_bytes() == before
    outcome = sweep.sweep(SMALL, Options(store=alone.store.path, epochs=2, time_limit=0.0))
    assert outcome.left == 12  # none of the old results serves, and no cell may start


def test_two_processes_give_the_same_numbers(alone, tmp_path):
    outcome = run(SMALL, tmp_path / "small.jsonl", workers=2)
    assert numbers(outcome.rows()) == numbers(alone.rows())


def test_a_cell_that_diverges_fails_alone(tmp_path, monkeypatch):
    rows = tables._rows.__wrapped__

    def huge(cell, folder):
        made = rows(cell, folder)
        x = np.full_like(made.x, 3e38) if cell.seed == 1 else made.x
        return dataclasses.replace(made, x=x)

    monkeypatch.setattr(tables, "_rows", huge)
    only = Experiment("small", "s", (Grid("table", (Source("iris"),), ("standard",), seeds=(0, 1, 2)),), ())
    heard = []
    outcome = sweep.sweep(only, Options(store=tmp_path / "s.jsonl"), lambda *news: heard.append(news))
    assert [row["cell"]["seed"] for row in outcome.rows()] == [0, 2]
    assert [failure.cell.seed for failure in outcome.failed] == [1]
    assert "NaN or infinite" in outcome.failed[0].reason
    assert [(number, total) for _, number, total in heard] == [(1, 3), (2, 3), (3, 3)]
    assert isinstance(heard[1][0], Failure)
