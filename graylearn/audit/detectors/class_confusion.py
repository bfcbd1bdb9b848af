"""Labels that are mistaken for one another: people call a wolf a husky, and hardly ever a lorry.

Such labels are learnt like any other: held-out networks give each wolf its chance of being called a husky, as
they do where wolves and huskies overlap, and no label looks drawn at random. Two things tell confusion from
overlap: where the samples lie (`gaps.py`: inside the other class, with a gap between the two), and the user's
word that each sample has one true class. The transition model (`transitions.py`) then says which are wrong;
where some samples belong to no class, as the noise mixture sees, that is one true class more.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binom

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing
from graylearn.audit.gaps import CLEAR_GAP, NO_GAP, SEPARATED, Pair, gaps, inside_rank, pairs_of
from graylearn.audit.transitions import SOFTENING, Reading, gain_over_even, sharpness_for, wrong_share
from graylearn.data.samples import Label
from graylearn.errors import shortened

AFTER = ("random_labels", "foreign_clusters")
CLEARLY_ANOTHER = 0.5
"""How much surer of another class than of its label the views are of a sample that looks like that class."""
MIN_LOOK = 0.02
"""Share of such samples from which on they are told where none is flagged; clean digits have .003."""
LOW_RANK = 0.4
"""Rank of the own label's probability among the members of another class below which a sample lies inside
that class, the more the lower; of even ranks that adds up to a fifth."""
MIN_INSIDE, MIN_INSIDE_ALONE = 6, 8
"""Samples that lie inside another class, as far as there is a gap to it, from which on labels are held
confused; the second where a rate for each pair does not explain the labels better."""
MIN_RATE, RATE_OF_DISAGREEMENT = 0.012, 0.07
"""The rate of confusion that they stand for is at least the first, and at least the second of the samples
that look like another class: where classes overlap, nearly all lie between."""
MAX_CONTRADICTED = 0.5
"""Without features: share that looks like another class above which the network may be as wrong as the
labels. Below it, as large a part of these must lie inside the other class: a network that contradicts many
labels errs itself, and some of its errors lie there too. Clean sets of 20 classes and more that weak networks
were asked about reach .77 of that and less where many are contradicted, people's labels 1.3 times."""
HALF_OF_OVERLAP, CHANCE, MIN_BELOW = 0.15, 0.01, 5
"""Few samples show it by all of their ranks: half of them lie below the middle where labels are confused, and
no more than the first of them where classes overlap (clean sets .00 to .13). The second is the chance above
which so many below the middle may still be overlap, the third how many there are at least."""
MANY = 20
"""Samples that look like another class from which on it is said that they lie between the two."""
TOO_WEAK = "the model is too weak to contradict labels: only the order is told"
HARD = "hard samples"
"""What wrong labels may be taken for where each sample has one true class, and classes do not overlap."""
MEAN_GAP, MEAN_GAP_OVERLAP = 0.75, 0.3
"""Largest mean gap (`gaps.py`: large where there is none) over all samples that look like another class;
where classes may overlap, over those that look like one that lies apart: of a table of seven classes two or
three may overlap, and labels of the others be confused."""
MIN_KNOWN = 0.5
"""Share of a class's labels that must look like it for it to lie apart where classes may overlap: of a class
that views know by one column alone (who buys a brand when it is cheap), what they know lies apart by that."""
MAX_DIFFER, MAX_DIFFER_STRUCTURED = 0.36, 0.45
"""Share of samples on which network and neighbours differ above which the model is too weak to contradict;
the second where labels surely go wrong by pairs of classes."""
SOME_STRUCTURE, STRUCTURED = 0.02, 0.08
"""What a rate for each pair gains over even noise or loses, held out, in nats a sample: from the first on
less is asked of where the samples lie, and from the second on nothing. Of 77 clean sets of photos, scans and
sentences, weak features among them, the largest are .055 and -.02; labels wrong by features have .04 to .17,
foreign photos under random labels, to which a rate for each pair does not hold, -.03 to -.04."""
MODEL_ERROR, WEAK_ERROR = 0.85, 0.8
"""The model's own error as a share of that on which network and neighbours differ; the second comes on top
where the features are weak, for two views that are often wrong are wrong together."""
WEAK_FROM, WEAK_TO = 0.15, 0.3
KEPT_FROM, KEPT_TO = 0.45, 0.7
"""Features grow weak as views differ by the first two, as far as they differ by the second two of that once
labels are replaced by beliefs: wrong labels that made them differ are then gone."""
MIN_GAIN = 12.0
"""Log-likelihood that a rate for each pair must gain over even noise, held out, to overrule labels drawn at
random; with four classes and more any gain will do where they are so equally often everywhere, for that is
even noise. Uniform flips -615 to -30, OOD -56 to 6, labels of people 8 to 146, pairs and class-dependent
noise 60 to 600."""
SURE, SURE_EVERY = 0.75, 0.6
"""Cautious posterior above which a label is surely wrong, in the mean of the readings and in every one. At .7
and .5 one annotator's labels were so in .91 to .95 of the cases."""
SURE_AMONG, SURE_EVERY_AMONG = 0.85, 0.7
"""The same where foreign samples are among them: at .75 and .6 down to .91 of people's labels were so."""
BETA_ALONE, BETA_SEEN = 4.0, 8.0
"""Sharpness of probabilities without features, of which nothing tells the error; of a network that has seen
the labels."""
SOFTENING_ALONE = 3.0
"""What their sharpness is divided by to be sure: at 1.5 as with features it was right in .85 of the
cases, at 3 in .96."""
MANY_FLAGGED = 0.2
"""Share of the samples from which on it is said that a weak network alone would flag as many."""
BOLDER = 1.08
"""By how much the upper end of the share exceeds the bold reading."""
LATE_FROM, LATE_TO = 0.1, 0.22
"""Share of wrong labels from which on the last reading counts, and at which it counts alone."""
PASSES = 2
MAX_VALUES = 1 << 26
"""Class probabilities (60,000 samples of 1,000 classes) beyond which the detector is not asked: it holds
several times as many in memory."""
SURE_COMPANY = 0.98
"""How sure a sample, and its company, may be of its belonging to no class."""


