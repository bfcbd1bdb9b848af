"""The paper's datasets: what they are, where their files lie, and how they are read."""

from graylearn.data.catalog.entries import CATALOG, Entry

__all__ = ["CATALOG", "Entry"]
