"""Log-normal and gamma nodes against enumeration of all parent sets, and the normal node of the logarithm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, lognorm

import alldags as ad
from alldags.families.base import Batch, Draws, Point
from alldags.families.gamma import Gamma
from alldags.families.log_normal import LogNormal
from family_problems import columns, fit_node
from lines import fit
from naive.amounts import enumerate_amounts, log_density

FAMILIES = {"lognormal": LogNormal(), "gamma": Gamma()}
CELLS = [("lognormal", 50, 1.0), ("gamma", 40, 0.5), ("gamma", 50, 1.0), ("gamma", 100, 8.0), ("gamma", 300, 1.0)]
STRENGTHS = [0.5, -0.25, 0.12, 0.0]


def amounts(family, n, shape, seed, k=4):
    """Columns (n, k) and a positive child; `shape` is that of a gamma distribution, or one over the log variance."""
    rng = np.random.default_rng([n, k, len(family), seed])
    x = columns(n, k, rng)
    eta = x[:, :4] @ STRENGTHS[:k]
    noise = rng.standard_normal(n) / np.sqrt(shape) if family == "lognormal" else np.log(rng.gamma(shape, 1 / shape, n))
    return x, np.exp(1.0 + eta + noise)


def node(family, x, y, **options):
    return fit_node(x, y, family=FAMILIES[family], prior=ad.Prior(slab_variance=1.0), **options)


@pytest.mark.parametrize(("family", "n", "shape"), CELLS)
def test_an_amount_is_what_enumeration_of_all_sets_says(family, n, shape):
    x, y = amounts(family, n, shape, 1)
    reference, variance = enumerate_amounts(family, x, y, np.full(4, 0.5), 1.0)
    found = node(family, x, y)
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.02
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.06
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.07)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.05
    drawn = found.draw_with_intercept(4000, np.random.default_rng(0))
    assert (1.0 / drawn.precision).mean() == pytest.approx(variance, rel=0.04)
    assert found.diagnostics.converged


def test_a_log_normal_node_is_the_normal_one_of_the_logarithm():
    x, y = amounts("lognormal", 80, 1.0, 2)
    table = {f"x{i}": x[:, i] for i in range(4)} | {"y": np.log(y)}
    graph = ad.CandidateGraph.from_edges({(f"x{i}", "y"): 0.5 for i in range(4)})
    prior = ad.Prior(units="raw", link=0.0)
    normal = fit(table, graph, prior=prior)._models.items[0].node("y")
    found = fit_node(x, y, family=LogNormal(), prior=prior)
    np.testing.assert_allclose(found.inclusion, normal.inclusion, atol=1e-9)
    np.testing.assert_allclose(found.mean, normal.mean, atol=1e-9)
    np.testing.assert_allclose(found.second_moment, normal.second_moment, atol=1e-9)
    assert found.log_evidence == pytest.approx(normal.log_evidence - np.log(y).sum(), abs=1e-6)  # the Jacobian
    assert found.diagnostics.ess == pytest.approx(1.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_units_of_the_child_change_nothing_but_the_intercept(family):
    x, y = amounts(family, 60, 1.0, 3)
    one, other = node(family, x, y), node(family, x, 1000.0 * y)
    np.testing.assert_allclose(one.inclusion, other.inclusion, atol=1e-6)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_as_probable_as_scipy_says(family, rng):
    x, y = amounts(family, 30, 2.0, 4)
    draws = Draws(rng.standard_normal(5), 0.3 * rng.standard_normal((5, 4)), rng.uniform(0.5, 3.0, 5))
    weight = rng.uniform(0.5, 2.0, 30)
    eta = x @ draws.coefficients.T + draws.intercept
    rows = log_density(family, y, eta, np.log(draws.precision))
    own = FAMILIES[family]
    np.testing.assert_allclose(own.log_likelihood_by_row(Batch(x, y), draws), rows, rtol=1e-9)
    np.testing.assert_allclose(own.log_likelihoods([Batch(x[:9], y[:9]), Batch(x[9:], y[9:])], draws), rows.sum(axis=0))
    np.testing.assert_allclose(own.log_likelihoods([Batch(x, y, weight=weight)], draws), weight @ rows)
    np.testing.assert_allclose(
        own.log_likelihood_by_row(Batch(x, y, weight=weight), draws), weight[:, None] * rows, rtol=1e-9
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_whole_weights_are_repeated_rows(family, rng):
    x, y = amounts(family, 40, 1.0, 5)
    count = rng.integers(1, 4, 40)
    own, point = FAMILIES[family], Point(np.array([1.0, 0.4, -0.2, 0.0, 0.1]))
    weighted = own.quadratic(tuple("abcd"), [Batch(x, y, weight=count.astype(float))], point)
    repeated = own.quadratic(tuple("abcd"), [Batch(np.repeat(x, count, 0), np.repeat(y, count))], point)
    np.testing.assert_allclose(weighted.information, repeated.information)
    np.testing.assert_allclose(weighted.gradient, repeated.gradient)
    assert weighted.noise.precision == pytest.approx(repeated.noise.precision)
    assert weighted.total == pytest.approx(repeated.total)


@pytest.mark.parametrize("family", FAMILIES)
def test_mean_and_values_at_levels_are_those_of_the_distribution(family):
    eta, variance = np.array([-1.0, 0.0, 2.0]), np.array([0.2, 1.0, 3.0])
    level = np.array([0.1, 0.5, 0.9])
    scipy = (
        lognorm(np.sqrt(variance), scale=np.exp(eta))
        if family == "lognormal"
        else gamma(1 / variance, scale=np.exp(eta) * variance)
    )
    own = FAMILIES[family]
    np.testing.assert_allclose(own.mean(eta, variance[None]), scipy.mean())
    np.testing.assert_allclose(own.draw(eta, level, variance[None]), scipy.ppf(level))
    for end in own.bracket(eta, scipy.ppf(level), variance[None]):
        np.testing.assert_allclose(end, level)


@pytest.mark.parametrize("family", FAMILIES)
def test_score_and_height_are_derivatives_of_the_log_likelihood_at_precision_one(family):
    own, y, eta, step = FAMILIES[family], np.array([0.3, 1.0, 7.0]), np.array([-0.5, 0.2, 1.0]), 1e-5
    score, information = own.score(y, eta)
    by_difference = (own.height(y, eta + step) - own.height(y, eta - step)) / (2 * step)
    np.testing.assert_allclose(score, by_difference, rtol=1e-6)
    one = Draws(np.zeros(1), np.ones((1, 1)), np.ones(1))
    rows = [own.log_likelihood_by_row(Batch(each[:, None], y), one)[:, 0] for each in (eta, eta + 0.3)]
    np.testing.assert_allclose(own.height(y, eta + 0.3) - own.height(y, eta), rows[1] - rows[0])
    assert (information == 1.0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_precision_has_the_posterior_of_a_grid(family, rng):
    own, y = FAMILIES[family], amounts(family, 25, 2.0, 6)[1]
    eta = np.full(25, np.log(y).mean())
    phi = np.linspace(-6, 6, 4001)
    height = log_density(family, y, np.repeat(eta[:, None], 4001, 1), phi).sum(axis=0)
    share = np.exp(height - height.max())
    expected = float(share @ phi / share.sum())
    spread = float(np.sqrt(share @ (phi - expected) ** 2 / share.sum()))
    drawn = np.log([own.draw_precision(y, eta, rng) for _ in range(2000)])
    assert drawn.mean() == pytest.approx(expected, abs=4 * spread / np.sqrt(2000))
    assert drawn.std() == pytest.approx(spread, rel=0.08)


@pytest.mark.parametrize("mean_loss", [1e-9, 1e-3, 0.5, 5.0])
def test_the_best_shape_of_a_gamma_has_no_slope(mean_loss):
    s, worth = Gamma().best_precision(mean_loss)
    step = 1e-4

    def height(phi):
        return float(Gamma().log_constant(np.exp(phi)) - np.exp(phi) * mean_loss)

    curvature = 2 * height(np.log(s)) - height(np.log(s) + step) - height(np.log(s) - step)
    if s < 1e4:  # above, differences are lost in rounding
        assert abs(height(np.log(s) + step) - height(np.log(s) - step)) / (2 * step) < 1e-6 * max(s, 1.0)
        assert worth == pytest.approx(2 * curvature / step**2, rel=1e-2)
    assert s == pytest.approx(0.5 / mean_loss, rel=0.01) or mean_loss > 1e-3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [0.0, 1.0, 2.0, 0.0],
            "'cost' is to be positive .*, but is 0 in 20 rows; .* are two regressions, families=",
        ),
        ([3.0, 1.0, -2.0, 4.0], "'cost' is to be positive .*, but has the value -2"),
        ([3.0, 3.0, 3.0, 3.0], "column 'cost' is constant"),
    ],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_no_amount_is_refused(family, values, said):
    table = {"dose": np.arange(40.0), "cost": np.tile(values, 10)}
    with pytest.raises(ad.AlldagsError, match=said):
        ad.fit(table, {"cost": ["dose"]}, families={"cost": family})
