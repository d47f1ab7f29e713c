"""Effects through regressions on derived columns: of each row, and averaged over rows.

With one regression between treatment and outcome everything is an inner product with its coefficients. For a yes/no
treatment with flat intercepts in both arms, base columns F and the mean ``g`` of F over the rows asked about::

    effect = ybar_1 - ybar_0 + theta . d + e,   d = (Phi_1(g) - phibar_1) - (Phi_0(g) - phibar_0)

with ``e ~ N(0, s^2 (1/n_0 + rho/n_1))``: the difference of the arms' means, corrected for how far the arms' columns are
from those of the rows asked about. For any other treatment ``d`` is the mean change of the columns when it is moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.effects.comparison import Comparison
from alldags.models.terms.columns import RowValues, Times
from alldags.models.terms.node import TermNode
from alldags.models.terms.structures import Draws, StructureFit
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Question:
    """Coefficients' weights that make up a quantity, for one structure, in standardised units.

    Parameters
    ----------
    offset
        What does not depend on the coefficients.
    weights
        Shape (k,).
    shares
        Of the arms' intercepts in it, shape (A,): 1 and -1 for a difference of both.
    spread
        Covariance over rows of each row's weights, shape (k, k); None if rows are given.
    noise
        In how far each row has the noise of the arms in it, shape (A,); None if not.
    """

    offset: float
    weights: FloatArray
    shares: FloatArray
    spread: FloatArray | None = None
    noise: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows as they are, in standardised units.

    Parameters
    ----------
    shares
        Share of each arm, shape (A,).
    base
        Means of the base columns in each arm, shape (A, K).
    child
        Mean of the child.
    """

    shares: FloatArray
    base: FloatArray
    child: float


