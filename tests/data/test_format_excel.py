"""Excel: its example, and workbooks of several sheets, formulas and blank rows."""

import openpyxl
import pytest

from graylearn.data.formats import Change, format_of
from graylearn.data.options import ReadOptions
from graylearn.data.read import read, read_file
from graylearn.errors import DataError

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
    """Notes, and a sheet whose rows are apart, with a bold cell."""
    path = tmp_path / "pets.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active["A1"] = "=1+1"
    sheet = book.create_sheet("pets")
    for number, row in enumerate(ROWS):
        for column, value in enumerate(row, 1):
            sheet.cell(number + 1 + (number > 3), column).value = value
    sheet["A6"].font = openpyxl.styles.Font(bold=True)
    book.save(path)
    return path


def test_a_sheet_is_chosen_and_rows_go_by_their_number(book):
    with pytest.raises(DataError, match="holds the sheets notes, pets; pass split= to choose one"):
        read(book)
    samples = read(book, split="pets")
    assert samples.ids.tolist() == [2, 3, 4, 6, 7, 8]
    assert samples.x["size"].tolist() == [1.5, 2.5, 3, 4, 5, 6]


def test_other_sheets_and_the_looks_of_cells_stay(book, tmp_path):
    _, origin = read_file(book, ReadOptions(split="pets"))
    change = Change([], [], [True, False, True, True, True, True], [1, 1, 2, 3, 4, 5])
    format_of(book).rewrite(book, tmp_path / "clean.xlsx", origin, change)
    found = openpyxl.load_workbook(tmp_path / "clean.xlsx")
    assert found["notes"]["A1"].value == "=1+1"
    assert [row[1] for row in found["pets"].iter_rows(values_only=True)][:3] == ["label", "dog", "cat"]
    assert found["pets"]["A5"].font.bold
    assert found["pets"]["A5"].value == 4


def test_blanks_around_a_name_are_no_part_of_it(tmp_path):
    path = tmp_path / "pets.xlsx"
    book = openpyxl.Workbook()
    for row in [(" size", "label ", " "), *ROWS[1:]]:
        book.active.append(row)
    book.save(path)
    samples, origin = read_file(path, ReadOptions(label="label"))
    assert list(samples.x.columns) == ["size"]
    change = Change([], [], [True] * 6, [1, *range(1, 6)])
    format_of(path).rewrite(path, tmp_path / "clean.xlsx", origin, change)
    found = list(openpyxl.load_workbook(tmp_path / "clean.xlsx").active.values)
    assert found[:2] == [(" size", "label ", " "), (1.5, "dog", None)]


FIRST_GOES = Change([], [], [False] + [True] * 5, list(range(6)))


def test_links_go_with_their_cells(book, tmp_path):
    changed = openpyxl.load_workbook(book)
    for number in (2, 3, 8):
        changed["pets"].cell(number, 2).hyperlink = f"https://example.org/{number}"
        changed["pets"].cell(number, 2).value = "dog"
    changed["pets"].cell(4, 2).value = "cat"
    changed.save(book)
    _, origin = read_file(book, ReadOptions(split="pets"))
    format_of(book).rewrite(book, tmp_path / "clean.xlsx", origin, FIRST_GOES)
    found = openpyxl.load_workbook(tmp_path / "clean.xlsx")["pets"]
    links = {cell.row: cell.hyperlink.target for row in found.iter_rows() for cell in row if cell.hyperlink}
    assert links == {2: "https://example.org/3", 7: "https://example.org/8"}
    assert found.max_row == 7


@pytest.mark.parametrize(
    ("sheet", "cell", "formula", "message"),
    [
        ("pets", "D1", "=A2", "holds a formula in D1"),
        ("notes", "A2", "=SUM(pets!A2:A8)", "holds a formula in A2 of sheet notes"),
        ("pets", "D5:E6", None, "has merged cells in D5:E6"),
    ],
)
def test_rows_are_not_taken_from_under_what_holds_on_to_them(book, tmp_path, sheet, cell, formula, message):
    changed = openpyxl.load_workbook(book)
    if formula is None:
        changed[sheet].merge_cells(cell)
    else:
        changed[sheet][cell] = formula
    changed["pets"]["C1"] = "more"
    changed.save(book)
    _, origin = read_file(book, ReadOptions(split="pets", without=("more",)))
    with pytest.raises(DataError, match=message):
        format_of(book).rewrite(book, tmp_path / "clean.xlsx", origin, FIRST_GOES)
