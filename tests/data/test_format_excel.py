"""Excel: its example, and workbooks of several sheets, formulas and blank rows."""

import openpyxl
import pytest

from graylearn.data.read import read
from graylearn.errors import DataError, DataWarning

ROWS = [("size", "label"), *zip([1.5, 2.5, 3, 4, 5, 6], ["cat", "dog"] * 3, strict=True)]


def example(folder):
    path = folder / "pets.xlsx"
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(path)
    return path


@pytest.fixture
def book(tmp_path):
    """Notes, and a sheet whose rows are apart."""
    path = tmp_path / "pets.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active["A1"] = "=1+1"
    sheet = book.create_sheet("pets")
    for number, row in enumerate(ROWS):
        for column, value in enumerate(row, 1):
            sheet.cell(number + 1 + (number > 3), column).value = value
    book.save(path)
    return path


def test_a_sheet_is_chosen_and_rows_go_by_their_number(book):
    with pytest.raises(DataError, match="holds the sheets notes, pets; pass split= to choose one"):
        read(book)
    samples = read(book, split="pets")
    assert samples.ids.tolist() == [2, 3, 4, 6, 7, 8]
    assert samples.x["size"].tolist() == [1.5, 2.5, 3, 4, 5, 6]


def test_a_cell_far_away_is_neither_waited_for_nor_read(tmp_path):
    path = example(tmp_path)
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"] = "far away"
    book.save(path)
    with pytest.warns(DataWarning, match="1 of 7 labels is missing"):
        samples = read(path)
    assert samples.x["size"].tolist() == [1.5, 2.5, 3, 4, 5, 6]
