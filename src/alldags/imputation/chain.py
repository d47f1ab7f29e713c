"""`Chain`: a table completed again and again, each time from the posterior of what is missing given what was seen.

In turn (data augmentation): the coefficients of each variable's regression on all that come before it, given the
completed table; and each missing value given the coefficients and all others, in proportion to its own density times
those of everything that comes after it. Levels and yes/no are added up exactly. For a number, candidates are drawn from
its own regression; one of these or the present value is taken, by what comes after (which leaves the distribution as it
is), and then a step nearby is tried, since what comes after may know more of the value than what comes before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.data.accumulate import one_blas_thread
from alldags.data.missing import sweeps_between
from alldags.imputation.columns import Design
from alldags.imputation.regressions import Curve, Divided, Given, Normal, Regression
from alldags.imputation.variables import Variable
from alldags.interrupts import checkpoint
from alldags.typing import FloatArray, IntArray

_CANDIDATES = 7  # beside the present value
_NEARBY = (1.0, 0.5, 0.25, 0.1)  # size of a step nearby, in standard deviations of the own regression, in turn
_WARM_UP = 4  # times the sweeps between two tables


class _Node(NamedTuple):
    """A variable that has a regression: rows that show what acts on it (None for all), and its gaps."""

    variable: Variable
    regression: Regression
    center: float
    unit: float
    rows: IntArray | None
    gaps: IntArray
    width: int

    def working(self, values: FloatArray) -> FloatArray:
        """Return values as the regression takes them."""
        return np.asarray((self.variable.coded(values) - self.center) / self.unit)


class Chain:
    """Draws of completed tables.

    Parameters
    ----------
    variables
        Causes first; whatever comes before the first with gaps needs no regression.
    columns
        What regressions are made of, functions of the variables.
    rng
        Of all draws.
    """

    def __init__(self, variables: Sequence[Variable], columns: Sequence[Column], rng: np.random.Generator) -> None:
        self._rng = rng
        self.values = {one.name: _filled(one, rng) for one in variables}
        self._rows = RowValues(self.values)
        self._design = Design([one.name for one in variables], columns, self._rows)
        first = next((i for i, one in enumerate(variables) if one.missing.any()), len(variables))
        self._nodes = [self._node(one, last=one is variables[-1]) for one in variables[first:]]
        self._share = max((float(one.missing.mean()) for one in variables), default=0.0)
        self._sweeps = 0

    def _node(self, variable: Variable, *, last: bool) -> _Node:
        """Return a variable with its regression; nothing comes after the last, whose gaps say nothing."""
        shown = np.ones(len(variable.values), dtype=bool) if variable.was_set is None else ~variable.was_set
        if last:
            shown &= ~variable.missing
        rows = None if shown.all() else np.flatnonzero(shown)
        gaps = np.flatnonzero(variable.missing)
        width = self._design.before[variable.name]
        return _Node(variable, variable.regression(), *variable.unit(), rows, gaps, width)

    def completed(self, count: int) -> Iterator[Mapping[str, FloatArray]]:
        """Yield completed copies of the variables that have gaps, shape (rows,) each."""
        between = sweeps_between(self._share)
        for sweep in range((_WARM_UP + count) * between):
            self.sweep()
            if sweep >= _WARM_UP * between and (sweep + 1) % between == 0:
                yield {node.variable.name: self.values[node.variable.name].copy() for node in self._incomplete}

    @property
    def _incomplete(self) -> list[_Node]:
        return [node for node in self._nodes if len(node.gaps)]

    def sweep(self) -> None:
        """Draw all coefficients, and then all missing values."""
        checkpoint()
        with one_blas_thread():  # matrices are small: threads would wait for each other
            gram = self._gram()
            for node in self._nodes:
                node.regression.update(self._given(node, gram), self._rng)
            for place, node in enumerate(self._nodes):
                if len(node.gaps):
                    self._fill(node, self._nodes[place + 1 :])
        self._sweeps += 1

    def _gram(self) -> FloatArray:
        """Return cross-products of the columns, as many as numbers with all rows are regressed on."""
        numbers = [node for node in self._nodes if _by_products(node)]
        matrix = self._design.matrix[:, : max((node.width for node in numbers), default=0)]
        return np.asarray(matrix.T @ matrix)

    def _given(self, node: _Node, gram: FloatArray) -> Given:
        columns, child, offset = self._design.matrix[:, : node.width], self._child(node), node.variable.offset
        if node.rows is not None:
            offset = None if offset is None else offset[node.rows]
            return Given(columns[node.rows], child[node.rows], offset)
        products = None
        if _by_products(node):
            products = gram[: node.width, : node.width], columns.T @ child, float(child @ child)
        return Given(columns, child, offset, products)

    def _child(self, node: _Node) -> FloatArray:
        return node.working(self.values[node.variable.name])

    # -- missing values ------------------------------------------------------------------------------------------------

    def _fill(self, node: _Node, later: Sequence[_Node]) -> None:
        """Draw the missing values of one variable."""
        own = self._predictor(node, node.gaps)
        if node.variable.choices is not None:
            self._fill_levels(node, own, later)
        else:
            self._fill_numbers(node, own, later)
        self._update(node)

    def _predictor(self, node: _Node, rows: IntArray) -> FloatArray:
        offset = node.variable.offset
        return node.regression.predictor(
            self._design.matrix[rows, : node.width], None if offset is None else offset[rows]
        )

    def _fill_levels(self, node: _Node, own: FloatArray, later: Sequence[_Node]) -> None:
        """Draw levels in proportion to their probability: all are tried."""
        levels = node.variable.choices or ()
        tries = np.tile(np.asarray(levels), (len(node.gaps), 1))
        codes = range(len(levels))
        ahead = [node.regression.log_density(np.full(len(own), float(code)), own) for code in codes]
        score = np.column_stack(ahead) + self._after(node, tries, later)
        self._take(node, tries, score)

    def _fill_numbers(self, node: _Node, own: FloatArray, later: Sequence[_Node]) -> None:
        shape = (len(node.gaps), _CANDIDATES)
        present = self.values[node.variable.name][node.gaps]
        tries = np.column_stack([present, self._candidates(node, own, shape)])
        if not later:  # the last candidates are as good as any
            self.values[node.variable.name][node.gaps] = tries[:, -1]
            return
        self._take(node, tries, self._after(node, tries, later))
        if isinstance(node.regression, Normal):
            self._step(node, node.regression, own, later)

    def _candidates(self, node: _Node, own: FloatArray, shape: tuple[int, int]) -> FloatArray:
        if isinstance(node.regression, Normal):
            return np.asarray(node.center + node.unit * (own[:, None] + node.regression.noise(shape, self._rng)))
        assert isinstance(node.regression, Curve | Divided)
        return node.regression.candidates(own, shape[1], self._rng)

    def _step(self, node: _Node, regression: Normal, own: FloatArray, later: Sequence[_Node]) -> None:
        """Try a value nearby (Metropolis)."""
        values = self.values[node.variable.name]
        self._update(node)
        size = node.unit * np.sqrt(regression.variance) * _NEARBY[self._sweeps % len(_NEARBY)]
        present = values[node.gaps]
        tries = np.column_stack([present, present + size * self._rng.standard_normal(len(present))])
        ahead = [regression.log_density(node.working(column), own) for column in tries.T]
        score = np.column_stack(ahead) + self._after(node, tries, later)
        with np.errstate(invalid="ignore"):
            taken = np.log(self._rng.random(len(present))) < score[:, 1] - score[:, 0]
        values[node.gaps[taken]] = tries[taken, 1]

    def _take(self, node: _Node, tries: FloatArray, score: FloatArray) -> None:
        """Take one of the candidates of each row, by their log-weights."""
        weight = np.exp(score - score.max(axis=1, keepdims=True)).cumsum(axis=1)
        level = self._rng.random(len(weight)) * weight[:, -1]
        chosen = np.minimum((level[:, None] >= weight).sum(axis=1), tries.shape[1] - 1)
        self.values[node.variable.name][node.gaps] = tries[np.arange(len(tries)), chosen]

    def _after(self, node: _Node, tries: FloatArray, later: Sequence[_Node]) -> FloatArray:
        """Return the log-density of everything after a variable with each candidate, shape (gaps, candidates)."""
        rows, (count, size) = node.gaps, tries.shape
        places = self._design.containing(node.variable.name)
        each = np.repeat(rows, size)
        needed = {name for i in places for name in self._design.columns.made[i - 1].variables}
        values = {name: self.values[name][each] for name in needed} | {node.variable.name: tries.ravel()}
        change = self._design.of(places, RowValues(values)) - self._design.matrix[np.ix_(each, places)]
        total = np.zeros(count * size)
        for one in later:
            inside = places < one.width
            if not inside.any():
                continue
            own = self._predictor(one, rows)
            moved = np.repeat(own, size, axis=0) + one.regression.change(change[:, inside], places[inside])
            density = one.regression.log_density(np.repeat(self._child(one)[rows], size), moved)
            total += density if one.rows is None else np.where(self._shown(one)[each], density, 0.0)
        return np.where(np.isfinite(total), total, -np.inf).reshape(count, size)

    def _shown(self, node: _Node) -> FloatArray:
        """Return which rows show what acts on a variable, shape (rows,)."""
        found = np.zeros(len(node.variable.values), dtype=bool)
        found[node.rows if node.rows is not None else slice(None)] = True
        return found

    def _update(self, node: _Node) -> None:
        """Compute the columns of the rows whose values were drawn."""
        places = self._design.containing(node.variable.name)
        if len(places):
            values = {name: column[node.gaps] for name, column in self.values.items()}
            self._design.matrix[np.ix_(node.gaps, places)] = self._design.of(places, RowValues(values))


def _by_products(node: _Node) -> bool:
    """Tell whether a regression needs no more of the rows than their cross-products."""
    return isinstance(node.regression, Normal) and node.regression.tail is None and node.rows is None


def _filled(variable: Variable, rng: np.random.Generator) -> FloatArray:
    """Return the values with gaps filled by values that were seen, at random."""
    values, gaps = variable.values.copy(), variable.missing
    values[gaps] = rng.choice(values[~gaps], int(gaps.sum()))
    return values
