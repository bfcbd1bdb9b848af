"""Annotators in the payload: how good each is, how far they agree, and which samples to ask about again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graylearn.audit.annotators import MISSING
from graylearn.report.data import ReportData

ASKED, PEOPLE = 50, 500
"""Samples to ask about again, and annotators, that the page holds."""


def annotator_part(data: ReportData) -> dict[str, Any] | None:
    """The payload's part; None where there is one label a sample."""
    crowd = data.crowd
    if crowd is None:
        return None
    alpha, sure, whom = crowd.agreement, crowd.confidence, crowd.whom_to_ask
    asked = []
    for index in crowd.ask_again[:ASKED].tolist():
        given = np.flatnonzero(crowd.label[index] != MISSING)
        said = [
            [str(crowd.annotators[who]), str(crowd.classes[crowd.label[index, who]])] for who in given[:20]
        ]
        ask = None if whom[index] is None else str(whom[index])
        asked.append({"index": index, "sure": round(float(sure[index]), 4), "said": said, "ask": ask})
    people = [
        [
            str(row["annotator"]),
            int(row["labels"]),
            round(float(row["agrees"]), 4),
            round(float(row["quality"]), 4),
        ]
        for row in crowd.annotator_table.head(PEOPLE).to_dict("records")
    ]
    return {"agreement": None if math.isnan(alpha) else round(alpha, 4), "people": people, "ask": asked}
