"""docs/lab/reproduction.md and its page of details, made of the stores in results/ alone."""

from reproduction.page.write import check, update

__all__ = ["check", "update"]
