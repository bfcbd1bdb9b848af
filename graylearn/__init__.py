"""graylearn: learn from dirty training sets, and find the samples that do not belong."""
