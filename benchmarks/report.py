"""How fast the report opens and filters 50,000 suspects, in a real browser; targets: one second each.

    python -m benchmarks report

First paint is what the browser reports; `suspects drawn` is when the list stands, `all drawn` when the charts
do too. A step is the time from changing a control to the next frame after the list was drawn anew, with the
delay after typing.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from benchmarks.record import RESULTS, append, described, record
from graylearn.report import Preview, ReportData, image_preview, row_preview, write_report

SUSPECTS, REPEATS = 50_000, 5
ANSWER = """([id, value, kind]) => new Promise((resolve) => {
    const control = document.getElementById(id);
    const drawn = document.getElementById("count"); // written anew with every page of the list
    const began = performance.now();
    const done = () => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
    const observer = new MutationObserver(() => { observer.disconnect(); done(); });
    observer.observe(drawn, {childList: true});
    if (value === null) control.click();
    else { control.value = value; control.dispatchEvent(new Event(kind, {bubbles: true})); }
})"""

MARKS = {name: name for name in ("suspects drawn", "all drawn")} | {"first paint": "first-contentful-paint"}
STEPS = {
    "filter by kind": ("kind", "2", "change"),
    "filter by label": ("label", "7", "change"),
    "reset": ("reset", None, None),
    "first search, content included": ("search", "harbour", "input"),
}


def made_up(content: str) -> ReportData:
    """An audit of SUSPECTS suspects among twice as many samples, 100 classes, curves over 30 epochs."""
    rng = np.random.default_rng(0)
    n, classes = 2 * SUSPECTS, tuple(f"class {k:03d}" for k in range(100))
    words = np.array(["harbour", "meadow", "lantern", "granite", "orchard", "velvet", "compass", "thunder"])
    label, other = rng.integers(0, 100, n), rng.integers(0, 100, n)
    suspected = rng.permutation(n) < SUSPECTS
    ood = suspected & (rng.random(n) < 0.4)
    score = np.where(suspected, 0.5 + 0.5 * rng.random(n), 0.5 * rng.random(n))
    suggested = np.where(ood, None, np.array(classes, dtype=object)[np.where(suspected, other, label)])
    table = pd.DataFrame(
        {
            "id": [f"images/{k:03d}/{index:06d}.jpg" for index, k in enumerate(label)],
            "label": np.array(classes, dtype=object)[label],
            "confidence": 1.0 - score,
            "score": score,
            "suspected": suspected,
            "kind": np.where(ood, "ood", np.where(suspected, "mislabelled", "ok")),
            "suggested": pd.Series(suggested, dtype=object),
        }
    )
    values = rng.random((n, 4)).round(4)
    word = words[rng.integers(0, len(words), (n, 3))]

    chance = rng.random((n, 100), dtype=np.float32) ** 8

    def row(index: int) -> Preview:
        cells = {f"measure {c}": values[index, c] for c in range(4)}
        return row_preview(cells | {"text": " ".join(word[index]) + f" {index % 10}"})

    def photo(index: int) -> Preview:
        grain = np.random.default_rng(index).integers(0, 255, (12, 12, 3), np.uint8)
        return image_preview(np.kron(grain, np.ones((8, 8, 1), np.uint8)))

    return ReportData(
        title=f"{SUSPECTS:,} suspects",
        table=table,
        classes=classes,
        threshold=0.5,
        curves=rng.random((30, n), dtype=np.float32),
        previews=row if content == "rows" else photo,
        probabilities=chance / chance.sum(axis=1, keepdims=True),
        features=rng.normal(size=(n, 32)).astype(np.float32),
        rows=pd.DataFrame(values, columns=[f"measure {c}" for c in range(4)]) if content == "rows" else None,
        confusion=rng.integers(0, 50, (100, 100)),
    )


def measure(path: Path) -> dict[str, list[float]]:
    """Milliseconds of each step, in a new context each time."""
    times: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(REPEATS):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            for name, mark in MARKS.items():
                began = page.evaluate(f"performance.getEntriesByName({mark!r})[0].startTime")
                times.setdefault(name, []).append(began)
            for name, step in STEPS.items():
                times.setdefault(name, []).append(page.evaluate(ANSWER, step))
            context.close()
        browser.close()
    return times


def main() -> None:
    described(__doc__).parse_args()
    for content in ("rows", "pictures"):
        with tempfile.TemporaryDirectory() as folder:
            data = made_up(content)
            times = measure(write_report(Path(folder) / "report.html", data))
        row = record(
            "report",
            content=content,
            suspects=SUSPECTS,
            samples=len(data),
            repeats=REPEATS,
            load=round(os.getloadavg()[0], 1),  # above the number of cores: times of a busy machine
            median_ms={name: round(statistics.median(values), 1) for name, values in times.items()},
        )
        print(content, row["median_ms"])
        append(row, RESULTS / "report.jsonl")
