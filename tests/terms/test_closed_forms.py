"""Effects through derived columns against brute force over all sets of terms, least squares, and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alldags as ad
from alldags.answers.comparison import Comparison
from alldags.answers.forward import is_linear
from alldags.answers.inner import InnerAnswer

FIXED = ad.Prior(slab_variance=1.0, link=0.0)


def two_nodes(n=150, seed=1):
    """Two covariates, a yes/no treatment, a mediator and an outcome, with products of all kinds."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n))
    x = (rng.random(n) < 1 / (1 + np.exp(-a))).astype(float)
    m = 0.6 * x + 0.5 * a + 0.7 * x * b + rng.standard_normal(n)
    y = 0.4 * x + 0.8 * m - 0.5 * a * m + 0.4 * x * m + b + 0.8 * rng.standard_normal(n)
    return {"a": a, "b": b, "x": x, "m": m, "y": y}


M_TERMS = ["x*a", "x*b"]
Y_TERMS = ["m*a", "m*b", "x*a", "x*m"]


def design_m(x, t):
    return np.column_stack([t["a"], t["b"], x, x * t["a"], x * t["b"]])


def design_y(x, m, t):
    return np.column_stack([t["a"], t["b"], x, m, m * t["a"], m * t["b"], x * t["a"], x * m])


def all_sets(design, child):
    """Weights and coefficients of all sets of terms: fixed slab, noise integrated out, every set equally probable."""
    scale, unit = design.std(axis=0), child.std()
    z, v = (design - design.mean(axis=0)) / scale, (child - child.mean()) / unit
    n, k = z.shape
    logs, coefficients = [], []
    for present in itertools.product([False, True], repeat=k):
        s = np.flatnonzero(present)
        precision = z[:, s].T @ z[:, s] + np.eye(len(s))
        shift = z[:, s].T @ v
        mean = np.linalg.solve(precision, shift)
        rate = (v @ v - shift @ mean) / 2
        logs.append(-0.5 * np.linalg.slogdet(precision)[1] - (n - 1) / 2 * np.log(rate))
        theta = np.zeros(k)
        theta[s] = mean * unit / scale[s]
        coefficients.append(theta)
    weight = np.exp(np.array(logs) - max(logs))
    return weight / weight.sum(), np.array(coefficients)


def test_forward_pass_equals_the_sum_over_8192_graphs():
    t = two_nodes()
    graph = ad.CandidateGraph.from_edges(
        dict.fromkeys(map(tuple, ["am", "bm", "xm", "ay", "by", "xy", "my", "ax"]), 0.5)
    )
    posterior = ad.fit(t, graph, prior=FIXED, terms={"m": M_TERMS, "y": Y_TERMS}, families="normal", rng=0)
    effect = posterior.effect("x", "y")
    assert is_linear(effect.answer.responses.items[0])
    one, zero = np.ones(150), np.zeros(150)
    wm, tm = all_sets(design_m(t["x"], t), t["m"])
    wy, ty = all_sets(design_y(t["x"], t["m"], t), t["y"])
    m_means, y_means = design_m(t["x"], t).mean(axis=0), design_y(t["x"], t["m"], t).mean(axis=0)
    total = 0.0
    for weight, theta in zip(wm, tm, strict=True):
        cm = t["m"].mean() - m_means @ theta
        high, low = (cm + design_m(x, t) @ theta for x in (one, zero))
        gap = (design_y(one, high, t) - design_y(zero, low, t)).mean(axis=0)
        total += weight * float(wy @ (ty @ gap))
    assert y_means.shape == (8,)
    assert effect.mean == pytest.approx(total, abs=1e-9)
    draws = effect.draws(4000, rng=1)
    assert draws.mean() == pytest.approx(total, abs=5 * draws.std() / 4000**0.5)


def test_g_computation_with_noise_agrees_with_simulated_outcomes():
    """A square of the mediator: its mean needs the noise."""
    rng = np.random.default_rng(3)
    n = 3000
    x = rng.integers(0, 2, n).astype(float)
    m = 0.7 * x + rng.standard_normal(n)
    y = m**2 + rng.standard_normal(n)
    graph = ad.CandidateGraph.from_edges({("x", "m"): 1.0, ("m", "y"): 1.0, ("x", "y"): 0.5})
    effect = ad.fit({"x": x, "m": m, "y": y}, graph, terms={"y": ["m^2"]}, families="normal", rng=0).effect("x", "y")
    assert not is_linear(effect.answer.responses.items[0])
    low, high = effect.interval(0.99)
    assert low < 0.49 < high
    assert effect.mean == pytest.approx(0.49, abs=4 * effect.sd)
    assert 0.0 < effect.uncertainty.mean_error < 0.5 * effect.sd


