"""From confidences to suspects: scores, a threshold, and the kind of fault."""


from graylearn.audit.kinds import KINDS, LEVELS




