"""`NodeSpec`: the one record in which columns, family, rows and prior of a child's regression meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.columns.base import Column, Columns
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.columns.rows import Rows
from alldags.errors import DataError
from alldags.families.base import Family
from alldags.nodes.build import NodeTerms, build
from alldags.nodes.data import WorkingData
from alldags.nodes.problem import NodeProblem
from alldags.nodes.rows import NodeRows
from alldags.priors.prior import Prior


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
    """

    terms: NodeTerms
    prior: Prior
    data: WorkingData

    @property
    def child(self) -> str:
        """Its name."""
        return self.terms.child

    @property
    def family(self) -> Family | None:
        """How the child depends on its predictor; None: normal noise around it, for which moments are enough."""
        return self.data.model(self.child).family

    @cached_property
    def columns(self) -> Columns:
        """A line for each cause that is a number, and the levels of each that is a category."""
        return straight_columns(self.terms.names, self.data)

    @cached_property
    def column_terms(self) -> NodeTerms:
        """The terms with one name for each column: a cause's probability is that of all its columns."""
        return spread_out(self.terms, self.data.categories)

    def problem(self) -> NodeProblem:
        """Return the regression that moments determine."""
        return build(self.data.of(self.child), self.column_terms, self.prior)

    def rows(self) -> NodeRows:
        """Return the rows of a child that moments do not determine."""
        family, table = self.family, self.data.table
        if family is None or table is None:
            raise DataError(f"the rows of {self.child!r} are not at hand")
        place = self.data.pooled.index[self.child]
        unit = float(self.data.scale[place])
        return NodeRows(self.child, family, self.columns, Rows(table), float(self.data.pooled.mean[place]) * unit, unit)


def straight_columns(causes: Sequence[str], data: WorkingData) -> Columns:
    """Return lines and levels for some causes, in working units."""
    made: list[Column] = []
    for name in causes:
        levels = data.categories.get(name)
        made += [Line(name)] if levels is None else [Level(column, name) for column in levels]
    places = [data.pooled.index[column.name] for column in made]
    scale = data.scale[places]
    return Columns(tuple(made), data.pooled.mean[places] * scale, scale, groups_of(causes, data.categories))


def groups_of(causes: Sequence[str], categories: Mapping[str, tuple[str, ...]]) -> tuple[int, ...] | None:
    """Return the number of the group of each column; None if no cause has several."""
    if categories.keys().isdisjoint(causes):
        return None
    return tuple(i for i, name in enumerate(causes) for _ in categories.get(name, (name,)))


def spread_out(terms: NodeTerms, categories: Mapping[str, tuple[str, ...]]) -> NodeTerms:
    """Return terms with one name for each column of a category."""
    groups = groups_of(terms.names, categories)
    if groups is None:
        return terms
    names = tuple(column for name in terms.names for column in categories.get(name, (name,)))
    probability = np.array(terms.probability)[list(groups)]
    raised = None if terms.raised is None else tuple(np.array(terms.raised)[list(groups)].tolist())
    return replace(terms, names=names, probability=tuple(probability.tolist()), raised=raised, groups=groups)
