"""The bias formula by the representer: against straight lines, least squares, and spikes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.effects.hidden.analysis import HiddenAnalysis
from alldags.effects.hidden.representer import RepresentedModel, ShortMoments
from alldags.effects.hidden.strengths import bias_factor
from lines import fit


def straight_world(seed: int, rows: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    c = rng.standard_normal((rows, 3))
    x = c @ rng.normal(0, 0.6, 3) + rng.uniform(0.5, 2) * rng.standard_normal(rows)
    y = rng.normal(0, 1) * x + c @ rng.normal(0, 0.6, 3) + rng.uniform(0.5, 2) * rng.standard_normal(rows)
    return {"c0": c[:, 0], "c1": c[:, 1], "c2": c[:, 2], "x": x, "y": y}


def certain() -> ad.CandidateGraph:
    graph = ad.CandidateGraph.from_tiers([["c0", "c1", "c2"], ["x"], ["y"]])
    return ad.CandidateGraph(graph.variables, dict.fromkeys(graph.edges, 1.0))


def twin(analysis: HiddenAnalysis) -> HiddenAnalysis:
    """Return the same draws of straight lines by the representer: each draw's moments are those of its regressions."""
    (share, model), = analysis.models  # fmt: skip
    effect, _ = model.parts()
    of_x, of_y = model.treatment_sample, model.sample_of("y")
    covariance = of_x.problem.gram / of_x.problem.n
    norms = []
    for slopes, variance in zip(of_x.coefficients, of_x.variance, strict=True):
        gram = np.zeros((6, 6))  # a one, three covariates, the treatment, the outcome
        gram[0, 0] = 1.0
        gram[1:4, 1:4] = covariance
        gram[1:4, 4] = gram[4, 1:4] = covariance @ slopes
        gram[4, 4] = slopes @ covariance @ slopes + variance
        moments = ShortMoments(gram, np.array([0.0, 0.0, 0.0, 0.0, 1.0]), math.inf)
        norms.append(moments.norms(np.ones((1, 4), dtype=bool))[0])
    found = RepresentedModel(
        "y", ("y",), effect, of_y.variance, np.array(norms), 0.0, moments, np.ones((len(effect), 4), dtype=bool), {}
    )
    return HiddenAnalysis("x", "y", ("y",), ((share, found),), analysis.unit, analysis.sign)


@pytest.mark.parametrize("seed", range(5))
def test_of_straight_lines_the_representer_says_what_the_regressions_say(seed):
    effect = fit(straight_world(seed), certain(), rng=0, robust=False).effect("x", "y")
    today = effect.sensitivity(draws=400)._analysis
    other = twin(today)
    for factor in (-0.7, 0.05, 0.4):
        one, two = today.at_factor(factor), other.at_factor(factor)
        np.testing.assert_allclose(two.values[:-1], one.values, rtol=1e-9, atol=1e-9)
        assert two.mean == pytest.approx(one.mean, rel=1e-9, abs=1e-9)
        assert two.interval(0.95) == pytest.approx(one.interval(0.95), rel=1e-9, abs=1e-9)
    reached = lambda draws: today.sign * draws.mean <= 0  # noqa: E731
    first = [one.first_strength(reached, today.sign) for one in (today, other)]
    assert first[0] == pytest.approx(first[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_norm_within_columns_is_one_over_what_least_squares_leave_of_the_treatment(seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5))
    y = rng.standard_normal(300)
    both = np.column_stack([np.ones(300), z, y])
    moments = ShortMoments(both.T @ both / 300, np.array([0.0, 0, 0, 0, 0, 1.0]), math.inf)
    present = rng.random((20, 5)) < 0.6
    present[:, 4] = True
    for found, left, kept in zip(moments.norms(present), _with_rows(moments).left(present), present, strict=True):
        design = np.column_stack([np.ones(300), z[:, :4][:, kept[:4]]])
        rest = z[:, 4] - design @ np.linalg.lstsq(design, z[:, 4], rcond=None)[0]
        assert found == pytest.approx(300 / (rest @ rest), rel=1e-9)
        full = np.column_stack([design, z[:, 4]])
        rest = y - full @ np.linalg.lstsq(full, y, rcond=None)[0]
        assert left == pytest.approx(rest @ rest / (300 - full.shape[1]), rel=1e-6)


def _with_rows(moments: ShortMoments) -> ShortMoments:
    return ShortMoments(moments.gram, moments.change, 300.0)


def test_that_there_is_no_effect_is_as_probable_as_spikes_of_straight_lines_say():
    rng = np.random.default_rng(3)
    c = rng.standard_normal((300, 2))
    x = c @ [0.5, 0.5] + rng.standard_normal(300)
    y = 0.25 * x + c @ [0.5, 0.3] + rng.standard_normal(300)
    graph = ad.CandidateGraph.from_tiers([["c0", "c1"], ["x"], ["y"]])
    table = {"c0": c[:, 0], "c1": c[:, 1], "x": x, "y": y}
    effect = fit(table, graph, rng=0, robust=False).effect("x", "y")
    sensitivity = effect.sensitivity()
    model = sensitivity._analysis.models[0][1]
    values, after = model.parts()
    absent = effect.probability_no_effect
    scale = (sensitivity._analysis.unit * after["y"]) ** 2
    none = np.zeros((model.size, 0), dtype=bool)
    moments = ShortMoments(np.eye(2), np.zeros(1), math.inf)
    values = sensitivity._analysis.unit * values
    twin = RepresentedModel("y", ("y",), values, scale, np.ones(model.size), absent, moments, none, {})
    for share in (0.0, 0.05, 0.15, 0.25, 0.35):
        factor = float(bias_factor(share, share))
        exact = sensitivity._analysis.at_factor(max(factor, 1e-6)).no_direct
        assert twin.effect_of_factor(factor).no_direct == pytest.approx(
            exact, abs=0.1
        )  # the density is taken for normal


def test_benchmarks_leave_out_a_covariates_columns():
    rng = np.random.default_rng(0)
    rows = 3000
    c = rng.standard_normal((rows, 2))
    x = (rng.random(rows) < 1 / (1 + np.exp(-c @ [1.0, 0.3]))) * 1.0
    y = (rng.random(rows) < 1 / (1 + np.exp(-0.5 * x - c @ [0.8, 0.1]))) * 1.0
    graph = ad.CandidateGraph.from_tiers([["c0", "c1"], ["x"], ["y"]], 1.0)
    table = {"c0": c[:, 0], "c1": c[:, 1], "x": x, "y": y}
    found = fit(table, graph, rng=0).effect("x", "y").sensitivity()
    one = found.benchmark("c0")
    left = {}
    for name, others in (("with", [0, 1]), ("without", [1])):
        design = np.column_stack([np.ones(rows), c[:, others]])
        full = np.column_stack([design, x])
        for key, target, columns in (("x", x, design), ("y", y, full)):
            rest = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
            left[key, name] = rest @ rest
    share = {key: 1 - left[key, "with"] / left[key, "without"] for key in "xy"}
    assert one.r2_treatment == pytest.approx(share["x"] / (1 - share["x"]), rel=0.02)
    assert one.r2_outcome > share["y"]
    assert set(found.covariates) == {"c0", "c1"}
    assert found.strongest[0] == "c0"
    assert one.answer.mean < found.benchmark("c1").answer.mean < found.effect.mean
