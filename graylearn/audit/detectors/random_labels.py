"""Labels that look drawn at random, wherever the sample lies or where no class fits: the noise mixture."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from graylearn.array_types import Bools, Floats, Ints
from graylearn.audit.apart import MIN_CLASSES, apart_among
from graylearn.audit.beliefs import AskedAgain
from graylearn.audit.centroids import centre_cosine
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import SURE_POSTERIOR, Finding, nothing, share_of, threshold_of
from graylearn.audit.mixture import GATE_CONSTANT, GATE_CONSTANT_SEEN, NoiseFit, fit_noise

WEAK = 0.2
"""Share of samples on which network and neighbours differ above which the model is weak."""
GATE_FAR_OUT = 5.0
"""The gain of the full mixture that is enough where some samples lie far out too: 280 photos pay for no more,
and each of the two alone is met by clean sets."""
FAR_OUT, MIN_FAR_OUT = 0.5, 0.01
"""Rank below which a sample lies as far from its class as those of others do, and the share of such samples
that there must be. Clean sets of models that are not weak with a gain above 5 have .005; small folders of
photos with 14 % foreign ones .01 and more."""
SURE_GAIN = 26.0
"""What labels must pay for being random, over never being so, for any to be surely so where classes may
overlap: twice the gate. Of 101 tables as they are three paid 13 to 38, by models that are weak: those make
nothing sure there."""
MIN_WRONG, MIN_FOREIGN = 0.02, 0.01
"""Share of wrong labels among samples that belong, and of samples likelier to belong to no class than not,
from which on suspects are of two kinds."""
SURE_KIND = 0.98
"""How sure one of two opinions on the kind of a suspect may be."""
COMPARED = 3
"""Classes among which labels that contradict are compared to be sure: of two there is nothing to compare, and
none is sure where they may overlap (a star or not: .58 to .96 were wrong, of a clean set none of 21); of more
each pair has few, and .97 of the sure ones were wrong in pairs that have most."""
MORE = 0.1
"""By how much the labels of a pair may exceed what random ones would be there."""
OWN_ERRORS, LUCK = 0.18, 2.0
"""Where fewer labels contradict that are not random, as a part of those that are, a pair may have so many
deviations more by chance. Of 23 design sets with fewer than .95 of the sure labels wrong one is left, of six
classes, and of the sure labels of all others .84."""

MIN_GATHERED, OF_MEMBERS, AS_MEMBERS = 5, 0.25, 0.4
"""Suspects that look like one class, also as a part of its other samples, from which on wrong labels may
gather there; and the mean share of these that lie farther out, above which the suspects are members of it.
Of digits and sentences half of whose labels are random in one and five classes that share is .4 to .7, of
foreign samples .0 to .3 but for a class here and there."""

HARDLY_LEARNED = 0.7
"""Share of labels that a network contradicts, though it was taught them, above which it has hardly begun to
learn: of clean digits, .80 to .89 contradicted, up to 85 % were flagged by its history alone."""
TRAIN_LONGER = (
    "the network contradicts most of the labels that it was taught: train it for longer, or give features"
)
KNOWN_LITTLE = 0.8
"""Share of the labels not held for random that all views together contradict, above which they know too
little to hold any label for random: of clean sets of 30 to 150 classes, .89 to .98 contradicted, 18 to 75 %
were flagged. Of 60 sets of photos, digits, texts and tables with wrong labels one has .58, all others .40 at
most."""


def find(evidence: Evidence) -> Finding:
    """Fit the noise mixture to the labels that can be checked."""
    checked = evidence.checked
    alone = evidence.mode == "history" and evidence.features is None
    if alone and float(evidence.contradicted[checked].mean()) > HARDLY_LEARNED:
        return nothing(len(evidence), hints=(TRAIN_LONGER,))
    weak = evidence.views_differ > WEAK or evidence.epochs_disagree

    def fitted(gate: float | None = None) -> NoiseFit:
        return fit_noise(
            evidence.probabilities[checked],
            evidence.label[checked],
            np.stack(list(evidence.no_class.values()), axis=1)[checked],
            gate_constant=GATE_CONSTANT_SEEN if evidence.mode == "history" else GATE_CONSTANT,
            gate_full=gate,
            weak=weak,
        )

    fit = fitted()
    opens = fit.form == "none" and fit.gain > GATE_FAR_OUT and not weak and some_lie_far_out(evidence)
    if opens:
        fit = fitted(GATE_FAR_OUT)
    posterior, prior, ood_prior = (np.zeros(len(evidence)) for _ in range(3))
    posterior[checked], prior[checked], ood_prior[checked] = fit.posterior, fit.prior, fit.ood_prior
    unsuspected = checked & (posterior <= threshold_of(posterior))
    if evidence.contradicted[unsuspected].sum() > KNOWN_LITTLE * unsuspected.sum():
        return nothing(len(evidence))
    two_kinds = fit.wrong_rate > MIN_WRONG and float((fit.ood_prior > 0.5).mean()) > MIN_FOREIGN
    if fit.form == "full" and evidence.features is not None:
        if two_kinds:
            ood_prior[checked] = fit.prior * by_company(fit, evidence.asked_again(np.flatnonzero(checked)))
        elif evidence.num_classes >= MIN_CLASSES:
            ood_prior[np.isin(evidence.best, gathered_in(evidence, checked & ~unsuspected))] = 0.0
    known = 1.0 - share_of(ood_prior, prior)
    # A label drawn at random may be right by chance: such a sample is not mislabelled.
    wrong = posterior * known * (1.0 - evidence.confidence)
    sure = posterior > SURE_POSTERIOR
    unproved = weak or fit.paid <= SURE_GAIN or evidence.num_classes < COMPARED
    if opens or (evidence.overlap == "possible" and unproved):
        sure[:] = False  # where samples far out open the gate 27 of 27 were right: too few to promise .95
    if evidence.num_classes == COMPARED:
        sure[checked] &= no_more_than_random(evidence.label[checked], evidence.best[checked], fit.prior)
    return Finding(
        posterior,
        prior,
        ood_prior,
        wrong,
        sure=sure,
        details=_details(fit, list(evidence.no_class)),
        form=fit.form,
        temperature=fit.temperature,
    )


def some_lie_far_out(evidence: Evidence) -> bool:
    """Whether some samples lie as far from their class as strangers do, with all views against their labels.

    Asked where each sample has one true class, of four or more, and there are features.
    """
    if evidence.features is None or evidence.overlap == "possible" or evidence.num_classes < MIN_CLASSES:
        return False
    rank = apart_among(evidence, np.flatnonzero(evidence.checked), parts=False).rank
    if rank is None:
        return False
    against = np.all([each.argmax(axis=1) != evidence.label for each in evidence.opinions.values()], axis=0)
    return bool((against[evidence.checked] & (rank < FAR_OUT)).mean() >= MIN_FAR_OUT)


def no_more_than_random(label: Ints, best: Ints, prior: Floats) -> Bools:
    """(N,) whether others that look like the same class bear the same label no oftener than by chance.

    A label drawn at random is any class alike. Where samples that look like b are called a oftener than that,
    some of them are a, and look like b to every view: no probability tells them from wrong labels. Where
    nearly all labels that contradict are random, more of them may be chance.
    """
    k = COMPARED
    seen = np.zeros((k, k))
    np.add.at(seen, (label, best), 1)
    random = np.bincount(best, prior, k) / k  # of each label, among those that look like a class
    contradict = float((label != best).sum())
    of_random = float(prior.sum()) * (k - 1) / k
    luck = LUCK if contradict <= (1.0 + OWN_ERRORS) * of_random else 0.0
    return np.asarray((seen <= (1.0 + MORE) * random + luck * np.sqrt(random))[label, best])


def gathered_in(evidence: Evidence, suspected: Bools) -> Ints:
    """The few classes that many suspects are members of, by where they lie; none where they are spread.

    A class with many labels drawn at random is a place with random labels, as foreign samples are, and the
    mixture cannot tell the two. Its samples lie among the others of it, though: of those that are nearer to
    the centre and those that are farther there are as many.
    """
    assert evidence.features is not None  # it is asked where there are some
    rows = np.flatnonzero(evidence.checked)
    out = suspected[rows]
    seen_as = np.where(out, evidence.best[rows], evidence.label[rows])
    cosine = centre_cosine(evidence.features[rows], seen_as, evidence.num_classes, out, evidence.device)
    nearness = cosine[np.arange(len(rows)), seen_as]
    found = []
    for k in np.flatnonzero(np.bincount(seen_as[out]) >= MIN_GATHERED):
        members, lost = (np.sort(nearness[(seen_as == k) & those]) for those in (~out, out))
        many = len(lost) >= OF_MEMBERS * len(members) > 0
        if many and (np.searchsorted(members, lost) / len(members)).mean() > AS_MEMBERS:
            found.append(k)
    # a third of the suspects at least, in a third of the classes at most
    gathers = 3 * np.isin(seen_as[out], found).sum() >= out.sum() and 3 * len(found) <= evidence.num_classes
    return np.array(found if gathers else [], dtype=np.int64)


def by_company(fit: NoiseFit, views: AskedAgain) -> Floats:
    """(N,) the part of each suspicion that is due to the sample belonging to no class, by its company too.

    A sample whose label is wrong lies among samples that are trusted, one from elsewhere among its like. What
    neighbours and kernel expect of a sample, left out, is pi once more: e + (1 - e) o. Its o is a second
    opinion beside that of the mixture, which knows only how odd the sample is; both count as evidence.
    """
    belief = np.stack([1.0 - fit.posterior, fit.posterior], axis=1)
    suspect = 0.5 * (views.by_vote(belief) + views.by_kernel(belief))[:, 1]
    company = (suspect - fit.wrong_rate) / ((1.0 - fit.wrong_rate) * suspect)
    both = np.clip([share_of(fit.ood_prior, fit.prior), company], 1.0 - SURE_KIND, SURE_KIND)
    usual = float((fit.posterior * both.mean(axis=0)).sum() / fit.posterior.sum())
    return np.asarray(expit(logit(both).sum(axis=0) - logit(usual)))


def _details(fit: NoiseFit, columns: list[str]) -> dict[str, float]:
    found = {f"log_likelihood_{name}": value for name, value in fit.log_likelihood.items()}
    found["wrong_rate"] = fit.wrong_rate
    found.update({f"slope_{name}": float(b) for name, b in zip(columns, fit.slopes, strict=True)})
    return found
