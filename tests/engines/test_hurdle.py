"""A child that is two regressions against enumeration of all pairs of parent sets, and against its own likelihood."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import alldags as ad
from alldags.families.base import Batch, Draws
from lines import fit
from naive.amounts import log_density
from naive.amounts import one_set as amount_set
from naive.logistic import _one_set as yes_no_set

TAU, K, P = 1.0, 3, np.array([0.5, 0.3, 0.8])


def with_zeros(n, family, seed, zeros=0.4):
    rng = np.random.default_rng([n, seed])
    x = rng.standard_normal((n, K)) @ np.linalg.cholesky(0.3 ** np.abs(np.subtract.outer(range(K), range(K)))).T
    there = rng.random(n) < expit(math.log(1 / zeros - 1) + x @ [0.7, 0.3, 0.0])
    eta = 0.5 + x @ [0.0, 0.3, 0.15]
    noise = rng.gamma(1.5, 1 / 1.5, n) if family == "gamma" else np.exp(0.7 * rng.standard_normal(n))
    return x, np.where(there, np.exp(eta) * noise, 0.0)


def enumerated(x, y, family, draws=1500):
    """Posterior over all pairs of sets: chance that an edge is in either, of each union, and the log evidence."""
    rng, q = np.random.default_rng(0), 1.0 - np.sqrt(1.0 - P)
    there = y > 0.0
    sets = [np.array(mask, dtype=bool) for mask in itertools.product([False, True], repeat=K)]
    chance = [float(np.where(one, q, 1.0 - q).prod()) for one in sets]
    first = [amount_set(family, x[there][:, one], y[there], TAU, draws, rng)[0] for one in sets]
    second = [yes_no_set("bernoulli", x[:, one], there * 1.0, TAU, draws, rng, np.zeros(len(y)))[0] for one in sets]
    pairs = list(itertools.product(range(len(sets)), repeat=2))
    logs = np.array([math.log(chance[a] * chance[b]) + first[a] + second[b] for a, b in pairs])
    share = np.exp(logs - logsumexp(logs))
    union = np.array([sets[a] | sets[b] for a, b in pairs])
    return share, union, float(logsumexp(logs) + 0.5 * math.log(there.sum()))


def node_of(x, y, family):
    table = {f"x{i}": x[:, i] for i in range(K)} | {"y": y}
    graph = ad.CandidateGraph.from_edges({(f"x{i}", "y"): p for i, p in enumerate(P)})
    prior = ad.Prior(units="raw", link=0.0, slab_variance=TAU)
    return fit(table, graph, prior=prior, families={"y": ad.Hurdle(family)}, rng=0)._models.items[0].node("y")


@pytest.mark.parametrize(
    ("n", "family", "zeros"), [(60, "gamma", 0.4), (150, "lognormal", 0.6), (60, "lognormal", 0.2)]
)
def test_a_node_is_what_enumeration_of_all_pairs_of_sets_says(n, family, zeros):
    x, y = with_zeros(n, family, 1, zeros)
    found = node_of(x, y, family)
    share, union, evidence = enumerated(x, y, family)
    assert np.abs(found.inclusion - share @ union).max() <= 0.02
    assert abs(found.log_evidence - evidence) <= 0.05
    np.testing.assert_allclose(found.prior_inclusion, P, rtol=1e-12)
    masks = np.array(list(itertools.product([False, True], repeat=K)), dtype=bool)
    apart = np.array([share[~(union & mask).any(axis=1)].sum() for mask in masks])
    np.testing.assert_allclose(found.probability_disjoint(masks), apart, atol=0.02)
    for item in found.top_parent_sets(8):
        there = np.isin([f"x{i}" for i in range(K)], item.parents)
        assert item.probability == pytest.approx(share[(union == there).all(axis=1)].sum(), abs=0.02)


@pytest.mark.parametrize("family", ["gamma", "lognormal"])
def test_the_likelihood_is_that_of_zeros_and_amounts(family):
    x, y = with_zeros(40, family, 2)
    rng, size = np.random.default_rng(3), 5
    a, b = 0.3 * rng.standard_normal((2, size, K))
    intercept, phi = rng.standard_normal(size) + 0.4j, rng.standard_normal(size)
    draws = Draws(intercept, a + 1j * b, np.exp(phi))
    chance = expit(x @ b.T + 0.4)
    amount = log_density(family, np.where(y > 0, y, 1.0), x @ a.T + intercept.real, phi)
    expected = np.where(y[:, None] > 0, np.log(chance) + amount, np.log1p(-chance))
    hurdle = ad.Hurdle(family)
    np.testing.assert_allclose(hurdle.log_likelihood_by_row(Batch(x, y), draws), expected, rtol=1e-9, atol=1e-9)
    halves = [Batch(x[:20], y[:20]), Batch(x[20:], y[20:])]
    np.testing.assert_allclose(hurdle.log_likelihoods(halves, draws), expected.sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("family", ["gamma", "lognormal"])
def test_draws_have_the_mean_and_levels_are_those_of_the_draws(family):
    hurdle, rng = ad.Hurdle(family), np.random.default_rng(0)
    eta, apart = np.array([0.4 + 0.8j]), np.array([[0.5]])
    level = (np.arange(200_000) + 0.5) / 200_000
    values = hurdle.draw(np.broadcast_to(eta, level.shape), level, np.full((1, 1), 0.5))
    assert (values == 0.0).mean() == pytest.approx(1.0 - expit(0.8), abs=1e-5)
    assert values.mean() == pytest.approx(float(hurdle.mean(eta, apart)[0]), rel=1e-3)
    few = rng.choice(values, 200)
    low, high = hurdle.bracket(np.broadcast_to(eta, few.shape), few, np.full((1, 1), 0.5))
    np.testing.assert_array_equal(low[few == 0.0], 0.0)
    np.testing.assert_allclose(high[few == 0.0], 1.0 - expit(0.8))
    again = hurdle.draw(np.broadcast_to(eta, few.shape), high, np.full((1, 1), 0.5))
    np.testing.assert_allclose(again[few > 0.0], few[few > 0.0], rtol=1e-6)


def test_what_each_part_has_is_not_asked_of_both():
    with pytest.raises(ad.AlldagsError, match="two regressions, each of which is fitted by itself"):
        ad.Hurdle().prior(ad.Prior())
