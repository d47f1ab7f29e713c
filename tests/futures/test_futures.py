"""Rows that do not exist yet: their moments, and what they would do to an effect."""

from __future__ import annotations

import math

import numpy as np
import pytest
from calibration.next_steps import Truth, joined, network, two_values

import alldags as ad
from alldags.futures.equations import Equations, draw_equations, outside
from alldags.futures.linear import Linear
from alldags.futures.moments import Chance, Design, added, future_moments, with_future
from alldags.futures.refit import Refits
from alldags.futures.steps import Ahead, normal_loss
from alldags.nodes.data import ChildData
from lines import fit

NAMES = ("w", "t", "m", "y")
TRUTH = Truth(NAMES, np.array([[0, 0.8, 0.0, 0.7], [0, 0, 0.6, 0.5], [0, 0, 0, 0.9], [0, 0, 0, 0.0]]))


def table(rows: int = 120, seed: int = 0) -> dict[str, np.ndarray]:
    """Return rows of the network."""
    return TRUTH.rows(rows, np.random.default_rng(seed))


def order() -> ad.CandidateGraph:
    """Return all graphs in the order of the names."""
    return ad.CandidateGraph.from_order(NAMES, 0.5)


def moments(values: dict[str, np.ndarray], names: tuple[str, ...]) -> ChildData:
    """Return moments by hand."""
    x = np.column_stack([values[name] for name in names])
    around = x - x.mean(axis=0)
    return ChildData(names, around.T @ around, x.mean(axis=0), len(x) - 1, len(x))


def test_moments_of_two_tables_are_those_of_all_their_rows() -> None:
    one, other = table(30, 1), table(7, 2)
    found, whole = added(moments(one, NAMES), moments(other, NAMES)), moments(joined([one, other]), NAMES)
    np.testing.assert_allclose(found.scatter, whole.scatter, rtol=1e-12)
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-12, atol=1e-14)
    assert (found.n, found.rows) == (whole.n, whole.rows)


@pytest.mark.parametrize("variable", [None, "w", "t", "m"])
def test_moments_of_a_future_are_those_of_rows_drawn_one_by_one(variable: str | None) -> None:
    """Means and spreads of the cross-products of 6 rows, against rows of the same equations."""
    posterior = fit(table(), order(), rng=0)
    data, count = posterior.workings.data, 4000
    b = TRUTH.coefficients[None] * data.scale[:, None] / data.scale[None]
    given = np.zeros((1, 4))
    given[0, 0] = 1.0
    noise = np.where(np.arange(4) > 0, 1.0 / data.scale, 0.0)
    true = Equations(np.repeat(b, count, 0), np.repeat(noise[None], count, 0), given / data.scale, 1e12)
    design = Design(6, variable, 0.0, 1.2) if variable else Design(6)
    chance = Chance.of(count, 12, np.random.default_rng(3))
    found = np.array([future_moments(data, true, design, chance, i).scatter for i in range(count)])
    rng, drawn = np.random.default_rng(4), []
    for _ in range(count):
        values = np.tile([-1.2, 1.2], 3) * data.scale[NAMES.index(variable)] if variable else None
        rows = TRUTH.rows(6, rng, {variable: values} if variable else None)
        drawn.append(moments({n: v / data.scale[i] for i, (n, v) in enumerate(rows.items())}, NAMES).scatter)
    other = np.array(drawn)
    error = 5.0 * np.sqrt((found.var(axis=0) + other.var(axis=0)) / count) + 1e-9
    assert np.all(np.abs(found.mean(axis=0) - other.mean(axis=0)) < error)
    np.testing.assert_allclose(found.std(axis=0), other.std(axis=0), rtol=0.12, atol=1e-9)


@pytest.mark.parametrize("variable", [None, "t", "m"])
def test_a_future_that_came_is_fitted_as_the_table_with_its_rows(variable: str | None) -> None:
    """Units are stated, so that those of the joined table are no others."""
    prior = ad.Prior(units="raw", slab_variance=1.0, slab=None, link=0.0)
    old = table(80)
    posterior = fit(old, order(), prior=prior, rng=0)
    rng = np.random.default_rng(5)
    new = TRUTH.rows(20, rng, {variable: two_values(old[variable], 20)} if variable else None)
    data = with_future(posterior.workings.data, moments(new, posterior.workings.data.pooled.names), variable)
    refits = Refits(posterior.workings, posterior.effect("t", "y").answer.question, 2)
    totals = refits._effect(refits._later(data)).totals
    where = np.repeat(["", variable or ""], [80, 20])
    options = {"interventions": where} if variable else {}
    came = fit(joined([old, new]), order(), prior=prior, rng=0, **options).effect("t", "y")
    assert totals.average(lambda one: one.mean) == pytest.approx(came.mean, rel=1e-10)
    second = totals.average(lambda one: one.second)
    assert math.sqrt(second - came.mean**2) == pytest.approx(came.answer.sd, rel=1e-8)


def test_on_average_a_future_leaves_the_mean_and_takes_from_the_variance_what_the_mean_moves_by() -> None:
    """The law of total variance, under a prior without hyperparameters, whose draws are those of the posterior."""
    prior = ad.Prior(units="raw", slab_variance=1.0, slab=None, link=0.0)
    effect = fit(table(60), order(), prior=prior, rng=0).effect("t", "y")
    found = Refits(effect.posterior.workings, effect.answer.question, 600).after(Design(60))
    means, inside = np.array([one.mean for one in found]), np.array([one.variance for one in found])
    assert means.mean() == pytest.approx(effect.mean, abs=4.0 * means.std() / math.sqrt(600))
    assert means.var() + inside.mean() == pytest.approx(effect.answer.sd**2, rel=0.15)
    wrong = np.array([(one.mean - one.truth) ** 2 for one in found])
    assert wrong.mean() == pytest.approx(inside.mean(), rel=0.25)


