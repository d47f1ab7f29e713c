"""How far an effect moves with each row or cluster: its covariance, over draws, with their log-likelihoods.

The log-likelihood of a row of a normal child is a quadratic in the row whose coefficients are functions of the draw, so
that its covariance with the effect needs one pass over the draws and one over the rows, or over moments of clusters;
no row meets a draw. Of any other family it is expanded to second order about the row's mean predictor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from alldags.answers.joint import Joint
from alldags.answers.regressed import Regressed
from alldags.answers.seen import Seen, SeenLevels, seen_levels
from alldags.columns.base import Columns, RowValues
from alldags.columns.rows import Rows
from alldags.data.batches import Marks, RowTable
from alldags.data.record import MomentsRecord
from alldags.data.rows import RowGroups
from alldags.effects.jackknife import Moves
from alldags.families.base import Batch, Draws
from alldags.families.categorical import Categorical
from alldags.typing import BoolArray, FloatArray, IntArray

_MOST_LEVERAGE = 0.5  # a row is taken for at most twice what it is: where one alone carries a column, it shows no noise
_APART_STEP = 0.01  # of the log of a noise precision, or of what is beside a predictor
_LEAST_STEP = 1e-3  # of a predictor, over which its log-likelihood is looked at


@dataclass(frozen=True, eq=False)
class Answering:
    """How an effect answers to the draws of one child's regression: covariances, by halves of the draws.

    Parameters
    ----------
    of
        The regression; its draws are added up here.
    log_noise, noise
        With the log precision and the precision, shape (2, arms).
    first, second
        With coefficients, and with their products, both times the precision of a normal child, shapes (2, arms, p) and
        (2, arms, p, p), the intercept first.
    slope
        With the coefficients themselves, shape (p,).
    mean, square
        Mean of the coefficients, and of their products, shapes (p,) and (p, p).
    information
        Mean precision, shape (arms,).
    by_beside, beside
        With what the family has beside its predictor, shape (2, m), and the mean of that, shape (m,).
    """

    of: Regressed
    log_noise: FloatArray
    noise: FloatArray
    first: FloatArray
    second: FloatArray
    slope: FloatArray
    mean: FloatArray
    square: FloatArray
    information: FloatArray
    by_beside: FloatArray
    beside: FloatArray

    def over(self, columns: Columns) -> Answering:
        """Return the same over more columns; those that are not here have no coefficient."""
        place = {name: 1 + i for i, name in enumerate(columns.names)}
        places, m = np.array([0, *(place[name] for name in self.of.columns.names)]), self.of.predictors
        places, p = (places[:, None] * m + np.arange(m)).ravel(), (1 + len(columns)) * m
        of = replace(self.of, columns=columns, coefficients=np.zeros((0, p)))
        vector, matrix = (places,), np.ix_(places, places)
        return Answering(
            of, self.log_noise, self.noise, _put(self.first, vector, p), _put(self.second, matrix, p),
            _put(self.slope, vector, p), _put(self.mean, vector, p), _put(self.square, matrix, p), self.information,
            self.by_beside, self.beside,
        )  # fmt: skip

    def beside_of(self, other: Answering) -> Answering:
        """Return the same with as much beside the predictor: arms that share it, each with its own."""
        times = max(len(other.beside) // max(len(self.beside), 1), 1)
        return replace(self, by_beside=np.tile(self.by_beside, times), beside=np.tile(self.beside, times))

    def __add__(self, other: Answering) -> Answering:
        """Return what two models say of the same child."""
        one, two = self, other
        if self.of.columns.names != other.of.columns.names:
            columns = _union(self.of.columns, other.of.columns)
            one, two = self.over(columns), other.over(columns)
        one, two = one.beside_of(two), two.beside_of(one)
        names = (
            "log_noise",
            "noise",
            "first",
            "second",
            "slope",
            "mean",
            "square",
            "information",
            "by_beside",
            "beside",
        )
        of = one.of if len(self.beside) >= len(other.beside) else two.of
        return Answering(of, *(getattr(one, name) + getattr(two, name) for name in names))


def _put(values: FloatArray, places: tuple[IntArray, ...], size: int) -> FloatArray:
    """Return an array whose last axes, one for each of `places`, are `size` long."""
    out = np.zeros((*values.shape[: values.ndim - len(places)], *(size for _ in places)))
    where: Any = (..., *places)
    out[where] = values
    return out


def _union(a: Columns, b: Columns) -> Columns:
    new = [i for i, name in enumerate(b.names) if name not in set(a.names)]
    made = (*a.made, *(b.made[i] for i in new))
    return Columns(made, np.append(a.center, b.center[new]), np.append(a.scale, b.scale[new]))


# -- one pass over the draws -------------------------------------------------------------------------------------------


def present(joints: Sequence[Joint]) -> FloatArray:
    """Return the draws that are an effect, of all models."""
    return np.concatenate([joint.effect[joint.effect != 0.0] for joint in joints])


def answering(joints: Sequence[Joint]) -> dict[str, Answering]:
    """Return how the effect, where there is one, answers to the regressions; all draws are of one table.

    Parameters
    ----------
    joints
        Draws of each model.
    """
    halves = [np.concatenate([_kept(joint)[half::2] for joint in joints]) for half in (0, 1)]
    means, sizes = [part.mean() for part in halves], [max(len(part) - 1, 1) for part in halves]
    found: dict[str, list[Answering]] = {}
    for joint in joints:
        there = joint.effect != 0.0
        effect = joint.effect[there]
        if not effect.size:
            continue
        gap = np.zeros((2, len(effect)))
        for half in (0, 1):
            gap[half, half::2] = (effect[half::2] - means[half]) / sizes[half]
        for of in (part for one in joint.regressed for part in one.seen):
            found.setdefault(of.name, []).append(_answering(of, there, gap, sum(map(len, halves))))
    return {name: reduce(lambda a, b: a + b, parts) for name, parts in found.items()}


def _kept(joint: Joint) -> FloatArray:
    return np.asarray(joint.effect[joint.effect != 0.0])


def _answering(of: Regressed, there: BoolArray, gap: FloatArray, size: int) -> Answering:
    theta, precision = of.coefficients[there], of.precision[:, there]
    beside = np.zeros((len(theta), 0)) if of.beside is None else of.beside[there]
    inside = precision if of.family is None else np.ones((1, len(theta)))
    weights = gap[:, None, :] * inside[None]
    return Answering(
        of,
        gap @ np.log(precision).T,
        gap @ precision.T,
        weights @ theta,
        np.array([[(theta * weight[:, None]).T @ theta for weight in half] for half in weights]),
        0.5 * gap.sum(axis=0) @ theta,
        theta.sum(axis=0) / size,
        theta.T @ theta / size,
        precision.sum(axis=1) / size,
        gap @ beside,
        beside.sum(axis=0) / size,
    )


# -- one pass over the rows --------------------------------------------------------------------------------------------


def row_moves(found: Sequence[Answering], table: RowTable, clusters: int = 0) -> Moves:
    """Return how far the effect moves with each row or cluster.

    Single rows are those of leaving them out, larger by their leverage h (``1 / (1 - h)``, which least squares knows as
    HC3: cautious where rows are few); clusters are made as large as they would be without theirs (``1 / sqrt(1 - h)``,
    CR2: right on average if rows are independent).

    Parameters
    ----------
    found
        How it answers to each regression.
    table
        All rows.
    clusters
        Their number; 0: every row is a piece, and one that stands for several counts as these.
    """
    parts = [_row_moves(item, table) if not clusters else _clustered(item, table, clusters) for item in found]
    return Moves(sum((psi for psi, _ in parts), np.zeros((2, 1))), sum(expected for _, expected in parts))


def _row_moves(item: Answering, table: RowTable) -> tuple[FloatArray, float]:
    """Return the moves by way of one child, shape (2, rows), and the sum of squares that its noise would give."""
    found, expected = [], 0.0
    for _, weight, seen in _looked_at(item, table):
        expected += float(weight @ seen.square)
        inside = (seen.inside + item.of.share) * (weight if table.marks.effective else 1.0)
        count = weight if table.marks.effective else np.sqrt(weight)
        found.append(seen.psi * count / _left(inside))
    return np.concatenate(found, axis=1), expected


def _left(leverage: FloatArray) -> FloatArray:
    """Return one less the leverage of pieces: what leaving one out is larger by than counting it a little less."""
    return 1.0 - np.clip(leverage, 0.0, _MOST_LEVERAGE)


def _clustered(item: Answering, table: RowTable, count: int) -> tuple[FloatArray, float]:
    """Return the moves of clusters by way of one child, shape (2, clusters), and what its noise would give."""
    assert table.marks.cluster is not None
    psi, products, squares = np.zeros((2, count)), np.zeros((count, len(item.slope))), np.zeros(count)
    for rows, weight, seen in _looked_at(item, table):
        places = rows.values[table.marks.cluster].astype(np.int64)
        psi += np.array([np.bincount(places, half * weight, count) for half in seen.psi])
        square, product = seen.weighed(weight, _design(item, rows))
        squares += np.bincount(places, square, count)
        np.add.at(products, places, product)
    return psi / np.sqrt(_left(_leverage(item, products, squares))), float(squares.sum())


def _leverage(item: Answering, products: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the leverage of clusters in the direction that matters for the effect, shape (clusters,).

    That of the vector ``X slope``: its products with the columns, shape (clusters, p), through the covariance of the
    coefficients, over its own square.
    """
    spread = item.square - np.outer(item.mean, item.mean)
    spread[0, 0] += item.of.share / float(item.information.mean())
    return np.divide(_forms(spread, products), squares, out=np.zeros(len(squares)), where=squares > 0)


