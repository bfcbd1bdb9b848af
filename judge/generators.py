"""Made-up sources: functions (random, n, k) -> features (N, D) and classes (N,) 0..k-1, each a family.

Classes of one draw differ in size (`shares`), from equal to 1 : 100. Where the classes overlap, the class
that was drawn is the truth: no rule could know better.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Random = np.random.Generator
Drawn = tuple[np.ndarray, np.ndarray]
Generator = Callable[[Random, int, int], Drawn]


def shares(random: Random, k: int) -> np.ndarray:
    """(K,) sizes of the classes, as parts of one: alike, uneven, or falling to a hundredth."""
    kind = random.random()
    if kind < 0.45:
        part = random.dirichlet(np.full(k, 100.0))
    elif kind < 0.8:
        part = random.dirichlet(np.full(k, random.uniform(1.0, 8.0)))
    else:
        part = random.permutation(np.geomspace(1.0, 10.0 ** -random.uniform(0.5, 2.0), k))
    part = np.maximum(part / part.sum(), 0.002)
    return np.asarray(part / part.sum())


def classes(random: Random, n: int, k: int) -> np.ndarray:
    """(N,) classes of random sizes, four rows of each at least."""
    y = random.choice(k, n, p=shares(random, k))
    least = min(4, n // k)
    y[: least * k] = np.tile(np.arange(k), least)
    return np.asarray(random.permutation(y))


def cut(random: Random, value: np.ndarray, k: int) -> np.ndarray:
    """(N,) classes: a value cut at levels, so that the classes get random sizes."""
    levels = np.quantile(value, shares(random, k).cumsum()[:-1])
    return np.searchsorted(levels, value + 1e-9 * random.normal(size=len(value)))


def width(random: Random, low: int, high: int) -> int:
    """A whole number from low to high, as likely in each octave."""
    return round(float(np.exp(random.uniform(np.log(low), np.log(max(low, high))))))


def mixtures(random: Random, n: int, k: int) -> Drawn:
    """Gaussian clusters, several per class, each with its own shape; some columns say nothing."""
    d, kinds = width(random, 2, 200), int(random.integers(1, 5))
    inner = min(d, width(random, 2, 24))
    y = classes(random, n, k)
    of_class = np.full(k, kinds)
    if random.random() < 0.4:  # one class is a crowd of many kinds, another is one
        kinds = int(random.integers(4, 20))
        of_class = 1 + (kinds * random.random(k) ** random.uniform(1.0, 4.0)).astype(np.int64)
    part = (of_class[y] * random.random(n)).astype(np.int64)
    apart = random.uniform(0.9, 7.0)
    centre = random.normal(size=(k, 1, inner)) + random.uniform(0.2, 1.2) * random.normal(
        size=(k, kinds, inner)
    )
    centre *= apart / np.linalg.norm(centre, axis=2, keepdims=True) * random.uniform(0.6, 1.4, (k, kinds, 1))
    spread = np.exp(random.normal(0.0, random.choice([0.0, 0.3, 0.7]), (k, kinds, inner)))
    x = random.normal(size=(n, d)) * random.uniform(0.7, 1.3, d)
    if random.random() < 0.25:  # heavy tails
        degrees = random.choice([1.5, 2.5, 4.0])
        x *= np.sqrt(degrees / random.chisquare(degrees, (n, 1)))
    x[:, :inner] = x[:, :inner] * spread[y, part] + centre[y, part]
    return x, y


def causal(random: Random, n: int, k: int) -> Drawn:
    """A random network of causes with noise at each node: some nodes are the features, another the class.

    Tabular foundation models learn from such draws (prior-fitted networks).
    """
    curves: list[Callable[[np.ndarray], np.ndarray]] = [
        np.tanh, np.sin, np.abs, lambda v: np.maximum(v, 0), lambda v: v,
        lambda v: np.sign(v) * np.sqrt(abs(v)), lambda v: np.exp(-v * v),
        lambda v: np.clip(v * v, 0, 9), lambda v: (v > 0) * 1.0, lambda v: np.round(v),
    ]  # fmt: skip
    wide, deep = width(random, 6, 60), int(random.integers(1, 5))
    noise = random.choice([0.0, 0.01, 0.1, 0.3])
    layer = random.normal(size=(n, width(random, 2, 20)))
    if random.random() < 0.4:  # causes that come in clusters
        layer += 2.0 * random.normal(size=(k, layer.shape[1]))[random.integers(0, k, n)]
    nodes = [layer]
    for _ in range(deep):
        weight = random.normal(size=(layer.shape[1], wide)) * (random.random((layer.shape[1], wide)) < 0.5)
        below = layer @ weight
        below = (below - below.mean(axis=0)) / np.maximum(below.std(axis=0), 1e-6)
        below += random.normal(size=wide) * 0.5
        pick = random.integers(0, len(curves), wide if random.random() < 0.5 else 1)
        layer = np.empty_like(below)
        for j in range(wide):
            layer[:, j] = curves[pick[j % len(pick)]](below[:, j])
        layer += noise * random.normal(size=layer.shape)
        nodes.append(layer)
    every = np.concatenate(nodes, axis=1)
    kept = random.permutation(every.shape[1])[: width(random, 3, min(120, every.shape[1]))]
    x = every[:, kept]
    if k <= 12 and random.random() < 0.5:  # a cause, cut at levels whose order says little
        value = layer @ random.normal(size=wide) + noise * random.normal(size=n)
        y = cut(random, value, k)
        if random.random() < 0.6:
            y = random.permutation(k)[y]
    else:
        score = layer @ random.normal(size=(wide, k))
        score = (score - score.mean(axis=0)) / np.maximum(score.std(axis=0), 1e-6)
        y = (score + noise * random.normal(size=score.shape)).argmax(axis=1)
    return x, y


def tree_classes(random: Random, x: np.ndarray, k: int, purity: float = 1.0) -> np.ndarray:
    """(N,) classes of the leaves of a random tree over the columns."""
    leaf = np.zeros(len(x), dtype=np.int64)
    wanted = int(k * random.uniform(1.5, 5.0)) + 2
    for new in range(1, wanted):
        rows = np.flatnonzero(leaf == np.bincount(leaf).argmax())
        column = x[rows, random.integers(x.shape[1])]
        level = np.quantile(column, random.uniform(0.25, 0.75))
        leaf[rows[column > level]] = new
    of_leaf = np.concatenate([random.permutation(k), random.choice(k, wanted, p=shares(random, k))])[:wanted]
    y = of_leaf[random.permutation(wanted)[leaf]]
    other = random.random(len(x)) > purity
    return np.where(other, random.permutation(y), y)


def trees(random: Random, n: int, k: int) -> Drawn:
    """Columns of numbers, some of them dependent, and a tree that says the class."""
    d = width(random, 3, 60)
    x = random.normal(size=(n, d))
    if random.random() < 0.5:
        x = x @ (np.eye(d) + random.uniform(0.2, 1.0) * random.normal(size=(d, d)) / np.sqrt(d))
    if random.random() < 0.4:
        x = np.round(x * random.uniform(0.7, 3.0))
    return x, tree_classes(random, x[:, : max(2, d // 2)], k, random.choice([1.0, 1.0, 0.97, 0.85]))


def rules(random: Random, n: int, k: int) -> Drawn:
    """Columns of a few words each, rules over them as the truth, all combinations or few distinct rows."""
    d = int(random.integers(4, 11))
    levels = random.integers(2, 6, d)
    k = min(k, 12)
    if random.random() < 0.5:  # every combination once, as far as there is room
        code = random.permutation(min(int(levels.prod()), 200_000))[:n]
        x = np.stack(np.unravel_index(code, levels), axis=1)
        if len(x) < n and random.random() < 0.3:
            x = x[random.integers(0, len(x), n)]
    else:
        x = np.stack([random.choice(v, n, p=random.dirichlet(np.full(v, 1.5))) for v in levels], axis=1)
    kind = random.random()
    worth = np.where(random.random(d) < 0.75, random.gamma(2.0, size=d), 0.0)
    if kind < 0.4:  # worths add up, as in a judgement by a few criteria, and what fails one fails
        value = (x / (levels - 1)) @ worth
        y = cut(random, np.round(value, 1), k)
        failing = random.integers(0, d, int(random.integers(0, 3)))
        y[(x[:, failing] == 0).any(axis=1)] = 0
    elif kind < 0.8:
        y = tree_classes(random, x + 0.0, k)
    else:  # the first rule that fits
        y = np.zeros(len(x), dtype=np.int64)
        for _ in range(int(random.integers(k, 4 * k))):
            few = random.permutation(d)[: int(random.integers(1, 4))]
            y[(x[:, few] == [random.integers(levels[j]) for j in few]).all(axis=1)] = random.integers(k)
    if random.random() < 0.5:
        return x + 0.0, y
    return np.concatenate([np.eye(v)[x[:, j]] for j, v in enumerate(levels)], axis=1), y


def waves(random: Random, n: int, k: int) -> Drawn:
    """Series in time: tones, bumps and steps of the class, moved and stretched, with noise."""
    d, y = width(random, 16, 160), classes(random, n, k)
    t = np.linspace(0.0, 1.0, d)
    stretch = 1.0 + random.uniform(0.0, 0.15) * random.normal(size=(n, 1))
    moved = t * stretch + random.uniform(0.0, 0.12) * random.normal(size=(n, 1))
    x = np.zeros((n, d))
    for _ in range(int(random.integers(1, 4))):
        size, pitch = random.gamma(2.0, size=(k, 1)), random.uniform(0.5, 9.0, (k, 1))
        phase, place = random.uniform(0.0, 6.3, (k, 1)), random.uniform(0.0, 1.0, (k, 1))
        tone = size[y] * np.sin(2 * np.pi * pitch[y] * moved + phase[y])
        bump = size[y] * np.exp(-(((moved - place[y]) * pitch[y] * 2.0) ** 2))
        x += [tone, bump, size[y] * (moved > place[y])][random.integers(3)]
    x += random.uniform(0.1, 1.5) * random.normal(size=(n, d))
    kind = random.random()
    if kind < 0.25:
        x = np.abs(np.fft.rfft(x, axis=1))
    elif kind < 0.4:
        x = np.cumsum(x, axis=1)
    return x, y


def manifolds(random: Random, n: int, k: int) -> Drawn:
    """Each class a curved sheet, or a ring or an arm of a spiral, among many columns."""
    y, d = classes(random, n, k), width(random, 3, 150)
    grain = random.uniform(0.02, 0.35)
    if random.random() < 0.4:  # rings and spirals in the plane, turned into the other columns
        t = random.uniform(0.3, 3.0, n)
        ring = random.random() < 0.5
        angle = random.uniform(0, 2 * np.pi, n) if ring else t * random.uniform(1, 3) + 2 * np.pi * y / k
        radius = 1.0 + y if ring else t
        flat = np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius[:, None]
        x = (flat + grain * random.normal(size=flat.shape)) @ random.normal(size=(2, d))
        return x + 0.3 * grain * random.normal(size=x.shape), y
    inner, waves_ = int(random.integers(1, 4)), 12
    z = random.uniform(-1.0, 1.0, (n, inner))
    bend = random.uniform(0.5, 2.5) * random.normal(size=(k, inner, waves_))
    phase = random.uniform(0, 2 * np.pi, (k, waves_))
    out = random.normal(size=(k, waves_, d)) if random.random() < 0.5 else random.normal(size=(1, waves_, d))
    x = np.zeros((n, d))
    for c in range(k):
        rows = y == c
        x[rows] = np.cos(z[rows] @ bend[c] + phase[c]) @ out[c % len(out)]
    x += random.uniform(0.0, 1.0) * random.normal(size=(k, d))[y]
    return x + grain * np.sqrt(waves_) * random.normal(size=x.shape), y


def ordinal(random: Random, n: int, k: int) -> Drawn:
    """A quality in levels that the columns tell only in part, the middle levels by far the most frequent."""
    k = min(k, 10)
    d, m = width(random, 3, 40), int(random.integers(1, 4))
    x = random.normal(size=(n, d)) @ (np.eye(d) + 0.5 * random.normal(size=(d, d)) / np.sqrt(d))
    quality = x @ random.normal(size=d) / np.sqrt(d)
    for _ in range(m):
        quality = quality + np.tanh(x @ random.normal(size=d)) * random.uniform(0.0, 1.0)
    quality = quality / quality.std() + random.uniform(0.2, 1.5) * random.normal(size=n)
    levels = np.linspace(-1.0, 1.0, k - 1) * random.uniform(0.6, 2.2) if k > 2 else random.normal(0, 0.5, 1)
    y = np.searchsorted(np.sort(levels), quality / quality.std())
    if random.random() < 0.4:
        x = np.exp(random.uniform(0.2, 0.8) * x)
    return x, y


def simplex(random: Random, n: int, k: int) -> Drawn:
    """Parts of a whole: what a classifier gives, shares of topics, or counts of words."""
    y, kind = classes(random, n, k), random.random()
    if kind < 0.4:  # softmax of logits of another model
        logits = random.normal(size=(n, k)) * random.uniform(0.5, 2.0)
        logits += random.uniform(0.3, 1.0) * random.normal(size=(k, k))[y]
        logits[np.arange(n), y] += random.uniform(1.0, 6.0)
        x = np.exp(logits - logits.max(axis=1, keepdims=True))
        x /= x.sum(axis=1, keepdims=True)
    else:
        d = width(random, 4, 150)
        topic = random.dirichlet(np.full(d, random.uniform(0.05, 1.0)), k) + 0.1 / d
        sharp = width(random, 5, 300)
        x = random.gamma(topic[y] * sharp + 1e-3)
        x /= np.maximum(x.sum(axis=1, keepdims=True), 1e-9)
        if kind < 0.7:
            x = random.poisson(x * width(random, 8, 400)) + 0.0
    return [x, np.sqrt(x), np.log(x + 1e-3)][random.integers(3)], y


def sittings(random: Random, n: int, k: int) -> Drawn:
    """Samples that come in sittings: one speaker, one patient, one machine, each with a look of its own.

    A class is a handful of dense crowds of very different sizes, some of them nearer to another class.
    """
    d = width(random, 3, 200)
    inner, crossed = min(d, width(random, 2, 20)), random.random() < 0.35
    y = classes(random, n, k)
    of_class = int(random.integers(1, 4)) if random.random() < 0.3 else width(random, 2, 40)
    part = random.dirichlet(np.full(of_class, np.exp(random.uniform(np.log(0.2), np.log(5.0)))), k)
    sitting = np.minimum((part.cumsum(axis=1)[y] < random.random((n, 1))).sum(axis=1), of_class - 1)
    centre = random.normal(size=(k, inner))
    look = random.normal(size=(1 if crossed else k, of_class, inner)) * np.ones((k, 1, 1))
    look *= np.exp(random.normal(0.0, 0.4, (k, of_class, 1))) * random.uniform(0.3, 2.0)
    like = np.arange(k)[:, None] * np.ones((1, of_class), dtype=np.int64)
    odd = random.random((k, of_class)) < random.choice([0.0, 0.1, 0.3])
    like = np.where(odd, random.integers(0, k, (k, of_class)), like)
    place = random.uniform(0.5, 3.0) * centre[like] + look
    place += (
        random.uniform(0.2, 0.8) * centre[:, None]
    )  # also what looks like another class is not that class
    uneven = random.uniform(0.2, 1.2)
    grain = np.exp(random.normal(0.0, uneven, (k, of_class))) * np.exp(
        random.uniform(np.log(0.1), np.log(1.5))
    )
    x = random.normal(size=(n, inner)) * grain[y, sitting][:, None]
    if random.random() < 0.4:  # a few samples of each sitting fail
        x *= np.sqrt(3.0 / random.chisquare(3.0, (n, 1)))
    x += place[y, sitting]
    turn = random.normal(size=(inner, d)) / np.sqrt(inner)
    return x @ turn + random.uniform(0.0, 0.4) * random.normal(size=(n, d)), y


def scenes(random: Random, n: int, k: int) -> Drawn:
    """Pixels of small pictures: something of the class, anywhere, before a background that says nothing."""
    side, y = int(random.integers(8, 17)), classes(random, n, k)
    pitch = np.sqrt(np.add.outer(np.fft.fftfreq(side) ** 2, np.fft.fftfreq(side) ** 2)) + 1.0 / side

    def fields(many: int, smooth: float) -> np.ndarray:
        wave = np.fft.fft2(random.normal(size=(many, side, side))) * pitch**-smooth
        field = np.fft.ifft2(wave).real
        return np.asarray(field / np.maximum(field.std(axis=(1, 2), keepdims=True), 1e-9))

    kinds = int(random.integers(1, 6))
    shape = fields(k * kinds, random.uniform(0.8, 2.0)).reshape(k, kinds, side, side)
    away = (np.arange(side) - side / 2) / side
    shape *= np.exp(-np.add.outer(away**2, away**2) / random.uniform(0.03, 0.3))
    thing = shape[y, random.integers(0, kinds, n)] * np.exp(random.normal(0.0, 0.4, (n, 1, 1)))
    reach = int(random.integers(0, side // 2))
    down, right = random.integers(-reach, reach + 1, (2, n, 1))
    at = np.arange(side)
    thing = thing[
        np.arange(n)[:, None, None], ((at + down) % side)[:, :, None], ((at + right) % side)[:, None]
    ]
    if random.random() < 0.3:
        thing = thing[:, :, ::-1] * (random.random((n, 1, 1)) < 0.5) + thing * 1.0
    x = fields(n, random.uniform(0.0, 2.0)) + np.exp(random.uniform(np.log(0.4), np.log(4.0))) * thing
    x = x * np.exp(random.normal(0.0, 0.3, (n, 1, 1))) + 0.5 * random.normal(size=(n, 1, 1))
    kind = random.random()
    if kind < 0.25:
        x = np.abs(np.fft.fft2(x))[:, : side // 2 + 1]
    elif kind < 0.4:
        x = np.concatenate([abs(np.diff(x, axis=1)), abs(np.diff(x.transpose(0, 2, 1), axis=1))], axis=1)
    return x.reshape(n, -1), y


GENERATORS: dict[str, Generator] = {
    "mixtures": mixtures, "causal": causal, "trees": trees, "rules": rules, "waves": waves,
    "manifolds": manifolds, "ordinal": ordinal, "simplex": simplex, "sittings": sittings, "scenes": scenes,
}  # fmt: skip
