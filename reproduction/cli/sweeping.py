"""A sweep at the command line: its progress line by line, its results, and what is left of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graylearn.errors import DivergedError, SettingsError, counted
from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS
from reproduction.grids import Experiment
from reproduction.options import Options
from reproduction.sweep import Outcome, sweep
from reproduction.units import Failure


def experiment(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        known = f"{', '.join(EXPERIMENTS)}, all or docs"
        raise SettingsError(f"there is no experiment {name!r}; choose from {known}")
    return EXPERIMENTS[name]


def applicable(experiments: Sequence[Experiment], options: Options) -> list[Experiment]:
    """Those that have what was asked for; of several the others are skipped with a line."""
    lacks = {each.name: lack for each in experiments if (lack := each.lacks(options)) is not None}
    left = [each for each in experiments if each.name not in lacks]
    if len(experiments) == 1 and not left:
        raise SettingsError(f"{experiments[0].name} has {lacks[experiments[0].name]}")
    for name, lack in lacks.items():
        typer.echo(f"{name} is skipped: it has {lack}", err=True)
    if not left:
        raise SettingsError(f"none of {', '.join(lacks)} has the datasets, labels and networks asked for")
    return left


def run_all(experiments: Sequence[Experiment], options: Options) -> Iterator[tuple[Experiment, Outcome]]:
    """One sweep after the other, each handed out when it is done; a time limit is that of all together."""
    began = time.monotonic()
    for experiment in experiments:
        own = options
        if options.time_limit is not None:
            own = replace(options, time_limit=max(0.0, options.time_limit - (time.monotonic() - began)))
        yield experiment, run(experiment, own)


def run(experiment: Experiment, options: Options) -> Outcome:
    """Run with a bar on a terminal and a line a finished cell, both on standard error."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(experiment.name, total=None)

        def begin(outcome: Outcome, pending: int) -> None:
            done = len(outcome.cells) - pending - len(outcome.waiting)
            ahead = counted(pending, "cell")
            there = f"{done} in {outcome.store.path} already"
            console.print(f"{experiment.name}: {ahead} to run, {there}", markup=False)
            for needs in dict.fromkeys(outcome.waiting.values()):
                count = sum(text == needs for text in outcome.waiting.values())
                verb = "waits" if count == 1 else "wait"
                console.print(f"{counted(count, 'cell')} {verb}: {needs}", markup=False)
            if outcome.waiting:
                place = options.data or os.environ.get("GRAYLEARN_DATA")
                where = f"{place} has none of these" if place else "no data folder was named"
                console.print(
                    f"{where}: --data FOLDER names it, and `python -m reproduction.datasets` says where "
                    "files come from",
                    markup=False,
                )
            bar.update(task, total=pending)

        def report(row: dict[str, Any] | Failure, number: int, total: int) -> None:
            console.print(f"{number}/{total} {_line(row)}", markup=False)
            bar.update(task, completed=number)

        return sweep(experiment, options, report, begin)


def _line(row: dict[str, Any] | Failure) -> str:
    if isinstance(row, Failure):
        return f"{row.cell}: failed, {row.reason}"
    measured = row["measured"]
    parts = [f"accuracy {measured['accuracy']:.4f}", f"ece {measured['ece']:.4f}"]
    if measured.get("ood_auroc") is not None:
        parts.append(f"ood auroc {measured['ood_auroc']:.3f}")
    if measured.get("audit_flagged") is not None:
        parts.append(f"flagged {measured['audit_flagged']:.3f}")
    if "images_per_second" in measured:
        parts.append(f"{measured['images_per_second']:.0f} images/s")
    return f"{Cell.from_dict(row['cell'])}: {', '.join(parts)}, {measured['seconds']:.1f} s"


def show(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """The table on standard output."""
    if rows:
        from reproduction.show import show as print_table

        print_table(name, rows)


def close(outcomes: Sequence[Outcome]) -> None:
    """Say what is left; a cell that failed makes the command fail."""
    if left := sum(outcome.left for outcome in outcomes):
        typer.echo(f"{left} cells are left for the next run of this command", err=True)
    if failed := [failure for outcome in outcomes for failure in outcome.failed]:
        raise DivergedError(f"{len(failed)} cells failed, the first {failed[0].cell}: {failed[0].reason}")
