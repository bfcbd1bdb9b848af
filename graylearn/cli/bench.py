"""`graylearn bench NAME`: a table or figure of the paper, measured again."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graylearn.bench import EXPERIMENTS, Cell, Experiment, Options
from graylearn.bench.sweep import Outcome, sweep
from graylearn.bench.units import Failure
from graylearn.errors import DataError, DivergedError, SettingsError

_WHAT, _HOW, _OUT = "What to run", "How to run it", "What comes out"


def _option(*names: str, panel: str, help: str, default: str | bool = False) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=default)


def bench(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"{', '.join(EXPERIMENTS)}; or docs.", show_default=False),
    ],
    methods: Annotated[
        str | None,
        _option(
            "--methods",
            panel=_WHAT,
            help="Methods, with commas; oracle, gl, gl-label and gl+refine join them.",
        ),
    ] = None,
    only: Annotated[bool, _option("--only", panel=_WHAT, help="Run exactly the --methods named.")] = False,
    datasets: Annotated[
        str | None, _option("--datasets", panel=_WHAT, help="Datasets, with commas: cifar10,tiny-imagenet.")
    ] = None,
    labels: Annotated[
        str | None, _option("--labels", panel=_WHAT, help="Of OOD samples: specific, random or both.")
    ] = None,
    alphas: Annotated[
        str | None, _option("--alphas", panel=_WHAT, help="Shares of OOD samples, with commas: 0.05,0.2,0.5.")
    ] = None,
    seeds: Annotated[
        str | None, _option("--seeds", panel=_WHAT, help="Seeds for every cell: 0,1,2 or 0-9.")
    ] = None,
    protocol: Annotated[
        str,
        _option(
            "--protocol",
            panel=_WHAT,
            default=True,
            help="Of tables: paper, released (the authors' code), tuned (scaled features, epochs chosen by "
            "validation); several with commas.",
        ),
    ] = "paper",
    epochs_scale: Annotated[
        float, _option("--epochs-scale", panel=_WHAT, default=True, help="A factor on all epochs.")
    ] = 1.0,
    epochs: Annotated[int | None, _option("--epochs", panel=_WHAT, help="Epochs of every cell.")] = None,
    batch_size: Annotated[int | None, _option("--batch-size", panel=_WHAT, help="Samples a step.")] = None,
    train_size: Annotated[
        int | None,
        _option("--train-size", panel=_WHAT, help="In-distribution training samples, a stratified part."),
    ] = None,
    quick: Annotated[
        bool, _option("--quick", panel=_WHAT, help="A small form on data that is always there, in seconds.")
    ] = False,
    data: Annotated[
        Path | None, _option("--data", panel=_HOW, help="The data folder; else what GRAYLEARN_DATA names.")
    ] = None,
    device: Annotated[
        str | None, _option("--device", panel=_HOW, help="Where images are trained: cuda, cuda:1, cpu.")
    ] = None,
    workers: Annotated[
        int, _option("--workers", panel=_HOW, default=True, help="Units of work at once.")
    ] = 1,
    backend: Annotated[
        str,
        _option("--backend", panel=_HOW, default=True, help="Where they run: processes, dask or ray."),
    ] = "processes",
    address: Annotated[
        str | None,
        _option(
            "--address", panel=_HOW, help="Of a Dask scheduler or Ray cluster; else one is started here."
        ),
    ] = None,
    time_limit: Annotated[
        float | None, _option("--time-limit", panel=_HOW, help="Seconds after which no cell is started.")
    ] = None,
    refresh: Annotated[
        bool, _option("--refresh", panel=_HOW, help="Run also what the store has already.")
    ] = False,
    store: Annotated[
        Path | None, _option("--store", panel=_OUT, help="The results store; else results/NAME.jsonl.")
    ] = None,
    out: Annotated[
        Path | None,
        _option(
            "--out", "-o", panel=_OUT, help="A folder for the tables (.md .csv .tex) and figures (.png .svg)."
        ),
    ] = None,
    as_json: Annotated[
        bool, _option("--json", panel=_OUT, help="The results as JSON lines on stdout.")
    ] = False,
    check: Annotated[
        bool, _option("--check", panel=_OUT, help="Of docs: write nothing, fail where a page would change.")
    ] = False,
) -> None:
    """Measure a table or figure of the paper again; what the store has is not run twice.

    Whatever ends a sweep, a kill or an empty battery, the same command goes on where it was.

    Examples:

      graylearn bench table2 --quick

      graylearn bench table2 --data ~/data --seeds 0-9 --workers 2 --protocol paper,released,tuned

      graylearn bench table1 --data ~/data --device cuda --epochs-scale 0.3 --time-limit 3000 --out table1

      graylearn bench alpha --data ~/data --backend dask --address tcp://10.0.0.1:8786 --workers 8

      graylearn bench docs --check
    """  # fmt: skip
    if name == "docs":
        _docs(check)
        return
    if check:
        raise SettingsError("--check is for `graylearn bench docs`")
    options = Options(
        methods=_listed(methods),
        only=only,
        datasets=_listed(datasets),
        labels=_listed(labels),
        alphas=_shares(alphas),
        seeds=_numbers(seeds),
        protocol=_listed(protocol) or (),
        epochs_scale=epochs_scale,
        epochs=epochs,
        batch_size=batch_size,
        train_size=train_size,
        quick=quick,
        data=data,
        device=device,
        workers=workers,
        backend=cast("Literal['processes', 'dask', 'ray']", backend),
        address=address,
        store=store,
        time_limit=time_limit,
        refresh=refresh,
    )
    outcome = _sweep(_experiment(name), options)
    rows = outcome.rows()
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
    else:
        _show(name, rows)
    if out is not None:
        _write(name, rows, out)
    _close(outcome)


def _experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise SettingsError(f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}, or docs")
    return EXPERIMENTS[name]


def _listed(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _shares(text: str | None) -> tuple[float, ...] | None:
    """(0.05, 0.2) of "0.05,0.2"."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--alphas is {text!r}, expected numbers with commas: 0.05,0.2,0.5") from None


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """(0, 1, 2, 5) of "0-2,5"."""
    found: list[int] = []
    for part in _listed(text) or ():
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise SettingsError(f"--seeds is {text!r}; expected whole numbers: 0,1,2 or 0-9")
        found += range(int(first), int(last if dash else first) + 1)
    return tuple(found) or None


