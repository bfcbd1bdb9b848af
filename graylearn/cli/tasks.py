"""`graylearn tasks`: the suspects of a run for Label Studio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graylearn.cli import options as flags


def tasks(
    run: Annotated[Path, typer.Argument(help="A run folder of graylearn fit or audit.", show_default=False)],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The tasks, a .json file; the interface is put beside it (.xml)."),
    ],
    as_json: flags.AsJson = False,
) -> None:
    """Write the suspects as tasks of Label Studio, with what they look like as predictions.

    What people decide there comes back as the JSON that Label Studio exports: graylearn apply takes it.

    Examples:

      graylearn tasks run --out tasks.json

      graylearn apply run export.json --out clean.csv
    """
    from graylearn.runs.tasks import write_tasks

    done = write_tasks(run, out)
    typer.echo(json.dumps(done) if as_json else f"{done['tasks']:,} tasks written to {out}")
