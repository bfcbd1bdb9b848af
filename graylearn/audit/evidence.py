"""Evidence: what a judge is told of each sample, a row per sample and a named column per fact.

Some columns are of the sample, some of its label or of the class that fits it best, some of the whole set
(their names begin with "set: "). What is not known, because there are no features or no probabilities of a
model, is NaN. The columns are the same for every set; `COLUMNS` lists them.

`y` is the given label of a sample, `b` the best other class: the one that the views together find likeliest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.confusions import Transitions, believed
from graylearn.audit.scaling import row_blocks
from graylearn.audit.views import Rows, Views, look, unit_rows

VIEWS = ("neighbours", "kernel", "centre", "trees", "given")
"""Views by name; "given" are probabilities of a model from elsewhere, or the mean over a training run."""
AWAY = (
    "away", "thin", "kernel is silent", "off centre", "off own centre", "off any class", "off own class",
)  # fmt: skip
RANKED = ("away", "off own centre", "off own class")
"""Of these the rank among members of the own label, too."""
OVER_NEXT = ("off own centre", "off own class")
"""How far a sample is from its label's centre, beside how far that is from the next one."""
SHARPENED = (1.5, 3.0)
"""Powers of the pooled probabilities to which confusions of classes are fitted."""
FEW_VALUES = 8
_LEAST = 1e-4


@dataclass(frozen=True)
class Evidence:
    """What is known of N samples of K classes."""

    matrix: NDArray[np.float32]
    """(N, F), the columns as in `COLUMNS`; NaN where a fact is not known."""
    probabilities: Floats
    """(N, K) mean of the views' class probabilities."""
    beliefs: Floats
    """(N, K) chance of each other class if the label is wrong; 0 for the label itself."""
    label: Ints
    """(N,) given labels."""

    @property
    def looks(self) -> Ints:
        """(N,) the class that the views find likeliest, in doubt the label."""
        best = self.probabilities.argmax(axis=1)
        every = np.arange(len(best))
        own, other = self.probabilities[every, self.label], self.probabilities[every, best]
        return np.where(other > own, best, self.label)

    def column(self, name: str) -> NDArray[np.float32]:
        """(N,) one of `COLUMNS`."""
        return self.matrix[:, _PLACE[name]]


def gather(
    rows: Rows,
    *,
    given: Floats | None = None,
    saw_labels: bool = False,
    one_class: bool | None = None,
    views: Views | None = None,
    without: tuple[str, ...] = (),
) -> Evidence:
    """Evidence from features, from given probabilities (N, K), or from both.

    rows: with features (N, 0) where there are none. saw_labels: whether the model behind the probabilities
    was trained on these labels. one_class: whether each sample has one true class, if the user says.
    views: what `look` says, where that is known. without: names of views to leave out.
    """
    n, num_classes = len(rows), rows.num_classes
    opinions: dict[str, Floats] = {}
    if rows.x.shape[1] and n > 1:
        views = look(rows) if views is None else views
        opinions.update({name: p for name, p in views.opinions.items() if name not in without})
    else:
        views = None
    if given is not None:
        opinions["given"] = given
    pooled: Floats = np.full((n, num_classes), 1 / num_classes)
    if opinions:
        pooled = np.asarray(sum(opinions.values()) / len(opinions))
    every = np.arange(n)
    y = rows.y
    others = pooled.copy()
    others[every, y] = -1.0
    b = others.argmax(axis=1)
    found: dict[str, Floats | float] = {}
    _opinions(found, opinions, pooled, y, b)
    _pairs(found, pooled, y, b, num_classes)
    beliefs = _confused(found, pooled, y, b)
    if views is not None:
        _places(found, rows, views, pooled, y, b)
    found["copies: log count"] = np.log(rows.weight)
    _whole(found, rows, opinions, pooled, saw_labels, one_class)
    matrix = np.full((n, len(COLUMNS)), np.nan, dtype=np.float32)
    for name, values in found.items():
        matrix[:, _PLACE[name]] = values
    return Evidence(matrix, pooled, beliefs, y)


def _log(p: Floats) -> Floats:
    return np.asarray(np.log(np.clip(p, _LEAST, 1.0)))


