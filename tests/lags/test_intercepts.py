"""What is lasting about units: fixed, random, and joint traits."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags.data.cells import cells_of
from alldags.engines.traits.panel import Group, Panel, panel_of
from alldags.engines.traits.walk import Variable, Walk
from alldags.nodes.intercepts import RATIOS, between, log_prior
from naive.over_time import mixed_evidence

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS = json.loads((GOLDEN / "panels.json").read_text())
_SPEC = importlib.util.spec_from_file_location("golden_panels", GOLDEN / "panels.py")
SCRIPT = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(SCRIPT)


def test_a_random_intercept_at_the_ratio_of_statsmodels_has_its_coefficients():
    table, want = SCRIPT.uneven(), NUMBERS["mixed"]
    values = np.array([table[name] for name in "xzy"])
    cells = cells_of(values, np.ones(values.shape[1]), table["unit"][:, None], (60,))
    scatter, _ = between(cells, want["ratio"])
    found = np.linalg.solve(scatter[:2, :2], scatter[:2, 2])
    assert found == pytest.approx([want["x"], want["z"]], abs=1e-8)


def test_the_evidence_of_each_ratio_is_that_of_the_rows():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(8), rng.integers(1, 5, 8))
    x = rng.standard_normal((len(unit), 2))
    y = x @ [0.4, 0.0] + rng.standard_normal(8)[unit] + rng.standard_normal(len(unit))
    cells = cells_of(np.column_stack([x, y]).T, np.ones(len(unit)), unit[:, None], (8,))
    found, want = [], []
    for ratio in (0.0, 0.3, 2.0):
        scatter, factor = between(cells, ratio)
        gram = scatter[:2, :2] + np.eye(2) / 1.5
        mean = np.linalg.solve(gram, scatter[:2, 2])
        left = scatter[2, 2] - mean @ gram @ mean
        found.append(factor - 0.5 * np.linalg.slogdet(1.5 * gram)[1] - 0.5 * (len(unit) - 1) * np.log(left))
        evidence, other = mixed_evidence(y, x, unit, ratio, 1.5)
        want.append(evidence)
        assert mean == pytest.approx(other, abs=1e-5)
    assert np.diff(found) == pytest.approx(np.diff(want), abs=1e-4)


def test_the_prior_of_the_ratio_adds_up_to_one():
    assert np.exp(log_prior(RATIOS)).sum() == pytest.approx(1.0)


def test_random_intercepts_are_averaged_over_by_their_evidence():
    table = {**SCRIPT.uneven(), "t": np.concatenate([np.arange(n) for n in np.bincount(SCRIPT.uneven()["unit"])])}
    graph = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]], probability=1.0)
    told = {"time": "t", "unit": "unit", "lags": 0, "prior": ad.Prior(slab_variance=1e6), "rng": 0}
    posterior = ad.fit(table, graph, intercepts="random", **told)
    node = posterior.workings.models.items[0].node("y")
    best = node.variants[int(np.argmax(node.weights))].ratio
    assert 0.4 < best < 2.0  # of which REML says 0.92
    assert 0.3 < node.share_between < 0.65
    effect = posterior.effect("x", "y")
    assert effect.mean == pytest.approx(NUMBERS["mixed"]["x"], abs=0.005)
    pooled = ad.fit(table, graph, **told).effect("x", "y")
    assert effect.sd < pooled.sd


def test_a_mixture_over_intercepts_gives_the_mean_given_an_edge():
    table = {**SCRIPT.uneven(), "t": np.concatenate([np.arange(n) for n in np.bincount(SCRIPT.uneven()["unit"])])}
    graph = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]], probability=0.5)
    node = (
        ad.fit(table, graph, time="t", unit="unit", lags=0, intercepts="random", rng=0)
        .workings.models.items[0]
        .node("y")
    )
    for place in range(2):
        p = node.inclusion[place]
        both = p * node.mean_given(place, True) + (1 - p) * node.mean_given(place, False)
        assert both == pytest.approx(node.mean, abs=1e-8)


def test_two_way_fixed_effects_with_a_lag_are_those_of_linearmodels_and_pyfixest():
    table, want = SCRIPT.staggered(), NUMBERS["two_way"]
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, probability=1.0, own=1.0, order=["x", "y"])
    for edge in (("x[-1]", "y"), ("y[-1]", "x"), ("x[-1]", "x")):
        graph = graph.without_edge(*edge)
    prior = ad.Prior(slab_variance=1e12, link=0.0)
    told = {"time": "time", "prior": prior, "robust": False, "rng": 0}
    posterior = ad.fit(table, graph, unit="unit", fixed_effects=["unit", "time"], **told)
    assert posterior.rows == want["rows"]
    assert posterior.effect("x", "y").mean == pytest.approx(want["pyfixest"]["x"], abs=1e-8)
    assert posterior.effect("x", "y").mean == pytest.approx(want["linearmodels"]["x"], abs=1e-8)
    table_of = posterior.coefficients()
    found = next(row for row in table_of.rows() if row["cause"] == "y[-1]" and row["effect"] == "y")
    assert found["mean"] == pytest.approx(want["pyfixest"]["before"], abs=1e-8)


def test_intercepts_fixed_are_fixed_effects_of_the_unit():
    table = SCRIPT.staggered()
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, order=["x", "y"])
    one = ad.fit(table, graph, time="time", unit="unit", intercepts="fixed", rng=0).effect("x", "y")
    two = ad.fit(table, graph, time="time", unit="unit", fixed_effects="unit", rng=0).effect("x", "y")
    assert one.mean == two.mean
    assert one.sd == two.sd


@pytest.mark.parametrize("intercepts", ["fixed", "random"])
def test_a_lagged_outcome_with_few_rows_a_unit_is_refused_with_the_reason(intercepts):
    table = few_waves("A", 0)
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1)
    with pytest.raises(ad.AlldagsError, match=r"Nickell.*intercepts='joint'"):
        ad.fit(table, graph, time="wave", unit="unit", intercepts=intercepts)
    no_feedback = ad.CandidateGraph.over_time(["x", "y"], lags=1, own=0.0)
    for edge in (("y[-1]", "x"),):
        no_feedback = no_feedback.without_edge(*edge)
    assert (
        ad.fit(table, no_feedback, time="wave", unit="unit", intercepts=intercepts).effect("x", "y", after=1).sd[1] > 0
    )


# -- joint traits ------------------------------------------------------------------------------------------------------


def few_waves(name: str, seed: int, units: int = 300) -> dict[str, np.ndarray]:
    from calibration.time import panel_rows

    values = panel_rows(name, np.random.default_rng([5, seed]), units)
    count = values.shape[1]
    return {"unit": np.repeat(np.arange(units), count), "wave": np.tile(np.arange(count), units),
            "x": values[:, :, 0].ravel(), "y": values[:, :, 1].ravel()}  # fmt: skip


def test_a_panel_takes_out_waves_and_splits_into_units():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((6, 3, 2))
    codes = np.array([(i, t) for i in range(6) for t in range(3)])
    panel = panel_of(cells_of(values.reshape(18, 2).T, np.ones(18), codes, (6, 3)), ("a", "b"), np.ones(2))
    left = values - values.mean(axis=0)
    (group,) = panel.groups
    np.testing.assert_allclose(group.between, np.einsum("ip,iq->pq", left.mean(1), left.mean(1)), atol=1e-12)
    inside = left - left.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(panel.within, np.einsum("itp,itq->pq", inside, inside), atol=1e-12)


def test_one_variable_alone_is_the_random_intercept_averaged_over_its_grid():
    rng = np.random.default_rng(1)
    units, waves = 40, 4
    x = rng.standard_normal((units, waves))
    y = 0.5 * x + rng.standard_normal((units, 1)) + rng.standard_normal((units, waves))
    y, x = y - y.mean(axis=0), x - x.mean(axis=0)
    both = np.stack([x, y], axis=2)
    bar = both.mean(axis=1)
    inside = both - bar[:, None]
    within, outside = np.einsum("itp,itq->pq", inside, inside), bar.T @ bar
    panel = Panel(("x", "y"), within, (Group(outside, units, waves),))
    sets = np.array([[False], [True]])
    one = Variable(1, np.array([0]), sets, np.log([0.5, 0.5]), np.array([1.0]), np.zeros(1), 0.0, 0.0)
    kept = Walk(panel, [one], np.zeros(0, dtype=np.int64)).run(np.random.default_rng(0), kept=600)[0]
    mean, total, chance = 0.0, 0.0, 0.0
    logs = []
    for ratio, weight in zip(RATIOS, log_prior(RATIOS), strict=True):
        scatter = within + waves / (1 + ratio * waves) * outside
        base = weight - 0.5 * (units - 1) * np.log1p(ratio * waves)
        for there in (0.0, 1.0):
            gram = there * scatter[0, 0] + 1.0
            slope = there * scatter[0, 1] / gram
            rate = 0.5 * (scatter[1, 1] - there * slope * scatter[0, 1])
            logs.append((base - 0.5 * np.log(gram) - 0.5 * panel.n * np.log(rate), slope, there))
    top = max(log for log, *_ in logs)
    for log, slope, there in logs:
        share = np.exp(log - top)
        total, mean, chance = total + share, mean + share * slope, chance + share * there
    assert np.mean(kept.mean) == pytest.approx(mean / total, abs=2e-3)
    assert np.mean([weights[:, 1] for weights in kept.weights]) == pytest.approx(chance / total, abs=5e-3)


def test_joint_traits_find_the_effect_where_pooled_rows_do_not():
    table = few_waves("F", 1)
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, probability=1.0, own=1.0)
    joint = ad.fit(table, graph, time="wave", unit="unit", intercepts="joint", rng=0).effect("x", "y", after=2)
    pooled = ad.fit(table, graph, time="wave", unit="unit", rng=0).effect("x", "y", after=2)
    low, high = joint.interval()
    assert low[1] < 0.0 < high[1]
    assert pooled.interval()[0][1] > 0.05
    assert any("intercepts='joint'" in note for note in pooled.notes)


def test_draws_of_the_walk_have_the_moments_of_its_averages():
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1)
    posterior = ad.fit(few_waves("A", 2), graph, time="wave", unit="unit", intercepts="joint", rng=0)
    node = posterior.workings.models.items[0].node("y")
    draws, _ = node.draw(1000, np.random.default_rng(0))
    sd = np.sqrt(np.diag(node.second_moment) - node.mean**2)
    assert np.abs(draws.mean(axis=0) - node.mean).max() < 0.2 * sd.max()
    assert draws.std(axis=0) == pytest.approx(sd, rel=0.15)
    assert node.diagnostics.r_hat < 1.05
    assert 0 < node.linear_error(np.ones(2)) < 0.2 * sd.max()
    assert node.probability_disjoint(np.array([[False, False], [True, True]]))[0] == pytest.approx(1.0)
    assert sum(one.probability for one in node.top_parent_sets(4)) == pytest.approx(1.0)


def test_the_walk_is_the_same_from_the_same_seed_and_after_saving(tmp_path):
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1)
    told = {"time": "wave", "unit": "unit", "intercepts": "joint", "rng": 4}
    one, two = (ad.fit(few_waves("A", 3, 60), graph, **told) for _ in range(2))
    want = one.effect("x", "y", after=2).mean
    assert (two.effect("x", "y", after=2).mean == want).all()
    one.save(tmp_path / "joint.npz")
    assert ad.load(tmp_path / "joint.npz").effect("x", "y", after=2).mean == pytest.approx(want, abs=1e-12)


def test_joint_traits_are_asked_after_steps_only():
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1)
    posterior = ad.fit(few_waves("A", 3, 60), graph, time="wave", unit="unit", intercepts="joint", rng=0)
    with pytest.raises(ad.AlldagsError, match="after=1"):
        posterior.effect("x", "y")


def leaving(table: dict[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Return a panel whose units leave early: a third after three waves, a third after four."""
    units = len(np.unique(table["unit"]))
    stay = np.random.default_rng(seed).choice([3, 4, 5], units)
    kept = table["wave"] < stay[table["unit"]]
    return {name: values[kept] for name, values in table.items()}