def _sweep(experiment: Experiment, options: Options) -> Outcome:
    """Run with a bar on a terminal and a line a finished cell, both on standard error."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(experiment.name, total=None)

        def begin(outcome: Outcome, pending: int) -> None:
            done = len(outcome.cells) - pending - len(outcome.waiting)
            console.print(
                f"{experiment.name}: {pending} cells to run, {done} in {outcome.store.path} already"
            )
            for needs in dict.fromkeys(outcome.waiting.values()):
                count = sum(text == needs for text in outcome.waiting.values())
                console.print(f"{count} cells wait: {needs}", markup=False)
            bar.update(task, total=pending)

        def report(row: dict[str, Any] | Failure, number: int, total: int) -> None:
            console.print(f"{number}/{total} {_line(row)}", markup=False)
            bar.update(task, completed=number)

        try:
            return sweep(experiment, options, report, begin)
        except KeyboardInterrupt:
            again = shlex.join(["graylearn", *sys.argv[1:]])
            console.print(f"stopped; what is done is kept, go on with: {again}", markup=False)
            raise


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


def _show(name: str, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        from graylearn.bench.output import present  # late: figures ask for matplotlib

        present(name, rows)


def _write(name: str, rows: Sequence[dict[str, Any]], folder: Path) -> None:
    if not rows:
        raise DataError(f"{name} has no results yet, so there is nothing to write to {folder}")
    from graylearn.bench.output import write

    for path in write(name, rows, folder):
        typer.echo(str(path), err=True)


def _close(outcome: Outcome) -> None:
    """Say what is left; a cell that failed makes the command fail."""
    if outcome.left:
        typer.echo(f"{outcome.left} cells are left for the next run of this command", err=True)
    if outcome.failed:
        first = outcome.failed[0]
        raise DivergedError(f"{len(outcome.failed)} cells failed, the first {first.cell}: {first.reason}")


def _docs(check: bool) -> None:
    """Make docs/reproduction.md and its figures from results/."""
    from graylearn.bench.reproduction import write as page

    if check:
        if different := page.check():
            raise DataError(
                f"{', '.join(different)} would change; run `graylearn bench docs` and commit what it writes"
            )
        return
    for path in page.update():
        typer.echo(str(path))
