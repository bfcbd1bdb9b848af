"""Accuracy of the classifier on sentence vectors beside logistic regression, with and without wrong labels.

    python -m benchmarks sentences --data DATA        # DATA/text/banking77-{train,test}.csv

`tuned` has the better of two strengths by the test set itself, which no user could choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import graylearn as gl
from benchmarks.record import RESULTS, Row, markdown, parser, rows, spread, sweep
from graylearn.data.embed import embed_text

OUT = RESULTS / "sentences.jsonl"
MODELS = ("plain", "refine", "logistic", "tuned")
MOST = 2500
CELLS = [(kinds, wrong) for kinds in (22, 77) for wrong in (0.0, 0.1)]


@cache
def vectors(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and kinds of the texts in a file."""
    found = pd.read_csv(path, keep_default_na=False)
    return embed_text(found["text"].tolist()), found["category"].to_numpy()


def measure(kinds: int, wrong: float, seed: int, texts: Path) -> Iterator[Row]:
    """Accuracy of every model on one draw."""
    (x, names), (new_x, new_names) = (vectors(texts / f"banking77-{part}.csv") for part in ("train", "test"))
    rng = np.random.default_rng(seed)
    asked = np.sort(rng.choice(np.unique(names), kinds, replace=False))
    known = rng.permutation(np.flatnonzero(np.isin(names, asked)))[:MOST]
    label, new = np.searchsorted(asked, names[known]), np.isin(new_names, asked)
    flipped = rng.random(len(known)) < wrong
    label[flipped] = (label[flipped] + rng.integers(1, kinds, flipped.sum())) % kinds
    models = {
        "plain": gl.GrayClassifier(random_state=seed),
        "refine": gl.GrayClassifier(refine=True, random_state=seed),
        "logistic": LogisticRegression(max_iter=2000),
        "tuned": LogisticRegression(C=10, max_iter=2000),
    }
    right = {
        name: model.fit(x[known], label).score(new_x[new], np.searchsorted(asked, new_names[new]))
        for name, model in models.items()
    }
    yield {**right, "tuned": max(right["tuned"], right["logistic"])}


def table() -> str:
    """Accuracy by kinds and share of wrong labels."""
    found = {cell: [row for row in rows(OUT) if (row["kinds"], row["wrong"]) == cell] for cell in CELLS}
    return markdown(
        ["kinds, wrong labels", *MODELS],
        [
            [f"{kinds}, {wrong:.0%}", *(spread([row[name] for row in of]) for name in MODELS)]
            for (kinds, wrong), of in found.items()
        ],
    )


LAB_TABLES = {"refinement.md": {"sentences": table}}


def main() -> None:
    given = parser(__doc__, OUT, "data", seeds=3).parse_args()
    cells = [{"kinds": kinds, "wrong": wrong, "seed": seed} for seed in given.seeds for kinds, wrong in CELLS]
    sweep("sentences", given.out, cells, partial(measure, texts=given.data / "text"))
