"""What a run's numbers look like on a terminal."""

from collections import Counter
from pathlib import Path

import pytest

from graylearn.audit import KINDS
from graylearn.audit.shares import shown_shares
from graylearn.cli.show import _estimated, show_predictions, show_run
from graylearn.runs.predict import Answered


def summary(suspected, ood, mislabelled, most):
    return {
        "suspected": suspected,
        "contamination": {"ood": ood, "mislabelled": mislabelled},
        "ranges": {"ood": (0.0, most), "mislabelled": (0.0, most)},
    }


def test_where_nothing_is_flagged_the_range_is_said_once():
    nothing = summary(0, None, None, 0.123)
    assert [_estimated(nothing, kind) for kind in ("ok", "mislabelled", "ood")] == [
        "",
        "at most 12.3%",
        "included above",
    ]
    assert _estimated(summary(0, 0.0, 0.0, 0.0), "ood") == "0.0%"
    assert _estimated(nothing | {"ranges": {}}, "ood") == "not judged"
    assert _estimated(summary(5, None, 0.05, 0.1), "ood") == "at most 10.0%"


def test_shares_add_up_to_all_of_the_samples():
    for counts in ((1761, 239, 0), (1829, 171, 0), (1997, 2, 1), (0, 1, 2), (3, 0, 0), (0, 0, 0)):
        shown = [f"{share:.1%}" for share in shown_shares(dict(zip(KINDS, counts, strict=True))).values()]
        assert sum(round(10 * float(share[:-1])) for share in shown) == (1000 if any(counts) else 0)
    assert shown_shares({"ok": 1761, "mislabelled": 239, "ood": 0})["ok"] == pytest.approx(0.881)


def test_what_comes_next_is_said_and_the_range_of_what_was_found(capsys):
    nothing = {
        "data": "rows.csv",
        "samples": 100,
        "classes": 2,
        "found": {"ok": 100, "mislabelled": 0, "ood": 0},
        "suspected": 0,
        "contamination": {"ood": None, "mislabelled": None, "total": None},
        "ranges": {},
        "notes": [],
        "worst": [],
        "look_first": 12,
        "first": [{"id": "7", "label": "a", "likeliest": "b", "score": 0.9}],
        "id_word": "line",
        "test": {},
        "report": "run/report.html",
        "run": "run",
        "model": None,
        "next": "graylearn apply run",
    }
    show_run(nothing)
    told = capsys.readouterr().out
    assert "next    open the report and look at the first 12 by score" in told
    wordy = nothing["first"][0] | {"label": "begins" + "x" * 3000 + "ends", "id": "i" * 200}
    show_run(nothing | {"first": [wordy]})
    told_shortly = capsys.readouterr().out
    assert "begins" in told_shortly
    assert "ends" in told_shortly
    assert (told_shortly.count("x") < 100, told_shortly.count("i") > 200) == (True, True)
    show_run(nothing | {"look_first": 1})
    assert "look at the first by score, at its top" in capsys.readouterr().out
    assert "not flagged" in told
    assert " ok " not in told  # which would read as clean
    assert "first by score, none of them flagged" in told
    assert "likeliest" in told
    assert "range" not in told
    found = {
        "found": {"ok": 81, "mislabelled": 19, "ood": 0},
        "suspected": 19,
        "sure": 4,
        "contamination": {"ood": None, "mislabelled": 0.193, "total": 0.193},
        "ranges": {"total": (0.116, 0.229)},
        "first": [],
        "worst": [
            {"id": "7", "label": "a", "kind": "mislabelled", "suggested": "b", "resembles": "b", "score": 0.9}
        ],
    }
    show_run(nothing | found | {"id_word": "no. [red]"})
    told = capsys.readouterr().out
    assert "19 suspects: 4 sure, 15 for review" in told
    assert "no. [red]" in told  # the user's column, whatever it is called
    assert "estimated in all: 19.3%, 90% range 11.6% to 22.9%" in told
    assert "next    open the report and decide, then graylearn apply run" in told


def test_one_sample_is_told_as_one(capsys):
    show_predictions(Answered(1, Counter(["cat"])), Path("p.csv"))
    assert capsys.readouterr().out.split()[:2] == ["1", "sample"]
