"""docs/lab/reproduction.md: every claim of the paper, judged from the results."""

from reproduction.page.generate import generate
from reproduction.page.write import check, update

__all__ = ["check", "generate", "update"]
