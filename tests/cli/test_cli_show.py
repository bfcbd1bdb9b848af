"""What a run's numbers look like on a terminal."""

import pytest

from graylearn.audit import KINDS
from graylearn.audit.shares import shown_shares
from graylearn.cli.show import _estimated, _range


def summary(suspected, ood, mislabelled, most):
    return {
        "suspected": suspected,
        "contamination": {"ood": ood, "mislabelled": mislabelled, "total": (ood or 0) + (mislabelled or 0)},
        "ranges": dict.fromkeys(("ood", "mislabelled", "total"), (0.0, most)),
    }


def test_shares_are_told_whether_anything_is_flagged_or_not():
    nothing = summary(0, 0.004, 0.02, 0.123)
    assert [_estimated(nothing, kind) for kind in ("ok", "mislabelled", "ood")] == ["", "2.0%", "0.4%"]
    assert _range(nothing) == "estimated in all: 2.4%, 90% range 0.0% to 12.3%"
    few = summary(0, None, None, 0.0) | {"ranges": {}}
    assert _estimated(few, "ood") == "not judged"
    assert _range(few) is None


def test_shares_add_up_to_all_of_the_samples():
    for counts in ((1761, 239, 0), (1829, 171, 0), (1997, 2, 1), (0, 1, 2), (3, 0, 0), (0, 0, 0)):
        shown = [f"{share:.1%}" for share in shown_shares(dict(zip(KINDS, counts, strict=True))).values()]
        assert sum(round(10 * float(share[:-1])) for share in shown) == (1000 if any(counts) else 0)
    assert shown_shares({"ok": 1761, "mislabelled": 239, "ood": 0})["ok"] == pytest.approx(0.881)
