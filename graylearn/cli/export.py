"""`graylearn export`: the model of a run for other runtimes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from graylearn.cli import options as flags
from graylearn.paths import existing


def export(
    model: Annotated[
        Path,
        flags.path_argument(
            help="A run folder of graylearn fit, or a folder that GrayClassifier.save wrote."
        ),
    ],
    *,
    out: Annotated[
        Path, flags.path_flag("--out", "-o", help="A .onnx file, or a folder for MLflow (no ending).")
    ],
    reject_at: Annotated[
        float, typer.Option("--reject-at", help="The share of new samples that belong and are not rejected.")
    ] = 0.99,
    overwrite: flags.Replace = False,
    as_json: flags.AsJson = False,
) -> None:
    """Write the model as an ONNX file or for MLflow: class, probabilities, ood_score and rejection.

    Examples:

      graylearn export run --out model.onnx

      graylearn export run --out served --reject-at 0.95
    """
    existing(model)  # said before the seconds that torch takes to import
    from graylearn.cli.errors import plain
    from graylearn.runs.export import export as write

    done = write(model, out, reject_at, overwrite=overwrite)
    typer.echo(json.dumps(dataclasses.asdict(done), ensure_ascii=False) if as_json else plain(done.words))
