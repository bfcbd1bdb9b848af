"""One runner: `python -m benchmarks NAME [options]` measures, `python -m benchmarks tables` fills the pages.

A measurement is a file with `main()`. Its results go to results/NAME.jsonl; `LAB_TABLES` are its tables by
page and name. `tables --check` only tells which pages differ from the results.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LAB = FOLDER.parent / "docs" / "lab"
Tables = dict[str, Callable[[], str]]


def names() -> list[str]:
    """Every measurement."""
    return [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.name != "__main__"]


def pages() -> dict[str, Tables]:
    """The tables of every page of the lab book that has some."""
    found: dict[str, Tables] = {}
    for name in names():
        if "\nLAB_TABLES" in (FOLDER / f"{name}.py").read_text(encoding="utf-8"):
            for page, tables in importlib.import_module(f"benchmarks.{name}").LAB_TABLES.items():
                found.setdefault(page, {}).update(tables)
    return found


def filled(page: str, tables: Tables) -> str:
    """The text of a page with every table between its markers made again."""
    for name, make in tables.items():
        found = re.search(rf"<!-- table: {re.escape(name)} -->\n.*?<!-- end -->", page, re.DOTALL)
        if found is None:
            sys.exit(f"the page has no place for the table {name!r}")
        page = f"{page[: found.start()]}<!-- table: {name} -->\n{make()}\n<!-- end -->{page[found.end() :]}"
    return page


def write_tables(only_check: bool) -> None:
    """Make the tables of all pages again."""
    differ = []
    for name, tables in pages().items():
        before = (LAB / name).read_text(encoding="utf-8")
        after = filled(before, tables)
        differ += [name] if after != before else []
        if not only_check:
            (LAB / name).write_text(after, encoding="utf-8")
    if only_check and differ:
        sys.exit(f"{', '.join(differ)} differ from the results: run python -m benchmarks tables")


def main() -> None:
    """Run what the first word names."""
    known = names()
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word == "tables":
        write_tables("--check" in sys.argv)
    elif word in known:
        del sys.argv[1]
        importlib.import_module(f"benchmarks.{word}").main()
    else:
        sys.exit(f"python -m benchmarks NAME; NAME is tables or one of {', '.join(known)}")


if __name__ == "__main__":
    main()
