"""`python -m judge train | ship | evaluate | tables | cases | prepare | gate`: each with its own --help."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = ("train", "ship", "evaluate", "tables", "cases", "prepare", "gate")


def main() -> None:
    """Hand on to the module of the command."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python -m judge {{{','.join(COMMANDS)}}} ...")
    import_module(f"judge.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