def find(evidence: Evidence) -> Finding:
    """Flag labels mistaken for one another where that can be told; elsewhere tell how many there may be."""
    n = len(evidence)
    hints = _hints(evidence)
    too_large = evidence.probabilities.size > MAX_VALUES
    if too_large or (evidence.overlap == "possible" and "neighbours" not in evidence.opinions):
        return nothing(n, hints=hints)
    rows = np.flatnonzero(evidence.checked)
    part = _Part(evidence, rows)
    even = evidence.form == "constant" and evidence.num_classes >= 4
    least_gain = (0.0 if even else MIN_GAIN) if evidence.found else -np.inf
    why_not = part.why_not(least_gain, evidence.overlap == "none")
    if why_not:
        return nothing(n, hints=(*hints, why_not) if hints else (), details=part.details)
    readings, weights = part.readings()

    def blended(name: str) -> Floats:
        return np.asarray(sum(w * getattr(each, name) for w, each in zip(weights, readings, strict=True)))

    posterior, ood, low, high = (np.zeros(n) for _ in range(4))
    sure, suggested = np.zeros(n, dtype=bool), np.full(n, -1)
    posterior[rows], low[rows], high[rows] = blended("posterior"), blended("cautious"), blended("bold")
    every = np.min([each.cautious for each in readings], axis=0)
    if part.details["mean_gap"] <= MEAN_GAP:  # without gaps nothing is sure: .86 to .95 were right
        mean, each = (SURE, SURE_EVERY) if part.foreign is None else (SURE_AMONG, SURE_EVERY_AMONG)
        sure[rows] = (low[rows] > mean) & (every > each)
    true_class = blended("true_class")
    ood[rows] = true_class[:, evidence.num_classes :].sum(axis=1)
    another = true_class[:, : evidence.num_classes]
    another[np.arange(len(rows)), part.label] = -1.0
    suggested[rows] = another.argmax(axis=1)
    sure[sure] = evidence.set_apart(np.flatnonzero(sure), suggested[sure])
    if part.parted is not None:  # the others may overlap: what looks wrong there may be right
        may_be_right = [pair not in part.parted for pair in pairs_of(part.label, suggested[rows])]
        for chance in (posterior, ood, low, high, sure):
            chance[rows[may_be_right]] = 0
    wrong = posterior - ood
    flagged = np.flatnonzero(wrong > 0.5)
    pairs = told(evidence.label[flagged], suggested[flagged], evidence.classes)
    note = f"labels are mistaken for one another ({pairs}): their samples lie inside another class"
    if part.details["confusion_gain"] < -MIN_GAIN and evidence.num_classes > 2:
        note = f"labels go wrong towards any class ({pairs}): their samples lie inside another, or in none"
    notes: tuple[str, ...] = (note,) if len(flagged) else ()
    if part.features is None and len(flagged) > MANY_FLAGGED * n:
        notes += ("nothing but the network's answers says so: where it errs often, so do these",)
    return Finding(
        posterior,
        posterior,
        ood,
        wrong,
        suggested=suggested,
        sure=sure,
        low=np.minimum(low, posterior),
        high=_bold(evidence, np.maximum(high, posterior)),
        notes=notes,
        overrules=("random_labels", "foreign_clusters"),
        details=part.details,
        form="transition",
        temperature=1.0 / part.beta,
    )


