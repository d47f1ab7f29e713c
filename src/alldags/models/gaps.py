"""`GraphCompleter`: how missing values are drawn, given candidate graphs, families and terms of the analysis."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alldags import meetings
from alldags.data.gaps import Completed, Gaps
from alldags.data.levels import Levels, categories_of
from alldags.data.look import ColumnLook, look_at_values
from alldags.errors import DataError
from alldags.families.base import Family
from alldags.families.student import Student
from alldags.graph.candidate import CandidateGraph
from alldags.graph.components import components
from alldags.graph.terms import ChildTerms, read_terms
from alldags.imputation.chain import Chain
from alldags.imputation.made import columns_of
from alldags.imputation.variables import Variable
from alldags.models.capabilities import family_asks
from alldags.models.families import Families, named_families, planned_families
from alldags.typing import FloatArray
from alldags.wording import option

_WEIGHT = "\0weight"
_IN_THE_GRAPH = "each by its own regression and those of all that comes after it in the graph"


@dataclass(frozen=True, eq=False)
class GraphCompleter:
    """Draws missing values: in the graph or, where all is straight and normal, from a normal distribution.

    Parameters
    ----------
    graphs, families, terms
        As for `alldags.fit`.
    tails
        Of the noise of all children for which nothing else was said; None: normal noise.
    """

    graphs: Sequence[CandidateGraph]
    families: Families
    terms: Any
    tails: Student | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """What families read beside their children, such as the offsets of counts."""
        named = named_families(self.families, self.graphs[0].variables).values()
        return tuple(dict.fromkeys(name for one in named if one is not None for name in one.reads))

    def leaves_out(self, names: Collection[str]) -> bool:
        return not any(map(self._children, names)) and set(names) <= set(self.graphs[0].variables)

    def __call__(self, gaps: Gaps, count: int, rng: np.random.Generator) -> Completed:
        """Return completed copies of a table."""
        named = named_families(self.families, self.graphs[0].variables)
        unseen = frozenset(self._unseen(gaps))
        inside = set(_with_gaps(gaps)) - unseen
        asked = {"imputation": ()} if inside else {"gaps": tuple(unseen)}
        meetings.check({**asked, **family_asks({name: one for name, one in named.items() if one is not None})})
        self._check(gaps)
        looks = {name: _look(gaps, name) for name in (*self._plain(gaps), *gaps.auxiliary)}
        families = self._families(gaps, looks)
        terms = read_terms(self.terms, self._causes)
        if not inside:
            count = 1  # values that nothing is made of but means over rows
        needs_rows = bool(families or terms) or count == 1
        if self._is_normal(gaps, looks) and not (families or terms or gaps.marks.was_set):
            return Completed(gaps.holes.completed(count, rng), unseen, needs_rows)
        tables = self._in_graph(gaps, looks, families, terms, count, rng)
        return Completed(tables, unseen, needs_rows, _IN_THE_GRAPH)

    # -- what goes how -------------------------------------------------------------------------------------------------

    def _check(self, gaps: Gaps) -> None:
        for name in self.beside:
            if gaps.gaps_in([name]):
                raise DataError(f"the offset {name!r} has missing values, which cannot be imputed; leave out such rows")
        for name in _with_gaps(gaps):
            if name in gaps.variables and not _look(gaps, name).two_values and not _look(gaps, name).can_bend:
                raise DataError(
                    f"column {name!r} is the same in all rows that have it: it has no effect that data could show; "
                    "remove it from the graph"
                )
        for name in gaps.marks.was_set:
            if gaps.gaps_in([name]) and self._children(name):
                raise DataError(
                    f"{option('missing', 'impute')}: {name!r} was set from outside in some rows and has missing "
                    "values; what was set has no distribution to draw from: leave out the rows without it, or use "
                    f"{option('missing', 'drop')}"
                )

    def _plain(self, gaps: Gaps) -> list[str]:
        """Return the graph's variables that are columns of numbers."""
        return [name for name in self.graphs[0].variables if name in gaps.variables]

    def _families(self, gaps: Gaps, looks: Mapping[str, ColumnLook]) -> dict[str, Family]:
        """Return the families of children that are not normal."""
        plain = set(looks) - set(gaps.auxiliary)
        yes_no = {name for name in plain if looks[name].is_yes_no}
        return planned_families(self.families, self.graphs, categories_of(gaps.levels), yes_no, self.tails)

    def _is_normal(self, gaps: Gaps, looks: Mapping[str, ColumnLook]) -> bool:
        """Tell whether there is no category, and nothing with two values to be imputed."""
        incomplete = [name for name in looks if gaps.gaps_in([name])]
        return not categories_of(gaps.levels) and not any(self._two(name, looks[name]) for name in incomplete)

    def _two(self, name: str, look: ColumnLook) -> tuple[float, float] | None:
        """Return the two values of a variable that has no others, unless it was said to be normal."""
        named = named_families(self.families, self.graphs[0].variables)
        said = self.families == "normal" or named.get(name, self) is None
        return None if said else look.two_values

    @property
    def _causes(self) -> dict[str, tuple[str, ...]]:
        both = {
            name: [cause for graph in self.graphs for cause in graph.parents(name)] for name in self.graphs[0].variables
        }
        return {name: tuple(dict.fromkeys(causes)) for name, causes in both.items()}

    def _children(self, name: str) -> set[str]:
        return {effect for graph in self.graphs for cause, effect in graph.edges if cause == name}

    def _unseen(self, gaps: Gaps) -> Iterator[str]:
        """Yield the variables whose gaps leave rows out of their own regression only: those that act on nothing."""
        for name in self._plain(gaps):
            if gaps.gaps_in([name]) and not gaps.auxiliary and not self._children(name):
                yield name

    # -- in the graph --------------------------------------------------------------------------------------------------

    def _in_graph(
        self,
        gaps: Gaps,
        looks: Mapping[str, ColumnLook],
        families: Mapping[str, Family],
        terms: Mapping[str, ChildTerms],
        count: int,
        rng: np.random.Generator,
    ) -> Iterator[FloatArray]:
        names = (*order_of(self.graphs, frozenset(_with_gaps(gaps))), *gaps.auxiliary)
        variables = [self._variable(name, gaps, looks, families) for name in names]
        if gaps.marks.weight is not None:
            variables.insert(0, Variable(_WEIGHT, _log_weight(gaps.said[gaps.marks.weight])))
        chain = Chain(variables, columns_of(variables, terms, self._causes), rng)
        for drawn in chain.completed(count):
            table = gaps.holes.values.copy()
            for name, values in drawn.items():
                _put(table, gaps, name, values)
            yield table

    def _variable(
        self, name: str, gaps: Gaps, looks: Mapping[str, ColumnLook], families: Mapping[str, Family]
    ) -> Variable:
        was_set = gaps.was_set(name)
        if name not in looks:
            levels = gaps.levels[name]
            codes = tuple(float(code) for code in range(len(levels.labels)))
            return Variable(name, _codes(gaps, levels), codes, was_set=was_set)
        family = families.get(name)
        offset = None if family is None or family.offset is None else gaps.column(family.offset)
        two = None if family is not None and family.name != "bernoulli" else self._two(name, looks[name])
        return Variable(name, gaps.column(name), two, family, was_set, offset)


