"""Decisions are read back exactly, and what is wrong with a file is said in one sentence."""

import pytest

from graylearn.errors import DataError
from graylearn.report import Decision, read_decisions


def written(tmp_path, content):
    path = tmp_path / "decisions.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_keep_drop_and_relabel_are_read(tmp_path):
    path = written(
        tmp_path, 'id,decision,label\r\na.jpg,keep,\r\nb.jpg,drop, \r\n"c,1.jpg",relabel,"a ""dog"""\r\n'
    )
    assert read_decisions(path) == [
        Decision("a.jpg", "keep"),
        Decision("b.jpg", "drop"),
        Decision("c,1.jpg", "relabel", 'a "dog"'),
    ]


def test_the_apostrophe_before_a_formula_is_taken_away_and_no_other(tmp_path):
    path = written(
        tmp_path,
        "id,decision,label\n'=cmd(),keep,\n''=cmd(),keep,\n'tis,keep,\n''tis,keep,\n'-5,relabel,'+1\n-6,drop,\n",
    )
    assert [one.id for one in read_decisions(path)] == ["=cmd()", "'=cmd()", "'tis", "''tis", "-5", "-6"]
    assert read_decisions(path)[4].label == "+1"


def test_columns_are_found_by_name_and_a_spreadsheet_may_have_saved_them(tmp_path):
    path = written(tmp_path, "\ufeffwho;Label;ID;Decision\nme;dog;7;Relabel\nyou;;8;KEEP\n;;;\n")
    assert read_decisions(path) == [Decision("7", "relabel", "dog"), Decision("8", "keep")]


def test_a_line_that_names_the_separator_and_rows_without_a_decision(tmp_path):
    path = written(tmp_path, "\ufeffsep=;\r\nid;decision;label\r\na,b;drop;\r\nc; ;\r\nd;;\r\n")
    assert read_decisions(path) == [Decision("a,b", "drop")]
    path = written(tmp_path, "sep=|\nid|decision|label\n7|relabel|a;b\n")
    assert read_decisions(path) == [Decision("7", "relabel", "a;b")]


def test_lines_and_nul_inside_a_field_are_kept(tmp_path):
    path = written(tmp_path, 'id,decision,label\n"a\r\nb\rc\nd",keep,\n"x\0y",drop,\n')
    assert [one.id for one in read_decisions(path)] == ["a\r\nb\rc\nd", "x\0y"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("id,label\n1,dog\n", "no column 'decision'"),
        ("id,decision,label\n1,delete,\n", "row 2 has decision 'delete' for '1'"),
        ("id,decision,label\n1,relabel,\n", "row 2 relabels '1' to nothing"),
        ("id,decision,label\n1,keep,\n1,drop,\n", "row 3 decides on '1' a second time"),
        ('id,decision,label\n"1,keep,\n', "not a CSV of decisions"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, content, said):
    with pytest.raises(DataError) as caught:
        read_decisions(written(tmp_path, content))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