def percentile(values: Floats, of: Ints, at: Ints) -> Floats:
    """(N,) share of the samples with `of` equal to a sample's `at` whose value is smaller; -1 in `of`: none.

    One half where there are fewer than three such samples.
    """
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable") / (len(values) + 1.0)
    known = np.flatnonzero(of >= 0)
    key = np.sort(of[known] + rank[known])
    first, last = np.searchsorted(key, at), np.searchsorted(key, at + 1)
    size = last - first
    place = np.searchsorted(key, at + rank) - first
    return np.asarray(np.where(size >= 3, (place + 0.5) / (size + 1.0), 0.5))


def _opinions(
    found: dict[str, Floats | float], opinions: Mapping[str, Floats], pooled: Floats, y: Ints, b: Ints
) -> None:
    """What each view and their mean say of the label and of the best other class."""
    every = np.arange(len(y))
    of_label, of_other = [], []
    for name, p in opinions.items():
        own, other = _log(p[every, y]), _log(p[every, b])
        found[f"{name}: label"], found[f"{name}: other"] = own, other
        rest = p.copy()
        rest[every, y] = 0.0
        found[f"{name}: margin"] = own - _log(rest.max(axis=1))
        of_label.append(own)
        of_other.append(other)
    own, other = pooled[every, y], pooled[every, b]
    found["pool: label"], found["pool: other"] = _log(own), _log(other)
    found["pool: entropy"] = entropy(pooled) / np.log(max(pooled.shape[1], 2))
    if len(of_label) > 1:
        found["views differ on label"] = np.std(of_label, axis=0)
        found["views differ on other"] = np.std(of_other, axis=0)
        found["views for label"] = np.mean(np.array(of_label) > np.array(of_other), axis=0)
    member = np.where(own >= other, y, -1)
    found["pool: label, rank in label"] = percentile(own, y, y)
    found["pool: other, rank in other"] = percentile(np.where(member >= 0, own, other), member, b)
    found["pool: label, rank in members"] = percentile(own, member, y)
    _depths(found, np.asarray(found["pool: other, rank in other"]), member < 0, y * pooled.shape[1] + b)


def _depths(found: dict[str, Floats | float], rank: Floats, against: Bools, pair: Ints) -> None:
    """How deep in the other class those lie that look like it: wrong labels anywhere, overlap at its edge."""
    _, place = np.unique(pair, return_inverse=True)
    count, total = np.bincount(place, against), np.bincount(place, against * rank)
    found["pair: depth"] = ((total + 0.5) / (count + 1.0))[place]
    found["set: depth of contradicted"] = float((rank[against].sum() + 0.5) / (against.sum() + 1.0))


def entropy(p: Floats) -> Floats:
    """(N,) in nats."""
    q = np.clip(p, 1e-12, 1.0)
    return np.asarray(-(q * np.log(q)).sum(axis=1))


def _pairs(found: dict[str, Floats | float], pooled: Floats, y: Ints, b: Ints, num_classes: int) -> None:
    """How often samples of this label look like that class, beside what their probabilities expect."""
    every = np.arange(len(y))
    against = pooled[every, b] > pooled[every, y]
    best = np.where(against, b, y)
    code = y * num_classes + best
    observed = _counted(code, num_classes)
    expected = np.zeros((num_classes, num_classes))
    order = np.argsort(best, kind="stable")
    size = np.bincount(best, minlength=num_classes)
    there = np.flatnonzero(size)
    expected[there] = np.add.reduceat(pooled[order], (np.cumsum(size) - size)[there], axis=0)
    expected = expected.T  # (label, best)
    count = np.bincount(y, minlength=num_classes).astype(float)
    right = np.diag(observed)
    c, e = observed[y, b], expected[y, b]
    found["pair: of label"] = np.log((c + 1) / (count[y] + 1))
    found["pair: of other"] = np.log((c + 1) / (size[b] + 1))
    found["pair: beyond expected"] = np.log((c + 1) / (e + 1))
    found["pair: the other way"] = np.log((observed[b, y] + 1) / (count[b] + 1))
    found["pair: beyond even"] = np.log((c + 0.5) / ((count[y] - right[y]) / max(num_classes - 1, 1) + 0.5))
    found["label: log count"], found["other: log count"] = np.log(count[y]), np.log(count[b] + 1.0)
    found["label: share looks so"] = right[y] / count[y]
    found["other: share looks so"] = (right / np.maximum(count, 1))[b]
    found["other: share labelled so"] = (right / np.maximum(size, 1))[b]
    own = pooled[every, y]
    mean = np.bincount(y, own, minlength=num_classes) / np.maximum(count, 1)
    found["label: mean probability"], found["other: mean probability"] = _log(mean[y]), _log(mean[b])
    off = observed - np.diag(right)
    total = off.sum()
    share = (off / max(total, 1.0)).ravel()
    share = share[share > 0]
    spread = -(share * np.log(share)).sum() / np.log(max(num_classes * (num_classes - 1), 2))
    found["set: contradicted"] = float(against.mean())
    found["set: contradicted beyond expected"] = float(
        (total - (expected.sum() - np.trace(expected))) / len(y)
    )
    found["set: evenness of confusions"] = float(spread)
    found["set: log contradicted"] = float(np.log(total + 1.0))


