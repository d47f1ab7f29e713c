"""Nodes that are grades against enumeration of all parent sets, and the logistic node."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.families.base import Batch, Draws, Point
from alldags.families.ordered import Ordered
from alldags.families.yes_no import Bernoulli
from family_problems import TAU, columns, fit_node, yes_no
from naive.grades import enumerate_grades, probabilities

CELLS = [(60, 3, "strong"), (100, 5, "weak"), (200, 4, "strong"), (400, 7, "weak")]
STRENGTHS = {"weak": [0.3, 0.0, -0.3], "strong": [1.2, -0.8, 0.0]}


def grades(n, levels, signal, seed):
    """Columns (n, 3) and codes of levels, each of which is there."""
    rng = np.random.default_rng([n, levels, len(signal), seed])
    x = columns(n, 3, rng)
    latent = x @ STRENGTHS[signal] + rng.logistic(size=n)
    return x, np.searchsorted(np.quantile(latent, np.arange(1, levels) / levels), latent).astype(float)


def ordered(levels):
    return Ordered(levels=tuple(float(level) for level in range(levels)))


@pytest.mark.parametrize(("n", "levels", "signal"), CELLS)
def test_a_grade_is_what_enumeration_of_all_sets_says(n, levels, signal):
    x, y = grades(n, levels, signal, 1)
    reference = enumerate_grades(x, y.astype(int), np.full(3, 0.5), TAU, levels)
    found = fit_node(x, y, family=ordered(levels))
    assert np.abs(found.inclusion - reference.inclusion).max() <= 0.02
    assert (np.abs(found.mean - reference.mean) / reference.sd).max() <= 0.06
    np.testing.assert_allclose(np.sqrt(np.diag(found.second_moment) - found.mean**2), reference.sd, rtol=0.08)
    assert abs(found.log_evidence - reference.log_evidence) <= 0.05
    assert found.diagnostics.converged


def test_two_levels_are_a_yes_no_node():
    x, y = yes_no(200, 4, 0.5, "weak", 1)
    found, logistic = fit_node(x, y, family=ordered(2)), fit_node(x, y, family=Bernoulli())
    assert np.abs(found.inclusion - logistic.inclusion).max() <= 0.01
    spread = np.sqrt(np.diag(logistic.second_moment) - logistic.mean**2)
    assert (np.abs(found.mean - logistic.mean) / spread).max() <= 0.03
    assert found.log_evidence == pytest.approx(logistic.log_evidence, abs=0.02)


def test_rows_are_as_probable_as_differences_of_cumulative_probabilities(rng):
    x, y = grades(50, 4, "strong", 2)
    draws = Draws(rng.standard_normal(6), rng.standard_normal((6, 3)), np.ones(6), 0.5 * rng.standard_normal((6, 2)))
    own, weight = ordered(4), rng.uniform(0.5, 2.0, 50)
    rows = np.empty((50, 6))
    for place in range(6):
        thresholds = np.concatenate([[0.0], np.exp(draws.beside[place]).cumsum()])
        eta = x @ draws.coefficients[place] + draws.intercept[place]
        rows[:, place] = np.log(probabilities(eta, thresholds)[np.arange(50), y.astype(int)])
    np.testing.assert_allclose(own.log_likelihood_by_row(Batch(x, y), draws), rows, rtol=1e-8)
    np.testing.assert_allclose(own.log_likelihoods([Batch(x[:9], y[:9]), Batch(x[9:], y[9:])], draws), rows.sum(axis=0))
    np.testing.assert_allclose(own.log_likelihoods([Batch(x, y, weight=weight)], draws), weight @ rows)
    weighted = own.log_likelihood_by_row(Batch(x, y, weight=weight), draws)
    np.testing.assert_allclose(weighted, weight[:, None] * rows, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_are_those_of_the_log_likelihood(rng, weighted):
    x, y = grades(60, 5, "strong", 3)
    own = ordered(5)
    batch = Batch(x, y, weight=rng.uniform(0.5, 2.0, 60) if weighted else None)
    at = np.array([0.8, 0.5, -0.3, 0.1, 0.0, 0.2, -0.4])

    def height(point):
        draws = Draws(point[:1], point[None, 1:4], np.ones(1), point[None, 4:])
        return float(own.log_likelihoods([batch], draws)[0] + point[4:].sum())

    found, step = own._sums([batch], at, 4), 1e-4 * np.eye(7)
    slope = [(height(at + one) - height(at - one)) / 2e-4 for one in step]
    np.testing.assert_allclose(found.gradient, slope, rtol=1e-5, atol=1e-5)
    bend = [
        [sum(a * b * height(at + a * i + b * j) for a in (1, -1) for b in (1, -1)) / -4e-8 for j in step] for i in step
    ]
    expected = np.array(bend)
    by_steps = np.diag_indices(7)[0][4:]
    expected[by_steps, by_steps] += np.maximum(found.gradient[4:] - 1.0, 0.0)  # is left out where it lowers it
    np.testing.assert_allclose(found.information, expected, rtol=1e-3, atol=2e-3)
    assert found.value == pytest.approx(height(at))


def test_the_quadratic_is_the_integral_over_steps(rng):
    x, y = grades(500, 3, "weak", 4)
    own = ordered(3)
    batch, point = Batch(x, y), own.mode(_Sums("y", own, x, y), 1.0)
    quadratic = own.quadratic(("a", "b", "c"), [batch], point)
    u = np.linspace(point.beside[0] - 1.0, point.beside[0] + 1.0, 2001)[:, None]
    for move in (np.zeros(4), np.array([0.05, -0.05, 0.05, 0.0])):
        z = np.tile(point.at + move, (len(u), 1))
        height = own.log_likelihoods([batch], Draws(z[:, 0], z[:, 1:], np.ones(len(u)), u)) + u[:, 0]
        exact = height.max() + np.log(np.exp(height - height.max()).sum() * (u[1, 0] - u[0, 0]))
        value = quadratic.value + quadratic.gradient @ move - 0.5 * move @ quadratic.information @ move
        assert value == pytest.approx(exact, abs=0.01)


class _Sums:
    """Rows as a mode needs them."""

    def __init__(self, child, family, x, y):
        self.child, self.family, self.names, self._batch = child, family, ("a", "b", "c"), Batch(x, y)

    def batches(self):
        return [self._batch]


def test_mean_scores_and_drawn_levels_are_those_of_the_probabilities():
    eta, u = np.array([[-1.0, 0.5], [2.0, 0.0]]), np.array([[0.2, -0.3], [0.1, 0.4]])
    own = Ordered(levels=(1.0, 2.0, 4.0, 9.0))
    expected = np.empty((2, 2))
    for draw in (0, 1):
        thresholds = np.concatenate([[0.0], np.exp(u[:, draw]).cumsum()])
        expected[:, draw] = probabilities(eta[:, draw], thresholds) @ [1.0, 2.0, 4.0, 9.0]
    np.testing.assert_allclose(own.mean(eta, u), expected)
    level = (np.arange(4000) + 0.5) / 4000
    drawn = np.array([own.draw(np.broadcast_to(eta[0], (4000, 2)), level[:, None], u).mean(axis=0)])
    np.testing.assert_allclose(drawn[0], expected[0], atol=0.01)
    for value in own.levels:
        low, high = own.bracket(eta, np.full((2, 1), value), u)
        assert (own.draw(eta, 0.5 * (low + high), u) == value).all()
        assert (own.draw(eta, low, u) == value).all()
    third = Ordered(scores=(0, 0, 1, 1), levels=own.levels)
    assert third.mean(eta, u)[0, 0] == pytest.approx(1 / (1 + np.exp(1.0 + np.exp(0.2))))


def test_a_point_without_steps_starts_at_the_frequencies():
    x, y = grades(90, 3, "weak", 5)
    own, point = ordered(3), Point(np.zeros(4))
    found = own.quadratic(("a", "b", "c"), [Batch(x, y)], point)
    assert found.beside.center.shape == (1,)
    assert np.isfinite(found.value)


@pytest.mark.parametrize(
    ("values", "family", "said"),
    [
        (np.arange(40.0), ad.Ordered(), "'pain' is to be a grade .* has 40 different values; at most 20"),
        (
            np.arange(40.0) % 3,
            ad.Ordered(scores=(0, 1)),
            "must be 3 numbers, one for each of its values 0, 1, 2, got 2",
        ),
    ],
)
def test_what_is_no_grade_is_refused(values, family, said):
    table = {"dose": np.sin(np.arange(40.0)), "pain": values}
    with pytest.raises(ad.AlldagsError, match=said):
        ad.fit(table, {"pain": ["dose"]}, families={"pain": family})
