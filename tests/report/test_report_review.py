"""Review in a real browser: deciding by mouse and keyboard, for many, undoing, keeping, loading."""

import re

import numpy as np
from playwright.sync_api import expect
from report_pages import Watched, download, expect_first_ids, expect_verdicts, load, photo, press, verdicts
from report_tables import make_table

from graylearn.report import Decision, ReportData, read_decisions, write_report

CLASSES = ("cat", "dog", "owl")


def load_decisions(page, text, message):
    """Give the page a file with this text, of which it says this."""
    page.set_input_files("#load", {"name": "mine.csv", "mimeType": "text/csv", "buffer": text.encode()})
    expect(page.locator("#message")).to_have_text(message)


def test_deciding_by_mouse_downloads_and_reads_back(open_report, small, tmp_path):
    page = open_report(small)
    items = page.locator(".sample")
    expect(page.locator("#download")).to_be_disabled()
    items.nth(0).get_by_role("button", name="Keep").click()
    items.nth(1).get_by_role("button", name="Drop").click()
    items.nth(3).get_by_role("button", name="Relabel").click()
    expect(page.locator("#relabel-dialog")).to_be_visible()
    # The given label is no choice, and the suggestion comes first.
    expect(page.locator("#relabel-list option")).to_have_text(["dog", "owl"])
    page.fill("#relabel-search", "OW")
    expect(page.locator("#relabel-list option")).to_have_text(["owl"])
    page.click("#relabel-ok")
    expect(page.locator("#relabel-dialog")).to_be_hidden()
    expect_verdicts(page, "keep", "drop", "", "relabel", "")
    expect(items.nth(3).locator(".outcome")).to_have_text("will be owl")
    expect(items.nth(0).get_by_role("button", name="Keep")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#progress")).to_have_text("3 of 60 suspects decided: 1 keep, 1 drop, 1 relabel")
    assert read_decisions(download(page, tmp_path)) == [
        Decision(photo(0), "keep"),
        Decision(photo(1), "drop"),
        Decision(photo(3), "relabel", "owl"),
    ]
    items.nth(0).get_by_role("button", name="Keep").click()  # the same again takes it back
    expect_verdicts(page, "")


def test_deciding_by_keyboard(open_report, small):
    page = open_report(small)
    press(page, "n", "k", "d")
    expect_verdicts(page, "keep", "drop", "")
    expect(page.locator(".sample").nth(2)).to_be_focused()
    press(page, "ArrowDown", "a", "ArrowUp", "ArrowUp", "a")
    expect_verdicts(page, "keep", "drop", "drop", "relabel", "")
    press(page, "r")
    expect(page.locator("#relabel-list")).to_be_focused()
    press(page, "ArrowDown", "Enter")
    expect(page.locator("#relabel-dialog")).to_be_hidden()
    expect(page.locator(".sample").nth(3).locator(".outcome")).to_have_text("will be owl")
    press(page, "u")
    expect(page.locator(".sample").nth(3).locator(".outcome")).to_have_text("will be dog")
    press(page, "Control+z")
    expect_verdicts(page, "keep", "drop", "", "relabel")
    press(page, "ArrowRight")
    expect_first_ids(page, photo(25))
    press(page, "ArrowUp")
    expect(page.locator(".sample .id").last).to_have_text(photo(24))
    expect(page.locator(".sample").nth(24)).to_be_focused()
    press(page, "k")  # the last of a page: on to the next page
    expect_first_ids(page, photo(25))
    expect(page.locator(".sample").first).to_be_focused()


def test_letters_are_letters_in_fields_and_can_be_switched_off(open_report, small):
    page = open_report(small)
    press(page, "/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("dkarun?")
    expect(page.locator("#search")).to_have_value("dkarun?")
    expect(page.locator("#count")).to_have_text(re.compile("^No suspect passes these filters"))
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


def test_what_is_suggested_is_the_first_button(open_report, small):
    page = open_report(small)
    first = page.locator(".sample .verdict button:first-child")
    page.select_option("#kind", "1")
    expect(first.first).to_have_text(re.compile("^→"))
    page.select_option("#kind", "2")
    expect(first.first).to_have_text("Drop")
    first.first.click()
    expect_verdicts(page, "drop", *[""] * 19)


def test_deciding_for_many_and_taking_it_back(open_report, small, tmp_path):
    page = open_report(small)
    page.click("[data-bulk=accept]")
    expect_verdicts(page, *("drop" if index % 3 == 2 else "relabel" for index in range(25)))
    expect(page.locator("#progress")).to_have_text("25 of 60 suspects decided: 0 keep, 8 drop, 17 relabel")
    expect(page.locator("#message")).to_have_text(re.compile("35 more in this list are undecided"))
    page.select_option("#kind", "2")
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=keep]")
    expect(page.locator("#progress")).to_have_text("37 of 60 suspects decided: 12 keep, 8 drop, 17 relabel")
    expect(page.locator("#message")).to_have_text(re.compile("8 samples decided before stay as they are"))
    page.select_option("#decision", "3")
    expect(page.locator("#count")).to_have_text(re.compile("^No suspect passes these filters"))
    page.click("#undo")
    expect(page.locator("#progress")).to_have_text("25 of 60 suspects decided: 0 keep, 8 drop, 17 relabel")
    page.click("#undo")
    expect(page.locator("#progress")).to_have_text("0 of 60 suspects decided")
    expect(page.locator("#undo")).to_be_disabled()
    page.click("#reset")
    page.click("[data-bulk=accept]")
    decisions = read_decisions(download(page, tmp_path))
    assert [one.id for one in decisions] == [photo(index) for index in range(60)]
    assert [one.label for one in decisions[:3]] == ["dog", "owl", None]


def test_decisions_survive_a_reload_and_belong_to_their_run(open_report, small):
    page = open_report(small)
    press(page, "n", "k", "a")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    expect_verdicts(page, "keep", "relabel", "")
    other = ReportData(title="Pets", table=small.table, classes=CLASSES, run="another")
    assert set(verdicts(open_report(other, "other.html"))) == {""}


def test_decisions_are_loaded_from_a_file(open_report, small):
    page = open_report(small)
    load_decisions(
        page,
        "id,decision,label\n"
        f"{photo(0)},keep,\n{photo(1)},relabel,cat\n{photo(99)},drop,\n"
        f"nobody,keep,\n{photo(2)},burn,\n{photo(3)},relabel,horse\n",
        "3 decisions loaded. Left out: 1 id not in this report, 1 unknown decision, 1 unknown label.",
    )
    expect_verdicts(page, "keep", "relabel", "", "")
    expect(page.locator("#progress")).to_have_text(
        "2 of 60 suspects decided, and 1 other sample: 1 keep, 1 drop, 1 relabel"
    )
    load_decisions(page, "a,b\n1,2\n", re.compile("^Not a file of decisions"))
    page.click("#undo")
    expect(page.locator("#progress")).to_have_text("0 of 60 suspects decided")


def test_decisions_of_another_run_are_not_loaded(open_report, small, tmp_path):
    page = open_report(small)
    press(page, "n", "k", "d")
    text = download(page, tmp_path).read_text(encoding="utf-8-sig")
    assert text.startswith("id,decision,label,given,run")
    other = ReportData(title="Pets", table=small.table, classes=CLASSES, run="another")
    page = open_report(other, "other.html")
    load_decisions(page, text, re.compile("^These are decisions of another run"))
    assert set(verdicts(page)) == {""}
    label = text.splitlines()[1].split(",")[3]
    named = "\n".join(line.rpartition(",")[0] for line in text.splitlines())  # without the column run
    changed = named.replace(f",{label}", ",unicorn", 1)
    load_decisions(page, changed, "1 decision loaded. Left out: 1 sample labelled otherwise here.")


def test_decisions_that_a_spreadsheet_saved_are_loaded(open_report):
    classes = ("False", "True", "007")
    page = open_report(
        ReportData(title="Pets", table=make_table(classes=classes).assign(id=range(120)), classes=classes)
    )
    lines = [
        "\ufeffID;Decision;Label;given",
        '" 0 ";Keep;;FALSE',
        "1.0;RELABEL;FALSE;TRUE",
        '"02";Relabel;TRUE;7',
        "3;DROP;;",
        "3.0;keep;;",
        "4;relabel;7;FALSE",
        "",
    ]
    load_decisions(
        page,
        "\r\n".join(lines),
        "4 decisions loaded. "
        "Left out: 1 decision on a sample decided above, 1 sample labelled otherwise here.",
    )
    expect_verdicts(page, "keep", "relabel", "relabel", "drop", "")
    expect(page.locator(".sample").nth(2).locator(".outcome")).to_have_text("will be True")


def test_the_page_works_where_storage_is_denied(context, small, tmp_path):
    watched = Watched(context)
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied'); }})"
    )
    page = load(context.new_page(), write_report(tmp_path / "report.html", small))
    page.click("#theme")
    press(page, "n", "k")
    expect_verdicts(page, "keep")
    expect(page.locator("#message")).to_have_text(re.compile("does not let the page keep decisions"))
    assert read_decisions(download(page, tmp_path)) == [Decision(photo(0), "keep")]
    watched.assert_clean()


