"""`python -m reproduction.datasets`: which of the paper's datasets are here, and where others come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from graylearn.cli import options as flags
from graylearn.cli.main import start
from graylearn.cli.show import console
from reproduction.cli.said import Said

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")

Folder = Annotated[
    Path | None, flags.path_flag("--data", help="The folder of datasets; GRAYLEARN_DATA where left out.")
]


@app.command(cls=Said)
def datasets(
    data: Folder = None,
    fetch: Annotated[
        list[str] | None,
        typer.Option("--download", help="Fetch a dataset first: cifar10, cifar100 or svhn.", metavar="NAME"),
    ] = None,
) -> None:
    """List the paper's datasets: which are here, which are missing, and where they come from.

    Examples:

      python -m reproduction.datasets --data ~/data

      python -m reproduction.datasets --data ~/data --download cifar10
    """
    from reproduction.catalog import datasets_table

    for name in fetch or []:
        _fetch(name, data)
    table = Table("name", "what", "samples", "classes", "size", "here", "licence", "comes from", "needs")
    for row in datasets_table(data):
        table.add_row(
            row.name,
            row.title,
            f"{row.n:,}",
            str(row.classes),
            "" if row.size is None else _bytes(row.size),
            row.form if row.present else "missing" + (" (--download)" if row.downloadable else ""),
            row.licence,
            row.source,
            "" if row.present else row.needs,
        )
    console(width=240).print(table)


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _fetch(name: str, data: Path | None) -> None:
    """Download with a bar on a terminal; a line when done."""
    from reproduction.catalog.download import download

    stderr = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        console=stderr, disable=not stderr.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task(name, total=None)

        def seen(received: int, total: int) -> None:
            bar.update(task, completed=received, total=total)

        folder = download(name, data, progress=seen)
    stderr.print(f"{name} is in {folder}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    start(app, "python -m reproduction.datasets")
