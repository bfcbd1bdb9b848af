"""`python -m reproduction NAME`: a table or figure of the paper, measured again."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from typer.core import TyperCommand

from graylearn.cli.errors import said
from graylearn.cli.main import start
from graylearn.errors import DataError, SettingsError

NAMES = (
    "table1",
    "table2",
    "alpha",
    "sources",
    "architectures",
    "calibration",
    "ablation",
    "regimes",
    "human",
)
"""The keys of EXPERIMENTS, here because the help names them and needs nothing else of it."""


class _Said(TyperCommand):
    """The command; whatever it raises is said in one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with said():
            return super().invoke(ctx)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")

_WHAT, _HOW, _OUT = "What to run", "How to run it", "What comes out"


def _option(*names: str, panel: str, help: str, default: str | bool = False) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=default)


@app.command(cls=_Said)
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=f"{', '.join(NAMES)}; several with commas, or all; or docs.",
            show_default=False,
        ),
    ],
    methods: Annotated[
        str | None,
        _option(
            "--methods",
            panel=_WHAT,
            help="Methods, with commas; standard, oracle, gl, gl-label and gl+refine join them.",
        ),
    ] = None,
    only: Annotated[bool, _option("--only", panel=_WHAT, help="Run exactly the --methods named.")] = False,
    datasets: Annotated[
        str | None, _option("--datasets", panel=_WHAT, help="Datasets, with commas: cifar10,tiny-imagenet.")
    ] = None,
    labels: Annotated[
        str | None,
        _option(
            "--labels",
            panel=_WHAT,
            help="Of OOD samples: specific, random or both; of people: aggregate, worst.",
        ),
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
    preset: Annotated[
        str | None,
        _option("--preset", panel=_WHAT, help="How images are trained: paper, paper-warm or fast."),
    ] = None,
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
    keep: Annotated[
        Path | None,
        _option(
            "--keep",
            panel=_OUT,
            help="A folder for what image cells said of every sample; docs takes its means in.",
        ),
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

      python -m reproduction table2 --quick

      python -m reproduction table2 --data ~/data --seeds 0-9 --workers 2 --protocol paper,released,tuned

      python -m reproduction table1 --data ~/data --device cuda --epochs-scale 0.3 --time-limit 3000 --out out

      python -m reproduction alpha --data ~/data --backend dask --address tcp://10.0.0.1:8786 --workers 8

      python -m reproduction all --data ~/data --device cuda --out paper

      python -m reproduction docs --check
    """  # fmt: skip
    if name == "docs":
        _docs(check, keep)
        return
    if check:
        raise SettingsError("--check is for `python -m reproduction docs`")
    from reproduction.cli import sweeping
    from reproduction.options import Options

    options = Options(
        methods=_listed("--methods", methods),
        only=only,
        datasets=_listed("--datasets", datasets),
        labels=("specific", "random") if labels == "both" else _listed("--labels", labels),
        alphas=_shares(alphas),
        seeds=_numbers(seeds),
        protocol=_listed("--protocol", protocol) or (),
        epochs_scale=epochs_scale,
        epochs=epochs,
        preset=preset,
        batch_size=batch_size,
        train_size=train_size,
        quick=quick,
        data=data,
        device=device,
        workers=workers,
        backend=cast("Literal['processes', 'dask', 'ray']", backend),
        address=address,
        store=store,
        keep=keep,
        time_limit=time_limit,
        refresh=refresh,
    )
    names = NAMES if name == "all" else _parts(name) or (name,)
    asked = sweeping.applicable([sweeping.experiment(each) for each in names], options)
    sweeping.check_places(asked, options, out)
    outcomes = []
    for experiment, outcome in sweeping.run_all(asked, options):
        rows = outcome.rows()
        if as_json:
            for row in rows:
                typer.echo(json.dumps(row))
        else:
            sweeping.show(experiment.name, rows)
        if out is not None and (rows or len(asked) == 1):
            sweeping.write(experiment.name, rows, out)
        outcomes.append(outcome)
    sweeping.close(outcomes)


def main() -> None:
    """Run the command with the words of this process."""
    start(app, "python -m reproduction")


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _listed(flag: str, text: str | None) -> tuple[str, ...] | None:
    """("mae", "gl") of "mae,gl"; a flag that names nothing is refused, for it would stand for all."""
    if text is None:
        return None
    if parts := _parts(text):
        return parts
    raise SettingsError(f"{flag} is {text!r}; expected names with commas")


def _shares(text: str | None) -> tuple[float, ...] | None:
    """(0.05, 0.2) of "0.05,0.2"."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"--alphas is {text!r}, expected numbers with commas: 0.05,0.2,0.5") from None


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """(0, 1, 2, 5) of "0-2,5"."""
    if text is None:
        return None
    ranges = [_range(part) for part in _parts(text)]
    if not ranges or not all(ranges):
        raise SettingsError(
            f"--seeds is {text!r}; expected whole numbers, or ranges from low to high: 0,1,2 or 0-9"
        )
    return tuple(itertools.chain(*ranges))


def _range(part: str) -> range:
    """The numbers of "3" or "0-9"; none where it is neither."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", part, re.ASCII)
    return range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)


def _docs(check: bool, kept: Path | None) -> None:
    """Make docs/lab/reproduction.md and its figures from results/; histories that were kept come first."""
    from reproduction.page import memory
    from reproduction.page import write as page
    from reproduction.page.generate import RESULTS

    if check:
        if different := page.check():
            raise DataError(
                f"{', '.join(different)} would change; "
                "run `python -m reproduction docs` and commit what it writes"
            )
        return
    for key in memory.take_in(kept, RESULTS) if kept is not None else ():
        typer.echo(f"{key} taken into {memory.FILE}")
    for path in page.update():
        typer.echo(str(path))
