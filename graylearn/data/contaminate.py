"""`contaminate`: make a dirty training set whose truth is known, P_M = (1 - alpha) P_I + alpha P_O.

The counts are exact. All random choices hang on `seed` alone, each on a stream of its own: with one seed
a larger `alpha` adds OOD samples to those of a smaller one, and `labels` and `flip` change labels only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from graylearn.data.inputs import as_labels, as_rows, as_samples
from graylearn.data.samples import Samples, joined_rows, take_rows
from graylearn.data.splits import stratified_choice
from graylearn.errors import DataError, SettingsError, first_few
from graylearn.options import check

TRUTH = ("is_ood", "is_flipped", "true_y", "source")
"""The fields of Contaminated that a training run must not see."""


@dataclass(frozen=True, eq=False)
class Contaminated(Samples):
    """A training set with out-of-distribution (OOD) samples in it, and the truth about each sample."""

    is_ood: np.ndarray
    """(N,) bool: the sample belongs to no class."""
    is_flipped: np.ndarray
    """(N,) bool: the sample belongs to a class, but not to the one its label says."""
    true_y: np.ndarray
    """(N,) int64: the class the sample belongs to, -1 for OOD samples."""
    source: np.ndarray
    """(N,) int64: the row of x, or for OOD samples of ood_x, that the sample came from."""

    def __repr__(self) -> str:
        return (
            f"{super().__repr__()[:-1]}, {int(self.is_ood.sum())} OOD, {int(self.is_flipped.sum())} flipped>"
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in TRUTH:
            values = getattr(self, name)
            if np.shape(values) != self.y.shape:
                raise DataError(f"{name} has shape {np.shape(values)}; expected {self.y.shape} as y has")

    @property
    def alpha(self) -> float:
        """The share of OOD samples."""
        return float(self.is_ood.mean()) if len(self) else 0.0

    def clean(self) -> Samples:
        """The in-distribution samples alone with their true labels: what an oracle would train on."""
        own = self.take(~self.is_ood)
        return Samples(own.x, own.true_y, own.classes, own.ids, own.kind, groups=own.groups)


def contaminate(
    x: Any,
    y: Any = None,
    ood_x: Any = None,
    *,
    alpha: float = 0.1,
    labels: Literal["random", "specific"] = "random",
    ood_groups: Any = None,
    flip: float = 0.0,
    on_shortage: Literal["raise", "lower", "subsample"] = "raise",
    seed: int = 0,
) -> Contaminated:
    """Mix OOD samples that bear in-distribution labels into a clean training set.

    Args:
        x: the in-distribution samples: array, DataFrame, list of texts, or Samples (then leave out `y`).
        y: their true labels, any that `encode_labels` takes; `.y` of the result holds indices of `.classes`.
        ood_x: samples that belong to no class, of the same kind and shape as x, or Samples; with alpha=0 none
            are needed.
        alpha: the share of OOD samples in the result, met to the nearest sample: all n samples of x are
            kept and round(alpha / (1 - alpha) * n) of ood_x are drawn without replacement.
        labels: "random" draws a label for each OOD sample; "specific" gives all samples of one OOD group
            the same label, and spreads the groups over all labels as evenly as they go.
        ood_groups: (len(ood_x),) the OOD class of each OOD sample, read by labels="specific". Left out,
            it is the labels of ood_x where that is Samples with labels, else k-means clusters.
        flip: the share of the in-distribution samples that get a wrong label, drawn from the others.
        on_shortage: what to do where ood_x has too few samples for alpha: "raise", "lower" alpha to what
            all of them give, or "subsample" x (stratified) until alpha is met.
        seed: the same seed gives the same result.

    OOD samples are put at random positions; the in-distribution samples keep their order, so
    `result.x[~result.is_ood]` is x. Ids are those of the two Samples where no two are equal, else 0..N-1.

    ```python
    import numpy as np

    import graylearn as gl

    random = np.random.default_rng(0)
    clean, labels = random.normal(size=(80, 2)), np.arange(80) % 4
    foreign = random.normal(5, 1, size=(50, 2))
    dirty = gl.contaminate(clean, labels, foreign, alpha=0.2, flip=0.1, seed=0)
    dirty.is_ood.mean()                                     # 0.2
    ```
    """
    _check_settings(alpha, labels, flip, on_shortage, seed)
    inside = _inside(x, y)
    ood = _outside(take_rows(inside.x, slice(0)) if ood_x is None and alpha == 0 else ood_x, inside.x)
    streams = np.random.SeedSequence(seed).spawn(5)
    choose, label, flips, positions, subsample = (np.random.default_rng(stream) for stream in streams)

    n_in, n_ood = _counts(len(inside), len(ood), alpha, on_shortage)
    kept = np.arange(len(inside))
    if n_in < len(inside):
        kept = stratified_choice(inside.y, n_in, int(subsample.integers(2**31)))
    chosen = choose.permutation(len(ood))[:n_ood]

    K = inside.num_classes
    if labels == "random":
        ood_y = label.integers(K, size=len(ood))[chosen]
    else:
        given = ood_groups
        if given is None and isinstance(ood_x, Samples) and ood_x.classes:
            given = ood_x.y
        if given is None:
            groups = _clusters(take_rows(ood, chosen), K, int(label.integers(2**31)))
        elif len(groups := as_labels(given)[0]) != len(ood):
            raise DataError(f"ood_groups has {len(groups)} values but ood_x has {len(ood)} samples")
        else:
            groups = groups[chosen]
        ood_y = _spread(groups, K, label)

    is_ood = np.zeros(n_in + n_ood, dtype=bool)
    is_ood[positions.choice(n_in + n_ood, n_ood, replace=False)] = True
    order = np.argsort(np.argsort(is_ood, kind="stable"))  # the samples of x stand first, in their order
    y = np.concatenate([inside.y[kept], ood_y])[order]
    is_flipped = _flip(y, ~is_ood, flip, K, flips)
    rows = joined_rows([take_rows(inside.x, kept), take_rows(ood, chosen)])
    rows = take_rows(rows, order)
    ids = np.arange(len(order))
    if isinstance(x, Samples) and isinstance(ood_x, Samples) and x.ids.dtype.kind == ood_x.ids.dtype.kind:
        both = np.concatenate([x.ids[kept], ood_x.ids[chosen]])
        ids = ids if pd.Index(both).has_duplicates else both[order]
    return Contaminated(
        x=rows.reset_index(drop=True) if isinstance(rows, pd.DataFrame) else rows,
        y=y,
        classes=inside.classes,
        ids=ids,
        kind=inside.kind,
        is_ood=is_ood,
        is_flipped=is_flipped,
        true_y=np.concatenate([inside.y[kept], np.full(n_ood, -1)])[order],
        source=np.concatenate([kept, chosen])[order],
    )


def _check_settings(alpha: float, labels: str, flip: float, on_shortage: str, seed: object) -> None:
    if not 0 <= alpha < 1:
        raise SettingsError.wrong("alpha", alpha, "the share of OOD samples, at least 0 and less than 1")
    if not 0 <= flip <= 1:
        raise SettingsError.wrong("flip", flip, "the share of wrong labels, between 0 and 1")
    if labels not in ("random", "specific"):
        raise SettingsError.wrong("labels", labels, "'random' or 'specific'")
    if on_shortage not in ("raise", "lower", "subsample"):
        raise SettingsError.wrong("on_shortage", on_shortage, "'raise', 'lower' or 'subsample'")
    check({"seed": seed})


def _counts(n_in: int, n_ood: int, alpha: float, on_shortage: str) -> tuple[int, int]:
    """How many samples of either side to take."""
    wanted = round(alpha / (1 - alpha) * n_in)
    if wanted <= n_ood:
        return n_in, wanted
    if on_shortage == "lower":
        return n_in, n_ood
    if on_shortage == "subsample" and (fewer := round((1 - alpha) / alpha * n_ood)):
        return fewer, n_ood
    reachable = np.floor(n_ood / (n_in + n_ood) * 1e4) / 1e4  # rounded down, so that it can be met
    raise DataError(
        f"alpha {alpha:g} needs {wanted} OOD samples beside {n_in} in-distribution ones but ood_x has "
        f"{n_ood}; the largest alpha they reach is {reachable:g}: lower alpha, give more OOD samples, or set "
        "on_shortage='lower'" + " or 'subsample'" * (on_shortage == "raise")
    )


def _inside(x: Any, y: Any) -> Samples:
    """The in-distribution samples."""
    if isinstance(x, Samples) and y is not None:
        raise DataError("x is Samples, which bring their labels: leave y out and name ood_x=")
    if not isinstance(x, Samples) and y is None:
        raise DataError("y is missing: contaminate(x, y, ood_x) needs the labels of x")
    samples = x if isinstance(x, Samples) else as_samples(x, y, name="x")
    if not samples.num_classes:
        raise DataError("x has no labelled samples; contaminate needs at least one class")
    return samples


def _outside(ood_x: Any, x: Any) -> Any:
    """The rows of the OOD samples, in the form and the type of those of x; whole numbers survive it."""
    if ood_x is None:
        raise DataError("ood_x is missing: contaminate(x, y, ood_x) needs the OOD samples, or alpha=0")
    rows = as_rows(ood_x, "ood_x")
    if isinstance(x, pd.DataFrame) != isinstance(rows, pd.DataFrame):
        raise DataError(f"x is {type(x).__name__} and ood_x {type(rows).__name__}: give one type")
    if isinstance(rows, pd.DataFrame):
        if odd := sorted(map(str, set(rows.columns) ^ set(x.columns))):
            raise DataError(f"x and ood_x differ in columns {first_few(odd, 5)}; give both the same columns")
        return rows[list(x.columns)]
    if rows.shape[1:] != x.shape[1:]:
        raise DataError(f"a sample of x has shape {x.shape[1:]} and one of ood_x {rows.shape[1:]}")
    if not np.can_cast(rows.dtype, x.dtype, casting="same_kind"):
        raise DataError(f"x is {x.dtype} and ood_x {rows.dtype}; convert ood_x to the type of x")
    found = rows.astype(x.dtype, copy=False)
    if x.dtype.kind in "iu" and not np.array_equal(found, rows):
        raise DataError(f"ood_x holds numbers that {x.dtype} of x cannot; convert x to {rows.dtype}")
    return found


def _spread(groups: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """One label per group; every label gets as many groups as any other, give or take one."""
    present, group = np.unique(groups, return_inverse=True)
    labels = np.concatenate([rng.permutation(K) for _ in range(0, max(len(present), 1), K)])
    return labels[group]


def _flip(y: np.ndarray, may_flip: np.ndarray, flip: float, K: int, rng: np.random.Generator) -> np.ndarray:
    """Give a share of the samples that may flip another label, in place; return which."""
    candidates = np.flatnonzero(may_flip)
    chosen = rng.permutation(candidates)[: round(flip * len(candidates))]
    if len(chosen) and K < 2:
        raise DataError("flip needs two classes or more: with one there is no wrong label to give")
    if len(chosen):
        y[chosen] = (y[chosen] + rng.integers(1, K, size=len(chosen))) % K
    is_flipped = np.zeros(len(y), dtype=bool)
    is_flipped[chosen] = True
    return is_flipped


def _clusters(x: Any, count: int, seed: int) -> np.ndarray:
    """Cut the samples into at most `count` clusters of similar ones; (N,) their numbers."""
    # scikit-learn takes a second to import and most programs never come here.
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.preprocessing import StandardScaler

    from graylearn.data.encode import TableEncoder, letters

    n = len(x)
    if n <= count:
        return np.arange(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns, and of fewer distinct samples than clusters
        if isinstance(x, pd.DataFrame):
            rows = TableEncoder(id_like="keep", constant="keep").fit_transform(x)
        elif x.dtype == object:
            rows = letters(x, 1 << 12)
        else:
            rows = np.array(x, dtype=np.float32).reshape(n, -1)
            rows[~np.isfinite(rows)] = np.nan
            rows = np.nan_to_num(StandardScaler().fit_transform(rows))
        return np.asarray(MiniBatchKMeans(count, n_init=3, random_state=seed).fit_predict(rows))