def _bold(evidence: Evidence, high: Floats) -> Floats:
    """(N,) the bold reading: without features, every label that another class outdoes may be wrong."""
    if "neighbours" not in evidence.opinions:
        high = np.where(evidence.best != evidence.label, 1.0, high)
    return np.minimum(BOLDER * high, 1.0)


class _Part:
    """The samples that can be checked, as the transition model reads them."""

    def __init__(self, evidence: Evidence, rows: Ints) -> None:
        self.label, self.best = evidence.label[rows], evidence.best[rows]
        self.probabilities = evidence.probabilities[rows]
        self.num_classes = evidence.num_classes
        self.features = None
        if evidence.features is not None and "neighbours" in evidence.opinions:
            self.features = evidence.features[rows]
        self.asked_again = partial(evidence.asked_again, rows)
        self.epochs_disagree = evidence.epochs_disagree
        self.details: dict[str, float] = {}
        self.parted: set[Pair] | None = None
        """The pairs of classes that lie apart; None where each sample has one true class."""
        self.foreign = None
        if evidence.form == "full":
            self.foreign = evidence.findings["random_labels"].ood_prior[rows]
        if self.features is None:
            self.beta = self._sharpness_alone(BETA_SEEN if evidence.mode == "history" else BETA_ALONE)
            return
        # Never nothing: a model that seems never to err would make q as sharp as can be.
        self.differ = max(evidence.views_differ, 2.0 / len(rows))
        self.beta = sharpness_for(self.probabilities, MODEL_ERROR * self.differ)
        self.details["views_differ"] = self.differ

    def why_not(self, least_gain: float, one_true_class: bool) -> str:
        """Why labels are not held to be mistaken for one another; "" where they are.

        least_gain: what a rate for each pair must gain to overrule what detectors before found. Where each
        sample has one true class, labels that surely go wrong by pairs of classes, or surely towards any, are
        shown by that as well as by where they lie: the more of the one there is, the less is asked of the
        other.
        """
        label, best = self.label, self.best
        apart = best != label
        if not apart.any():
            return "no sample looks like another class"
        gain = gain_over_even(self.probabilities, label, self.beta, self.foreign)
        rank = inside_rank(self.probabilities, label, best)
        seen = apart & ~np.isnan(rank)
        all_seen = seen.copy()
        least_rate, least = MIN_RATE, MIN_INSIDE if gain >= MIN_GAIN else MIN_INSIDE_ALONE
        counts, mean_gap, every_gap, asked = np.ones(int(apart.sum())), 0.0, 0.0, 1.0
        if self.features is not None:
            strong = gain >= STRUCTURED * len(label)
            if one_true_class:
                asked = 1.0 - _ramp(abs(gain) / len(label), SOME_STRUCTURE, STRUCTURED)
            if self.differ > (MAX_DIFFER_STRUCTURED if strong else MAX_DIFFER):
                return TOO_WEAK
            pairs = pairs_of(label[apart], best[apart])
            read = gaps(self.features, label, best, set(pairs), self.num_classes)
            width, bridged = np.array([read[pair] for pair in pairs]).T
            seen[apart] &= bridged < SEPARATED
            counts = np.clip((NO_GAP - bridged) / (NO_GAP - CLEAR_GAP), 0.0, 1.0)
            mean_gap = every_gap = float(width.mean())
            if not one_true_class:
                known = self._known()[np.array(pairs)].all(axis=1)
                counts *= known
                lie_apart = known & (width < SEPARATED)
                mean_gap = float(width[lie_apart].mean()) if lie_apart.any() else 1.0
                self.parted = {pair for pair, apart_too in zip(pairs, lie_apart, strict=True) if apart_too}
            least_rate = max(MIN_RATE, RATE_OF_DISAGREEMENT * float(apart.mean()))
        else:
            contradicted = float(apart.mean())
            if self.epochs_disagree or contradicted > MAX_CONTRADICTED:
                return TOO_WEAK
            least_rate = max(MIN_RATE, contradicted**2)
        inside = float(np.nansum(counts * np.clip(1.0 - rank[apart] / LOW_RANK, 0.0, 1.0)))
        rate = inside / (0.5 * LOW_RANK) / len(label)
        self.details |= {"confusion_rate": rate, "confusion_gain": gain, "mean_gap": mean_gap}
        most, rival = (MEAN_GAP, HARD) if one_true_class else (MEAN_GAP_OVERLAP, "overlap")
        no_gap = f"no clear gap lies between the classes mixed up: confusion cannot be told from {rival}"
        if mean_gap > most and asked > 0:
            return no_gap
        shown = inside >= asked * least and rate >= asked * least_rate
        if not shown and not (self.features is not None and _even(rank[seen], len(label))):
            return no_gap if every_gap > most and asked > 0 else _not_inside(rank[all_seen], one_true_class)
        alone = self.features is None and self.num_classes > 2
        if gain < (MIN_GAIN if alone else least_gain):
            return "labels go wrong towards any class alike"
        return ""

    def _known(self) -> Bools:
        """(K,) the classes that look like themselves."""
        every = np.bincount(self.label, minlength=self.num_classes)
        own = np.bincount(self.label[self.best == self.label], minlength=self.num_classes)
        return np.asarray(own >= MIN_KNOWN * every)

    def readings(self) -> tuple[list[Reading], list[float]]:
        """The transition model, read again with what it believes, and how much each reading counts."""

        def first() -> Reading:
            softening = SOFTENING_ALONE if self.features is None else SOFTENING
            return Reading(self.probabilities, self.label, self.beta, softening, self.foreign)

        readings = [first()]
        if self.features is None:
            return readings, [1.0]
        views, k = self.asked_again(), self.num_classes

        def read_again(believed: Floats) -> tuple[Floats, float]:
            by_vote, by_kernel = views.by_vote(believed), views.by_kernel(believed)
            differ = float((by_vote.argmax(axis=1) != by_kernel.argmax(axis=1)).mean())
            return 0.5 * (by_vote + by_kernel), max(differ, 2.0 / len(self.label))

        kept = read_again(readings[0].true_class)[1] / self.differ
        weak = _ramp(self.differ, WEAK_FROM, WEAK_TO) * _ramp(kept, KEPT_FROM, KEPT_TO)
        error = MODEL_ERROR + WEAK_ERROR * weak
        if weak > 0:
            self.beta = sharpness_for(self.probabilities, error * self.differ)
            readings = [first()]
        for _ in range(PASSES):
            believed = readings[-1].true_class
            again, differ = read_again(believed)
            foreign = _with_company(self.foreign, again[:, k:], believed[:, k:])
            again = again[:, :k] / again[:, :k].sum(axis=1, keepdims=True)
            beta = sharpness_for(again, error * float(np.sqrt(self.differ * differ)))
            readings.append(Reading(again, self.label, beta, foreign=foreign))
        late = _ramp(float(readings[-1].posterior.mean()), LATE_FROM, LATE_TO)
        return readings, [0.5 * (1.0 - late), 0.5 * (1.0 - late), late]

    def _sharpness_alone(self, start: float) -> float:
        """Without features: as sharp as networks of their kind are, the more so the more labels are wrong."""
        beta = start
        for _ in range(2):
            wrong = wrong_share(self.probabilities, self.label, beta)
            beta = start / (1.0 - 1.5 * min(wrong, 0.5))
        return beta


