"""Regressions that missing values are drawn by: all columns in, normal priors, one draw of the coefficients a sweep.

Columns have about unit variance, a one comes first. Given the completed table, `update` goes on with a chain of the
coefficients that leaves their posterior as it is; given them, a value is drawn, or weighed by its density.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from alldags.families.base import Family
from alldags.families.student import Student
from alldags.families.yes_no import Bernoulli
from alldags.typing import BoolArray, FloatArray, IntArray

RIDGE = 0.5  # precision of a coefficient a priori: 1.4 per standard deviation of its column
INTERCEPT = 0.02  # the same of the intercept of a yes/no variable, a count or a level
_ROWS_A_COLUMN = 10  # with fewer, coefficients are held the closer to zero the more there are
_STEPS, _FIRST_STEPS = 2, 25  # of Newton's iteration towards the mode, from that of the sweep before, or from nowhere
_RENEWED = 4  # sweeps after which the curvature is computed anew
_WIDER = 1.05  # candidates reach this much farther than the normal distribution at the mode
_LEAST = 1e-12  # variance of noise, in units of the child's
_CAP = 30.0  # of a predictor on the way to the mode


def ridge(rows: int, columns: int, intercept: float) -> FloatArray:
    """Return the prior precision of intercept and coefficients, shape (columns,)."""
    precision = np.full(columns, RIDGE if rows >= _ROWS_A_COLUMN * columns else max(RIDGE, 0.5 * columns))
    precision[0] = intercept
    return precision


@dataclass(frozen=True, eq=False)
class Given:
    """What a regression is updated with.

    Parameters
    ----------
    columns
        Of the rows that show what acts on the child, a one first, shape (rows, k).
    child
        Its values in working units (codes of levels), shape (rows,).
    offset
        What is added to the predictor, shape (rows,); None for nothing.
    products
        Cross-products of the columns (k, k), with the child (k,), and its sum of squares, if they are known.
    """

    columns: FloatArray
    child: FloatArray
    offset: FloatArray | None = None
    products: tuple[FloatArray, FloatArray, float] | None = None


class Regression(Protocol):
    """One variable given those before it."""

    def update(self, given: Given, rng: np.random.Generator) -> None:
        """Draw the coefficients given the completed table."""

    def predictor(self, columns: FloatArray, offset: FloatArray | None) -> FloatArray:
        """Return the predictor of some rows, shape (rows,), or (rows, levels - 1)."""

    def change(self, columns: FloatArray, places: IntArray) -> FloatArray:
        """Return what columns at some places add to the predictor, shape as the predictor."""

    def log_density(self, child: FloatArray, predictor: FloatArray) -> FloatArray:
        """Return the log-density of values at predictors, up to what depends on the values alone, shape (rows,)."""


# -- numbers -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Normal:
    """A number with normal noise or, with a tail, Student's.

    Coefficients, noise variance and, for heavy tails, weights of rows and what is not known of the tails are drawn in
    turn.
    """

    tail: Student | None = None
    beta: FloatArray = field(default_factory=lambda: np.zeros(0))
    variance: float = 1.0
    learns: bool = field(init=False)

    def __post_init__(self) -> None:
        self.learns = self.tail is not None and self.tail.df is None

    def update(self, given: Given, rng: np.random.Generator) -> None:
        rows, y = given.columns, given.child
        precision = ridge(len(y), rows.shape[1], 1e-9)
        weight = None if self.tail is None else self._weights(rows, y, rng)
        gram, cross, total = given.products if given.products and weight is None else _products(rows, y, weight)
        inner = gram / self.variance
        inner[np.diag_indices(len(precision))] += precision
        root = _root(inner)
        center = np.linalg.solve(root, cross / self.variance)
        self.beta = np.asarray(np.linalg.solve(root.T, center + rng.standard_normal(len(precision))))
        left = total - 2.0 * cross @ self.beta + self.beta @ gram @ self.beta
        self.variance = max(float(left) / rng.chisquare(len(y)), _LEAST)

    def _weights(self, rows: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        assert self.tail is not None
        beta = self.beta if len(self.beta) else np.zeros(rows.shape[1])
        square = (y - rows @ beta) ** 2 / self.variance
        if self.learns:
            self.tail = self.tail.drawn(square, rng)
        shape = 0.5 * (self.tail.degrees + 1.0)
        return rng.gamma(shape, 1.0 / (0.5 * (self.tail.degrees + square)))

    def predictor(self, columns: FloatArray, offset: FloatArray | None) -> FloatArray:
        del offset
        return np.asarray(columns @ self.beta)

    def change(self, columns: FloatArray, places: IntArray) -> FloatArray:
        return np.asarray(columns @ self.beta[places])

    def log_density(self, child: FloatArray, predictor: FloatArray) -> FloatArray:
        square = (child - predictor) ** 2 / self.variance
        if self.tail is None:
            return np.asarray(-0.5 * square)
        return np.asarray(-0.5 * (self.tail.degrees + 1.0) * np.log1p(square / self.tail.degrees))

    def noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Return draws of the noise."""
        drawn = rng.standard_normal(shape) if self.tail is None else rng.standard_t(self.tail.degrees, shape)
        return np.asarray(math.sqrt(self.variance) * drawn)


