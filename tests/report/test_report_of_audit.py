"""An audit and its samples, from Python, as a page."""

import pandas as pd
import pytest
from sklearn.datasets import load_digits

import graylearn as gl
from graylearn.errors import DataError
from graylearn.report.payload import build_payload
from graylearn.report.write import data_of

X, Y = (part[:200] for part in load_digits(return_X_y=True))
FOUND = gl.audit(X, Y)


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (X, "row"),
        (X.reshape(-1, 8, 8), "image"),
        (pd.DataFrame(X), "row"),
        (gl.read((X, Y)), "row"),
        ([f"text {row}" for row in range(200)], "text"),
    ],
)
def test_samples_are_shown_as_what_they_are(x, kind):
    data = data_of(FOUND, x)
    assert data.previews(7).kind == kind
    main, _ = build_payload(data)
    assert main["notes"] == list(FOUND.notes)
    assert bool(main["map"]) == bool(main["beside"]["nearest"]) == (kind != "text"), "whom it resembles"


def test_a_report_is_one_call(tmp_path, open_file):
    page = open_file(gl.write_report(tmp_path / "page.html", FOUND, X, title="Digits"))
    assert page.locator("h1").inner_text() == "Digits"


def test_samples_of_another_set_are_refused(tmp_path):
    with pytest.raises(DataError, match="x has 150 samples, the audit 200"):
        gl.write_report(tmp_path / "page.html", FOUND, X[:150])
    with pytest.raises(DataError, match="which holds all that is shown"):
        gl.write_report(tmp_path / "page.html", data_of(FOUND), X)
