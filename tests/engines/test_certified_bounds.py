"""The bound behind the certified engine: equal to its plain twin, above the sum, tight where it should be."""

from __future__ import annotations

import numpy as np
import pytest

from alldags.kernels.bounding.bounds import (
    log_ratios,
    log_total,
    residual_shift,
    tighten,
)
from alldags.kernels.bounding.stack import make_stack
from alldags.kernels.bounding.walk import chord, spread_bound, spread_bound_by_size
from alldags.kernels.noise import NoiseTerm, log_term
from alldags.kernels.subsets.block import Weights
from naive.bounds import log_bound, log_sum

pytestmark = pytest.mark.kernels


def random_system(rng: np.random.Generator, k: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = rng.standard_normal((k + 4, k)) @ (np.eye(k) + spread * rng.standard_normal((k, k)) / np.sqrt(k))
    a = x.T @ x + 0.1 * np.eye(k)
    scale = 1 / np.sqrt(np.diag(a))
    a = a * np.outer(scale, scale)
    return a, 3 * rng.standard_normal(k) * rng.random(k), rng.uniform(-4, 1, k)


def tightened(a, b, log_factor, slope, has_determinant=True, first=0):
    k = len(b)
    log_odds, lam, t, g, log_x = (np.zeros(k) for _ in range(5))
    assert tighten(
        a, b, first, log_factor, has_determinant, slope, log_odds, lam, t, g, log_x,
        np.zeros((3, k, k)), np.zeros((4, k)),
    )  # fmt: skip
    residual_shift(a, b, first, t, g)
    value = log_total(log_ratios(b, first, log_odds, slope, lam, t, g, log_x), first, log_x)
    return value, log_odds, lam, t, log_x


@pytest.mark.parametrize("has_determinant", [True, False])
def test_bound_is_feasible_equals_its_twin_and_lies_above_the_sum(rng, has_determinant):
    gaps = []
    for _ in range(60):
        k = int(rng.integers(1, 10))
        a, b, log_factor = random_system(rng, k)
        slope = float(rng.uniform(0.2, 2))
        value, log_odds, lam, t, _ = tightened(a, b, log_factor, slope, has_determinant)
        assert np.linalg.eigvalsh(a - np.diag(lam))[0] > 0
        assert value == pytest.approx(log_bound(a, b, log_odds, slope, lam, t), abs=1e-9)
        gaps.append(value - log_sum(a, b, log_factor, slope, has_determinant))
    assert min(gaps) >= -1e-9
    assert np.median(gaps) < 1.0  # a bound that is not sharp would be true but useless


def test_bound_is_an_equality_for_orthogonal_parents(rng):
    a, b, log_factor = random_system(rng, 6)
    a = np.diag(rng.uniform(0.5, 2, 6))
    exact = log_sum(a, b, log_factor, 0.5, True)
    diagonal = np.diag(a)
    inclusion = 1 / (1 + np.exp(-(log_factor - 0.5 * np.log(diagonal) + 0.5 * b**2 / diagonal)))
    best = log_bound(a, b, log_factor - 0.5 * np.log(diagonal), 0.5, diagonal * (1 - 1e-12), inclusion * b / diagonal)
    assert best == pytest.approx(exact, abs=1e-9)
    value, *_ = tightened(a, b, log_factor, 0.5)  # stops short of the optimum: its barrier is worth a tenth of a nat
    assert exact <= value <= exact + 0.2


def test_bound_survives_inclusion_and_exclusion(rng):
    """One lam and t serve the Schur complement after any variable joined, and any smaller block."""
    for _ in range(40):
        k = 7
        a, b, log_factor = random_system(rng, k)
        _, log_odds, lam, t, _ = tightened(a, b, log_factor, 0.5)
        v = int(rng.integers(0, k - 1))
        rest = np.arange(v + 1, k)
        schur = a[np.ix_(rest, rest)] - np.outer(a[rest, v], a[rest, v]) / a[v, v]
        shift = b[rest] - a[rest, v] * b[v] / a[v, v]
        bound = log_bound(schur, shift, log_odds[rest], 0.5, lam[rest], t[rest])
        assert bound >= log_sum(schur, shift, log_factor[rest], 0.5, True) - 1e-9


def test_products_over_children_equal_a_plain_sum(rng):
    k, prefix = 6, 4
    for log_x in (rng.uniform(-3, 2, k), rng.uniform(-3, 2, k) + 80 * (np.arange(k) == 2)):
        s = make_stack(np.zeros((k, k)), np.zeros(k), np.ones(k, dtype=bool), 0.0, k - prefix, False)
        s.log_x[:] = log_x
        spread_bound(s, 0, prefix, 0.3)
        later = np.array([np.logaddexp(0.0, log_x[c + 1 :]).sum() for c in range(prefix)])
        np.testing.assert_allclose(np.log(s.child[0, :prefix]), 0.3 + log_x[:prefix] + later, rtol=1e-12)
        np.testing.assert_allclose(s.tail[0, :prefix], s.child[0, :prefix][::-1].cumsum()[::-1], rtol=1e-12)


def test_sizes_are_counted_exactly(rng):
    k, prefix = 7, 5
    log_size = rng.uniform(-6, 0, k + 3)
    for log_x in (rng.uniform(-3, 2, k), rng.uniform(-3, 2, k) + 80 * (np.arange(k) == 3)):
        s = make_stack(np.zeros((k, k)), np.zeros(k), np.ones(k, dtype=bool), 0.0, k - prefix, False)
        s.log_x[:] = log_x
        s.size[0] = 2
        spread_bound_by_size(
            s, 0, prefix, Weights(np.zeros(k), log_size, np.zeros(1), True, NoiseTerm(True, 0.0, 0.0, 0.0), 0.0), -1.0
        )
        for c in range(prefix):
            rest = log_x[c + 1 :]
            bits = (np.arange(2 ** len(rest))[:, None] >> np.arange(len(rest))) & 1
            expected = np.logaddexp.reduce(bits @ rest + log_size[3 + bits.sum(axis=1)]) + log_x[c] - 1.0
            assert np.log(s.child[0, c]) == pytest.approx(expected, abs=1e-10)


def test_chord_lies_above_the_unknown_noise_term(rng):
    noise = NoiseTerm(False, 10.0, 25.0, 0.0)
    for _ in range(50):
        q, reach = rng.uniform(0, 12), rng.uniform(0, 7)
        slope = chord(noise, q, reach)
        gain = np.linspace(0, reach, 30)
        line = log_term(noise, q, 0) + slope * gain
        assert np.all(line >= np.array([log_term(noise, q + one, 0) for one in gain]) - 1e-9)
