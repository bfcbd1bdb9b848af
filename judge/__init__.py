"""The making of the judge: dirty sets with their truth, its training and its evaluation. Not in the wheel."""
