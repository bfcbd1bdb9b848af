"""One dirty set by its seed: `draw(seed, sources)`, with the truth about every sample.

Two of five sets are clean, or hopeless: their features say nothing of the labels, which then count as right.
Real families and made-up ones (each generator is a family) are drawn about as often as one another, and no
set holds samples of two families, so that any family can be left out by `family_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge import dirt
from judge.foreign import FOREIGN, PLAIN, elsewhere
from judge.generators import GENERATORS, shares, width
from judge.sources import Samples
from judge.warp import warped

Random = np.random.Generator
Sources = Mapping[str, list[Samples]]

BELONGS, MISLABELLED, FOREIGN_SAMPLE = 0, 1, 2
PLANS = {"clean": 0.34, "hopeless": 0.03, "labels": 0.28, "foreign": 0.18, "both": 0.17}
"""What is wrong with a set, and how often."""
WEAK, OF_WEAK = 0.12, {"clean": 0.56, "hopeless": 0.04, "labels": 0.22, "foreign": 0.1, "both": 0.08}
"""Share of the sets whose features tell little, and what is wrong with those."""
WRONG = ("labels", "foreign random", "foreign specific", "both")
"""What `wrong_with` says of sets in which something is wrong."""
LIKE_OVERLAP = ("boundary", "instance", "feature", "models")
"""Errors that weak features cannot tell from classes that overlap: there they are few."""
FEATURELESS = ("clean", "hopeless")
GENERATED = 0.45
"""Share of the made-up families."""
SMALLEST = 60
"""Rows that belong, at least, where the source has as many."""
FEWEST = 3
"""Rows of a class that nothing was done to, at least."""


@dataclass(frozen=True)
class DirtySet:
    """Samples with given labels and the truth about them."""

    features: np.ndarray
    """(N, D) float32"""
    label: np.ndarray
    """(N,) given labels 0..K-1, each of them borne by a sample"""
    truth: np.ndarray
    """(N,) 0 belongs, 1 mislabelled, 2 foreign"""
    true_label: np.ndarray
    """(N,) -1 where the sample belongs to no class"""
    info: dict[str, Any]
    """family, source, plan, noise and its rate, foreign share, kinds and scheme, N, K, D, overlap, warps"""


def wrong_with(info: dict[str, Any]) -> str:
    """The plan of a set by its `info`; where all is foreign that is wrong, also how that is labelled."""
    if info["plan"] != "foreign":
        return str(info["plan"])
    return "foreign random" if info["scheme"] in ("random", "as frequent") else "foreign specific"


@dataclass
class _Rows:
    """Rows of a set on the way."""

    x: np.ndarray
    y: np.ndarray
    """True classes, -1 for none."""
    given: np.ndarray

    def add(self, x: np.ndarray, y: np.ndarray, given: np.ndarray) -> None:
        self.x = np.concatenate([self.x, x])
        self.y, self.given = np.concatenate([self.y, y]), np.concatenate([self.given, given])


def family_of(seed: int, sources: Sources) -> str:
    """The family that the set of this seed is drawn from."""
    return _family(_random(seed), sources)


def _random(seed: int) -> Random:
    return np.random.default_rng([20, seed])


def _family(random: Random, sources: Sources) -> str:
    real = sorted(sources)
    if real and random.random() > GENERATED:
        return str(random.choice(real))
    return str(random.choice(list(GENERATORS)))


def draw(seed: int, sources: Sources) -> DirtySet:
    """The set of this seed; the same for the same sources, in any process."""
    random = _random(seed)
    family = _family(random, sources)
    x, y, held_x, held_group, info = _base(random, family, sources)
    k = int(y.max()) + 1
    weak = random.random() < WEAK
    if weak:
        every = _weakened(random, np.concatenate([x, held_x]), family == "rules")
        x, held_x = every[: len(x)], every[len(x) :]
    if family != "rules" and random.random() < 0.15:
        x = _strays(random, x, y, k)
    if family != "rules" and random.random() < 0.2:
        every = _in_sittings(random, np.concatenate([x, held_x]), np.concatenate([y, k + held_group]))
        x, held_x = every[: len(x)], every[len(x) :]
    elif family != "rules" and random.random() < 0.04:
        x = _crowded(random, x, y, k)
    plans = OF_WEAK if weak else PLANS
    plan = str(random.choice(list(plans), p=list(plans.values())))
    info |= {"seed": seed, "family": family, "plan": plan, "noise": "", "kinds": (), "scheme": ""}
    rows = _Rows(x, y, y.copy())
    extras: list[str] = []
    if plan in ("labels", "both"):
        names = list(dirt.LABEL_ERRORS)
        weight = np.array([dirt.WEIGHTS.get(name, 1.0) for name in names])
        info["noise"] = str(random.choice(names, p=weight / weight.sum()))
        rate = _share(random, 0.01, 0.5)
        if weak and info["noise"] in LIKE_OVERLAP:
            rate = float(np.exp(random.uniform(np.log(0.005), np.log(0.2))))
        rows.given = dirt.LABEL_ERRORS[info["noise"]](random, x, y, k, rate)
    if plan in ("foreign", "both"):
        theirs = [each for each in sources.get(family, []) if each.name != info["source"]]
        foreign, group, info["kinds"] = _foreign(random, family, x, y, held_x, held_group, theirs)
        given, info["scheme"] = _foreign_labels(random, group, rows.given, k)
        kept = given >= 0
        rows.add(foreign[kept], np.full(kept.sum(), -1), given[kept])
    if random.random() < 0.15:
        extras.append(_small_class(random, rows, k, plan))
    if random.random() < 0.15:
        extras.append(_copies(random, rows))
    features, info["warps"] = warped(random, rows.x, info.pop("by_column"))
    if plan == "hopeless":
        rows.y = rows.given = random.permutation(rows.given)
    if random.random() < 0.04:
        features, name = _leak(random, features, rows)
        extras.append(name)
    return _finished(random, features, rows, info | {"extras": tuple(extras)})


def _weakened(random: Random, x: np.ndarray, words: bool) -> np.ndarray:
    """Features without most columns or directions, or behind noise."""
    few = width(random, 1, max(2, min(8, x.shape[1] // 2)))
    if words or random.random() < 0.4:
        return x[:, random.permutation(x.shape[1])[:few]]
    z = dirt.standardised(x)
    if random.random() < 0.5:
        return np.asarray(z @ random.normal(size=(z.shape[1], few)) / np.sqrt(z.shape[1]))
    return np.asarray(z + np.exp(random.uniform(np.log(0.4), np.log(2.0))) * random.normal(size=z.shape))


def _crowded(random: Random, x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Features of which, in some classes, those that lie together lie closer still, and elsewhere."""
    x, spread = x.copy(), x.std(axis=0)
    for c in random.choice(k, int(random.integers(1, min(k, 4) + 1)), replace=False):
        own = np.flatnonzero(y == c)
        if len(own) < 2 * FEWEST:
            continue
        middle = x[random.choice(own)]
        away = (((x[own] - middle) / np.maximum(spread, 1e-9)) ** 2).sum(axis=1)
        some = own[away.argsort()[: max(FEWEST, round(len(own) * random.uniform(0.05, 0.45)))]]
        to = middle + random.uniform(0.0, 1.5) * spread * random.normal(size=len(spread))
        x[some] = to + random.uniform(0.05, 0.7) * (x[some] - middle)
    return x