def test_units_of_different_waves_are_balanced_panels_of_their_own():
    table = leaving(few_waves("A", 3, 60), 0)
    codes = np.column_stack([table["unit"], table["wave"]])
    values = np.array([table["x"], table["y"]])
    panel = panel_of(cells_of(values, np.ones(len(codes)), codes, (60, 5)), ("x", "y"), np.ones(2))
    assert [group.waves for group in panel.groups] == [3, 4, 5]
    within, rows, count = np.zeros((2, 2)), 0, np.bincount(table["unit"])
    for group in panel.groups:
        own = count[table["unit"]] == group.waves
        alone = {name: column[own] for name, column in table.items()}
        cells = cells_of(values[:, own], np.ones(own.sum()), codes[own], (60, 5))
        part = panel_of(cells, ("x", "y"), np.ones(2))
        assert part.groups[0].units == group.units == len(np.unique(alone["unit"]))
        np.testing.assert_allclose(part.groups[0].between, group.between, atol=1e-12)
        within, rows = within + part.within, rows + part.n
    np.testing.assert_allclose(panel.within, within, atol=1e-12)
    assert panel.n == rows


def test_joint_traits_of_units_that_leave_early_find_the_effect_that_is_not_there():
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, probability=1.0, own=1.0)
    found = []
    for seed in range(3):
        table = leaving(few_waves("F", seed, 600), seed)
        posterior = ad.fit(table, graph, time="wave", unit="unit", intercepts="joint", rng=0)
        response = posterior.effect("x", "y", after=1)
        found.append(response.at(1).mean / response.at(1).sd)
        assert any("3 different sets of times (2 to 4 rows with a past)" in note for note in response.notes)
        mode, sd = posterior.workings.data.traits.without_traits["x[-1]", "y"]
        assert abs(mode) < 3.5 * sd
    assert abs(np.mean(found)) < 1.8  # pooled: 5 or more
    assert max(map(abs, found)) < 3.5