def arms_table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((n, 2))
    t = (rng.random(n) < 1 / (1 + np.exp(-w[:, 0]))).astype(float)
    y = w @ [1.0, -0.5] + t * (1.0 + 0.8 * w[:, 0]) + rng.standard_normal(n) * np.where(t == 1, 2.0, 1.0)
    return {"u": w[:, 0], "v": w[:, 1], "t": t, "y": y}


def arms_graph(p=1.0):
    return ad.CandidateGraph.from_edges({("u", "t"): 0.5, ("u", "y"): 1.0, ("v", "y"): 1.0, ("t", "y"): p})


LINES = ad.Terms(curves=0, products=0, index=False, propensity=False, trees=False, modification="arms")


def test_separate_arms_are_lins_estimator():
    """All lines certain, a very wide slab: the fully interacted regression, with its variance for given covariates."""
    table = arms_table()
    prior = ad.Prior(slab_variance=1e6, link=0.0)
    effect = ad.fit(table, arms_graph(), prior=prior, terms={"y": LINES}, families="normal", rng=0).effect("t", "y")
    w = np.column_stack([table["u"], table["v"]])
    w = w - w.mean(axis=0)
    arms = [table["t"] == level for level in (0.0, 1.0)]
    fitted = []
    for arm in arms:
        design = np.column_stack([np.ones(arm.sum()), w[arm]])
        inverse = np.linalg.inv(design.T @ design)
        theta = inverse @ design.T @ table["y"][arm]
        rest = table["y"][arm] - design @ theta
        fitted.append((theta[0], inverse[0, 0] * (rest @ rest) / (arm.sum() - 3)))
    assert effect.mean == pytest.approx(fitted[1][0] - fitted[0][0], abs=0.02)
    assert effect.sd == pytest.approx(np.sqrt(fitted[0][1] + fitted[1][1]), rel=0.06)


def test_certain_terms_are_least_squares_with_them():
    """A square and a product that the data do not need stay in; half as probable, they nearly go."""
    table = arms_table(150, seed=3)
    u, v, t = table["u"], table["v"], table["t"]
    table["y"] = u - 0.5 * v + t + np.random.default_rng(1).standard_normal(150)
    prior = ad.Prior(slab_variance=1e8)

    def asked(p):
        terms = {"y": {"u^2": p, "t*v": p}}
        return ad.fit(table, arms_graph(), prior=prior, terms=terms, families="normal", rng=0).effect("t", "y")

    ones = np.ones(150)
    long = np.linalg.lstsq(np.column_stack([ones, u, v, t, u**2, t * v]), table["y"], rcond=None)[0]
    short = np.linalg.lstsq(np.column_stack([ones, u, v, t]), table["y"], rcond=None)[0]
    assert asked(1.0).mean == pytest.approx(long[3] + long[5] * v.mean(), abs=1e-6)
    assert asked(0.5).mean == pytest.approx(short[3], abs=1e-4)


def test_noise_ratio_is_averaged():
    effect = ad.fit(arms_table(2000), arms_graph(), terms={"y": LINES}, families="normal", rng=0).effect("t", "y")
    fit = effect.workings.models.items[0].node("y").found.parts[0].fit
    ratio = fit.draw(2000, np.random.default_rng(0)).ratio
    assert np.median(ratio) == pytest.approx(4.0, rel=0.15)
    assert ratio.std() == pytest.approx(4.0 * np.sqrt(2 / 1000 + 2 / 1000), rel=0.3)
    assert fit.effective_share > 0.3


def test_variance_of_the_population_effect():
    """Dirichlet weights over rows (the Bayesian bootstrap) against the formula, given coefficients."""
    posterior = ad.fit(arms_table(120), arms_graph(), terms={"y": LINES}, families="normal", rng=0)
    sample, population = (posterior.effect("t", "y", over=over) for over in ("sample", "population"))
    curves = population.answer
    assert isinstance(curves, InnerAnswer)
    rows = next(iter(curves.changes.items[0].rows()))
    rng = np.random.default_rng(5)
    size = 20_000
    _, drawn = curves.of_rows(rows, size, rng)
    boot = np.einsum("dr,dr->d", rng.dirichlet(np.ones(rows.count), size), drawn)
    assert population.draws(size, rng=1).var() == pytest.approx(boot.var(), rel=0.05)
    assert population.mean == sample.mean
    assert population.sd > sample.sd


