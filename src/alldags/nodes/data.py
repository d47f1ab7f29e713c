"""`WorkingData`: the moments each child's regression is made of, in working units."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.levels import Levels, categories_of
from alldags.data.look import ColumnLook, constant_columns
from alldags.data.record import MomentsRecord
from alldags.data.rows import RowGroups
from alldags.data.seen import Seen
from alldags.errors import DataError, did_you_mean
from alldags.families.base import Family
from alldags.graph.terms import ChildTerms
from alldags.nodes.intercepts import Variant, variants
from alldags.priors.prior import Prior
from alldags.typing import FloatArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.nodes.posterior import NodePosterior

_FEW_ROWS, _FEW_IN_ARM = 40, 20  # below, curves are not looked for unasked
_NO_NOISE = 1e-9  # of a child's variance, left within arms
_ALIKE = 1.0 - 1e-9  # correlation from which on one is a multiple of the other


@dataclass(frozen=True, eq=False)
class ChildData:
    """Moments of the rows of one child's regression, in working units.

    Parameters
    ----------
    names
        The variables, m of them.
    scatter
        Cross-products, shape (m, m); centred if there is an intercept.
    mean
        Shape (m,); zeros without intercept.
    n
        Number of rows, less one if there is an intercept, or what fixed effects take.
    rows
        Number of rows.
    variants
        The same where units have intercepts that vary at random: cross-products for each variance of them.
    """

    names: tuple[str, ...]
    scatter: FloatArray
    mean: FloatArray
    n: float
    rows: float
    variants: tuple[Variant, ...] = ()

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.names)}

    def tempered(self, factor: float) -> ChildData:
        """Return the moments as if there were `factor` times as many rows."""
        taken = self.rows - self.n  # by the intercept, or by fixed effects
        return replace(self, scatter=self.scatter * factor, rows=self.rows * factor, n=self.rows * factor - taken)


@dataclass(frozen=True)
class ChildModel:
    """How one child is regressed on its causes, where that is not a straight line with normal noise.

    Parameters
    ----------
    family
        How it depends on its predictor; None: normal noise around it.
    terms
        What the predictor may be made of beside straight lines; None for nothing.
    """

    family: Family | None = None
    terms: ChildTerms | None = None


class TraitsOfUnits(Protocol):
    """What is lasting about units, found for all variables at once."""

    @property
    def children(self) -> tuple[str, ...]:
        """The variables that it is found for."""

    @property
    def without_traits(self) -> dict[tuple[str, str], tuple[float, float]] | None:
        """Mode and sd of each coefficient, in the user's units, without assuming anything of traits."""

    def node(self, spec: Any) -> NodePosterior:
        """Return the posterior of one variable's regression."""


