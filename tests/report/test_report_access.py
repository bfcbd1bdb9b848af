"""Anyone can read the page: light and dark, on a phone, without a script, on paper, with a screen reader;
and it stays small however long the list is."""

import re
from dataclasses import replace

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from report_tables import make_table

import graylearn as gl
from graylearn.report import ReportData, image_preview, row_preview, text_preview, write_report

CLASSES = ("cat", "dog", "owl")


@pytest.fixture(scope="module")
def full():
    """A report with something of everything, of few suspects: axe looks at each for a second."""
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(3), size=200)
    looks = (
        lambda index: image_preview(rng.integers(0, 255, (40, 30, 3), np.uint8)),
        lambda index: row_preview({f"a rather long column name {i}": i * 1.25 for i in range(11)}),
        lambda index: text_preview("words " * 150),
    )
    return ReportData(
        title="Everything there is",
        created="today",
        table=make_table(suspects=6),
        classes=CLASSES,
        facts={"data": "pets.csv", "samples": 120},
        threshold=0.5,
        notes=["Two classes are never told apart."],
        contamination={"ood": 0.1, "mislabelled": 0.25, "total": 0.35},
        curves=rng.random((20, 120)),
        previews=lambda index: looks[index % 3](index),
        reliability=gl.metrics.reliability(probabilities, rng.integers(0, 3, 200), 10),
        confusion=np.array([[5, 1, 0], [0, 7, 3], [0, 0, 9]]),
        accuracies={"standard": (0.9, None), "gray": (0.92, 0.01)},
        probabilities=rng.dirichlet(np.ones(3), size=120),
        features=rng.normal(size=(120, 3)),
        command="graylearn apply run decisions.csv --out clean",
        training_log=[{"epoch": e, "loss": 1 / e, "accuracy": 1 - 1 / e} for e in range(1, 9)],
    )


def faults(page, part=None, **options):
    """Serious and critical faults that axe-core finds, in the whole page or a part of it."""
    found = Axe().run(page, part, {"resultTypes": ["violations"], **options}).response["violations"]
    return [
        (fault["id"], [node["html"][:200] for node in fault["nodes"]])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


def test_axe_finds_no_serious_fault_in_light_and_dark(open_report, full):
    page = open_report(full)

    def both(part=None):
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        in_light = faults(page, part)
        page.emulate_media(color_scheme="dark")  # changes the colours, and nothing else
        return [*in_light, *faults(page, part, runOnly=["color-contrast"])]

    page.locator(".sample").first.focus()
    for key in ("k", "d", "a", "a"):
        page.keyboard.press(key)
    page.locator(".sample details").first.locator("summary").click()
    assert both() == []
    page.locator(".sample").first.get_by_role("button", name="Relabel").click()
    assert both("#relabel-dialog") == []
    page.keyboard.press("Escape")
    page.click("#help")
    assert both("#help-dialog") == []
    page.keyboard.press("Escape")
    page.locator(".sample .picture").first.click()
    assert both("#picture-dialog") == []
    page.keyboard.press("Escape")
    page.click("[data-looks=grid]")
    assert both("#suspects") == []


def brightness(page):
    """Of the ground, 0 (black) to 255."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return np.mean([float(part) for part in re.findall(r"[\d.]+", colour)[:3]])


def test_light_and_dark_follow_the_system_and_the_button(open_report, small):
    page = open_report(small)
    page.emulate_media(color_scheme="dark")
    assert brightness(page) < 60
    page.emulate_media(color_scheme="light")
    assert brightness(page) > 200
    page.click("#theme")
    expect(page.locator("#theme")).to_have_text("Theme: light")
    page.click("#theme")
    expect(page.locator("#theme")).to_have_text("Theme: dark")
    assert brightness(page) < 60
    page.reload()
    assert brightness(page) < 60
    page.click("#theme")
    expect(page.locator("#theme")).to_have_text("Theme: auto")
    assert brightness(page) > 200


def test_a_phone_needs_no_sideways_scrolling(open_report, full):
    page = open_report(full)
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("document.querySelector('.stage svg').clientWidth < 360")
    page.wait_for_function("document.documentElement.scrollWidth === 360")
    page.wait_for_function(
        """() => [...document.querySelectorAll("button, select, .stage svg")]
            .map((part) => part.getBoundingClientRect()).every((box) => box.left >= 0 && box.right <= 360)"""
    )
    keep = page.locator(".sample").first.get_by_role("button", name="Keep")
    assert keep.bounding_box()["height"] >= 44
    keep.click()
    expect(page.locator(".sample").first).to_have_attribute("data-decided", "keep")


def test_on_a_phone_two_panels_come_before_the_suspects(open_report, full):
    page = open_report(replace(full, table=make_table()))
    cards = page.locator("#panels > .card:visible")
    expect(cards.first).to_be_visible()  # on a wide screen there is room for them
    expect(page.locator("#panels > summary")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    expect(cards).to_have_count(0)
    found, suspects = (page.locator(part).bounding_box() for part in ("#tiles", "#suspects"))
    assert suspects["y"] - found["y"] - found["height"] < 300
    page.locator("#steps").get_by_role("link", name="by pair").click()
    expect(page.locator("#pairs-card")).to_be_in_viewport()
    assert faults(page, "#panels") == []
    page.wait_for_function("document.querySelector('#map').clientHeight > 100")


def test_paper_shows_the_findings_without_the_controls(open_report, full):
    page = open_report(full)
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page) in (0, 255)  # no ground is printed: transparent
    for hidden in ("#tools", ".pager", ".decided", ".verdict >> nth=0"):
        expect(page.locator(hidden)).to_be_hidden()
    assert page.locator(".sample").first.is_visible()


def test_the_finding_is_readable_without_scripts(browser, small, tmp_path):
    path = write_report(tmp_path / "report.html", small)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert "Of 120 samples" in page.locator(".lead").inner_text()
    assert "open it in a browser" in page.locator("noscript").inner_text()
    context.close()


def test_twenty_thousand_suspects_are_one_page_of_elements(open_report):
    n = 20_000
    data = ReportData(
        title="Many",
        table=make_table(n, n),
        classes=CLASSES,
        curves=np.random.default_rng(0).random((10, n)).astype(np.float16),
        previews=lambda index: row_preview({"number": index, "word": f"word{index % 100:02d}"}),
    )
    page = open_report(data)
    size = "document.querySelectorAll('*').length"
    assert page.evaluate(size) < 2_000
    expect(page.locator("#count")).to_have_text("1 to 25 of 20,000 shown, out of 20,000 suspects")
    page.select_option("#kind", "2")
    expect(page.locator("#count")).to_have_text(re.compile("of 6,666 shown"))
    page.click("#last")
    expect(page.locator(".sample .id").last).to_have_text("photo-19997.jpg")
    page.fill("#search", "word07")
    expect(page.locator("#count")).to_have_text(re.compile("of 67 shown"))
    page.click("#reset")
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=accept]")
    page.click("#ask-ok")  # every class would lose all of its samples
    expect(page.locator("#progress")).to_have_text(
        re.compile(r"^20,000 of 20,000 .* 6,666 drop, 13,334 relabel")
    )
    page.reload()
    expect(page.locator("#progress")).to_have_text(re.compile("^20,000 of 20,000 suspects decided"))
    assert page.evaluate(size) < 2_000