def _looked_at(item: Answering, table: RowTable) -> Iterator[tuple[RowValues, FloatArray, Seen | SeenLevels]]:
    """Yield batches of rows, how much each counts, and what `_of_rows` says of them."""
    weigh = _weigher(item.of, table)
    for batch in Rows(table).batches():
        rows = RowValues(batch.values, item.of.fold(batch.values))
        yield rows, weigh(rows), _of_rows(item, rows)


def _design(item: Answering, rows: RowValues) -> FloatArray:
    """Return a one and the columns of some rows, shape (rows, p)."""
    return np.column_stack([np.ones(rows.count), item.of.columns.of(rows)])


def _weigher(of: Regressed, table: RowTable) -> Callable[[RowValues], FloatArray]:
    """Return what says how much each row counts in a child's regression: nothing where it was set, or filled in."""
    marks, factor = table.marks, 1.0
    if marks.weight is not None and marks.effective:
        kept = [_weights(of, marks, rows) for rows in Rows(table).batches()]
        factor = sum(map(np.sum, kept)) / sum(float(part @ part) for part in kept)
    return lambda rows: factor * _weights(of, marks, rows)


def _weights(of: Regressed, marks: Marks, rows: RowValues) -> FloatArray:
    own = np.ones(rows.count) if marks.weight is None else rows.values[marks.weight]
    sides = [(marks.was_set.get(of.child), False), (marks.unseen.get(of.child), False)]
    for mark, was_set in (*sides, *((marks.was_set.get(name), is_so) for name, is_so in of.when)):
        if mark is not None:
            own = np.where((rows.values[mark] != 0.0) == was_set, own, 0.0)
    return own if of.reading is None else np.where(of.reading(rows.values[of.child])[1], own, 0.0)


