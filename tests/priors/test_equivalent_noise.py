"""The score-equivalent noise prior: one inverse-Wishart prior of all variables, blind to what data cannot tell."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.engines.conjugate.noise import log_term, residual_rate, shape_of
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.errors import EngineError, PriorError
from alldags.nodes import NodeProblem
from alldags.priors.grid import Setting
from lines import fit
from naive.equivalent import brute_force, log_node
from problems import make_problem


def make_rows(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    x = rng.normal(size=(n, k))
    x[:, 1] += 0.8 * x[:, 0]
    return np.column_stack([x, x[:, :2] @ np.array([0.7, -0.4]) + 0.6 * rng.normal(size=n)])


def random_problem(
    rng: np.random.Generator, n: int, k: int, dof: float, tau: float, certain: tuple[int, ...] = ()
) -> tuple[NodeProblem, np.ndarray]:
    rows = make_rows(rng, n, k)
    probability = rng.uniform(0.2, 0.8, size=k)
    settings = (Setting(tau, ad.priors.EquivalentNoise(dof)),)
    return make_problem(
        rows[:, :k], rows[:, k], probability=probability, certain=certain, settings=settings
    ), rows.T @ rows


@pytest.mark.parametrize(
    ("n", "k", "dof", "tau", "certain"),
    [
        (25, 5, 2.0, 1.0, ()),
        (25, 5, 3.5, 0.4, (2,)),
        (12, 6, 0.5, 2.0, (0, 3)),
        (3, 4, 0.3, 1.0, ()),
        (40, 12, 2.0, 1.0, (4,)),
    ],
)
def test_exact_equals_brute_force_with_dense_densities(rng, n, k, dof, tau, certain):
    problem, scatter = random_problem(rng, n, k, dof, tau, certain)
    truth = brute_force(scatter, n, problem.probability, dof, 1.0 / tau)
    for second_first in (False, True):
        found = ad.engines.Exact()(problem, rng)
        if second_first:
            np.testing.assert_allclose(found.second_moment, truth.second, atol=1e-9)
        assert found.log_evidence == pytest.approx(truth.log_evidence, abs=1e-8)
        np.testing.assert_allclose(found.inclusion, truth.inclusion, atol=1e-9)
        np.testing.assert_allclose(found.mean, truth.mean, atol=1e-9)
        np.testing.assert_allclose(found.second_moment, truth.second, atol=1e-9)
        np.testing.assert_allclose(found.second_moment_between, truth.between, atol=1e-9)
        assert found.noise_variance == pytest.approx(truth.noise, rel=1e-9)


def test_size_prior_and_noise_prior_add_up(rng):
    problem, scatter = random_problem(rng, 20, 4, 2.0, 1.0)
    log_size = np.array([0.0, -1.0, 0.5, -2.0, -0.3])
    even = np.full(4, 0.5)
    sized = replace(problem, probability=even, log_size=log_size)
    values = [
        log_size[len(chosen)] + log_node(scatter, 20, 4, list(chosen), 2.0, 1.0)
        for size in range(5)
        for chosen in itertools.combinations(range(4), size)
    ]
    found = ad.engines.Exact()(sized, rng)
    assert found.log_evidence == pytest.approx(np.logaddexp.reduce(values), abs=1e-9)


@pytest.mark.parametrize("engine", ["k2", "full"])
def test_single_set_engines_give_the_set_s_own_evidence(rng, engine):
    problem, scatter = random_problem(rng, 30, 5, 2.0, 0.7, certain=(3,))
    found = ad.engines.resolve(engine)(problem, rng)
    chosen = list(np.flatnonzero(found.inclusion))
    assert found.log_evidence == pytest.approx(log_node(scatter, 30, 5, chosen, 2.0, 1 / 0.7), abs=1e-9)


def test_greedy_selection_climbs_the_evidence_of_this_prior(rng):
    problem, scatter = random_problem(rng, 30, 5, 2.0, 1.0)

    def score(chosen: frozenset[int]) -> float:
        odds = sum(problem.log_odds[i] for i in chosen)
        return odds + log_node(scatter, 30, 5, sorted(chosen), 2.0, 1.0)

    chosen: frozenset[int] = frozenset()
    while True:
        best = max((chosen | {i} for i in range(5)), key=score)
        if score(best) <= score(chosen):
            break
        chosen = best
    found = ad.engines.K2()(problem, rng)
    assert set(np.flatnonzero(found.inclusion)) == set(chosen)


@pytest.mark.parametrize("certain", [(), (1,)])
def test_draws_have_the_closed_form_moments(rng, certain):
    problem, scatter = random_problem(rng, 15, 3, 2.0, 1.0, certain)
    truth = brute_force(scatter, 15, problem.probability, 2.0, 1.0)
    size = 200_000
    theta, variance = ad.engines.Exact()(problem, rng).draw(size, rng)
    error = theta.std(axis=0) / math.sqrt(size)
    np.testing.assert_array_less(np.abs(theta.mean(axis=0) - truth.mean), 5 * error + 1e-12)
    assert abs(variance.mean() - truth.noise) < 5 * variance.std() / math.sqrt(size)
    products = theta[:, :, None] * theta[:, None, :]
    error = products.std(axis=0) / math.sqrt(size)
    np.testing.assert_array_less(np.abs(products.mean(axis=0) - truth.second), 5 * error + 1e-12)


@pytest.mark.parametrize("certain", [(), (2, 5)])
def test_mcmc_agrees_with_exact(rng, certain):
    problem, _ = random_problem(rng, 40, 9, 2.0, 0.8, certain)
    exact = ad.engines.Exact()(problem, rng)
    found = ad.engines.MCMC(sweeps=4000)(problem, rng)
    error = np.array([found.linear_error(one) for one in np.eye(problem.k)])
    np.testing.assert_array_less(np.abs(found.mean - exact.mean), 5 * error + 1e-3)
    np.testing.assert_allclose(found.inclusion, exact.inclusion, atol=0.02)
    np.testing.assert_allclose(found.second_moment, exact.second_moment, atol=0.01)
    assert found.noise_variance == pytest.approx(exact.noise_variance, rel=0.01)


def dags(m: int) -> list[frozenset[tuple[int, int]]]:
    """All acyclic sets of edges."""
    pairs = list(itertools.combinations(range(m), 2))
    found = []
    for choice in itertools.product([None, 0, 1], repeat=len(pairs)):
        edges = [(a, b) if c == 0 else (b, a) for (a, b), c in zip(pairs, choice, strict=True) if c is not None]
        matrix = np.zeros((m, m))
        for a, b in edges:
            matrix[a, b] = 1
        if not np.linalg.matrix_power(matrix, m).any():
            found.append(frozenset(edges))
    return found


def markov_class(edges: frozenset[tuple[int, int]]) -> tuple[frozenset[frozenset[int]], frozenset[object]]:
    """Skeleton and colliders whose arms are not joined."""
    skeleton = frozenset(frozenset(edge) for edge in edges)
    arms = frozenset(
        (frozenset((a, c)), b)
        for a, b in edges
        for c, d in edges
        if b == d and a < c and frozenset((a, c)) not in skeleton
    )
    return skeleton, arms


@pytest.mark.parametrize(("m", "count", "classes"), [(3, 25, 11), (4, 543, 185)])
def test_markov_equivalent_graphs_have_equal_evidence(rng, m, count, classes):
    rows = rng.normal(size=(30, m))
    rows[:, 1] += 0.7 * rows[:, 0]
    rows[:, 2] += 0.5 * rows[:, 1] - 0.4 * rows[:, 0]
    settings = (Setting(0.7, ad.priors.EquivalentNoise(2.5)),)
    scores: dict[tuple[int, tuple[int, ...]], float] = {}
    for child in range(m):
        others = [i for i in range(m) if i != child]
        for size in range(m):
            for parents in itertools.combinations(others, size):
                problem = make_problem(rows[:, list(parents)], rows[:, child], probability=1.0, settings=settings)
                scores[child, parents] = ad.engines.Exact()(problem, rng).log_evidence
    found: dict[object, list[float]] = {}
    graphs = dags(m)
    for edges in graphs:
        parents = {child: tuple(sorted(a for a, b in edges if b == child)) for child in range(m)}
        found.setdefault(markov_class(edges), []).append(sum(scores[child, parents[child]] for child in range(m)))
    assert (len(graphs), len(found)) == (count, classes)
    assert max(max(values) - min(values) for values in found.values()) < 1e-9
    assert max(sum(v) / len(v) for v in found.values()) - min(sum(v) / len(v) for v in found.values()) > 1.0


def both_orders(rows: np.ndarray, prior: ad.Prior) -> tuple[float, float]:
    names = ["a", "b", "c"]
    graphs = [
        ad.CandidateGraph.from_tiers([[name] for name in order], probability=1.0) for order in (names, names[::-1])
    ]
    graphs = [ad.CandidateGraph(tuple(names), graph.edges) for graph in graphs]
    values = [fit(rows, graph, names=names, prior=prior, engine="exact").log_evidence for graph in graphs]
    return values[0], values[1]


@pytest.mark.parametrize("eps", [0.1, 0.01, 0.001])
def test_complete_orders_tie_even_if_one_variable_is_almost_the_sum_of_the_others(eps):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(500, 2))
    rows = np.column_stack([x, x.sum(axis=1) + eps * rng.normal(size=500)])
    one, other = both_orders(rows, ad.Prior(noise=ad.priors.EquivalentNoise()))
    assert one == pytest.approx(other, abs=1e-9)
    usual = both_orders(rows, ad.Prior(slab_variance=1.0))
    assert abs(usual[0] - usual[1]) > 10.0


# -- the noise function and its compiled twin ------------------------------------------------------------------------


def test_compiled_noise_function_equals_the_plain_one():
    from alldags.engines.conjugate import noise as plain
    from alldags.kernels import noise as compiled

    for known, step in ((True, 0.0), (False, 0.0), (False, 0.5)):
        term = compiled.NoiseTerm(known, 12.0, 7.5, step)
        for q in (0.0, 3.0, 23.9, 24.1):
            for size in (0, 1, 4):
                assert compiled.log_term(term, q, size) == pytest.approx(plain.log_term(term, q, size), rel=1e-14)
                assert compiled.residual_rate(term, q) == float(plain.residual_rate(term, q))
                assert compiled.shape_of(term, size) == float(plain.shape_of(term, size))
                precision = compiled.mean_precision(term, q, size)
                assert 0.5 * precision == pytest.approx(plain.slope(term, q, size), rel=1e-14)
                factor = 1.0 if known else compiled.residual_rate(term, q) * compiled.variance_factor(term, size)
                assert factor == pytest.approx(plain.mean_variance(term, q, size), rel=1e-14)


def test_gain_of_a_parent_is_the_difference_of_the_noise_function():
    from alldags.kernels.noise import NoiseTerm, log_gain

    for known, step in ((True, 0.0), (False, 0.0), (False, 0.5)):
        term = NoiseTerm(known, 12.0, 7.5, step)
        expected = log_term(term, 9.0, 3) - log_term(term, 4.0, 2)
        assert log_gain(term, float(residual_rate(term, 4.0)), 5.0, 2) == pytest.approx(expected, rel=1e-13)


def test_noise_variance_is_infinite_where_it_does_not_exist(rng):
    problem, _ = random_problem(rng, 1, 2, 0.5, 1.0)
    found = ad.engines.Exact()(problem, rng)
    assert found.noise_variance == math.inf  # 1.5 degrees of freedom without parents
    assert np.isfinite(found.second_moment).all()  # at least 2.5 with a parent
    system = conjugate_system(problem)
    none = np.zeros(2, dtype=bool)
    assert summarize_set(system, none, problem.certain).noise_variance == math.inf
    assert shape_of(system.noise, 1) == 1.25


# -- what it does not go with ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "slab",
    [
        ad.priors.LearnedSlab(),
        ad.priors.LearnedSlab(shared=True),
        ad.priors.GPrior(),
        ad.priors.HyperG(),
        ad.priors.ZellnerSiow(),
    ],
)
def test_every_learned_or_g_slab_is_refused(slab):
    with pytest.raises(
        PriorError, match=f"EquivalentNoise means a fixed slab: with {type(slab).__name__} .* slab=None"
    ):
        ad.Prior(noise=ad.priors.EquivalentNoise(), slab=slab)


@pytest.mark.parametrize("dof", [0.0, -1.0, math.inf, "2", True])
def test_bad_degrees_of_freedom_are_refused(dof):
    with pytest.raises(PriorError, match="EquivalentNoise dof must be a positive finite number, got"):
        ad.priors.EquivalentNoise(dof)


def test_certified_refuses_and_auto_samples_instead(rng):
    problem, _ = random_problem(rng, 30, 6, 2.0, 1.0)
    with pytest.raises(EngineError, match=r"'certified' cannot take EquivalentNoise\(dof=2.0\); use engine='auto'"):
        ad.engines.Certified()(problem, rng)
    assert ad.engines.Auto(max_exact=3)(problem, rng).diagnostics.engine == "mcmc"
    assert ad.engines.Auto()(problem, rng).diagnostics.engine == "exact"


@pytest.mark.parametrize("engine", ["vb", "em", "gibbs"])
def test_scale_mixtures_refuse(rng, engine):
    problem, _ = random_problem(rng, 30, 6, 2.0, 1.0)
    with pytest.raises(EngineError, match=rf"'{engine}' cannot take EquivalentNoise\(dof=2.0\); use engine='auto'"):
        ad.engines.resolve(engine)(problem, rng)