def _in_sittings(random: Random, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Features of which each class is a handful of crowds, as if it were a few speakers or machines."""
    x, spread = x.astype(np.float64), x.std(axis=0)
    z = x / np.maximum(spread, 1e-9)
    most, apart = width(random, 1, 16), random.uniform(0.0, 0.7)
    grain, uneven = random.uniform(0.05, 0.8), random.uniform(0.0, 1.3)
    for c in np.unique(y):
        own = np.flatnonzero(y == c)
        crowds = int(random.integers(1, max(1, min(most, len(own) // FEWEST)) + 1))
        first = random.permutation(own)[:crowds]
        near = (z[own] @ z[first].T - 0.5 * (z[first] ** 2).sum(axis=1)).argmax(axis=1)
        place = x[first] + apart * spread * random.normal(size=(crowds, len(spread)))
        dense = grain * np.exp(uneven * random.normal(size=crowds))
        x[own] = place[near] + np.minimum(dense, 1.2)[near, None] * (x[own] - x[first][near])
    return x


def _strays(random: Random, x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Hard samples, rightly labelled: some of them lie among another class, mostly one that is alike."""
    some = np.flatnonzero(random.random(len(y)) < np.exp(random.uniform(np.log(0.005), np.log(0.12))))
    alike = dirt.closeness(dirt.centres(dirt.standardised(x), y, k), np.arange(k), k)
    alike[:, np.bincount(y, minlength=k) == 0] = -np.inf
    np.fill_diagonal(alike, -np.inf)
    chance = np.exp(random.uniform(0.0, 3.0) * (alike - alike.max(axis=1, keepdims=True)))
    of_class = [np.flatnonzero(y == c) for c in range(k)]
    theirs = np.array([random.choice(of_class[c]) for c in dirt.drawn(random, chance[y[some]])], dtype=int)
    part = random.uniform(0.3, 0.95, (len(some), 1))
    x = x.copy()
    x[some] += part * (x[theirs] - x[some])
    return x


def _share(random: Random, low: float, high: float) -> float:
    """A share of what is wrong: any, and now and then a small one."""
    if random.random() < 0.7:
        return float(random.uniform(low, high))
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def _base(random: Random, family: str, sources: Sources) -> tuple[Any, ...]:
    """Samples of some classes of one source, (N, D) and (N,); those of the others; what is known of them."""
    n = width(random, 100, 3000) if random.random() < 0.75 else int(random.integers(1000, 4000))
    if family in GENERATORS and random.random() < 0.02:
        n = width(random, 4000, 12_000)
    most = max(2, min(200, n // 8))
    held = int(random.integers(1, 7)) if random.random() < 0.6 else 0
    if family in GENERATORS:
        k = width(random, 2, min(most, 30)) if random.random() < 0.9 else width(random, min(most, 30), most)
        held = 0 if not held else k if random.random() < 0.4 else min(held, k)
        y = np.zeros(0, dtype=np.int64)
        while (np.bincount(y, minlength=2) >= FEWEST).sum() < 2:
            x, y = GENERATORS[family](random, round(n * (k + held) / k), k + held)
        info: dict[str, Any] = {"source": family, "by_column": True}
        one_true = random.random() < 0.2
    else:
        own = sources[family]
        samples = own[_pick(random, own)]
        x, y = samples.x, samples.y
        info = {"source": samples.name, "by_column": family == "table" or random.random() < 0.3}
        k, one_true = most, samples.source.one_true_class
    every = random.permutation(np.unique(y))
    if held and family not in GENERATORS and random.random() < 0.4:
        held = max(held, len(every) // 2)
    if len(every) - held < 2 or (len(every) <= 4 and random.random() < 0.5):
        held = 0
    k = min(k, len(every) - held)
    if family not in GENERATORS and random.random() < (0.2 if len(every) <= 4 else 0.6):
        k = width(random, 2, k)
    inside, outside = every[:k], every[k:][: max(held, 2 * k)] if held else every[:0]
    chosen = _chosen(random, y, inside, n)
    if len(chosen) < SMALLEST:
        inside, outside = every, every[:0]
        chosen = random.permutation(len(y))[: max(n, SMALLEST)]
    other = random.permutation(np.flatnonzero(np.isin(y, outside)))[:800]
    number = np.full(int(every.max()) + 1, -1)
    number[np.unique(y[chosen])] = np.arange(len(np.unique(y[chosen])))
    new = number[y[chosen]]
    if new.max() >= 3 and random.random() < 0.15:
        new = _merged(random, dirt.standardised(x[chosen].astype(np.float64)), new)
    if random.random() < 0.08:  # one class under two names, which nobody can tell apart
        same = np.flatnonzero(new == random.choice(new))
        parted = random.permutation(same)[: round(len(same) * random.uniform(0.2, 0.5))]
        if len(parted) >= FEWEST:
            new[parted] = new.max() + 1
    info["overlap"] = "none" if one_true else "possible"
    x = x.astype(np.float64)
    return x[chosen], new, x[other], y[other], info


def _merged(random: Random, z: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """(N,) classes of several kinds: mostly of kinds that are alike, now and then one of all the rest."""
    last = int(kind.max())
    if random.random() < 0.3:
        most = last // 3 if random.random() < 0.5 else last - 1
        return np.minimum(random.permutation(last + 1)[kind], last - random.integers(1, 1 + most))
    centre = dirt.centres(z, kind, last + 1)
    first = random.permutation(last + 1)[: int(random.integers(2, last + 1))]
    away = ((centre[:, None] - centre[first]) ** 2).sum(axis=2)
    away[first, np.arange(len(first))] = -1.0
    return np.asarray(away.argmin(axis=1)[kind])


def _pick(random: Random, own: list[Samples]) -> int:
    """A source of a family; many small tables of one package count as a few."""
    rows = [samples.source.name for samples in own]
    weight = np.array([1.0 / rows.count(name) ** 0.5 for name in rows])
    return int(random.choice(len(own), p=weight / weight.sum()))


def _chosen(random: Random, y: np.ndarray, inside: np.ndarray, n: int) -> np.ndarray:
    """Rows of the classes, about n of them, as they come or in uneven sizes; FEWEST per class at least."""
    pool = random.permutation(np.flatnonzero(np.isin(y, inside)))
    if random.random() < 0.5:
        part = dict(zip(inside.tolist(), shares(random, len(inside)), strict=True))
        pool = np.concatenate([
            pool[y[pool] == c][: max(FEWEST, round(share * min(n, len(pool))))] for c, share in part.items()
        ])  # fmt: skip
    else:
        pool = pool[:n]
    count = np.bincount(y[pool], minlength=int(y.max()) + 1)
    enough = pool[count[y[pool]] >= FEWEST]
    if len(np.unique(y[enough])) >= 2:
        return enough
    least = [np.flatnonzero(y == c)[:20] for c in inside]  # as good as nothing was drawn of all but one class
    return np.concatenate(least)


def _foreign(random: Random, family: str, x: np.ndarray, y: np.ndarray, held_x: np.ndarray,
             held_group: np.ndarray, theirs: list[Samples],
             ) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:  # fmt: skip
    """(n, D) foreign samples of one to three kinds, the group of each, and the kinds; theirs: of others."""
    share = _share(random, 0.02, 0.35)
    n = max(2, round(share / (1 - share) * len(x)))
    possible = list(PLAIN) if family == "rules" else list(FOREIGN)
    possible += ["elsewhere", "elsewhere"] if theirs else []
    kinds = [str(kind) for kind in random.choice(possible, int(random.integers(1, 4)))]
    if len(held_x):
        kinds = ["held out"] if random.random() < 0.6 else ["held out", *kinds[:-1]]
    kinds = list(dict.fromkeys(kinds))
    features, groups = [], []
    for number, size in enumerate(np.round(n * random.dirichlet(np.full(len(kinds), 5.0))).astype(int)):
        kind, size = kinds[number], max(1, int(size))
        if kind == "held out":
            rows = random.permutation(len(held_x))[:size]
            features.append(held_x[rows])
            groups.append(held_group[rows])
            continue
        # what could not be read bears any label, so that a dense crowd of one label mostly belongs
        groups.append(10_000 + np.arange(size) if kind == "empty" else np.full(size, 1000 + number))
        if kind == "elsewhere":
            features.append(elsewhere(random, x, theirs[int(random.integers(len(theirs)))].x, size))
        else:
            features.append(FOREIGN[kind](random, x, y, size))
    return np.concatenate(features), np.concatenate(groups), tuple(kinds)


def _foreign_labels(random: Random, group: np.ndarray, given: np.ndarray, k: int) -> tuple[np.ndarray, str]:
    """(n,) the labels that foreign samples bear, -1 for those that would outnumber a label's own; and how."""
    count = np.bincount(given, minlength=k)
    scheme = str(random.choice(["random", "as frequent", "specific", "one label", "few labels"],
                               p=[0.3, 0.1, 0.37, 0.13, 0.1]))  # fmt: skip
    if scheme == "random":
        return random.integers(0, k, len(group)), scheme
    if scheme == "as frequent":
        return random.choice(given, len(group)), scheme
    number = np.unique(group, return_inverse=True)[1]
    if scheme == "one label":
        label = np.full(len(group), int(random.choice(given)))
    elif scheme == "specific":
        label = random.permutation(max(k, int(number.max()) + 1))[number] % k
    else:
        label = random.integers(0, k, 3)[random.integers(0, 3, len(group))]
    place = np.zeros(len(label), dtype=np.int64)
    for c in np.unique(label):
        place[label == c] = np.arange((label == c).sum())
    return np.where(place < np.maximum(count[label], 2), label, -1), scheme


def _small_class(random: Random, rows: _Rows, k: int, plan: str) -> str:
    """A class more, of three to eight rows: a misspelt name, any rows put there, or one of its own."""
    size = int(random.integers(3, 9))
    where = np.flatnonzero((rows.y >= 0) & (rows.given == rows.y))
    if plan in FEATURELESS or random.random() < 0.3:
        middle = rows.x[random.integers(0, len(rows.x))]
        way = random.normal(size=middle.shape) * rows.x.std(axis=0) * random.uniform(0.5, 3.0)
        apart = middle + way + 0.3 * rows.x.std(axis=0) * random.normal(size=(size, len(middle)))
        rows.add(apart, np.full(size, k), np.full(size, k))
        return "tiny"
    name = "any rows"
    if random.random() < 0.6:
        own = where[rows.y[where] == random.choice(rows.y[where])] if len(where) else where
        where, name = own, "misspelt"
    put = random.permutation(where)[:size]
    counts = np.bincount(rows.given, minlength=k)
    put = put[counts[rows.given[put]] >= 2 * size]  # the class they come from stays the larger one
    rows.given[put] = k
    return name


def _copies(random: Random, rows: _Rows) -> str:
    """Some rows once more, with the same label, or with their true one."""
    some = random.integers(0, len(rows.x), max(1, round(len(rows.x) * random.uniform(0.01, 0.25))))
    same = random.random() < 0.6
    true = np.where(rows.y[some] >= 0, rows.y[some], rows.given[some])
    rows.add(rows.x[some], rows.y[some], rows.given[some] if same else true)
    return "copies" if same else "copies with their true labels"


def _leak(random: Random, features: np.ndarray, rows: _Rows) -> tuple[np.ndarray, str]:
    """A column made from the labels, given or true."""
    true = random.random() < 0.5
    label = np.where(true & (rows.y >= 0), rows.y, rows.given).astype(float)
    if random.random() < 0.5:
        label = random.permutation(int(label.max()) + 1)[label.astype(int)].astype(float)
    noise = random.choice([0.0, 0.3, 1.0]) * random.normal(size=len(label))
    return np.c_[features, label + noise], "leak of the truth" if true else "leak of the labels"


def _finished(random: Random, features: np.ndarray, rows: _Rows, info: dict[str, Any]) -> DirtySet:
    """Shuffled, labels numbered as they occur; what belongs to a class that no label names is foreign."""
    order = random.permutation(len(rows.given))
    y, given = rows.y[order], rows.given[order]
    present = np.unique(given)
    number = np.full(max(int(present.max()), int(y.max())) + 2, -1)  # the last place stands for -1
    number[present] = np.arange(len(present))
    label, true = number[given], number[y]
    truth = np.where(true < 0, FOREIGN_SAMPLE, np.where(label != true, MISLABELLED, BELONGS))
    x = np.clip(np.nan_to_num(features[order]), -1e6, 1e6).astype(np.float32)
    info |= {"N": len(x), "K": len(present), "D": x.shape[1],
             "rate": float(np.mean(truth == MISLABELLED)),
             "ood": float(np.mean(truth == FOREIGN_SAMPLE))}  # fmt: skip
    return DirtySet(x, label.astype(np.int64), truth.astype(np.int8), true.astype(np.int64), info)
