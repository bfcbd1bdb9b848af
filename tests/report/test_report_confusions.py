"""How often which label is mistaken for which, in the payload and on the page."""

import pandas as pd
from playwright.sync_api import expect
from report_tables import make_table

from graylearn.report import ReportData

CLASSES = ("cat", "dog", "owl")
MISTAKEN = pd.DataFrame(
    {
        "label": ["cat", "owl", "dog"],
        "true_class": ["dog", "cat", None],
        "samples": [12.44, 0.6, 0.5],
        "share": [0.311, 0.015, 0.012],
        "suspected": [10, 0, 0],
    }
)


def data(confusions):
    return ReportData(title="Pets", table=make_table(), classes=CLASSES, confusions=confusions)


def test_the_page_says_how_often_a_label_is_mistaken(open_report):
    more = [["owl", "dog", 0.55, 0.02, 0], ["owl", None, 0.4, 0.01, 0]]  # less than half a sample is no row
    page = open_report(data(pd.concat([MISTAKEN, pd.DataFrame(more, columns=MISTAKEN.columns)])))
    rows = page.locator("#mistaken tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.nth(0).locator("td")).to_have_text(["cat", "dog", "31.1%", "12", "10"])
    shares = rows.locator("td:nth-child(3)")  # as many samples, rounded: the larger share first
    expect(shares).to_have_text(["31.1%", "2.0%", "1.5%", "1.2%"])
    expect(rows.nth(2).locator("td")).to_have_text(["owl", "cat", "1.5%", "1", "0"])
    expect(rows.nth(3).locator("td").nth(1)).to_have_text("other classes, a few each")