def test_a_group_of_another_ratio_is_integrated_over_as_by_brute_force():
    rng = np.random.default_rng(4)
    groups, within, rows = [], np.zeros((2, 2)), []
    for units, waves, spread in ((30, 4, 1.5), (25, 2, 0.1)):
        x = rng.standard_normal((units, waves))
        y = 0.5 * x + spread * rng.standard_normal((units, 1)) + rng.standard_normal((units, waves))
        both = np.stack([x - x.mean(axis=0), y - y.mean(axis=0)], axis=2)
        bar = both.mean(axis=1)
        inside = both - bar[:, None]
        within += np.einsum("itp,itq->pq", inside, inside)
        groups.append(Group(bar.T @ bar, units, waves))
        rows.append((units - 1) * waves)
    panel = Panel(("x", "y"), within, tuple(groups))
    one = Variable(1, np.array([0]), np.array([[True]]), np.zeros(1), np.array([1.0]), np.zeros(1), 0.0, 0.0)
    kept = Walk(panel, [one], np.zeros(0, dtype=np.int64)).run(np.random.default_rng(0), kept=1500)[0]
    logs, slopes = [], []
    for pair in itertools.product(range(len(RATIOS)), repeat=2):
        scatter, log = within.copy(), 0.0
        for group, place in zip(groups, pair, strict=True):
            ratio = RATIOS[place]
            scatter = scatter + group.waves / (1 + ratio * group.waves) * group.between
            log += log_prior(RATIOS)[place] - 0.5 * (group.units - 1) * np.log1p(ratio * group.waves)
        gram = scatter[0, 0] + 1.0
        slopes.append(scatter[0, 1] / gram)
        logs.append(log - 0.5 * np.log(gram) - 0.5 * sum(rows) * np.log(scatter[1, 1] - slopes[-1] * scatter[0, 1]))
    share = np.exp(np.array(logs) - max(logs))
    assert np.mean(kept.mean) == pytest.approx(share @ slopes / share.sum(), abs=1.5e-3)


