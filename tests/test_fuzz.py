"""The bounded part of the fuzzing: hypothesis draws the damage.

The long part, a million cases, is `make fuzz`.
"""

import warnings

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_targets import ALLOWED, TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_ends_in_right_data_or_one_sentence(name, tmp_path):
    told = []
    case = TARGETS[name](tmp_path)

    @settings(
        max_examples=30,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # shrinking takes minutes: by hand
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False))
    def holds(random):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                case(random)
            except ALLOWED as error:
                told.append(str(error))

    holds()
    assert not any("\n" in sentence for sentence in told)