def _counted(code: Ints, num_classes: int) -> Floats:
    return np.bincount(code, minlength=num_classes**2).reshape(num_classes, num_classes).astype(float)


def _confused(found: dict[str, Floats | float], pooled: Floats, y: Ints, b: Ints) -> Floats:
    """What a fit of "labels are drawn by the true class" says; gives the beliefs in other classes."""
    every = np.arange(len(y))
    beliefs = np.zeros_like(pooled)
    for power in SHARPENED:
        fit: Transitions = believed(pooled, y, power)
        own = fit.beliefs[every, y]
        found[f"confusions {power}: odds"] = np.log(np.clip(1 - own, _LEAST, 1)) - _log(own)
        found[f"confusions {power}: other"] = _log(fit.beliefs[every, b])
        found[f"confusions {power}: rate"] = _log(fit.rates[b, y])
        found[f"set: confusions {power}, wrong"] = float(1.0 - own.mean())
        found[f"set: confusions {power}, gain"] = float(fit.gain / len(y))
        found[f"set: confusions {power}, log gain"] = float(np.log1p(max(fit.gain, 0.0)))
        beliefs += fit.beliefs
    beliefs += 1e-6 * pooled
    beliefs[every, y] = 0.0
    return np.asarray(beliefs / np.maximum(beliefs.sum(axis=1, keepdims=True), 1e-30))


def _places(
    found: dict[str, Floats | float], rows: Rows, views: Views, pooled: Floats, y: Ints, b: Ints
) -> None:
    """Where the sample lies: how far from everything, among what, and how its label's samples lie."""
    every = np.arange(len(y))
    own, other = pooled[every, y], pooled[every, b]
    member = np.where(own >= other, y, -1)
    for name in AWAY:
        values = views.columns[name]
        found[name] = standardised(values)
        if name in RANKED:
            found[f"{name}, rank in label"] = percentile(values, member, y)
    found["away, rank in other"] = percentile(views.columns["away"], member, b)
    centre, following = (np.log(np.maximum(1.0 + views.columns[name], 1e-4))  # of cosines
                         for name in ("off own centre", "next centre"))  # fmt: skip
    beyond = centre - following, views.columns["off own class"] - views.columns["next class"]
    for name, values in zip(OVER_NEXT, beyond, strict=True):
        found[f"{name}, over the next"] = np.clip(values, -9.0, 9.0)
    found["set: centres apart"] = float(following.mean())
    found["set: classes apart"] = float(np.clip(views.columns["next class"], -9.0, 9.0).mean())
    index = views.near.index
    if index.shape[1]:
        theirs = y[index]
        for name in OVER_NEXT:
            found[f"near: {name}, over the next"] = np.asarray(found[f"{name}, over the next"])[index].mean(
                axis=1
            )
        found["near: share contradicted"] = (member < 0)[index].mean(axis=1)
        found["near: probability of their labels"] = _log(own)[index].mean(axis=1)
        found["near: share of label"] = (theirs == y[:, None]).mean(axis=1)
        found["near: share of other"] = (theirs == b[:, None]).mean(axis=1)
        found["near: closest of label"] = (theirs[:, :5] == y[:, None]).mean(axis=1)
        found["near: share that look like other"] = (np.where(own >= other, y, b)[index] == b[:, None]).mean(
            axis=1
        )
        ordered = np.sort(theirs, axis=1)
        k = index.shape[1]
        changes = (np.diff(ordered, axis=1) > 0).sum(axis=1)
        found["near: kinds of labels"] = 1.0 / k + changes / max(k - 1, 1)
        found["near: away"] = np.asarray(found["away"])[index].mean(axis=1)
        found["near: off own centre"] = np.asarray(found["off own centre, rank in label"])[index].mean(axis=1)
        found["near: same label and off its centre"] = _mean_where(
            np.asarray(found["off own centre, rank in label"])[index], theirs == y[:, None]
        )
        found["near: how mutual"] = _mutual(index)
        looks = np.where(member < 0, b, y)
        found["near: share that look alike"] = (looks[index] == looks[:, None]).mean(axis=1)
        found["set: neighbours look alike"] = float(np.mean(found["near: share that look alike"]))
    _split(found, rows, y, following)
    far = np.asarray(found["away"])
    found["set: skew of away"] = float(np.clip((far**3).mean(), -20, 20))
    found["set: tail of away"] = float((far > 3.0).mean())
    against = member < 0
    for name in ("away", "off any class"):
        values = np.asarray(found[name])
        gap = values[against].mean() - values[~against].mean() if 0 < against.sum() < len(y) else 0.0
        found[f"set: {name} of contradicted"] = float(gap)


