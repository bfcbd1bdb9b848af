"""The page in a real browser: what it shows, filters, sorting, paging, charts."""

import re

import numpy as np
from playwright.sync_api import expect
from report_pages import expect_first_ids, photo, press
from report_tables import make_table

import graylearn as gl
from graylearn.report import ReportData, image_preview, row_preview, text_preview

CLASSES = ("cat", "dog", "owl")


def test_what_was_found_is_on_the_page(open_report, small):
    page = open_report(small)
    assert page.title() == "Pets · graylearn report"
    summary = "Of 120 samples 40 look mislabelled and 20 seem to belong to no class."
    assert page.locator(".lead").inner_text() == summary
    assert page.locator(".tile-number").all_inner_texts() == ["60", "40", "20"]
    rows = page.locator("table.classes tbody tr")
    assert rows.count() == 3
    # Of the 60 suspects each label has 20; all suspects labelled owl (index 2 mod 3) are ood.
    assert "40 samples, 0 mislabelled, 20 of no class" in rows.nth(2).inner_text()
    assert page.locator("#count").inner_text() == "1 to 25 of 60 shown, out of 60 suspects"
    expect(page.locator(".sample .id")).to_have_text([photo(index) for index in range(25)])
    first = page.locator(".sample").first
    assert first.locator(".claim").inner_text() == "labelled cat, looks like dog"
    assert "0.999" in first.inner_text()
    third = page.locator(".sample").nth(2).locator(".claim")
    assert third.inner_text() == "labelled owl, belongs to no class"


def test_filters_narrow_the_list(open_report, small):
    page = open_report(small)
    shown = page.locator("#count")
    page.select_option("#kind", "2")
    expect(shown).to_have_text(re.compile("of 20 shown"))
    page.select_option("#kind", "")
    page.select_option("#label", label="dog")
    expect(shown).to_have_text(re.compile("of 20 shown"))
    page.select_option("#suggested", label="cat")
    expect(shown).to_have_text(
        "No suspect passes these filters. Show all samples to look through the others too."
    )
    page.select_option("#suggested", label="owl")
    expect(shown).to_have_text(re.compile("of 20 shown"))
    page.click("#reset")
    expect(shown).to_have_text(re.compile("of 60 shown"))
    page.select_option("#kind", label="not flagged")
    expect(shown).to_have_text(re.compile("^No suspect passes"))
    page.select_option("#scope", "all")
    expect(shown).to_have_text("1 to 25 of 60 shown, out of 120 samples")
    page.fill("#search", "nothing is called so")
    expect(shown).to_have_text("No sample passes these filters.")
    page.click("#reset")
    page.select_option("#scope", "all")
    expect(shown).to_have_text("1 to 25 of 120 shown, out of 120 samples")
    page.fill("#search", "PHOTO-0011")
    expect(shown).to_have_text(re.compile("of 10 shown"))
    expect(page.locator(".sample .id")).to_have_text([photo(index) for index in range(110, 120)])
    page.click("#reset")
    page.locator("table.classes button", has_text="owl").click()
    expect(shown).to_have_text(re.compile("of 20 shown, out of 60 suspects"))


def test_the_list_is_sorted_as_asked(open_report, small):
    page = open_report(small)
    page.select_option("#sort", "score-up")
    expect_first_ids(page, photo(59), photo(58), photo(57))
    page.select_option("#sort", "confidence-down")
    expect_first_ids(page, photo(59))
    page.select_option("#sort", "label")
    expect_first_ids(page, *(photo(index) for index in [*range(0, 60, 3), 1]))
    page.select_option("#sort", "score-down")
    expect_first_ids(page, photo(0))


def test_pages_turn(open_report, small):
    page = open_report(small)
    expect(page.locator("#pages")).to_have_text("3")
    expect(page.locator("#previous")).to_be_disabled()
    page.click("#next")
    expect_first_ids(page, photo(25))
    page.click("#last")
    expect(page.locator(".sample .id")).to_have_text([photo(index) for index in range(50, 60)])
    expect(page.locator("#next")).to_be_disabled()
    page.click("#first")
    expect_first_ids(page, photo(0))
    page.fill("#page", "2")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text(re.compile("^26 to 50 of 60"))
    page.select_option("#page-size", "10")
    expect(page.locator("#count")).to_have_text(re.compile("^21 to 30 of 60"))
    expect(page.locator(".sample")).to_have_count(10)


