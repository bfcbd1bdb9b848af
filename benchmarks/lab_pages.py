"""Tables on pages of the lab book: in Markdown, between their markers, compared with what stands there."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def markdown(head: list[str], body: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *body])


def filled(page: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """The page with every table between its markers made anew."""
    for name, make in tables.items():
        found = re.search(rf"<!-- table: {re.escape(name)} -->\n.*?<!-- end -->", page, re.DOTALL)
        if found is None:
            sys.exit(f"the page has no place for the table {name!r}")
        page = f"{page[: found.start()]}<!-- table: {name} -->\n{make()}\n<!-- end -->{page[found.end() :]}"
    return page


def bring_up_to_date(fill: Mapping[Path, Callable[[str], str]]) -> None:
    """Write the pages anew; with --check on the command line only say which of them would differ."""
    only_checked = "--check" in sys.argv[1:]
    wrong = []
    for path, make in fill.items():
        before = path.read_text(encoding="utf-8")
        after = make(before)
        if after != before:
            wrong.append(path.name)
            if not only_checked:
                path.write_text(after, encoding="utf-8")
    if only_checked and wrong:
        sys.exit(f"{', '.join(wrong)} differs from the results: run benchmarks/{Path(sys.argv[0]).name}")
