"""The one Cholesky of the kernels, against numpy and against the textbook's loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.kernels.linalg import (
    factorise,
    half_log_determinant,
    invert,
    solve,
    solve_backward,
    solve_forward,
)


def positive_definite(rng: np.random.Generator, k: int) -> np.ndarray:
    x = rng.standard_normal((k + 3, k))
    return x.T @ x + 0.1 * np.eye(k)


def textbook(a: np.ndarray) -> np.ndarray:
    """Lower factor, entry by entry."""
    k = len(a)
    lower, scale = np.zeros((k, k)), np.zeros(k)
    for i in range(k):
        for j in range(i + 1):
            value = a[i, j]
            for h in range(j):
                value -= lower[i, h] * lower[j, h]
            if i == j:
                scale[i] = 1.0 / math.sqrt(value)
            lower[i, j] = value * scale[j]
    return lower


@pytest.mark.parametrize(("first", "last"), [(0, 8), (3, 8), (0, 5), (2, 6), (4, 4)])
def test_factor_solves_and_inverse_equal_numpy_on_any_part(rng, first, last):
    a, b = positive_definite(rng, 8), rng.standard_normal(8)
    part = slice(first, last)
    upper = a.copy()
    assert factorise(upper, first, last, 0.0)
    np.testing.assert_allclose(np.triu(upper[part, part]), np.linalg.cholesky(a[part, part]).T, rtol=1e-12, atol=1e-14)
    below = np.tril_indices(8, -1)
    assert (upper[below] == a[below]).all()  # neither read nor written
    outside = np.ones((8, 8), dtype=bool)
    outside[part, part] = False
    assert (upper[outside] == a[outside]).all()
    forward, backward, both = b.copy(), b.copy(), b.copy()
    solve_forward(upper, first, last, forward)
    solve_backward(upper, first, last, backward)
    solve(upper, first, last, both)
    u = np.triu(upper[part, part])
    np.testing.assert_allclose(forward[part], np.linalg.solve(u.T, b[part]), rtol=1e-10)
    np.testing.assert_allclose(backward[part], np.linalg.solve(u, b[part]), rtol=1e-10)
    np.testing.assert_allclose(both[part], np.linalg.solve(a[part, part], b[part]), rtol=1e-10)
    inverse, work = np.full((8, 8), 7.0), np.full((8, 8), 7.0)
    invert(upper, first, last, inverse, work)
    np.testing.assert_allclose(inverse[part, part], np.linalg.inv(a[part, part]), rtol=1e-9, atol=1e-12)
    assert (inverse[outside] == 7.0).all()
    expected = 0.5 * np.linalg.slogdet(a[part, part])[1]
    assert half_log_determinant(upper, first, last) == pytest.approx(expected, abs=1e-12)


def test_factor_has_the_same_bits_as_the_textbook_s_order_of_operations(rng):
    for k in (1, 2, 7, 33):
        a = positive_definite(rng, k)
        upper = a.copy()
        factorise(upper, 0, k, 0.0)
        assert (np.triu(upper) == textbook(a).T).all()


def test_a_matrix_that_is_not_positive_definite_is_reported_and_leaves_nan(rng):
    a = positive_definite(rng, 5)
    a[3, 3] = -1.0
    assert not factorise(a, 0, 5, 0.0)
    assert np.isfinite(a[2]).all()
    assert np.isnan(a[3, 3])


def test_floor_raises_the_pivots_of_a_singular_matrix(rng):
    x = rng.standard_normal((6, 3))
    x = np.column_stack([x, x[:, 0]])
    a = x.T @ x
    upper = a.copy()
    assert factorise(upper, 0, 4, 1e-8)
    assert upper[3, 3] == pytest.approx(math.sqrt(1e-8 * a[3, 3]))