@dataclass(frozen=True, eq=False)
class DirectCurves:
    """The effect of a treatment on a child whose regression it is in, with nothing in between.

    Parameters
    ----------
    node
        The child's regression.
    treatment
        Its name.
    chosen
        Rows to average over, shape (rows,); None for all.
    population
        Whether these rows are a sample of those asked about.
    comparison
        Two values of the treatment.
    """

    node: TermNode
    treatment: str
    chosen: BoolArray | None
    population: bool
    comparison: Comparison

    # -- what is asked -------------------------------------------------------------------------------------------------

    @cached_property
    def questions(self) -> list[Question]:
        """The average effect, for each structure."""
        if self.node.arms is None:
            return [self._moved(fit) for fit in self.node.fits]
        return [self._between_arms(fit, *self._target) for fit in self.node.fits]

    @cached_property
    def _target(self) -> tuple[FloatArray, FloatArray]:
        """Mean (K,) and covariance (K, K) of the base columns over the rows asked about."""
        moments = self.node.moments
        if self.chosen is None:
            mean, scatter = moments.pooled
            return mean[:-1], scatter[:-1, :-1] / moments.rows.sum()
        base = np.concatenate([self.node.base(rows) for rows in self._rows()])
        centered = base - base.mean(axis=0)
        return base.mean(axis=0), centered.T @ centered / len(base)

    def _rows(self) -> Iterator[RowValues]:
        """Yield the rows asked about."""
        start = 0
        for rows in self.node.spec.rows.batches():
            stop = start + rows.count
            kept = slice(None) if self.chosen is None else self.chosen[start:stop]
            start = stop
            part = rows.taken(kept)
            if part.count:
                yield part

    @property
    def count(self) -> float:
        """Number of rows asked about."""
        return float(self.node.raw.rows.sum() if self.chosen is None else self.chosen.sum())

    @property
    def _order(self) -> tuple[int, int]:
        """The arms compared, lower first."""
        low, high = self.comparison.values or (self.node.arms if self.node.arms is not None else (0.0, 1.0))
        assert self.node.arms is not None
        levels = self.node.arms.tolist()
        return levels.index(low), levels.index(high)

    def _between_arms(self, fit: StructureFit, target: FloatArray, spread: FloatArray | None) -> Question:
        """Return the difference of two arms at base columns of mean `target`."""
        weights, offset, shares = self._weights_at(fit, target)
        places, factor = fit.structure.places, shares @ fit.structure.active
        inside = None if spread is None else spread[np.ix_(places, places)] * np.outer(factor, factor)
        return Question(offset, weights, shares, inside)

    def _moved(self, fit: StructureFit) -> Question:
        """Return the mean change when the treatment is moved."""
        change = np.concatenate([self._change(rows) for rows in self._rows()])
        weights = fit.structure.at(0, change)
        centered = weights - weights.mean(axis=0)
        return Question(0.0, weights.mean(axis=0), np.zeros(1), centered.T @ centered / len(weights))

    def _change(self, rows: RowValues) -> FloatArray:
        values = rows.values[self.treatment]
        low, high = (values + shift for shift in self.comparison.shifts(values))
        at = [self.node.base(rows.put({self.treatment: moved})) for moved in (low, high)]
        return np.asarray(at[1] - at[0])

    # -- answers -------------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        """Posterior mean, in the user's units."""
        return self._mean_of(self.questions)

    def _mean_of(self, questions: list[Question]) -> float:
        parts = (
            weight * (question.offset + float(fit.mean @ question.weights))
            for weight, fit, question in zip(self.node.weights, self.node.fits, questions, strict=True)
        )
        return float((1.0 - self.node.no_effect) * self.node.unit * sum(parts))

    @property
    def mean_error(self) -> float:
        """Monte-Carlo standard error of the mean; to first order also what the weights of structures add."""
        node = self.node
        means = [
            question.offset + float(fit.mean @ question.weights)
            for fit, question in zip(node.fits, self.questions, strict=True)
        ]
        own = [
            weight * fit.node.linear_error(question.weights)
            for weight, fit, question in zip(node.weights, node.fits, self.questions, strict=True)
        ]
        average = float(node.weights @ means)
        moved = math.sqrt(float(((node.weights * (np.array(means) - average)) ** 2).sum())) * node.evidence_error
        return float(node.unit * math.hypot(math.sqrt(sum(value**2 for value in own)), moved))

    def draws(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the average effect, shape (size,); zeros where the treatment is no cause."""
        found = np.concatenate(list(self._drawn(size, rng, self.questions)))[rng.permutation(size)]
        found[rng.random(size) < self.node.no_effect] = 0.0
        return np.asarray(self.node.unit * found)

    def _drawn(self, size: int, rng: np.random.Generator, questions: list[Question]) -> Iterator[FloatArray]:
        counts = rng.multinomial(size, self.node.weights)
        for count, fit, question in zip(counts, self.node.fits, questions, strict=True):
            draws = fit.draw(count, rng)
            value = question.offset + draws.coefficients @ question.weights
            variance = self._intercepts(draws, question.shares)
            if self.population and question.spread is not None:
                squares = np.einsum("di,di->d", draws.coefficients @ question.spread, draws.coefficients)
                variance = variance + np.maximum(squares, 0.0) / (self.count + 1.0)
            if self.population and question.noise is not None:
                variance = variance + question.noise @ self._arm_noise(draws) / (self.count + 1.0)
            yield value + np.sqrt(variance) * rng.standard_normal(count)

    def _intercepts(self, draws: Draws, shares: FloatArray) -> FloatArray:
        """Return the variance of the arms' intercepts in a quantity, shape (draws,)."""
        return np.asarray((shares**2 / self.node.moments.rows) @ self._arm_noise(draws))

    def _arm_noise(self, draws: Draws) -> FloatArray:
        """Return the noise variance of each arm, shape (A, draws)."""
        return np.array([draws.variance, draws.variance * draws.ratio])[: len(self.node.moments.rows)]

    @property
    def structure_variance(self) -> float:
        """Variance of the mean given structure and columns, in squared user's units."""
        first, second = 0.0, 0.0
        for weight, fit, question in zip(self.node.weights, self.node.fits, self.questions, strict=True):
            between = fit.node.second_moment_between
            mean = float(fit.node.mean @ question.weights)
            inside = 0.0 if between is None else float(question.weights @ between @ question.weights) - mean**2
            value = question.offset + mean
            first += weight * value
            second += weight * (value**2 + max(inside, 0.0))
        there = 1.0 - self.node.no_effect
        return self.node.unit**2 * max(there * second - (there * first) ** 2, 0.0)

    # -- rows, curves, modifiers ---------------------------------------------------------------------------------------

    def of_rows(self, rows: RowValues, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return each row's mean effect, shape (rows,), and draws of it, shape (size, rows)."""
        node = self.node
        base = None if node.arms is None else node.base(rows)
        change = self._change(rows) if base is None else base
        mean, drawn = np.zeros(rows.count), []
        for weight, count, fit in zip(node.weights, rng.multinomial(size, node.weights), node.fits, strict=True):
            draws = fit.draw(count, rng)
            if base is None:
                weights, offset, shares = fit.structure.at(0, change), 0.0, np.zeros(1)
            else:
                weights, offset, shares = self._weights_at(fit, base)
            mean += weight * (offset + weights @ fit.mean)
            noise = np.sqrt(self._intercepts(draws, shares)) * rng.standard_normal(count)
            drawn.append(offset + draws.coefficients @ weights.T + noise[:, None])
        values = np.concatenate(drawn)[rng.permutation(size)]
        values[rng.random(size) < node.no_effect] = 0.0
        return (1.0 - node.no_effect) * node.unit * mean, node.unit * values

    def _weights_at(self, fit: StructureFit, base: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Return weights (..., k) of a difference of two arms at base columns (..., K), its offset and arms' shares."""
        low, high = self._order
        sign = float(high - low)
        mean, structure = self.node.moments.mean, fit.structure
        shares = np.array([-sign, sign])
        weights = sum(
            share * (structure.at(arm, base) - structure.at(arm, mean[arm, :-1])) for arm, share in enumerate(shares)
        )
        return np.asarray(weights), float(shares @ mean[:, -1]), shares

    # -- the treatment set to a value ----------------------------------------------------------------------------------

    def level(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mean outcome over the rows when the treatment is set to `x`, shape (size,).

        Every row keeps its residual: the rows' own mean, and the mean of what moving each to `x` does.
        """
        questions = [self._level_question(fit, x) for fit in self.node.fits]
        found = np.concatenate(list(self._drawn(size, rng, questions)))[rng.permutation(size)]
        found[rng.random(size) < self.node.no_effect] = self._own.child
        return np.asarray(self.node.center + self.node.unit * found)

    def level_mean(self, x: float) -> float:
        """Return the posterior mean of the mean outcome over the rows when the treatment is set to `x`."""
        node, value = self.node, 0.0
        for weight, fit in zip(node.weights, node.fits, strict=True):
            question = self._level_question(fit, x)
            value += weight * (question.offset + float(fit.mean @ question.weights))
        value = (1.0 - node.no_effect) * value + node.no_effect * self._own.child
        return float(node.center + node.unit * value)

    def new_unit(self, x: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Return outcomes of random ones of the rows, with new noise, when the treatment is set to `x`, (size,)."""
        node, found, start = self.node, [], 0
        base, own_arm = self._some_rows(x, rng.choice(int(self.count), size))
        arms = np.where(rng.random(size) < node.no_effect, own_arm, self._arm(x))
        for count, fit in zip(rng.multinomial(size, node.weights), node.fits, strict=True):
            draws, part = fit.draw(count, rng), slice(start, start + count)
            arm, places = arms[part], fit.structure.places
            gap = (base[part] - node.moments.mean[arm, :-1])[:, places] * fit.structure.active[arm]
            variance = self._arm_noise(draws)[arm, np.arange(count)] * (1.0 + 1.0 / node.moments.rows[arm])
            mean = node.moments.mean[arm, -1] + np.einsum("dk,dk->d", draws.coefficients, gap)
            found.append(mean + np.sqrt(variance) * rng.standard_normal(count))
            start += count
        return np.asarray(node.center + node.unit * np.concatenate(found)[rng.permutation(size)])

    def _arm(self, x: float) -> int:
        return 0 if self.node.arms is None else self.node.arms.tolist().index(x)

    def _level_question(self, fit: StructureFit, x: float) -> Question:
        """Return the mean outcome over the rows when the treatment is set to `x`."""
        node, own, arm = self.node, self._own, self._arm(x)
        mean, at = node.moments.mean, fit.structure.at
        set_to = np.eye(len(own.shares))[arm]
        target, spread = self._at(x)
        weights = at(arm, target) - at(arm, mean[arm, :-1])
        offset = own.child + mean[arm, -1]
        for place, share in enumerate(own.shares):
            weights = weights - share * (at(place, own.base[place]) - at(place, mean[place, :-1]))
            offset -= share * mean[place, -1]
        places, active = fit.structure.places, fit.structure.active[arm]
        inside = None if spread is None else spread[np.ix_(places, places)] * np.outer(active, active)
        return Question(float(offset), weights, set_to - own.shares, inside, set_to)

    @cached_property
    def _own(self) -> OwnRows:
        """The rows asked about as they are."""
        moments = self.node.moments
        if self.chosen is None:
            return OwnRows(moments.rows / moments.rows.sum(), moments.mean[:, :-1], 0.0)
        arms, totals, counts, child = len(moments.rows), np.zeros(moments.mean[:, :-1].shape), np.zeros(2), 0.0
        for rows in self._rows():
            base, arm = self.node.base(rows), self.node.arm_of(rows)
            child += float(rows.values[self.node.child].sum())
            for place in range(arms):
                totals[place] += base[arm == place].sum(axis=0)
                counts[place] += (arm == place).sum()
        mean = (child / self.count - self.node.center) / self.node.unit
        return OwnRows(counts[:arms] / self.count, totals / np.maximum(counts[:arms, None], 1.0), mean)

    def _at(self, x: float) -> tuple[FloatArray, FloatArray | None]:
        """Return mean (K,) and covariance (K, K) over the rows of the base columns when the treatment is set to `x`.

        The covariance is needed for a population only.
        """
        if self.node.arms is not None:
            return self._target
        k, count = len(self.node.columns), 0
        total, square = np.zeros(k), np.zeros((k, k))
        for rows in self._rows():
            base = self.node.base(rows.put({self.treatment: np.full(rows.count, x)}))
            total += base.sum(axis=0)
            if self.population:
                square += base.T @ base
            count += rows.count
        mean = total / count
        return mean, np.asarray(square / count - np.outer(mean, mean)) if self.population else None

    def _some_rows(self, x: float, places: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the base columns of some of the rows when the treatment is set to `x`, (places, K), and their arms."""
        base, arms, start = np.empty((len(places), len(self.node.columns))), np.zeros(len(places), dtype=np.int64), 0
        for rows in self._rows():
            inside = np.flatnonzero((places >= start) & (places < start + rows.count))
            if inside.size:
                part = rows.taken(places[inside] - start)
                arms[inside] = self.node.arm_of(part)
                base[inside] = self.node.base(part.put({self.treatment: np.full(part.count, x)}))
            start += rows.count
        return base, arms

    def modification(self, covariate: str) -> float:
        """Return the posterior probability that the effect differs with a covariate."""
        node = self.node
        members = node.members(covariate)
        if node.arms is None:
            members = members & np.array([isinstance(column, Times) for column in node.columns], dtype=bool)
        total = 0.0
        for weight, fit in zip(node.weights, node.fits, strict=True):
            mask = members[fit.structure.places]
            if fit.structure.name == "shared" and node.arms is not None:
                mask = mask & ~fit.structure.active[0]
            if fit.structure.name == "common" or not mask.any() or weight == 0.0:
                continue
            absent = fit.node.probability_disjoint(mask[None])
            total += weight * (0.0 if absent is None else 1.0 - float(absent[0]))
        return (1.0 - node.no_effect) * total
