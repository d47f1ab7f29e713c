"""Checks of single arguments: each returns the value in its plain type, or says what is wrong with it.

Every function takes the name by which the user knows the argument, the value, and the error class to raise.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import TypeGuard

from alldags.errors import AlldagsError

_LARGEST = 1e100


def is_number(value: object) -> TypeGuard[float]:
    """Say whether a value is a real number; True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Say whether a value is a whole number in kind, not only in size: 2.0 is not, and neither is True."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def finite(name: str, value: object, error: type[AlldagsError] = AlldagsError) -> float:
    """Return a finite number."""
    if not is_number(value) or not math.isfinite(value):
        raise error(f"{name} must be a finite number, got {value!r}")
    return float(value)


def positive(name: str, value: object, error: type[AlldagsError] = AlldagsError) -> float:
    """Return a finite number above zero, whose square and inverse are such numbers, too."""
    if not is_number(value) or not (math.isfinite(value) and value > 0):
        raise error(f"{name} must be a positive finite number, got {value!r}")
    if not 1.0 / _LARGEST <= float(value) <= _LARGEST:
        raise error(f"{name} must be between {1.0 / _LARGEST:g} and {_LARGEST:g} to be computed with, got {value!r}")
    return float(value)


def not_negative(name: str, value: object, error: type[AlldagsError] = AlldagsError) -> float:
    """Return zero or a finite number above it, whose square is finite, too."""
    if not is_number(value) or not (math.isfinite(value) and value >= 0):
        raise error(f"{name} must be zero or a positive finite number, got {value!r}")
    if float(value) > _LARGEST:
        raise error(f"{name} must be at most {_LARGEST:g} to be computed with, got {value!r}")
    return float(value)


def above(name: str, value: object, least: float, error: type[AlldagsError] = AlldagsError) -> float:
    """Return a finite number above `least`, whose square is finite, too."""
    if not is_number(value) or not (math.isfinite(value) and value > least):
        raise error(f"{name} must be a finite number above {least:g}, got {value!r}")
    if float(value) > _LARGEST:
        raise error(f"{name} must be at most {_LARGEST:g} to be computed with, got {value!r}")
    return float(value)


def inside(name: str, value: object, low: float, high: float, error: type[AlldagsError] = AlldagsError) -> float:
    """Return a number strictly between `low` and `high`."""
    if not is_number(value) or not low < value < high:
        raise error(f"{name} must be strictly between {low:g} and {high:g}, got {value!r}")
    return float(value)


def whole(
    name: str, value: object, least: int, most: int | None = None, error: type[AlldagsError] = AlldagsError
) -> int:
    """Return a whole number of at least `least` and, if given, at most `most`."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise error(f"{name} must be a whole number {limits}, got {value!r}")
    return int(value)


def flag(name: str, value: object, error: type[AlldagsError] = AlldagsError) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise error(f"{name} must be True or False, got {value!r}")
    return value


def one_of(name: str, value: object, choices: Sequence[str], error: type[AlldagsError] = AlldagsError) -> str:
    """Return one of the words allowed."""
    if value not in choices:
        raise error(f"{name} must be one of {tuple(choices)}, got {value!r}")
    return str(value)


def kind(name: str, value: object, classes: tuple[type, ...], error: type[AlldagsError] = AlldagsError) -> None:
    """Check that a value is an object of one of the classes."""
    if not isinstance(value, classes):
        names = [f"{one.__name__}(...)" for one in classes]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
        raise error(f"{name} must be {listed}, got {value!r}")
