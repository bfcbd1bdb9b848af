"""The command line: words to functions, nothing else."""

from graylearn.cli.main import main

__all__ = ["main"]
