"""Audits made up for the report's tests, of which every count is known."""

import numpy as np
import pandas as pd


def make_table(
    n: int = 120, suspects: int = 60, classes: tuple[str, ...] = ("cat", "dog", "owl")
) -> pd.DataFrame:
    """An audit of n samples: index i has label i mod K; the first `suspects` indices are flagged, of falling
    score; every third of them is ood, the others look like the next class."""
    index = np.arange(n)
    label = index % len(classes)
    suspected = index < suspects
    ood = suspected & (index % 3 == 2)
    kind = np.where(ood, "ood", np.where(suspected, "mislabelled", "ok")).astype(object)
    suggested = [
        None if is_ood else classes[(k + 1) % len(classes)] if flag else classes[k]
        for is_ood, flag, k in zip(ood, suspected, label, strict=True)
    ]
    return pd.DataFrame(
        {
            "id": [f"photo-{i:05d}.jpg" for i in index],
            "label": pd.Series([classes[k] for k in label], dtype=object),
            "confidence": np.linspace(0.01, 0.99, n),
            "score": np.linspace(0.999, 0.001, n),
            "suspected": suspected,
            "kind": kind,
            "suggested": pd.Series(suggested, dtype=object),
        }
    )
