"""Labels, ids, cells and titles that try to be more than text: the page shows them, and that is all."""

import re

import numpy as np
import pandas as pd
from playwright.sync_api import expect
from report_pages import download, load
from report_tables import make_table

from graylearn.report import ReportData, read_decisions, row_preview, text_preview, write_report

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    "<!--<script>",
    "]]><img src=x onerror=window.hacked=3>",
    "<svg/onload=window.hacked=4>",
    "javascript:window.hacked=5",
    '" onmouseover="window.hacked=6" x=\'',
    "{{script}}${window.hacked=7}",
    "=cmd|' /C calc'!A0",
    "'=1+1",
    "''=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "\uff1d1",
    "'tis",
    "a,b;c\td",
    'say "hi"',
    "two\r\nlines\nand\rmore",
    "\u202egpj.exe",
    "ad\u200bm\u200ei\u200fn\u2060",
    "+",
    "\u2067right to left\u2069\u2069",
    "שלום עולם",
    "line\u2028and paragraph\u2029",
    "nul\0byte",
    "bell\x07",
    "👩\u200d🔬 émoji",
    "half a pair \udcff here",
    "ﬁ\u0301 &amp; &lt;b&gt;",
    "__proto__",
    "constructor",
    "x" * 5_000,
)
NAMES = tuple(text for text in HOSTILE if "\udcff" not in text)
"""Those that can name a column of a table."""


def hostile_report(**fields):
    """Every hostile text as a class, as an id, and as a cell; every sample is suspected of being the next."""
    n = len(HOSTILE)
    table = make_table(n, n, HOSTILE).assign(kind="mislabelled")
    table["id"] = pd.Series(HOSTILE, dtype=object)
    table["suggested"] = pd.Series([HOSTILE[(k + 1) % n] for k in range(n)], dtype=object)
    return ReportData(
        **{
            "title": "</title><script>window.hacked = 8</script>\0\udcff",
            "created": "<img src=x onerror=window.hacked=9>",
            "table": table,
            "classes": HOSTILE,
            "facts": dict.fromkeys(HOSTILE, HOSTILE[1]),
            "notes": HOSTILE,
            "previews": lambda index: (
                row_preview({HOSTILE[index]: HOSTILE[index], "b": HOSTILE[0]})
                if index % 2
                else text_preview(HOSTILE[index])
            ),
            "accuracies": dict.fromkeys(HOSTILE[:3], (0.5, 0.1)),
            "probabilities": np.full((n, n), 1.0 / n),
            "judge": HOSTILE[0],
            "features": np.arange(n)[:, None] * np.ones((1, 3)),
            "rows": pd.DataFrame(dict.fromkeys(NAMES, pd.Series(HOSTILE, dtype=object))),
            "command": HOSTILE[1],
            "id_word": "",
            "training_log": [{HOSTILE[0] + "loss": 1.0}, {HOSTILE[0] + "loss": 2.0}],
            **fields,
        }
    )


def test_hostile_text_stays_text(open_report):
    page = open_report(hostile_report())
    page.select_option("#page-size", "100")
    expect(page.locator(".sample")).to_have_count(len(HOSTILE))
    for item in (0, 3, 6):
        page.locator(".sample").nth(item).hover()
        page.locator(".sample").nth(item).click()
    page.locator(".sample").first.get_by_role("button", name="Relabel").click()
    page.click("#relabel-ok")
    page.fill("#search", "<script>")
    holding = [index for index, text in enumerate(HOSTILE) if index % 2 or "<script>" in text]
    expect(page.locator(".sample")).to_have_count(len(holding))
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 3  # data, one block of previews, the page's own
    assert page.locator("body img, iframe, object, embed, [onerror], [onload], [onmouseover]").count() == 0
    links = page.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)


def test_hidden_characters_are_made_visible_and_long_words_do_not_break_the_layout(open_report):
    page = open_report(hostile_report())
    page.select_option("#page-size", "100")
    expect(page.locator(".sample")).to_have_count(len(HOSTILE))
    shown = page.locator(".sample .id").all_inner_texts()
    assert shown[HOSTILE.index("\u202egpj.exe")] == "⟨202e⟩gpj.exe"
    assert shown[HOSTILE.index("ad\u200bm\u200ei\u200fn\u2060")] == "ad⟨200b⟩m⟨200e⟩i⟨200f⟩n⟨2060⟩"
    assert shown[HOSTILE.index("nul\0byte")] == "nul␀byte"
    assert page.locator(".sample .id bdi[dir=auto]").count() == len(HOSTILE)
    assert len(shown[-1]) == 90  # the long one, cut
    for width in (1200, 360):
        page.set_viewport_size({"width": width, "height": 740})
        page.wait_for_function("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_every_text_comes_back_exactly_through_the_file(open_report, tmp_path):
    page = open_report(hostile_report(run="hostile"))
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=accept]")
    path = download(page, tmp_path)
    decisions = read_decisions(path)
    assert [one.id for one in decisions] == list(HOSTILE)
    assert [one.label for one in decisions] == [*HOSTILE[1:], HOSTILE[0]]
    # No line begins as a formula would, with or without its quotes; signs alone are none.
    for line in path.read_bytes().decode("utf-8-sig", "surrogatepass").split("\r\n"):
        assert not re.match('["\\s]*[=+@\uff1d-]+[^=+@\uff1d",-]', line)
    page.click("[data-bulk=clear]")
    page.set_input_files("#load", path)
    expect(page.locator("#message")).to_have_text(f"{len(HOSTILE)} decisions loaded.")


def test_the_policy_of_the_page_stops_what_is_not_its_own(context, tmp_path):
    page = load(context.new_page(), write_report(tmp_path / "report.html", hostile_report()))
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 10";
            document.body.append(script);
            document.body.setAttribute("onclick", "window.hacked = 11");
            document.body.click();
            document.body.setAttribute("style", "color: rgb(1, 2, 3)");
        }"""
    )
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
    refused = page.evaluate(
        """() => new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", (event) => resolve(event.violatedDirective));
            fetch("https://example.org/").catch(() => {});
        })"""
    )
    assert refused == "connect-src"
