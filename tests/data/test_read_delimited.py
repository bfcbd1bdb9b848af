"""Nasty CSV files: each gives the right data, or one clear error that names file, line or column."""

import gzip
import time

import numpy as np
import pandas as pd
import pytest

from graylearn.data.read import read
from graylearn.errors import DataError, DataWarning, SettingsError


def test_plain_file(csv):
    samples = read(csv("size,colour,label\n1.5,red,cat\n2.5,blue,dog\n3.5,red,cat\n"))
    assert samples.kind == "table"
    assert list(samples.x.columns) == ["size", "colour"]
    assert samples.x["size"].tolist() == [1.5, 2.5, 3.5]
    assert samples.classes == ("cat", "dog")
    assert samples.y.tolist() == [0, 1, 0]
    assert samples.ids.tolist() == [2, 3, 4], "lines as an editor counts them, below the header"


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_byte_order_mark_is_no_part_of_the_first_name(csv, mark):
    samples = read(csv(mark + b"a,label\n1,x\n2,y\n"))
    assert list(samples.x.columns) == ["a"]


def test_utf16_is_recognised_by_its_mark(csv):
    samples = read(csv("naïve,label\n1,été\n2,hiver\n".encode("utf-16")))
    assert list(samples.x.columns) == ["naïve"]
    assert samples.classes == ("hiver", "été")
    assert read(csv("a,label\n1,x\n".encode("utf-16-le")), encoding="utf-16-le").classes == ("x",)


def test_quotes_and_newlines_within_quotes(csv):
    samples = read(csv('note,label\n"a, ""b""",x\n"two\nlines",y\nplain,x\n'))
    assert samples.x["note"].tolist() == ['a, "b"', "two\nlines", "plain"]
    assert samples.ids.tolist() == [2, 3, 5], "the row after two lines begins on line 5"


def test_blank_lines_are_passed_over_but_counted(csv):
    samples = read(csv("\n\na,label\n1,x\n\n2,y\n\n"))
    assert samples.x["a"].tolist() == [1, 2]
    assert samples.ids.tolist() == [4, 6]


@pytest.mark.parametrize("start", ["sep=;\r\n", '"sep=;"\n', "\ufeffSEP=;\n"])
def test_a_first_line_that_names_the_separator_is_no_row(csv, start):
    samples = read(csv(start + "a,b;label\n1,5;x\n2,5;y\n"))
    assert samples.x["a,b"].tolist() == [1.5, 2.5]
    assert samples.ids.tolist() == [3, 4]
    with pytest.raises(DataError, match="line 4: 3 fields"):
        read(csv(start + "a;label\n1;x\n2;y;z\n"))


def test_missing_features_are_missing(csv):
    samples = read(csv("a,b,c,label\n1,red,NA,x\n?,,NA,y\nNA,blue,NA,x\n"))
    assert samples.x["a"].isna().tolist() == [False, True, True]
    assert samples.x["a"].dtype == np.float64
    assert samples.x["b"].isna().tolist() == [False, True, False]
    assert samples.x["c"].isna().all()


def test_huge_and_infinite_numbers_are_kept(csv):
    samples = read(csv("a,b,label\n1e308,inf,x\n-1e308,-inf,y\n0,nan,x\n"))
    assert samples.x["a"].tolist() == [1e308, -1e308, 0.0]
    assert samples.x["b"].tolist()[:2] == [np.inf, -np.inf]
    assert np.isnan(samples.x["b"][2])


def test_latin1_bytes(csv):
    path = csv("town,label\nBern,x\nZürich,y\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 3: byte 0xfc is not utf-8; pass encoding"):
        read(path)
    assert read(path, encoding="latin-1").x["town"].tolist() == ["Bern", "Zürich"]


def test_utf8_that_is_read_as_another_encoding_is_told(csv):
    path = csv("town,label\nBern,x\nZürich,y\n".encode())
    with pytest.warns(
        DataWarning, match=r"is UTF-8 but read as cp1252, which takes 'ü' for 'Ã¼'; pass encoding="
    ):
        read(path, encoding="cp1252")
    assert read(csv("town,label\nBern,x\nOrio,y\n"), encoding="cp1252").x["town"].tolist() == ["Bern", "Orio"]


@pytest.mark.parametrize(
    ("row", "count", "mend"), [("(4 rows)", "1 field", "remove it"), ("1,2,3,x", "4 fields", "add or")]
)
def test_ragged_rows_are_named_by_line(csv, row, count, mend):
    path = csv(f'a,b,label\n"one\nmore",2,x\n\n{row}\n3,4,y\n')
    with pytest.raises(DataError, match=rf"line 5: {count} where the first line has 3 .*{mend}"):
        read(path)


def test_quote_that_never_closes(csv):
    with pytest.raises(DataError, match="line 3: a quote opens here and never closes"):
        read(csv('a,label\n1,x\n"2,y\n3,x\n4,y\n'))


def test_stray_quotes_inside_cells_are_text(csv):
    samples = read(csv('a,label\n5" pipe,x\n7 pipe,y\n'))
    assert samples.x["a"].tolist() == ['5" pipe', "7 pipe"]


def test_a_mark_alone_is_an_empty_file(csv):
    with pytest.raises(DataError, match=r"dirty\.csv is empty"):
        read(csv(b"\xef\xbb\xbf"))


def test_semicolons_and_decimal_commas(csv):
    samples = read(csv("a;b;label\n1,5;2;x\n2,5;3;y\n"))
    assert samples.x["a"].tolist() == [1.5, 2.5]
    assert read(csv("a;b;label\n1.5;u,v;x\n2.5;w;y\n")).x["b"].tolist() == ["u,v", "w"]


