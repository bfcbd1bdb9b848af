"""Held-out class probabilities by a scikit-learn classifier of the user's, such as trees or a pipeline."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from graylearn.array_types import Floats, Ints
from graylearn.audit.inputs import are_probabilities, described
from graylearn.data.inputs import as_plain
from graylearn.data.samples import Label
from graylearn.data.splits import cross_fit, held_out_rows, stratified_folds, sum_by_sample
from graylearn.errors import DataError, SettingsError
from graylearn.options import MIN_CLASS, IdLike

_WORTH_THREADS = (
    100_000  # values of a training set below which threads wait for one another more than they work
)


def check_model(model: Any) -> None:
    """Refuse what cannot learn or does not give probabilities."""
    if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
        raise SettingsError(
            f"model is {type(model).__name__}, which has no fit or no predict_proba: give a classifier of "
            "scikit-learn's kind; CalibratedClassifierCV makes probabilities for one that has none"
        )


def fit_model(model: Any, x: Any, y: Any, **weights: Any) -> Any:
    """The model, fitted; on few values in one thread, as several take far longer on a busy machine."""
    few = int(np.prod(getattr(x, "shape", (_WORTH_THREADS,)))) < _WORTH_THREADS
    with threadpool_limits(1 if few else None, user_api="openmp"):
        return model.fit(x, y, **weights)


def model_probabilities(
    model: Any,
    x: Any,
    order: Ints,
    label: Ints,
    classes: tuple[Label, ...],
    *,
    folds: int,
    repeats: int,
    seed: int,
    group: Ints | None = None,
) -> Floats:
    """(N, K) what copies of `model` say of samples that they were not fitted on, the mean over repeats.

    The samples are those of x at `order`, and have the labels `label`.
    Samples of classes that are too small to be checked are in all fits, so that every copy knows all classes.
    group: (N,) where samples belong together; those of one are not fitted on together with it.
    """
    given = as_plain(x)
    names = (
        np.array(classes) if len({type(name) for name in classes}) == 1 else np.array(classes, dtype=object)
    )
    y = names[label]
    count = np.bincount(label, minlength=len(classes))
    if group is not None:
        pairs = np.unique(np.stack([group, label]), axis=1)
        count = np.bincount(pairs[1], minlength=len(classes))
    rare = count[label] < max(MIN_CLASS, folds)
    held = held_out_rows(stratified_folds(label, folds, repeats, seed, group), folds)

    def fit_each(weights: Floats) -> Iterator[Any]:
        for number, weight in enumerate(weights):
            kept = (weight > 0) | rare
            yield fit_model(new_copy(model, seed + number), _safe_indexing(given, order[kept]), y[kept])

    said = (
        (rows, class_probabilities(fitted, _safe_indexing(given, order[rows]), len(rows), names))
        for fitted, rows in cross_fit(fit_each, np.ones(len(label)), held)
    )
    return sum_by_sample(said, len(label), len(classes)) / repeats


def described_if_any(
    x: Any, label: Ints, id_like: IdLike
) -> tuple[NDArray[np.uint64], NDArray[np.float32] | None]:
    """As `described`; None for features of what only the model can read, such as texts."""
    try:
        return described(x, label, id_like)
    except DataError:
        plain = as_plain(x)
        if (count := _num_samples(plain)) != len(label):
            raise DataError(
                f"X has {count} samples for {len(label)} labels: give one label per sample"
            ) from None
        named = [blake2b(repr(_safe_indexing(plain, row)).encode(), digest_size=8) for row in range(count)]
        return np.array([int.from_bytes(each.digest(), "big") for each in named], dtype=np.uint64), None


def new_copy(model: Any, seed: int) -> Any:
    """A copy that is not fitted; where it, or a step of it, draws random numbers and nobody fixed them, by
    this seed."""
    if not hasattr(model, "get_params"):
        return copy.deepcopy(model)
    made = clone(model)
    drawn = [name for name, value in made.get_params().items() if value is None]
    return made.set_params(**{name: seed for name in drawn if re.search("(^|__)random_state$", name)})


def class_probabilities(fitted: Any, x: Any, n: int, names: NDArray[Any]) -> Floats:
    """(n, K) its probabilities; a class that it was not shown has none."""
    found = np.asarray(fitted.predict_proba(x), dtype=np.float64)
    known = np.asarray(fitted.classes_)
    number = {name: index for index, name in enumerate(names.tolist())}
    if found.shape != (n, len(known)) or not set(known.tolist()) <= set(number):
        raise DataError(
            f"predict_proba gave shape {found.shape} for {n} samples of {len(known)} classes: expected a "
            "probability for each class in classes_"
        )
    if not are_probabilities(found):
        raise DataError(
            "predict_proba gave rows that are no probabilities (not negative, of sum 1): a model with an "
            "objective of its own may give raw scores; put a softmax over them"
        )
    said = np.zeros((n, len(names)))
    said[:, [number[name] for name in known.tolist()]] = found
    return said
