"""Labels, ids and the names of columns in CSV files: what they are taken for, and what is refused."""

import pandas as pd
import pytest

from graylearn.data.read import read
from graylearn.errors import DataError, DataWarning


def test_a_label_that_spells_missing_is_a_class_of_its_own(csv):
    samples = read(csv("a,label\n1,NA\n2,null\n3,DE\n"))
    assert samples.classes == ("DE", "NA", "null")


def test_a_header_that_stands_again_among_the_rows_is_refused(csv):
    with pytest.raises(DataError, match=r"names of the columns stand again in lines 4, 6; remove"):
        read(csv("id,a,label\n1,1,x\n2,2,y\nid,a,label\n3,3,x\nid,a,label\n"))
    samples = read(csv("words,spam\noffer,spam\nwords,no\nhello,no\n"), label="spam")
    assert samples.classes == ("no", "spam")  # a class may be called as its column


@pytest.mark.parametrize(
    "ids",
    [
        ["007", "008", "7"],
        ["100000000000000000001", "100000000000000000002", "100000000000000000003"],
        ["12e5", "13e5", "14e5"],
        ["2020-01-31", "2020-02-28", "2020-03-31"],
        ["08:00:00", "08:30:00", "09:00:00"],
    ],
)
def test_ids_and_labels_that_numbers_cannot_hold_are_as_written(csv, ids):
    one, two, three = ids
    assert read(csv(f"id,a,label\n{one},1,x\n{two},2,y\n{three},3,y\n")).ids.tolist() == ids
    if "e" not in one:
        rows = f"1,{one}\n2,{two}\n3,{three}\n"
        assert read(csv("a,label\n" + rows)).classes == tuple(sorted(ids))
        with pytest.warns(DataWarning, match=r"1 of 4 labels is missing \(line 5\)"):
            read(csv("a,label\n" + rows + "4,\n"))


def test_ids_and_labels_that_numbers_can_hold_are_numbers(csv):
    assert read(csv("id,a,label\n5.0,1,x\n-6.0,2,y\n")).ids.tolist() == [5, -6]
    assert read(csv("a,label\n1,1.0000000000000e+00\n2,1\n3,2\n")).classes == (1.0, 2.0)
    assert read(csv("a;label\n1,5;1,0\n2,5;2,0\n")).classes == (1.0, 2.0)


@pytest.mark.parametrize("content", ["a,label\n1,1.1\n2,1.10\n3,2.0\n", "a;label\n1;1,1\n2;1,10\n3;2,0\n"])
def test_labels_that_spell_one_number_in_two_ways_are_text(csv, content):
    path = csv(content)
    samples = read(path)
    one, two, three = ("1.1", "1.10", "2.0") if "." in content else ("1,1", "1,10", "2,0")
    assert samples.classes == (one, two, three)
    assert samples.y.tolist() == [0, 1, 2]
    assert read(path, classes=(1.1, 2.0)).y.tolist() == [0, 0, 1], "the classes of a model that knows numbers"
    later = csv(content.replace("1\n2", "10\n2"), "later.csv")  # the one spelling alone
    assert read(later, classes=samples.classes).y.tolist() == [1, 1, 2]


def test_nameless_first_column_is_the_index_that_pandas_wrote(csv, tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "label": ["x", "y"]}, index=["s0", "s1"])
    frame.to_csv(tmp_path / "index.csv")
    samples = read(tmp_path / "index.csv")
    assert samples.ids.tolist() == ["s0", "s1"]
    assert list(samples.x.columns) == ["a"]


def test_duplicate_ids(csv):
    with pytest.raises(DataError, match=r"again at line 3; make ids unique"):
        read(csv("id,a,label\n7,1,x\n7,2,y\n8,3,x\n8,3,x\n"))
    path = csv("id,a,label\n7,1,x\n8,2,y\n7,3,x\n")
    with pytest.raises(DataError, match=r"id '7' in column 'id' stands at line 2 and again at line 4; make"):
        read(path)
    samples = read(path, id=False)
    assert samples.ids.tolist() == [2, 3, 4]
    assert list(samples.x.columns) == ["id", "a"]


