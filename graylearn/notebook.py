"""How results show themselves in a notebook: words and small pictures, escaped, nothing from the net."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT = 320, 90
_COLOURS = ("#2a78b5", "#d1661a", "#7a7a7a")  # read on white as on black


def escaped(value: object) -> str:
    """A value as text of a page; names that are not Unicode are spelt out."""
    return html.escape(str(value).encode("utf-8", "backslashreplace").decode())


def shown(text: str, *pictures: str) -> str:
    """Lines of text with pictures under them."""
    return (
        f'<div><pre style="margin:0;white-space:pre-wrap">{escaped(text)}</pre>'
        f'<div style="display:flex;flex-wrap:wrap;gap:1em">{"".join(pictures)}</div></div>'
    )


def lines(title: str, series: Mapping[str, Sequence[float]]) -> str:
    """Up to three curves over epochs, all on one scale; values that are not finite are left out."""
    values = [value for each in series.values() for value in each if math.isfinite(value)]
    if not values:
        return ""
    low, high = min(values), max(values)
    drawn = []
    for colour, each in zip(_COLOURS, series.values(), strict=False):
        points = [
            f"{_WIDTH * at / max(len(each) - 1, 1):.1f},{_up(value, low, high):.1f}"
            for at, value in enumerate(each)
            if math.isfinite(value)
        ]
        if len(points) == 1:
            points *= 2  # a curve of one point is drawn as a dot
        drawn.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"'
            ' stroke-linecap="round"/>'
        )
    named = ", ".join(
        f'<span style="color:{colour}">{escaped(name)}</span>'
        for colour, name in zip(_COLOURS, series, strict=False)
    )
    return _figure(f"{escaped(title)}: {named}; {low:.3g} to {high:.3g}", title, "".join(drawn))


def bars(title: str, below: Sequence[int], above: Sequence[int]) -> str:
    """A histogram of two kinds of samples, one on top of the other; heights by the root of the count."""
    highest = math.sqrt(max([1, *(a + b for a, b in zip(below, above, strict=True))]))
    width, drawn = _WIDTH / max(len(below), 1), []
    for at, (first, second) in enumerate(zip(below, above, strict=True)):
        whole = _HEIGHT * math.sqrt(first + second) / highest
        upper = whole * second / max(first + second, 1)
        for colour, top, tall in (
            (_COLOURS[0], _HEIGHT - whole + upper, whole - upper),
            (_COLOURS[1], _HEIGHT - whole, upper),
        ):
            if tall > 0:
                drawn.append(
                    f'<rect x="{at * width + 0.5:.1f}" y="{top:.1f}" width="{width - 1:.1f}"'
                    f' height="{tall:.1f}" fill="{colour}"/>'
                )
    return _figure(escaped(title), title, "".join(drawn))


def _up(value: float, low: float, high: float) -> float:
    return _HEIGHT / 2 if high == low else _HEIGHT - _HEIGHT * (value - low) / (high - low)


def _figure(caption: str, title: str, drawn: str) -> str:
    return (
        f'<figure style="margin:.5em 0"><svg role="img" aria-label="{escaped(title)}" width="{_WIDTH}"'
        f' height="{_HEIGHT}" viewBox="-2 -2 {_WIDTH + 4} {_HEIGHT + 4}">{drawn}</svg>'
        f'<figcaption style="font-size:small">{caption}</figcaption></figure>'
    )