def test_units_that_say_nothing_of_what_lasts_are_noted_or_refused():
    whole, graph = few_waves("A", 3, 60), ad.CandidateGraph.over_time(["x", "y"], lags=1)
    told = {"time": "wave", "unit": "unit", "intercepts": "joint", "rng": 0}
    table = {name: values[:-1] for name, values in whole.items()}
    posterior = ad.fit(table, graph, **told)
    assert any("1 of 60 units were seen at times that no other unit has all of" in note for note in posterior.notes)
    fewer = {name: values[whole["unit"] < 59] for name, values in whole.items()}
    same = ad.fit(fewer, graph, **told).workings.data.traits.panel
    found = posterior.workings.data.traits.panel
    np.testing.assert_allclose(found.within * np.outer(found.scale, found.scale),
                               same.within * np.outer(same.scale, same.scale), rtol=1e-10)  # fmt: skip
    short = {name: values[whole["wave"] < 2] for name, values in whole.items()}
    with pytest.raises(ad.AlldagsError, match="at least 2 rows with a past at the same times"):
        ad.fit(short, graph, **told)
    apart = {**whole, "wave": whole["wave"] + whole["unit"] % 15}
    with pytest.raises(ad.AlldagsError, match="15 different sets of times"):
        ad.fit(apart, graph, **told)


