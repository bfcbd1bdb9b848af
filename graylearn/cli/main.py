"""`graylearn WORD ...`: the commands by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import graylearn
from graylearn.cli.errors import said
from graylearn.cli.fit import audit, duplicates, export, fit, predict
from graylearn.cli.mcp import mcp
from graylearn.cli.options import ShortHelp
from graylearn.cli.suspects import apply, check, tasks
from graylearn.errors import nearest


class _Words(TyperGroup):
    """The group of commands; whatever one of them raises is said in one sentence."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names; an unknown word is told which was meant."""
        known = self.list_commands(ctx)
        if not args[0].startswith("-") and args[0] not in known:
            ctx.fail(f"No such command {args[0]!r}; {nearest(args[0], known, 'the commands are')}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with said(lambda: ctx.invoked_subcommand in ("fit", "audit")):
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Words,
    help="Find the wrong labels of a dataset and the samples of no class, and learn in spite of them.",
    epilog="Exit codes: 0 done, 1 an error said in one sentence, 2 wrong usage, 3 the run folder is taken, "
    "4 a check does not pass, 130 Ctrl-C, 143 SIGTERM.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("audit", cls=ShortHelp)(audit)
app.command("apply")(apply)
app.command("fit", cls=ShortHelp)(fit)
app.command("predict")(predict)
app.command("export")(export)
app.command("check", cls=ShortHelp)(check)
app.command("duplicates", cls=ShortHelp)(duplicates)
app.command("tasks")(tasks)
app.command("mcp")(mcp)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graylearn {graylearn.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Tell the version.", callback=_tell_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    pass  # `start` has taken --debug off the line, wherever it stood


def main() -> None:
    """Run the command line; see graylearn.cli.errors for what the exit codes mean."""
    start(app, "graylearn")


def start(commands: typer.Typer, name: str | None = None) -> None:
    """Run what the words after the program's name ask of these commands."""
    for output in ("stdout", "stderr"):
        if getattr(sys, output) is None:  # closed by the shell, as by >&-
            setattr(sys, output, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, output)
        if hasattr(stream, "reconfigure"):  # a label that the terminal cannot show is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:]
    if "--debug" in words:
        os.environ["GRAYLEARN_DEBUG"] = "1"
        words = [word for word in words if word != "--debug"]
    # a file called -a.csv is no option
    words = [
        f"./{word}" if word[:1] == "-" and "." in word and Path(word).exists() else word for word in words
    ]
    commands(words, prog_name=name)