def design_and_information(item: Answering, rows: RowValues) -> tuple[FloatArray, FloatArray]:
    """Return a one and the columns of some rows, shape (rows, p), and what each row says of its predictor."""
    seen = _of_rows(item, rows)
    return _design(item, rows), np.maximum(seen.information, 0.0)


def _of_rows(item: Answering, rows: RowValues) -> Seen | SeenLevels:
    """Return what some rows say of the effect."""
    design = _design(item, rows)
    if item.of.predictors > 1:
        return _of_levels(item, design, rows.values[item.of.child])
    slope, mean = design @ item.slope, design @ item.mean
    spread = np.maximum(_forms(item.square, design) - mean**2, 0.0)
    values = rows.values[item.of.child]
    child = ((values if item.of.reading is None else item.of.reading(values)[0]) - item.of.center) / item.of.unit
    if item.of.family is not None:
        psi, information = _expanded(item, rows, design, child, mean, spread)
        return Seen(psi, slope, information, spread)
    second = item.of.arm(rows)
    arm = np.zeros(rows.count, dtype=np.int64) if second is None else second.astype(np.int64)
    return Seen(_normal(item, design, child, arm), slope, item.information[arm], spread)


def _of_levels(item: Answering, design: FloatArray, child: FloatArray) -> SeenLevels:
    """Return the same of rows of a category."""
    assert isinstance(item.of.family, Categorical)
    return seen_levels(
        item.of.family, design, child, item.mean, item.square, item.slope, item.first[:, 0], item.second[:, 0]
    )


def _normal(item: Answering, design: FloatArray, child: FloatArray, arm: IntArray) -> FloatArray:
    """Return the covariance with ``(log precision - precision (child - predictor)^2) / 2``, shape (2, rows)."""
    out = np.empty((2, len(child)))
    for half in (0, 1):
        for place in np.unique(arm):
            own = arm == place
            square = _forms(item.second[half, place], design[own]) + child[own] ** 2 * item.noise[half, place]
            product = child[own] * (design[own] @ item.first[half, place])
            out[half, own] = 0.5 * (item.log_noise[half, place] - square) + product
    return out


