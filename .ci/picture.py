"""The picture of a report in the README: its head, one suspect of no class and one mislabelled.

`make demo`, then `python .ci/picture.py demo-run/report.html` writes docs/figures/report.png. It needs the
packages of the tests, and a browser that tests/find_browser.py finds.
"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "figures" / "report.png"
WIDTH = 1200
COLOURS = 128
"""The most frequent, as they are: a palette of means would tint the ground."""
ONLY = """
#theme, .compare .training, .decided, main > section:not(#steps-card, #found, #suspects),
#found > :not(h2, .tiles), #suspects > :not(.list), .sample:not(.shown) {
  display: none !important;
}
body { padding-bottom: 1.6rem; }
main > section#suspects { margin-top: 1rem; padding: 0; }
"""


def picture(report: Path) -> bytes:
    """The page with everything else left out, as a PNG."""
    sys.path.insert(0, str(ROOT / "tests"))
    from find_browser import find_browser

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        size = {"width": WIDTH, "height": 900}
        page = browser.new_page(viewport=size, color_scheme="light", bypass_csp=True)
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        page.select_option("#page-size", "100")  # the first 25 may be of one kind
        for kind in ("ood", "mislabelled"):
            page.locator(f".sample:has(.chip.{kind})").first.evaluate("row => row.classList.add('shown')")
        page.add_style_tag(content=ONLY)
        page.wait_for_timeout(500)  # pictures are decoded when they are seen
        taken = page.screenshot(full_page=True)
        browser.close()
    return taken


def main(report: Path) -> None:
    """Write it with few colours."""
    image = Image.open(io.BytesIO(picture(report))).convert("RGB")
    found = sorted(image.getcolors(image.width * image.height), reverse=True)[:COLOURS]
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for _, colour in found for value in colour])
    image.quantize(palette=palette, dither=Image.Dither.NONE).save(OUT, optimize=True)
    print(f"{OUT}: {image.width} x {image.height}, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