@pytest.mark.parametrize("over", ["treated", "untreated"])
def test_parts_of_the_sample(over):
    table = arms_table(400)
    posterior = ad.fit(table, arms_graph(), terms={"y": LINES}, families="normal", rng=0)
    chosen = table["t"] == (over == "treated")
    part = posterior.effect("t", "y", over=over)
    assert posterior.effect("t", "y", over=chosen).mean == pytest.approx(part.mean, rel=1e-9)
    rows = part.by({name: table[name][chosen] for name in ("u", "v")})
    assert np.mean(rows["mean"]) == pytest.approx(part.mean, rel=1e-9)


def test_no_effect_against_the_bayes_factor_of_one_regression():
    """Without covariates: the marginal likelihoods with and without the difference have a closed form."""
    rng = np.random.default_rng(7)
    n, arm = 200, np.repeat([0.0, 1.0], 100)
    graph = ad.CandidateGraph.from_edges({("t", "y"): 0.3, ("u", "y"): 0.01})
    for effect_size in (0.0, 0.25, 0.5):
        y = effect_size * arm + rng.standard_normal(n)
        table = {"t": arm, "u": rng.standard_normal(n), "y": y}
        terms = ad.Terms(curves=0, products=0, index=False, propensity=False, trees=False, modification="none")
        found = ad.fit(table, graph, prior=FIXED, terms={"y": terms}, families="normal", rng=0).effect("t", "y")
        rest = sum(((y[arm == a] - y[arm == a].mean()) ** 2).sum() for a in (0.0, 1.0))
        gap = y[arm == 1].mean() - y[arm == 0].mean()
        c = 2 / 100
        without = -(n - 1) / 2 * np.log(rest + gap**2 / c)
        with_ = -0.5 * np.log(n + 1) - (n - 1) / 2 * np.log(rest + gap**2 / (c * (n + 1)))  # a slab of variance 1
        odds = 0.7 / 0.3 * np.exp(without - with_)
        assert found.probability_no_effect == pytest.approx(odds / (1 + odds), abs=0.04)


def test_a_moved_treatment_equals_moved_columns():
    """A continuous treatment: contrasts are differences of the curve, and steps average them over rows."""
    rng = np.random.default_rng(2)
    dose = rng.uniform(0, 4, 400)
    table = {"dose": dose, "answer": np.minimum(dose, 2.0) + 0.1 * rng.standard_normal(400)}
    graph = ad.CandidateGraph.from_edges({("dose", "answer"): 1.0})
    effect = ad.fit(table, graph, terms={"answer": ad.Terms()}, rng=0).effect("dose", "answer")
    curve = effect.curve([0.5, 1.5, 2.5, 3.5])
    assert curve["mean"] == pytest.approx([0.5, 1.5, 2.0, 2.0], abs=0.08)
    contrast = effect.contrast(0.5, 3.5)
    assert contrast.mean == pytest.approx(curve["mean"][3] - curve["mean"][0], rel=1e-9)
    assert isinstance(effect.answer, InnerAnswer)
    assert effect.answer.question.comparison == Comparison()
    steps = effect.by({"dose": dose})
    assert np.mean(steps["mean"]) == pytest.approx(effect.mean, rel=1e-9)


def test_a_treatment_without_covariates():
    """The difference of two means, and its standard error."""
    rng = np.random.default_rng(9)
    arm = np.repeat([0.0, 1.0], [80, 120])
    y = 0.7 * arm + rng.standard_normal(200) * (1 + arm)
    graph = ad.CandidateGraph.from_edges({("t", "y"): 1.0})
    prior = ad.Prior(slab_variance=1e8)
    effect = ad.fit({"t": arm, "y": y}, graph, prior=prior, terms="auto", rng=0).effect("t", "y")
    low, high = y[arm == 0], y[arm == 1]
    assert effect.mean == pytest.approx(high.mean() - low.mean(), rel=1e-3)
    assert effect.sd == pytest.approx(np.sqrt(low.var(ddof=1) / 80 + high.var(ddof=1) / 120), rel=0.08)