@dataclass(frozen=True, eq=False)
class WorkingData:
    """What the regressions of one fit are made of: units common to all, and each child's own rows.

    Parameters
    ----------
    pooled
        Moments of all rows.
    scale
        User's units per working unit of each variable, shape (m,).
    own
        Moments of the children whose regression has other rows than all of them; None where there is no such row.
    unset
        Returns the moments of the rows that show what acts on some variables; None if that is always all rows.
    was_set
        The variables that were set from outside in some rows.
    children
        The children that are not straight lines with normal noise.
    table
        The rows that they are made from; None if there is none.
    on_demand
        Whether curves are looked for only on the way of an effect that is asked for (``terms="auto"``).
    levels
        Of columns of words; one with more than two has several columns among those of `pooled`.
    seen
        The table as it was read, for notes about likely mistakes in it.
    like
        The rows of the first of several completed tables, if this is another of them: its regressions are much alike.
    filled
        The columns in which several completed tables differ.
    errors
        Of variables that are measured with error, its share of their variance; moments are those without it.
    traits
        What is lasting about units, found for all variables at once; None without it.
    """

    pooled: ChildData
    scale: FloatArray
    own: Mapping[str, ChildData | None] = field(default_factory=dict)
    unset: Callable[[Collection[str]], ChildData | None] | None = None
    was_set: frozenset[str] = frozenset()
    children: Mapping[str, ChildModel] = field(default_factory=dict)
    table: RowTable | None = None
    on_demand: bool = False
    levels: Mapping[str, Levels] = field(default_factory=dict)
    seen: Seen | None = field(default=None, repr=False)
    like: RowTable | None = field(default=None, repr=False)
    filled: frozenset[str] = frozenset()
    errors: Mapping[str, float] = field(default_factory=dict)
    traits: TraitsOfUnits | None = field(default=None, repr=False)

    def of(self, child: str) -> ChildData:
        """Return the moments that this child's regression is made of."""
        data = self.own.get(child, self.pooled)
        if data is None:
            raise DataError(
                f"{child!r} was set in every row (or was the same in all others), so nothing shows what acts on it; "
                f"leave out the edges into it with {option('randomized', child)}"
            )
        return data

    @cached_property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The columns, among those of `pooled`, that stand for each variable that is a category."""
        return categories_of(self.levels)

    def level_columns(self, category: str, level: float) -> FloatArray:
        """Return what the columns of a category are at one of its levels, given by its place, shape (columns,)."""
        return np.asarray(self.levels[category].values[int(level)])

    def move(self, category: str, change: FloatArray) -> FloatArray:
        """Return a change of the columns of a category in working units, shape (columns,)."""
        return np.asarray(change / self.scale[[self.pooled.index[name] for name in self.categories[category]]])

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of some variables: their own, or those of a category."""
        return tuple(column for name in names for column in self.categories.get(name, (name,)))

    def knows(self, child: str) -> bool:
        """Whether there are rows that show what acts on a variable."""
        return self.own.get(child, self.pooled) is not None

    def look(self, name: str) -> ColumnLook:
        """Return what a variable looks like in the table as it was read or, where that is not kept, by its moments."""
        if self.seen is not None:
            return self.seen.look(name)
        pooled, place = self.pooled, self.pooled.index[name]
        mean, total = pooled.mean * self.scale, pooled.scatter[place, place] * self.scale[place] ** 2
        return ColumnLook(name, pooled.rows, float(mean[place]), float(total) / pooled.rows)

    def undisturbed(self, names: Collection[str]) -> ChildData | None:
        """Return the moments of the rows in which none of these variables was set; None if there are none."""
        return self.pooled if self.unset is None else self.unset(names)

    def tempered(self, factor: float) -> WorkingData:
        """Return the data as if `factor` times as many rows of the same kind had been seen."""
        own = {child: data and data.tempered(factor) for child, data in self.own.items()}
        unset = self.unset and partial(_tempered_rows, self.unset, factor)
        return replace(self, pooled=self.pooled.tempered(factor), own=own, unset=unset)

    @cached_property
    def straight(self) -> WorkingData:
        """The same data with straight lines through all children; tails stay as heavy as they are."""
        if not (self.families or self.curved):
            return self
        return replace(self, children={name: ChildModel(family) for name, family in self.heavy.items()})

    @cached_property
    def unbent(self) -> WorkingData:
        """The same data with straight predictors of all children, of whatever family."""
        if not self.curved:
            return self
        return replace(
            self, children={name: ChildModel(one.family) for name, one in self.children.items() if one.family}
        )

    @cached_property
    def everywhere(self) -> WorkingData:
        """The same data with curves in all children that may have them, whether or not an effect was asked for."""
        return replace(self, on_demand=False) if self.on_demand else self

    def about(self, treatment: str) -> WorkingData:
        """Return the data for questions about one treatment: themselves, unless a family is another for it."""
        if treatment not in self._about:
            self._about[treatment] = self._with_families_about(treatment)
        return self._about[treatment]

    @cached_property
    def _about(self) -> dict[str, WorkingData]:
        return {}

    def _with_families_about(self, treatment: str) -> WorkingData:
        found = {
            name: replace(one, family=one.family.about(name, treatment, self.table))
            for name, one in self.children.items()
            if one.family is not None and self.table is not None and name != treatment
        }
        same = all(one.family is self.children[name].family for name, one in found.items())
        return self if same else replace(self, children={**self.children, **found})

    def model(self, child: str) -> ChildModel:
        """Return how a child is regressed on its causes."""
        return self.children.get(child, _STRAIGHT)

    @cached_property
    def families(self) -> dict[str, Family]:
        """The children whose mean is no line in their predictor: yes/no, counts, amounts."""
        found = {name: one.family for name, one in self.children.items()}
        return {name: family for name, family in found.items() if family is not None and not family.is_line}

    def has_values(self, name: str) -> bool:
        """Tell whether the values of a variable are known in every row: not where a survival time is censored."""
        family = self.families.get(name)
        return family is None or family.complete

    @cached_property
    def heavy(self) -> dict[str, Family]:
        """The children whose noise has heavy tails; their regressions are straight lines as all others."""
        found = {name: one.family for name, one in self.children.items()}
        return {name: family for name, family in found.items() if family is not None and family.is_line}

    @cached_property
    def curved(self) -> dict[str, ChildTerms]:
        """The children that may have curves."""
        found = {name: one.terms for name, one in self.children.items()}
        return {name: terms for name, terms in found.items() if terms is not None}

    def may_bend(self, child: str, treatment: str | None) -> bool:
        """Tell whether a child's regression may bend in questions about a treatment; None: in no question.

        Curves that were not asked for are looked for where there are rows enough, and noise.
        """
        if child not in self.curved or not self.on_demand:
            return child in self.curved
        return treatment is not None and self.of(child).rows >= _FEW_ROWS and self._has_arms(child, treatment)

    def _has_arms(self, child: str, treatment: str) -> bool:
        """Tell whether both arms of a yes/no treatment have rows enough, and the child varies within them."""
        values = None if treatment in self.categories else self.look(treatment).two_values
        if values is None:
            return True
        found, (x, y) = self.of(child), (self.pooled.index[name] for name in (treatment, child))
        share = (found.mean[x] * self.scale[x] - values[0]) / (values[1] - values[0])
        left = found.scatter[y, y] - found.scatter[x, y] ** 2 / max(found.scatter[x, x], 1e-300)
        return bool(found.rows * min(share, 1.0 - share) >= _FEW_IN_ARM and left > _NO_NOISE * found.scatter[y, y])

    def is_copied(self, name: str, others: Sequence[str]) -> bool:
        """Tell whether a variable is a multiple of one of some others, up to rounding."""
        own, rest = (
            [self.pooled.index[column] for column in self.columns(names)]
            for names in ((name,), [other for other in others if other != name])
        )
        size = np.sqrt(np.diag(self.pooled.scatter))
        return bool((np.abs(self.pooled.scatter[np.ix_(own, rest)]) > _ALIKE * np.outer(size[own], size[rest])).any())

    @property
    def rows(self) -> float:
        """Number of rows in all."""
        return self.pooled.rows

    @property
    def is_within(self) -> bool:
        """Whether fixed effects were taken out: cross-products are those within their levels."""
        return self.pooled.rows - self.pooled.n > 1.5

    def unit(self, cause: str, effect: str) -> float:
        """Return what one working unit of an effect of `cause` on `effect` is in the user's units.

        A child that is not normal is counted in units of its linear predictor, which has none; a category has no unit.
        """
        return float(self.outcome_unit(effect) / self.scale_of(cause))

    def outcome_unit(self, effect: str) -> float:
        """Return what one working unit of an outcome is in the user's units; one of a linear predictor, which has none.

        That is the unit of a change of a category from one level to another.
        """
        return 1.0 if effect in self.families else self.scale_of(effect)

    def column_scale(self, column: str) -> float:
        """Return the user's units per working unit of a column of the moments."""
        return float(self.scale[self.pooled.index[column]])

    def deviation(self, name: str) -> float:
        """Return a variable's standard deviation over all rows, in the user's units; about 0 without intercept."""
        place = self.pooled.index[name]
        variance = float(self.pooled.scatter[place, place]) / max(self.pooled.n, 1)
        return float(np.sqrt(variance) * self.scale[place])

    def scale_of(self, name: str) -> float:
        """Return the user's units per working unit of a variable; not a number for a category, which has none."""
        return math.nan if name in self.categories else self.column_scale(name)


