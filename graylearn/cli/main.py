"""`graylearn WORD ...`: the commands by name, and errors in one sentence."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from graylearn.cli.datasets import datasets
from graylearn.errors import GraylearnError

app = typer.Typer(
    help="Learn from dirty training sets, and find the samples that do not belong.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("datasets")(datasets)


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    if debug:
        os.environ["GRAYLEARN_DEBUG"] = "1"


def main() -> None:
    """Run the command line; 0 where all went well, 1 for an error said in one sentence, 130 for Ctrl-C."""
    try:
        app()
    except GraylearnError as error:
        if os.environ.get("GRAYLEARN_DEBUG"):
            raise
        Console(stderr=True, soft_wrap=True).print(f"error: {error}", style="red", markup=False)
        sys.exit(1)
    except BrokenPipeError:
        # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
