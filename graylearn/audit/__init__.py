"""From what samples look like to suspects: views, evidence, a learned judge, verdicts."""

from typing import TYPE_CHECKING

from graylearn.lazy import getter, keep_functions

if TYPE_CHECKING:
    from graylearn.audit.audit import audit
    from graylearn.audit.kinds import KINDS, LEVELS
    from graylearn.audit.result import Audit

__all__ = ["KINDS", "LEVELS", "Audit", "audit"]

if not TYPE_CHECKING:
    __getattr__ = getter(__name__, {"audit": ("audit",), "kinds": ("KINDS", "LEVELS"), "result": ("Audit",)})

keep_functions(__name__, "audit")
