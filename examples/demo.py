"""`make demo`: handwritten digits, a third of them dirty; what each way of learning makes of it.

Eight digits are the classes. Pictures of the other two (20 % of the training set) were labelled anyway, at
random, and 20 % of the rest got a wrong label. Compared: cross entropy on everything, Gray Learning on
everything, Gray Learning refined by its own audit, and an oracle that never saw a dirty sample.
"""

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import graylearn as gl

SEEDS = range(3)
WAYS = {
    "standard (cross entropy)": {"method": "standard", "audit": None},
    "gl": {"method": "gl", "audit": None},
    "gl + refine": {"method": "gl", "audit": "held-out", "refine": True},
    "oracle (clean samples only)": {"method": "standard", "audit": None},
}


def one_seed(seed: int) -> tuple[dict[str, tuple[float, float]], gl.Audit, gl.data.Contaminated]:
    """(accuracy, calibration error) of each way on clean test digits, and the audit with its truth."""
    images, digit = load_digits(return_X_y=True)
    known = digit < 8
    x, x_test, y, y_test = train_test_split(
        images[known], digit[known], test_size=0.4, stratify=digit[known], random_state=seed
    )
    dirty = gl.contaminate(x, y, images[~known], alpha=0.2, flip=0.2, seed=seed)
    clean = dirty.clean()
    measured, audit = {}, None
    for name, parameters in WAYS.items():
        training_set = clean if name.startswith("oracle") else dirty
        model = gl.GrayClassifier(random_state=seed, **parameters).fit(training_set.x, training_set.y)
        probabilities = model.predict_proba(x_test)
        measured[name] = (gl.metrics.accuracy(probabilities, y_test), gl.metrics.ece(probabilities, y_test))
        audit = model.audit_ if parameters.get("refine") else audit
    assert audit is not None
    return measured, audit, dirty


def spread(values: list[float]) -> str:
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1):.1f}"


def main() -> None:
    console, began = Console(), time.perf_counter()
    results = []
    for seed in SEEDS:
        with console.status(f"seed {seed + 1} of {len(SEEDS)}"):
            results.append(one_seed(seed))
        if not console.is_terminal:
            console.print(f"seed {seed + 1} of {len(SEEDS)} done, {time.perf_counter() - began:.0f} s")

    table = Table(title=f"Digits, 20 % OOD and 20 % wrong labels; mean ± sd over {len(SEEDS)} seeds")
    for column in ("way of learning", "test accuracy %", "calibration error %"):
        table.add_column(column, justify="left" if column.startswith("way") else "right")
    for name in WAYS:
        accuracy, error = zip(*(measured[name] for measured, _, _ in results), strict=True)
        table.add_row(name, spread(list(accuracy)), spread(list(error)))
    console.print(table)

    found = []
    for _, audit, dirty in results:
        is_dirty = dirty.is_ood | dirty.is_flipped
        found.append(
            (
                gl.metrics.auroc(audit.score, is_dirty),
                (audit.suspected & is_dirty).sum() / max(audit.suspected.sum(), 1),
                (audit.suspected & is_dirty).sum() / is_dirty.sum(),
            )
        )
    columns = [list(column) for column in zip(*found, strict=True)]
    console.print(
        f"The audit, not told how much is dirty: AUROC {spread(columns[0])}, precision {spread(columns[1])},"
        f" recall {spread(columns[2])} (%)."
    )
    _, audit, _ = results[0]
    console.print("\nThe ten worst suspects of the first seed:")
    worst = audit.table.sort_values("score", ascending=False).head(10)
    console.print(worst.to_string(index=False, float_format=lambda value: f"{value:.3f}"))
    console.print(f"\n{time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