def standardised(values: Floats) -> Floats:
    """Less the median, in quartile ranges, drawn together beyond 4 of them."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    scale = max(float(high - low) / 1.349, 1e-6 + 1e-3 * float(np.abs(values).max(initial=0.0)))
    z = (values - middle) / scale
    return np.asarray(np.where(np.abs(z) > 4, np.sign(z) * (4 + np.log1p(np.maximum(np.abs(z) - 4, 0))), z))


def _mean_where(values: Floats, where: Bools) -> Floats:
    """(N,) mean of (N, k) values where they count; one half where none does."""
    count = where.sum(axis=1)
    return np.asarray(((values * where).sum(axis=1) + 0.5) / (count + 1.0))


def _mutual(index: Ints) -> Floats:
    """(N,) share of a sample's neighbours that it is a neighbour of."""
    n, k = index.shape
    found = np.empty(n)
    for part in row_blocks(n, k * k):
        own = np.arange(part.start, part.stop)[:, None, None]
        found[part] = (index[index[part]] == own).any(axis=2).mean(axis=1)
    return found


def _split(found: dict[str, Floats | float], rows: Rows, y: Ints, following: Floats) -> None:
    """Whether the samples of a label fall in two along their leading axis, and on which side one lies.

    following: (N,) log of how far the next label's centre is from that of a sample's own.
    """
    unit = unit_rows(rows.x)
    order = np.argsort(y, kind="stable")
    size = np.bincount(y, minlength=rows.num_classes)
    first = np.cumsum(size) - size
    apart, minor, side, far, gap = (np.zeros(len(y)) for _ in range(5))
    for start, count in zip(first, size, strict=True):
        if count < 4:
            continue
        own = order[start : start + count]
        some = own if count <= 4000 else own[np.argsort(rows.draw[own], kind="stable")[:4000]]
        x = unit[some]
        middle = x.mean(axis=0)
        x = x - middle
        axis = x[(x**2).sum(axis=1).argmax()]
        with np.errstate(invalid="ignore"):  # told now and then of finite rows: of lanes that hold no number
            for _ in range(6):
                axis = x.T @ (x @ axis)
                axis = axis / max(float(np.linalg.norm(axis)), 1e-12)
            along = (unit[own] - middle) @ axis
        t = np.sort(along).astype(np.float64)
        m = len(t)
        left = np.arange(1, m)
        sums = np.cumsum(t)[:-1]
        total = t.sum()
        between = left * (m - left) / m**2 * (sums / left - (total - sums) / (m - left)) ** 2
        cut = int(between.argmax())
        variance = max(float(t.var()), 1e-12)
        level = 0.5 * (t[cut] + t[cut + 1])
        upper = along > level
        share = float(upper.mean())
        if share > 0.5:
            upper, share = ~upper, 1.0 - share
        apart[own], minor[own] = between[cut] / variance, share
        halves = sums[cut] / left[cut] - (total - sums[cut]) / (m - left[cut])
        gap[own] = np.log(halves**2 / 2 + 1e-4)  # of unit rows: less than their parts' cosine is from one
        side[own] = upper
        far[own] = np.abs(along - level) / np.sqrt(variance) * np.where(upper, 1.0, -1.0)
    found["label: falls in two"], found["label: smaller part"] = apart, np.log(minor + 0.01)
    found["label: in the smaller part"], found["label: depth in the smaller part"] = side, np.clip(far, -5, 5)
    found["label: parts apart, over the next"] = gap - following
    found["set: labels fall in two"] = float(apart.mean())
    found["set: parts apart, over the next"] = float((gap - following).mean())


