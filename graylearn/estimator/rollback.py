"""A fit that does not come to its end leaves the classifier as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Model = TypeVar("Model")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def all_or_nothing(
    method: Callable[Concatenate[Model, Given], Answer],
) -> Callable[Concatenate[Model, Given], Answer]:
    """Undo what a method has set on its object where an error or Ctrl-C ends it.

    Else a second fit that is cut short would leave the classes of one fit beside the network of another.
    What the method changes inside those values, such as weights trained in place, stays changed.
    """

    @wraps(method)
    def whole(self: Model, /, *given: Given.args, **options: Given.kwargs) -> Answer:
        values: dict[str, Any] = vars(self)
        before = dict(values)
        try:
            return method(self, *given, **options)
        except BaseException:
            values.clear()
            values.update(before)
            raise

    return whole
