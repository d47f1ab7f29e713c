"""The compiled parts of variational Bayes against numpy's linear algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from alldags.kernels.mixtures import coefficients as kernel
from alldags.kernels.mixtures.ascent import extrapolate, global_term, global_update
from alldags.kernels.mixtures.mixing import (
    best_update,
    bound_term,
    scaled_exponential_integrals,
    weight_and_slope,
)
from alldags.kernels.noise import NoiseTerm

pytestmark = pytest.mark.kernels


@pytest.fixture(params=["full", "low rank"])
def node(request, rng):
    """Factor, shift, weights, G and b of 7 coefficients."""
    f = rng.standard_normal((7, 7 if request.param == "full" else 4))
    y = rng.standard_normal(f.shape[1])
    weight = rng.uniform(0.2, 5.0, 7)
    g, b = f @ f.T, f @ y
    return (g, b, weight, g, b) if request.param == "full" else (f, y, weight, g, b)


def numpy_factor(g, b, weight):
    inverse = np.linalg.inv(g + np.diag(weight))
    return inverse, inverse @ b, np.linalg.slogdet(g + np.diag(weight))[1], b @ inverse @ b


def mean_of(factor, weight, state):
    mean = np.empty(len(weight))
    kernel.write_mean(factor, weight, state, mean)
    return mean


def test_refresh(node):
    factor, shift, weight, g, b = node
    size = factor.shape[1]
    space, state = np.empty((4, size, size)), np.empty(size)
    found = kernel.refresh(factor, shift, weight, space, state)
    inverse, mean, log_determinant, fit = numpy_factor(g, b, weight)
    np.testing.assert_allclose(found, (log_determinant, fit), rtol=1e-12)
    np.testing.assert_allclose(mean_of(factor, weight, state), mean, rtol=1e-10)
    e = np.empty(7)
    kernel.write_second_moments(factor, weight, mean, 1.7, space[0], space[1, 0], e)
    np.testing.assert_allclose(e, np.diag(inverse) + 1.7 * mean**2, rtol=1e-10)


@pytest.mark.parametrize("known", [True, False])
def test_one_round_is_one_exact_coordinate_step_after_the_other(node, known):
    factor, shift, weight, g, b = node
    size = factor.shape[1]
    total, shape, rate = 60.0, 9.0, 0.5
    code, p, q = 0, 0.3, 0.2
    fixed = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    log_e = np.log(np.linspace(0.1, 3.0, 7))
    weight = np.array(
        [f if f > 0 else weight_and_slope(code, math.exp(x), p, q)[0] for f, x in zip(fixed, log_e, strict=True)]
    )
    expected = weight.copy()
    for i in np.flatnonzero(fixed == 0.0):
        inverse, mean, _, fit = numpy_factor(g, b, expected)
        precision = 1.0 if known else shape / (rate + 0.5 * (total - fit))
        data, pull = 1 / inverse[i, i] - expected[i], mean[i] / inverse[i, i]
        e = best_update(code, math.exp(log_e[i]), data, precision * pull**2, p, q)
        expected[i] = weight_and_slope(code, e, p, q)[0]
    space, state = np.empty((4, size, size)), np.empty(size)
    numbers = kernel.refresh(factor, shift, weight, space, state)
    active, noise, floor = np.ones(7, dtype=bool), NoiseTerm(known, rate + 0.5 * total, shape, 0.0), np.full(7, -20.0)
    tail = (floor, active, 1e-9, log_e.copy(), weight, space, state, *numbers)
    if size == 7:
        found = kernel.round_full(fixed, noise, code, p, q, *tail)
    else:
        found = kernel.round_low_rank(factor, fixed, noise, code, p, q, *tail)
    _, mean, log_determinant, fit = numpy_factor(g, b, expected)
    np.testing.assert_allclose(weight, expected, rtol=1e-8)
    np.testing.assert_allclose(found, (log_determinant, fit), rtol=1e-8)
    np.testing.assert_allclose(mean_of(factor, weight, state), mean, rtol=1e-7)


@pytest.mark.parametrize(
    ("code", "p", "q"), [(0, 1e-6, 1e-6), (0, 2.0, 0.5), (1, 3.0, 0.0), (2, 0.5, 0.005), (3, 9.0, 0.0)]
)
@pytest.mark.parametrize(("data", "pull"), [(5.0, 0.1), (50.0, 400.0), (20.0, 30.0)])
def test_best_update_is_the_maximum_along_one_coordinate(code, p, q, data, pull):
    def bound(e):
        w, _ = weight_and_slope(code, e, p, q)
        return -0.5 * math.log(w + data) + 0.5 * pull / (w + data) + bound_term(code, e, w, p, q)

    best = best_update(code, 0.5, data, pull, p, q)
    assert bound(best) >= bound(0.5)
    assert bound(best) >= max(bound(best * factor) for factor in (0.9, 0.99, 1.01, 1.1)) - 1e-12


@pytest.mark.parametrize("c", [1e-8, 0.3, 0.999, 1.0, 7.0, 300.0])
def test_exponential_integrals(c):
    first, second = scaled_exponential_integrals(c)
    assert first == pytest.approx(special.exp1(c) * math.exp(c), rel=1e-13)
    assert second == pytest.approx(special.expn(2, c) * math.exp(c), rel=1e-13)


@pytest.mark.parametrize(("spread", "count", "prior"), [(0.3, 5, 1.0), (40.0, 2, 100.0), (1e-6, 1, 0.01)])
def test_global_scale_solves_its_two_updates(spread, count, prior):
    g = global_update(spread, count, prior)
    auxiliary = 1.0 / (prior + g)
    assert g == pytest.approx(0.5 * (count + 1) / (auxiliary + spread), rel=1e-10)

    def bound(value):
        return global_term(value, count, prior) - value * spread

    assert bound(g) >= max(bound(1.01 * g), bound(0.99 * g))


def test_extrapolation_finds_the_limit_of_a_geometric_path():
    limit, start, ratio = np.array([1.0, -2.0, 0.5, 0.0]), np.array([2.0, 0.0, 0.0, 0.0]), 0.9
    path = np.array([limit + (start - limit) * ratio**i for i in range(3)])
    assert extrapolate(path, np.zeros(3)) == pytest.approx(10.0)
    np.testing.assert_allclose(path[0], limit, atol=1e-12)
    still = np.ones((3, 4))
    assert extrapolate(still, np.zeros(3)) == 1.0