def _whole(
    found: dict[str, Floats | float], rows: Rows, opinions: Mapping[str, Floats], pooled: Floats,
    saw_labels: bool, one_class: bool | None,
) -> None:  # fmt: skip
    """Facts of the whole set."""
    y, every = rows.y, np.arange(len(rows))
    count = np.bincount(y, minlength=rows.num_classes)
    count = count[count > 0]
    found["set: log samples"], found["set: log classes"] = float(np.log(len(rows))), float(np.log(len(count)))
    found["set: log columns"] = float(np.log(rows.x.shape[1])) if rows.x.shape[1] else np.nan
    found["set: log smallest class"] = float(np.log(count.min()))
    found["set: imbalance"] = float(np.log(count.max() / count.min()))
    found["set: one class per sample"] = np.nan if one_class is None else float(one_class)
    found["set: model saw the labels"] = float(saw_labels) if "given" in opinions else np.nan
    best = {name: p.argmax(axis=1) for name, p in opinions.items()}
    for name, p in opinions.items():
        found[f"set: {name} agrees with labels"] = float((best[name] == y).mean())
        found[f"set: {name} log likelihood"] = float(_log(p[every, y]).mean())
    for one, two in AGREE:
        if one in best and two in best:
            found[f"set: {one} agrees with {two}"] = float((best[one] == best[two]).mean())
    own, top = pooled[every, y], pooled.max(axis=1)
    for q in (0.02, 0.1, 0.3, 0.6):
        found[f"set: probability of label, quantile {q}"] = float(np.quantile(own, q))
    for q in (0.3, 0.6, 0.9, 0.97):
        found[f"set: largest probability, quantile {q}"] = float(np.quantile(top, q))
    found["set: entropy"] = float(np.mean(found["pool: entropy"]))
    share = count / count.sum()
    mixed = max(float(-(share * np.log(share)).sum()), 1e-3)
    found["set: entropy of labels"], found["set: largest class"] = mixed, float(share.max())
    found["set: told of labels"] = float(max(1.0 + _log(own).mean() / mixed, -3.0))
    found["set: confidence beyond agreement"] = float(top.mean() - (pooled.argmax(axis=1) == y).mean())
    if rows.x.shape[1]:
        some = rows.x[np.argsort(rows.draw, kind="stable")[:300]]
        few = [len(np.unique(column)) <= FEW_VALUES for column in some.T]
        found["set: columns of few values"] = float(np.mean(few))
    found["set: equal rows"] = float((rows.weight > 1.0).mean())


AGREE = (("neighbours", "kernel"), ("kernel", "trees"), ("kernel", "centre"),
         ("given", "kernel"))  # fmt: skip

