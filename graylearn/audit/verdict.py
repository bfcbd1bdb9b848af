"""From class probabilities and features to verdicts: pool the views, fit the labels, name the suspects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.audit.alike import MIN_LOOK, clearly_another, lie_like_foreigners, note_of, pairs_of
from graylearn.audit.mixture import GATE_CONSTANT, GATE_CONSTANT_SEEN, NoiseFit, fit_noise
from graylearn.audit.result import Audit, Mode
from graylearn.audit.strangers import NO_STRANGERS, Strangers, find_strangers
from graylearn.audit.views import pool_views
from graylearn.data.samples import Label

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_CLASS = 4
"""Classes with fewer samples than this are never flagged: half of the folds saw one of them at most."""
MIN_SAMPLES = 30
"""Below this many samples nothing is flagged: no test of the labels can be passed."""
LOWEST_FLAG, HIGHEST_FLAG = 0.25, 0.5
"""Between these the threshold on the posterior is chosen by the posterior itself; see `threshold_of`."""
WEAK = 0.3
"""What full doubt of the single views counts in the score of a sample beside its posterior."""
MIN_CLASSES_FOR_STRANGERS = 4
"""With fewer classes there are too few kinds of foreigner to compare with."""


def judge(
    network: Floats,
    label: Ints,
    classes: tuple[Label, ...],
    features: NDArray[np.float32] | None,
    ids: NDArray[Any],
    mode: Mode,
) -> Audit:
    """Pool the views, fit the noise mixture to the labels that can be checked, and read off the verdicts."""
    n = len(label)
    views = pool_views(network, label, features, held_out=mode != "history")
    count = np.bincount(label, minlength=len(classes))
    checked = count[label] >= MIN_CLASS
    notes = _notes(n, classes, count)
    confidence = views.P[np.arange(n), label]
    best = views.P.argmax(axis=1) if n else np.zeros(0, dtype=np.int64)
    posterior, pi, o = np.zeros(n), np.zeros(n), np.zeros(n)
    form, temperature, details = "none", 1.0, {f"weight_{name}": w for name, w in views.weights.items()}
    judged = n >= MIN_SAMPLES and len(np.unique(label[checked])) >= 2
    if judged:
        gate = GATE_CONSTANT_SEEN if mode == "history" else GATE_CONSTANT
        fit = fit_noise(views.P[checked], label[checked], views.evidence[checked], gate_constant=gate)
        posterior[checked], pi[checked], o[checked] = fit.posterior, fit.prior, fit.ood_prior
        form, temperature = fit.form, fit.temperature
        details.update(_details(fit))
    found_by = [] if form == "none" else ["random_labels"]
    score = posterior if form != "none" else 1.0 - confidence
    if judged and features is not None and len(classes) >= MIN_CLASSES_FOR_STRANGERS:
        rest = np.flatnonzero(checked & (posterior <= threshold_of(posterior)))

        def strangers(places: Ints) -> Strangers:
            # Where labels are drawn at random, OOD samples are spread over all of them: what is left of a
            # label after these falls in parts of its own (imbalanced digits: two ways to write a one).
            agreement = best[places] == label[places]
            return find_strangers(
                features[places], label[places], len(classes), agreement, parts=form == "none"
            )

        strange = strangers(rest)
        details["strangers"] = strange.share
        another = clearly_another(views.P[rest], label[rest], best[rest])
        if (
            form == "none"
            and another.mean() > MIN_LOOK
            and (
                lie_like_foreigners(features[rest], label[rest], len(classes), another)
                # or only they lie apart, and not for being strangers
                or (strange.share > 0 and strangers(rest[~another]).reason == NO_STRANGERS)
            )
        ):
            wrong = 1.0 - confidence[rest] / views.P[rest, best[rest]]
            found = np.where(another, np.maximum(strange.posterior, wrong), 0.0)
            posterior[rest] = pi[rest] = found
            score = np.where(posterior > 0, posterior, WEAK * (1.0 - confidence))
            found_by.append("class_confusion")
            notes.append(
                f"{int(another.sum())} samples lie apart from the others of their label and where another "
                f"class lies ({pairs_of(label[rest][another], best[rest][another], classes)})"
            )
        elif strange.share > 0:
            # A stranger's label is no draw at random, so both chances stand side by side.
            found = strange.posterior
            o[rest] = np.maximum(o[rest], found)
            pi[rest] = np.maximum(pi[rest], found)
            posterior[rest] = 1.0 - (1.0 - posterior[rest]) * (1.0 - found)
            # Below the suspects, what both views say weakly still orders the rest.
            weak = 1.0 - confidence
            if strange.rank is not None:
                away = 1.0 - strange.rank
                # Where no label looks drawn at random, probabilities have learnt the strangers' labels.
                weak[rest] = away if form == "none" else 0.5 * (weak[rest] + away)
            score = 1.0 - (1.0 - posterior) * (1.0 - WEAK * weak)
            found_by.append("foreign_clusters")
            notes.append(
                f"{strange.share:.1%} of the samples that fit their label by probability lie apart from the "
                "others of that label: foreign samples that share one label, or a class of two kinds"
            )
        elif form == "none" and strange.rank is not None:
            # Nothing is flagged, yet the order may serve a person: both views, where both say something.
            score = score.copy()
            score[rest] = 0.5 * (score[rest] + 1.0 - strange.rank)
    if not found_by and judged:
        notes.append("nothing flagged: the labels are explained without any of them being random")
        notes += note_of(views.P, label, best, checked, classes)
    flag_at = threshold_of(posterior)
    details["threshold"] = flag_at
    suspected = posterior > flag_at
    is_ood = suspected & (o > 0.5 * pi)
    # A suspect whose best class is its own label is not another class's sample: it is nobody's.
    is_ood |= suspected & (best == label)
    kind = np.where(is_ood, 2, np.where(suspected, 1, 0)).astype(np.int64)
    suggested = np.where(kind == 0, label, np.where(kind == 1, best, -1)).astype(np.int64)
    return Audit(
        ids=ids, label=label, classes=classes, confidence=confidence, score=np.clip(score, 0.0, 1.0),
        suspected=suspected, kind=kind, suggested=suggested, posterior=posterior, prior=pi, ood_prior=o,
        probabilities=views.P, temperature=temperature, mode=mode, form=form, found_by=tuple(found_by),
        notes=tuple(notes), details=details,
    )  # fmt: skip


def threshold_of(posterior: Floats) -> float:
    """The threshold that is best for F1 if the posterior is right, between .25 and .5.

    Flagging the n largest finds sum(their posterior) of sum(all), so the expected F1 is about
    2 sum(n largest) / (n + sum(all)); the largest n with the maximum is taken.
    """
    ordered = np.sort(posterior)[::-1]
    total = float(ordered.sum())
    if total <= 0:
        return HIGHEST_FLAG
    expected = 2.0 * np.cumsum(ordered) / (np.arange(1, len(ordered) + 1) + total)
    return float(np.clip(ordered[int(expected.argmax())] - 1e-9, LOWEST_FLAG, HIGHEST_FLAG))


def _notes(n: int, classes: tuple[Label, ...], count: Ints) -> list[str]:
    notes = []
    if n < MIN_SAMPLES:
        notes.append(f"nothing flagged: {n} samples are too few to tell (at least {MIN_SAMPLES})")
    elif (count > 0).sum() < 2:
        notes.append("nothing flagged: all samples bear one label")
    tiny = [str(classes[k]) for k in np.flatnonzero((count > 0) & (count < MIN_CLASS))]
    if tiny and n >= MIN_SAMPLES:
        more = ", ..." if len(tiny) > 5 else ""
        notes.append(f"not judged: classes with fewer than {MIN_CLASS} samples ({', '.join(tiny[:5])}{more})")
    if len(classes) == 2:
        notes.append(
            "two classes: a random label is right half of the time, so much of the noise stays hidden"
        )
    return notes


def _details(fit: NoiseFit) -> dict[str, float]:
    found = {f"log_likelihood_{name}": value for name, value in fit.log_likelihood.items()}
    found["wrong_rate"] = fit.wrong_rate
    found.update({f"slope_{column}": float(b) for column, b in enumerate(fit.slopes)})
    return found
