"""How well each sample sits among the samples of its label: trimmed class centres.

A centre is the mean of the 70 % of a label's samples that are closest to it, so a minority that does not
belong cannot pull it over. Where a class is one cloud in the feature space, the distance to the centre of
the own label finds what label probabilities cannot: foreign samples that all bear the same wrong label
and are therefore learnt as part of that class.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graylearn.array_types import Floats, Ints
from graylearn.audit.blocks import drawn, precision_for, row_blocks
from graylearn.audit.neighbours import squared_distance, unit_rows

TRIM = 0.7
ROUNDS = 10
SHRINKAGE = 0.3


def closest(nearness: Floats, label: Ints, share: float) -> NDArray[np.bool_]:
    """Which samples are among the `share` of their label's samples with the largest nearness."""
    order = np.lexsort((-nearness, label))
    count = np.bincount(label)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    rank = np.empty(len(label), dtype=np.int64)
    rank[order] = np.arange(len(label)) - first[label[order]]
    return np.asarray(rank < np.ceil(share * count)[label])


def _sums(rows: Floats, label: Ints, kept: NDArray[np.bool_], num_classes: int) -> Floats:
    """(K, D) sum of the kept rows of each label, each row added once, however many labels there are."""
    chosen = np.flatnonzero(kept)
    cells = (np.ones(len(chosen), dtype=rows.dtype), (label[chosen], chosen))
    return np.asarray(csr_array(cells, shape=(num_classes, len(rows))) @ rows)


def centre_cosine(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    outside: NDArray[np.bool_] | None = None,
    device: torch.device | str = "cpu",
) -> Floats:
    """(N, K) cosine of each sample to each label's trimmed centre; to its own, with itself left out.

    `outside` (N,) are samples already held to be foreign: no centre is made of them.
    """
    some = drawn(label, num_classes)
    if some is not None:
        return _cosine_by_part(features, label, num_classes, outside, some, device)
    n, d = features.shape
    unit = unit_rows(features).numpy().astype(precision_for(n * max(d, num_classes)))
    inside = np.ones(n, dtype=bool) if outside is None else ~outside
    total, kept = _trimmed_sums(unit, label, inside, num_classes)
    similarity = unit @ directions(total).T
    similarity[np.arange(n), label] = _own_cosine(unit, total, label, without=kept)
    return np.asarray(similarity)


def _cosine_by_part(
    features: NDArray[np.float32],
    label: Ints,
    num_classes: int,
    outside: NDArray[np.bool_] | None,
    some: Ints,
    device: torch.device | str,
) -> Floats:
    """`centre_cosine` to centres that are made of some of the samples."""
    n, d = features.shape
    similarity = np.empty((n, num_classes), dtype=precision_for(n * num_classes))
    unit = unit_rows(features[some]).numpy().astype(precision_for(n * max(d, num_classes)))
    inside = np.ones(len(some), dtype=bool) if outside is None else ~outside[some]
    total, kept = _trimmed_sums(unit, label[some], inside, num_classes)
    direction = torch.from_numpy(directions(total).T.astype(np.float32)).to(device)
    for part in row_blocks(n, max(d, num_classes)):
        similarity[part] = (unit_rows(features[part], device) @ direction).cpu().numpy()
    similarity[some, label[some]] = _own_cosine(unit, total, label[some], without=kept)
    return similarity


def directions(total: Floats) -> Floats:
    """Rows of length one; those of zeros stay."""
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1), 1e-12)[:, None])


def _trimmed_sums(
    unit: Floats, label: Ints, inside: NDArray[np.bool_], num_classes: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """(K, D) sum of the rows of each label that are closest to it, and (N,) which they are."""
    kept = inside
    total = _sums(unit, label, kept, num_classes)
    for _ in range(ROUNDS):
        kept = closest(_own_cosine(unit, total, label), label, TRIM) & inside
        total = _sums(unit, label, kept, num_classes)
    return total, kept


def _own_cosine(unit: Floats, total: Floats, label: Ints, without: NDArray[np.bool_] | None = None) -> Floats:
    """(N,) cosine of each row to the sum of its label, itself taken out of it where `without` says so."""
    found = np.empty(len(unit), dtype=unit.dtype)
    for part in row_blocks(*unit.shape):
        rows, direction = unit[part], total[label[part]]
        if without is not None:
            direction = direction - rows * without[part, None]
        length = np.maximum(np.linalg.norm(direction, axis=1), 1e-12)
        found[part] = np.einsum("nd,nd->n", rows, direction) / length
    return found


def round_classes(
    x: Floats, label: Ints, num_classes: int, kept: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """(K, D) class means, and the (D, D) matrix W for which the rows of x @ W.T are round within a class.

    Of the samples that are `kept`, all unless told; one spread for all classes, drawn to a round one.
    """
    n, d = x.shape
    kept = np.ones(n, dtype=bool) if kept is None else kept
    count = np.maximum(np.bincount(label[kept], minlength=num_classes), 1)
    centre = (_sums(x, label, kept, num_classes) / count[:, None]).astype(x.dtype)
    spread = np.zeros((d, d))
    for part in row_blocks(n, d):
        chosen = kept[part]
        offset = x[part][chosen] - centre[label[part][chosen]]
        spread += offset.T @ offset
    spread /= max(int(kept.sum()), 1)
    size = max(float(np.trace(spread)) / d, 1e-12)
    spread = (1.0 - SHRINKAGE) * spread + SHRINKAGE * size * np.eye(d)
    return centre, np.linalg.inv(np.linalg.cholesky(spread)).astype(x.dtype)


def centre_distance(
    features: NDArray[np.float32], label: Ints, num_classes: int, device: torch.device | str = "cpu"
) -> Floats:
    """(N, K) squared Mahalanobis distance to each label's trimmed centre, one trimmed spread for all.

    It finds elongated classes, as in astronomical tables, where cosine does not: 20 % OOD on the SDSS
    tables, average precision .25 to .82 (stellar) and .73 to .88 (skyserver) by itself.
    """
    n, d = features.shape
    kind = precision_for(n * max(d, num_classes))
    some = drawn(label, num_classes)
    given = label if some is None else label[some]
    learned = np.asarray(features if some is None else features[some], dtype=kind)
    kept = np.ones(len(given), dtype=bool)
    own = np.empty(len(given), dtype=kind)
    for _ in range(ROUNDS // 2):
        centre, whiten = round_classes(learned, given, num_classes, kept)
        used = kept
        for part in row_blocks(*learned.shape):
            own[part] = (((learned[part] - centre[given[part]]) @ whiten.T) ** 2).sum(axis=1)
        kept = closest(-own, given, TRIM)
    turn = torch.from_numpy(whiten.T).to(device)
    white_centre = torch.from_numpy(centre).to(device) @ turn
    square = np.empty((n, num_classes), dtype=kind)
    for part in row_blocks(n, max(d, num_classes)):
        white = torch.from_numpy(features[part]).to(turn) @ turn
        square[part] = squared_distance(white, white_centre).cpu().numpy()
    # A sample is measured from the centre of the others: one of a few pulls it close, which made a sample
    # that bears another label look as if it lay farther out than those among which it belongs.
    rows = np.flatnonzero(used) if some is None else some[used]
    count = np.bincount(given[used], minlength=num_classes)[label[rows]]
    square[rows, label[rows]] *= (count / np.maximum(count - 1, 1)) ** 2
    return square
