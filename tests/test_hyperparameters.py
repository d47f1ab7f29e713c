"""Learned hyperparameters: grids are proper priors, converge to the integrals they stand for, and refuse nonsense."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln

import alldags as ad
from alldags.engines.conjugate.one_set import summarize_set
from alldags.engines.conjugate.system import conjugate_system
from alldags.errors import PriorError
from alldags.nodes import NodeProblem, node_problem, working_data
from alldags.priors.grid import shared_grid
from naive.hyper import log_gamma_density, log_likelihood
from naive.sets import all_sets, brute_force
from problems import make_problem

N, K = 30, 3
NAMES = ("a", "b", "c", "y")


def make_rows(rng: np.random.Generator, n: int = N) -> np.ndarray:
    x = rng.standard_normal((n, K))
    return np.column_stack([x, x @ np.array([0.6, 0.0, -0.3]) + 0.7 * rng.standard_normal(n)])


def make_moments(rows: np.ndarray) -> ad.Moments:
    mean = rows.mean(axis=0)
    return ad.Moments(len(rows), mean, (rows - mean).T @ (rows - mean), NAMES)


def node(rows: np.ndarray, prior: ad.Prior, probability: float = 0.4) -> NodeProblem:
    return make_problem(rows[:, :K], rows[:, K], prior, probability=probability, names=NAMES)


RAW = {"units": "raw", "intercept": False}


@pytest.mark.parametrize(
    "grid",
    [
        ad.priors.LearnedSlab(median=2.0, spread=1.0).values(50),
        ad.priors.HyperG(3.0).values(50),
        ad.priors.HyperG(4.0).values(50),
        ad.priors.ZellnerSiow().values(50),
    ],
    ids=["learned", "hyper-g 3", "hyper-g 4", "zellner-siow"],
)
def test_grids_are_proper_priors(grid):
    values, log_weights = grid
    assert np.all(np.diff(values) > 0)
    assert np.exp(log_weights).sum() == pytest.approx(1.0, abs=1e-12)


def log_set_evidence(problem: NodeProblem, mask: np.ndarray) -> float:
    parts = [
        setting.log_weight
        + summarize_set(conjugate_system(problem.with_setting(setting)), mask, problem.certain).log_weight
        for setting in problem.settings
    ]
    return float(np.logaddexp.reduce(parts))


def integrate(problem: NodeProblem, mask: np.ndarray, log_density, low: float, high: float) -> float:
    """Log of the integral over ``t = log(slab variance or g)`` of prior density times evidence of one set."""
    base = problem.settings[0]

    def log_integrand(t: float) -> float:
        single = problem.with_setting(replace(base, slab_variance=math.exp(t)))
        return summarize_set(conjugate_system(single), mask, problem.certain).log_weight + log_density(t)

    top = max(log_integrand(t) for t in np.linspace(low, high, 60))
    value, _ = quad(lambda t: math.exp(log_integrand(t) - top), low, high, limit=500, epsabs=0, epsrel=1e-6)
    return math.log(value) + top


def log_normal(t: float) -> float:
    return -0.5 * (t / 1.5) ** 2 - math.log(1.5 * math.sqrt(2 * math.pi))


def log_hyper_g(t: float) -> float:
    return math.log(0.5) + t - 1.5 * math.log1p(math.exp(t))


def log_zellner_siow(t: float) -> float:
    return 0.5 * math.log(N / (2 * math.pi)) - 0.5 * t - N / 2 * math.exp(-t)


@pytest.mark.parametrize(
    ("slab", "log_density", "low", "high"),
    [
        (ad.priors.LearnedSlab(1.0, 1.5, math.exp(-8), math.exp(8), points=33), log_normal, -15.0, 15.0),
        (ad.priors.HyperG(3.0), log_hyper_g, -30.0, 40.0),
        (ad.priors.ZellnerSiow(), log_zellner_siow, -4.0, 40.0),
    ],
    ids=["learned", "hyper-g", "zellner-siow"],
)
@pytest.mark.parametrize("noise", [ad.priors.UnknownNoise(), ad.priors.KnownNoise(2.0)], ids=["unknown", "known"])
@pytest.mark.parametrize("present", [(), (0,), (0, 1, 2)], ids=["none", "one", "all"])
def test_slab_grids_match_one_dimensional_integrals(rng, slab, log_density, low, high, noise, present):
    problem = node(make_rows(rng), ad.Prior(slab=slab, noise=noise))
    mask = np.zeros(K, dtype=bool)
    mask[list(present)] = True
    # the lumps at the ends of the grid leave up to a few 1e-4 of the prior's tails
    assert log_set_evidence(problem, mask) == pytest.approx(integrate(problem, mask, log_density, low, high), abs=2e-3)


@pytest.mark.parametrize("slab", [ad.priors.HyperG, ad.priors.ZellnerSiow])
def test_more_points_change_nothing_much(rng, slab):
    rows = make_rows(rng)
    usual = brute_force(node(rows, ad.Prior(slab=slab())))
    fine = brute_force(node(rows, ad.Prior(slab=slab(points=201))))
    np.testing.assert_allclose(usual[1], fine[1], atol=1e-3)
    np.testing.assert_allclose(usual[2], fine[2], atol=1e-3)


def test_the_default_grid_is_the_prior_itself():
    values, log_weights = ad.priors.LearnedSlab().values(rows=50)
    t = np.array([-2, -0.25, 1.5, 3.25, 5, 6.75, 8.5, 10.25, 12])
    weight = np.exp(-(t**2) / (2 * 2.5**2))
    np.testing.assert_allclose(np.log(values), t, atol=1e-12)
    np.testing.assert_allclose(np.exp(log_weights), weight / weight.sum(), rtol=1e-12)


def test_a_slab_that_was_not_asked_for_is_learned_where_that_is_possible():
    assert ad.Prior().slab == ad.priors.LearnedSlab()
    assert ad.Prior().slab_variance is None
    for prior in (
        ad.Prior(slab_variance=2.0),
        ad.Prior(noise=ad.priors.KnownNoise()),
        ad.Prior(noise=ad.priors.EquivalentNoise()),
        ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False)),
        ad.Prior.paper(),
        ad.Prior.v01(),
    ):
        assert prior.slab is None
        assert prior.slab_variance == (2.0 if prior == ad.Prior(slab_variance=2.0) else 1.0)
    assert (ad.Prior().link, ad.Prior.paper().link, ad.Prior.v01().link) == (1.0, 0.0, 0.0)
    assert replace(ad.Prior(), edges=ad.priors.BetaBinomial()).slab == ad.priors.LearnedSlab()
    assert replace(ad.Prior.v01(), edges=ad.priors.BetaBinomial()).slab is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ad.Prior(link=1.5), "link must be a number from 0 .* to 1, got 1.5"),
        (lambda: ad.Prior(link=True), "link must be a number from 0 .* to 1, got True"),
        (lambda: ad.priors.LearnedSlab(low=2.0, high=1.0), "LearnedSlab high must be a finite number above 2, got 1"),
        (lambda: ad.priors.LearnedSlab(low=0.0), "LearnedSlab low must be a positive finite number, got 0"),
        (lambda: ad.priors.BetaBinomial(shared=True, relative=True), "cannot be shared and relative at once"),
        (lambda: ad.priors.BetaBinomial(relative="no"), "BetaBinomial relative must be True or False, got 'no'"),
    ],
)
def test_settings_of_the_default_prior_are_checked(make, message):
    with pytest.raises(ad.AlldagsError, match=message):
        make()


def test_relative_odds_multiply_the_weight_of_the_number_of_parents(rng):
    rows = make_rows(rng)
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["y"]], 0.2)
    prior = ad.Prior(slab_variance=1.0, edges=ad.priors.BetaBinomial(relative=True))
    data = working_data(make_moments(rows), prior, NAMES)
    equal = node_problem(data, graph, prior, "y")
    np.testing.assert_allclose(equal.probability, 0.5)
    unequal = node_problem(data, graph.with_edge("a", "y", 0.5).with_edge("b", "y", 1.0), prior, "y")
    odds = unequal.probability[[0, 2]] / (1 - unequal.probability[[0, 2]])
    np.testing.assert_allclose(odds, [2.0, 0.5])  # 1 and 1/4, over their geometric mean 1/2
    assert unequal.probability[1] == 1.0
    np.testing.assert_allclose(np.exp(unequal.log_size), [1 / 3, 1 / 6, 1 / 3])


# -- slab independent of the noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [(0.0, 0.0), (2.0, 1.5)], ids=["improper", "proper"])
@pytest.mark.parametrize("n", [6, 30, 80])
def test_noise_grid_matches_the_integral_over_the_precision(rng, noise, n):
    shape, rate = noise
    rows = make_rows(rng, n)
    prior = ad.Prior(slab_variance=0.7, noise=ad.priors.UnknownNoise(shape, rate, scales_slab=False), **RAW)
    problem = node(rows, prior)
    center = math.log(n / (rows[:, 3] @ rows[:, 3]))

    def log_joint(u: float, mask: np.ndarray) -> float:
        prior_density = log_gamma_density(u, shape, rate) if shape else 0.0
        return prior_density + log_likelihood(rows[:, :3], rows[:, 3], mask, math.exp(u), 0.7)

    total = 0.0
    inclusion = np.zeros(K)
    grid = np.linspace(center - 3, center + 3, 60)
    top = max(log_joint(u, np.ones(K, dtype=bool)) for u in grid)
    for mask in all_sets(problem):
        peak = max(grid, key=lambda u, mask=mask: log_joint(u, mask))
        value, _ = quad(
            lambda u, mask=mask: math.exp(log_joint(u, mask) - top),
            peak - 40 / math.sqrt(n),
            peak + 20 / math.sqrt(n),
            limit=300,
            epsabs=0,
            epsrel=1e-9,
        )
        weight = value * 0.4 ** mask.sum() * 0.6 ** (~mask).sum()
        total += weight
        inclusion += weight * mask
    log_evidence, ours, _ = brute_force(problem)
    assert log_evidence == pytest.approx(math.log(total) + top, abs=1e-6)
    np.testing.assert_allclose(ours, inclusion / total, atol=1e-7)


def test_noise_grid_stays_small_and_covers_a_nearly_perfect_fit(rng):
    x = rng.standard_normal((200, K))
    rows = np.column_stack([x, x @ np.array([1.0, 2.0, -1.0]) + 1e-3 * rng.standard_normal(200)])
    problem = node(rows, ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False), **RAW))
    assert len(problem.settings) < 60
    single = [brute_force(problem.with_setting(setting))[0] + setting.log_weight for setting in problem.settings]
    weight = np.exp(np.array(single) - max(single))
    assert weight[0] < 1e-9
    assert weight[-1] < 1e-9


def test_separate_slab_needs_a_proper_noise_prior_without_residual(rng):
    rows = make_rows(rng, 3)
    with pytest.raises(PriorError, match="without residual"):
        node(rows, ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False), **RAW))
    proper = node(rows, ad.Prior(noise=ad.priors.UnknownNoise(2.0, 1.0, scales_slab=False), **RAW))
    assert math.isfinite(brute_force(proper)[0])


# -- edges -----------------------------------------------------------------------------------------------------------


def test_beta_binomial_sums_to_one_over_sets():
    log_size = ad.priors.BetaBinomial(2.0, 3.0).log_size(7)
    assert sum(math.comb(7, s) * math.exp(log_size[s]) for s in range(8)) == pytest.approx(1.0, abs=1e-12)


def test_beta_binomial_is_the_average_over_edge_probabilities(rng):
    rows = make_rows(rng)
    learned = brute_force(node(rows, ad.Prior(edges=ad.priors.BetaBinomial(2.0, 3.0))))
    pairs = ad.priors.BetaBinomial(2.0, 3.0).fixed_parts()
    parts = [(w, brute_force(node(rows, ad.Prior(edges=edge)))) for w, edge in pairs]
    log_weight = np.array([w + part[0] for w, part in parts])
    log_evidence = np.logaddexp.reduce(log_weight)
    assert learned[0] == pytest.approx(log_evidence, abs=1e-9)
    share = np.exp(log_weight - log_evidence)
    np.testing.assert_allclose(learned[1], share @ np.array([part[1] for _, part in parts]), atol=1e-9)


def test_shared_edges_integrate_polynomials_exactly():
    edges = ad.priors.BetaBinomial(2.0, 3.0, shared=True, points=8)
    for degree in range(16):
        value = sum(math.exp(w) * edge.probability**degree for w, edge in edges.fixed_parts())
        assert value == pytest.approx(math.exp(betaln(2.0 + degree, 3.0) - betaln(2.0, 3.0)), rel=1e-10)


def test_beta_binomial_does_not_depend_on_the_common_probability(rng):
    rows = make_rows(rng)
    prior = ad.Prior(edges=ad.priors.BetaBinomial())
    assert brute_force(node(rows, prior, 0.2))[0] == brute_force(node(rows, prior, 0.9))[0]


def test_equal_edges_replace_the_graph_probability(rng):
    rows = make_rows(rng)
    a = brute_force(node(rows, ad.Prior(edges=ad.priors.EqualEdges(0.3)), 0.8))
    b = brute_force(node(rows, ad.Prior(), 0.3))
    assert a[0] == pytest.approx(b[0], abs=1e-12)


def test_learned_edges_refuse_different_probabilities(rng):
    graph = ad.CandidateGraph.from_edges({("a", "y"): 0.5, ("b", "y"): 0.2}, variables=NAMES)
    prior = ad.Prior(edges=ad.priors.BetaBinomial())
    with pytest.raises(PriorError, match=r"edges into 'y' have different probabilities \(0.2 to 0.5\)"):
        node_problem(working_data(make_moments(make_rows(rng)), prior, NAMES), graph, prior, "y")


def test_certain_edges_stay_certain(rng):
    graph = ad.CandidateGraph.from_edges({("a", "y"): 1.0, ("b", "y"): 0.2, ("c", "y"): 0.2}, variables=NAMES)
    prior = ad.Prior(edges=ad.priors.BetaBinomial(1.0, 1.0))
    problem = node_problem(working_data(make_moments(make_rows(rng)), prior, NAMES), graph, prior, "y")
    np.testing.assert_allclose(problem.log_size, [math.log(1 / 3), math.log(1 / 6), math.log(1 / 3)])
    assert brute_force(problem)[1][0] == pytest.approx(1.0)


# -- shared hyperparameters ------------------------------------------------------------------------------------------


def test_shared_grid_is_a_product_of_priors_without_shared_parts():
    prior = ad.Prior(
        slab=ad.priors.LearnedSlab(shared=True, points=5), edges=ad.priors.BetaBinomial(shared=True, points=4)
    )
    pairs = shared_grid(prior)
    assert len(pairs) == 20
    assert sum(math.exp(w) for w, _ in pairs) == pytest.approx(1.0, abs=1e-12)
    assert not any(part.has_shared for _, part in pairs)


def test_shared_grid_leaves_other_priors_alone():
    prior = ad.Prior(slab=ad.priors.HyperG(), edges=ad.priors.BetaBinomial())
    assert shared_grid(prior) == [(0.0, prior)]


def test_one_node_cannot_tell_shared_from_own(rng):
    rows = make_rows(rng)
    own = brute_force(node(rows, ad.Prior(slab=ad.priors.LearnedSlab(points=9))))
    pairs = shared_grid(ad.Prior(slab=ad.priors.LearnedSlab(points=9, shared=True)))
    outer = np.logaddexp.reduce([w + brute_force(node(rows, part))[0] for w, part in pairs])
    assert own[0] == pytest.approx(outer, abs=1e-10)


def test_shared_hyperparameters_are_refused_node_by_node(rng):
    with pytest.raises(PriorError, match=r"expand the prior with shared_grid"):
        node(make_rows(rng), ad.Prior(slab=ad.priors.LearnedSlab(shared=True)))


# -- g-priors and validation -----------------------------------------------------------------------------------------


def test_unit_information_counts_all_rows(rng):
    assert node(make_rows(rng), ad.Prior(slab=ad.priors.GPrior())).settings[0].slab_variance == N


def test_g_prior_does_not_depend_on_the_basis(rng):
    rows = make_rows(rng)
    mixed = rows.copy()
    mixed[:, :3] = rows[:, :3] @ np.array([[2.0, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 3.0]])
    full = np.ones(K, dtype=bool)
    a, b = (
        summarize_set(conjugate_system(node(r, ad.Prior(slab=ad.priors.GPrior(20.0)))), full, ~full)
        for r in (rows, mixed)
    )
    assert a.log_weight == pytest.approx(b.log_weight, abs=1e-7)  # the ridge is 1e-10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ad.priors.GPrior(-1.0), "GPrior g must be a positive finite number, got -1.0"),
        (lambda: ad.priors.GPrior("rows"), "must be a positive number or 'n', got 'rows'"),
        (lambda: ad.priors.HyperG(2.0), "HyperG a must be a finite number above 2, got 2.0"),
        (lambda: ad.priors.HyperG(points=2), "HyperG points must be a whole number from 3 to 10001, got 2"),
        (lambda: ad.priors.LearnedSlab(median=0.0), "LearnedSlab median must be a positive"),
        (lambda: ad.priors.BetaBinomial(0.0, 1.0), "BetaBinomial a must be a positive"),
        (lambda: ad.priors.EqualEdges(1.0), "strictly between 0 and 1, got 1.0"),
        (lambda: ad.Prior(slab_variance=2.0, slab=ad.priors.GPrior()), "takes the place of slab_variance=2.0"),
        (lambda: ad.Prior(slab="g"), "slab must be GPrior, HyperG, ZellnerSiow, LearnedSlab or None, got 'g'"),
        (lambda: ad.Prior(edges=0.5), r"edges must be BetaBinomial\(...\)"),
        (
            lambda: ad.Prior(slab=ad.priors.HyperG(), noise=ad.priors.UnknownNoise(scales_slab=False)),
            "HyperG is in units of the noise variance by definition",
        ),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(PriorError, match=message):
        make()
