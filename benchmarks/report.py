"""How fast the report opens and filters 50,000 suspects, in a real browser; targets: one second each.

    python -m benchmarks report [--suspects 50000] [--repeats 5]

First paint is what the browser reports; `suspects drawn` is when the list stands, `all drawn` when the charts
do too. A step is the time from changing a control to the next frame after the list was drawn anew, with the
delay after typing. On a busy machine those are times of the machine; the processor time of the page, beside
them, depends far less on who else computes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright

from benchmarks.record import append, record
from graylearn.report import Preview, ReportData, image_preview, row_preview, write_report

ROOT = Path(__file__).resolve().parent.parent
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

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

STEPS = {
    "filter by kind": ("kind", "2", "change"),
    "filter by label": ("label", "7", "change"),
    "reset": ("reset", None, None),
    "first search, content included": ("search", "harbour", "input"),
    "second search": ("search", "meadow 7", "input"),
    "reset after search": ("reset", None, None),
    "sort by confidence": ("sort", "confidence-down", "change"),
    "next page": ("next", None, None),
    "last page": ("last", None, None),
}


def made_up(suspects: int, content: str) -> ReportData:
    """An audit of `suspects` suspects among twice as many samples, 100 classes, curves over 30 epochs."""
    rng = np.random.default_rng(0)
    n, classes = 2 * suspects, tuple(f"class {k:03d}" for k in range(100))
    words = np.array(["harbour", "meadow", "lantern", "granite", "orchard", "velvet", "compass", "thunder"])
    label, other = rng.integers(0, 100, n), rng.integers(0, 100, n)
    suspected = rng.permutation(n) < suspects
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
        title=f"{suspects:,} suspects",
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


def opened(page: Page, path: Path) -> dict[str, float]:
    """Milliseconds from navigation to first paint and to everything drawn."""
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    return {
        "first paint": page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"),
        "suspects drawn": page.evaluate("performance.getEntriesByName('suspects drawn')[0].startTime"),
        "all drawn": page.evaluate("performance.getEntriesByName('all drawn')[0].startTime"),
    }


def measure(path: Path, repeats: int) -> tuple[dict[str, list[float]], dict[str, list[float]], int]:
    """Milliseconds of each step by the clock and of the processor, in a new context each time; and the number
    of elements in the page."""
    times: dict[str, list[float]] = {}
    work: dict[str, list[float]] = {}
    elements = 0
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        processes = browser.new_browser_cdp_session()

        def processor_time() -> float:
            """Milliseconds that pages have computed so far."""
            found = processes.send("SystemInfo.getProcessInfo")["processInfo"]
            return 1000 * sum(one["cpuTime"] for one in found if one["type"] == "renderer")

        for _ in range(repeats):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            before = processor_time()
            for name, value in opened(page, path).items():
                times.setdefault(name, []).append(value)
            work.setdefault("all drawn", []).append(processor_time() - before)
            for name, step in STEPS.items():
                before = processor_time()
                times.setdefault(name, []).append(page.evaluate(ANSWER, step))
                work.setdefault(name, []).append(processor_time() - before)
            elements = page.evaluate("document.querySelectorAll('*').length")
            context.close()
        browser.close()
    return times, work, elements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--suspects", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "report.jsonl")
    options = parser.parse_args()
    for content in ("rows", "pictures"):
        with tempfile.TemporaryDirectory() as folder:
            data = made_up(options.suspects, content)
            began = time.perf_counter()
            path = write_report(Path(folder) / "report.html", data)
            wrote, size = time.perf_counter() - began, path.stat().st_size
            times, work, elements = measure(path, options.repeats)
        print(f"{content}: {size / 1e6:.1f} MB, written in {wrote:.1f} s, {elements} elements")
        for name, values in times.items():
            of_processor = f", processor {statistics.median(work[name]):6.0f} ms" if name in work else ""
            print(
                f"  {name:32} median {statistics.median(values):6.0f} ms, worst {max(values):6.0f} ms"
                + of_processor
            )
        measured: dict[str, Any] = {
            "content": content,
            "suspects": options.suspects,
            "samples": len(data),
            "repeats": options.repeats,
            # Above the number of cores, the times are those of a busy machine.
            "load": round(os.getloadavg()[0], 1),
            "megabytes": round(size / 1e6, 2),
            "write_seconds": round(wrote, 2),
            "elements": elements,
            "median_ms": {name: round(statistics.median(values), 1) for name, values in times.items()},
            "processor_ms": {name: round(statistics.median(values), 1) for name, values in work.items()},
            "worst_ms": {name: round(max(values), 1) for name, values in times.items()},
        }
        append(record("report", **measured), options.out)
