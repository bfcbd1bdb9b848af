"""The paper's datasets: what they are, where their files lie, and how they are read."""

from reproduction.catalog.entries import CATALOG, Entry
from reproduction.catalog.loading import DatasetStatus, datasets_table, load
from reproduction.catalog.tasks import TABLES, paper_task

__all__ = ["CATALOG", "TABLES", "DatasetStatus", "Entry", "datasets_table", "load", "paper_task"]
