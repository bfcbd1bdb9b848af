"""What the audit's gates read on clean sets: the constants in graylearn/audit are set from this.

    python -m benchmarks audit_gates                        # some 60 sets made up or in scikit-learn, minutes
    python -m benchmarks audit_gates --rounds 8             # more draws of each
    python -m benchmarks audit_gates --data FOLDER --features FOLDER      # the clean cells of audit.py too

Nothing in these sets is wrong, so that every gate ought to stay shut. For each gate the largest readings are
printed beside the constant: a constant is set just beyond the largest reading, and anew whenever the views,
the mixture or the detectors change. `--mode history` reads the gate of networks that have seen the labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
)

from benchmarks import audit_cells as cells
from graylearn.audit import apart, label_parts, mixture
from graylearn.audit.apart import foreign_rank, standing
from graylearn.audit.centroids import centre_cosine
from graylearn.audit.detectors import foreign_clusters
from graylearn.audit.evidence import gather
from graylearn.audit.heldout import held_out_probabilities
from graylearn.audit.history import history_probabilities, train_for_history
from graylearn.audit.inputs import as_features
from graylearn.audit.neighbours import unit_rows


class Clean(NamedTuple):
    """A set without a wrong label."""

    name: str
    x: np.ndarray
    y: np.ndarray


def clean_sets(rounds: int, data: Path | None, features: Path | None) -> Iterator[Clean]:
    """Tables of scikit-learn and parts of them, sets made up, and the clean cells where their files are."""
    loaders = {
        "digits": load_digits, "iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer
    }  # fmt: skip
    for name, loader in loaders.items():
        yield Clean(name, *loader(return_X_y=True))
    x, y = load_digits(return_X_y=True)
    for seed in range(rounds):
        random = np.random.default_rng(seed)
        rows = random.permutation(len(y))[: random.integers(300, 1500)]
        yield Clean(f"digits, {len(rows)} rows", x[rows], y[rows])
        few = np.isin(y, random.permutation(10)[: random.integers(2, 7)])
        yield Clean(f"digits, {len(np.unique(y[few]))} classes", x[few], y[few])
        weak = x @ random.normal(size=(64, 10))
        yield Clean("digits, ten random directions", weak, y)
        for k in (2, 3, 6, 12):
            n = int(random.integers(100, 1200))
            made = make_classification(
                n,
                20,
                n_informative=8,
                n_classes=k,
                n_clusters_per_class=int(random.integers(1, 3)),
                class_sep=float(random.uniform(0.5, 2.0)),
                flip_y=0.0,
                random_state=seed,
            )
            yield Clean(f"made up, {n} rows, {k} classes", *made)
        spread = float(random.uniform(1.0, 5.0))
        yield Clean("clouds", *make_blobs(800, 16, centers=8, cluster_std=spread, random_state=seed))
    if data is not None and features is not None:
        for cell in cells.CELLS:
            for seed in range(rounds):
                made_cell = cells.make(cell, "clean", seed, data, features)
                yield Clean(cell, np.asarray(made_cell.x), made_cell.y)


def readings(given: Clean, mode: str) -> dict[str, float]:
    """What each gate reads on one set."""
    y = np.unique(given.y, return_inverse=True)[1].astype(np.int64)
    k = int(y.max()) + 1
    x = as_features(given.x, len(y))
    if mode == "history":
        network = history_probabilities(train_for_history(x, y, k))
    else:
        network = held_out_probabilities(x, y, k)
    evidence = gather(network, y, tuple(range(k)), x, "history" if mode == "history" else "held-out", "none")
    columns = np.stack(list(evidence.no_class.values()), axis=1)
    likely = mixture.fit_noise(evidence.probabilities, y, columns).log_likelihood
    simple = max(likely["none"], likely["constant"])
    constant = "GATE_CONSTANT_SEEN" if mode == "history" else "GATE_CONSTANT"
    found = {
        f"mixture.{constant}": 2 * (likely["constant"] - likely["none"]),
        "mixture.GATE_FULL" if k >= 4 else "mixture.GATE_FULL_FEW": 2 * (likely["full"] - simple),
    }
    if k >= apart.MIN_CLASSES and len(y) >= apart.MIN_SAMPLES:
        cut = label_parts.foreign_parts(x, unit_rows(x).double().numpy(), y, k)
        if cut.cosine < (
            label_parts.MAX_COSINE if cut.evident < label_parts.MANY else label_parts.MAX_COSINE_MANY
        ):
            found["label_parts.MIN_EVIDENT"] = cut.evident
        similarity = centre_cosine(x, y, k)
        rank = foreign_rank(standing(x, y, similarity, np.zeros(len(y), dtype=bool)), y)
        share = float(np.median([(rank < level).mean() / level for level in (0.1, 0.2, 0.3, 0.5)]))
        if evidence.views_differ < foreign_clusters.MAX_DIFFER:
            found["foreign_clusters.MIN_SHARE"] = share
    return found


def main() -> None:
    """Read every gate on every set and print the largest readings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6, help="draws of each kind of set")
    parser.add_argument("--mode", choices=("held-out", "history"), default="held-out")
    parser.add_argument("--data", type=Path, help="folder of the datasets, for the clean cells")
    parser.add_argument("--features", type=Path, help="folder of the features, for the clean cells")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    sets = list(clean_sets(options.rounds, options.data, options.features))
    every = Parallel(options.jobs)(delayed(readings)(each, options.mode) for each in sets)
    modules = {"mixture": mixture, "foreign_clusters": foreign_clusters, "label_parts": label_parts}
    print(f"{len(sets)} clean sets, {options.mode}")
    for gate in sorted({name for each in every for name in each}):
        read = sorted(
            ((each[gate], of.name) for each, of in zip(every, sets, strict=True) if gate in each),
            reverse=True,
        )
        module, constant = gate.split(".")
        limit = getattr(modules[module], constant)
        largest = ", ".join(f"{value:.3g} ({name})" for value, name in read[:4])
        beyond = sum(value > limit for value, _ in read)
        print(f"{gate} = {limit:g}: beyond it {beyond} of {len(read)}; largest {largest}")
