"""Pairs with correlated errors: against integration, brute force over sets, dense algebra, and closed forms."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from alldags.kernels.pairs import log_target, set_weights, slab_variances, stacked
from alldags.pairs.correlation import Correlation
from alldags.pairs.fit import fit_pair
from alldags.pairs.grid import search
from alldags.pairs.leaves import leaves_of
from alldags.pairs.problem import WIDE_SLAB, AloneRows, PairProblem
from alldags.pairs.sampled import sample_pair
from naive import pairs as naive

POINTS = [(0.0, 1.0), (0.7, 0.8), (-2.0, 1.5), (3.0, 0.5)]


def made(seed=5, n=9, k=2, doubtful=2, counted=False, hidden=1.0, rho=0.6, correlation=Correlation()):  # noqa: B008
    """Return a problem with k instruments, some in doubt, and its scaled rows."""
    rng = np.random.default_rng(seed)
    z, u = rng.standard_normal((n, k)), rng.standard_normal(n)
    v = rho * u + math.sqrt(1 - rho**2) * rng.standard_normal(n)
    x = z @ np.linspace(0.8, 0.3, k) + u
    rows = np.column_stack([x, 0.5 * x + v, z])
    rows -= rows.mean(axis=0)
    scale = np.sqrt((rows**2).sum(axis=0) / (n - 1))
    rows /= scale
    columns = np.arange(2, 2 + k)
    problem = PairProblem(
        tuple("xyabcdefghijklmnopqrstuv"[: 2 + k]),
        rows.T @ rows,
        scale,
        n - 1.0,
        columns,
        np.r_[0, columns[:doubtful]].astype(np.int64),
        np.full(doubtful, 0.3),
        np.full(doubtful, counted),
        False,
        correlation,
        hidden,
    )
    return problem, rows


def kernel(problem, points):
    known = problem.scatter, problem.single, problem.first, problem.second, problem.kinds, problem.certain
    prior = problem.log_odds, problem.counted.astype(np.int64), problem.log_size, problem.counts
    return set_weights(*known, *prior, np.array(points, dtype=float))


def full(t, lam):
    return np.array([t, lam, 0.7, 2.0, 0.4, 1.0])


@pytest.mark.kernels
@pytest.mark.parametrize(("t", "lam"), POINTS)
def test_the_closed_form_is_the_integral_over_all_parameters(t, lam):
    problem, _ = made(k=1, doubtful=0)
    point = full(t, lam)
    constant = math.lgamma(problem.n) + (problem.n - 1) * math.log(2.0) - problem.n * math.log(2 * math.pi)
    found = kernel(problem, [point])[0, 0] + constant
    assert found == pytest.approx(naive.integrated(problem, point, np.linspace(-3.0, 3.5, 400)), abs=1e-10)


@pytest.mark.kernels
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("t", "lam"), POINTS)
def test_the_recursion_over_sets_is_dense_algebra_over_each(t, lam, counted):
    problem, rows = made(k=3, doubtful=3, counted=counted)
    found = kernel(problem, [full(t, lam)])[0]
    wanted = [naive.log_weight(problem, rows, full(t, lam), present) for present in naive.sets_of(problem)]
    assert found == pytest.approx(np.array(wanted), abs=1e-8 if counted else 1e-10)


@pytest.mark.kernels
def test_one_set_alone_has_the_weight_that_it_has_among_all():
    problem, rows = made(k=2, doubtful=2)
    point = full(0.7, 0.8)
    for present in naive.sets_of(problem):
        here = np.r_[True, np.array(present)]
        alone = log_target(
            problem.scatter,
            problem.single,
            problem.first,
            problem.second[here],
            problem.kinds[np.r_[True, True, here]],
            problem.counts,
            point,
        )
        whole = naive.log_weight(problem, rows, point, present) - naive.log_set_prior(problem, present)
        assert alone == pytest.approx(whole, abs=1e-10)


@pytest.mark.kernels
def test_stacked_cross_products_are_those_of_stacked_rows():
    problem, rows = made(k=2, doubtful=1)
    point = full(-1.2, 0.6)
    response, columns = naive.stacked_rows(problem, rows, point)
    gram, cross, total = stacked(problem.scatter, problem.single, problem.first, problem.second, *point[:2])
    assert gram == pytest.approx(columns.T @ columns, abs=1e-10)
    assert cross == pytest.approx(columns.T @ response, abs=1e-10)
    assert total == pytest.approx(response @ response)
    assert slab_variances(problem.kinds, point) == pytest.approx(naive.slab_of(problem, point))


def test_leaves_have_the_means_of_dense_algebra_and_slopes_of_differences():
    problem, rows = made(k=2, doubtful=2, n=12)
    leaves = leaves_of(problem, search(problem))
    for place in np.linspace(0, len(leaves) - 1, 7).astype(int):
        point, present = leaves.points[place], leaves.present[place, problem.certain :]
        assert leaves.mean[place] == pytest.approx(naive.mean_of(problem, rows, point, present), abs=1e-10)
        near = []
        for step in (-1e-5, 1e-5):
            moved = point.copy()
            moved[0] = math.sinh(leaves.zeta[place] + step)
            near.append(naive.mean_of(problem, rows, moved, present))
        assert leaves.slope[place] == pytest.approx((near[1] - near[0]) / 2e-5, abs=1e-5)


def test_the_grid_is_brute_force_over_sets_slabs_scales_and_correlations():
    problem, _ = made(k=2, doubtful=2, n=25, hidden=0.6)
    posterior = fit_pair(problem, np.random.default_rng(0))
    ratios = np.exp(problem.log_ratio + np.arange(-6, 6.01, 0.5) / math.sqrt(problem.n))
    zetas = np.append(np.linspace(-3.2, 3.2, 65), 0.0)
    logs, theta = [], []
    for zeta, lam, a, b in itertools.product(zetas, ratios, problem.first_slabs, problem.second_slabs):
        point = np.array([math.sinh(zeta), lam, a, WIDE_SLAB, b, 1.0])
        logs.append(kernel(problem, [point])[0])
        theta.append(point)
    logs = np.array(logs).reshape(len(zetas), -1, 4)
    logs[:-1] += (Correlation().log_density(zetas[:-1]) + math.log(0.1 * 0.6))[:, None, None]
    logs[-1] += math.log(0.4)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    rho = np.tanh(zetas[:-1])
    own = weights[:-1].sum(axis=(1, 2)) / weights[:-1].sum()
    assert posterior.hidden == pytest.approx(weights[:-1].sum(), abs=0.01)
    assert posterior.correlation[0] == pytest.approx(own @ rho, abs=0.01)
    assert posterior.correlation[1] == pytest.approx(math.sqrt(own @ rho**2 - (own @ rho) ** 2), abs=0.01)
    present = posterior.leaves.weight @ posterior.leaves.present[:, problem.certain :]
    sets = weights.sum(axis=(0, 1))
    assert present == pytest.approx([sets[2] + sets[3], sets[1] + sets[3]], abs=0.01)


def test_without_correlation_both_regressions_are_on_their_own():
    """At a correlation of zero the evidence is that of two separate nodes with the same slabs, up to the scales."""
    problem, _ = made(k=2, doubtful=0, n=30)
    n, s = problem.n, problem.scatter

    def alone(place, columns, variance, noise2):
        gram = s[np.ix_(columns, columns)] + np.eye(len(columns)) / variance
        cross = s[columns, place]
        left = s[place, place] - cross @ np.linalg.solve(gram, cross)
        return -0.5 * np.linalg.slogdet(gram * variance)[1] - 0.5 * left / noise2 - 0.5 * n * math.log(noise2)

    for lam in (0.6, 1.3):
        point = np.array([0.0, lam, 0.7, 2.0, 0.4, 1.0])
        noises = np.linspace(-4.0, 4.0, 4001)
        logs = [alone(0, [2, 3], 0.7, math.exp(2 * l)) + alone(1, [0], 2.0, lam**2 * math.exp(2 * l)) for l in noises]  # noqa: E741
        whole = max(logs) + math.log(np.exp(np.array(logs) - max(logs)).sum() * (noises[1] - noises[0]))
        constant = math.lgamma(n) + (n - 1) * math.log(2.0)
        assert kernel(problem, [point])[0, 0] + constant == pytest.approx(whole, abs=1e-10)


def test_without_an_instrument_the_correlation_stays_what_was_believed():
    problem, _ = made(k=0, doubtful=0, n=200)
    posterior = fit_pair(problem, np.random.default_rng(0))
    assert posterior.correlation[0] == pytest.approx(0.0, abs=0.06)
    assert 0.97 * problem.correlation.sd < posterior.correlation[1] < 1.02 * problem.correlation.sd
    assert posterior.learned < 0.03


@pytest.mark.parametrize("believed", [Correlation(1.0, -0.3, 0.6), Correlation(8.0), Correlation(1.0)])
def test_what_is_believed_of_the_correlation_is_kept_where_data_are_silent(believed):
    problem, _ = made(k=0, doubtful=0, n=200, correlation=believed)
    posterior = fit_pair(problem, np.random.default_rng(0))
    assert posterior.correlation[1] == pytest.approx(believed.sd, rel=0.06)
    drawn = posterior.draw(4000, np.random.default_rng(1)).correlation
    assert believed.low - 1e-9 <= drawn.min() < drawn.max() <= believed.high + 1e-9


def test_draws_have_the_moments_of_the_leaves():
    problem, _ = made(k=3, doubtful=3, n=40, counted=True, hidden=0.7)
    posterior = fit_pair(problem, np.random.default_rng(0))
    drawn = posterior.draw(40_000, np.random.default_rng(1))
    leaves = posterior.leaves
    mean = leaves.weight @ leaves.mean
    square = leaves.weight @ (leaves.mean**2 + (leaves.root**2).sum(axis=2) * leaves.noise[:, None])
    sd = np.sqrt(square - mean**2)
    assert np.abs(drawn.terms.mean(axis=0) - mean).max() < 0.03 * sd.max()
    assert drawn.terms.std(axis=0) == pytest.approx(sd, rel=0.05)
    assert np.mean(drawn.correlation == 0.0) == pytest.approx(1.0 - posterior.hidden, abs=0.01)


@pytest.mark.parametrize("hidden", [1.0, 0.5])
def test_chains_find_what_the_sum_finds(hidden):
    problem, _ = made(seed=2, k=5, doubtful=5, n=200, counted=True, hidden=hidden, rho=0.3)
    exact, chain = fit_pair(problem, np.random.default_rng(0)), sample_pair(problem, np.random.default_rng(1))
    assert chain.diagnostics.is_reliable
    theta = [one.draw(20_000, np.random.default_rng(2)).terms[:, 5] for one in (exact, chain)]
    assert theta[1].mean() == pytest.approx(theta[0].mean(), abs=0.12 * theta[0].std())
    assert theta[1].std() == pytest.approx(theta[0].std(), rel=0.12)
    assert chain.hidden == pytest.approx(exact.hidden, abs=0.05)
    there = [one.leaves.weight @ one.leaves.present[:, problem.certain :] for one in (exact, chain)]
    assert there[1] == pytest.approx(there[0], abs=0.06)
    assert chain.log_evidence is None


def test_equal_generators_give_equal_draws():
    problem, _ = made(n=30)
    posterior = fit_pair(problem, np.random.default_rng(0))
    one, two = (posterior.draw(50, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one.terms, two.terms)
    assert np.array_equal(one.correlation, two.correlation)


def test_evidence_does_not_depend_on_units():
    problem, _ = made(k=2, doubtful=1, n=30)
    first = fit_pair(problem, np.random.default_rng(0)).log_evidence
    scale = problem.scale.copy()
    scale[1] *= 10.0
    moved = fit_pair(replace(problem, scale=scale), np.random.default_rng(0)).log_evidence
    assert first - moved == pytest.approx(problem.n * math.log(10.0))


# -- rows that explain one alone -------------------------------------------------------------------------------------


def with_alone(seed=4, **options):
    """Return a problem with rows that explain x alone, others that explain y alone, and all rows."""
    problem, rows = made(seed=seed, **options)
    rng = np.random.default_rng(seed + 1)
    alone = [rng.standard_normal((count, rows.shape[1])) for count in (6, 11)]
    alone = [part - part.mean(axis=0) for part in alone]
    none = np.zeros((0, rows.shape[1]))
    found = tuple(AloneRows(part.T @ part, len(part) - 1.0, none) for part in alone)
    return replace(problem, alone=found), rows, alone


@pytest.mark.kernels
@pytest.mark.parametrize(("t", "lam"), POINTS)
def test_rows_that_explain_one_alone_are_single_rows_of_the_stacked_regression(t, lam):
    problem, rows, alone = with_alone(k=3, doubtful=3)
    found = kernel(problem, [full(t, lam)])[0]
    wanted = [naive.log_weight(problem, rows, full(t, lam), one, alone) for one in naive.sets_of(problem)]
    assert found == pytest.approx(np.array(wanted), abs=1e-10)


def test_leaves_know_rows_that_explain_one_alone():
    problem, rows, alone = with_alone(k=2, doubtful=2, n=12)
    leaves = leaves_of(problem, search(problem))
    for place in np.linspace(0, len(leaves) - 1, 5).astype(int):
        point, present = leaves.points[place], leaves.present[place, problem.certain :]
        assert leaves.mean[place] == pytest.approx(naive.mean_of(problem, rows, point, present, alone), abs=1e-10)
        near = []
        for step in (-1e-5, 1e-5):
            moved = point.copy()
            moved[0] = math.sinh(leaves.zeta[place] + step)
            near.append(naive.mean_of(problem, rows, moved, present, alone))
        assert leaves.slope[place] == pytest.approx((near[1] - near[0]) / 2e-5, abs=1e-5)


def test_chains_know_rows_that_explain_one_alone():
    problem, _, _ = with_alone(k=5, doubtful=5, n=60, counted=True)
    exact, chain = fit_pair(problem, np.random.default_rng(0)), sample_pair(problem, np.random.default_rng(1))
    assert chain.correlation == pytest.approx(exact.correlation, abs=0.05)
    means = [one.leaves.weight @ one.leaves.mean for one in (exact, chain)]
    assert means[1] == pytest.approx(means[0], abs=0.05)


# -- the asked edge in doubt -----------------------------------------------------------------------------------------


def asked(problem, probability=0.4):
    """Return a problem of which it is in doubt whether the first variable acts on the second."""
    return replace(
        problem,
        second=np.roll(problem.second, -1),
        doubtful=np.append(problem.doubtful, probability),
        counted=np.append(problem.counted, False),
        direct=True,
    )


def brute_no_effect(problem):
    """Return the probability of no effect from all sets, slabs, scales and correlations on an even grid."""
    ratios = np.exp(problem.log_ratio + np.arange(-6, 6.01, 0.5) / math.sqrt(problem.n))
    zetas = np.linspace(-3.2, 3.2, 65)
    points = itertools.product(zetas, ratios, problem.first_slabs, problem.second_slabs, problem.direct_slabs)
    points = [np.array([math.sinh(z), lam, a, WIDE_SLAB, b, c]) for z, lam, a, b, c in points]
    logs = kernel(problem, points).reshape(len(zetas), -1, 2**problem.m)
    logs += Correlation().log_density(zetas)[:, None, None]
    weights = np.exp(logs - logs.max())
    none = ~np.array([present[-1] for present in naive.sets_of(problem)])
    return weights[:, :, none].sum() / weights.sum()


@pytest.mark.parametrize("seed", [2, 5])
def test_no_effect_has_the_probability_of_brute_force_under_the_learned_slab(seed):
    problem = asked(made(seed=seed, k=2, doubtful=1, n=40)[0])
    posterior = fit_pair(problem, np.random.default_rng(0))
    none = posterior.leaves.weight @ ~posterior.leaves.present[:, -1]
    assert posterior.leaves.weight.sum() == pytest.approx(1.0)
    assert none == pytest.approx(brute_no_effect(problem), abs=0.005)
    drawn = posterior.draw(20_000, np.random.default_rng(1)).terms[:, -1]
    assert np.mean(drawn == 0.0) == pytest.approx(none, abs=0.01)


def test_the_size_of_an_effect_is_what_it_is_if_the_effect_is_certain():
    problem, _ = made(k=3, doubtful=2, n=60)
    sure, unsure = (fit_pair(one, np.random.default_rng(0)) for one in (problem, asked(problem)))
    there = unsure.leaves.of(unsure.leaves.present[:, -1])
    weight = there.weight / there.weight.sum()
    place = len(problem.first)
    assert weight @ there.mean[:, -1] == pytest.approx(sure.leaves.weight @ sure.leaves.mean[:, place])
    assert weight @ there.invalid == pytest.approx(sure.leaves.weight @ sure.leaves.invalid)
    assert weight @ there.noise == pytest.approx(sure.leaves.weight @ sure.leaves.noise)


def test_the_wide_slab_would_make_no_effect_too_cheap(monkeypatch):
    """The reason for two slabs."""
    problem = asked(made(seed=2, k=3, doubtful=0, n=50)[0], 0.5)
    learned = brute_no_effect(problem)
    monkeypatch.setattr("alldags.pairs.problem.DIRECT_SLABS", np.array([WIDE_SLAB]))
    assert brute_no_effect(problem) > learned + 0.15


def test_chains_find_no_effect_as_often_as_the_sum(monkeypatch):
    problem = asked(made(seed=2, k=5, doubtful=5, n=200, counted=True, rho=0.3)[0])
    exact = fit_pair(problem, np.random.default_rng(0))
    monkeypatch.setattr("alldags.pairs.fit.MOST_SUMMED", 4)
    chain = fit_pair(problem, np.random.default_rng(1))
    assert chain.log_evidence is None
    none = [one.leaves.weight @ ~one.leaves.present[:, -1] for one in (exact, chain)]
    assert none[1] == pytest.approx(none[0], abs=0.03)
    assert chain.set_draws < math.inf
