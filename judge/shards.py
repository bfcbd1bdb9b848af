"""Evidence of drawn sets, kept in shards: what the judge is trained on.

A set gives one or two pieces of evidence: of its features, with now and then a view left out, and of
probabilities as a model would give them, alone or beside the features. Of each piece some rows are kept with
weights, most of them samples that look like another class.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Mapping
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from graylearn.array_types import Floats
from graylearn.audit.evidence import VIEWS, Evidence, gather
from graylearn.audit.scaling import prepared
from graylearn.audit.verdict import different
from graylearn.audit.views import Rows, Views, look
from graylearn.data.splits import row_numbers
from judge.draw import DirtySet, draw
from judge.sources import load

Random = np.random.Generator
SHARD = 100
"""Seeds of one shard."""
LIKELY, OTHER = 150, 106
"""Rows kept of samples that look like another class, and of the others."""


def rows_of(made: DirtySet) -> tuple[Rows, np.ndarray, np.ndarray]:
    """The samples of a set as the library asks about them: rows, which they are, and who answers for whom."""
    content = row_numbers(made.features)
    return different(
        prepared(made.features, made.label, content), content, made.label, int(made.label.max()) + 1
    )


def model_says(random: Random, rows: Rows, views: Views) -> tuple[Floats, bool]:
    """(N, K) probabilities as a model from elsewhere may give them, and whether it had seen the labels."""
    names = [name for name in views.opinions if name != "centre" or random.random() < 0.3]
    p = views.opinions[str(random.choice(names))].copy()
    if random.random() < 0.4:
        p = 0.5 * p + 0.5 * views.opinions[str(random.choice(names))]
    z = np.log(np.clip(p, 1e-5, 1.0)) * np.exp(random.uniform(-0.5, 1.1))
    z += random.choice([0.0, 0.0, 0.2, 0.6]) * random.normal(size=z.shape)
    if random.random() < 0.15:  # a model that prefers some classes
        z += 0.5 * random.normal(size=z.shape[1])
    z -= z.max(axis=1, keepdims=True)
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    if random.random() < 0.7:
        return p, False
    every = np.arange(len(rows))
    learned = random.beta(1.2, 2.0) * p[every, rows.y] ** random.uniform(0.0, 0.8)
    p *= 1.0 - learned[:, None]
    p[every, rows.y] += learned
    return p, True


Piece = tuple[str, Evidence, np.ndarray, np.ndarray, np.ndarray]
"""What it is of, the evidence, and label, truth and true class of its rows."""


def evidence_of(random: Random, made: DirtySet) -> list[Piece]:
    """The pieces of evidence of a set."""
    rows, chosen, _ = rows_of(made)
    truth, true = made.truth[chosen], made.true_label[chosen]
    views = look(rows)
    told = None if random.random() < 0.65 else made.info["overlap"] == "none"
    dropped: tuple[str, ...] = ()
    if random.random() < 0.25:
        dropped = tuple(random.choice(VIEWS[:-1], int(random.integers(1, 3)), replace=False).tolist())
    pieces = [("features", gather(rows, views=views, one_class=told, without=dropped))]
    if random.random() < 0.55:
        given, saw = model_says(random, rows, views)
        if random.random() < 0.65:
            alone = gather(rows.without_features(), given=given, saw_labels=saw, one_class=told)
            pieces.append(("given", alone))
        else:
            both = gather(rows, views=views, given=given, saw_labels=saw, one_class=told, without=dropped)
            pieces.append(("both", both))
    return [(of, evidence, rows.y, truth, true) for of, evidence in pieces]


def sampled(random: Random, evidence: Evidence, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows to keep, and their weights, which add up to one."""
    own = evidence.probabilities[np.arange(len(label)), label]
    likely = (evidence.probabilities.max(axis=1) > own) | (own < 0.3)
    weight = np.zeros(len(label))
    for which, most in ((likely, LIKELY), (~likely, OTHER)):
        kept = random.permutation(np.flatnonzero(which))[:most]
        weight[kept] = which.sum() / max(len(kept), 1)
    kept = np.flatnonzero(weight)
    return kept, weight[kept] / weight[kept].sum()


def one(seed: int, sources: Any) -> list[dict[str, Any]]:
    """What is kept of the set of a seed."""
    made = draw(seed, sources)
    random = np.random.default_rng([21, seed])
    rows = []
    for of, evidence, y, truth, true in evidence_of(random, made):
        kept, weight = sampled(random, evidence, y)
        best = np.where(truth[kept] == 1, evidence.beliefs.argmax(axis=1)[kept] == true[kept], False)
        rows.append(
            {
                "matrix": evidence.matrix[kept].astype(np.float16), "truth": truth[kept].astype(np.int8),
                "weight": weight.astype(np.float32), "suggested": best,
                "label": y[kept].astype(np.int16), "looks": evidence.looks[kept].astype(np.int16),
                "info": {**{k: v for k, v in made.info.items() if k != "warps"}, "of": of,
                         "bad": float((truth > 0).mean()), "foreign": float((truth == 2).mean())},
            }
        )  # fmt: skip
    return rows


_SOURCES: Mapping[str, Any] = {}


def _start(folder: str | None) -> None:
    global _SOURCES
    _SOURCES = load(folder)


def shard(number: int, out: Path) -> tuple[int, int, float]:
    """Write one shard; gives its number, pieces and seconds."""
    began, path = time.process_time(), out / f"{number:05d}.npz"
    kept: list[dict[str, Any]] = []
    for seed in range(number * SHARD, (number + 1) * SHARD):
        try:
            kept += one(seed, _SOURCES)
        except Exception:  # a set that cannot be drawn or read is told of
            print(f"seed {seed}\n{traceback.format_exc()}", flush=True)
    sizes = [len(each["truth"]) for each in kept]
    arrays = {
        name: np.concatenate([each[name] for each in kept])
        for name in ("matrix", "truth", "weight", "suggested", "label", "looks")
    }
    partial_file = path.with_suffix(".partial.npz")
    np.savez(partial_file, piece=np.repeat(np.arange(len(kept)), sizes).astype(np.int32),
             info=json.dumps([each["info"] for each in kept]), **arrays)  # fmt: skip
    partial_file.replace(path)
    return number, len(kept), time.process_time() - began


def make(out: Path, sources: str | None, first: int, count: int, processes: int, seconds: float) -> None:
    """Write the shards that are missing, for so many seconds at most."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = [number for number in range(first, first + count) if not (out / f"{number:05d}.npz").exists()]
    began = time.monotonic()
    with get_context("spawn").Pool(processes, _start, (sources,)) as pool:
        for number, pieces, took in pool.imap_unordered(partial(shard, out=out), wanted):
            print(f"shard {number}: {pieces} pieces, {took:.0f} s", flush=True)
            if time.monotonic() - began > seconds:
                pool.terminate()
                break
