"""What a run's numbers look like on a terminal."""

import pytest

from graylearn.audit import KINDS
from graylearn.audit.kinds import shown_shares


def test_shares_add_up_to_all_of_the_samples():
    for counts in ((1761, 239, 0), (1829, 171, 0), (1997, 2, 1), (0, 1, 2), (3, 0, 0), (0, 0, 0)):
        shown = [f"{share:.1%}" for share in shown_shares(dict(zip(KINDS, counts, strict=True))).values()]
        assert sum(round(10 * float(share[:-1])) for share in shown) == (1000 if any(counts) else 0)
    assert shown_shares({"ok": 1761, "mislabelled": 239, "ood": 0})["ok"] == pytest.approx(0.881)
