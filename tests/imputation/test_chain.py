"""Missing values drawn in the graph, held against sums over everything that they may be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from alldags.columns.bends import Bend
from alldags.columns.line import Line
from alldags.data.missing import Holes
from alldags.families.count import Poisson
from alldags.families.student import Student
from alldags.families.yes_no import Bernoulli
from alldags.imputation.chain import Chain
from alldags.imputation.columns import IsLevel
from alldags.imputation.regressions import INTERCEPT, Curve, Given, Normal, Softmax, ridge
from alldags.imputation.variables import Variable

TWO = (0.0, 1.0)


def evidence(columns: np.ndarray, child: np.ndarray) -> float:
    """Return the log-probability of a yes/no child, coefficients summed over a grid under their prior."""
    precision = ridge(len(child), columns.shape[1], INTERCEPT)
    grids = [np.linspace(-6.0, 6.0, 121) * (2.0 if i == 0 else 1.0) for i in range(columns.shape[1])]
    points = np.array(np.meshgrid(*grids, indexing="ij")).reshape(columns.shape[1], -1)
    eta = columns @ points
    value = child @ eta - np.logaddexp(0.0, eta).sum(axis=0) - 0.5 * precision @ points**2
    return float(logsumexp(value))


def standardised(values: np.ndarray, chain: Chain, place: int) -> np.ndarray:
    """Return a column as the chain takes it: in units of the table that it began with."""
    columns = chain._design.columns
    return (values - columns.center[place]) / columns.scale[place]


def test_yes_no_values_have_their_exact_posterior_in_a_network_that_can_be_summed_out():
    z = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, np.nan, np.nan, np.nan], dtype=float)
    y = np.array([1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1], dtype=float)
    chain = Chain([Variable("z", z, TWO), Variable("y", y, TWO)], [Line("z"), Line("y")], np.random.default_rng(0))
    gaps = np.flatnonzero(np.isnan(z))
    weights, tables = [], list(product(TWO, repeat=3))
    for filled in tables:
        whole = z.copy()
        whole[gaps] = filled
        ones = np.ones((len(z), 1))
        both = np.column_stack([ones, standardised(whole, chain, 0)])
        weights.append(evidence(ones, whole) + evidence(both, y))
    share = np.exp(np.array(weights) - logsumexp(weights))
    exact = share @ np.array(tables)
    sweeps = 6000
    drawn = np.empty((sweeps, 3))
    for i in range(200 + sweeps):
        chain.sweep()
        drawn[i - 200] = chain.values["z"][gaps]
    error = np.sqrt(3.0 * 0.25 / sweeps)  # sweeps are worth a third of independent ones, or more
    np.testing.assert_allclose(drawn.mean(axis=0), exact, atol=4 * error)
    pairs = share @ np.array([one[0] * one[1] for one in tables])
    assert (drawn[:, 0] * drawn[:, 1]).mean() == pytest.approx(pairs, abs=4 * error)


def test_levels_have_their_exact_posterior_given_coefficients(rng):
    """Probability of each level of a gap: its own times that of the child, averaged over the chain's coefficients."""
    c = rng.integers(0, 3, 60).astype(float)
    y = (rng.random(60) < np.array([0.2, 0.5, 0.9])[c.astype(int)]).astype(float)
    c[:2], y[:2] = np.nan, [0.0, 1.0]
    variables = [Variable("c", c, (0.0, 1.0, 2.0)), Variable("y", y, TWO)]
    chain = Chain(variables, [IsLevel("c", 1), IsLevel("c", 2), Line("y")], np.random.default_rng(1))
    seen, expected = np.zeros((2, 3)), np.zeros((2, 3))
    for i in range(3100):
        chain.sweep()
        if i < 100:
            continue
        seen[np.arange(2), chain.values["c"][:2].astype(int)] += 1
        own, child = (node.regression for node in chain._nodes)
        eta = np.r_[0.0, own.predictor(np.ones((1, 1)), None)[0]]
        levels = standardised(np.eye(3)[:, 1:], chain, slice(0, 2))
        risk = expit(np.column_stack([np.ones(3), levels]) @ child.beta)
        for row in range(2):
            p = np.exp(eta) * (risk if y[row] else 1.0 - risk)
            expected[row] += p / p.sum()
    np.testing.assert_allclose(seen / 3000, expected / 3000, atol=4 * np.sqrt(0.25 / 3000))


