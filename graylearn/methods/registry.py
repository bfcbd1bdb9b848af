"""Every method by name, and the way from a name and options to a method."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from graylearn.errors import SettingsError
from graylearn.methods.base import Method
from graylearn.methods.bt import Bootstrap, HardBootstrap
from graylearn.methods.co_teaching import CoTeaching
from graylearn.methods.decoupling import Decoupling
from graylearn.methods.gce import Generalized
from graylearn.methods.gl import Gray, GrayLabel, GrayRelative
from graylearn.methods.il import Iterative
from graylearn.methods.il_lite import IterativeLite
from graylearn.methods.lcvd import CrossClassVicinity
from graylearn.methods.mae import MAE
from graylearn.methods.mentornet import MentorNetPD
from graylearn.methods.nl import Negative
from graylearn.methods.nlnl import NegativePositive
from graylearn.methods.sl import Symmetric
from graylearn.methods.spl import SelfPaced
from graylearn.methods.spld import DiverseSelfPaced
from graylearn.methods.srcc import SelfReweighting
from graylearn.methods.standard import Standard
from graylearn.methods.standard_nl import StandardNegative

METHODS: dict[str, Callable[..., Method]] = {
    "standard": Standard,
    "mae": MAE,
    "bt": Bootstrap,
    "bt-hard": HardBootstrap,
    "spl": SelfPaced,
    "spld": DiverseSelfPaced,
    "il": Iterative,
    "il-lite": IterativeLite,
    "sl": Symmetric,
    "nl": Negative,
    "nlnl": NegativePositive,
    "srcc": SelfReweighting,
    "lcvd": CrossClassVicinity,
    "gl": Gray,
    "gl-label": GrayLabel,
    "gl-relative": GrayRelative,
    "standard+nl": StandardNegative,
    "gce": Generalized,
    "co-teaching": CoTeaching,
    "decoupling": Decoupling,
    "mentornet-pd": MentorNetPD,
}
"""What makes a method, by its name; add your own with METHODS["name"] = YourMethod."""


def make_method(name: str, **options: Any) -> Method:
    """The method called `name` with these options: make_method("sl", alpha=0.1, beta=1.0)."""
    if name not in METHODS:
        raise SettingsError(
            f"there is no method {name!r}; {_nearest(name, list(METHODS), 'the methods are')}"
        )
    known = list(inspect.signature(METHODS[name]).parameters)
    for option in options:
        if option not in known:
            hint = _nearest(option, known, "its options are") if known else "it has no options"
            raise SettingsError(f"the method {name!r} has no option {option!r}; {hint}")
    return METHODS[name](**options)


def as_method(given: str | Method) -> Method:
    """The method that a name stands for, or the one that was given."""
    if isinstance(given, str):
        return make_method(given)
    if not isinstance(given, Method):
        raise SettingsError(
            f"method is {given!r}: use a name ({', '.join(METHODS)}) or what make_method gives"
        )
    return given


def _nearest(wrong: str, right: list[str], otherwise: str) -> str:
    """The names close to a mistyped one, or all of them where none is."""
    lower = {name.lower(): name for name in right}
    close = [lower[name] for name in difflib.get_close_matches(str(wrong).lower(), list(lower))]
    return f"did you mean {' or '.join(close)}?" if close else f"{otherwise} {', '.join(right)}"