def test_too_many_candidate_causes_are_refused_for_joint_traits():
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(6)]
    table = {"unit": np.repeat(np.arange(30), 5), "wave": np.tile(np.arange(5), 30),
             **{name: rng.standard_normal(150) for name in names}}  # fmt: skip
    graph = ad.CandidateGraph.over_time(names, lags=2)
    posterior = ad.fit(table, graph, time="wave", unit="unit", intercepts="joint")
    with pytest.raises(ad.AlldagsError, match="12 uncertain candidate causes"):
        posterior.effect("v0", "v1", after=1).mean  # noqa: B018


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"cluster": "unit"}, "each says that rows of a unit belong together"),
        ({"fixed_effects": ["unit"]}, "each says that rows of a unit belong together"),
        ({"missing": "drop"}, "in one walk"),
        ({"engine": "exact"}, "in one walk"),
        ({"families": {"y": "student"}}, "integrated out of straight lines"),
        ({"prior": ad.Prior.paper()}, "integrated out of straight lines"),
    ],
)
def test_what_joint_traits_do_not_go_with_is_refused_with_the_reason_in_the_table(options, reason):
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1)
    with pytest.raises(ad.AlldagsError, match=reason):
        ad.fit(few_waves("A", 3, 40), graph, time="wave", unit="unit", intercepts="joint", **options)


def test_what_is_asked_of_rows_is_refused_where_intercepts_are_integrated_out():
    table = {**SCRIPT.uneven(), "t": np.concatenate([np.arange(n) for n in np.bincount(SCRIPT.uneven()["unit"])])}
    graph = ad.CandidateGraph.from_tiers([["z"], ["x"], ["y"]])
    posterior = ad.fit(table, graph, time="t", unit="unit", lags=0, intercepts="random", rng=0)
    effect = posterior.effect("x", "y")
    assert "Raising x" in str(effect)
    for ask in (effect.sensitivity, posterior.checks):
        with pytest.raises(ad.AlldagsError, match="integrated out of straight lines"):
            ask()
    with pytest.raises(ad.AlldagsError, match="would lose their order"):
        effect.checks.placebo(2, rng=0)


def test_within_adjusted_needs_no_traits_and_is_said_beside():
    graph = ad.CandidateGraph.over_time(["x", "y"], lags=1, probability=1.0, own=1.0)
    gaps = []
    for seed in range(4):
        posterior = ad.fit(few_waves("F", seed), graph, time="wave", unit="unit", intercepts="joint", rng=0)
        mode, sd = posterior.workings.data.traits.without_traits["x[-1]", "y"]
        gaps.append(mode / sd)
        assert 0.02 < sd < 0.06
    assert abs(np.mean(gaps)) < 1.5  # there is no effect
    notes = posterior.effect("x", "y", after=1).notes
    assert any("without assuming normal traits" in note for note in notes)