def test_duplicate_column_names(csv):
    with pytest.raises(DataError, match="two columns called 'a'"):
        read(csv("a,a,label\n1,2,x\n3,4,y\n"))
    with pytest.raises(DataError, match="two columns called 'a', two called 'b'; rename"):
        read(csv("a,b,a,b,label\n1,2,3,4,x\n3,4,5,6,y\n"))
    with pytest.raises(DataError, match=r"two columns without a name; .* before the table"):
        read(csv(",,label\n1,2,x\n3,4,y\n"))


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("0.5,1,x\n0.7,2,y\n", ["0", "1"]),  # a decimal number: no header
        ("0,1,2\n5.5,3,1\n6.5,2,0\n", ["0", "1"]),  # numbers that count the columns: a header
        ("year,2019,2020\n5,3,1\n6,2,0\n", ["year", "2019"]),
    ],
)
def test_header_or_not(csv, content, columns):
    samples = read(csv(content), label=-1)
    assert list(samples.x.columns) == columns
    assert len(samples) == 2
    assert samples.ids[0] == content.count("\n") - 1


def test_label_is_never_guessed_in_doubt(csv):
    with pytest.raises(DataError, match=r"no column is plainly the label; pass label= with one of: a, b, c"):
        read(csv("a,b,c\n1,2,x\n"))
    with pytest.raises(
        DataError, match=r"label='c' if it is that column \(2 different values\)"
    ):  # an empty cell is none
        read(csv("a,b,c\n" + "".join(f"{row},{row},{('x', 'y', '')[row % 3]}\n" for row in range(9))))
    with pytest.raises(DataError, match=r"both 'class' and 'target' could be the label"):
        read(csv("a,class,target\n1,2,x\n"))
    with pytest.raises(
        DataError, match=r"no column 'species' to take the label from; its columns are a, label"
    ):
        read(csv("a,label\n1,x\n"), label="species")
    with pytest.raises(DataError, match=r"no column '--5' to take the label from"):
        read(csv("a,label\n1,x\n"), label="--5")
    with pytest.raises(DataError, match=r"several people.* --annotators anna --annotators ben\)"):
        read(csv("a,anna,ben\n1,x,x\n"), label="anna, ben")


def test_cells_that_blanks_part_are_told(csv):
    with pytest.raises(DataError, match=r"pass separator=' '"):
        read(csv("a b label\n1 2 x\n3 4 y\n"))
    with pytest.raises(DataError, match=r"write it with commas, as pandas\.read_csv"):
        read(csv("AAT_ECOLI   0.49  0.29  cp\nACEA_ECOLI  0.07  0.40  im\nACEK_ECOLI  0.56  0.40  cp\n"))
    with pytest.raises(DataError, match="no column is plainly the label"):
        read(csv("what they said\nall is well\nnothing is well here\n"))


def test_unlabelled_data(csv):
    path = csv("a,b\n1,2\n3,4\n")
    samples = read(path, labelled=False)
    assert samples.classes == ()
    assert samples.y.tolist() == [-1, -1]
    assert list(read(path, label="species", labelled=False).x.columns) == ["a", "b"]
    assert list(read(path, label="b", labelled=False).x.columns) == ["a"]


def test_classes_of_a_saved_model_keep_their_order(csv):
    path = csv("a,label\n1,x\n2,y\n")
    samples = read(path, classes=("y", "z", "x"))
    assert samples.classes == ("y", "z", "x")
    assert samples.y.tolist() == [2, 0]
    with pytest.raises(DataError, match="labels x are not among"):
        read(path, classes=("y", "z"))


def test_rows_without_a_label_are_left_out(csv):
    path = csv("a,b,label\n1,red,x\n2,blue,\n3,red,y\n4,blue,  \n5,red,x\n")
    with pytest.warns(DataWarning, match=r"dirty\.csv, column 'label': 2 of 5 .* \(lines 3, 5\)"):
        samples = read(path)
    assert samples.ids.tolist() == [2, 4, 6]
    assert samples.x["a"].tolist() == [1, 3, 5]
    assert samples.y.tolist() == [0, 1, 0]
    numbers = csv("a,label\n1,007\n2,\n3,8\n", "numbers.csv")
    with pytest.warns(DataWarning, match="1 of 3 labels is missing"):
        assert read(numbers).classes == ("007", "8")


def test_a_column_that_is_mostly_empty_has_to_be_named(csv):
    with pytest.raises(DataError, match="every label is missing; fill them in, or pass label= to name"):
        read(csv("a,label\n1,\n2,\n"))
    mostly = csv("a,label\n1,\n2,\n3,\n4,y\n5,x\n")
    with pytest.raises(
        DataError, match=r"3 of 5 labels are missing \(lines 2, 3, 4\); .* pass label='label'"
    ):
        read(mostly)
    with pytest.warns(DataWarning, match="these rows are left out"):
        assert read(mostly, label="label").ids.tolist() == [5, 6]
