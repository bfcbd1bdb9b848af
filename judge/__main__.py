"""`python -m judge train | ship | evaluate | tables | cases | prepare | gate`: each with its own --help.

A command is `main` in the file of its name, and the parameters of that are its options.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

from benchmarks.record import described

COMMANDS = ("train", "ship", "evaluate", "tables", "cases", "prepare", "gate")


def parser_of(main: Callable[..., None], text: str | None) -> argparse.ArgumentParser:
    """An option for each parameter: required without a default, of several values for a tuple."""
    parser = described(text)
    for name, parameter in inspect.signature(main, eval_str=True).parameters.items():
        kind, default = parameter.annotation, parameter.default
        inner = next(iter(get_args(kind)), kind)
        more: dict[str, Any] = {"type": inner, "nargs": "*" if get_origin(kind) is tuple else None}
        if kind is bool:
            more = {"action": "store_true"}
        elif get_origin(kind) is Literal:
            more = {"choices": get_args(kind)}
        required = default is parameter.empty
        parser.add_argument(f"--{name}", required=required, default=None if required else default, **more)
    return parser


def main() -> None:
    """Run the command."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python -m judge {{{','.join(COMMANDS)}}} ...")
    module = import_module(f"judge.{sys.argv[1]}")
    module.main(**vars(parser_of(module.main, module.__doc__).parse_args(sys.argv[2:])))


if __name__ == "__main__":
    main()
