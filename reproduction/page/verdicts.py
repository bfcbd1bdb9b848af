"""Four words for a claim, and the rule that chooses one from measured differences and the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reproduction.statistics import Interval

Word = Literal["contradicted", "no difference seen", "reproduced", "not tested"]
SEEDS = 3
"""Fewer decide nothing."""
NEAR = 1.0
"""Points: an interval that stays within as many of zero shows that there is no difference to speak of."""

RULES = f"""With {SEEDS} seeds or more a part is **reproduced** if the 95 % interval lies on the paper's side
of zero; else **contradicted** if, on the paper's own data and protocol, it excludes the printed gain (none
printed: lies on the other side of zero); else **no difference seen** if it stays within {NEAR:g} point of
zero. All else, also an interval that holds both zero and the printed gain, is **not tested** as in the
paper."""


@dataclass(frozen=True)
class Part:
    """One setting that a claim speaks of."""

    what: str
    """The setting, in a word or two."""
    gain: Interval
    """Points by which the numbers go the paper's way."""
    printed: float | None = None
    """Points by which the paper's go."""
    own: bool = False
    """Whether data and protocol are the paper's own."""

    @property
    def word(self) -> Word:
        """By the rules above."""
        if self.gain.n < SEEDS:
            return "not tested"
        if self.gain.low > 0:
            return "reproduced"
        if self.own and self.gain.high < (self.printed or 0.0):
            return "contradicted"
        if self.gain.low >= -NEAR and self.gain.high <= NEAR:
            return "no difference seen"
        return "not tested"

    def __str__(self) -> str:
        return f"{self.what} {self.gain}".strip()


@dataclass(frozen=True)
class Judgement:
    """A claim, judged."""

    parts: tuple[Part, ...]
    """What was measured."""
    told: str = ""
    """In place of the parts, where these would not be understood or are too many."""

    def count(self, word: Word) -> int:
        """How many parts have a word."""
        return sum(part.word == word for part in self.parts)

    @property
    def word(self) -> Word:
        """One contrary part is enough, for the claims speak of every set; else what most of the parts that
        show something show, of equally many the weaker."""
        if self.count("contradicted"):
            return "contradicted"
        shown, unseen = self.count("reproduced"), self.count("no difference seen")
        if not shown and not unseen:
            return "not tested"
        return "reproduced" if shown > unseen else "no difference seen"

    @property
    def verdict(self) -> str:
        """The word, and how many parts have it where others have not."""
        count = self.count(self.word)
        few = f" ({count} of {len(self.parts)})" if 0 < count < len(self.parts) else ""
        return f"**{self.word}**{few}"

    @property
    def own(self) -> str:
        """Whether the data of the parts that decide are the paper's own: "yes", "no", or in how many."""
        deciding = [part for part in self.parts if part.word == self.word]
        own = sum(part.own for part in deciding)
        return "no" if not own else "yes" if own == len(deciding) else f"{own} of {len(deciding)}"

    @property
    def ours(self) -> str:
        """The measured numbers, in one line."""
        return self.told or shown(self.parts) or "not run"


def shown(found: Sequence[Part]) -> str:
    """The parts that decide, each with its interval; three or more others as their range."""
    word = Judgement(tuple(found)).word
    deciding = [part for part in found if part.word == word]
    others = [part.gain.mean for part in found if part.word != word]
    if not deciding or len(others) < SEEDS:
        return "; ".join(map(str, found))
    return "; ".join([*map(str, deciding), f"{len(others)} others {min(others):+.1f} to {max(others):+.1f}"])


def parts(found: Sequence[Part | None]) -> tuple[Part, ...]:
    """Those that were measured."""
    return tuple(part for part in found if part is not None)
