"""From what samples look like to suspects: views, evidence, a learned judge, verdicts."""

from graylearn.audit.audit import audit, audit_history, audit_predictions
from graylearn.audit.kinds import KINDS, LEVELS
from graylearn.audit.result import Audit

__all__ = ["KINDS", "LEVELS", "Audit", "audit", "audit_history", "audit_predictions"]