def test_straight_numbers_are_imputed_as_from_a_normal_distribution(rng):
    n = 400
    x = rng.standard_normal(n)
    m = 0.8 * x + 0.6 * rng.standard_normal(n)
    y = 0.7 * m - 0.4 * x + 0.5 * rng.standard_normal(n)
    table = np.column_stack([x, m, y])
    table[rng.random(n) < expit(y - 1.0), 1] = np.nan
    table[rng.random(n) < 0.2, 0] = np.nan
    names = ("x", "m", "y")
    variables = [Variable(name, column) for name, column in zip(names, table.T, strict=True)]
    chain = Chain(variables, [Line(name) for name in names], np.random.default_rng(0))
    ours = np.array([np.column_stack([one["x"], one["m"], y]) for one in chain.completed(80)])
    theirs = np.array(list(Holes(names, table).completed(80, np.random.default_rng(1))))
    gaps = np.isnan(table)
    for moment in (lambda t: t[:, :2].mean(axis=0), lambda t: np.cov(t, rowvar=False)[np.triu_indices(3)]):
        a, b = (np.array([moment(one) for one in tables]) for tables in (ours, theirs))
        error = np.sqrt(2.0 * (a.var(axis=0) + b.var(axis=0)) / 80)  # tables are a little alike
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error + 1e-9).all()
    spread = ours[:, gaps].std(axis=0) / theirs[:, gaps].std(axis=0)
    assert np.median(spread) == pytest.approx(1.0, abs=0.05)
    away = (ours[:, gaps].mean(axis=0) - theirs[:, gaps].mean(axis=0)) / theirs[:, gaps].std(axis=0)
    assert abs(away.mean()) < 0.05
    assert away.std() < 0.3  # means of 80: 0.16 where tables are independent


def test_a_child_that_bends_says_on_which_side_a_number_lies(rng):
    """Of y = |x| a straight imputation knows nothing; with a bend, x has two places that fit."""
    n = 1500
    x = rng.standard_normal(n)
    y = np.abs(x) + 0.15 * rng.standard_normal(n)
    holed = np.where(np.arange(n) < 300, np.nan, x)
    columns = [Line("x"), Bend("x", -0.3), Bend("x", 0.0), Bend("x", 0.3), Line("y")]
    chain = Chain([Variable("x", holed), Variable("y", y)], columns, np.random.default_rng(2))
    drawn = np.array([one["x"][:300] for one in chain.completed(20)])
    rest = np.abs(drawn) - y[:300]
    assert rest.std() == pytest.approx(0.15, abs=0.05)
    far = y[:300] > 0.7
    assert (drawn[:, far] > 0).mean() == pytest.approx(0.5, abs=0.05)


def test_gaps_that_follow_each_other_are_drawn_from_what_comes_before(rng):
    """Monotone: where the mediator is missing so is the outcome, and nothing but the cause says anything of it."""
    n = 3000
    x = rng.standard_normal(n)
    m = 0.5 + 0.8 * x + 0.6 * rng.standard_normal(n)
    y = (rng.random(n) < expit(m)).astype(float)
    gone = rng.random(n) < expit(x)
    variables = [
        Variable("x", x),
        Variable("m", np.where(gone, np.nan, m)),
        Variable("y", np.where(gone, np.nan, y), TWO),
    ]
    chain = Chain(variables, [Line(name) for name in "xmy"], np.random.default_rng(6))
    tables = list(chain.completed(10))
    rest = np.array([table["m"][gone] - 0.5 - 0.8 * x[gone] for table in tables])
    assert rest.mean() == pytest.approx(0.0, abs=0.05)
    assert rest.std() == pytest.approx(0.6, abs=0.03)
    risk = np.mean([table["y"][gone] - expit(table["m"][gone]) for table in tables])
    assert risk == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("kind", ["count", "student"])