def _with_company(foreign: Floats | None, company: Floats, believed: Floats) -> Floats | None:
    """(N,) the chance of belonging to no class, in the mean with what the sample's company makes of it.

    A sample whose label is wrong lies among those of its class, one from elsewhere among its like. company:
    (N, 1) how far neighbours and kernel, without the sample, hold it for one of these. believed: (N, 1) the
    same of the samples themselves.
    """
    if foreign is None:
        return None
    bounds = 1.0 - SURE_COMPANY, SURE_COMPANY
    own, others, usual = (np.clip(each, *bounds) for each in (foreign, company[:, 0], believed.mean()))
    return np.asarray(0.5 * (foreign + expit(logit(own) + logit(others) - logit(usual))))


def _even(rank: Floats, n: int) -> bool:
    """Whether the ranks of so many samples are as even as those of confused labels, and not as overlap's."""
    below = int((rank < 0.5).sum())
    enough = below >= max(MIN_BELOW, 0.5 * MIN_RATE * n)
    return enough and float(binom.sf(below - 1, len(rank), HALF_OF_OVERLAP)) < CHANCE


def _not_inside(rank: Floats, one_true_class: bool) -> str:
    """What is known of samples that look like another class and were not shown to lie inside it."""
    if len(rank) >= MANY and (rank < 0.5).mean() <= HALF_OF_OVERLAP:
        rival = f"{HARD} do" if one_true_class else "they do where classes overlap"
        return f"samples that look like another class lie between the two, as {rival}"
    rival = HARD if one_true_class else "classes that overlap"
    return f"too few samples lie inside another class to tell labels that are confused from {rival}"


