"""The exact engine over several hyperparameter values equals a sum over all pairs of value and parent set."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.settings import LEAST
from alldags.engines.conjugate.system import conjugate_system
from alldags.engines.exact import Exact
from alldags.nodes import NodeProblem
from naive.sets import all_sets, brute_force
from problems import KINDS, nine_settings, random_kind


def all_pairs(problem: NodeProblem):
    """Return posterior probability, set and closed form of every pair of hyperparameter value and parent set."""
    sets = all_sets(problem)
    pairs = [
        (
            setting.log_weight,
            mask,
            summarize_set(conjugate_system(problem.with_setting(setting)), mask, problem.certain),
        )
        for setting in problem.settings
        for mask in sets
    ]
    log = np.array([prior + found.log_weight for prior, _, found in pairs])
    unit = problem.settings[0].noise.unit
    return np.exp(log - np.logaddexp.reduce(log)), [mask for _, mask, _ in pairs], [row for _, _, row in pairs], unit


@pytest.mark.parametrize("kind", KINDS)
def test_moments_and_sets_equal_the_sum_over_all_pairs(kind, rng):
    problem = nine_settings(random_kind(rng, kind, 6, certain=1))
    posterior = Exact()(problem, rng)
    w, masks, rows, unit = all_pairs(problem)
    scale = 1 + np.abs(posterior.mean).max()
    between = np.tensordot(w, [np.outer(row.mean, row.mean) for row in rows], 1)
    within = np.tensordot(w, [row.covariance for row in rows], 1)
    np.testing.assert_allclose(posterior.mean, w @ [row.mean for row in rows], atol=1e-9 * scale)
    np.testing.assert_allclose(posterior.inclusion, w @ np.array(masks), atol=1e-9)
    np.testing.assert_allclose(posterior.second_moment_between, between, atol=1e-8 * scale**2)
    np.testing.assert_allclose(posterior.second_moment, between + within, atol=1e-8 * scale**2)
    assert posterior.noise_variance == pytest.approx(unit * (w @ [row.noise_variance for row in rows]), rel=1e-9)
    queries = rng.random((12, problem.k)) < 0.3
    expected = [sum(p for p, mask in zip(w, masks, strict=True) if not (mask & query).any()) for query in queries]
    np.testing.assert_allclose(posterior.probability_disjoint(queries), expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["unknown", "g", "sizes"])
def test_the_most_probable_sets_are_those_of_the_mixture(kind, rng):
    problem = nine_settings(random_kind(rng, kind, 4))
    w, masks, _, _ = all_pairs(problem)
    total = {
        tuple(np.array(problem.terms)[mask]): sum(p for p, one in zip(w, masks, strict=True) if (one == mask).all())
        for mask in all_sets(problem)
    }
    ranked = sorted(total.items(), key=lambda pair: -pair[1])
    for found, (parents, probability) in zip(Exact()(problem, rng).top_parent_sets(4), ranked, strict=False):
        assert found.parents == parents
        assert found.probability == pytest.approx(probability, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("present", [True, False])
def test_the_mean_given_an_edge_weighs_the_values_anew(kind, present, rng):
    for _ in range(5):  # some with an edge that is all but certain, where 1 - inclusion has no correct digit
        problem = nine_settings(random_kind(rng, kind, 5))
        given = problem.with_certain(2) if present else problem.without([2])
        mean = np.insert(brute_force(given)[2], 2, 0.0) if not present else brute_force(given)[2]
        np.testing.assert_allclose(
            Exact()(problem, rng).mean_given(2, present), mean, atol=1e-9 * (1 + np.abs(mean).max())
        )


def test_only_values_with_weight_are_asked_for_more_than_first_moments(rng):
    problem = nine_settings(random_kind(rng, "unknown", 7))
    posterior = Exact()(problem, rng)
    light = [part for weight, part in zip(posterior.weights, posterior.parts, strict=True) if weight <= LEAST]
    assert 0 < len(light) < 9
    assert posterior.second_moment.shape == (7, 7)
    posterior.draw(1000, rng)
    assert not any("_second" in part.__dict__ for part in light)
    assert all("_first" in part.__dict__ for part in posterior.parts)


def test_draws_follow_the_mixture(rng):
    problem = nine_settings(random_kind(rng, "unknown", 7, certain=1))
    posterior = Exact()(problem, rng)
    size = 40_000
    coefficients, _ = posterior.draw(size, np.random.default_rng(3))
    p = posterior.inclusion
    assert (np.abs((coefficients != 0).mean(axis=0) - p) <= 4.5 * np.sqrt(p * (1 - p) / size) + 1e-12).all()
    products = coefficients[:, :, None] * coefficients[:, None, :]
    error = 4.5 * products.std(axis=0) / math.sqrt(size) + 1e-12
    assert (np.abs(products.mean(axis=0) - posterior.second_moment) < error).all()
