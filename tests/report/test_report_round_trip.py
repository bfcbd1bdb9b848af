"""From a file to the browser and back: audit a CSV, review its report, apply the decisions."""

import numpy as np
import pandas as pd
from report_pages import download

from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs.apply import apply_decisions

LABELS = np.array(["=red()", '<b>"blue"</b>', "\u202egreen, or so", "'-gray", "@white"])
"""Labels as hostile as a CSV can hold; the cleaned file must hold them unchanged."""


def test_decisions_made_in_the_browser_clean_the_dataset(open_file, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 300)
    points = np.eye(5)[truth] * 6 + rng.normal(size=(300, 5))
    given = truth.copy()
    wrong = np.arange(0, 300, 10)
    given[wrong] = (truth[wrong] + 1 + rng.integers(0, 4, len(wrong))) % 5
    columns = list("abcde")
    dirty = pd.DataFrame(points.round(4), columns=columns).assign(colour=LABELS[given])
    dirty.to_csv(tmp_path / "dirty.csv", index=False)
    settings = RunSettings(command="audit", data=str(tmp_path / "dirty.csv"), label="colour")
    run(settings, tmp_path / "run", progress=RunProgress(quiet=True))

    page = open_file(tmp_path / "run" / "report.html")
    page.select_option("#kind", "1")
    page.select_option("#bulk-scope", "all")
    page.click("[data-bulk=accept]")
    page.click("#reset")
    page.locator(".sample").first.focus()
    page.keyboard.press("d")
    apply_decisions(tmp_path / "run", download(page, tmp_path), tmp_path / "clean.csv")

    clean = pd.read_csv(tmp_path / "clean.csv")
    both = dirty.assign(truth=LABELS[truth]).merge(clean, on=columns, how="left", suffixes=("", "_clean"))
    kept = both[both["colour_clean"].notna()]
    assert len(clean) == len(kept) == 299  # the strongest suspect was dropped
    assert set(kept["colour_clean"]) == set(LABELS)
    relabelled = kept[kept["colour"] != kept["colour_clean"]]
    assert 25 <= len(relabelled) <= 32  # 30 labels were wrong
    assert (relabelled["colour_clean"] == relabelled["truth"]).mean() > 0.9
