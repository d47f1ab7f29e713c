"""Effects through several regressions on derived columns: rows are pushed through them.

If every column is a straight line in what the treatment moves (and holds at most one such variable), noise has mean
zero all the way, and the posterior mean of a row's outcome is the forward pass with the nodes' posterior means: nodes
are independent a posteriori, and each is linear in its coefficients. Otherwise each draw of all coefficients comes with
noise of every row, the same under both values of the treatment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.columns.base import RowValues
from alldags.effects.comparison import Comparison
from alldags.models.terms.node import TermNode
from alldags.models.terms.structures import Draws, StructureFit
from alldags.typing import BoolArray, FloatArray

MOST_ROWS = 1000  # that are pushed; of more a random part
_MEAN_DRAWS = 400  # behind a mean that has no closed form


@dataclass(frozen=True, eq=False)
class _NodeDraw:
    """One draw of a node: its structure, coefficients, intercepts of the arms, noise sds, and whether T is no cause."""

    fit: StructureFit
    coefficients: FloatArray
    intercepts: FloatArray
    sds: FloatArray
    absent: bool


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
        return tuple(dict.fromkeys(name for node in self.nodes.values() for name in node.spec.rows.table.columns.names))

    @property
    def _left_out(self) -> float:
        """Share of the rows asked about that are not pushed."""
        asked = next(iter(self.nodes.values())).raw.rows.sum() if self.chosen is None else self.chosen.sum()
        return 1.0 - self.rows.count / float(asked)

    # -- pushing -------------------------------------------------------------------------------------------------------

    def _starts(self, rows: RowValues) -> tuple[FloatArray, FloatArray]:
        values = rows.values[self.treatment]
        low, high = self.comparison.shifts(values)
        return values + low, values + high

    def _pushed(
        self, rows: RowValues, start: FloatArray, draw: Mapping[str, _NodeDraw], noise: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Return the outcome's mean of each row under one draw, shape (rows,)."""
        now = rows.put({self.treatment: start})
        value = start
        for name, node in self.nodes.items():
            value = self._predicted(node, draw[name], now, rows)
            if name in noise:
                arm = node.arm_of(now)
                value = value + node.unit * draw[name].sds[arm] * noise[name]
            now = now.put({name: value})
        return value

    @staticmethod
    def _predicted(node: TermNode, draw: _NodeDraw, now: RowValues, own: RowValues) -> FloatArray:
        arm = node.arm_of(own if draw.absent else now)
        base = node.base(now)
        structure = draw.fit.structure
        design = base[:, structure.places] * structure.active[arm]
        return np.asarray(node.center + node.unit * (draw.intercepts[arm] + design @ draw.coefficients))

    def _node_draws(self, node: TermNode, size: int, rng: np.random.Generator) -> list[_NodeDraw]:
        found = []
        arms = len(node.moments.rows)
        for count, fit in zip(rng.multinomial(size, node.weights), node.fits, strict=True):
            draws = fit.draw(count, rng)
            noise = rng.standard_normal((arms, count))
            intercepts = np.array([node.intercept(fit, draws, arm, noise[arm]) for arm in range(arms)])
            sds = np.sqrt(np.array([draws.variance, draws.variance * draws.ratio]))
            absent = rng.random(count) < node.no_effect
            found += [
                _NodeDraw(fit, draws.coefficients[i], intercepts[:, i], sds[:arms, i], bool(absent[i]))
                for i in range(count)
            ]
        return [found[i] for i in rng.permutation(size)]

    def _sampled(self, rows: RowValues, size: int, rng: np.random.Generator) -> FloatArray:
        """Return outcomes of rows under both values of the treatment, shape (2, size, rows)."""
        draws = {name: self._node_draws(node, size, rng) for name, node in self.nodes.items()}
        out = np.empty((2, size, rows.count))
        outcome = list(self.nodes)[-1]
        for i in range(size):
            noise = (
                {}
                if self.is_straight
                else {name: rng.standard_normal(rows.count) for name in self.nodes if name != outcome}
            )
            draw = {name: found[i] for name, found in draws.items()}
            for place, start in enumerate(self._starts(rows)):
                out[place, i] = self._pushed(rows, start, draw, noise)
        return out

    # -- answers -------------------------------------------------------------------------------------------------------

    @cached_property
    def _means(self) -> tuple[float, float]:
        """Posterior mean and its Monte-Carlo error."""
        rows = self.rows
        if self.is_straight:
            gap = self._forward(rows, 1) - self._forward(rows, 0)
            return float(gap.mean()), float(gap.std()) / np.sqrt(rows.count) * np.sqrt(self._left_out)
        both = self._sampled(rows, _MEAN_DRAWS, np.random.default_rng([self.seed, 1]))
        gap = both[1] - both[0]
        by_draw, by_row = gap.mean(axis=1), gap.mean(axis=0)
        error = np.hypot(
            by_draw.std() / np.sqrt(_MEAN_DRAWS), by_row.std() / np.sqrt(rows.count) * np.sqrt(self._left_out)
        )
        return float(by_draw.mean()), float(error)

    def _forward(self, rows: RowValues, which: int) -> FloatArray:
        """Return the posterior mean outcome of each row by the forward pass, shape (rows,)."""
        now = rows.put({self.treatment: self._starts(rows)[which]})
        value = now.values[self.treatment]
        for name, node in self.nodes.items():
            value = np.zeros(rows.count)
            for weight, fit in zip(node.weights, node.fits, strict=True):
                mean = Draws(fit.mean[None], np.zeros(1), np.ones(1))
                arms = range(len(node.moments.rows))
                intercepts = np.array([node.intercept(fit, mean, arm)[0] for arm in arms])
                for share, absent in ((1.0 - node.no_effect, False), (node.no_effect, True)):
                    if share > 0.0:
                        draw = _NodeDraw(fit, fit.mean, intercepts, np.zeros(len(intercepts)), absent)
                        value += weight * share * self._predicted(node, draw, now, rows)
            now = now.put({name: value})
        return value

    @property
    def mean(self) -> float:
        """Posterior mean, in the user's units."""
        return self._means[0]

    @property
    def mean_error(self) -> float:
        """Monte-Carlo standard error of the mean."""
        return self._means[1]

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the average effect, shape (size,)."""
        both = self._sampled(self.rows, size, rng)
        gap = both[1] - both[0]
        found = gap.mean(axis=1)
        if self.population:
            spread = np.sqrt(gap.var(axis=1) / (self.rows.count + 1.0))
            found = np.where(found == 0.0, 0.0, found + spread * rng.standard_normal(size))
        return np.asarray(found)

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return each row's mean effect, shape (rows,), and draws of it, shape (size, rows)."""
        both = self._sampled(rows, size, rng)
        gap = both[1] - both[0]
        if self.is_straight:
            return self._forward(rows, 1) - self._forward(rows, 0), gap
        return gap.mean(axis=0), gap

    def level_mean(self, x: float) -> float:
        """Return the posterior mean of the mean outcome over the rows when the treatment is set to `x`."""
        fixed = self._fixed(x)
        if self.is_straight:
            return float(fixed._forward(self.rows, 0).mean())
        return float(fixed._sampled(self.rows, _MEAN_DRAWS, np.random.default_rng([self.seed, 1]))[0].mean())

    def _fixed(self, x: float) -> PushedCurves:
        return PushedCurves(self.nodes, self.treatment, self.chosen, False, Comparison(x, x), self.seed)

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`, shape (size,)."""
        return np.asarray(self._fixed(x)._sampled(self.rows, size, rng)[0].mean(axis=1))
