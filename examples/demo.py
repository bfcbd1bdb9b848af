"""`make demo`: handwritten digits, a third of them dirty; what each way of learning makes of it.

Eight digits are the classes. Pictures of the other two (20 % of the training set) were labelled anyway, at
random, and 20 % of the rest got a wrong label. Compared: cross entropy on everything, Gray Learning on
everything, Gray Learning refined by its own audit, and an oracle that never saw a dirty sample. The first
seed's digits then go through a run as the command line makes it, with a report to open.
"""

import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import graylearn as gl
from graylearn.runs import RunProgress, RunSettings, run

SEEDS = range(3)
DATA, RUN = Path("demo-digits.npz"), Path("demo-run")
WAYS = {
    "standard (cross entropy)": {"method": "standard", "audit": None},
    "gl": {"method": "gl", "audit": None},
    "gl + refine": {"method": "gl", "audit": "held-out", "refine": True},
    "oracle (clean samples only)": {"method": "standard", "audit": None},
}


def dirty_digits(seed: int) -> tuple[gl.data.Contaminated, np.ndarray, np.ndarray]:
    """A contaminated training set of pictures (N, 8, 8), and clean pictures and labels to test on."""
    digits = load_digits()
    known = digits.target < 8
    x, x_test, y, y_test = train_test_split(
        digits.images[known],
        digits.target[known],
        test_size=0.4,
        stratify=digits.target[known],
        random_state=seed,
    )
    return gl.contaminate(x, y, digits.images[~known], alpha=0.2, flip=0.2, seed=seed), x_test, y_test


def one_seed(seed: int) -> tuple[dict[str, tuple[float, float]], gl.Audit, gl.data.Contaminated]:
    """(accuracy, calibration error) of each way on clean test digits, and the audit with its truth."""
    dirty, x_test, y_test = dirty_digits(seed)
    clean = dirty.clean()
    measured, audit = {}, None
    for name, parameters in WAYS.items():
        training_set = clean if name.startswith("oracle") else dirty
        model = gl.GrayClassifier(random_state=seed, **parameters)
        model.fit(rows(training_set.x), training_set.y)
        probabilities = model.predict_proba(rows(x_test))
        measured[name] = (gl.metrics.accuracy(probabilities, y_test), gl.metrics.ece(probabilities, y_test))
        audit = model.audit_ if parameters.get("refine") else audit
    assert audit is not None
    return measured, audit, dirty


def rows(pictures: np.ndarray) -> np.ndarray:
    return pictures.reshape(len(pictures), -1)


def spread(values: list[float]) -> str:
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1):.1f}"


def compare(console: Console) -> None:
    """Print what each way of learning reaches, and what the audit finds."""
    began, results = time.perf_counter(), []
    for seed in SEEDS:
        with console.status(f"seed {seed + 1} of {len(SEEDS)}"):
            results.append(one_seed(seed))
        if not console.is_terminal:
            console.print(f"seed {seed + 1} of {len(SEEDS)} done, {time.perf_counter() - began:.0f} s")
    table = Table(title=f"Digits, 20 % of no class and 20 % wrong labels; mean ± sd over {len(SEEDS)} seeds")
    for column in ("way of learning", "test accuracy %", "calibration error %"):
        table.add_column(column, justify="left" if column.startswith("way") else "right")
    for name in WAYS:
        accuracy, error = zip(*(measured[name] for measured, _, _ in results), strict=True)
        table.add_row(name, spread(list(accuracy)), spread(list(error)))
    console.print(table)
    found = []
    for _, audit, dirty in results:
        is_dirty = dirty.is_ood | dirty.is_flipped
        hits = (audit.suspected & is_dirty).sum()
        auroc = gl.metrics.auroc(audit.score, is_dirty)
        found.append((auroc, hits / max(audit.suspected.sum(), 1), hits / is_dirty.sum()))
    auroc, precision, recall = (spread(list(column)) for column in zip(*found, strict=True))
    console.print(
        f"The audit, not told how much is dirty: AUROC {auroc}, precision {precision}, recall {recall} (%)."
    )


def make_run(console: Console) -> None:
    """The first seed's digits as a file, and a run folder made of it, as `graylearn fit` does."""
    dirty, x_test, y_test = dirty_digits(SEEDS[0])
    np.savez_compressed(DATA, train_x=dirty.x, train_y=dirty.y, test_x=x_test, test_y=y_test)
    settings = RunSettings(data=str(DATA), split="train", test_split="test", seed=SEEDS[0])
    with console.status(f"writing {RUN}/"):
        run(settings, RUN, overwrite=True, progress=RunProgress(quiet=True))
    beside = Path(sys.executable).with_name("graylearn")  # `make demo` leaves it outside of the PATH
    command = "graylearn" if shutil.which("graylearn") else os.path.relpath(beside)
    console.print(
        f"\nThe same for one file: {command} fit {DATA} --split train --test-split test --out my-run\n"
        f"Open the report: {(RUN / 'report.html').absolute().as_uri()}"
    )


def main() -> None:
    console, began = Console(highlight=False, soft_wrap=True), time.perf_counter()
    compare(console)
    make_run(console)
    console.print(f"{time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
