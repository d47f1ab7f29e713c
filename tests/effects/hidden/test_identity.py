"""The one-line identity, in populations and with strengths in all their currencies."""

from __future__ import annotations

import numpy as np
import pytest

from alldags.effects.hidden.conditional import NodeSample
from alldags.effects.hidden.model import HiddenModel, NodeDraws
from alldags.effects.hidden.spikes import free_of_spikes
from alldags.effects.hidden.strengths import (
    benchmark_bounds,
    bias_factor,
    correlation,
    equal_share,
    error_slopes,
    factor_of_correlation,
    loadings_of_factor,
)

NAMES = ("c1", "c2", "x", "m1", "m2", "y")


def population(rng: np.random.Generator):
    """Return a linear graph with errors that share one factor: total effect, covariance, loadings of the hit nodes."""
    m = len(NAMES)
    coefficients = np.triu(rng.normal(0, 1, (m, m)), 1) * (rng.random((m, m)) < 0.7)
    sd, loadings = rng.uniform(0.5, 2, m), np.zeros(m)
    hit = [2, *(j for j in (3, 4, 5) if rng.random() < 0.7)]
    hit = hit if len(hit) > 1 else [2, 5]
    loadings[hit] = rng.uniform(-0.8, 0.8, len(hit))
    errors = np.diag(sd**2 * (1 - loadings**2)) + np.outer(loadings * sd, loadings * sd)
    paths = np.linalg.inv(np.eye(m) - coefficients)
    return paths[2, 5], paths.T @ errors @ paths, {NAMES[j]: loadings[j] for j in hit}


def observed_regressions(covariance: np.ndarray, hit: dict[str, float]) -> HiddenModel:
    """Return the regressions of every node on all before it, as a model of one draw."""

    def sample(j: int) -> tuple[np.ndarray, float]:
        before = list(range(j))
        beta = np.linalg.solve(covariance[np.ix_(before, before)], covariance[before, j])
        return beta, float(np.sqrt(covariance[j, j] - beta @ covariance[before, j]))

    unused = NodeSample(None, np.zeros((1, 0)), np.ones(1), np.zeros(1, dtype=np.int64))
    nodes, hits = [], ["x"]
    for j in (3, 4, 5):
        beta, sd = sample(j)
        parents = NAMES[2:j]
        is_hit = NAMES[j] in hit
        forced = tuple(parents.index(name) for name in hits) if is_hit else ()
        spikes = (free_of_spikes(1, len(parents)),) if is_hit else ()
        nodes.append(NodeDraws(NAMES[j], parents, beta[None, 2:], np.array([sd]), forced, spikes, unused))
        hits += [NAMES[j]] if is_hit else []
    return HiddenModel("x", "y", tuple(hits), np.array([sample(2)[1]]), unused, tuple(nodes), True)


@pytest.mark.parametrize("seed", range(200))
def test_the_total_effect_is_recovered_from_observed_regressions(seed):
    truth, covariance, hit = population(np.random.default_rng(seed))
    model = observed_regressions(covariance, hit)
    found = model.effect(hit).mean
    assert abs(found - truth) <= 1e-10 * max(1.0, abs(truth))
    without, after = model.parts()
    slopes = error_slopes(model.hits, hit, {"x": model.treatment_noise} | {n.child: n.noise for n in model.nodes})
    linear = without - sum(
        slopes[k]["x"] * model.treatment_noise / next(n.noise for n in model.nodes if n.child == k) * after[k]
        for k in model.hits[1:]
    )
    assert abs(linear[0] - truth) <= 1e-10 * max(1.0, abs(truth))  # T = A - sum g_k B_k


def test_a_cause_of_mediator_and_outcome_alone_does_not_bias():
    truth, covariance, _ = population(np.random.default_rng(3))
    model = observed_regressions(covariance, {"x": 0.0, "m1": 0.0, "y": 0.0})
    ignored = model.effect({"x": 0.0, "m1": 0.5, "y": 0.5}).mean
    assert ignored == pytest.approx(model.parts()[0][0], abs=1e-12)
    assert np.isfinite(truth)


@pytest.mark.parametrize(("r2x", "r2y"), [(0.1, 0.2), (0.3, 0.05), (0.6, 0.6)])
def test_currencies_agree(r2x, r2y):
    """Two partial R2, two loadings, one correlation and one factor say the same."""
    f = float(bias_factor(r2x, r2y))
    loadings = {"x": np.sqrt(r2x), "y": np.sqrt(r2y / (1 - r2x + r2x * r2y))}
    noise = {"x": 2.0, "y": 3.0}
    assert error_slopes(("x", "y"), loadings, noise)["y"]["x"] == pytest.approx(f * 3.0 / 2.0)
    assert loadings["x"] * loadings["y"] == pytest.approx(float(correlation(f)))
    alike = dict(zip(("x", "y"), loadings_of_factor(-f), strict=True))
    assert error_slopes(("x", "y"), alike, noise)["y"]["x"] == pytest.approx(-f * 3.0 / 2.0)
    assert float(factor_of_correlation(correlation(f))) == pytest.approx(f)
    assert float(bias_factor(equal_share(f), equal_share(f))) == pytest.approx(f)


def test_partial_r2_of_a_cause_in_a_population():
    """Strengths mean what they say: U's partial R2 with x given c, and with y given x and c."""
    rng = np.random.default_rng(1)
    n = 400_000
    u, c = rng.standard_normal((2, n))
    x = 0.7 * c + 0.6 * u + rng.standard_normal(n)
    y = 0.5 * x - 0.4 * c + 0.8 * u + 1.5 * rng.standard_normal(n)

    def residual(target, *others):
        columns = np.column_stack(others)
        return target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]

    r2x = np.corrcoef(residual(x, c), residual(u, c))[0, 1] ** 2
    r2y = np.corrcoef(residual(y, x, c), residual(u, x, c))[0, 1] ** 2
    biased = residual(y, c) @ residual(x, c) / (residual(x, c) @ residual(x, c))
    ratio = residual(y, x, c).std() / residual(x, c).std()
    assert biased - float(bias_factor(r2x, r2y)) * ratio == pytest.approx(0.5, abs=0.01)


def test_bounds_of_a_covariate_that_explains_nothing_are_zero():
    assert benchmark_bounds(0.0, 0.0, 1.0, 1.0) == (0.0, 0.0)
    r2x, r2y = benchmark_bounds(0.999, 0.999, 3.0, 3.0)
    assert r2x < 1.0 <= 1.0 + r2x
    assert r2y <= 1.0
