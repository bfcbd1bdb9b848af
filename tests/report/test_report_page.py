"""The page in a real browser: what it shows, filters, sorting, paging, review by mouse and keyboard."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from report_tables import make_table

import graylearn as gl
from graylearn.report import Decision, ReportData, image_preview, read_decisions, row_preview, text_preview
from graylearn.report.payload import build_payload

CLASSES = ("cat", "dog", "owl")


def ids(page):
    return page.locator(".sample .id").all_inner_texts()


def photo(place):
    return f"photo-{place:05d}.jpg"


def verdicts(page):
    return page.locator(".sample").evaluate_all("items => items.map(item => item.dataset.decided)")


def download(page, tmp_path):
    with page.expect_download() as started:
        page.locator("#download").click()
    path = tmp_path / started.value.suggested_filename
    started.value.save_as(path)
    return path


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_what_was_found_is_on_the_page(open_report, small):
    page = open_report(small)
    assert page.title() == "Pets · graylearn report"
    assert "60 of 120 samples do not seem to belong" in page.locator(".lead").inner_text()
    assert page.locator(".tile-number").all_inner_texts() == ["60", "40", "20"]
    rows = page.locator("table.classes tbody tr")
    assert rows.count() == 3
    # Of the 60 suspects each label has 20; all suspects labelled owl (place 2 mod 3) are ood.
    assert "40 samples, 0 mislabelled, 20 out of distribution" in rows.nth(2).inner_text()
    assert page.locator("#count").inner_text() == "1 to 25 of 60 shown, out of 60 suspects"
    assert ids(page) == [photo(place) for place in range(25)]
    first = page.locator(".sample").first
    assert first.locator(".claim").inner_text() == "labelled cat, looks like dog"
    assert "0.999" in first.inner_text()
    assert page.locator(".sample").nth(2).locator(".claim").inner_text() == "labelled owl, fits no class"


def test_filters_narrow_the_list(open_report, small):
    page = open_report(small)
    shown = page.locator("#count")
    page.select_option("#kind", "2")
    expect(shown).to_have_text(re.compile("of 20 shown"))
    page.select_option("#kind", "")
    page.select_option("#label", label="dog")
    expect(shown).to_have_text(re.compile("of 20 shown"))
    page.select_option("#suggested", label="cat")
    expect(shown).to_have_text("No sample passes these filters.")
    page.select_option("#suggested", label="owl")
    expect(shown).to_have_text(re.compile("of 20 shown"))
    page.click("#reset")
    expect(shown).to_have_text(re.compile("of 60 shown"))
    page.select_option("#scope", "all")
    expect(shown).to_have_text("1 to 25 of 120 shown, out of 120 samples")
    page.fill("#search", "PHOTO-0011")
    expect(shown).to_have_text(re.compile("of 10 shown"))
    assert ids(page) == [photo(place) for place in range(110, 120)]
    page.click("#reset")
    page.locator("table.classes button", has_text="owl").click()
    expect(shown).to_have_text(re.compile("of 20 shown, out of 60 suspects"))


def test_the_list_is_sorted_as_asked(open_report, small):
    page = open_report(small)
    page.select_option("#sort", "score-up")
    assert ids(page)[:3] == [photo(59), photo(58), photo(57)]
    page.select_option("#sort", "confidence-down")
    assert ids(page)[0] == photo(59)
    page.select_option("#sort", "label")
    assert ids(page)[:21] == [photo(place) for place in [*range(0, 60, 3), 1]]
    page.select_option("#sort", "score-down")
    assert ids(page)[0] == photo(0)


def test_pages_turn(open_report, small):
    page = open_report(small)
    expect(page.locator("#pages")).to_have_text("3")
    assert page.locator("#previous").is_disabled()
    page.click("#next")
    assert ids(page)[0] == photo(25)
    page.click("#last")
    assert ids(page) == [photo(place) for place in range(50, 60)]
    assert page.locator("#next").is_disabled()
    page.click("#first")
    assert ids(page)[0] == photo(0)
    page.fill("#page", "2")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text(re.compile("^26 to 50 of 60"))
    page.select_option("#page-size", "10")
    expect(page.locator("#count")).to_have_text(re.compile("^21 to 30 of 60"))
    assert page.locator(".sample").count() == 10


def test_deciding_by_mouse_downloads_and_reads_back(open_report, small, tmp_path):
    page = open_report(small)
    items = page.locator(".sample")
    assert page.locator("#download").is_disabled()
    items.nth(0).get_by_role("button", name="Keep").click()
    items.nth(1).get_by_role("button", name="Drop").click()
    items.nth(3).get_by_role("button", name="Relabel").click()
    expect(page.locator("#relabel-dialog")).to_be_visible()
    # The given label is no choice, and the suggestion comes first.
    assert page.locator("#relabel-list option").all_inner_texts() == ["dog", "owl"]
    page.fill("#relabel-search", "OW")
    assert page.locator("#relabel-list option").all_inner_texts() == ["owl"]
    page.click("#relabel-ok")
    expect(page.locator("#relabel-dialog")).to_be_hidden()
    assert verdicts(page)[:5] == ["keep", "drop", "", "relabel", ""]
    assert items.nth(3).locator(".outcome").inner_text() == "will be owl"
    assert items.nth(0).get_by_role("button", name="Keep").get_attribute("aria-pressed") == "true"
    expect(page.locator("#progress")).to_have_text("3 of 60 suspects decided: 1 keep, 1 drop, 1 relabel")
    assert read_decisions(download(page, tmp_path)) == [
        Decision(photo(0), "keep"),
        Decision(photo(1), "drop"),
        Decision(photo(3), "relabel", "owl"),
    ]
    items.nth(0).get_by_role("button", name="Keep").click()  # the same again takes it back
    assert verdicts(page)[0] == ""


def test_deciding_by_keyboard(open_report, small):
    page = open_report(small)
    press(page, "n", "k", "d")
    assert verdicts(page)[:3] == ["keep", "drop", ""]
    expect(page.locator(".sample").nth(2)).to_be_focused()
    press(page, "ArrowDown", "a", "ArrowUp", "ArrowUp", "a")
    assert verdicts(page)[:5] == ["keep", "drop", "drop", "relabel", ""]
    press(page, "r")
    expect(page.locator("#relabel-list")).to_be_focused()
    press(page, "ArrowDown", "Enter")
    expect(page.locator("#relabel-dialog")).to_be_hidden()
    assert page.locator(".sample").nth(3).locator(".outcome").inner_text() == "will be owl"
    press(page, "u")
    assert page.locator(".sample").nth(3).locator(".outcome").inner_text() == "will be dog"
    press(page, "Control+z")
    assert verdicts(page)[:4] == ["keep", "drop", "", "relabel"]
    press(page, "ArrowRight")
    assert ids(page)[0] == photo(25)
    press(page, "ArrowUp")
    assert ids(page)[-1] == photo(24)
    expect(page.locator(".sample").nth(24)).to_be_focused()
    press(page, "k")  # the last of a page: on to the next page
    assert ids(page)[0] == photo(25)
    expect(page.locator(".sample").first).to_be_focused()


def test_letters_are_letters_in_fields_and_can_be_switched_off(open_report, small):
    page = open_report(small)
    press(page, "/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("dkarun?")
    assert page.input_value("#search") == "dkarun?"
    expect(page.locator("#count")).to_have_text("No sample passes these filters.")
    page.click("#reset")
    page.locator(".sample").first.focus()
    press(page, "?")
    expect(page.locator("#help-dialog")).to_be_visible()
    press(page, "k")
    page.uncheck("#letters")
    press(page, "Escape")
    page.locator(".sample").first.focus()
    press(page, "k", "d", "a")
    assert set(verdicts(page)) == {""}


def test_deciding_for_many_and_taking_it_back(open_report, small, tmp_path):
    page = open_report(small)
    page.click("[data-bulk=accept]")
    assert verdicts(page) == ["drop" if place % 3 == 2 else "relabel" for place in range(25)]
    expect(page.locator("#progress")).to_have_text("25 of 60 suspects decided: 0 keep, 8 drop, 17 relabel")
    expect(page.locator("#message")).to_have_text(re.compile("35 more in this list are undecided"))
    page.select_option("#kind", "2")
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=keep]")
    expect(page.locator("#progress")).to_have_text("37 of 60 suspects decided: 12 keep, 8 drop, 17 relabel")
    expect(page.locator("#message")).to_have_text(re.compile("8 samples decided before stay as they are"))
    page.select_option("#decision", "3")
    expect(page.locator("#count")).to_have_text("No sample passes these filters.")
    page.click("#undo")
    expect(page.locator("#progress")).to_have_text("25 of 60 suspects decided: 0 keep, 8 drop, 17 relabel")
    page.click("#undo")
    expect(page.locator("#progress")).to_have_text("0 of 60 suspects decided")
    assert page.locator("#undo").is_disabled()
    page.click("#reset")
    page.click("[data-bulk=accept]")
    decisions = read_decisions(download(page, tmp_path))
    assert [one.id for one in decisions] == [photo(place) for place in range(60)]
    assert [one.label for one in decisions[:3]] == ["dog", "owl", None]


def test_decisions_survive_a_reload_and_belong_to_their_run(open_report, small):
    page = open_report(small)
    press(page, "n", "k", "a")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert verdicts(page)[:3] == ["keep", "relabel", ""]
    other = ReportData(title="Pets", table=small.table, classes=CLASSES, run="another")
    assert set(verdicts(open_report(other, "other.html"))) == {""}


def test_decisions_are_loaded_from_a_file(open_report, small, tmp_path):
    page = open_report(small)
    path = tmp_path / "mine.csv"
    path.write_text(
        "id,decision,label\n"
        f"{photo(0)},keep,\n{photo(1)},relabel,cat\n{photo(99)},drop,\n"
        f"nobody,keep,\n{photo(2)},burn,\n{photo(3)},relabel,horse\n"
    )
    page.set_input_files("#load", path)
    expect(page.locator("#message")).to_have_text(
        "3 decisions loaded. Left out: 1 id not in this report, 1 unknown decision, 1 unknown label."
    )
    assert verdicts(page)[:4] == ["keep", "relabel", "", ""]
    expect(page.locator("#progress")).to_have_text(
        "2 of 60 suspects decided, and 1 other sample: 1 keep, 1 drop, 1 relabel"
    )
    path.write_text("a,b\n1,2\n")
    page.set_input_files("#load", path)
    expect(page.locator("#message")).to_have_text(re.compile("^Not a file of decisions"))
    page.click("#undo")
    expect(page.locator("#progress")).to_have_text("0 of 60 suspects decided")


def test_decisions_of_another_run_are_not_loaded(open_report, small, tmp_path):
    page = open_report(small)
    press(page, "n", "k", "d")
    mine = download(page, tmp_path)
    text = mine.read_text(encoding="utf-8-sig")
    assert text.startswith("id,decision,label,given,run")
    other = ReportData(title="Pets", table=small.table, classes=CLASSES, run="another")
    page = open_report(other, "other.html")
    page.set_input_files("#load", mine)
    expect(page.locator("#message")).to_have_text(re.compile("^These are decisions of another run"))
    assert set(verdicts(page)) == {""}
    label = text.splitlines()[1].split(",")[3]
    named = "\n".join(line.rpartition(",")[0] for line in text.splitlines())  # without the column run
    path = tmp_path / "changed.csv"
    path.write_text(named.replace(f",{label}", ",unicorn", 1))
    page.set_input_files("#load", path)
    expect(page.locator("#message")).to_have_text(
        "1 decision loaded. Left out: 1 sample labelled otherwise here."
    )


def test_a_spreadsheet_may_name_the_separator_and_leave_samples_undecided(open_report, small, tmp_path):
    page = open_report(small)
    path = tmp_path / "mine.csv"
    path.write_text(f"sep=|\nid|decision|label\n{photo(0)}|relabel|cat\n{photo(1)}| |\n")
    page.set_input_files("#load", path)
    expect(page.locator("#message")).to_have_text("1 decision loaded.")
    assert verdicts(page)[:2] == ["relabel", ""]


def test_the_page_works_where_storage_is_denied(context, open_report, small, tmp_path):
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied'); }})"
    )
    page = open_report(small)
    page.click("#theme")
    press(page, "n", "k")
    assert verdicts(page)[0] == "keep"
    expect(page.locator("#message")).to_have_text(re.compile("does not let the page keep decisions"))
    assert read_decisions(download(page, tmp_path)) == [Decision(photo(0), "keep")]


def test_what_lies_in_the_storage_may_be_rubbish(context, open_report, small):
    run = build_payload(small)[0]["run"]
    rubbish = '[[0,9,1],[1,3,77],[2,1,-1],"x",null,[5000,1,-1]]'
    context.add_init_script(
        f"if (location.protocol === 'file:') localStorage.setItem('graylearn:decisions:{run}', '{rubbish}')"
    )
    assert verdicts(open_report(small))[:4] == ["", "", "keep", ""]


def test_pictures_rows_texts_and_curves_are_shown(open_report):
    def look(place):
        if place % 3 == 0:
            return image_preview(np.full((20, 20, 3), 40 + place, np.uint8))
        if place % 3 == 1:
            return row_preview({f"column {i}": f"value {place}" for i in range(12)})
        return text_preview(f"sentence {place} " + "word " * 200) if place % 2 else None

    data = ReportData(
        title="Mixed",
        table=make_table(),
        classes=CLASSES,
        previews=look,
        curves={0: [0.1, 0.5, 0.9], 1: [0.2, float("nan"), 0.3]},
    )
    page = open_report(data)
    items = page.locator(".sample")
    assert (
        items.nth(0).locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 20
    )
    assert items.nth(0).locator("svg.spark").get_attribute("aria-label") == (
        "confidence in the given label, 0.10 at first and 0.90 at last of 3 epochs"
    )
    assert items.nth(4).locator(".spark").count() == 0
    assert items.nth(1).locator(".cells").first.locator("dd").all_inner_texts() == ["value 1"] * 8
    items.nth(1).locator("summary").click()
    assert items.nth(1).locator("dd").count() == 12
    assert "more characters)" in items.nth(5).inner_text()
    assert items.nth(2).locator(".sample-text, img, .cells").count() == 0
    page.fill("#search", "sentence 59")
    expect(page.locator("#count")).to_have_text(re.compile("of 1 shown"))
    assert ids(page) == [photo(59)]


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
    assert (
        f"Expected calibration error {100 * ece:.1f}\xa0%" in page.locator("figcaption").nth(2).inner_text()
    )
    assert page.locator("figure").nth(3).locator("svg[role=img]").count() == 2
    pairs = page.locator(".pairs tbody tr").all_inner_texts()
    assert [pair.split("\t") for pair in pairs] == [
        ["dog", "owl", "3", "30.0\xa0%"],
        ["cat", "dog", "1", "16.7\xa0%"],
    ]
    page.locator("svg[aria-label^=Confusion] .wrong").first.hover(force=True)
    expect(page.locator(".readout")).to_have_text(re.compile("given (dog|cat), predicted (owl|dog): [31]"))
    assert page.locator("#facts").inner_text().split("\n") == [
        *("samples", "12,345"),
        *("seconds", "1.5"),
        *("refined", "yes"),
    ]
    assert "35.0\xa0%" in page.locator(".tiles").inner_text()
    assert page.locator(".note").inner_text() == "The audit abstained here."


def test_many_classes_stay_readable(open_report):
    classes = tuple(f"class {k:03d}" for k in range(150))
    confusion = np.eye(150, dtype=int) * 9 + np.eye(150, k=1, dtype=int)
    table = make_table(600, 300, classes)
    page = open_report(ReportData(title="Many", table=table, classes=classes, confusion=confusion))
    assert page.locator("svg[aria-label^=Confusion] path").count() <= 16
    assert page.locator("table.classes tbody tr").count() == 12
    page.get_by_role("button", name="Show all 150 classes").click()
    assert page.locator("table.classes tbody tr").count() == 150
    page.locator(".sample").first.focus()
    press(page, "r")
    page.fill("#relabel-search", "class 14")
    assert page.locator("#relabel-list option").count() == 10


@pytest.mark.parametrize("suspects", [0, 1])
def test_few_suspects_and_none(open_report, suspects):
    page = open_report(ReportData(title="Clean", table=make_table(30, suspects), classes=CLASSES))
    if suspects:
        assert (
            "1 of 30 samples does not seem to belong where the label puts it"
            in page.locator(".lead").inner_text()
        )
    else:
        assert page.locator(".lead").inner_text() == "None of the 30 samples was flagged."
        expect(page.locator("#count")).to_have_text(re.compile("^Nothing was flagged"))
        page.select_option("#scope", "all")
    assert page.locator(".sample").count() == (1 if suspects else 25)
