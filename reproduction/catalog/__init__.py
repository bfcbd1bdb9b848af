"""The paper's datasets: what they are, where their files lie, and how they are read."""

from reproduction.catalog.entries import CATALOG, Entry
from reproduction.catalog.loading import DatasetStatus, available, datasets_table, load
from reproduction.catalog.tasks import TABLES, table_task

__all__ = ["CATALOG", "TABLES", "DatasetStatus", "Entry", "available", "datasets_table", "load", "table_task"]