def test_to_first_order_a_certain_regression_has_the_variance_of_its_cross_products() -> None:
    """One child, all edges certain, flat slab: sigma^2 (X'X)^-1 with as many rows again is half."""
    rng = np.random.default_rng(6)
    w = rng.standard_normal(300)
    t = w + rng.standard_normal(300)
    y = t + w + rng.standard_normal(300)
    graph = ad.CandidateGraph(("w", "t", "y"), {("w", "t"): 1.0, ("w", "y"): 1.0, ("t", "y"): 1.0})
    effect = fit({"w": w, "t": t, "y": y}, graph, rng=0).effect("t", "y")
    linear = Linear(effect)
    assert linear.share_left(Design(300)) == pytest.approx(0.5, abs=0.01)
    place = effect.posterior.workings.data.pooled.index["t"]
    half = 1.5 / effect.posterior.workings.data.scale[place]
    x = np.column_stack([t - t.mean(), w - w.mean()])
    later = x.T @ x + np.diag([300 * 1.5**2, 300 * w.var()])
    wanted = np.linalg.inv(later)[0, 0] / np.linalg.inv(x.T @ x)[0, 0]
    assert linear.share_left(Design(300, "t", 0.0, half)) == pytest.approx(wanted, rel=0.04)
    assert linear.share_left(Design(300, "y", 0.0, half)) == 1.0  # says nothing of what acts on the outcome


def test_first_order_and_fitted_futures_agree() -> None:
    study = ad.datasets.example()
    effect = fit(study.table, study.graph, rng=0).effect("smoking", "risk")
    ahead, linear = Ahead(effect, 24), Linear(effect)
    for step, design in ((ahead.rows(500), Design(500)),):
        assert step.how == "futures"
        assert effect.sd * math.sqrt(linear.share_left(design)) == pytest.approx(step.sd, rel=0.08)


def test_loss_by_the_sign_is_that_of_normal_numbers() -> None:
    draws = np.random.default_rng(7).normal(0.4, 1.0, 400_000)
    assert normal_loss(0.4, 1.0) == pytest.approx(np.maximum(-draws, 0.0).mean(), rel=0.01)
    assert normal_loss(1.0, 0.0) == 0.0


def test_measuring_a_common_cause_leaves_the_standard_error_that_least_squares_has() -> None:
    """A cause that explains 20% of what is left of treatment and outcome, in 4,000 rows."""
    rng, n, r = np.random.default_rng(8), 4000, 0.2
    load = math.sqrt(r / (1 - r))
    u = rng.standard_normal(n)
    t = load * u + rng.standard_normal(n)
    y = t + load / math.sqrt(1 - r) * u + rng.standard_normal(n)
    effect = ad.effect({"t": t, "y": y}, treatment="t", outcome="y", terms=None, robust=False, rng=0)
    found = effect.next_steps(rows=(), experiments=(), edges=None, measure={"u": ad.Strength(r, r)})
    x = np.column_stack([np.ones(n), t, u])
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    wanted = math.sqrt(left @ left / (n - 3) * np.linalg.inv(x.T @ x)[1, 1])
    assert found.best.sd == pytest.approx(wanted, rel=0.05)
    assert found.best.before > 2.0 * found.best.sd


def test_what_nothing_acts_on_comes_in_as_it_was_together_with_its_neighbours() -> None:
    rng = np.random.default_rng(9)
    a = rng.standard_normal(200)
    b = 0.9 * a + 0.3 * rng.standard_normal(200)  # no edge between them in the graph
    graph = ad.CandidateGraph(("a", "b", "y"), {("a", "y"): 0.5, ("b", "y"): 0.5})
    posterior = fit({"a": a, "b": b, "y": a + rng.standard_normal(200)}, graph, rng=0)
    assert outside(graph, ()) == {"a", "b"}
    drawn = draw_equations(posterior.workings.models.items[0], 3, np.random.default_rng(0))
    places = [posterior.workings.data.pooled.index[name] for name in ("a", "b")]
    covariance = (drawn.given.T @ drawn.given)[np.ix_(places, places)]
    np.testing.assert_allclose(covariance[0, 1], np.corrcoef(a, b)[0, 1], rtol=1e-9)


def test_expected_variances_come_true() -> None:
    """A few hundred of the studies of ``python -m calibration.next_steps``; a factor of 1.3 would be seen."""
    from calibration.next_steps import taken

    found = [taken(("rows, first order", seed))[0] for seed in range(120)]
    expected, became = (np.mean([getattr(one, name) for one in found]) for name in ("expected", "became"))
    assert 0.87 < expected / became < 1.15


def test_a_network_of_the_calibration_has_the_effect_of_its_paths() -> None:
    truth = network(np.random.default_rng(0), 4)
    b = truth.coefficients
    wanted = b[0, 3] + b[0, 1] * b[1, 3] + b[0, 2] * b[2, 3] + b[0, 1] * b[1, 2] * b[2, 3]
    assert truth.effect("x0", "x3") == pytest.approx(wanted)