def _root(inner: FloatArray) -> FloatArray:
    """Return a Cholesky factor; columns that determine each other, beside noise that is nearly none, get more prior."""
    try:
        return np.asarray(np.linalg.cholesky(inner), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.cholesky(inner + 1e-8 * np.diag(inner.diagonal())), dtype=np.float64)


def _products(rows: FloatArray, y: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray, float]:
    weighted = rows if weight is None else rows * weight[:, None]
    own = y if weight is None else y * weight
    return weighted.T @ rows, rows.T @ own, float(own @ y)


# -- what is no line ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Curve:
    """What is no line: candidates from the normal distribution at the mode, taken or not (Metropolis).

    A noise precision, where the family has one, is drawn given the coefficients.
    """

    family: Family
    beta: FloatArray = field(default_factory=lambda: np.zeros(0))
    _mode: FloatArray = field(default_factory=lambda: np.zeros(0))
    _root: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    _age: int = 0
    precision: float = 1.0

    def update(self, given: Given, rng: np.random.Generator) -> None:
        rows, y, offset = given.columns, given.child, given.offset
        precision = ridge(len(y), rows.shape[1], INTERCEPT)
        first = len(self.beta) == 0
        if first:
            self._mode = np.zeros(rows.shape[1])
            self._mode[0] = self._start(y, offset)
        self._approach(rows, y, offset, precision, _FIRST_STEPS if first else _STEPS, first)
        noise = rng.standard_normal(len(precision))
        candidate = self._mode + _WIDER * np.linalg.solve(self._root.T, noise)
        if first:
            self.beta = candidate
            self._renew(rows, y, offset, rng)
            return
        # log of target over proposal, at the candidate and where the chain is
        there = self.root_distance(self.beta)
        gain = self._height(rows, y, offset, precision, candidate) + 0.5 * float(noise @ noise)
        gain -= self._height(rows, y, offset, precision, self.beta) + 0.5 * there
        if math.log(rng.random()) < gain:
            self.beta = candidate
        self._renew(rows, y, offset, rng)

    def _renew(self, rows: FloatArray, y: FloatArray, offset: FloatArray | None, rng: np.random.Generator) -> None:
        """Draw the noise precision."""
        self.precision = self.family.draw_precision(y, self.predictor(rows, offset), rng)

    def root_distance(self, beta: FloatArray) -> float:
        """Return the squared distance of coefficients from the mode, in units of the candidates' spread."""
        away = self._root.T @ (beta - self._mode) / _WIDER
        return float(away @ away)

    def _start(self, y: FloatArray, offset: FloatArray | None) -> float:
        """Return the intercept of rows without causes, a little towards the middle."""
        base = 1.0 if offset is None else float(np.exp(offset).mean()) if self.family.name == "poisson" else 1.0
        return self.family.link((float(y.sum()) + 0.5) / (len(y) + 1.0) / base)

    def _approach(
        self, rows: FloatArray, y: FloatArray, offset: FloatArray | None, precision: FloatArray, steps: int, anew: bool
    ) -> None:
        """Go some Newton steps towards the mode; the curvature is that of some sweeps before, or new at every step."""
        for step in range(steps):
            eta = _clipped(rows @ self._mode, offset)
            residual, information = self.family.score(y, eta)
            if anew or (step == 0 and self._age % _RENEWED == 0):
                inner = (rows * (self.precision * information)[:, None]).T @ rows
                inner[np.diag_indices(len(precision))] += precision
                self._root = _root(inner)
            gradient = self.precision * (rows.T @ residual) - precision * self._mode
            half = np.linalg.solve(self._root, gradient)
            move = np.linalg.solve(self._root.T, half)
            size, most = float(half @ half), len(half) + 9.0  # a longer step leaves where the curvature holds
            self._mode = np.asarray(self._mode + min(1.0, math.sqrt(most / max(size, 1e-300))) * move)
            if anew and size < 1e-4:
                break
        self._age += 1

    def _height(
        self, rows: FloatArray, y: FloatArray, offset: FloatArray | None, precision: FloatArray, beta: FloatArray
    ) -> float:
        eta = rows @ beta if offset is None else rows @ beta + offset
        return self.precision * float(self.family.height(y, eta).sum()) - float(0.5 * precision @ beta**2)

    def predictor(self, columns: FloatArray, offset: FloatArray | None) -> FloatArray:
        return np.asarray(columns @ self.beta if offset is None else columns @ self.beta + offset)

    def change(self, columns: FloatArray, places: IntArray) -> FloatArray:
        return np.asarray(columns @ self.beta[places])

    def log_density(self, child: FloatArray, predictor: FloatArray) -> FloatArray:
        return np.asarray(self.precision * self.family.height(child, predictor))

    def candidates(self, predictor: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the child at some predictors, shape (rows, count)."""
        eta = np.clip(predictor, -_CAP, _CAP)[:, None]
        uniform = rng.random((len(predictor), count))
        return self.family.draw(np.broadcast_to(eta, uniform.shape), uniform, np.full((1, 1), 1.0 / self.precision))


@dataclass(eq=False)
class Divided:
    """A child that is several regressions, each with its own coefficients, of the rows that it is about."""

    family: Family
    curves: tuple[Curve, ...] = ()

    def __post_init__(self) -> None:
        self.curves = tuple(Curve(part.family) for part in self.family.parts)

    def _read(self, child: FloatArray) -> Iterator[tuple[Curve, FloatArray, BoolArray]]:
        for curve, part in zip(self.curves, self.family.parts, strict=True):
            yield curve, *part.reading(child)

    def update(self, given: Given, rng: np.random.Generator) -> None:
        for curve, values, kept in self._read(given.child):
            curve.update(Given(given.columns[kept], values[kept]), rng)

    def predictor(self, columns: FloatArray, offset: FloatArray | None) -> FloatArray:
        return np.column_stack([curve.predictor(columns, offset) for curve in self.curves])

    def change(self, columns: FloatArray, places: IntArray) -> FloatArray:
        return np.column_stack([curve.change(columns, places) for curve in self.curves])

    def log_density(self, child: FloatArray, predictor: FloatArray) -> FloatArray:
        parts = zip(self._read(child), predictor.T, strict=True)
        return np.asarray(sum(np.where(kept, one.log_density(values, eta), 0.0) for (one, values, kept), eta in parts))

    def candidates(self, predictor: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the child at some predictors, shape (rows, count)."""
        first, second = np.clip(predictor, -_CAP, _CAP).T
        variance = np.full((1, 1), 1.0 / self.curves[0].precision)
        return self.family.draw((first + 1j * second)[:, None], rng.random((len(predictor), count)), variance)


def _clipped(eta: FloatArray, offset: FloatArray | None) -> FloatArray:
    return np.clip(eta if offset is None else eta + offset, -_CAP, _CAP)


# -- levels ------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Softmax:
    """A category: the log-odds of each level against the first are linear.

    Given the others, the coefficients of one level are those of a logistic regression with an offset (Holmes and Held
    2006); levels take turns.
    """

    levels: int
    parts: tuple[Curve, ...] = ()

    def update(self, given: Given, rng: np.random.Generator) -> None:
        if not self.parts:
            self.parts = tuple(Curve(Bernoulli()) for _ in range(self.levels - 1))
        rows = given.columns
        eta = np.column_stack([rows @ part.beta if len(part.beta) else np.zeros(len(rows)) for part in self.parts])
        for place, part in enumerate(self.parts):
            others = np.delete(eta, place, axis=1)
            apart = -log_total(others)
            part.update(Given(rows, (given.child == place + 1).astype(float), apart), rng)
            eta[:, place] = rows @ part.beta

    def predictor(self, columns: FloatArray, offset: FloatArray | None) -> FloatArray:
        del offset
        return np.column_stack([columns @ part.beta for part in self.parts])

    def change(self, columns: FloatArray, places: IntArray) -> FloatArray:
        return np.column_stack([columns @ part.beta[places] for part in self.parts])

    def log_density(self, child: FloatArray, predictor: FloatArray) -> FloatArray:
        own = np.column_stack([np.zeros(len(predictor)), predictor])
        return np.asarray(own[np.arange(len(own)), child.astype(np.int64)] - log_total(predictor))


def log_total(eta: FloatArray) -> FloatArray:
    """Return ``log(1 + sum of exp(eta))`` over levels, shape (rows, levels - 1) to (rows,)."""
    top = np.maximum(eta.max(axis=1, initial=0.0), 0.0)
    return np.asarray(top + np.log(np.exp(-top) + np.exp(eta - top[:, None]).sum(axis=1)))
