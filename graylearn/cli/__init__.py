"""The command line: words to functions, nothing else."""

import sys

from graylearn.lazy import keep_functions

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it in a word also while it is only being loaded."""
    try:
        from graylearn.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


keep_functions(__name__, "main")
