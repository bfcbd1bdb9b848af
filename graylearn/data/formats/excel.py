"""Excel workbooks (.xlsx): one sheet is a table, whose first row names the columns."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.data.atomic import replacing
from graylearn.data.formats._base import Change, Format, Origin, moved_path, told_as
from graylearn.data.formats._database import chosen_part
from graylearn.data.options import ReadOptions
from graylearn.data.tables import RawTable, check_unique_names
from graylearn.errors import DataError
from graylearn.extras import require
from graylearn.paths import most_unpacked, too_large


class Excel(Format):
    """A sheet, the one that `split` names where there are several; ids are its rows, counted from 1."""

    name = "excel"
    suffixes = (".xlsx", ".xlsm")
    compressed = False
    has_splits = True

    def read(self, path: Path, options: ReadOptions) -> RawTable:
        """The rows that hold something; of formulas, what they came to when the file was saved."""
        sheet = _sheet(_opened(path, data_only=True), path, options.split)
        name = f"{path}, sheet {sheet.title}"
        header, numbers, rows = _cells(sheet)
        if not rows:
            raise DataError(f"{name} is empty: expected names of columns in its first row, and rows below")
        check_unique_names(header, name)
        return RawTable(
            pd.DataFrame.from_records(rows, columns=header),
            name,
            np.array(numbers, dtype=np.int64),
            "row",
        )

    def rewrite(self, path: Path, out: Path, origin: Origin, change: Change) -> None:
        """The same workbook, in which rows of one sheet are gone or bear another label."""
        book = _opened(path, data_only=False)
        sheet = _sheet(book, path, origin.split)
        header, numbers, _ = _cells(sheet)
        change.check_count(path, len(numbers))
        gone = [number for number, keep in zip(numbers, change.keep, strict=True) if not keep]
        if gone:
            _check_movable(book, sheet, path, gone[0])
        column = {name: number for number, name in enumerate(header, 1)}
        label = column[str(origin.columns.label)]
        images = None if origin.columns.path is None else column[str(origin.columns.path)]
        labels = [sheet.cell(row, label).value for row in numbers]
        for at in change.kept:
            if (of := change.label_of[at]) != at:
                sheet.cell(numbers[at], label).value = labels[of]
            if images is not None:
                image = sheet.cell(numbers[at], images)
                image.value = moved_path(image.value, path, out)
        for number in reversed(gone):
            sheet.delete_rows(number)
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.hyperlink):
            cell.hyperlink.ref = cell.coordinate  # openpyxl leaves the links of moved cells where they were
        with replacing(out) as partial:
            book.save(partial)
        if book.vba_archive:
            book.vba_archive.close()


def _opened(path: Path, *, data_only: bool) -> Any:
    openpyxl = require("openpyxl", "tables")
    with told_as(f"{path} is damaged or not an Excel workbook"):
        with zipfile.ZipFile(path) as archive:
            size, limit = sum(member.file_size for member in archive.infolist()), most_unpacked(path)
        if size > limit:
            raise DataError(f"{path} cannot be read: {too_large(limit)}")
        # macros are kept for rewriting only: openpyxl leaves their archive open
        macros = not data_only and path.suffix.lower() == ".xlsm"
        return openpyxl.load_workbook(path, data_only=data_only, keep_vba=macros)


def _sheet(book: Any, path: Path, wanted: str | None) -> Any:
    return book[chosen_part(path, wanted, [sheet.title for sheet in book.worksheets], "sheets")]


def _cells(sheet: Any) -> tuple[list[str], list[int], list[tuple[Any, ...]]]:
    """(names of the columns, the numbers of the rows that hold something, these), as wide as there are
    names; blanks around a name, which nobody sees, are no part of it."""
    rows = [(number, row) for number, row in enumerate(sheet.iter_rows(values_only=True), 1)]
    filled = [(number, row) for number, row in rows if any(cell is not None for cell in row)]
    if not filled:
        return [], [], []
    header = ["" if cell is None else str(cell).strip() for cell in filled[0][1]]
    while header and not header[-1]:
        header.pop()
    width = len(header)
    return header, [number for number, _ in filled[1:]], [row[:width] for _, row in filled[1:]]


def _check_movable(book: Any, sheet: Any, path: Path, first: int) -> None:
    """Refuse to take rows from `first` on out of a sheet where something holds on to their places."""
    for other in book.worksheets:
        for cell in (cell for row in other.iter_rows() for cell in row if cell.data_type == "f"):
            reads = str(getattr(cell.value, "text", cell.value))  # of an array its formula
            if other is sheet or sheet.title in reads:
                where = cell.coordinate if other is sheet else f"{cell.coordinate} of sheet {other.title}"
                raise DataError(
                    f"{path} holds a formula in {where}, and rows cannot be taken out from under formulas: "
                    "save it with values in their place"
                )
    for merged in sheet.merged_cells.ranges:
        if merged.max_row >= first:
            raise DataError(
                f"{path} has merged cells in {merged}, and rows cannot be taken out from under them: "
                "save it without"
            )


FORMAT = Excel()
