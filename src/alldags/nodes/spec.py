"""`NodeSpec`: the one record in which columns, family, rows and prior of a child's regression meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from alldags.columns.base import Column, Columns
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.errors import DataError
from alldags.families.base import Family
from alldags.graph.terms import ChildTerms
from alldags.nodes.build import NodeTerms, build, column_terms
from alldags.nodes.data import WorkingData
from alldags.nodes.problem import NodeProblem
from alldags.nodes.rows import CountedRows, NodeRows, predictor_names
from alldags.nodes.stacked import repeated, stacked_problem
from alldags.priors.prior import Prior


class Present(NamedTuple):
    """Which of a treatment and some mediators act on a child, and the probability of just these."""

    causes: frozenset[str]
    share: float


class About(NamedTuple):
    """What is asked about; nothing for a node by itself.

    Parameters
    ----------
    treatment, after
        A treatment, and all that it may act on.
    mediators
        Causes whose products with the treatment are there whenever both act on the child.
    present
        Which of treatment and mediators act on it, as found without products, whose evidence is not asked.
    """

    treatment: str | None = None
    after: frozenset[str] = frozenset()
    mediators: tuple[str, ...] = ()
    present: tuple[Present, ...] = ()


NOTHING = About()


@dataclass(frozen=True, eq=False)
class NodeSpec:
    """What one child's regression is made of.

    Parameters
    ----------
    terms
        The child, its candidate causes and their probabilities, and what a link adds to these.
    prior
        Of the node.
    data
        Moments of the child's rows, the rows themselves, and how each child is regressed.
    about
        The question that it is fitted for: columns that are derived depend on it.
    """

    terms: NodeTerms
    prior: Prior
    data: WorkingData
    about: About = NOTHING

    @property
    def child(self) -> str:
        """Its name."""
        return self.terms.child

    @property
    def family(self) -> Family | None:
        """How the child depends on its predictor; None: normal noise around it, for which moments are enough."""
        return self.data.model(self.child).family

    @property
    def wanted(self) -> ChildTerms | None:
        """What the regression may be made of beside straight lines; None for nothing."""
        found = self.data.model(self.child).terms
        return () if found is None and self.about.mediators else found

    @property
    def is_plain(self) -> bool:
        """Whether moments determine it: straight lines with normal noise."""
        return self.family is None and self.wanted is None

    @cached_property
    def columns(self) -> Columns:
        """A line for each cause that is a number, and the levels of each that is a category."""
        return straight_columns(self.terms.names, self.data)

    @cached_property
    def column_terms(self) -> NodeTerms:
        """The terms with one name for each column: a cause's probability is that of all its columns."""
        return column_terms(self.terms, self.data.categories)

    @property
    def coefficient_terms(self) -> NodeTerms:
        """The same, once for each predictor of the family, if there are several."""
        count = 1 if self.family is None else self.family.predictors
        return self.column_terms if count == 1 else repeated(self.column_terms, predictor_names(count))

    def problem(self) -> NodeProblem:
        """Return the regression that moments determine."""
        rows, columns = self.data.of(self.child), self.data.categories.get(self.child)
        if columns is not None:
            return stacked_problem(rows, self.column_terms, columns, self.prior)
        return build(rows, self.column_terms, self.prior)

    @property
    def table(self) -> RowTable:
        """The rows of all variables."""
        if self.data.table is None:
            raise DataError(f"the regression of {self.child!r} needs rows, which are not here; pass the table itself")
        return self.data.table

    def rows(self, family: Family) -> NodeRows:
        """Return the rows of a child that has a family; refused where it does not vary in them."""
        if family.takes_levels:
            return NodeRows(CountedRows(self.child, Rows(self.table)), family, self.columns)
        self.data.of(self.child)
        place = self.data.pooled.index[self.child]
        unit = float(self.data.scale[place])
        center = float(self.data.pooled.mean[place]) * unit
        return NodeRows(CountedRows(self.child, Rows(self.table)), family, self.columns, center, unit)


def straight_columns(causes: Sequence[str], data: WorkingData) -> Columns:
    """Return lines and levels for some causes, in working units."""
    made: list[Column] = []
    for name in causes:
        levels = data.categories.get(name)
        made += [Line(name)] if levels is None else [Level(column, name) for column in levels]
    places = [data.pooled.index[column.name] for column in made]
    scale = data.scale[places]
    return Columns(tuple(made), data.pooled.mean[places] * scale, scale)
