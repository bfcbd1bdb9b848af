"""The page explains itself: why, comparisons, pictures, groups, the map, and what to do next."""

import re

import numpy as np
import pandas as pd
from playwright.sync_api import expect
from report_pages import download, expect_verdicts
from report_tables import make_table

from graylearn.report import Decision, ReportData, image_preview, read_decisions, row_preview

CLASSES = ("cat", "dog", "owl")


def explored(**fields):
    """The small report with everything that can stand beside a sample: suspects lie with the next class."""
    rng = np.random.default_rng(0)
    index = np.arange(120)
    looks = np.where((index < 60) & (index % 3 != 2), (index + 1) % 3, index % 3)
    chance = np.full((120, 3), 0.05)
    chance[index, looks] = 0.9
    table = fields.pop("table", make_table())
    return ReportData(
        **{
            "title": "Pets",
            "run": "pets",
            "table": table.assign(confidence=chance[index, index % 3]),
            "classes": CLASSES,
            "probabilities": chance,
            "judge": "views that had not seen its label",
            "features": 9.0 * np.eye(3)[looks] + rng.normal(size=(120, 3)),
            "previews": lambda index: image_preview(np.full((60, 40, 3), 2 * index, np.uint8)),
            "command": "graylearn apply my-run decisions.csv --out pets-clean",
            **fields,
        }
    )


def test_a_suspect_says_why_and_stands_beside_what_it_is_like(open_report):
    table = make_table().assign(because="")
    table.loc[0, "because"] = "90% of its neighbours are dog, 5% cat; <b>no</b> view expects cat: 5%"
    curves = np.linspace(0.02, 0.95, 20)[:, None] * np.ones((1, 120))
    page = open_report(explored(table=table, curves=curves))
    first = page.locator(".sample").first
    assert first.locator(".why").inner_text() == f"{table['because'][0]}."
    assert page.locator(".sample").nth(1).locator(".why").count() == 0
    assert first.locator(".chances li").all_inner_texts()[0].split() == ["cat", "label", "5.0%"]
    assert len(first.locator(".chances li").all_inner_texts()) == 3
    assert first.locator(".strip-name").all_inner_texts() == [
        "nearest to it",
        "typical of cat",
        "typical of dog",
        "in training",
    ]
    typical = first.locator(".strip").nth(2)
    assert typical.locator(".mini-label").all_inner_texts() == ["dog"] * 3
    assert typical.locator("img").count() == 3
    assert "Memorised" in first.locator(".training").inner_text()
    assert first.locator(".score").inner_text().split() == ["rank", "1", "score", "0.999"]
    page.uncheck("#compare")
    expect(first.locator(".compare")).to_be_hidden()
    page.reload()
    expect(page.locator(".sample").first.locator(".compare")).to_be_hidden()


