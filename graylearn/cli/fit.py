"""`graylearn fit` and `graylearn audit`: a run folder from data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from graylearn.cli import options as flags


def fit(
    data: flags.Data = None,
    *,
    out: flags.Out,
    label: flags.Label = None,
    id: flags.Id = None,
    no_id: flags.NoId = None,
    without: flags.Without = None,
    text: flags.Text = None,
    path: flags.ImagePath = None,
    split: flags.Split = None,
    separator: flags.Separator = None,
    encoding: flags.Encoding = None,
    size: flags.Size = None,
    unreadable: flags.Unreadable = None,
    features: flags.Features = None,
    embedding: flags.Embedding = None,
    method: flags.Method = None,
    network: flags.Network = None,
    epochs: flags.Epochs = None,
    batch_size: flags.BatchSize = None,
    learning_rate: flags.LearningRate = None,
    augment: flags.Augment = None,
    refine: flags.Refine = None,
    mode: flags.Mode = None,
    seed: flags.Seed = None,
    device: flags.Device = None,
    precision: flags.Precision = None,
    test: flags.Test = None,
    test_split: flags.TestSplit = None,
    test_share: flags.TestShare = None,
    settings: flags.SettingsFile = None,
    overwrite: flags.Overwrite = False,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
) -> None:
    """Fit a robust model, audit its training set, fit again, and write the run folder with report.html.

    Examples:

      graylearn fit wine.csv --label quality --out run

      graylearn fit photos/ --out run --test photos-checked/

      graylearn fit reviews.csv --text review --label stars --test-share 0.2 --out run

      graylearn fit --settings run/settings.toml --out run-again

    An interrupted run goes on when the same command is given again.
    """
    given = {name: value for name, value in locals().items() if name not in _NOT_SETTINGS}
    _run("fit", given, settings, out, overwrite, as_json, quiet)


def audit(
    data: flags.Data = None,
    *,
    out: flags.Out,
    label: flags.Label = None,
    id: flags.Id = None,
    no_id: flags.NoId = None,
    without: flags.Without = None,
    text: flags.Text = None,
    path: flags.ImagePath = None,
    split: flags.Split = None,
    separator: flags.Separator = None,
    encoding: flags.Encoding = None,
    size: flags.Size = None,
    unreadable: flags.Unreadable = None,
    features: flags.Features = None,
    embedding: flags.Embedding = None,
    method: flags.Method = None,
    network: flags.Network = None,
    epochs: flags.Epochs = None,
    batch_size: flags.BatchSize = None,
    learning_rate: flags.LearningRate = None,
    augment: flags.Augment = None,
    mode: flags.Mode = None,
    seed: flags.Seed = None,
    device: flags.Device = None,
    precision: flags.Precision = None,
    settings: flags.SettingsFile = None,
    overwrite: flags.Overwrite = False,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
) -> None:
    """Only find the samples that do not belong: audit.csv, and report.html to decide on them.

    Examples:

      graylearn audit wine.csv --label quality --out run

      graylearn audit photos/ --out run

    Then open run/report.html, decide, download decisions.csv, and give it to graylearn apply.
    """
    given = {name: value for name, value in locals().items() if name not in _NOT_SETTINGS}
    _run("audit", given, settings, out, overwrite, as_json, quiet)


_NOT_SETTINGS = ("out", "settings", "overwrite", "as_json", "quiet")


def _run(
    command: str,
    given: dict[str, Any],
    settings_file: Path | None,
    out: Path,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from graylearn.cli.show import show_run
    from graylearn.runs import RunProgress, read_settings, run, settings_from

    values = read_settings(settings_file) if settings_file is not None else {}
    flags_given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None
    }
    chosen = settings_from(values | flags_given | {"command": command}, "the command line")
    summary = run(chosen, out, overwrite=overwrite, progress=RunProgress(quiet=quiet))
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        show_run(summary)
