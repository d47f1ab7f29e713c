"""Nodes with heavy tails against enumeration of all parent sets, the normal node, and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.engines.weighted.weighing import WeightedDraws
from alldags.families.base import Batch, Draws, Point
from alldags.families.student import _GRID, Student, _prior
from heavy_problems import fit_heavy, heavy, heavy_rows
from lines import fit
from naive.student import enumerate_student, log_joint

CELLS = [(50, 4, "t3", 4.0), (50, 4, "outliers", 3.0), (100, 3, "normal", 4.0), (30, 4, "outliers", 8.0)]


@pytest.fixture(scope="module", params=CELLS, ids=str)
def compared(request):
    n, k, noise, df = request.param
    x, y = heavy(n, k, noise, 1)
    return fit_heavy(x, y, df), *enumerate_student(x, y, np.full(k, 0.5), 1.0, df)


def test_a_node_with_heavy_tails_is_what_enumeration_of_all_sets_says(compared):
    found, reference, variance = compared
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.015
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.05
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.07)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.04
    assert found.noise_variance == pytest.approx(variance * found.family.noise_factor, rel=0.03)


def test_the_sampler_agrees_with_enumeration(monkeypatch):
    x, y = heavy(40, 4, "outliers", 2)
    reference, variance = enumerate_student(x, y, np.full(4, 0.5), 1.0, 4.0)
    monkeypatch.setattr(WeightedDraws, "can_be_trusted", lambda draws, most: False)
    found = fit_heavy(x, y)
    assert found.diagnostics.engine == "row-weights"
    assert found.diagnostics.r_hat < 1.02
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.03
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.08
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.07)
    assert found.noise_variance == pytest.approx(2.0 * variance, rel=0.05)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.04


def test_learned_slabs_certain_edges_and_size_priors_are_the_same_to_weights_and_sampler(monkeypatch):
    x, y = heavy(60, 4, "t3", 3)
    prior, chances = ad.Prior(edges=ad.priors.BetaBinomial(1, 2)), [1.0, 0.5, 0.5, 0.5]
    weighted = fit_heavy(x, y, prior=prior, probability=chances)
    monkeypatch.setattr(WeightedDraws, "can_be_trusted", lambda draws, most: False)
    sampled = fit_heavy(x, y, prior=prior, probability=chances)
    assert weighted.inclusion[0] == sampled.inclusion[0] == 1.0
    assert np.abs(sampled.inclusion - weighted.inclusion).max() < 0.03
    spread = np.sqrt(np.diag(weighted.second_moment) - weighted.mean**2)
    assert (np.abs(sampled.mean - weighted.mean) / spread).max() < 0.08
    assert sampled.log_evidence == pytest.approx(weighted.log_evidence, abs=0.03)
    best, likely = (node.top_parent_sets(1)[0] for node in (sampled, weighted))
    assert best.parents == likely.parents
    assert best.probability == pytest.approx(likely.probability, abs=0.05)


def test_many_degrees_of_freedom_are_the_normal_node():
    x, y = heavy(100, 4, "normal", 3)
    table = {f"x{i}": x[:, i] for i in range(4)} | {"y": y}
    graph = ad.CandidateGraph.from_edges({(f"x{i}", "y"): 0.5 for i in range(4)})
    prior = ad.Prior(units="raw", link=0.0)
    normal = fit(table, graph, prior=prior)._models.items[0].node("y")
    found = fit_heavy(x, y, df=1e6, prior=prior)
    np.testing.assert_allclose(found.inclusion, normal.inclusion, atol=0.005)
    np.testing.assert_allclose(found.mean, normal.mean, atol=0.03 * math.sqrt(normal.second_moment.max()))
    assert found.log_evidence == pytest.approx(normal.log_evidence, abs=0.02)
    assert found.noise_variance == pytest.approx(normal.noise_variance, rel=0.01)


def test_the_match_of_normal_noise_is_the_normal_likelihood_wherever_it_is_made():
    x, y = heavy(40, 3, "normal", 0)
    batches = [Batch(x[:25], y[:25]), Batch(x[25:], y[25:])]
    left = y - y.mean()
    center = x - x.mean(axis=0)
    for at in (np.zeros(4), np.array([0.3, 0.5, -0.2, 0.1])):
        found = Student(1e12).quadratic(("x",) * (len(at) - 1), batches, Point(at))
        np.testing.assert_allclose(found.gram, center.T @ center, rtol=1e-9)
        np.testing.assert_allclose(found.cross, center.T @ left, atol=1e-7)
        assert found.total == pytest.approx(float(left @ left), rel=1e-8)
        assert found.n == pytest.approx(39.0, rel=1e-8)


def test_gradient_and_curvature_of_the_match_are_those_of_the_likelihood():
    x, y = heavy(60, 2, "t3", 5)
    batches, df = [Batch(x, y)], 4.0
    at = np.array([0.1, 0.3, -0.2])
    found = Student(df).quadratic(("x",) * (len(at) - 1), batches, Point(at))
    phi = math.log(found.noise.precision)

    def likelihood(z, level):
        prior = -0.5 * 2 * np.log(2 * math.pi * math.exp(-level)) - 0.5 * (z[1:] ** 2).sum() * math.exp(level)
        return float(log_joint(np.array([[z[0], level, *z[1:]]]), x, y, df, 1.0)[0]) - prior

    step = 1e-4
    slope = (likelihood(at, phi + step) - likelihood(at, phi - step)) / (2 * step)
    bend = (likelihood(at, phi + step) + likelihood(at, phi - step) - 2 * likelihood(at, phi)) / step**2
    assert abs(slope) < 1e-5  # the precision is the best one
    assert found.noise.count == pytest.approx(-2.0 * bend, rel=1e-4)
    for i in range(3):
        move = step * np.eye(3)[i]
        first = (likelihood(at + move, phi) - likelihood(at - move, phi)) / (2 * step)
        second = (likelihood(at + move, phi) + likelihood(at - move, phi) - 2 * likelihood(at, phi)) / step**2
        assert found.noise.precision * found.gradient[i] == pytest.approx(first, rel=1e-5, abs=1e-5)
        assert found.noise.precision * found.information[i, i] == pytest.approx(-second, rel=1e-4)


def test_the_log_likelihood_of_draws_is_scipys_even_where_products_overflow():
    from scipy.stats import t

    rng = np.random.default_rng(0)
    x, y = heavy(21, 2, "outliers", 0)
    y[:9] = 1e60
    intercept, theta, precision = rng.normal(size=5), rng.normal(size=(5, 2)), rng.gamma(3.0, size=5)
    found = Student(3.0).log_likelihoods([Batch(x, y)], Draws(intercept, theta, precision))
    left = y[:, None] - intercept - x @ theta.T
    np.testing.assert_allclose(found, t.logpdf(left, 3.0, scale=precision**-0.5).sum(axis=0), rtol=1e-10)


def test_rows_far_out_do_not_move_the_answer():
    x, y = heavy(200, 4, "normal", 7)
    clean = fit_heavy(x, y)
    y[:6] += 1e4
    found = fit_heavy(x, y)
    spread = np.sqrt(np.diag(clean.second_moment) - clean.mean**2)
    assert (np.abs(found.mean - clean.mean) / spread).max() < 0.6
    assert found.diagnostics.light >= 6
    assert found.diagnostics.least_weight < 1e-6
    assert found.diagnostics.ess > 0.7


def test_batches_give_the_same_sums():
    x, y = heavy(90, 3, "t3", 1)
    at = np.array([0.0, 0.2, 0.1, -0.1])
    whole = Student().quadratic(("x",) * (len(at) - 1), [Batch(x, y)], Point(at))
    parts = Student().quadratic(
        ("x",) * (len(at) - 1), [Batch(x[i : i + 17], y[i : i + 17]) for i in range(0, 90, 17)], Point(at)
    )
    for name in ("information", "gradient", "total", "n"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-11)
    best = Student().best_precision([Batch(x, y)], at, 40.0)
    assert best == pytest.approx(whole.noise.precision, rel=1e-8) == pytest.approx(parts.noise.precision, rel=1e-8)


def test_draws_have_the_moments_and_the_noise_its_tails():
    found = fit_heavy(*heavy(150, 3, "t3", 4))
    theta, variance = found.draw(20_000, np.random.default_rng(0))
    spread = np.sqrt(np.diag(found.second_moment) - found.mean**2)
    assert (np.abs(theta.mean(axis=0) - found.mean) / spread).max() < 0.06
    assert np.abs((theta != 0).mean(axis=0) - found.inclusion).max() < 0.02
    own = 1.0 / found.draw_with_intercept(20_000, np.random.default_rng(0)).precision
    ratio = own.mean() / variance[np.isfinite(variance)]
    assert (1.0 / ratio).mean() == pytest.approx(found.family.noise_factor, rel=0.1)
    again = fit_heavy(*heavy(150, 3, "t3", 4))
    assert np.array_equal(again.mean, found.mean)


def test_a_node_without_candidates_and_one_without_a_free_edge_have_answers():
    x, y = heavy(60, 3, "t3", 2)
    alone = fit_heavy(x[:, :0], y)
    sure = fit_heavy(x, y, probability=1.0)
    assert alone.mean.shape == (0,)
    assert math.isfinite(alone.log_evidence)
    assert (sure.inclusion == 1.0).all()


@pytest.mark.parametrize("case", ["a copy", "more candidates than rows", "many ties", "a wide slab", "g-prior"])
def test_hard_tables_have_finite_answers(case):
    x, y = heavy(40, 3, "outliers", 3)
    prior = None
    if case == "a copy":
        x[:, 2] = x[:, 0]
    elif case == "more candidates than rows":
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(10, 14)), rng.standard_t(3, 10)
    elif case == "many ties":
        y = np.round(y)
    elif case == "a wide slab":
        prior = ad.Prior(slab_variance=1e6)
    else:
        prior = ad.Prior(slab=ad.priors.GPrior("n"))
    found = fit_heavy(x, y, prior=prior)
    for values in (found.mean, found.inclusion, found.second_moment, found.log_evidence, found.noise_variance):
        assert np.isfinite(values).all()


def test_a_cause_that_two_rows_have_is_sampled_where_weights_miss_its_tails():
    x, y = heavy(400, 4, "t3", 1)
    rare = np.zeros(400)
    rare[:2] = 1.0
    x[:, 3] = (rare - rare.mean()) / rare.std(ddof=1)
    y[0] += 30.0
    found = fit_heavy(x, y + 2.0 * rare, prior=ad.Prior())
    assert found.diagnostics.k_hat <= 0.9 or found.diagnostics.fallback
    assert found.diagnostics.converged


@pytest.mark.kernels
def test_the_chain_visits_sets_as_often_as_enumeration_says(scaled):
    from alldags.kernels.student import run_student_chain

    x, y = heavy(25, 2, "t3", 6)
    steps = scaled(8000)
    reference, variance = enumerate_student(x, y, np.full(2, 0.5), 1.0, 4.0)
    out = np.empty((steps, 4))
    run_student_chain(
        np.random.default_rng(0), np.column_stack([np.ones(25), x]), y, np.array([4.0, 0.0, 0.0]), np.arange(3),
        np.zeros(2), np.zeros(2, dtype=bool), np.zeros(3), np.ones(1), np.zeros(1), np.zeros(2, dtype=bool),
        np.zeros(3), np.zeros(1, dtype=np.int64), np.ones(1), out,
    )  # fmt: skip
    tolerance = 6.0 * math.sqrt(0.25 * 5.0 / steps)
    assert np.abs((out[:, 1:3] != 0).mean(axis=0) - reference.inclusion).max() < tolerance
    if steps > 1000:
        assert out[:, 3].mean() == pytest.approx(variance, rel=0.05)


def test_rows_are_in_working_units():
    rows = heavy_rows(*heavy(20, 2, "t3", 0))
    (batch,) = rows.batches()
    assert batch.columns.shape == (20, 2)
    assert batch.child.shape == (20,)


@pytest.mark.parametrize("df", [2.0, -1.0, math.inf, "4"])
def test_too_few_degrees_of_freedom_are_refused(df):
    with pytest.raises(ad.AlldagsError, match="Student df must be a finite number above 2"):
        Student(df)


@pytest.mark.parametrize(("n", "k", "noise"), [(50, 4, "t3"), (100, 3, "normal"), (60, 3, "outliers")])
def test_learned_degrees_of_freedom_are_an_average_over_enumerations(n, k, noise):
    x, y = heavy(n, k, noise, 1)
    found = fit_heavy(x, y, None)
    parts = [enumerate_student(x, y, np.full(k, 0.5), 1.0, df, draws=1000) for df in _GRID]
    logs = np.log(_prior()) + [reference.log_evidence for reference, _ in parts]
    share = np.exp(logs - np.logaddexp.reduce(logs))
    inclusion = sum(weight * reference.inclusion for weight, (reference, _) in zip(share, parts, strict=True))
    noise = [variance * df / (df - 2.0) for df, (_, variance) in zip(_GRID, parts, strict=True)]
    assert np.abs(found.inclusion - inclusion).max() <= 0.02
    assert abs(found.log_evidence - np.logaddexp.reduce(logs)) <= 0.05
    assert found.noise_variance == pytest.approx(share @ noise, rel=0.03)
    assert found.diagnostics.df == pytest.approx(share @ np.array(_GRID), rel=0.03)
    drawn = found.draw_with_intercept(20_000, np.random.default_rng(0)).beside
    assert drawn[:, 1].mean() == pytest.approx(found.diagnostics.df, rel=0.03)
    assert (drawn[:, 0] * drawn[:, 1] / (drawn[:, 1] - 2.0)).mean() == pytest.approx(found.noise_variance, rel=0.1)
