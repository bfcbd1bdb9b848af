"""A command that says whatever it raises in one sentence."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from graylearn.cli.errors import said


class Said(TyperCommand):
    """The command."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        with said():
            return super().invoke(ctx)
