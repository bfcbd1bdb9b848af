"""`graylearn tasks`: the suspects of a run for Label Studio or FiftyOne."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from graylearn.cli import options as flags


def tasks(
    run: flags.Run,
    *,
    out: Annotated[
        Path,
        flags.path_flag(
            "--out",
            "-o",
            help="The tasks, a .json file, with the interface beside it (.xml); for FiftyOne a folder.",
        ),
    ],
    tool: Annotated[
        Literal["label-studio", "fiftyone"], typer.Option("--tool", help="What they are written for.")
    ] = "label-studio",
    as_json: flags.AsJson = False,
) -> None:
    """Write the suspects for Label Studio or FiftyOne, with what they look like as predictions.

    What people decide there comes back as the JSON that either exports: graylearn apply takes it.

    Examples:

      graylearn tasks run --out tasks.json

      graylearn apply run export.json --out clean.csv

      graylearn tasks run --tool fiftyone --out suspects/
    """
    from graylearn.errors import counted
    from graylearn.runs.tasks import write_tasks

    done = write_tasks(run, out, tool)
    told = f"{counted(done['tasks'], 'task')} written to {out}"
    if not done["tasks"]:
        told += ": nothing is flagged, and the report lists what to look at first"
    typer.echo(json.dumps(done) if as_json else told)