def order_of(graphs: Sequence[CandidateGraph], incomplete: frozenset[str]) -> list[str]:
    """Return the variables, causes first: where the graphs leave a choice, those that act on nothing come last.

    Among the others complete ones come first, since nothing has to be known of what acts on them. Where graphs have
    edges of both directions, the order is that of the variables.
    """
    variables = graphs[0].variables
    edges = {edge: 1.0 for graph in graphs for edge in graph.edges}
    home = {name: group for group in components(variables, edges) for name in group}
    before = {name: {home[a] for a, b in edges if home[b] == home[name]} - {home[name]} for name in variables}
    acting = {home[cause] for cause, effect in edges if home[cause] != home[effect]}
    left, found = list(dict.fromkeys(home[name] for name in variables)), list[str]()
    done: set[tuple[str, ...]] = set()
    while left:
        ready = [group for group in left if before[group[0]] <= done]
        chosen = min(ready, key=lambda group: (group not in acting, not incomplete.isdisjoint(group)))
        left.remove(chosen)
        done.add(chosen)
        found += sorted(chosen, key=lambda name: (name in incomplete, variables.index(name)))
    return found


def _look(gaps: Gaps, name: str) -> ColumnLook:
    column = gaps.column(name)
    return look_at_values(column[~np.isnan(column)], name)


def _with_gaps(gaps: Gaps) -> Iterator[str]:
    """Yield the variables that have gaps."""
    home = {column: one.name for one in gaps.levels.values() for column in one.columns}
    yield from dict.fromkeys(home.get(name, name) for name in gaps.variables if gaps.gaps_in([name]))


def _codes(gaps: Gaps, levels: Levels) -> FloatArray:
    """Return the codes of a category's levels, shape (rows,); NaN where missing."""
    columns = np.column_stack([gaps.column(name) for name in levels.columns])
    codes = np.full(len(columns), np.nan)
    for code, row in enumerate(levels.values):
        codes[(columns == row).all(axis=1)] = code
    return codes


def _put(table: FloatArray, gaps: Gaps, name: str, values: FloatArray) -> None:
    """Write the values of one variable into a table: those of a category into all its columns."""
    levels = gaps.levels.get(name)
    if levels is None or not levels.is_category:
        table[:, gaps.holes.names.index(name)] = values
        return
    places = np.array([gaps.holes.names.index(column) for column in levels.columns])
    gap = np.flatnonzero(np.isnan(table[:, places[0]]))
    table[np.ix_(gap, places)] = levels.values[values[gap].astype(np.int64)]


def _log_weight(weight: FloatArray) -> FloatArray:
    least: float = float(np.min(weight[weight > 0], initial=1.0))
    return np.log(np.maximum(weight, least))
