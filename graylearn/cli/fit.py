"""`graylearn fit` and `audit`: a run folder from data; `graylearn duplicates`: the copies among them;
`graylearn predict`: what the model of a run says of new samples; `graylearn export`: it elsewhere."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from graylearn.cli import options as flags
from graylearn.errors import one_line
from graylearn.options import Learning
from graylearn.paths import beside, existing, is_standard, saved_input
from graylearn.runs.settings import Command, Measuring, Sizing


def _run(
    command: Command,
    *,
    out: flags.Out = None,
    settings: flags.SettingsFile = None,
    overwrite: flags.Overwrite = False,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
    **given: Any,
) -> None:
    """Make the run folder and show what came out."""
    if is_standard(given.get("data") or ""):
        out = out or beside("-", command)
        # beside the run, which `apply` reads it from
        given["data"] = saved_input(out.with_name(f"{out.name}-input"), _keep)
    chosen = flags.chosen(given, command, settings)
    out = out or beside(chosen.data, command)
    from graylearn.cli.show import show_run
    from graylearn.runs import RunProgress, run

    summary = run(chosen, out, overwrite=overwrite, progress=RunProgress(quiet=quiet))
    if not summary:
        return  # a process that helped another to train
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        show_run(summary, with_data_notes=quiet)  # others heard them while it ran


def _keep(path: Path, content: bytes) -> None:
    """Write what came on standard input, unless it is there from the last time."""
    from graylearn.data.written import writing

    if not path.is_file() or path.read_bytes() != content:
        with writing(path, "copy of standard input") as partial:
            partial.write_bytes(content)


@flags.with_settings(like=_run)
def fit(**given: Any) -> None:
    """Fit a robust model, audit its training set, fit again, and write the run folder with report.html.

    Examples:

      graylearn fit wine.csv --label quality --out run

      graylearn fit photos/ --out run --test photos-checked/

      graylearn fit reviews.csv --text review --label stars --test-share 0.2 --out run

      graylearn fit 'events/*.parquet' --part-size 100000 --out run

      graylearn fit --settings run/settings.toml --out run-again

    An interrupted run goes on when the same command is given again.
    """
    _run("fit", **given)


@flags.with_settings("refine", *Measuring.__annotations__, like=_run)
def audit(**given: Any) -> None:
    """Find the samples that do not belong where their label puts them, and write report.html to decide in.

    Examples:

      graylearn audit wine.csv --label quality

      graylearn audit photos/ --out run

      psql -c "copy orders to stdout csv header" | graylearn audit - --label status --out run

      graylearn audit 'events/*.parquet' --part-size 100000 --out run

      graylearn audit posts.csv --annotators anna --annotators ben --annotators cleo --out run

    Then open report.html in the run folder, decide, download decisions.csv, and give it to graylearn apply.
    """
    _run("audit", **given)


@flags.with_settings(
    "annotators", "annotations", "test_share", "features", "embedding", *Learning.__annotations__,
    *Sizing.__annotations__,
)  # fmt: skip
def duplicates(
    *,
    out: Annotated[
        Path | None,
        flags.path_flag(
            "--out",
            "-o",
            help="The table of copies, a .csv file.",
            show_default="beside the data, as orders-copies.csv of orders.csv",
        ),
    ] = None,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
    **given: Any,
) -> None:
    """Find copies, exact and near, and with --test the samples of the test set that were learned from.

    The table has a row a sample that has a copy: group, set, id, label, kind, contradicting.

    Examples:

      graylearn duplicates photos/

      graylearn duplicates train.csv --test holdout.csv --label status --out copies.csv
    """
    chosen = flags.chosen(given, "audit")
    from graylearn.runs.oddities import copies_in_numbers, write_copies
    from graylearn.runs.progress import RunProgress

    out = out or Path(f"{beside(chosen.data, 'copies')}.csv")
    found = write_copies(chosen, out, RunProgress(quiet=quiet))
    if as_json:
        typer.echo(json.dumps(copies_in_numbers(found)))
    else:
        typer.echo(found.summary())
        typer.echo(one_line(f"written to {out}"))


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
    from graylearn.runs.predict import check_out, predict_blocks, tallied, write_predictions
    from graylearn.runs.progress import RunProgress

    with TemporaryDirectory() as fresh:
        data = saved_input(Path(fresh) / "input") if is_standard(data) else data
        out = None if out is None or is_standard(out) else out
        of: list[str | Path] = [data, *folder.settings().reads]
        check_out(out, of)
        blocks = predict_blocks(run, data, progress=RunProgress(quiet=quiet), **flags.told(given))
        answered: dict[str, Any] = {}
        tables, shown = tallied(blocks, answered), None
        if as_json and out is None:
            shown = [row for table in tables for row in json.loads(table.to_json(orient="records"))]
        else:
            write_predictions(tables, out, of)
    if as_json:
        classes = {str(name): count for name, count in answered["classes"].most_common()}
        written = None if out is None else str(out.absolute())
        summary = answered | {"classes": classes, "out": written, "predictions": shown}
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
    from graylearn.runs.predict import export as write

    done = write(model, out, reject_at, overwrite=overwrite)
    if as_json:
        typer.echo(json.dumps(done, ensure_ascii=False))
        return
    kind = {"onnx": "an ONNX file", "mlflow": "a folder for MLflow"}[done["format"]]
    typer.echo(
        one_line(
            f"{done['out']}: {kind} that reads {done['reads']} and answers class (one of "
            f"{len(done['classes'])}), probabilities, ood_score, and rejected: whether ood_score is larger "
            f"than that of {100 * reject_at:.4g}% of the samples that belong"
        )
    )