def test_the_family_of_a_child_weighs_candidates(rng, kind):
    n = 1200
    x = rng.standard_normal(n)
    if kind == "count":
        offset = rng.normal(0.5, 0.5, n)
        y = rng.poisson(np.exp(offset + 0.2 + 0.8 * x)).astype(float)
        child = Variable("y", y, family=Poisson("log_t"), offset=offset)
    else:
        y = x + 0.5 * rng.standard_t(3, n)
        child = Variable("y", y, family=Student(3.0))
    gone = rng.random(n) < expit(y - y.mean())
    chain = Chain([Variable("x", np.where(gone, np.nan, x)), child], [Line("x"), Line("y")], np.random.default_rng(3))
    tables = list(chain.completed(30))
    means = [table["x"].mean() for table in tables]
    slopes = [np.polyfit(table["x"], y, 1)[0] for table in tables]
    full = np.polyfit(x, y, 1)[0]
    assert np.mean(means) == pytest.approx(x.mean(), abs=0.08)
    assert np.mean(slopes) == pytest.approx(full, abs=4 * np.std(slopes) + 0.03)
    node = chain._nodes[1].regression
    slope = node.beta[1] / chain._design.columns.scale[0] * (1.0 if kind == "count" else np.std(y))
    assert slope == pytest.approx(0.8 if kind == "count" else 1.0, abs=0.12)


def test_missing_counts_are_counts_and_missing_outcomes_do_not_slow_the_chain(rng):
    n = 500
    x = rng.standard_normal(n)
    k = rng.poisson(np.exp(0.5 + 0.6 * x)).astype(float)
    y = 0.3 * k + rng.standard_normal(n)
    k[:100], y[400:] = np.nan, np.nan
    variables = [Variable("x", x), Variable("k", k, family=Poisson()), Variable("y", y)]
    chain = Chain(variables, [Line("x"), Line("k"), Line("y")], np.random.default_rng(4))
    tables = list(chain.completed(20))
    counts = np.array([table["k"][:100] for table in tables])
    assert (counts == np.round(counts)).all()
    assert counts.min() >= 0
    assert counts.mean() == pytest.approx(np.exp(0.5 + 0.6 * x[:100]).mean(), rel=0.15)
    assert chain._nodes[-1].rows is not None
    assert len(chain._nodes[-1].rows) == 400
    assert np.array([table["y"] for table in tables])[:, :400] == pytest.approx(np.tile(y[:400], (20, 1)))


def test_matrixin_which_a_variable_was_set_are_left_out_of_its_own_regression(rng):
    """The set variable is independent of its cause there: with all rows the slope would be half of what it is."""
    n = 2000
    x = rng.standard_normal(n)
    was_set = np.arange(n) < 1000
    m = np.where(was_set, rng.standard_normal(n), 0.9 * x + 0.4 * rng.standard_normal(n))
    holed = np.where(rng.random(n) < 0.3, np.nan, x)
    variables = [Variable("x", holed), Variable("m", m, was_set=was_set)]
    chain = Chain(variables, [Line("x"), Line("m")], np.random.default_rng(5))
    drawn = np.array([one["x"] for one in chain.completed(20)])
    gone = np.isnan(holed)
    apart = [np.corrcoef(one[gone & was_set], m[gone & was_set])[0, 1] for one in drawn]
    together = [np.corrcoef(one[gone & ~was_set], m[gone & ~was_set])[0, 1] for one in drawn]
    assert np.mean(apart) == pytest.approx(0.0, abs=0.05)
    assert np.mean(together) == pytest.approx(0.9 / np.hypot(0.9, 0.4), abs=0.03)


# -- regressions -------------------------------------------------------------------------------------------------------


def chain_of(regression, given, size=4000):
    rng = np.random.default_rng(0)
    found = []
    for i in range(size + 100):
        regression.update(given, rng)
        if i >= 100:
            found.append(np.concatenate([p.beta for p in regression.parts]) if hasattr(regression, "parts")
                         else regression.beta)  # fmt: skip
    return np.array(found)