def test_where_nothing_is_flagged_nothing_is_accepted(open_report):
    shares = dict.fromkeys(("ood", "mislabelled", "total"))
    chances = np.eye(3)[np.arange(120) % 3]
    chances[:2] = (0.1, 0.1, 0.8)  # a cat and a dog that look like owls
    data = ReportData(
        title="Pets",
        table=make_table(suspects=0),
        classes=CLASSES,
        contamination=shares,
        look_first=7,
        probabilities=chances,
    )
    page = open_report(data)
    expect(page.locator("#tiles")).to_contain_text("not judged")
    expect(page.locator("#tiles .tile.ok")).to_contain_text(re.compile("not flagged.*not to say clean"))
    page.select_option("#scope", "all")
    expect(page.locator(".sample")).to_have_count(25)
    page.click("[data-bulk=accept]")
    expect(page.locator("#message")).to_have_text(re.compile("^Nothing is flagged here"))
    page.locator(".sample").nth(2).focus()
    press(page, "a")
    expect(page.locator("#message")).to_have_text(re.compile("^No other class is likelier"))
    expect(page.locator("#download")).to_be_disabled()
    page.click("[data-bulk=keep]")
    expect(page.locator("#progress")).to_have_text("25 samples decided: 25 keep, 0 drop, 0 relabel")
    page.get_by_text("Look at the first 7 by score").click()
    expect(page.locator(".sample")).to_have_count(7)
    expect(page.locator("#only")).to_have_text("Only the first 7 by score.")
    expect(page.locator("#scope option:checked")).to_have_text("those named below")
    page.select_option("#scope", "all")
    expect(page.locator("#only")).to_be_hidden()
    expect(page.locator(".sample")).to_have_count(25)
    page.click("#undo")
    first, second = page.locator(".sample").nth(0), page.locator(".sample").nth(1)
    expect(first.locator(".claim")).to_have_text("labelled cat, looks most like owl")
    expect(page.locator(".sample").nth(2).locator(".claim")).to_have_text("labelled owl")
    expect(page.locator("[data-accept]")).to_have_count(2)
    first.locator("[data-accept]").click()
    second.focus()
    press(page, "a")
    expect_verdicts(page, "relabel", "relabel", "")
    expect(second.locator(".outcome")).to_have_text("will be owl")
