"""Compiled loops against slow, obvious twins."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.kernels.draws import draw_coefficients
from alldags.kernels.fastmath import fast_exp, fast_log
from alldags.kernels.noise import NoiseTerm
from alldags.kernels.sweep import greedy_parents, sweep

pytestmark = pytest.mark.kernels


def test_exponential_is_accurate_to_rounding(rng):
    x = np.concatenate([rng.uniform(-700, 700, 4000), rng.uniform(-1, 1, 4000), [0.0, -708.0, 709.0]])
    found = np.array([fast_exp(value) for value in x])
    np.testing.assert_allclose(found, np.exp(x), rtol=5e-16)
    assert fast_exp(-1e9) == pytest.approx(math.exp(-708.0))


def test_logarithm_is_accurate_to_rounding(rng):
    x = np.exp(np.concatenate([rng.uniform(-700, 700, 4000), rng.uniform(-0.1, 0.1, 4000)]))
    found = np.array([fast_log(value) for value in x])
    np.testing.assert_allclose(found, np.log(x), rtol=4e-16, atol=1e-17)


def _augmented(rng, k):
    x = rng.normal(size=(k + 5, k))
    a, b = x.T @ x + np.eye(k), rng.normal(size=k)
    return a, b, np.block([[a, b[:, None]], [b[None, :], np.zeros((1, 1))]])


def test_sweeping_gives_inverse_mean_and_quadratic_form(rng):
    a, b, t = _augmented(rng, 6)
    chosen = [0, 3, 4]
    for v in chosen:
        sweep(t, v)
    inverse = np.linalg.inv(a[np.ix_(chosen, chosen)])
    np.testing.assert_allclose(t[np.ix_(chosen, chosen)], -inverse, atol=1e-12)
    np.testing.assert_allclose(t[chosen, 6], inverse @ b[chosen], atol=1e-12)
    assert t[6, 6] == pytest.approx(-b[chosen] @ inverse @ b[chosen])


@pytest.mark.parametrize(("known", "per_parent"), [(True, 0.0), (False, 0.0), (False, 0.5)])
@pytest.mark.parametrize("determinant", [True, False])
def test_greedy_search_equals_scoring_every_neighbour(rng, known, per_parent, determinant):
    for _ in range(10):
        k = 7
        a, b, _ = _augmented(rng, k)
        total, shape, rate = float(b @ np.linalg.solve(a, b)) + 3.0, 6.0, 0.4
        noise = NoiseTerm(known, rate + 0.5 * total, shape, per_parent)
        factor, sizes = rng.normal(size=k) - 1.0, rng.normal(size=k)
        certain = np.zeros(k, dtype=bool)
        certain[2] = True

        def score(mask):
            q = float(b[mask] @ np.linalg.solve(a[np.ix_(mask, mask)], b[mask])) if mask.any() else 0.0
            value = factor[mask].sum() + sizes[(mask & ~certain).sum()]
            value -= 0.5 * np.linalg.slogdet(a[np.ix_(mask, mask)])[1] if determinant and mask.any() else 0.0
            here = shape + per_parent * (mask & ~certain).sum()
            return value + (0.5 * q if known else -here * math.log(rate + 0.5 * (total - q)))

        mask = certain.copy()
        while True:
            options = [mask | (np.arange(k) == v) for v in np.flatnonzero(~mask)]
            best = max(options, key=score, default=mask)
            if score(best) <= score(mask):
                break
            mask = best
        found, value = greedy_parents(a, b, factor, sizes, np.zeros(1), certain, None, determinant, noise)
        assert found.tolist() == mask.tolist()
        assert value == pytest.approx(score(mask))


@pytest.mark.parametrize("known", [True, False])
def test_draws_given_sets_equal_dense_solves(known, rng):
    a, b, _ = _augmented(rng, 5)
    masks = np.array([[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)
    normals, gammas, rows = rng.normal(size=masks.sum()), rng.gamma(3.0, size=4), np.array([2, 0, 3, 1])
    q = np.array([b[m] @ np.linalg.solve(a[np.ix_(m, m)], b[m]) if m.any() else 0.0 for m in masks])
    noise = NoiseTerm(known, q.max() + 1.0, 3.0, 0.0)
    found, variance = np.zeros((4, 5)), np.zeros(4)
    draw_coefficients(
        a, b, noise, masks, normals, gammas, rows, np.zeros(5, dtype=np.int64), np.zeros((7, 6)), found, variance
    )
    np.testing.assert_allclose(variance[rows], 1.0 if known else (noise.whole - 0.5 * q) / gammas, rtol=1e-12)
    for row, mask, z in zip(rows, masks, np.split(normals, masks.sum(axis=1).cumsum()[:-1]), strict=True):
        block = a[np.ix_(mask, mask)]
        noise_part = np.linalg.solve(np.linalg.cholesky(block).T, z) if mask.any() else np.zeros(0)
        expected = np.linalg.solve(block, b[mask]) + np.sqrt(variance[row]) * noise_part
        np.testing.assert_allclose(found[row][mask], expected, atol=1e-12)
        assert not found[row][~mask].any()
