"""A small table to run on, and decisions about a run."""

import numpy as np
from blobs import blobs


def write_blobs(path, *, wrong=(), n=90, seed=0):
    """A CSV of the groups, called ant, bee and cow; rows in `wrong` bear the next name."""
    x, y = blobs(n, seed)
    y = np.where(np.isin(np.arange(n), wrong), (y + 1) % 3, y)
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{('ant', 'bee', 'cow')[k]}" for (a, b, c), k in zip(x, y, strict=True)]
    path.write_text("one,two,three,label\n" + "\n".join(lines) + "\n")
    return path


def decide(tmp_path, *rows):
    """A file of decisions, a row each: id,decision,label."""
    path = tmp_path / "decisions.csv"
    path.write_text("id,decision,label\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path
