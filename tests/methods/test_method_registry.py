"""Names and options: all are there, wrong ones are answered with a sentence."""

import dataclasses

import numpy as np
import pytest

from graylearn.errors import SettingsError
from graylearn.methods import METHODS, Method, as_method, make_method

NAMES = [
    *("standard", "mae", "bt", "bt-hard", "spl", "spld", "il", "il-lite", "sl", "nl"),
    *("nlnl", "srcc", "lcvd", "gce", "co-teaching", "decoupling", "mentornet-pd"),
    *("oe", "isomax", "prior-network", "confident"),
    *("standard+nl", "gl", "gl-label", "gl-relative", "gl-history", "choose"),
]


def test_every_method_of_the_paper_and_its_neighbours_is_registered():
    assert list(METHODS)[: len(NAMES)] == NAMES
    for name in NAMES:
        assert isinstance(make_method(name), Method)
        assert dataclasses.is_dataclass(METHODS[name])


def test_defaults_are_those_of_the_definitions():
    expected = {
        "bt": {"beta": 0.95},
        "bt-hard": {"beta": 0.8},
        "spl": {"share": 0.5, "growth": 1.3, "released": False},
        "il": {"first": 5, "every": 10, "neighbours": 2000, "suspect": 0.5, "margin": 1.0},
        "sl": {"log_zero": -4.0},
        "nl": {"sampled": False},
        "nlnl": {"window": 10, "threshold": 0.5, "sampled": True},
        "lcvd": {"beta": 1.0, "blended": 20},
        "oe": {"weight": 0.5},
        "isomax": {"scale": 10.0},
        "prior-network": {"concentration": 100.0, "weight": 1.0},
        "gl": {"confidence": "max"},
        "gl-label": {"confidence": "label"},
        "gl-relative": {"confidence": "relative"},
        "gl-history": {"power": 2.0},
        "choose": {"begin": 0.15, "momentum": 0.9, "sharpness": 2.0},
        "gce": {"q": 0.7},
        "co-teaching": {"ramp": 10},
        "mentornet-pd": {"burn_in": 0.18},
    }
    for name, options in expected.items():
        made = dataclasses.asdict(make_method(name))
        assert {option: made[option] for option in options} == options, name


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
        ("SPL", {}, "did you mean spl"),
        ("zzz", {}, "the methods are standard, mae, bt"),
        ("co-teaching", {"noiserate": 0.2}, "no option 'noiserate'; did you mean noise_rate?"),
        ("sl", {"gamma": 1}, "no option 'gamma'; its options are alpha, beta, log_zero"),
        ("gce", {"power": 1}, "no option 'power'; its options are q"),
        ("standard", {"q": 1}, "the method 'standard' has no option 'q'; it has no options"),
        ("gce", {"q": 1.5}, "gce: q is 1.5, but must be a number from 0 to 1"),
        ("gce", {"q": "0.7"}, "gce: q is '0.7', but must be a number"),
        ("gce", {"q": 0}, "use the method 'standard'"),
        ("gl", {"confidence": "mean"}, "gl: confidence is 'mean', but must be 'max' or 'label'"),
        ("spl", {"warmup": 0}, "spl: warmup is 0, but must be a whole number of at least 1"),
        ("spl", {"growth": 0.9}, "spl: growth is 0.9, but must be a number of at least 1"),
        ("il", {"every": 2.5}, "il: every is 2.5, but must be a whole number"),
        ("nlnl", {"selnl_from": 0.8}, "SelNL comes first"),
        ("bt", {"beta": float("nan")}, "bt: beta is nan"),
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
