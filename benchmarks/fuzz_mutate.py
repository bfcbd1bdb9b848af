"""Small damage to bytes and to trees of JSON, drawn from a `random.Random`, which decides all."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

PIECES = (
    b'"', b"'", b",", b"\n", b"\r", b"\x00", b"\xff", b";", b"\t", b"[", b"]", b"{", b"}", b":", b"=", b"#",
    b"null", b"NaN", b"-1", b"1e999", b"0", b"9" * 30, b"-", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"label", b"id", b"sep=;\n", b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff", b"\x00" * 8,
    b"PK", b"[" * 300, b"PAR1", b"ARROW1", b"\\u0000", b"\\ud800", b"&a *a", b"!!python/object:os.system",
    b"<<: *a",
)  # fmt: skip
"""What parsers of every kind have stumbled over."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 1 << 31, 1 << 63, -(1 << 70), 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "a", "x" * 300, "\x00", "\ud800", "../../etc", "nan", "1e999", "label", "inf", [], {},
    [[]], [None], [1, 2, 3], [1e300] * 40, {"": None}, {"a": {"b": []}}, ["a", 1, None],
)  # fmt: skip
"""What a value of JSON may be that nobody wrote there."""


def damaged(whole: bytes, rng: Random) -> bytes:
    """One to six flipped, replaced, removed, doubled or moved pieces, or a cut."""
    data = bytearray(whole)
    for _ in range(rng.randint(1, 6)):
        at, kind = rng.randrange(len(data) + 1), rng.random()
        if kind < 0.4 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind < 0.6:
            data[at : at + rng.choice((0, 1, 5))] = rng.choice(PIECES)
        elif kind < 0.75:
            del data[at : at + rng.randint(1, 20)]
        elif kind < 0.85:
            data[at:at] = data[at : at + rng.randint(1, 40)]
        elif kind < 0.95 and at < len(data):
            data[at] = rng.randrange(256)
        else:
            del data[at:]
    return bytes(data)


def changed(tree: Any, rng: Random) -> Any:
    """The tree with one to four of its values replaced, removed, added or exchanged."""
    holder = [copy.deepcopy(tree)]
    for _ in range(rng.randint(1, 4)):
        places = list(_places(holder))
        inside, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.6 or len(inside) < 2:
            inside[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind < 0.75 and inside is not holder:
            del inside[key]
        elif kind < 0.9:
            other, there = rng.choice(places)
            inside[key] = copy.deepcopy(other[there])
        elif isinstance(inside, dict):
            inside[rng.choice(("", "extra", "\x00"))] = rng.choice(VALUES)
        else:
            inside.append(copy.deepcopy(rng.choice(VALUES)))
    return holder[0]


def _places(tree: Any) -> Any:
    """(container, key) of every value in a tree."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key])
