"""The judge: a small network that was trained once, on simulated dirty sets, to read evidence.

    evidence (N, F) -> row network -> mean and spread over the rows -> context -> row network -> (N, 3)
               '-------------------------------- linear -----------------------------------'

There are three contexts: of all rows, of those with a row's label, and of those of them that look alike.
It ships as weights, `judge.npz`, beside a card of what it learned from, `judge.json`, and is asked in numpy.
`judge/` trains it. It is the mean of a few networks; nothing else decides.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from graylearn.array_types import Floats, Ints
from graylearn.audit.evidence import COLUMNS, VIEWS, Evidence

SHIPPED = Path(__file__).with_name("judge.npz")
TELLS_WHAT_IS_KNOWN = (
    *(f"set: {view} agrees with labels" for view in VIEWS),
    "set: one class per sample", "set: model saw the labels", "set: log columns",
)  # fmt: skip
"""Columns that are NaN where a view, a word of the user's, or features are not there."""
_PLACES = [list(COLUMNS).index(name) for name in TELLS_WHAT_IS_KNOWN]
FAR = 6.0
"""Spreads beyond which a fact counts no more."""
_BLOCK = 20_000
POOLS = ("all", "label", "pair")
"""Whose context a row is told: of all rows, of those with its label, of those of them that look alike."""


@dataclass(frozen=True)
class Judge:
    """Weights of the networks, and what is decided by them."""

    weights: Mapping[str, NDArray[np.float32]]
    """Arrays with the networks as their first axis, and `mean` and `scale` (F,) of the columns."""
    settings: Mapping[str, Any]
    """`threshold`: posterior above which a sample is suspected. `sure`: above which it is sure. `reach`: how
    far ranges go, see `ranges_of`."""

    @property
    def id(self) -> str:
        """Twelve digits that change with any weight or setting."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode())
        for name in sorted(self.weights):
            digest.update(name.encode() + np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()[:12]

    def __call__(self, evidence: Evidence) -> Floats:
        """(N, 3) chance that the sample belongs to its label, to another class, to none."""
        x = self.prepared(evidence.matrix)
        pools = pools_of(evidence.label, evidence.looks)
        blocks = [slice(at, at + _BLOCK) for at in range(0, len(x), _BLOCK)]
        members, chances = len(self.weights["in.w"]), np.zeros((len(x), 3))
        for member in range(members):
            w = {name: value[member] for name, value in self.weights.items() if name not in ("mean", "scale")}
            rows = [_rows(x[block], w) for block in blocks]
            contexts = _contexts(rows, pools, blocks, w)
            for block, own in zip(blocks, rows, strict=True):
                told = [context[pools[name][block]] for name, context in contexts.items()]
                chances[block] += _say(x[block], [own, *told], w)
        return chances / members

    def prepared(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N, F + M) columns on one scale, zero where not known, and which facts of the set are known."""
        known = np.isfinite(matrix[:, _PLACES])
        x = (matrix - self.weights["mean"]) / self.weights["scale"]
        return np.concatenate([np.clip(np.nan_to_num(x), -FAR, FAR), known.astype(np.float32)], axis=1)


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    inner = x * x
    inner *= np.float32(0.044715)
    inner += 1.0
    inner *= x
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += 1.0
    inner *= x
    inner *= np.float32(0.5)
    return inner


def _norm(x: NDArray[np.float32], w: Mapping[str, NDArray[np.float32]], name: str) -> NDArray[np.float32]:
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    return np.asarray(x * w[f"{name}.g"] + w[f"{name}.b"])


def _linear(x: NDArray[np.float32], w: Mapping[str, NDArray[np.float32]], name: str) -> NDArray[np.float32]:
    return np.asarray(x @ w[f"{name}.w"] + w[f"{name}.b"])


def _rows(x: NDArray[np.float32], w: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    """(n, H) what is made of each row by itself."""
    return _gelu(_linear(_norm(_gelu(_linear(x, w, "in")), w, "in.norm"), w, "row"))


def pools_of(label: Ints, looks: Ints) -> dict[str, Ints]:
    """(N,) the pool that each row is in, numbered from 0, for each of `POOLS`."""
    codes = {"all": np.zeros_like(label), "label": label, "pair": label * (looks.max(initial=0) + 1) + looks}
    return {name: np.unique(code, return_inverse=True)[1] for name, code in codes.items()}


def _contexts(
    rows: list[NDArray[np.float32]],
    pools: Mapping[str, Ints],
    blocks: list[slice],
    w: Mapping[str, NDArray[np.float32]],
) -> dict[str, NDArray[np.float32]]:
    """(pools, U) what is made of the rows of each pool together."""
    sums = {
        name: np.zeros((int(pool.max(initial=-1)) + 1, 2 * w["row.b"].shape[-1]))
        for name, pool in pools.items()
    }
    for block, e in zip(blocks, rows, strict=True):
        both = np.concatenate([e, e**2], axis=1)
        for name, pool in pools.items():
            at = np.arange(len(both))
            sums[name] += (
                csr_matrix((np.ones(len(both)), (pool[block], at)), (len(sums[name]), len(both))) @ both
            )
    contexts = {}
    for name, total in sums.items():
        mean, square = np.split(total / np.bincount(pools[name])[:, None], 2, axis=1)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0) + 1e-6)
        both = np.concatenate([mean, spread], axis=1).astype(np.float32)
        contexts[name] = _gelu(_linear(_norm(both, w, f"{name}.norm"), w, name))
    return contexts


def _say(
    x: NDArray[np.float32], known: list[NDArray[np.float32]], w: Mapping[str, NDArray[np.float32]]
) -> Floats:
    """(n, 3) probabilities; known: what was made of each row, and of its pools."""
    e = np.concatenate(known, axis=1)
    e = _gelu(_linear(_norm(_gelu(_linear(e, w, "both")), w, "both.norm"), w, "head"))
    z = (_linear(e, w, "out") + x @ w["plain.w"]).astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    p = np.exp(z)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def read_judge(path: Path) -> Judge:
    """A judge from its weights; its settings are in them."""
    with np.load(path, allow_pickle=False) as file:
        weights = {name: file[name].astype(np.float32) for name in file.files if name != "settings"}
        settings = json.loads(str(file["settings"]))
    return Judge(weights, settings)


def write_judge(judge: Judge, path: Path) -> None:
    """Write the weights in half precision."""
    arrays: dict[str, Any] = {
        name: value if name in ("mean", "scale") else value.astype(np.float16)
        for name, value in judge.weights.items()
    }
    np.savez_compressed(path, settings=np.array(json.dumps(judge.settings)), **arrays)


@cache
def shipped() -> Judge:
    """The judge that comes with the library."""
    return read_judge(SHIPPED)