def test_pictures_open_large_and_as_a_grid(open_report):
    page = open_report(explored())
    page.locator(".sample").first.locator(".picture").click()
    expect(page.locator("#picture-dialog")).to_be_visible()
    expect(page.locator("#picture-words")).to_contain_text("labelled cat, looks like dog")
    page.wait_for_function("document.querySelector('#picture-stage img').clientHeight > 300")
    page.keyboard.press("Escape")
    page.locator(".sample").first.focus()
    page.keyboard.press("g")
    expect(page.locator(".tile-sample")).to_have_count(60)
    expect(page.locator(".tile-sample").first).to_be_focused()
    expect(page.locator("#compare")).to_be_hidden()  # tiles have no room for comparisons
    page.keyboard.press("c")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("k")
    expect_verdicts(page, "", "keep", "")
    page.keyboard.press("e")
    expect(page.locator("#picture-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    expect(page.locator(".sample .what")).to_have_count(25)
    expect(page.locator("#compare")).to_be_visible()
    expect(page.locator(".compare").first).to_be_visible()


def test_a_class_that_would_vanish_is_told_and_asked_about(open_report):
    label = np.array(["cat"] * 70 + ["dog"] * 50)
    suspected = np.arange(120) < 68
    table = make_table().assign(
        label=label,
        suspected=suspected,
        kind=np.where(suspected, "mislabelled", "ok"),
        suggested=np.where(suspected, "dog", label),
    )
    page = open_report(ReportData(title="Pets", table=table, classes=CLASSES))
    expect(page.locator("#danger-list")).to_have_text(
        re.compile("Most of cat is suspect: accepting all suggestions leaves 2 of 70 samples")
    )
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=accept]")
    expect(page.locator("#ask-list")).to_have_text("cat keeps 2 of 70 samples")
    page.click("#ask-cancel")
    expect(page.locator("#progress")).to_have_text("0 of 68 suspects decided")
    page.locator(".sample").first.get_by_role("button", name="Keep").click()
    page.click("[data-bulk=accept]")
    expect(page.locator("#ask-list")).to_have_text("cat keeps 3 of 70 samples")
    page.click("#ask-ok")
    expect(page.locator("#progress")).to_have_text("68 of 68 suspects decided: 1 keep, 0 drop, 67 relabel")
    expect_verdicts(page, "keep", "relabel")


def test_pairs_are_decided_at_once_and_progress_is_told_by_class(open_report):
    page = open_report(explored())
    lines = page.locator("#pairs [data-pair]")
    assert lines.count() == 3
    expect(page.locator("#together-card")).to_be_hidden()
    assert re.fullmatch(r"20 .\s*cat → dog", lines.nth(0).locator("th").inner_text())
    assert re.fullmatch(r"20 .\s*owl", lines.nth(2).locator("th").inner_text())
    keep = lines.nth(2).get_by_role("button", name="Keep")
    expect(keep).to_have_accessible_description(re.compile("20 ..*owl"))
    page.locator(".sample").nth(0).get_by_role("button", name="Keep").click()
    lines.nth(0).locator(".pair-buttons button").first.click()
    expect(page.locator("#progress")).to_have_text("20 of 60 suspects decided: 1 keep, 0 drop, 19 relabel")
    expect(lines.nth(0).locator(".group-done")).to_have_text("all decided")
    expect(lines.nth(0).locator("button").nth(1)).to_be_disabled()
    done = page.locator("table.classes tbody tr", has_text="cat").locator(".done")
    expect(done).to_have_text("all")
    page.click("#undo")
    expect(done).to_have_text("1")
    lines.nth(1).locator("th button").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 20 shown"))
    expect(page.locator("#only")).to_have_text("Only dog → owl.")
    page.click("#reset")
    expect(page.locator("#count")).to_have_text(re.compile("of 60 shown"))


def test_suspects_that_belong_together_are_decided_at_once(open_report):
    """Videos of twelve samples: four of each class, with the same mistake."""
    videos = [f"video {row // 12}.mp4" for row in range(120)]
    page = open_report(ReportData(title="Pets", table=make_table(), classes=CLASSES, groups=videos))
    lines = page.locator("#together [data-pair]")
    assert " ".join(lines.nth(0).locator("th").inner_text().split()) == "4 of 12 in video 0.mp4: cat → dog"
    assert "many at once by group" in page.locator("#steps").inner_text()
    assert lines.count() == 8 + 5
    page.locator("#together .more").click()
    assert lines.count() == 10 + 5
    lines.nth(1).locator(".pair-buttons button").first.click()
    expect(page.locator("#progress")).to_have_text("4 of 60 suspects decided: 0 keep, 0 drop, 4 relabel")
    assert lines.nth(1).locator(".group-done").inner_text() == "all decided"
    assert page.locator("#pairs .group-done").nth(1).inner_text() == "4 decided"
    lines.nth(0).locator("th button").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 4 shown"))


def test_two_tabs_do_not_write_over_each_other(open_report):
    one = open_report(explored())
    two = one.context.new_page()
    two.goto(one.url)
    two.wait_for_selector("html[data-ready]", state="attached")
    one.locator(".sample").nth(0).get_by_role("button", name="Keep").click()
    expect(two.locator("#progress")).to_have_text("1 of 60 suspects decided: 1 keep, 0 drop, 0 relabel")
    expect(two.locator("#message")).to_have_text("Decisions of another tab were taken over.")
    two.locator(".sample").nth(1).get_by_role("button", name="Drop").click()
    expect(one.locator("#progress")).to_have_text("2 of 60 suspects decided: 1 keep, 1 drop, 0 relabel")
    one.reload()
    one.wait_for_selector("html[data-ready]", state="attached")
    expect_verdicts(one, "keep", "drop", "")


def test_the_next_command_is_told(open_report, tmp_path):
    page = open_report(explored())
    assert "graylearn apply my-run decisions.csv --out pets-clean" in page.locator("#steps").inner_text()
    expect(page.locator("#command")).to_be_hidden()
    page.locator(".sample").first.locator("[data-accept]").click()
    assert read_decisions(download(page, tmp_path)) == [Decision("photo-00000.jpg", "relabel", "dog")]
    command = page.locator("#command code")
    expect(command).to_have_text("graylearn apply my-run decisions.csv --out pets-clean")
    page.locator("#command").get_by_role("button", name="Copy").click()
    expect(page.locator("#command [role=status]")).to_have_text(re.compile("copied|selected"))


def test_the_sure_ones_are_told_from_those_to_review(open_report):
    level = np.where(np.arange(120) < 60, np.where(np.arange(120) < 12, "sure", "review"), "")
    page = open_report(explored(table=make_table().assign(level=level)))
    assert page.locator(".sample").first.locator(".chip").all_inner_texts() == ["mislabelled", "sure"]
    page.get_by_role("link", name="Look through the 12 samples").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 12 shown"))
    page.get_by_role("link", name="Judge the 48 to review").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 48 shown"))


def test_misspelt_labels_are_a_step_of_their_own(open_report):
    index = np.arange(120)
    spelt = (index < 60) & (index % 3 == 1)  # "dogg", of which all are suspects that mean "dog"
    table = make_table()
    table["label"] = np.where(spelt, "dogg", np.where(table.label == "dog", "cat", table.label))
    table["suggested"] = np.where(spelt, "dog", table.suggested)
    table["level"] = np.where(index < 60, np.where(index < 12, "sure", "review"), "")
    classes = ("cat", "dog", "dogg", "owl")
    page = open_report(explored(table=table, classes=classes, probabilities=np.full((120, 4), 0.25)))
    expect(page.locator("#steps")).to_contain_text("20 labels are probably misspelt")
    page.get_by_role("link", name="Look through the 8 samples").click()
    expect(page.locator("#count")).to_have_text(re.compile("of 8 shown"))


def test_no_class_is_advised_of_a_picture_that_shows_little(open_report):
    chances = np.eye(3)[np.arange(120) % 3]
    chances[[100, 101]] = (1, 0, 0)  # a dog and an owl that look like cats, neither of them flagged
    page = open_report(explored(checks={"dark": [0, 100]}, probabilities=chances))
    first, second = page.locator(".sample").nth(0), page.locator(".sample").nth(1)
    assert first.locator(".chip").all_inner_texts() == ["mislabelled", "dark"]
    expect(first.locator(".advised")).to_have_count(0)
    expect(second.locator(".advised")).to_have_count(1)
    page.select_option("#scope", "all")
    page.select_option("#page-size", "100")
    page.click("#next")
    expect(page.locator("[data-row='100'] [data-accept]")).to_have_count(0)
    expect(page.locator("[data-row='101'] [data-accept]")).to_have_count(1)


def test_a_row_shows_first_what_makes_it_odd(open_report):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({f"c{k:02d}": rng.normal(size=120) for k in range(12)})
    rows["c11"] += 20.0 * (np.arange(120) % 3)
    rows.loc[0, "c11"] = 21.0
    page = open_report(
        explored(rows=rows, previews=lambda index: row_preview(rows.iloc[index].to_dict()), id_word="line")
    )
    first = page.locator(".sample").first
    table = first.locator(".odd tbody tr")
    assert table.nth(0).locator("th, td").first.inner_text() == "c11"
    cells = table.nth(0).locator("td").all_inner_texts()
    assert cells[0] == "21"
    assert abs(float(cells[1])) < 2  # the median of cat
    assert abs(float(cells[2]) - 20) < 2  # and of dog
    assert first.locator("thead").inner_text().split() == [
        "odd",
        "in",
        "this",
        "usual",
        "cat",
        "usual",
        "dog",
    ]
    assert first.locator(".id").inner_text() == "line photo-00000.jpg"
    first.locator("summary").click()
    expect(first.locator("details dd")).to_have_count(12)


def test_a_line_on_the_map_filters_the_list(open_report):
    page = open_report(explored())
    canvas = page.locator("#map")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    corners = [(2, 2), (box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2), (2, box["height"] - 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.up()
    expect(page.locator("#map-words")).to_have_text("120 samples inside the line, 60 of them suspected.")
    page.click("#map-all")
    expect(page.locator("#count")).to_have_text(re.compile("of 120 shown"))
    page.click("#reset")
    expect(page.locator("#count")).to_have_text(re.compile("of 60 shown"))


def test_another_threshold_says_what_it_would_flag(open_report):
    page = open_report(explored(threshold=0.5))
    page.locator("#threshold").fill("750")
    score = make_table()["score"]
    expected = int((score.round(4) >= 0.75).sum())
    expect(page.locator("#threshold-words")).to_have_text(
        f"0.750: {expected} samples, {expected} of them suspects now; "
        f"{60 - expected} suspects would be left out."
    )
    page.locator("#threshold").fill("250")
    page.click("#threshold-show")
    expect(page.locator("#count")).to_have_text(re.compile(f"of {int((score.round(4) >= 0.25).sum())} shown"))
