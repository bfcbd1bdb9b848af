"""What a run's numbers look like on a terminal."""

from graylearn.cli.show import _estimated


def summary(suspected, ood, mislabelled, most):
    return {
        "suspected": suspected,
        "contamination": {"ood": ood, "mislabelled": mislabelled},
        "ranges": {"ood": (0.0, most), "mislabelled": (0.0, most)},
    }


def test_where_nothing_is_flagged_the_range_is_said_once():
    nothing = summary(0, 0.0, 0.0, 0.123)
    assert [_estimated(nothing, kind) for kind in ("ok", "mislabelled", "ood")] == [
        "",
        "0 to 12.3%",
        "in that",
    ]
    assert _estimated(summary(0, 0.0, 0.0, 0.0), "ood") == "0.0%"
    assert _estimated(summary(5, 0.0, 0.05, 0.1), "ood") == "0.0%"
