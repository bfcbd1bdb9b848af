"""The command line of the reproduction."""

from reproduction.cli.command import main

__all__ = ["main"]