def test_other_separators(csv):
    assert list(read(csv("a\tlabel\n1\tx\n2\ty\n", "t.tsv")).x.columns) == ["a"]
    assert read(csv('a\tlabel\n5,"6\tx\n7,8\ty\n', "u.tsv")).x["a"].tolist() == ['5,"6', "7,8"]
    assert list(read(csv("a|label\n1|x\n2|y\n")).x.columns) == ["a"]
    assert list(read(csv("a:label\n1:x\n2:y\n"), separator=":").x.columns) == ["a"]


def test_text_of_another_encoding_or_separator_is_told_what_to_pass(csv, tmp_path):
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(
            DataError, match=rf"begins like UTF-16 without its mark.*pass encoding='{encoding}'"
        ):
            read(csv("a,label\n1,x\n2,y\n".encode(encoding)))
    path = tmp_path / "a.tsv"
    path.write_text("a;label\n1;x\n2;y\n")
    with pytest.raises(DataError, match=r"pass separator=';'"):
        read(path)
    assert len(read(path, separator=";")) == 2


def test_a_quoted_header_may_hold_the_separator(csv):
    assert list(read(csv('"a;b;c;d",label\n1,x\n2,y\n')).x.columns) == ["a;b;c;d"]


def test_cut_gzip(csv):
    whole = gzip.compress(b"a,label\n" + b"1,x\n" * 10_000)
    with pytest.raises(DataError, match=r"cut\.csv\.gz cannot be read .* is the file whole"):
        read(csv(whole[: len(whole) // 2], "cut.csv.gz"))


def test_dates_and_times_are_typed(csv):
    samples = read(csv("day,time,label\n2024-01-31,12:30,x\n2024-02-01,00:01,y\n"))
    assert samples.x["day"].tolist() == [pd.Timestamp("2024-01-31"), pd.Timestamp("2024-02-01")]
    assert samples.x["time"].tolist() == [45000, 60]


def test_unknown_files(csv, tmp_path):
    with pytest.raises(DataError, match=r"missing\.csv does not exist"):
        read(tmp_path / "missing.csv")
    csv("a,label\n1,x\n", "one.csv")
    with pytest.raises(DataError, match=r"\*\.csv names 1 file: only Parquet files are read as one table"):
        read(tmp_path / "*.csv")
    with pytest.raises(DataError, match=r"ends in '\.doc'; known are \.csv"):
        read(csv("a", "a.doc"))
    with pytest.raises(DataError, match=r"a spreadsheet that is not read: save it as \.xlsx or CSV"):
        read(csv("a", "a.xls"))
    with pytest.raises(DataError, match=r"does not say what it holds: call it a\.csv\.zip if"):
        read(csv("a", "a.zip"))


@pytest.mark.parametrize("sign", ["37,2", "37,22"])
def test_the_decimal_mark_is_found_in_all_of_a_column(csv, sign):
    text = f"a;b;label\n3;1;x\n-;2;y\n{sign};3;x\n;4;y\n1,5e1;5;x\n"
    samples = read(csv(text))
    expected = [3.0, np.nan, float(sign.replace(",", ".")), np.nan, 15.0]
    np.testing.assert_array_equal(samples.x["a"], expected)
    assert read(csv("a;label\n0;x\n1;y\n0,5;x\n")).x["a"].tolist() == [0.0, 1.0, 0.5]
    assert read(csv("a;label\n0;x\n1;y\n"), decimal=",").x["a"].tolist() == [0, 1]
    told = read(csv("a;label\n1,234;x\n2;y\n"), decimal=".")
    assert told.x["a"].tolist() == ["1,234", "2"], "what was told is not looked for"


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (b"PK\x03\x04", r"is not text but a spreadsheet or a zip archive: let its name end in \.xlsx"),
        (b"PAR1", r"is not text but a Parquet file: let its name end in \.parquet"),
        (b"\x1f\x8b", r"compressed by gzip: let its name end in \.gz"),
    ],
)
def test_files_that_only_bear_the_name_say_what_they_are(csv, start, told):
    with pytest.raises(DataError, match=told):
        read(csv(start + b"\x14\x00\x06\x00,\n"))


def test_a_long_name_of_a_column_is_no_riddle(tmp_path):
    name = "0" * 40_000 + "x"
    (tmp_path / "a.csv").write_text(f"{name},label\n1,x\n2,y\n")
    began = time.perf_counter()
    assert list(read(tmp_path / "a.csv").x.columns) == [name]
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("encoding", ["hex", "nobody's"])
def test_an_encoding_that_is_none_of_text(tmp_path, encoding):
    (tmp_path / "a.csv").write_text("a,label\n1,x\n2,y\n")
    with pytest.raises(SettingsError, match="which is none of text: give one such as utf-8 or cp1252"):
        read(tmp_path / "a.csv", encoding=encoding)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,label," + "x" * (3 << 20), r"has a line that does not end: is the file whole\?$"),
        (",".join(map(str, range(160_000))), r"has a line that does not end"),
        ("z" * (65 << 20), r"has a line that does not end"),
        ('a,label\n"' + "z" * (65 << 20), r"line 2: a quote opens here and never closes"),
    ],
    ids=["cell", "names", "first", "quote"],
)
def test_a_line_without_an_end(tmp_path, text, told):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=rf"a\.csv,? {told}"):
        read(tmp_path / "a.csv")
