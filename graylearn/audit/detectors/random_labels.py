"""Labels that look drawn at random, wherever the sample lies or where no class fits: the noise mixture."""

from __future__ import annotations

import numpy as np

from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding
from graylearn.audit.mixture import GATE_CONSTANT, GATE_CONSTANT_SEEN, NoiseFit, fit_noise

WEAK = 0.2
"""Share of samples on which network and neighbours differ above which the model is weak."""


def find(evidence: Evidence) -> Finding:
    """Fit the noise mixture to the labels that can be checked."""
    checked = evidence.checked
    fit = fit_noise(
        evidence.probabilities[checked],
        evidence.label[checked],
        np.stack(list(evidence.no_class.values()), axis=1)[checked],
        gate_constant=GATE_CONSTANT_SEEN if evidence.mode == "history" else GATE_CONSTANT,
        weak=evidence.views_differ > WEAK,
    )
    posterior, prior, ood_prior = (np.zeros(len(evidence)) for _ in range(3))
    posterior[checked], prior[checked], ood_prior[checked] = fit.posterior, fit.prior, fit.ood_prior
    known = 1.0 - np.divide(ood_prior, prior, out=np.zeros(len(evidence)), where=prior > 0)
    # A label drawn at random may be right by chance: such a sample is not mislabelled.
    wrong = posterior * known * (1.0 - evidence.confidence)
    return Finding(
        posterior,
        prior,
        ood_prior,
        wrong,
        details=_details(fit, list(evidence.no_class)),
        form=fit.form,
        temperature=fit.temperature,
    )


def _details(fit: NoiseFit, columns: list[str]) -> dict[str, float]:
    found = {f"log_likelihood_{name}": value for name, value in fit.log_likelihood.items()}
    found["wrong_rate"] = fit.wrong_rate
    found.update({f"slope_{name}": float(b) for name, b in zip(columns, fit.slopes, strict=True)})
    return found
