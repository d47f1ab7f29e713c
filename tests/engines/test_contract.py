"""One walk through the contract for every engine."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import alldags as ad
from alldags import engines
from alldags.nodes import NodePosterior
from problems import PRIORS, random_node

ENGINES = sorted(engines._NAMES)

# a chain that is a hair above its R-hat limit says so; whether it should is tested with the engine
pytestmark = pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")


@pytest.fixture(params=ENGINES)
def engine(request):
    return engines.resolve(request.param)


@pytest.mark.parametrize("prior", ["known, intercept", "unknown"])
@pytest.mark.parametrize("certain", [0, 2])
def test_contract(engine, prior, certain):
    problem, _ = random_node(3, PRIORS[prior], 5, rows=60, certain=certain)
    posterior = engine(problem, np.random.default_rng(1))
    k = problem.k
    assert isinstance(posterior, NodePosterior)
    assert posterior.diagnostics.engine
    assert posterior.mean.shape == (k,)
    assert np.isfinite(posterior.mean).all()
    covariance = posterior.second_moment - np.outer(posterior.mean, posterior.mean)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
    np.testing.assert_allclose(posterior.second_moment, posterior.second_moment.T, atol=1e-12)
    assert 0 < posterior.noise_variance < math.inf
    assert posterior.mean_bound.shape == (k,)
    assert posterior.linear_error(np.ones(k)) >= 0
    if posterior.inclusion is None:
        assert posterior.shrinkage.shape == (k,)
        assert posterior.second_moment_between is None
        assert posterior.probability_disjoint(np.ones((1, k), dtype=bool)) is None
        assert posterior.top_parent_sets(3) is None
    else:
        _check_parent_sets(posterior, problem)
    _check_draws(posterior, k)


def _check_parent_sets(posterior, problem):
    k = problem.k
    assert ((posterior.inclusion >= 0) & (posterior.inclusion <= 1)).all()
    assert (posterior.inclusion[problem.certain] == 1).all()
    within = posterior.second_moment - posterior.second_moment_between
    assert np.linalg.eigvalsh(within).min() > -1e-9
    nothing, everything = posterior.probability_disjoint(np.array([[False] * k, [True] * k]))
    assert nothing == pytest.approx(1.0)
    assert 0 <= everything <= 1
    sets = posterior.top_parent_sets(4)
    probabilities = [item.probability for item in sets]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0 < sum(probabilities) <= 1 + 1e-9
    certain = {name for name, sure in zip(problem.parents, problem.certain, strict=True) if sure}
    assert all(certain <= set(item.parents) <= set(problem.parents) for item in sets)


def _check_draws(posterior, k):
    coefficients, variance = posterior.draw(4000, np.random.default_rng(2))
    assert coefficients.shape == (4000, k)
    assert variance.shape == (4000,)
    assert (variance > 0).all()
    sd = coefficients.std(axis=0)
    # draws of sampling engines are correlated and their means carry Monte-Carlo error: a loose bound for a contract
    assert (np.abs(coefficients.mean(axis=0) - posterior.mean) < 0.25 * sd + 1e-9).all()
    again, _ = posterior.draw(4000, np.random.default_rng(2))
    assert np.array_equal(coefficients, again)


def test_same_seed_same_numbers_for_any_number_of_threads(engine):
    example = ad.datasets.example(n=120)
    one, two = (
        ad.fit(example.table, example.graph, engine=engine, rng=5, n_jobs=jobs).effects().values for jobs in (1, 2)
    )
    assert np.array_equal(one, two)


def test_node_without_parents(engine):
    problem, _ = random_node(3, PRIORS["unknown"], 0, rows=20)
    posterior = engine(problem, np.random.default_rng(1))
    assert posterior.mean.shape == (0,)
    assert posterior.second_moment.shape == (0, 0)
    assert posterior.noise_variance > 0
    assert posterior.draw(3, np.random.default_rng(1))[0].shape == (3, 0)


def test_engines_are_small_frozen_values(engine):
    assert pickle.loads(pickle.dumps(engine)) == engine
    assert hash(engine) == hash(pickle.loads(pickle.dumps(engine)))
    with pytest.raises((AttributeError, TypeError)):
        engine.name = "other"


def test_unknown_engine_names_the_close_one():
    with pytest.raises(ad.AlldagsError, match="no engine 'exat'; did you mean 'exact'"):
        engines.resolve("exat")
    with pytest.raises(ad.AlldagsError, match="name or an engine object, got 3"):
        engines.resolve(3)
