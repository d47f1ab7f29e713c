"""`World`: what is set, and in which worlds variables read their causes.

A cause that is read in another world makes nested counterfactuals: the outcome if the treatment were 1, and the
mediator what it would be if the treatment were 0, is::

    before = World({"t": Value(0.0)})
    World({"t": Value(1.0)}, reads={"y": {"m": before}})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from alldags.answers.comparison import Comparison
from alldags.answers.push import PushedRows
from alldags.errors import AlldagsError
from alldags.graph.candidate import CandidateGraph
from alldags.typing import FloatArray


class Setting(Protocol):
    """What a variable is set to."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The variables whose values in the same world it depends on."""

    def values(self, rows: PushedRows, column: str, value: Callable[[str], FloatArray]) -> FloatArray:
        """Return what a column of the variable is set to, in the user's units, shape (rows, 1) or (rows, draws).

        Parameters
        ----------
        rows
            The rows.
        column
            The variable's name, or one of the columns of a category.
        value
            Returns the value of a column in this world, shape (rows, 1) or (rows, draws).
        """


@dataclass(frozen=True, eq=False)
class World:
    """What is set, and in which worlds variables read their causes.

    Parameters
    ----------
    settings
        What is set, by variable.
    reads
        For some variables, the world in which each of some causes is read; all others are read in this one.
    afresh
        Whether all that follows from what is set has the noise of other rows, by lot, in place of the row's own.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    reads: Mapping[str, Mapping[str, World]] = field(default_factory=dict)
    afresh: bool = False

    def of(self, name: str, cause: str) -> World:
        """Return the world in which a variable reads one of its causes."""
        return self.reads.get(name, {}).get(cause, self)

    def all(self) -> set[World]:
        """Return this world and all that are read in it."""
        found = {self}
        for others in self.reads.values():
            for other in others.values():
                if other not in found:
                    found |= other.all()
        return found


AS_IT_IS = World()


@dataclass(frozen=True)
class Value:
    """The same value in every row: a number in the user's units, or the place of a category's level."""

    value: float
    reads: tuple[str, ...] = ()

    def values(self, rows: PushedRows, column: str, value: Callable[[str], FloatArray]) -> FloatArray:
        del value
        for name, columns in rows.data.categories.items():
            if column in columns:
                level = float(rows.data.level_columns(name, self.value)[columns.index(column)])
                return np.full((rows.count, 1), level)
        return np.full((rows.count, 1), self.value)


@dataclass(frozen=True)
class Shift:
    """The row's own value, and so much more."""

    by: float
    reads: tuple[str, ...] = ()

    def values(self, rows: PushedRows, column: str, value: Callable[[str], FloatArray]) -> FloatArray:
        del value
        return np.asarray(rows.rows.values[column][:, None] + self.by)


@dataclass(frozen=True)
class Stays:
    """The row's own value."""

    reads: tuple[str, ...] = ()

    def values(self, rows: PushedRows, column: str, value: Callable[[str], FloatArray]) -> FloatArray:
        del value
        return rows.rows.values[column][:, None]


def both_worlds(treatment: str, comparison: Comparison) -> tuple[World, World]:
    """Return the worlds in which a treatment has its low and its high value."""
    if comparison.low is None or comparison.high is None:
        return World({treatment: Stays()}), World({treatment: Shift(1.0)})
    return World({treatment: Value(comparison.low)}), World({treatment: Value(comparison.high)})


def moved_nodes(graph: CandidateGraph, worlds: Iterable[World], outcome: str) -> tuple[str, ...]:
    """Return the nodes whose draws are needed for an outcome in some worlds, causes first; the outcome among them."""
    everywhere = set().union(*(world.all() for world in worlds))
    below = set[str]()
    for world in everywhere:
        for name in world.settings:
            below |= graph.descendants(name)
    wanted = {outcome}
    for world in everywhere:
        for setting in world.settings.values():
            for name in setting.reads:
                wanted |= {name, *graph.ancestors(name)}
    wanted |= graph.ancestors(outcome)
    return tuple(name for name in graph.order if name == outcome or (name in below and name in wanted))


def check_arms(worlds: Iterable[World], variable: str, arms: FloatArray | None) -> None:
    """Refuse values of a treatment with two arms that it does not have: its curves know these two alone."""
    for setting in () if arms is None else (world.settings.get(variable) for world in worlds):
        assert arms is not None
        if isinstance(setting, Shift) and setting.by != 0.0:
            raise no_such_arm(variable, arms, f"a shift by {setting.by:g}")
        if isinstance(setting, Value) and setting.value not in arms:
            raise no_such_arm(variable, arms, f"{setting.value:g}")


def no_such_arm(variable: str, arms: FloatArray, asked: str) -> AlldagsError:
    """Return the error that a treatment with two values has no other."""
    levels = " and ".join(f"{x:g}" for x in arms.tolist())
    return AlldagsError(f"{variable!r} has the values {levels}; nothing shows what {asked} would do, ask for these")
