"""Several variables set at once: against every graph and every path, and another enumeration."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

import alldags as ad
from lines import fit
from naive import effects as naive
from problems import PRIORS, random_world

EXACT = {"rel": 1e-12, "abs": 1e-12}
CASES = [(seed, name) for name in PRIORS for seed in range(4)]


@cache
def world_and_fit(seed, prior):
    world = random_world(seed, PRIORS[prior])
    return world, world.fit()


def expected(world, scenarios):
    """Return mean and variance of a combination of mean outcomes of the last variable, from all graphs."""
    mean = dict(zip(world.names, world.rows.mean(axis=0), strict=True))
    place, last = world.names.index, world.names[-1]
    moved = [(weight, {place(n): x - mean[n] for n, x in values.items()}) for weight, values in scenarios]
    prior = world.prior
    found = naive.joint(world.naive_rows, world.probability, prior.slab_variance, world.naive_noise, moved, place(last))
    return found[0] + sum(weight for weight, _ in scenarios) * mean[last], *found[1:]


@pytest.mark.parametrize(("seed", "prior"), CASES)
def test_joint_outcomes_are_those_of_every_graph_and_every_path(seed, prior):
    world, posterior = world_and_fit(seed, prior)
    last = world.names[-1]
    for values in ({"a": 1.2, "c": -0.4}, {"a": 0.5, "b": 1.0, "d": 2.0}, {"b": -1.0, "d": 0.3}):
        mean, variance, _ = expected(world, [(1.0, values)])
        found = posterior.do(values, outcome=last).mean
        assert found.mean == pytest.approx(mean, **EXACT)
        assert found.sd**2 == pytest.approx(variance, rel=1e-9, abs=1e-12)
        assert found.draws.mean() == pytest.approx(mean, abs=5 * found.sd / 140 + 1e-9)
        assert found.draws.std() == pytest.approx(found.sd, rel=0.1, abs=1e-9)


@pytest.mark.parametrize(("seed", "prior"), CASES)
def test_differences_of_scenarios_that_set_different_variables(seed, prior):
    world, posterior = world_and_fit(seed, prior)
    last, one, other = world.names[-1], {"a": 1.2, "c": -0.4}, {"b": 0.7}
    mean, variance, none = expected(world, [(1.0, one), (-1.0, other)])
    found = posterior.do(one, outcome=last).minus(posterior.do(other, outcome=last))
    assert found.mean == pytest.approx(mean, **EXACT)
    assert found.sd**2 == pytest.approx(variance, rel=1e-9, abs=1e-12)
    assert found.probability_no_effect == pytest.approx(none, abs=0.02)
    assert found.draws.std() == pytest.approx(found.sd, rel=0.1, abs=1e-9)


def test_one_regression_by_an_enumeration_of_its_own():
    """y on a, b and c, of which b may come from a: ridge regressions on all eight sets, weighed by their densities."""
    rng = np.random.default_rng(5)
    n, tau, precision = 30, 0.8, 1.3
    a, c = rng.standard_normal((2, n))
    b = 0.5 * a + rng.standard_normal(n)
    y = 0.4 * a - 0.6 * b + 0.1 * c + rng.standard_normal(n)
    table = {"a": a, "b": b, "c": c, "y": y}
    prior = ad.Prior(tau, ad.priors.KnownNoise(precision), "raw", link=0.0)
    edges = {("a", "b"): 0.5, ("a", "y"): 0.3, ("b", "y"): 0.6, ("c", "y"): 0.5}
    posterior = fit(table, ad.CandidateGraph.from_edges(edges), prior=prior, engine="exact", rng=0, robust=False)
    x = np.column_stack([a, b, c])
    x, centred = x - x.mean(axis=0), y - y.mean()
    log_weight, means, seconds = [], [], []
    step = np.array([1.0 - a.mean(), 2.0 - b.mean(), 0.0])
    for present in itertools.product([False, True], repeat=3):
        own, p = x[:, present], np.array([0.3, 0.6, 0.5])
        matrix = precision * own.T @ own + np.eye(own.shape[1]) / tau
        right = precision * own.T @ centred
        theta = np.linalg.solve(matrix, right)
        density = 0.5 * right @ theta - 0.5 * np.linalg.slogdet(matrix)[1] - 0.5 * own.shape[1] * np.log(tau)
        log_weight.append(density + np.log(np.where(present, p, 1 - p)).sum())
        means.append(step[list(present)] @ theta)
        seconds.append(means[-1] ** 2 + step[list(present)] @ np.linalg.solve(matrix, step[list(present)]))
    weight = np.exp(np.array(log_weight) - np.logaddexp.reduce(log_weight))
    mean, second = weight @ means, weight @ seconds
    found = posterior.do({"a": 1.0, "b": 2.0}, outcome="y").mean
    assert found.mean == pytest.approx(y.mean() + mean, abs=1e-12)
    assert found.sd == pytest.approx(np.sqrt(second - mean**2), rel=1e-10)


def test_setting_one_variable_is_what_its_effect_does():
    world, posterior = world_and_fit(1, "unknown, improper, intercept")
    effect, last = posterior.effect("a", world.names[-1]), world.names[-1]
    assert float(posterior.do({"a": 2.0}, outcome=last).mean) == float(effect.do(2.0).mean)
    raised = posterior.do(ad.shift("a", 1.0), outcome=last).minus(posterior.do(outcome=last))
    assert raised.mean == pytest.approx(effect.mean, rel=1e-12)
    assert raised.sd == pytest.approx(effect.sd, rel=1e-12)
    assert raised.probability_no_effect == effect.probability_no_effect
    gap = effect.do(2.0).minus(effect.do(0.5))
    assert (gap.mean, gap.sd) == pytest.approx((1.5 * effect.mean, 1.5 * effect.sd))
