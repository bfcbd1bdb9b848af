"""Excel workbooks (.xlsx): one sheet is a table, whose first row names the columns."""

from __future__ import annotations

import zipfile
from contextlib import closing
from pathlib import Path
from sys import getsizeof
from typing import Any

from graylearn.data.formats._tables import Copied, chosen_part, in_memory, of_cells
from graylearn.data.tables import ArrowTable, ReadOptions
from graylearn.errors import told_as
from graylearn.lazy import require
from graylearn.paths import Limit


class Excel(Copied):
    """A sheet, the one that `split` names where there are several; ids are its rows, counted from 1."""

    name = "excel"
    suffixes = (".xlsx", ".xlsm")

    def open(self, path: Path, options: ReadOptions) -> ArrowTable:
        """The rows that hold something, as wide as there are names of columns.

        Blanks around a name, which nobody sees, are no part of it. Of formulas, what they came to when the
        file was saved.
        """
        openpyxl = require("openpyxl", "tables")
        with told_as(f"{path} is damaged or not an Excel workbook"):
            limit = Limit(path)
            with zipfile.ZipFile(path) as archive:
                limit.take(sum(member.file_size for member in archive.infolist()))
            with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
                sheets = [each.title for each in book.worksheets]
                sheet = book[chosen_part(path, options.split, sheets, "sheets")]
                sheet.reset_dimensions()  # what it says of its size may be anything
                header: list[str] = []
                numbers: list[int] = []
                rows: list[tuple[Any, ...]] = []
                for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                    if all(cell is None for cell in row):
                        continue
                    if not header:
                        header = ["" if cell is None else str(cell).strip() for cell in row]
                        while header and not header[-1]:
                            header.pop()
                        continue
                    cells = (*row[: len(header)], *[None] * (len(header) - len(row)))
                    limit.take(sum(map(getsizeof, cells)))
                    numbers.append(number)
                    rows.append(cells)
        return in_memory(f"{path}, sheet {sheet.title}", options, of_cells(header, rows), numbers)


FORMAT = Excel()
