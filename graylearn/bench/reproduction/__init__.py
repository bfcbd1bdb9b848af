"""docs/reproduction.md: every claim of the paper, judged from the results."""

from graylearn.bench.reproduction.page import generate
from graylearn.bench.reproduction.write import main, update

__all__ = ["generate", "main", "update"]
