"""Names and options: all are there, wrong ones are answered with a sentence."""

import numpy as np
import pytest

from graylearn.errors import SettingsError
from graylearn.methods import METHODS, Method, as_method, make_method


def test_options_reach_the_method():
    assert make_method("gce", q=0.5) == METHODS["gce"](q=0.5)
    assert make_method("gce", q=0.5) != make_method("gce")


def test_options_may_be_numbers_of_numpy():
    assert make_method("spl", warmup=np.int64(3)).warmup == 3
    assert make_method("gce", q=np.float32(0.5)).q == 0.5


def test_a_method_is_a_name_or_a_method():
    gray = make_method("gl")
    assert as_method(gray) is gray
    assert as_method("gl") == gray
    for wrong in (None, 3, type(gray)):
        with pytest.raises(SettingsError, match=r"use a name .*standard.* Mine\(\), not Mine"):
            as_method(wrong)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("glabel", {}, "there is no method 'glabel'; did you mean gl-label"),
        ("co-teaching", {"noiserate": 0.2}, "no option 'noiserate'; did you mean noise_rate?"),
        ("gce", {"q": 1.5}, "gce: q is 1.5, but must be a number from 0 to 1"),
        ("gce", {"q": 0}, "use the method 'standard'"),
        ("nlnl", {"selnl_from": 0.8}, "SelNL comes first"),
    ],
)
def test_what_cannot_be_is_answered_with_what_can(name, options, sentence):
    with pytest.raises(SettingsError) as error:
        make_method(name, **options)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_method_without_a_loss_says_so():
    with pytest.raises(TypeError, match="write loss"):
        Method().loss(None)


def test_a_user_registers_a_method_by_name(monkeypatch):
    class Mine(Method):
        pass

    monkeypatch.setitem(METHODS, "mine", Mine)
    assert isinstance(make_method("mine"), Mine)
