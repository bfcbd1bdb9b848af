"""What a sample can turn out to be, and how sure that is."""

KINDS = ("ok", "mislabelled", "ood")
"""ok; mislabelled: another class explains the sample; ood: no class does."""
OK, MISLABELLED, OOD = range(len(KINDS))

LEVELS = ("", "review", "sure")
"""Of a suspect: review, for a person to look at; sure, right in 95 of 100 cases or more."""
REVIEW, SURE = 1, 2