_STRAIGHT = ChildModel()


def working_data(
    moments: MomentsRecord, prior: Prior, variables: Sequence[str], own: Mapping[str, MomentsRecord] | None = None
) -> WorkingData:
    """Select the graph's variables and express their moments in working units.

    Parameters
    ----------
    moments
        Of all rows; they give the units.
    prior
        Says whether variables are standardised and whether there is an intercept.
    variables
        Names, m of them.
    own
        Moments of the rows of single children, where those are not all rows.
    """
    _check_known(moments, variables)
    part = moments.select(variables)
    is_plain = part.taken == 1  # what does not vary within levels was looked for before
    if is_plain and (prior.intercept or prior.units == "standardized"):
        _check_not_constant(part)
    variance = np.diag(part.scatter) / max(part.n - part.taken, 1)
    scale = np.sqrt(variance) if prior.units == "standardized" else np.ones(len(variables))
    others = {child: _child_data(rows.select(variables), prior, scale) for child, rows in (own or {}).items()}
    return WorkingData(_child_data(part, prior, scale), scale, others)


def working_rows(
    rows: RowGroups, prior: Prior, variables: Sequence[str], scale: FloatArray | None = None
) -> WorkingData:
    """Express the moments of each child's rows in working units.

    Parameters
    ----------
    rows
        In groups, by what was set in them.
    prior
        Says whether variables are standardised and whether there is an intercept.
    variables
        Names, m of them.
    scale
        User's units per working unit, shape (m,); by default from these rows.
    """
    everything = rows.without()
    if everything is None:
        raise DataError("there are no rows")
    plain = working_data(everything, prior, variables)
    if scale is not None:
        plain = replace(plain, pooled=_child_data(everything.select(variables), prior, scale), scale=scale)
    if rows.intercepts == "random":
        plain = _with_intercepts(plain, rows, variables)
    apart = rows.targets | rows.unseen
    if not apart:
        return plain
    unset = partial(_unset_rows, rows, prior, tuple(variables), plain.scale)
    own = {child: _regressed(unset({child}), child) for child in variables if child in apart}
    return replace(plain, own=own, unset=unset, was_set=rows.targets)


