"""From the command line to the browser and back: audit a CSV, review its report, apply the decisions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

LABELS = np.array(["=red()", '<b>"blue"</b>', "\u202egreen, or so", "'-gray", "@white"])
"""Labels as hostile as a CSV can hold; the cleaned file must hold them unchanged."""


def graylearn(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "graylearn"), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_decisions_made_in_the_browser_clean_the_dataset(context, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 300)
    points = np.eye(5)[truth] * 6 + rng.normal(size=(300, 5))
    given = truth.copy()
    wrong = np.arange(0, 300, 10)
    given[wrong] = (truth[wrong] + 1 + rng.integers(0, 4, len(wrong))) % 5
    columns = list("abcde")
    dirty = pd.DataFrame(points.round(4), columns=columns).assign(colour=LABELS[given])
    dirty.to_csv(tmp_path / "dirty.csv", index=False)
    graylearn(tmp_path, "audit", "dirty.csv", "--label", "colour", "--out", "run")

    page = context.new_page()
    page.goto((tmp_path / "run" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.select_option("#kind", "1")
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=accept]")
    page.click("#reset")
    page.locator(".sample").first.focus()
    page.keyboard.press("d")
    with page.expect_download() as started:
        page.click("#download")
    started.value.save_as(tmp_path / "decisions.csv")
    graylearn(tmp_path, "apply", "run", "decisions.csv", "--out", "clean.csv")

    clean = pd.read_csv(tmp_path / "clean.csv")
    both = dirty.assign(truth=LABELS[truth]).merge(clean, on=columns, how="left", suffixes=("", "_clean"))
    kept = both[both["colour_clean"].notna()]
    assert len(clean) == len(kept) == 299  # the strongest suspect was dropped
    assert set(kept["colour_clean"]) == set(LABELS)
    relabelled = kept[kept["colour"] != kept["colour_clean"]]
    assert 25 <= len(relabelled) <= 32  # 30 labels were wrong
    assert (relabelled["colour_clean"] == relabelled["truth"]).mean() > 0.9
