"""Numbers and dates in columns of text: read where one way of writing fits, left alone where in doubt."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from graylearn.data.encode import TableEncoder
from graylearn.errors import DataError, DataWarning, IdLikeColumnWarning


def fitted(values, **others) -> TableEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return TableEncoder().fit(pd.DataFrame({"a": values, **others}))


def features(values, like) -> tuple[np.ndarray, np.ndarray]:
    """What text and what the numbers it means are encoded as."""
    return fitted(values).transform(pd.DataFrame({"a": values})), TableEncoder().fit_transform(
        pd.DataFrame({"a": like})
    )


@pytest.mark.parametrize(
    ("texts", "numbers", "kind"),
    [
        (["1,234.56", "999.5", "12"], [1234.56, 999.5, 12], "number 1,234.5"),
        (["1.234,56", "999,5", "-12"], [1234.56, 999.5, -12], "number 1.234,5"),
        (["1.234.567", "2.345", "12"], [1234567, 2345, 12], "number 1.234,5"),
        (["1\u202f234,5\u00a0€", "9,25\u00a0€", "3 €"], [1234.5, 9.25, 3], "number 1.234,5 €"),
        (["1 234", "999", "12 345 678"], [1234, 999, 12345678], "number 1,234.5"),
        (["1’234", "20", "2’000"], [1234, 20, 2000], "number 1,234.5"),  # noqa: RUF001
        (["CHF 1'234.50", "CHF 20", "CHF 7"], [1234.5, 20, 7], "number 1,234.5 CHF"),
        (["R$ 1.234,56", "R$ 10,00", "R$ 5,5"], [1234.56, 10, 5.5], "number 1.234,5 R$"),
        (["($1,200.50)", "$3.00", "-$4.00"], [-1200.5, 3, -4], "number 1,234.5 $"),
        (["Rs.1,250", "Rs. 3.00", "Rs.7"], [1250, 3, 7], "number 1,234.5 RS."),
        (["12,5 %", "3,0 %", "+7 %"], [12.5, 3, 7], "number 1.234,5 %"),
    ],
)
def test_numbers_as_people_write_them(texts, numbers, kind):
    assert fitted(texts).kinds_ == {"a": kind}
    np.testing.assert_array_equal(*features(texts, numbers))
    np.testing.assert_array_equal(*features([*texts, None], [*numbers, None]))


@pytest.mark.parametrize(
    "texts",
    [
        ["1,234", "5,678", "9,012"],  # thousands or thousandths
        ["1,3", "2,5", "4"],  # answers to tick, or decimals
        ["1.2.3", "1.10.0", "2.0.0"],
        ["192.168.100.200", "192.168.101.201", "10.110.120.130"],
        ["+49 170 555 123", "+1 555 123", "+41 791 234 567"],
        ["$5.00", "€6.00", "$7.00"],
        ["5%", "0.05", "7%"],
        ["1,234.5", "1.234,5", "12"],
        ["1/2/2020", "3/4/2020", "5/6/2020"],
        ["31/12/2020", "12/31/2020", "1/2/2020"],
    ],
)
def test_text_in_doubt_stays_text(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TableEncoder().fit(pd.DataFrame({"a": texts})).kinds_ == {"a": "category"}


def test_many_commas_before_three_digits_part_thousands():
    numbers = [7, 950, *range(1234, 90_000, 1717)]
    texts = [f"{number:,}" for number in numbers]
    assert fitted(texts).kinds_ == {"a": "number 1,234.5"}
    np.testing.assert_array_equal(*features(texts, numbers))
    with pytest.warns(DataWarning, match="read as numbers written as in '1,234'"):
        TableEncoder().fit(pd.DataFrame({"a": texts}))
    assert fitted([*texts, "1,5"]).kinds_ == {"a": "number 1.234,5"}, "decimals of several lengths"
    encoder = fitted([1.5, 2.0, 9.0])  # new rows of what was read before: 1,234 may be one and a bit there
    with pytest.raises(DataError, match="held numbers"):
        encoder.transform(pd.DataFrame({"a": texts[2:]}))


def test_few_large_numbers_are_not_lost_among_plain_ones():
    texts = [f"{n}.5" for n in range(95)] + [f"{n},000.5" for n in range(1, 6)]
    encoder = fitted(texts)
    assert encoder.kinds_ == {"a": "number 1,234.5"}
    assert encoder.get_feature_names_out().tolist() == ["a"], "nothing is missing"


def test_words_among_written_numbers_are_missing():
    texts = [f"{n},234.5" for n in range(1, 20)] + ["on request"]
    encoder = fitted(texts)
    with pytest.warns(
        DataWarning, match="'a' holds 1 value that is no number, such as 'on request': taken as missing"
    ):
        encoder.transform(pd.DataFrame({"a": texts}))
    assert encoder.get_feature_names_out().tolist() == ["a", "a is missing"]
    assert fitted([*texts[:-1], "1.234.5"]).kinds_ == {"a": "category"}, "a number in another writing"


def test_new_data_are_read_as_the_training_data_were():
    encoder = fitted(["1.234,56 €", "950,00 €", "12.000,5 €"])
    saved = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    expected = encoder.transform(pd.DataFrame({"a": [1234.0, 1.5, 20.0]}))
    for texts in (["1.234 €", "1,5 €", "20 €"], ["1.234", "1,50", "20"], ["1 234,0 €", "1,5€", 20]):
        np.testing.assert_array_equal(saved.transform(pd.DataFrame({"a": texts})), expected)
    with pytest.warns(DataWarning, match=r"holds 2 values that are no number, such as '\$1,50'"):
        found = saved.transform(pd.DataFrame({"a": ["1.234 €", "$1,50", "1.5"]}))
    assert found.tolist() == [[expected[0, 0]], [0], [0]]
    with pytest.raises(DataError, match=r"'a' held numbers when .* such as 'free'"):
        saved.transform(pd.DataFrame({"a": ["free"]}))


DAYS = pd.Series(pd.date_range("2020-01-01", periods=60, freq="41h"))


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("%Y-%m-%d", "date"),
        ("%Y-%m-%d %H:%M", "date"),
        ("%d.%m.%Y", "date d.m.y"),
        ("%d/%m/%Y", "date d/m/y"),
        ("%m/%d/%Y %I:%M:%S %p", "date m/d/y"),
        ("%Y/%m/%d", "date y/m/d"),
    ],
)
def test_dates_in_text(form, kind):
    text = DAYS.dt.strftime(form)
    encoder = fitted(text)
    assert encoder.kinds_ == {"a": kind}
    true = pd.to_datetime(text, format=form)
    found = encoder.transform(pd.DataFrame({"a": text}))
    np.testing.assert_array_equal(found, TableEncoder().fit_transform(pd.DataFrame({"a": true})))
    saved = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    for other in (
        text,
        text.str.replace(r"(?<=[./])0|^0", "", regex=True),
        true,
        true.dt.strftime("%Y-%m-%d %X"),
    ):
        np.testing.assert_array_equal(saved.transform(pd.DataFrame({"a": other})), found)


@pytest.mark.parametrize(
    "text", [[f"{n},5" for n in range(1, 60)], [f"{n % 12 + 1}/{n % 11 + 1}/{1950 + n}" for n in range(60)]]
)
def test_numbers_and_dates_that_cannot_be_read_are_told_and_no_ids(text):
    with pytest.warns(
        DataWarning, match=rf"'a' is text that looks like numbers or dates, such as '{text[0]}', but"
    ) as told:
        assert TableEncoder().fit(pd.DataFrame({"a": text})).kinds_ == {"a": "category"}
    assert not any(issubclass(each.category, IdLikeColumnWarning) for each in told)
    for wanted in (pd.Series(text, dtype="category"), text[:10] * 5):  # words by wish, names of groups
        TableEncoder().fit(pd.DataFrame({"a": wanted}))  # any warning is an error here


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["4,869", "2,125", "k.A.", "7,25"], [4.869, 2.125, np.nan, 7.25]),  # one word made text of all
        (["4,8", "abc"], [4.8, np.nan]),
        (["4.8", "4,8"], [4.8, 4.8]),
        (["4.8", "4,800"], [4.8, np.nan]),  # a thousand, or not
        (["4.8", "5%"], [4.8, np.nan]),  # 5, or .05
    ],
)
def test_numbers_that_new_rows_write_otherwise_are_read_where_one_way_fits(texts, numbers):
    encoder = fitted([1.5, 2.0, 9.0, np.nan])
    told = [encoder.transform(pd.DataFrame({"a": values})) for values in (texts, numbers)]
    np.testing.assert_array_equal(*told)
