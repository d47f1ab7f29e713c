"""Names of variables at earlier steps: ``price[-1]`` is the price one step before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_PAST = re.compile(r"(.+)\[-([1-9]\d*)\]", re.DOTALL)


class At(NamedTuple):
    """A variable, and how many steps ago."""

    name: str
    lag: int


def at(column: str) -> At:
    """Return which variable a column is, and how many steps ago.

    Examples
    --------
    >>> from alldags.steps import at
    >>> at("price[-2]"), at("price").lag
    (At(name='price', lag=2), 0)
    """
    found = _PAST.fullmatch(column)
    return At(column, 0) if found is None else At(found[1], int(found[2]))


def past(name: str, lag: int) -> str:
    """Return the name of a variable so many steps ago.

    Examples
    --------
    >>> from alldags.steps import past
    >>> past("price", 1), past("price", 0)
    ('price[-1]', 'price')
    """
    return f"{name}[-{lag}]" if lag else name


def lags_of(variables: Iterable[str]) -> int:
    """Return the largest number of steps back that any of some columns is."""
    return max((at(name).lag for name in variables), default=0)


def current(variables: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the present step."""
    return tuple(name for name in variables if not at(name).lag)