def test_pictures_rows_texts_and_curves_are_shown(open_report):
    def look(index):
        if index % 3 == 0:
            return image_preview(np.full((20, 20, 3), 40 + index, np.uint8))
        if index % 3 == 1:
            return row_preview({f"column {i}": f"value {index}" for i in range(12)})
        return text_preview(f"sentence {index} " + "word " * 200) if index % 2 else None

    curves = np.full((3, 120), np.nan)
    curves[:, 0], curves[:, 1] = [0.1, 0.5, 0.9], [0.2, np.nan, 0.3]
    data = ReportData(title="Mixed", table=make_table(), classes=CLASSES, previews=look, curves=curves)
    page = open_report(data)
    items = page.locator(".sample")
    assert (
        items.nth(0).locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 20
    )
    assert items.nth(0).locator("svg.spark").get_attribute("aria-label") == (
        "confidence in the given label, 0.10 at first and 0.90 at last of 3 epochs"
    )
    expect(items.nth(4).locator(".spark")).to_have_count(0)
    assert items.nth(1).locator(".cells").first.locator("dd").all_inner_texts() == ["value 1"] * 8
    items.nth(1).locator("summary").click()
    expect(items.nth(1).locator("dd")).to_have_count(12)
    assert "more characters)" in items.nth(5).inner_text()
    expect(items.nth(2).locator(".sample-text, img, .cells")).to_have_count(0)
    page.fill("#search", "sentence 59")
    expect(page.locator("#count")).to_have_text(re.compile("of 1 shown"))
    expect(page.locator(".sample .id")).to_have_text([photo(59)])


def test_the_charts_are_drawn(open_report):
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), size=300)
    target = rng.integers(0, 3, 300)
    data = ReportData(
        title="Charts",
        table=make_table(),
        classes=CLASSES,
        facts={"samples": 12345, "seconds": 1.5, "refined": True},
        threshold=0.5,
        notes=["The audit abstained here."],
        contamination={"ood": 0.1, "mislabelled": 0.25, "total": 0.35},
        reliability=gl.metrics.reliability(probabilities, target, 10),
        confusion=np.array([[5, 1, 0], [0, 7, 3], [0, 0, 9]]),
        accuracies={"standard": (0.9, None), "gray": (0.92, 0.01)},
        training_log=[
            {"epoch": 1, "loss": 2.0, "accuracy": 0.3, "note": "x"},
            {"epoch": 2, "loss": float("nan"), "accuracy": 0.5},
            {"epoch": 3, "loss": 1.0, "accuracy": 0.6},
        ],
    )
    page = open_report(data)
    assert page.locator("figure h3").all_inner_texts() == [
        "Scores",
        "Accuracy on the test set",
        "Calibration",
        "Training",
        "Confusion",
    ]
    assert "flagged from 0.50" in page.locator("figure").nth(0).inner_text()
    assert "92.0 ± 1.0" in page.locator("figure").nth(1).inner_text()
    ece = gl.metrics.ece(probabilities, target, 10)
    assert f"Expected calibration error {100 * ece:.1f}%" in page.locator("figcaption").nth(2).inner_text()
    expect(page.locator("figure").nth(3).locator("svg[role=img]")).to_have_count(2)
    pairs = page.locator(".pairs tbody tr").all_inner_texts()
    assert [pair.split("\t") for pair in pairs] == [
        ["dog", "owl", "3", "30.0%"],
        ["cat", "dog", "1", "16.7%"],
    ]
    page.locator("svg[aria-label^=Confusion] .wrong").first.hover(force=True)
    expect(page.locator(".readout")).to_have_text(re.compile("given (dog|cat), predicted (owl|dog): [31]"))
    assert page.locator("#facts").inner_text().split("\n") == [
        *("samples", "12,345"),
        *("seconds", "1.5"),
        *("refined", "yes"),
    ]
    assert "35.0%" in page.locator(".tiles").inner_text()
    assert page.locator(".note").inner_text() == "The audit abstained here."


def test_one_sample_is_told_as_one(open_report):
    classes = ("cat", "dog", "owl")
    page = open_report(ReportData(title="Few", table=make_table(4, 1), classes=classes))
    told = page.locator("table.classes td .unseen").all_text_contents()
    assert [each.split(",")[0] for each in told] == ["2 samples", "1 sample", "1 sample"]


def test_many_classes_stay_readable(open_report):
    classes = tuple(f"class {k:03d}" for k in range(150))
    confusion = np.eye(150, dtype=int) * 9 + np.eye(150, k=1, dtype=int)
    table = make_table(600, 300, classes)
    page = open_report(ReportData(title="Many", table=table, classes=classes, confusion=confusion))
    assert page.locator("svg[aria-label^=Confusion] path").count() <= 16
    expect(page.locator("table.classes tbody tr")).to_have_count(12)
    page.get_by_role("button", name="Show all 150 classes").click()
    expect(page.locator("table.classes tbody tr")).to_have_count(150)
    page.locator(".sample").first.focus()
    press(page, "r")
    page.fill("#relabel-search", "class 14")
    expect(page.locator("#relabel-list option")).to_have_count(10)