def test_coefficients_of_a_yes_no_variable_have_their_exact_posterior(rng):
    """Mean and variance against sums over a grid, with few rows, where the posterior is skewed."""
    x = rng.standard_normal(14)
    y = np.array([0.0] * 11 + [1.0] * 3)
    matrix = np.column_stack([np.ones(14), x])
    drawn = chain_of(Curve(Bernoulli()), Given(matrix, y), 20_000)
    precision = ridge(14, 2, INTERCEPT)
    grid = np.array(np.meshgrid(np.linspace(-12, 6, 361), np.linspace(-6, 6, 241), indexing="ij")).reshape(2, -1)
    eta = matrix @ grid
    weight = y @ eta - np.logaddexp(0, eta).sum(axis=0) - 0.5 * precision @ grid**2
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean = grid @ weight
    sd = np.sqrt((grid - mean[:, None]) ** 2 @ weight)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.06)


def test_coefficients_of_a_category_are_those_of_a_softmax(rng):
    """Against Newton's mode and curvature of the multinomial log-likelihood, with many rows."""
    n = 3000
    x = rng.standard_normal(n)
    p = np.exp(np.column_stack([np.zeros(n), 0.4 + 0.8 * x, -0.3 - 0.5 * x]))
    code = (rng.random(n)[:, None] > (p / p.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    matrix = np.column_stack([np.ones(n), x])
    drawn = chain_of(Softmax(3), Given(matrix, code.astype(float)), 3000)
    z, prior = np.zeros(4), np.tile(ridge(n, 2, INTERCEPT), 2)
    for _ in range(20):
        eta = np.column_stack([matrix @ z[:2], matrix @ z[2:]])
        q = np.exp(eta) / (1.0 + np.exp(eta).sum(axis=1, keepdims=True))
        gradient = np.concatenate([matrix.T @ ((code == j + 1) - q[:, j]) for j in range(2)]) - prior * z
        inner = np.block(
            [[(matrix * (q[:, a] * ((a == b) - q[:, b]))[:, None]).T @ matrix for b in range(2)] for a in range(2)]
        )
        z = z + np.linalg.solve(inner + np.diag(prior), gradient)
    sd = np.sqrt(np.diag(np.linalg.inv(inner + np.diag(prior))))
    assert (np.abs(drawn.mean(axis=0) - z) < 0.25 * sd).all()
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.12)


@pytest.mark.parametrize("rows", [15, 400])
def test_numbers_have_the_noise_that_least_squares_leaves(rng, rows):
    matrix = np.column_stack([np.ones(rows), rng.standard_normal((rows, 4))])
    y = matrix @ np.array([0.2, 0.5, 0.0, -0.3, 0.0]) + 0.7 * rng.standard_normal(rows)
    regression, variances = Normal(), []
    stream = np.random.default_rng(0)
    for i in range(3000):
        regression.update(Given(matrix, y), stream)
        if i > 100:
            variances.append(regression.variance)
    left = y - matrix @ np.linalg.lstsq(matrix, y, rcond=None)[0]
    dof = rows - 5
    assert np.mean(variances) == pytest.approx(left @ left / (dof - 2), rel=0.25 if rows < 20 else 0.03)


def test_columns_of_a_category_are_one_for_each_level_but_the_first():
    from alldags.imputation.made import columns_of

    variables = [Variable("c", np.array([0.0, 1.0, 2.0]), (0.0, 1.0, 2.0)), Variable("x", np.array([1.0, 2.0, 4.0]))]
    assert [column.name for column in columns_of(variables, {}, {})] == ["c is 1", "c is 2", "x"]


def test_columns_that_determine_each_other_and_nearly_no_noise_can_be_drawn():
    """As with weight before, weight after and their difference among the causes: no factor without a prior."""
    rng = np.random.default_rng(0)
    one, two = rng.standard_normal((2, 200))
    columns = np.column_stack([np.ones(200), one, two, one - two, one + two])
    regression = Normal(variance=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(columns.T @ columns / 1e-14 + 1e-3 * np.eye(5))
    for _ in range(20):
        regression.update(Given(columns, one - 2.0 * two), rng)
    np.testing.assert_allclose(regression.predictor(columns, None), one - 2.0 * two, atol=1e-4)
