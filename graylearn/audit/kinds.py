"""What a sample can turn out to be."""

KINDS = ("ok", "mislabelled", "ood")
"""ok; mislabelled: another class explains the sample; ood: no class does."""
OK, MISLABELLED, OOD = range(len(KINDS))
