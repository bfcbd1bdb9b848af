"""How labels go wrong: functions (random, x, y, k, rate) -> given labels (N,), each for another cause.

x are the features as their source has them, y the true classes 0..k-1. The share of labels that a function
makes wrong is near `rate`; what it truly is, is counted afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.tree import DecisionTreeClassifier

Random = np.random.Generator
LabelError = Callable[[Random, np.ndarray, np.ndarray, int, float], np.ndarray]


def standardised(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and spread 1."""
    return np.asarray((x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6))


def drawn(random: Random, chance: np.ndarray) -> np.ndarray:
    """(N,) one class per row of (N, K) chances."""
    level = chance.cumsum(axis=1)
    return np.minimum(
        (level < random.random((len(chance), 1)) * level[:, -1:]).sum(axis=1), chance.shape[1] - 1
    )


def centres(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """(K, D) means of the classes; the mean of all for a class without samples."""
    total = np.zeros((k, x.shape[1]))
    np.add.at(total, y, x)
    count = np.bincount(y, minlength=k)[:, None]
    return np.where(count > 0, total / np.maximum(count, 1), x.mean(axis=0))


def closeness(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """(N, K) how near each sample is to the mean of each class, standardised."""
    score = _nearness(x, centres(x, y, k))
    return np.asarray(score / np.maximum((score - score.mean(axis=1, keepdims=True)).std(), 1e-9))


def _nearness(x: np.ndarray, middle: np.ndarray) -> np.ndarray:
    return np.asarray(2.0 * x @ middle.T - (middle**2).sum(axis=1))


def other(random: Random, y: np.ndarray, k: int) -> np.ndarray:
    """(N,) any other class, each as likely."""
    new = random.integers(0, k - 1, len(y))
    return np.asarray(new + (new >= y))


def uniform(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """Any other class, at a rate that leaves the true class the most frequent."""
    wrong = random.random(len(y)) < min(rate * (1.3 if k > 3 else 1.0), 0.6 if k > 3 else 0.45)
    return np.where(wrong, other(random, y, k), y)


def shifted(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """The next class."""
    return np.where(random.random(len(y)) < rate, (y + 1) % k, y)


def swapped(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """Pairs of classes taken for one another, one pair or many."""
    partner, order = np.arange(k), random.permutation(k)
    for pair in range(int(random.integers(1, k // 2 + 1))):
        a, b = order[2 * pair : 2 * pair + 2]
        partner[a], partner[b] = b, a
    touched = np.mean(partner[y] != y)
    return np.where(random.random(len(y)) < min(rate / max(touched, 1e-3), 0.45), partner[y], y)


def confused(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """Each class has its own rate, and its own classes that it is taken for."""
    rates = random.uniform(0.1, 1.9, k)
    rates = np.minimum(rate * rates / rates.mean(), 0.47)
    to = random.dirichlet(np.full(k, 10.0 ** random.uniform(-1.0, 0.5)), k) + 1e-9
    np.fill_diagonal(to, 0.0)
    return np.where(random.random(len(y)) < rates[y], drawn(random, to[y]), y)


def one_class(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """One class alone: its samples go to any other class, to one other, or others' come to it."""
    a = int(random.integers(k))
    kind, own = random.integers(3), y == a
    if kind == 2:
        return np.where(~own & (random.random(len(y)) < min(rate, 0.3)), a, y)
    wrong = own & (random.random(len(y)) < min(0.47, 3.0 * rate))
    return np.where(wrong, other(random, y, k) if kind else (a + 1 + random.integers(k - 1)) % k, y)


def _at_rate(random: Random, score: np.ndarray, y: np.ndarray, rate: float) -> np.ndarray:
    """Labels drawn from softmax(score), the true class raised so that a share of `rate` is wrong."""
    rows = np.arange(len(y))
    lift = np.exp(np.clip(score - score.max(axis=1, keepdims=True), -30, 0))
    own = lift[rows, y].copy()
    rest = lift.sum(axis=1) - own
    low, high = -12.0, 30.0
    for _ in range(40):
        raised = (low + high) / 2
        wrong = rest / (rest + own * np.exp(raised))
        low, high = (raised, high) if wrong.mean() > rate else (low, raised)
    lift[rows, y] = own * np.exp(high)
    return drawn(random, lift)


def at_boundary(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """Samples near another class are taken for it."""
    return _at_rate(random, closeness(standardised(x), y, k) * random.uniform(1.0, 8.0), y, rate)


def by_instance(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """What a sample is taken for hangs on its features, by weights that mean nothing."""
    z = standardised(x)
    to = random.normal(size=(k, x.shape[1], k)) if k <= 40 else random.normal(size=(1, x.shape[1], k))
    score = np.empty((len(y), k))
    for c in range(k):
        score[y == c] = z[y == c] @ to[c % len(to)]
    return _at_rate(random, score / np.sqrt(x.shape[1]) * random.uniform(0.5, 3.0), y, rate)


def by_feature(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """The farther along a direction or a column, the likelier taken for the class most alike."""
    z = standardised(x)
    along = z[:, random.integers(x.shape[1])] if random.random() < 0.4 else z @ random.normal(size=x.shape[1])
    rank = (along.argsort().argsort() + 0.5) / len(y)
    power = random.uniform(1.0, 6.0)
    chance = np.minimum(rate * (power + 1.0) * rank**power, 0.6)
    near = closeness(centres(z, y, k), np.arange(k), k)
    np.fill_diagonal(near, -np.inf)
    return np.where(random.random(len(y)) < chance, near.argmax(axis=1)[y], y)


def _opinion(random: Random, x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """(N, K) scores of a weak model: few samples, few columns, or columns behind noise."""
    n, d = x.shape
    z = x[:, random.permutation(d)[: max(1, round(d * random.uniform(0.1, 1.0)))]]
    if random.random() < 0.5:
        z = z + random.uniform(0.3, 2.5) * random.normal(size=z.shape)
    seen = random.permutation(n)[: max(3 * k, round(n * random.uniform(0.02, 0.5)))]
    kind = random.integers(4)
    if kind == 0:
        if random.random() < 0.3:
            return closeness(z, y, k)
        score = _nearness(z, centres(z[seen], y[seen], k))
    elif kind == 1:  # ridge on few samples
        design = np.c_[z, np.ones(n)]
        gram = design[seen].T @ design[seen] + random.uniform(1.0, 100.0) * np.eye(design.shape[1])
        score = design @ np.linalg.solve(gram, design[seen].T @ np.eye(k)[y[seen]])
    elif kind == 2:  # the nearest of few samples
        seen = seen[:150]
        away = (z[seen] ** 2).sum(axis=1) - 2.0 * z @ z[seen].T
        near = np.argpartition(away, 2, axis=1)[:, :3]
        near[(seen[near] == np.arange(n)[:, None]).any(axis=1)] = np.argsort(random.random(len(seen)))[:3]
        score = np.zeros((n, k))
        for j in range(3):
            score[np.arange(n), y[seen[near[:, j]]]] += 1.0
        return score
    else:
        tree = DecisionTreeClassifier(max_depth=int(random.integers(2, 8)), max_features="sqrt",
                                      random_state=int(random.integers(2**31)))  # fmt: skip
        few = z[:, :24].astype(np.float32)
        part = tree.fit(few[seen], y[seen]).predict_proba(few)
        score = np.zeros((n, k))
        score[:, tree.classes_] = np.log(part + 0.02) + 4.0
        return score
    return np.asarray(score / np.maximum(score.std(axis=1, keepdims=True), 1e-9))


def by_models(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """What one to five annotators say who see less than we do: any of them, or their majority.

    People err so: on hard samples, towards what looks alike, each in his own way.
    """
    z = standardised(x)
    annotators = int(random.choice([1, 1, 2, 3, 5]))
    majority = annotators >= 3 and random.random() < 0.5
    each = min(rate * 1.6, 0.5) if majority else rate
    said = np.empty((annotators, len(y)), dtype=np.int64)
    for a in range(annotators):
        score = _opinion(random, z, y, k) * np.exp(random.uniform(np.log(0.7), np.log(8.0)))
        own = float(np.clip(each * random.uniform(0.5, 1.5), 0.01, 0.6)) if annotators > 1 else each
        said[a] = _at_rate(random, score, y, own)
        if random.random() < 0.5:  # and slips of the pen
            said[a] = np.where(random.random(len(y)) < 0.15 * own, other(random, y, k), said[a])
    if not majority:
        return said[random.integers(0, annotators, len(y)), np.arange(len(y))]
    votes = (said[:, :, None] == np.arange(k)).sum(axis=0) + 0.5 * random.random((len(y), k))
    return np.asarray(votes.argmax(axis=1))


def in_blocks(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """Clusters of samples that lie together get the same wrong label, as if named all at once."""
    z, given = standardised(x), y.copy()
    wanted, size = round(min(rate, 0.25) * len(y)), int(random.integers(3, max(4, min(40, len(y) // 20))))
    for _ in range(min(200, max(1, wanted // size))):
        first = int(random.integers(len(y)))
        same = np.flatnonzero(y == y[first])
        away = ((z[same] - z[first]) ** 2).sum(axis=1)
        block = same[away.argsort()[: min(size, max(1, len(same) // 3))]]
        given[block] = (y[first] + random.integers(1, k)) % k
    return given


def by_group(random: Random, x: np.ndarray, y: np.ndarray, k: int, rate: float) -> np.ndarray:
    """Samples come in batches that each hold some classes; in some batches labels are wrong, in most none."""
    batches = int(random.integers(3, 25))
    batch = random.integers(0, batches, len(y))
    if random.random() < 0.5:  # batches that look each their own way
        batch = (standardised(x) @ random.normal(size=(x.shape[1], batches))).argmax(axis=1)
    bad = random.random(batches) < random.uniform(0.1, 0.5)
    bad[batch[random.integers(len(y))]] = True
    within = min(0.48, rate / max(float(np.mean(bad[batch])), 0.05))
    to = (np.arange(k) + random.integers(1, k, (batches, k))) % k
    wrong = bad[batch] & (random.random(len(y)) < within)
    return np.where(wrong, to[batch, y], y)


LABEL_ERRORS: dict[str, LabelError] = {
    "uniform": uniform, "shifted": shifted, "swapped": swapped, "confused": confused, "one class": one_class,
    "boundary": at_boundary, "instance": by_instance, "feature": by_feature, "models": by_models,
    "blocks": in_blocks, "group": by_group,
}  # fmt: skip
WEIGHTS = {"models": 5.0, "shifted": 2.5, "uniform": 2.5, "swapped": 1.6, "confused": 1.6, "instance": 1.4,
           "feature": 1.8, "blocks": 0.6, "group": 0.7}  # fmt: skip
"""How often a cause is drawn, beside the others' 1: people's errors most."""
