"""Nodes that are one of several levels against enumeration of all parent sets, and the logistic node."""

from __future__ import annotations

import numpy as np
import pytest

from alldags.data.levels import Levels
from alldags.engines.auto import Auto
from alldags.engines.weighted.fit import fit_rows
from alldags.families.base import Batch, Draws
from alldags.families.categorical import Categorical, contrasts
from alldags.families.yes_no import Bernoulli
from alldags.nodes.build import NodeTerms
from alldags.nodes.rows import predictor_names
from alldags.nodes.stacked import repeated
from alldags.priors.prior import Prior
from family_problems import TAU, columns, family_rows, fit_node, yes_no
from naive.levels import enumerate_levels, log_probabilities

STRENGTHS = {"weak": [0.3, 0.0, -0.3], "strong": [1.2, -0.8, 0.0]}
CELLS = [(100, 3, "strong"), (150, 4, "weak"), (250, 3, "weak"), (400, 5, "strong")]
WORDS = tuple("abcdefgh")


def levelled(n, levels, signal, seed):
    """Columns (n, 3) and codes of levels, each of which is there at least twice."""
    rng = np.random.default_rng([n, levels, len(signal), seed])
    x = columns(n, 3, rng)
    pull = rng.standard_normal((3, levels))
    eta = x @ (np.array(STRENGTHS[signal])[:, None] * pull)
    while True:
        p = np.exp(log_probabilities(eta))
        code = (rng.random(n)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        if np.bincount(code, minlength=levels).min() > 1:
            return x, code.astype(float)


def of_levels(levels):
    return Categorical(level="a", words=WORDS[:levels])


def fitted(x, y, levels, seed=0, size=4000, family=None):
    k, family = x.shape[1], family or of_levels(levels)
    terms = NodeTerms("y", tuple(f"x{i}" for i in range(k)), (0.5,) * k)
    terms = repeated(terms, predictor_names(family.predictors))
    return fit_rows(
        family_rows(x, y, family), terms, Prior(slab_variance=TAU), Auto(), np.random.default_rng(seed), size
    )


def by_level(found, levels, c=None):
    """Means and standard deviations of the coefficients of levels, shape (k, levels)."""
    c, m = contrasts(levels) if c is None else c, levels - 1
    mean = found.mean.reshape(-1, m) @ c.T
    second = found.second_moment.reshape(len(mean), m, len(mean), m)
    square = np.array([np.einsum("la,ab,lb->l", c, second[i, :, i], c) for i in range(len(mean))])
    return mean, np.sqrt(square - mean**2)


@pytest.mark.parametrize(("n", "levels", "signal"), CELLS)
def test_a_category_is_what_enumeration_of_all_sets_says(n, levels, signal):
    x, y = levelled(n, levels, signal, 1)
    reference = enumerate_levels(x, y.astype(int), np.full(3, 0.5), TAU, levels)
    found = fitted(x, y, levels)
    inclusion = found.inclusion.reshape(3, -1)
    np.testing.assert_allclose(inclusion, np.broadcast_to(inclusion[:, :1], inclusion.shape))
    assert np.abs(inclusion[:, 0] - reference.inclusion).max() <= 0.02
    mean, sd = by_level(found, levels)
    there = reference.sd > 0.02  # less: columns in next to no set, of which few draws speak
    assert (np.abs(mean - reference.mean)[there] / reference.sd[there]).max() <= 0.08
    np.testing.assert_allclose(sd[there], reference.sd[there], rtol=0.1)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.05
    assert found.diagnostics.converged


def test_two_levels_are_a_yes_no_node():
    x, y = yes_no(200, 4, 0.5, "weak", 1)
    terms = NodeTerms("y", tuple(f"x{i}" for i in range(4)), (0.5,) * 4)
    rows = family_rows(x, y, of_levels(2))
    found = fit_rows(rows, terms, Prior(slab_variance=TAU), Auto(), np.random.default_rng(0), None)
    logistic = fit_node(x, y, family=Bernoulli())
    assert np.abs(found.inclusion - logistic.inclusion).max() <= 0.01
    spread = np.sqrt(np.diag(logistic.second_moment) - logistic.mean**2)
    assert (np.abs(found.mean - logistic.mean) / spread).max() <= 0.03
    assert found.log_evidence == pytest.approx(logistic.log_evidence, abs=0.02)


def test_the_order_of_levels_does_not_matter(rng):
    x, y = levelled(200, 4, "strong", 2)
    order = rng.permutation(4)
    moved = order[y.astype(int)].astype(float)
    one, two = (
        Categorical().labelled("y", Levels("y", WORDS[:4], tuple(np.bincount(code.astype(int)).tolist())))
        for code in (y, moved)
    )
    found, other = fitted(x, y, 4, family=one), fitted(x, moved, 4, family=two)
    np.testing.assert_allclose(other.inclusion, found.inclusion, rtol=1e-6)
    np.testing.assert_allclose(other.mean, found.mean, rtol=1e-6)
    assert other.log_evidence == pytest.approx(found.log_evidence, abs=1e-6)
    drawn = fitted(x, moved, 4)  # with other contrasts
    assert np.abs(drawn.inclusion - found.inclusion).max() < 0.01
    assert drawn.log_evidence == pytest.approx(found.log_evidence, abs=0.02)
    (mean, sd), (again, _) = by_level(found, 4, one.contrasts), by_level(drawn, 4)
    assert (np.abs(again[:, order] - mean) / sd).max() < 0.08


def test_contrasts_favour_no_level():
    for levels in (2, 3, 7):
        c = contrasts(levels)
        np.testing.assert_allclose(c @ c.T, 0.5 * (np.eye(levels) - 1.0 / levels), atol=1e-12)
        gaps = c[:, None] - c[None]  # a slab of one is a variance of one between any two levels
        np.testing.assert_allclose((gaps**2).sum(axis=2), 1.0 - np.eye(levels), atol=1e-12)


def drawn(rng, levels, size=6):
    m = levels - 1
    return Draws(
        rng.standard_normal(size), rng.standard_normal((size, 3 * m)), np.ones(size), rng.standard_normal((size, m - 1))
    )


def log_odds(x, draws, place, levels):
    """Log odds of the levels in each row, written out, shape (rows, levels)."""
    m = levels - 1
    intercepts = np.concatenate([draws.intercept[place : place + 1], draws.beside[place]])
    found = np.zeros((len(x), levels))
    for level in range(levels):
        for j in range(m):
            own = intercepts[j] + sum(x[:, i] * draws.coefficients[place, i * m + j] for i in range(3))
            found[:, level] += contrasts(levels)[level, j] * own
    return found


def test_rows_are_as_probable_as_the_softmax_of_log_odds(rng):
    x, y = levelled(50, 4, "strong", 2)
    draws, own, weight = drawn(rng, 4), of_levels(4), rng.uniform(0.5, 2.0, 50)
    rows = np.array([log_probabilities(log_odds(x, draws, i, 4))[np.arange(50), y.astype(int)] for i in range(6)]).T
    np.testing.assert_allclose(own.log_likelihood_by_row(Batch(x, y), draws), rows, rtol=1e-8)
    np.testing.assert_allclose(own.log_likelihoods([Batch(x[:9], y[:9]), Batch(x[9:], y[9:])], draws), rows.sum(axis=0))
    np.testing.assert_allclose(own.log_likelihoods([Batch(x, y, weight=weight)], draws), weight @ rows)
    weighted = own.log_likelihood_by_row(Batch(x, y, weight=weight), draws)
    np.testing.assert_allclose(weighted, weight[:, None] * rows, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_are_those_of_the_log_likelihood(rng, weighted):
    x, y = levelled(60, 4, "strong", 3)
    own = of_levels(4)
    batch = Batch(x, y, weight=rng.uniform(0.5, 2.0, 60) if weighted else None)
    at = 0.5 * rng.standard_normal(12)

    def height(point):
        draws = Draws(point[:1], point[None, 3:], np.ones(1), point[None, 1:3])
        return float(own.log_likelihoods([batch], draws)[0])

    found, step = own._sums([batch], at), 1e-4 * np.eye(12)
    slope = [(height(at + one) - height(at - one)) / 2e-4 for one in step]
    np.testing.assert_allclose(found.gradient, slope, rtol=1e-5, atol=1e-5)
    bend = [
        [sum(a * b * height(at + a * i + b * j) for a in (1, -1) for b in (1, -1)) / -4e-8 for j in step] for i in step
    ]
    np.testing.assert_allclose(found.information, bend, rtol=1e-3, atol=2e-3)
    assert found.value == pytest.approx(height(at))
    eta = np.column_stack([np.ones(60), x]) @ at.reshape(4, 3)
    gradient, information = own.derivatives(y, eta)
    each = batch.weighted(np.ones(60))
    np.testing.assert_allclose(np.einsum("na,n->a", gradient, each), found.gradient[:3], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.einsum("nab,n->ab", information, each), found.information[:3, :3], rtol=1e-9)


def test_the_quadratic_is_the_integral_over_the_other_intercepts():
    x, y = levelled(500, 3, "weak", 4)
    own, batch = of_levels(3), Batch(x, y)
    point = own.mode(_Sums("y", own, x, y), 1.0)
    quadratic = own.quadratic(tuple("abcdef"), [batch], point)
    u = np.linspace(point.beside[0] - 1.0, point.beside[0] + 1.0, 2001)[:, None]
    for move in (np.zeros(7), np.array([0.05, -0.05, 0.05, 0.0, 0.03, 0.0, -0.02])):
        z = np.tile(point.at + move, (len(u), 1))
        height = own.log_likelihoods([batch], Draws(z[:, 0], z[:, 1:], np.ones(len(u)), u))
        exact = height.max() + np.log(np.exp(height - height.max()).sum() * (u[1, 0] - u[0, 0]))
        value = quadratic.value + quadratic.gradient @ move - 0.5 * move @ quadratic.information @ move
        assert value == pytest.approx(exact, abs=0.01)


class _Sums:
    """Rows as a mode needs them."""

    def __init__(self, child, family, x, y):
        self.child, self.family, self.names, self._batch = child, family, tuple("abcdef"), Batch(x, y)

    def batches(self):
        return [self._batch]


def test_drawn_levels_are_as_frequent_as_they_are_probable(rng):
    x = rng.standard_normal((2, 3))
    own, draws = of_levels(4), drawn(rng, 4, 2)
    eta = np.moveaxis(
        np.stack([log_odds(x, draws, i, 4) @ (2.0 * contrasts(4)) for i in range(2)]), (0, 1, 2), (2, 1, 0)
    )
    expected = np.stack([np.exp(log_probabilities(log_odds(x, draws, i, 4))) for i in range(2)])  # draws, rows, levels
    np.testing.assert_allclose(own.probabilities(eta), np.moveaxis(expected, (0, 1, 2), (2, 1, 0)))
    for place, word in enumerate(own.words):
        np.testing.assert_allclose(own.asked(word).mean(eta), expected[:, :, place].T)
    level = (np.arange(4000) + 0.5) / 4000
    one = np.broadcast_to(eta[:, :1, :], (3, 4000, 2))
    codes = own.draw(one, level[:, None])
    for place in range(4):
        np.testing.assert_allclose((codes == place).mean(axis=0), expected[:, 0, place], atol=0.001)
        low, high = own.bracket(eta, np.full((2, 2), float(place)))
        assert (own.draw(eta, 0.5 * (low + high)) == place).all()