def _expanded(
    item: Answering, rows: RowValues, design: FloatArray, child: FloatArray, mean: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return moves (2, rows) and information (rows,) of a child that is not normal."""
    family = item.of.family
    assert family is not None
    offset = None if family.offset is None else rows.values[family.offset]
    step = max(float(np.sqrt(spread.mean())), _LEAST_STEP)
    read = tuple(rows.values[name] for name in family.reads)
    batch, draws = Batch(mean[:, None], child, offset, read=read), _nearby(item, step)
    values = family.log_likelihood_by_row(batch, draws)
    low, middle, high = values[:, :3].T
    gradient, curvature = (high - low) / (2.0 * step), (high - 2.0 * middle + low) / step**2
    apart = np.column_stack([item.log_noise[:, :1], item.by_beside]) * (0.0 if family.is_line else 1.0)
    psi = apart @ (values[:, 4::2] - values[:, 3::2]).T / (2.0 * _APART_STEP)  # lines do not depend on their noise
    for half in (0, 1):
        slope = design @ item.first[half, 0]
        psi[half] += gradient * slope + 0.5 * curvature * (_forms(item.second[half, 0], design) - 2.0 * mean * slope)
    return psi, -curvature


def _nearby(item: Answering, step: float) -> Draws:
    """Return draws below, at and above the mean predictor, and then below and above in log noise and what is beside."""
    size = 1 + len(item.beside)
    moved = np.vstack([np.zeros((3, size)), _APART_STEP * np.kron(np.eye(size), np.array([[-1.0], [1.0]]))])
    intercept = np.concatenate([[-step, 0.0, step], np.zeros(2 * size)])
    precision = float(item.information[0]) * np.exp(moved[:, 0])
    return Draws(intercept, np.ones((len(moved), 1)), precision, item.beside + moved[:, 1:])


def _forms(matrix: FloatArray, rows: FloatArray) -> FloatArray:
    """Return ``r' M r`` of each row, shape (rows,)."""
    return np.asarray(np.einsum("ij,ij->i", rows @ matrix, rows))


# -- moments of clusters -----------------------------------------------------------------------------------------------


def cluster_moves(found: Sequence[Answering], rows: RowGroups) -> Moves:
    """Return how far the effect moves with each cluster, from its moments: all children are normal and straight."""
    place = {cluster: i for i, cluster in enumerate(rows.clusters)}
    total, expected = np.zeros((2, len(place))), 0.0
    for item in found:
        psi, vectors, squares = np.zeros((2, len(place))), np.zeros((len(place), len(item.slope))), np.zeros(len(place))
        own = item.of.among(rows).inside
        factor, information = _factor(own), float(item.information[0])
        for cluster, products in _products(item, own):
            i, vector = place[cluster], factor * information * products[1:, 1:] @ item.slope
            psi[:, i] += factor * _of_products(item, products)
            vectors[i] += vector
            squares[i] += item.slope @ vector
        total += psi / np.sqrt(_left(_leverage(item, vectors, squares)))
        expected += float(squares.sum())
    return Moves(total, expected)


def _factor(rows: RowGroups) -> float:
    """Return what weights are multiplied by: rows of a sample count as their effective number."""
    return sum(g.moments.n for g in rows.groups) / sum(g.squares for g in rows.groups) if rows.effective else 1.0


def _products(item: Answering, rows: RowGroups) -> Iterator[tuple[Hashable, FloatArray]]:
    """Yield, for each group of rows, sums of products of child, one, and columns."""
    for group in rows.groups:
        if group.moments.n > 0:
            yield group.cluster, _sums(item.of, group.moments)


def _sums(of: Regressed, moments: MomentsRecord) -> FloatArray:
    """Return ``sum(u u')`` with u the child, a one and the columns in working units, shape (k + 2, k + 2)."""
    part = moments.select((of.child, *of.columns.names))
    scale = np.append(of.unit, of.columns.scale)
    mean = (part.mean - np.append(of.center, of.columns.center)) / scale
    around = np.insert(np.insert(part.scatter / np.outer(scale, scale), 1, 0.0, axis=0), 1, 0.0, axis=1)
    middle = np.insert(mean, 1, 1.0)
    return np.asarray(around + part.n * np.outer(middle, middle))


def _of_products(item: Answering, products: FloatArray) -> FloatArray:
    """Return the covariance with the log-likelihood of some rows, shape (2,)."""
    square = np.einsum("hij,ij->h", item.second[:, 0], products[1:, 1:]) + item.noise[:, 0] * products[0, 0]
    count = products[1, 1]
    return np.asarray(0.5 * (item.log_noise[:, 0] * count - square) + item.first[:, 0] @ products[0, 1:])
