"""From confidences to suspects: scores, a threshold, and the kind of fault."""

from graylearn.audit.audit import audit, audit_history, audit_predictions
from graylearn.audit.kinds import KINDS, LEVELS
from graylearn.audit.mixture import NoiseFit, fit_noise
from graylearn.audit.result import Audit

__all__ = ["KINDS", "LEVELS", "Audit", "NoiseFit", "audit", "audit_history", "audit_predictions", "fit_noise"]
