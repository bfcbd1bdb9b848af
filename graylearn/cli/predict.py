"""`graylearn predict`: what the model of a run says of new samples; `graylearn export`: it elsewhere."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from graylearn.cli import options as flags
from graylearn.paths import existing, is_standard, saved_input


@dataclasses.dataclass(frozen=True)
class Asking:
    """What is asked of a model."""

    reject_at: float | None = None
    """Answer no class where the ood score is larger than that of this share of the samples that belong, such
    as 0.99. Networks that learned images as they are reject more of them."""
    coverage: float | None = None
    """Name all classes that cannot be excluded: the true one is among them with this probability, such as
    0.95."""
    only_unlabelled: bool = False
    """Answer only the rows of a table whose label is missing."""
    top: int = 2
    """How many classes to name, the most probable first."""


READING = ("split", "separator", "encoding", "no_id")
"""Settings of a run that new data may have of their own."""


@flags.with_flags(flags.typed(of=Asking) | flags.typed(*READING))
def predict(
    *,
    run: Annotated[Path, flags.path_argument(help="A run folder of graylearn fit.")],
    data: Annotated[Path, flags.path_argument(metavar="NEW_DATA", help="Data like those it was fitted on.")],
    out: Annotated[
        Path | None,
        flags.path_flag("--out", "-o", help="A .csv, .tsv or .parquet file.", show_default="CSV on stdout"),
    ] = None,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
    **given: Any,
) -> None:
    """Predict the class of new samples, with probabilities and how little each seems to belong.

    Examples:

      graylearn predict run new.csv > predictions.csv

      graylearn predict run new-photos/ --out predictions.parquet --reject-at 0.99

      zcat new.csv.gz | graylearn predict run - > predictions.csv
    """
    from graylearn.runs.folder import RunFolder

    folder = RunFolder(run)
    folder.check_finished()
    if not is_standard(data):
        existing(data)  # both said before the seconds that torch takes to import
    from graylearn.runs.predict import Answered, check_out, predict_blocks, write_predictions
    from graylearn.runs.progress import RunProgress

    with TemporaryDirectory() as fresh:
        data = saved_input(Path(fresh) / "input") if is_standard(data) else data
        out = None if out is None or is_standard(out) else out
        of: list[str | Path] = [data, *folder.settings().reads]
        check_out(out, of)
        blocks = predict_blocks(run, data, progress=RunProgress(quiet=quiet), **flags.told(given))
        answered, shown = Answered(), None
        tables = answered.counting(blocks)
        if as_json and out is None:
            shown = [row for table in tables for row in json.loads(table.to_json(orient="records"))]
        else:
            write_predictions(tables, out, of)
    if as_json:
        summary = {
            "samples": answered.samples,
            "classes": {str(name): count for name, count in answered.classes.most_common()},
            "none_of_these": answered.none_of_these,
            "out": None if out is None else str(out.absolute()),
            "predictions": shown,
        }
        typer.echo(json.dumps(summary, ensure_ascii=False))
    elif out is not None:
        from graylearn.cli.show import show_predictions

        show_predictions(answered, out)


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
    from graylearn.runs.predict import export as write

    done = write(model, out, reject_at, overwrite=overwrite)
    typer.echo(json.dumps(dataclasses.asdict(done), ensure_ascii=False) if as_json else plain(done.words))
