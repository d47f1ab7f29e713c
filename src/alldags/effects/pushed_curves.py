"""Effects through several regressions on derived columns: rows are pushed through them.

If every column is a straight line in what the treatment moves (and holds at most one such variable), noise has mean
zero all the way, and the posterior mean of a row's outcome is the forward pass with the nodes' posterior means: nodes
are independent a posteriori, and each is linear in its coefficients. Otherwise each draw of all coefficients comes with
noise of every row, the same under both values of the treatment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.effects.comparison import Comparison
from alldags.effects.moved_columns import MovedColumns, MovedPass, TermDraws, drawn_terms, mean_terms, term_error
from alldags.models.terms.columns import RowValues
from alldags.models.terms.node import TermNode
from alldags.models.terms.structures import POOL
from alldags.typing import BoolArray, FloatArray

MOST_ROWS = 1000  # that are pushed; of more a random part
_MEAN_DRAWS = 400  # behind a mean that has no closed form
_BLOCK_VALUES = 2**19  # rows times draws times values of the treatment that are pushed together
_UNITS = 200  # rows that new units are like
_STEP = 0.05  # of a variable's standard deviation, by which it is moved to see what that does to the outcome


@dataclass(frozen=True, eq=False)
class PushedCurves:
    """The effect of a treatment on an outcome by way of other variables.

    Parameters
    ----------
    nodes
        Regressions of all variables after the treatment on the way, causes first, the outcome's last.
    treatment
        Its name.
    chosen
        Rows to average over, shape (rows,); None for all.
    population
        Whether these rows are a sample of those asked about.
    comparison
        Two values of the treatment.
    seed
        Of the choice of rows.
    """

    nodes: Mapping[str, TermNode]
    treatment: str
    chosen: BoolArray | None
    population: bool
    comparison: Comparison
    seed: int = 0

    @cached_property
    def is_straight(self) -> bool:
        """Whether every column is a straight line in what the treatment moves."""
        moved = set(self.nodes)
        for node in self.nodes.values():
            for column in node.columns:
                inside = [name for name in column.variables if name in moved]
                if len(inside) > 1 or any(not column.is_straight_in(name) for name in inside):
                    return False
        return True

    @cached_property
    def rows(self) -> RowValues:
        """The rows that are pushed."""
        parts = next(iter(self.nodes.values())).spec.rows.batches()
        values = {name: np.concatenate([part.values[name] for part in parts]) for name in self._names}
        fold = np.concatenate([np.asarray(part.fold) for part in parts])
        places = np.arange(len(fold)) if self.chosen is None else np.flatnonzero(self.chosen)
        if len(places) > MOST_ROWS:
            places = np.sort(np.random.default_rng(self.seed).choice(places, MOST_ROWS, replace=False))
        return RowValues({name: column[places] for name, column in values.items()}, fold[places])

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for node in self.nodes.values() for name in node.spec.rows.names))

    @property
    def _left_out(self) -> float:
        """Share of the rows asked about that are not pushed."""
        asked = next(iter(self.nodes.values())).raw.rows.sum() if self.chosen is None else self.chosen.sum()
        return 1.0 - self.rows.count / float(asked)

    # -- pushing -------------------------------------------------------------------------------------------------------

    def _starts(self, rows: RowValues) -> FloatArray:
        """Return the two values that the treatment of each row is set to, shape (2, rows)."""
        values = rows.values[self.treatment]
        if self.comparison.values is not None:
            return np.array([np.full(rows.count, x) for x in self.comparison.values])
        return np.array([values + shift for shift in self.comparison.shifts(values)])

    def _columns(self, rows: RowValues) -> dict[str, MovedColumns]:
        between = frozenset(self.nodes)
        return {name: MovedColumns(node, rows, self.treatment, between) for name, node in self.nodes.items()}

    @cached_property
    def _own_columns(self) -> dict[str, MovedColumns]:
        return self._columns(self.rows)

    def _passes(self, rows: RowValues, starts: FloatArray) -> dict[str, MovedPass]:
        """Return the regressions with the treatment of each row at S values, shape (S, rows)."""
        columns = self._own_columns if rows is self.rows else self._columns(rows)
        return {name: one.at(starts) for name, one in columns.items()}

    def _sampled(
        self,
        rows: RowValues,
        starts: FloatArray,
        size: int,
        rng: np.random.Generator,
        noisy: bool = False,
    ) -> FloatArray:
        """Return mean (or `noisy`) outcomes of rows with the treatment at each of S values, shape (S, size, rows)."""
        draws = {name: drawn_terms(node, size, rng) for name, node in self.nodes.items()}
        passes = self._passes(rows, starts)
        out = np.empty((len(starts), size, rows.count))
        step = max(1, _BLOCK_VALUES // max(starts.size, 1))
        for first in range(0, size, step):
            block = slice(first, min(first + step, size))
            part = {name: found.taken(block) for name, found in draws.items()}
            out[:, block] = self._pushed(passes, {**rows.values, self.treatment: starts[:, None]}, part, rng, noisy)
        return out

    def _pushed(
        self,
        passes: Mapping[str, MovedPass],
        now: dict[str, FloatArray],
        draws: Mapping[str, TermDraws],
        rng: np.random.Generator,
        noisy: bool,
    ) -> FloatArray:
        """Return the outcome's mean of each row under some draws, shape (S, draws, rows), or with its noise."""
        *between, outcome = self.nodes
        names = [*between, outcome] if noisy else [] if self.is_straight else between
        shape = (draws[outcome].size, len(names), now[self.treatment].shape[-1])
        numbers = np.moveaxis(rng.standard_normal(shape), 1, 0)  # for draw, variable, row; the same under all values
        noise = dict(zip(names, numbers, strict=True))
        for name, one in passes.items():
            now[name] = one.values(draws[name], now, noise.get(name))
        return now[outcome]

    # -- answers -------------------------------------------------------------------------------------------------------

    @cached_property
    def _means(self) -> tuple[float, float]:
        """Posterior mean, and its Monte-Carlo error from the choice of rows and draws."""
        rows = self.rows
        starts = self._starts(rows)
        if self.is_straight:
            low, high = self._forward(rows, starts)
            gap = high - low
            return float(gap.mean()), self._rows_error(gap)
        low, high = self._sampled(rows, starts, _MEAN_DRAWS, np.random.default_rng([self.seed, 1]))
        by_draw, by_row = (high - low).mean(axis=1), (high - low).mean(axis=0)
        chance = float(by_draw.std()) * math.sqrt(1.0 / _MEAN_DRAWS + 1.0 / POOL)
        return float(by_draw.mean()), math.hypot(chance, self._rows_error(by_row))

    def _rows_error(self, gap: FloatArray) -> float:
        """Return the error of a mean over rows, shape (rows,), of which some were not pushed."""
        return float(gap.std()) / math.sqrt(len(gap)) * math.sqrt(self._left_out)

    def _forward(self, rows: RowValues, starts: FloatArray) -> FloatArray:
        """Return the posterior mean outcome of each row by the forward pass, shape (S, rows)."""
        passes = self._passes(rows, starts)
        return self._carried(passes, {**rows.values, self.treatment: starts[:, None]})[self._outcome][:, 0]

    def _carried(self, passes: Mapping[str, MovedPass], now: dict[str, FloatArray]) -> dict[str, FloatArray]:
        """Return `now` with what some regressions make of it by their posterior means, shape (S, 1, rows) each."""
        for name, one in passes.items():
            draws, shares = self._mean_terms[name]
            now[name] = np.einsum("d,sdn->sn", shares, one.values(draws, now))[:, None]
        return now

    @cached_property
    def _mean_terms(self) -> dict[str, tuple[TermDraws, FloatArray]]:
        return {name: mean_terms(node) for name, node in self.nodes.items()}

    @property
    def mean(self) -> float:
        """Posterior mean, in the user's units."""
        return self._means[0]

    @property
    def mean_error(self) -> float:
        """Monte-Carlo standard error of the mean: of rows and draws that were chosen, and of every regression."""
        return math.hypot(self._means[1], self._nodes_error)

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the average effect, shape (size,)."""
        low, high = self._sampled(self.rows, self._starts(self.rows), size, rng)
        gap = high - low
        found = gap.mean(axis=1)
        if self.population:
            spread = np.sqrt(gap.var(axis=1) / (self.rows.count + 1.0))
            found = np.where(found == 0.0, 0.0, found + spread * rng.standard_normal(size))
        return np.asarray(found)

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return each row's mean effect, shape (rows,), and draws of it, shape (size, rows)."""
        starts = self._starts(rows)
        low, high = self._sampled(rows, starts, size, rng)
        gap = high - low
        if self.is_straight:
            low, high = self._forward(rows, starts)
            return high - low, gap
        return gap.mean(axis=0), gap

    # -- the treatment set to a value ----------------------------------------------------------------------------------

    def level_mean(self, x: float) -> float:
        """Return the posterior mean of the mean outcome over the rows when the treatment is set to `x`."""
        if self.is_straight:
            own, moved = self._forward(self.rows, self._own_and(x))
            return self._own_mean + float((moved - own).mean())
        return float(self._levels(x, _MEAN_DRAWS, np.random.default_rng([self.seed, 1])).mean())

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`, shape (size,).

        The rows' own mean, and the mean of what moving each from its own value to `x` does.
        """
        found = self._levels(x, size, rng)
        if self.population:
            spread = np.sqrt(found.var(axis=1) / (self.rows.count + 1.0))
            return np.asarray(found.mean(axis=1) + spread * rng.standard_normal(size))
        return np.asarray(found.mean(axis=1))

    def new_unit(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return outcomes of random ones of the rows, with new noise, when the treatment is set to `x`, (size,)."""
        places = rng.choice(self.rows.count, min(self.rows.count, _UNITS), replace=False)
        rows = self.rows.taken(places)
        found = self._sampled(rows, np.full((1, rows.count), x), size, rng, noisy=True)[0]
        return np.asarray(found[np.arange(size), rng.integers(rows.count, size=size)])

    def _levels(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return each row's outcome when its treatment is moved to `x`, under some draws, shape (size, rows)."""
        own, moved = self._sampled(self.rows, self._own_and(x), size, rng)
        values = self.rows.values[self._outcome]
        return np.asarray(moved - own + values + (self._own_mean - values.mean()))

    def _own_and(self, x: float) -> FloatArray:
        """Return the rows' own values of the treatment, and `x` for all, shape (2, rows)."""
        return np.array([self.rows.values[self.treatment], np.full(self.rows.count, x)])

    @property
    def _outcome(self) -> str:
        return list(self.nodes)[-1]

    @cached_property
    def _own_mean(self) -> float:
        """Mean of the outcome over the rows asked about, whether they are pushed or not."""
        node = self.nodes[self._outcome]
        if self.chosen is None:
            return node.center
        parts = [part.values[self._outcome] for part in node.spec.rows.batches()]
        return float(np.concatenate(parts)[self.chosen].mean())

    # -- the error of the regressions ----------------------------------------------------------------------------------

    @cached_property
    def _nodes_error(self) -> float:
        """What the Monte-Carlo errors of the regressions make of the mean, to first order, at the posterior means."""
        rows, starts = self.rows, self._starts(self.rows)
        passes = self._passes(rows, starts)
        now = self._carried(passes, {**rows.values, self.treatment: starts[:, None]})
        errors = []
        for name, node in self.nodes.items():
            slopes = self._slopes(passes, now, name)
            causes = [rows.put({key: now[key][place, 0] for key in self._moved}) for place in range(2)]
            errors.append(term_error(node, rows, causes, np.array([-1.0, 1.0])[:, None] * slopes / rows.count))
        return math.hypot(*errors)

    @property
    def _moved(self) -> tuple[str, ...]:
        return (self.treatment, *self.nodes)

    def _slopes(self, passes: Mapping[str, MovedPass], now: Mapping[str, FloatArray], name: str) -> FloatArray:
        """Return by how much the outcome of each row moves with a variable on the way, shape (2, rows)."""
        names = list(self.nodes)
        later = {key: passes[key] for key in names[names.index(name) + 1 :]}
        if not later:
            return np.ones(now[name][:, 0].shape)
        step = _STEP * self.nodes[name].unit
        ends = [self._carried(later, {**now, name: now[name] + sign * step})[names[-1]][:, 0] for sign in (-1.0, 1.0)]
        return np.asarray((ends[1] - ends[0]) / (2.0 * step))