def _with_intercepts(plain: WorkingData, rows: RowGroups, variables: Sequence[str]) -> WorkingData:
    """Return the data with intercepts of units that vary at random."""
    assert rows.cells is not None
    places = [rows.as_read.index[name] for name in variables]
    return replace(plain, pooled=replace(plain.pooled, variants=variants(rows.cells, places, plain.scale)))


def common_scale(tables: Sequence[RowGroups], prior: Prior, variables: Sequence[str]) -> FloatArray:
    """Return units for completed copies of one table: those of their average moments, shape (m,)."""
    scales = np.array([working_rows(table, prior, variables).scale for table in tables])
    return np.asarray(np.sqrt((scales**2).mean(axis=0)))


def _unset_rows(
    rows: RowGroups, prior: Prior, variables: tuple[str, ...], scale: FloatArray, names: Collection[str]
) -> ChildData | None:
    found = rows.without(names)
    return None if found is None else _child_data(found.select(variables), prior, scale)


def _tempered_rows(
    unset: Callable[[Collection[str]], ChildData | None], factor: float, names: Collection[str]
) -> ChildData | None:
    found = unset(names)
    return found and found.tempered(factor)


def _regressed(data: ChildData | None, child: str) -> ChildData | None:
    """Return a child's rows, or None if it does not vary in them."""
    if data is None:
        return None
    place = data.index[child]
    return None if constant_columns(data.scatter[place, place], data.rows, data.mean[place]) else data


def _child_data(moments: MomentsRecord, prior: Prior, scale: FloatArray) -> ChildData:
    scatter = moments.scatter if prior.intercept else moments.scatter + moments.n * np.outer(moments.mean, moments.mean)
    return ChildData(
        names=moments.names,
        scatter=scatter / np.outer(scale, scale),
        mean=moments.mean / scale if prior.intercept else np.zeros(len(scale)),
        n=moments.n - moments.taken if prior.intercept else moments.n,
        rows=moments.n,
    )


def _check_known(moments: MomentsRecord, variables: Sequence[str]) -> None:
    for name in variables:
        if name not in moments.names:
            raise DataError(
                f"the graph's variable {name!r} is not a column of the data{did_you_mean(name, moments.names)}"
            )


def _check_not_constant(moments: MomentsRecord) -> None:
    constant = constant_columns(np.diag(moments.scatter), moments.n, moments.mean)
    for place in np.flatnonzero(constant).tolist():
        raise DataError(
            f"column {moments.names[place]!r} is constant: it has no effect that data could show; remove it from the "
            "graph"
        )


def told_apart(tables: Sequence[WorkingData]) -> list[WorkingData]:
    """Return several completed tables, each knowing in which columns they differ, and which is the first."""
    first = tables[0].pooled
    same = np.ones(len(first.names), dtype=bool)
    for table in tables[1:]:
        same &= table.pooled.mean == first.mean
        same &= np.diag(table.pooled.scatter) == np.diag(first.scatter)
    filled = frozenset(name for name, alike in zip(first.names, same, strict=True) if not alike)
    known = [replace(table, filled=filled) for table in tables]
    return [known[0], *(replace(table, like=known[0].table) for table in known[1:])]