COLUMNS: Mapping[str, str] = {
    **{f"{v}: {what}": f"log probability, by the view, of {words}" for v in VIEWS for what, words in
       (("label", "y"), ("other", "b"), ("margin", "y, less that of the likeliest other class"))},
    "pool: label": "log probability of y, mean of the views",
    "pool: other": "the same of b",
    "pool: entropy": "entropy of the mean of the views, over its largest value",
    "views differ on label": "spread of the views' log probability of y",
    "views differ on other": "the same of b",
    "views for label": "share of the views that find y likelier than b",
    "pool: label, rank in label": "rank of y's probability among samples labelled y",
    "pool: other, rank in other": "rank of b's probability among members of b, labelled so and looking so",
    "pool: label, rank in members": "rank of y's probability among members of y",
    "pair: of label": "log share of the samples labelled y that look like b",
    "pair: of other": "log share of the samples that look like b that are labelled y",
    "pair: beyond expected": "log of the number labelled y that look like b, over what probabilities expect",
    "pair: the other way": "log share of the samples labelled b that look like y",
    "pair: depth": "mean rank in b's probability, among members of b, of those labelled y that look like b",
    "pair: beyond even": "log of that number over what it were if confusions of y were even",
    "label: log count": "samples labelled y",
    "other: log count": "samples labelled b",
    "label: share looks so": "share of the samples labelled y that look like y",
    "other: share looks so": "the same of b",
    "other: share labelled so": "share of the samples that look like b that are labelled b",
    "label: mean probability": "log of the mean probability of y among samples labelled y",
    "other: mean probability": "the same of b",
    **{f"confusions {p}: {what}": f"{words}, with probabilities to the power of {p}" for p in SHARPENED
       for what, words in (("odds", "log odds that the true class is not y"),
                           ("other", "log chance that the true class is b"),
                           ("rate", "log share of class b that is labelled y"))},
    **{name: f"{name}: of the views, in quartile ranges from the median" for name in AWAY},
    **{f"{name}, rank in label": "its rank among members of y" for name in RANKED},
    "away, rank in other": "rank of `away` among members of b",
    **{f"{name}, over the next": f"log of `{name}` over how far the next label's is from that centre"
       for name in OVER_NEXT},
    **{f"near: {name}, over the next": "mean of that of the neighbours" for name in OVER_NEXT},
    "near: share contradicted": "share of the neighbours that look like another class",
    "near: probability of their labels": "mean log probability of the neighbours' own labels",
    "near: share of label": "share of the neighbours that are labelled y",
    "near: share of other": "the same of b",
    "near: closest of label": "share of the five closest that are labelled y",
    "near: share that look like other": "share of the neighbours that look like b",
    "near: kinds of labels": "different labels among the neighbours, per neighbour",
    "near: away": "mean of `away` of the neighbours",
    "near: off own centre": "mean rank of the neighbours in their distance from their own label's centre",
    "near: same label and off its centre": "the same of those labelled y",
    "near: share that look alike": "share of the neighbours that look like what the sample looks like",
    "near: how mutual": "share of the neighbours that the sample is a neighbour of",
    "label: falls in two": "share of the variance along y's leading axis that one cut explains",
    "label: smaller part": "log share of the smaller side of that cut",
    "label: in the smaller part": "whether the sample lies on that side",
    "label: depth in the smaller part": "how far from the cut, in spreads; negative on the larger side",
    "label: parts apart, over the next": "log distance of the two sides, over that of y's centre to the next",
    "copies: log count": "samples that the sample stands for, equal rows that are no copies",
    "set: contradicted": "share of the samples that look like another class",
    "set: contradicted beyond expected": "the same less what probabilities expect",
    "set: evenness of confusions": "entropy of pairs of label and looks, over its largest value",
    "set: depth of contradicted": "mean of `pool: other, rank in other` of the contradicted",
    "set: log contradicted": "log number of the samples that look like another class",
    **{f"set: confusions {p}, {what}": f"{words}, with probabilities to the power of {p}" for p in SHARPENED
       for what, words in (("wrong", "share of wrong labels by the fit of confusions"),
                           ("gain", "log likelihood that the fit gains, per sample"),
                           ("log gain", "log of what it gains in all"))},
    "set: centres apart": "mean log distance of a sample's own centre to the next, by angle",
    "set: classes apart": "the same in spreads of the classes",
    "set: labels fall in two": "mean of `label: falls in two`",
    "set: parts apart, over the next": "mean of `label: parts apart, over the next`",
    "set: neighbours look alike": "mean of `near: share that look alike`",
    "set: skew of away": "third moment of `away`",
    "set: tail of away": "share of the samples beyond 3 in `away`",
    **{f"set: {name} of contradicted": f"mean of `{name}` of contradicted samples less that of the others"
       for name in ("away", "off any class")},
    "set: log samples": "log N", "set: log classes": "log K", "set: log columns": "log D",
    "set: log smallest class": "log of the samples of the smallest class",
    "set: imbalance": "log of largest over smallest class",
    "set: one class per sample": "1 if the user says that each sample has one true class, 0 if not",
    "set: model saw the labels": "1 if the given probabilities come from a model trained on these labels",
    **{f"set: {v} agrees with labels": "share of the samples" for v in VIEWS},
    **{f"set: {v} log likelihood": "mean log probability of y" for v in VIEWS},
    **{f"set: {a} agrees with {b}": "share of the samples" for a, b in AGREE},
    **{f"set: probability of label, quantile {q}": "of the mean of the views" for q in (0.02, 0.1, 0.3, 0.6)},
    **{f"set: largest probability, quantile {q}": "of the mean of the views" for q in (0.3, 0.6, 0.9, 0.97)},
    "set: entropy": "mean of `pool: entropy`",
    "set: entropy of labels": "in nats",
    "set: largest class": "its share of the samples",
    "set: told of labels": "share of that entropy that the mean of the views takes away",
    "set: confidence beyond agreement": "mean largest probability less the share of labels that agree",
    "set: columns of few values": f"share of the columns with at most {FEW_VALUES} values",
    "set: equal rows": "share of the samples that stand for several",
}  # fmt: skip
"""Every column and what it says."""
_PLACE = {name: place for place, name in enumerate(COLUMNS)}
