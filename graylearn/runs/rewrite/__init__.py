"""Datasets written again with some samples dropped and some relabelled."""
