"""The direct edge may be absent: the Savage-Dickey ratio against brute force, and the limit of no hidden cause."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
import lines
from alldags.effects.hidden.conditional import sample_settings
from alldags.nodes import node_problem, working_data

STUDY = ad.datasets.example()


def simulated(rng: np.random.Generator, n: int = 150, direct: float = 0.25):
    c1, c2 = rng.standard_normal((2, n))
    x = 0.5 * c1 + rng.standard_normal(n)
    m = 0.6 * x + 0.3 * c2 + rng.standard_normal(n)
    y = direct * x + 0.4 * c1 + 0.5 * m + rng.standard_normal(n)
    return np.column_stack([c1, c2, x, m, y])


NAMES = ("c1", "c2", "x", "m", "y")
GRAPH = ad.CandidateGraph.from_tiers([["c1", "c2"], ["x"], ["m"], ["y"]], 0.4)


# -- brute force -----------------------------------------------------------------------------------------------------


def log_evidence(y: np.ndarray, columns: np.ndarray, tau: float, sigma2: float) -> float:
    """Return log p(y) under y ~ N(X theta, sigma2), theta ~ N(0, tau sigma2)."""
    n, k = columns.shape
    inner = columns.T @ columns + np.eye(k) / tau
    cross = columns.T @ y
    left = y @ y - (cross @ np.linalg.solve(inner, cross) if k else 0.0)
    return -0.5 * (n * np.log(2 * np.pi * sigma2) + np.linalg.slogdet(inner * tau)[1] + left / sigma2)


def brute_force(table, slabs, f: float, noise_of_x: np.ndarray, p: float, drive: tuple[float, float]) -> float:
    """Return P(no direct edge) by summing over sets, slabs, and grids of both noises.

    Structural: given the noises, y - gamma e has coefficient zero for e, or one with the slab's prior, where e is what
    the covariates leave of x; the more probably they drive x, the more probably they show in y.
    """
    c1, c2, x, m, y = table.T
    others = [c1, c2, m]
    shown = [1 - (1 - p) * (1 - drive[0]), 1 - (1 - p) * (1 - drive[1]), p]
    both = np.column_stack([c1, c2])
    x = x - both @ np.linalg.lstsq(both, x, rcond=None)[0]
    grid = np.exp(np.linspace(-0.6, 0.9, 26))
    weights = {False: [], True: []}
    for sd_x in noise_of_x:
        for sigma2 in grid:
            shifted = y - f * np.sqrt(sigma2) / sd_x * x
            for tau, log_prior in slabs:
                for chosen in itertools.product([False, True], repeat=3):
                    pairs = zip(shown, chosen, strict=True)
                    base = log_prior + sum(np.log(q if inside else 1 - q) for q, inside in pairs)
                    columns = [col for col, inside in zip(others, chosen, strict=True) if inside]
                    for present in (False, True):
                        matrix = np.column_stack([*columns, x] if present else columns or [np.zeros((len(y), 0))])
                        log = base + np.log(p if present else 1 - p) + log_evidence(shifted, matrix, tau, sigma2)
                        weights[present].append(log)
    top = max(max(values) for values in weights.values())
    absent, here = (np.exp(np.array(weights[key]) - top) for key in (False, True))
    return float(absent.sum() / (absent.sum() + here.sum()))


@pytest.mark.parametrize(("slab", "f"), [("fixed", 0.15), ("learned", 0.0), ("learned", 0.15), ("learned", 0.3)])
def test_the_ratio_agrees_with_brute_force_over_sets_slabs_and_noise(slab, f):
    """Exact at f = 0; elsewhere up to the prior of the observed coefficient, which is of order 1/n."""
    table = simulated(np.random.default_rng(5))
    options = {"units": "raw", "intercept": False, "link": 0.0}
    grid = ad.priors.LearnedSlab(low=0.2, high=20.0, points=3)
    prior = ad.Prior(slab_variance=1.0, **options) if slab == "fixed" else ad.Prior(slab=grid, **options)
    slabs = [(1.0, 0.0)] if slab == "fixed" else list(zip(*grid.values(150), strict=True))
    effect = lines.fit(table, GRAPH, names=NAMES, prior=prior, rng=0).effect("x", "y")
    analysis = effect.sensitivity(draws=40_000)._analysis
    model = analysis.models[0][1]
    noise = np.quantile(model.treatment_noise, (np.arange(5) + 0.5) / 5)
    drives = effect.workings.totals.items[0].model.drives("x", "x")
    absent = brute_force(table, slabs, f, noise, 0.4, (drives["c1"], drives["c2"]))
    assert analysis.at_factor(f).no_direct == pytest.approx(absent, abs=0.006 if f == 0.0 else 0.03)


def test_settings_are_drawn_from_their_posterior():
    """The share of draws that came from each slab is its posterior probability, given sets and noise, too."""
    data = working_data(ad.Moments.from_table(simulated(np.random.default_rng(1)), names=NAMES), ad.Prior(), NAMES)
    problem = node_problem(data, GRAPH, ad.Prior(), "y")
    node = ad.engines.Exact()(problem, np.random.default_rng(0))
    rng = np.random.default_rng(2)
    found = sample_settings(problem, *node.draw(40_000, rng), rng)
    share = np.bincount(found.setting, minlength=len(problem.settings)) / 40_000
    np.testing.assert_allclose(share, node.weights, atol=5 * 0.5 / 200)


def test_settings_of_noise_on_a_grid_are_told_by_the_noise():
    prior = ad.Prior(slab_variance=1.0, noise=ad.priors.UnknownNoise(scales_slab=False))
    data = working_data(ad.Moments.from_table(simulated(np.random.default_rng(1)), names=NAMES), prior, NAMES)
    problem = node_problem(data, GRAPH, prior, "y")
    rng = np.random.default_rng(2)
    coefficients, variance = ad.engines.Exact()(problem, rng).draw(500, rng)
    found = sample_settings(problem, coefficients, variance, rng)
    values = np.array([1.0 / one.noise.precision for one in problem.settings])
    np.testing.assert_allclose(values[found.setting], variance)


# -- the limit of no hidden cause ------------------------------------------------------------------------------------

PRIORS = {
    "default": ad.Prior(),
    "fixed slab": ad.Prior.v01(),
    "paper": ad.Prior.paper(),
    "g-prior": ad.Prior(slab=ad.priors.GPrior()),
    "hyper-g": ad.Prior(slab=ad.priors.HyperG(points=9)),
    "number of edges learned": ad.Prior(edges=ad.priors.BetaBinomial()),
    "directions tie": ad.Prior(noise=ad.priors.EquivalentNoise()),
    "slab apart from noise": ad.Prior(slab_variance=0.5, noise=ad.priors.UnknownNoise(scales_slab=False)),
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("hits", [("x", "y"), ("x", "m", "y")], ids=["x, y", "x, m, y"])
def test_a_vanishing_cause_gives_the_ordinary_answer(prior, hits):
    """That is, the linked one: what drives the treatment shows in later regressions, whatever the graph."""
    table = simulated(np.random.default_rng(8), n=100, direct=0.15)
    effect = lines.fit(table, GRAPH, names=NAMES, prior=replace(prior, link=1.0), rng=0).effect("x", "y")
    sensitivity = effect.sensitivity(hits)
    limit = sensitivity.at(shares=dict.fromkeys(hits, 1e-10)) if len(hits) > 2 else sensitivity.at(1e-10, 1e-10)
    zero = sensitivity.at(shares=dict.fromkeys(hits, 0.0)) if len(hits) > 2 else sensitivity.at(0.0, 0.0)
    assert (zero.mean, zero.sd, (zero.low, zero.high)) == (effect.mean, effect.sd, effect.interval(0.95))
    assert abs(limit.mean - effect.mean) < 0.1 * effect.sd
    assert abs(limit.sd - effect.sd) < 0.05 * effect.sd
    assert abs(limit.low - zero.low) < 0.12 * effect.sd
    assert abs(limit.high - zero.high) < 0.12 * effect.sd
    assert limit.probability_no_direct_effect == pytest.approx(zero.probability_no_direct_effect, abs=0.04)


@pytest.mark.parametrize("prior", [ad.Prior.v01(), ad.Prior.paper()], ids=["fixed slab", "paper"])
def test_with_a_hidden_cause_of_all_the_link_makes_no_difference(prior):
    table = simulated(np.random.default_rng(8), n=100, direct=0.15)
    hits = ("x", "m", "y")
    shares = dict.fromkeys(hits, 0.2)
    pair = (lines.fit(table, GRAPH, names=NAMES, prior=replace(prior, link=link), rng=0) for link in (0.0, 1.0))
    first, other = (fit.effect("x", "y").sensitivity(hits).at(shares=shares) for fit in pair)
    assert first.mean == pytest.approx(other.mean, abs=0.05 * other.sd)
    assert first.sd == pytest.approx(other.sd, rel=0.05)


def test_instruments_do_not_correct_twice():
    """A covariate that drives the treatment and nothing else: least squares with it, less the bias, is the answer.

    If its coefficient were shrunk or left out, the treatment's would be drawn to the truth, and past it once corrected.
    """
    rng = np.random.default_rng(11)
    n, share = 400, 0.3
    c, u = rng.standard_normal((2, n))
    own = rng.standard_normal((2, n))
    x = 4.0 * c + np.sqrt(share) * u + np.sqrt(1 - share) * own[0]
    y = 0.3 * x + np.sqrt(share) * u + np.sqrt(1 - share) * own[1]
    graph = ad.CandidateGraph.from_tiers([["c"], ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
    design = np.column_stack([np.ones(n), x, c])
    slopes, left = np.linalg.lstsq(design, y, rcond=None)[:2]
    first = np.column_stack([np.ones(n), c])
    left_x = np.linalg.lstsq(first, x, rcond=None)[1]
    for link in (0.0, 1.0):
        effect = lines.fit({"c": c, "x": x, "y": y}, graph, prior=ad.Prior(link=link), rng=0).effect("x", "y")
        answer = effect.sensitivity().at(rho=share, sign="positive")
        expected = slopes[1] - answer.bias_factor * np.sqrt(left[0] / left_x[0])
        assert answer.mean == pytest.approx(expected, abs=0.15 * answer.sd)
        assert abs(answer.mean - 0.3) < 2 * answer.sd


def test_forcing_the_edge_in_would_not():
    """The test above can fail: with the direct edge certain, the mean is elsewhere."""
    table = simulated(np.random.default_rng(8), n=100, direct=0.3)
    effect = lines.fit(table, GRAPH, names=NAMES, rng=0).effect("x", "y")
    model = effect.sensitivity()._analysis.models[0][1]
    assert abs(model.parts()[0].mean() * effect.workings.unit - effect.mean) > 0.3 * effect.sd


def test_an_excluded_edge_stays_absent():
    """With x -> y excluded, what the hidden cause fakes is known, and the effect runs through m alone."""
    rng = np.random.default_rng(3)
    table = simulated(rng, n=2000, direct=0.0)
    effect = lines.fit(table, GRAPH.without_edge("x", "y"), names=NAMES, rng=0).effect("x", "y")
    answer = effect.sensitivity().at(rho=0.001)
    assert answer.probability_no_direct_effect == 1.0
    assert answer.mean == pytest.approx(effect.mean, abs=0.3 * effect.sd)


def test_certain_edges_are_never_absent():
    effect = lines.fit(simulated(np.random.default_rng(3)), GRAPH.with_edge("x", "y", 1.0), names=NAMES, rng=0).effect(
        "x", "y"
    )
    assert effect.sensitivity().at(0.2, 0.2).probability_no_direct_effect == 0.0


def test_more_candidates_than_one_word_holds(rng):
    """Sets of many terms are told apart, and solved, in another way."""
    n, k = 120, 60
    c = rng.standard_normal((n, k))
    x = c[:, 0] + rng.standard_normal(n)
    y = 0.5 * x + c[:, 0] + rng.standard_normal(n)
    names = (*(f"c{i}" for i in range(k)), "x", "y")
    edges = {(f"c{i}", "y"): 0.02 for i in range(k)} | {("c0", "x"): 0.5, ("x", "y"): 0.5}
    graph = ad.CandidateGraph(names, edges)
    table = np.column_stack([c, x, y])
    effect = lines.fit(table, graph, names=names, rng=0, engine=ad.engines.MCMC(sweeps=400)).effect("x", "y")
    limit = effect.sensitivity(draws=1000).at(1e-10, 1e-10)
    assert abs(limit.mean - effect.mean) < 0.3 * effect.sd


@pytest.mark.parametrize(("direct", "onward"), [(0.0, 0.5), (0.4, 0.0), (0.0, 0.0), (0.4, 0.5)])
def test_with_the_true_strengths_the_true_edges_are_found(direct, onward):
    """A cause of treatment, mediator and outcome, known in strength: which edges are absent shows, and the effect."""
    rng = np.random.default_rng(17)
    n, shares = 20_000, {"x": 0.3, "m": 0.2, "y": 0.3}
    u, loads = rng.standard_normal(n), {name: np.sqrt(share) for name, share in shares.items()}

    def error(name):
        return loads[name] * u + np.sqrt(1 - shares[name]) * rng.standard_normal(n)

    c1, c2 = rng.standard_normal((2, n))
    x = 0.5 * c1 + error("x")
    m = 0.6 * x + 0.3 * c2 + 0.4 * c1 + error("m")
    y = direct * x + 0.4 * c1 + onward * m + error("y")
    effect = lines.fit(np.column_stack([c1, c2, x, m, y]), GRAPH, names=NAMES, rng=0).effect("x", "y")
    answer = effect.sensitivity(["x", "m", "y"]).at(shares=shares, sign="positive")
    truth = direct + 0.6 * onward
    assert abs(effect.mean - truth) > 0.2  # ignoring it is wrong
    assert abs(answer.mean - truth) < 4 * max(answer.sd, 0.005)
    assert answer.sd < 0.03
    assert (answer.probability_no_direct_effect > 0.8) == (direct == 0.0)


def test_strengths_that_contradict_an_excluded_edge_have_an_answer():
    """Far from what the data say every draw weighs next to nothing, and still the weights add up to one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(400)
    m = x + 0.3 * rng.standard_normal(400)
    y = m + 0.3 * rng.standard_normal(400)
    graph = ad.CandidateGraph.from_edges({("x", "m"): 0.5, ("m", "y"): 0.5}, ["x", "m", "y"])
    prior = ad.Prior.paper(noise_precision=10.0)
    sensitivity = lines.fit({"x": x, "m": m, "y": y}, graph, prior=prior, rng=0).effect("x", "y").sensitivity()
    for share in (0.0, 0.5, 0.9, 0.99):
        answer = sensitivity.at(share, share)
        assert np.isfinite([answer.mean, answer.sd, answer.low, answer.high]).all()
        assert answer.low <= answer.mean <= answer.high


def test_as_many_drivers_as_rows_leave_something_of_the_treatment():
    """Only what drives the treatment is taken out of it: least squares on all candidates would take everything."""
    rng = np.random.default_rng(0)
    n, k = 60, 80
    c = rng.standard_normal((n, k))
    x = c[:, 0] + 0.5 * c[:, 1] + rng.standard_normal(n)
    y = 0.5 * x + c[:, 0] + rng.standard_normal(n)
    names = [f"c{i}" for i in range(k)]
    graph = ad.CandidateGraph.from_tiers([names, ["x"], ["y"]], 0.1).with_edge("x", "y", 1.0)
    effect = lines.fit(np.column_stack([c, x, y]), graph, names=(*names, "x", "y"), rng=0).effect("x", "y")
    limit = effect.sensitivity(draws=4000).at(1e-10, 1e-10)
    assert abs(limit.mean - effect.mean) < 0.5 * effect.sd
    assert limit.sd == pytest.approx(effect.sd, rel=0.3)
