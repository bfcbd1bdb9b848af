"""Tables with a column of sentences: does it help the audit where it tells the class, and cost where not?

    python -m benchmarks comments --data FOLDER        # results/comments.jsonl

--data holds banking77-train.csv and the tables of junk.py. Tables of two kinds, with 10 % wrong labels:

    beside      numbers whose classes have nothing to do with the sentences beside them, questions to a bank
    telling     such questions on K subjects, which are the classes, beside their length and a word drawn;
                10 % more are questions on other subjects, with labels drawn

Each without the column, with 32 features of its letters whatever they tell (before), and as it is.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

import graylearn as gl
from benchmarks import junk, record
from graylearn.data.encoding import encode

RESULTS = Path(__file__).resolve().parent.parent / "results" / "comments.jsonl"
DESIGN = ("sky", "stars", "accents", "abalone", 7, 20)
ASIDE = ("wine", "cancer", "digits 0 to 2", "digits 8 and 9", "heart beats", "wine quality", 4, 12, 40, 77)
"""Looked at once the rule stood: names of tables, and numbers of subjects."""
WAYS = ("without", "before", "now")
MOST = 2500
EACH = 90
"""Rows of a table, and of a subject, at most."""

Table = tuple[pd.DataFrame, np.ndarray, np.ndarray]


def beside(name: str, folder: Path, seed: int) -> Table:
    """Numbers and sentences of other things, labels, and which of these are wrong."""
    random = np.random.default_rng(seed)
    x, y = junk.table_of(name, folder)
    rows = random.permutation(len(x))[:MOST]
    label = np.unique(np.asarray(y)[rows], return_inverse=True)[1]
    frame = pd.DataFrame(np.asarray(x)[rows]).rename(columns=str)
    texts = pd.read_csv(folder / "banking77-train.csv")["text"]
    frame["comment"] = random.choice(texts, len(rows), replace=False)
    return frame, *_mislabelled(label, random)


def telling(subjects: int, folder: Path, seed: int) -> Table:
    """Questions on some subjects and on others, labels, and which of these are wrong."""
    random = np.random.default_rng([seed, subjects])
    texts = pd.read_csv(folder / "banking77-train.csv")
    order = {name: place for place, name in enumerate(random.permutation(sorted(set(texts["category"]))))}
    texts["label"] = texts["category"].map(order)
    texts = texts.iloc[random.permutation(len(texts))]
    inside = texts[texts["label"] < subjects].groupby("label").head(EACH)
    label, wrong = _mislabelled(inside["label"].to_numpy(), random)
    foreign = texts[texts["label"] >= subjects].head(len(inside) // 9)
    frame = pd.concat([inside, foreign])[["text"]].reset_index(drop=True)
    frame["length"] = frame["text"].str.len()
    frame["channel"] = random.choice(["web", "app", "phone"], len(frame))
    label = np.append(label, random.integers(subjects, size=len(foreign)))
    return frame, label, np.append(wrong, np.ones(len(foreign), dtype=bool))


def _mislabelled(label: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    wrong = random.random(len(label)) < 0.1
    classes = int(label.max()) + 1
    return np.where(wrong, (label + random.integers(1, classes, len(label))) % classes, label), wrong


def measured(table: Table, way: str, seed: int) -> dict[str, object]:
    """What the audit finds of the wrong labels, and flags of the rows without them."""
    frame, label, bad = table
    sentences = "comment" if "comment" in frame else "text"
    given = frame.drop(columns=sentences) if way == "without" else frame
    letters = encode.OF_WORDS if way == "before" else encode.OF_SENTENCES
    always = patch.object(encode, "tell_more", lambda *_: True) if way == "before" else nullcontext()
    with always, patch.object(encode, "OF_SENTENCES", letters):
        flagged = gl.audit(given, label, seed=seed).suspected
        clean = gl.audit(given[~bad], label[~bad], seed=seed).suspected
    return {
        "N": len(label), "K": int(label.max()) + 1, "flagged": float(flagged.mean()),
        "precision": float(bad[flagged].mean()) if flagged.any() else None,
        "recall": float(flagged[bad].mean()), "flagged_clean": float(clean.mean()),
    }  # fmt: skip


def main() -> None:
    """Measure all sets."""
    given = record.asked_of_data(__doc__, RESULTS, seeds=2)
    warnings.simplefilter("ignore")
    for name in (*DESIGN, *ASIDE):
        group = "design" if name in DESIGN else "aside"
        for seed in given.seeds:
            table = (
                beside(name, given.data, seed) if isinstance(name, str) else telling(name, given.data, seed)
            )
            kind = "beside" if isinstance(name, str) else "telling"
            for way in WAYS:
                told = measured(table, way, seed)
                asked = {"kind": kind, "name": str(name), "seed": seed, "way": way}
                record.append(record.record("comments", group=group, **asked, **told), given.out)
