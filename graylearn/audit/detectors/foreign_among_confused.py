"""Foreign samples that share one label, in sets whose labels are mistaken for one another too.

Samples that bear the label of another class lie apart from the others of that label as foreign ones do, and
hide them: until it is known which these are, neither ranks nor parts of a label tell anything. So foreign
samples are looked for again among those that nothing was held against.
"""

from __future__ import annotations

from graylearn.audit.apart import MIN_CLASSES, apart_among
from graylearn.audit.detectors.foreign_clusters import MAX_DIFFER, lie_apart
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding, nothing

AFTER = ("class_confusion",)


def find(evidence: Evidence) -> Finding:
    """Look where labels are mistaken for one another, under the conditions of `foreign_clusters`."""
    confused = evidence.findings["class_confusion"]
    few = evidence.num_classes < MIN_CLASSES or evidence.views_differ > MAX_DIFFER
    if evidence.features is None or few or not confused.found:
        return nothing(len(evidence))
    rest = evidence.unsuspected
    apart = apart_among(evidence, rest, parts=not confused.ood_prior.any())
    return lie_apart(evidence, rest, apart) if apart.share > 0 else nothing(len(evidence))
