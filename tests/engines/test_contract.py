"""One walk through the contract for every engine."""

from __future__ import annotations

import importlib.util
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags import engines
from alldags.nodes import NodePosterior
from lines import fit
from problems import PRIORS, random_node

ENGINES = sorted(engines._NAMES)
OWN = "the one of docs/how-to/add-your-own.md"

ROOT = Path(__file__).parents[2]

# a chain that is a hair above its R-hat limit says so; whether it should is tested with the engine
pytestmark = pytest.mark.filterwarnings("ignore::alldags.AlldagsWarning")


@pytest.fixture(scope="module")
def own_page():
    """What the page "Add your own" defines, run as it stands."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "tests" / "docs" / "pages.py")
    pages = importlib.util.module_from_spec(spec)
    sys.modules["pages"] = pages
    spec.loader.exec_module(pages)
    return pages.page_module(ROOT / "docs" / "how-to" / "add-your-own.md", "add_your_own")


@pytest.fixture(params=[*ENGINES, OWN])
def engine(request):
    if request.param == OWN:
        return request.getfixturevalue("own_page").SmallSets()
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
    spread = np.diag(posterior.second_moment) - posterior.mean**2  # that of a rare edge may not show in the draws
    sd = np.maximum(coefficients.std(axis=0), np.sqrt(np.maximum(spread, 0.0)))
    # draws of sampling engines are correlated and their means carry Monte-Carlo error: a loose bound for a contract
    assert (np.abs(coefficients.mean(axis=0) - posterior.mean) < 0.25 * sd + 1e-9).all()
    again, _ = posterior.draw(4000, np.random.default_rng(2))
    assert np.array_equal(coefficients, again)


def test_same_seed_same_numbers_for_any_number_of_threads(engine):
    example = ad.datasets.example(n=120)
    one, two = (
        fit(example.table, example.graph, engine=engine, rng=5, n_jobs=jobs).effects().values for jobs in (1, 2)
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


def test_the_page_s_engine_is_exact_once_its_sets_are_all_sets(own_page, rng):
    problem, _ = random_node(3, PRIORS["unknown"], 4, rows=60, certain=1)
    own, exact = own_page.SmallSets(most=3)(problem, rng), engines.Exact()(problem, rng)
    np.testing.assert_allclose(own.mean, exact.mean, rtol=1e-9)
    np.testing.assert_allclose(own.second_moment, exact.second_moment, rtol=1e-9)
    assert own.log_evidence == pytest.approx(exact.log_evidence, rel=1e-9)
    with pytest.raises(ad.AlldagsError, match="SmallSets most must be a whole number of at least 0, got -1"):
        own_page.SmallSets(most=-1)


def test_the_page_s_slab_is_a_proper_prior_and_refuses_nonsense(own_page):
    values, log_weights = own_page.HalfCauchySlab(scale=0.5, points=2001).values(rows=10)
    weights = np.exp(log_weights)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    inside = weights[np.sqrt(values) < 0.5].sum()  # half of a half-Cauchy lies below its scale
    assert inside == pytest.approx(0.5, abs=2e-3)
    with pytest.raises(ad.AlldagsError, match="HalfCauchySlab scale must be a positive finite number, got 0"):
        own_page.HalfCauchySlab(scale=0)


@pytest.mark.parametrize("names", [("a", "b"), ("a,b", "b -> c"), ('"', "[]"), ("x\ny", " ")])
def test_the_page_s_format_returns_what_it_wrote(own_page, names):
    graph = ad.CandidateGraph.from_edges({names: 0.3}, variables=[*names, "alone"])
    assert own_page.parse(own_page.write(graph), 0.5) == graph
