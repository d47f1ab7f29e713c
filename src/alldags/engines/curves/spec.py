"""`CurvedSpec`: what a regression on derived columns is made from, and `Candidates`: the columns that it may have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.columns.products import Clipped, Given, OnArm, Times
from alldags.engines.curves.screen import screened
from alldags.families.base import Family
from alldags.graph.terms import ChildTerms, Terms
from alldags.nodes.rows import CountedRows
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray, IntArray

ITSELF = (Line, Level, OnArm)  # columns that are a cause and nothing else


@dataclass(frozen=True, eq=False)
class CurvedSpec:
    """What a regression on derived columns is made from.

    Parameters
    ----------
    child, family
        Its name, and how it depends on its predictor; None: normal noise around it.
    terms
        What is wanted.
    causes
        Candidate causes with their probabilities.
    raised
        What the link adds to the probability of each.
    treatment
        The treatment of the question, if it is a candidate cause or may act on one; else None.
    after
        Variables that the treatment may act on.
    rows
        Where rows are read.
    prior
        Of slab, noise and link.
    categories
        The columns that stand for each cause that is a category.
    mediators
        Causes whose products with the treatment are there whenever both are.
    present
        Which of treatment and mediators are there; None: that is averaged over.
    """

    child: str
    terms: ChildTerms
    causes: Mapping[str, float]
    treatment: str | None
    after: frozenset[str]
    rows: CountedRows
    prior: Prior
    family: Family | None = None
    raised: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mediators: tuple[str, ...] = ()
    present: frozenset[str] | None = None

    @property
    def mover(self) -> str | None:
        """The treatment, where it is a cause of the child and a number; else None."""
        found = self.treatment
        return found if found in self.causes and found not in self.categories else None

    def straight(self, name: str) -> list[Column]:
        """Return a cause itself: a line, or its levels."""
        levels = self.categories.get(name)
        return [Line(name)] if levels is None else [Level(column, name) for column in levels]

    def numbers(self, names: Iterable[str]) -> list[str]:
        """Return those of some causes that are numbers."""
        return [name for name in names if name not in self.categories]

    def bending(self, sample: RowValues) -> frozenset[str]:
        """Return the causes that may bend or modify an effect; of very many only the best, by some rows."""
        causes = [name for name in self.causes if name != self.mover]
        targets = [self.child] if self.mover is None else [self.child, self.mover]
        return screened(self.numbers(causes), targets, sample) | {name for name in causes if name in self.categories}

    def inputs(self, names: Iterable[str]) -> list[str]:
        """Return the columns of numbers that stand for some causes."""
        return [column for name in names for column in self.categories.get(name, (name,))]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The columns of a regression, K of them, which enter and leave in groups.

    Parameters
    ----------
    columns
        How each is made of a row.
    probability
        Prior probability, shape (K,); of further columns relative to each other, 1/2 where they are alike.
    raised
        What the link adds to it, shape (K,).
    further
        Which are no cause itself, and come on top of these, shape (K,).
    is_counted
        Whether few further columns are expected, however many there are; not where they were written down.
    modifies
        Which may be there again under treatment, shape (K,).
    mediating
        Which are the line of a mediator, shape (K,): it is there again under treatment, for sure.
    products
        Which are such a line times the treatment, shape (K,).
    """

    columns: tuple[Column, ...]
    probability: FloatArray
    raised: FloatArray
    further: BoolArray
    is_counted: bool
    modifies: BoolArray
    mediating: BoolArray
    products: BoolArray

    @cached_property
    def groups(self) -> IntArray:
        """Number of each column's group, shape (K,): the levels of a category are one, and so are their products."""
        runs = groupby(map(_together, enumerate(self.columns)))
        return np.array([number for number, (_, run) in enumerate(runs) for _ in run], dtype=np.int64)

    @cached_property
    def is_armed(self) -> bool:
        """Whether the first column is the arm of a yes/no treatment."""
        return bool(self.columns) and isinstance(self.columns[0], OnArm)

    @cached_property
    def modifying(self) -> BoolArray:
        """Which are another column times the treatment, and may be absent, shape (K,)."""
        times = np.array([isinstance(column, Times) for column in self.columns], dtype=bool)
        return np.asarray(times & ~self.products)

    def with_link(self, raised: FloatArray) -> Candidates:
        """Return them with further columns raised, shape (K,), as well."""
        return replace(self, raised=np.where(self.further, raised, self.raised))


def _together(item: tuple[int, Column]) -> object:
    """Return what neighbours have in common if they enter and leave as one."""
    place, column = item
    if isinstance(column, Times):
        inner = _together((place, column.column))
        return place if inner == place else (column.variable, inner)
    return ("levels", column.category) if isinstance(column, Level) else place


def candidates_of(spec: CurvedSpec, columns: tuple[Column, ...], bending: Collection[str]) -> Candidates:
    """Return columns with their prior: lines and levels have that of their edge, others come on top.

    Columns of the causes that are `bending` may act differently under treatment.
    """
    own = np.array([isinstance(column, ITSELF) for column in columns], dtype=bool)
    counted = isinstance(spec.terms, Terms) and spec.prior.edges is None
    probability = [_probability(spec, column, counted) for column in columns]
    raised = np.array([spec.raised.get(column.variables[0], 0.0) for column in columns])
    free = {*bending, spec.mover}
    modifies = np.array([free.issuperset(column.variables) for column in columns], dtype=bool)
    raised = np.where(own, raised, 0.0)
    lines = [isinstance(column, Line) and column.variable in spec.mediators for column in columns]
    pairs = [(one, name) for one in spec.straight(str(spec.treatment)) for name in spec.mediators]
    products = np.array([any(is_product(column, *pair) for pair in pairs) for column in columns], dtype=bool)
    further = ~own & ~products & counted
    mediating = np.array(lines, dtype=bool)
    return Candidates(columns, np.array(probability), raised, further, counted, modifies, mediating, products)


def is_product(column: Column, own: Column, mediator: str) -> bool:
    """Tell whether a column is that of a mediator's line times one of the treatment, a line or a level."""
    if isinstance(column, Times):
        return (column.column, column.variable) in ((Line(mediator), own.name), (own, mediator))
    return isinstance(column, Clipped) and (column.first, column.second) == (own.name, mediator)


def _probability(spec: CurvedSpec, column: Column, counted: bool) -> float:
    """Return the stated probability: a line's is its edge's, that of a term its own or its least probable cause's.

    Where a cause is certain its line is; whether it is bent is open, unless that was said.
    """
    if isinstance(column, Given) and column.term.probability is not None:
        return column.term.probability
    stated = [spec.causes[name] for name in column.variables if name in spec.causes]
    if isinstance(column, ITSELF):
        return stated[0]
    return 0.5 if counted else min((p for p in stated if p < 1.0), default=0.5)