def _ramp(value: float, start: float, end: float) -> float:
    """0 up to `start`, 1 from `end` on, and evenly between."""
    return float(np.clip((value - start) / (end - start), 0.0, 1.0))


def clearly_another(p: Floats, label: Ints, best: Ints) -> Bools:
    """(N,) whether a sample looks like its best class and not like its label."""
    rows = np.arange(len(label))
    return np.asarray(p[rows, best] - p[rows, label] > CLEARLY_ANOTHER)


def _hints(evidence: Evidence) -> tuple[str, ...]:
    """What to tell where many samples look like another class and the labels still do not look random."""
    label, best = evidence.label, evidence.best
    is_another = clearly_another(evidence.probabilities, label, best)
    another = np.flatnonzero(evidence.checked & is_another)
    if len(another) < max(5, MIN_LOOK * len(label)):
        return ()
    rival = HARD if evidence.overlap == "none" else "classes that overlap"
    return (
        f"{len(another)} samples look like another class all the same "
        f"({told(label[another], best[another], evidence.classes)}); they come first by score. "
        f"Labels that always go wrong the same way cannot be told from {rival}",
    )


def told(label: Ints, best: Ints, classes: tuple[Label, ...]) -> str:
    """Which label looks like which class, the most frequent first."""
    pairs, count = np.unique(np.stack([label, best]), axis=1, return_counts=True)
    most = np.argsort(-count, kind="stable")[:3]
    names = [[shortened(classes[k]) for k in pairs[:, i]] for i in most]
    said = ", ".join(f"{one} like {two}: {count[i]}" for (one, two), i in zip(names, most, strict=True))
    return said + (", ..." if len(count) > len(most) else "")
