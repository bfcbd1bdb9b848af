"""The page with groups of copies and several annotators: decided at once, and whom to ask again."""

import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from report_pages import download
from report_tables import make_table

from graylearn.audit.annotators import consensus
from graylearn.audit.duplicates import Duplicates
from graylearn.report import ReportData, image_preview, read_decisions

CLASSES = ("cat", "dog", "owl")


@pytest.fixture(scope="module")
def team():
    """The small report with three groups of copies, one with different labels, and three annotators."""
    groups = (np.array([60, 63]), np.array([0, 90, 93]), np.array([70, 120]))
    copies = Duplicates(groups, np.array([True, False, True]), np.array([False, True, False]), 3.0, 120, 121)
    table = make_table().assign(label=np.array(CLASSES)[np.arange(120) % 3])
    table.loc[93, "label"] = "owl"
    said = np.array(CLASSES, dtype=object)[np.arange(120) % 3][:, None].repeat(3, axis=1)
    said[::2, 2] = "owl"
    said[5, 1] = None
    crowd = consensus(pd.DataFrame(said, columns=["anna", "ben", "<b>cleo</b>"]))
    return ReportData(
        title="Pets", run="pets", table=table, classes=CLASSES, copies=copies, crowd=crowd,
        previews=lambda index: image_preview(np.full((8, 8, 3), 2 * index, np.uint8)),
    )  # fmt: skip


def test_groups_of_copies_are_decided_at_once(open_report, team, tmp_path):
    page = open_report(team)
    groups = page.locator("[data-copies]")
    expect(page.locator("#copies-words")).to_have_text(
        "3 groups of samples that are the same or nearly, 1 group with different labels."
    )
    first = groups.nth(0)
    expect(first.locator(".chip")).to_have_text("labels differ")
    assert first.locator(".mini-label").all_inner_texts() == ["cat suspect", "cat", "owl"]
    assert first.locator("img").count() == 3
    expect(groups.nth(1)).to_contain_text("1 copy in the test set")
    assert first.locator(".pair-buttons button").all_inner_texts() == [
        "Keep one\xa0cat",
        "Keep one\xa0owl",
        "Drop all",
    ]
    first.get_by_role("button", name="Keep one owl").click()
    expect(first.locator(".group-done")).to_have_text("all decided")
    page.click("#copies-all")
    expect(groups.nth(2).locator(".group-done")).to_have_text("all decided")
    assert groups.nth(2).get_by_role("button", name="Keep one").is_disabled()
    decided = read_decisions(download(page, tmp_path))
    assert {(each.id[6:11], each.decision) for each in decided} == {
        ("00000", "drop"), ("00090", "drop"), ("00093", "keep"), ("00060", "keep"), ("00063", "drop"),
    }  # fmt: skip
    page.click("#undo")
    expect(groups.nth(2).locator(".group-done")).to_have_text("")
    groups.nth(2).get_by_role("button", name="2 samples, the same").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 2 shown"))


def test_annotators_are_judged_and_samples_asked_about_again(open_report, team):
    page = open_report(team)
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Annotators").click()
    expect(page.locator("#annotators-title")).to_be_in_viewport()
    expect(page.locator("#agreement")).to_have_text(re.compile(r"Krippendorff's alpha is 0\.\d\d"))
    people = page.locator("#people tbody tr")
    expect(people).to_have_count(3)
    expect(people.nth(0).locator("th")).to_have_text("<b>cleo</b>")
    expect(page.locator("#people tbody tr", has_text="ben").locator("td").first).to_have_text("119")
    asked = page.locator("#asked tbody tr")
    expect(asked).to_have_count(10)
    page.click("#asked-more")
    expect(asked).to_have_count(50)
    expect(asked.filter(has_text="photo-00005.jpg").locator("td").last).to_have_text("ben")
    asked.nth(0).locator("th button").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 1 shown"))
