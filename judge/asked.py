"""What a judge says of a case: from features, or probabilities, to a posterior and what follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graylearn.audit.scaling import reduced, scaled
from graylearn.data.order import row_numbers
from judge.copies import different
from judge.evidence import gather
from judge.network import read_judge

Found = dict[str, Any]


def judged(case: dict[str, np.ndarray], weights: Path, overlap: str) -> Found:
    """The answer of the judge with these weights, by the names of `judge.evaluate.Found`."""
    judge = read_judge(weights)
    label, given = case["label"], case.get("probabilities")
    classes = int(label.max()) + 1
    if given is None:
        content = row_numbers(case["features"])
        order = np.lexsort([label, content])  # sums depend on the order of the rows, verdicts must not
        features = np.empty((len(label), 0), np.float32)
        ordered = reduced(scaled(case["features"], order))
        features = np.empty_like(ordered)
        features[order] = ordered
    else:
        features, content, classes = given, row_numbers(given), given.shape[1]
    rows, chosen, answers = different(features, content, label, classes)
    if given is None:
        evidence = gather(rows, one_class={"none": True, "possible": False}.get(overlap))
    else:
        evidence = gather(
            rows.without_features(), given=given[chosen], one_class=True if overlap == "none" else None
        )
    chances = judge(evidence).chances[answers]
    wrong, foreign = chances[:, 1], chances[:, 2]
    held = 1.0 - chances[:, 0]
    suspected = held > judge.settings["threshold"]
    at, low, high = np.array(judge.settings["ranges"]).T
    share = float(held.mean())
    ends = share + np.interp(share, at, low), share + np.interp(share, at, high)
    return {
        "posterior": held, "score": held, "suspected": suspected,
        "kind": np.where(~suspected, 0, np.where(foreign > wrong, 2, 1)),
        "suggested": evidence.beliefs[answers].argmax(axis=1),
        "sure": suspected & (held > judge.settings["sure"]),
        "confidence": evidence.probabilities[answers, label],
        "shares": {"total": (share, (max(0.0, float(ends[0])), min(1.0, float(ends[1]))))},
    }  # fmt: skip
