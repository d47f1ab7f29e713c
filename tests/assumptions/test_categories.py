"""Checks, placebos and sensitivity where some variables are categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alldags as ad
from alldags.assumptions.moments import association, inflation_of_group
from lines import fit
from show.everything import everything

ROWS = 400
LEVELS = ("none", "half", "full")


def study(seed=0, rows=ROWS, **changes):
    """Return a study in which the site, a category, acts on the treatment and on y; z does nothing."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["east", "north", "west"], rows, p=[0.5, 0.3, 0.2])
    shift = np.array([{"east": 0.0, "north": 1.0, "west": -0.7}[one] for one in site])
    age, z = rng.standard_normal((2, rows))
    treat = (rng.random(rows) < 1 / (1 + np.exp(-0.5 * age - shift))) * 1.0
    arm = np.array(LEVELS)[(rng.random(rows) + 0.1 * shift > 0.4).astype(int) + (age > 0.8)]
    y = 0.7 * treat + 0.4 * age + 0.8 * shift + rng.standard_normal(rows)
    return {"age": age, "site": site, "z": z, "treat": treat, "arm": arm, "y": y} | changes


GRAPH = ad.CandidateGraph.from_tiers([["age", "site"], ["treat"], ["y"]])


def dummies(words):
    return pd.get_dummies(pd.Series(words), drop_first=True).to_numpy(dtype=float)


def lines(checks, kind, **wanted):
    return [
        line for line in checks.lines if line.check == kind and all(getattr(line, k) == v for k, v in wanted.items())
    ]


# -- checks ------------------------------------------------------------------------------------------------------------


def test_checks_look_at_a_category_as_one_cause():
    checks = fit(study(), GRAPH, rng=0).checks("treat", "y")
    assert {line.against for line in lines(checks, "collinear causes", subject="y")} == {"age", "site", "treat"}
    assert {line.against for line in lines(checks, "balance")} == {"age", "site"}
    assert not [line for line in checks.lines if ": " in line.against]  # no level by itself
    assert not lines(checks, "straight lines", against="site")


def test_a_row_far_out_is_found_given_its_level():
    table = study()
    table["y"][7] = 9.0
    found = lines(fit(table, GRAPH, rng=0).checks("treat", "y"), "outlying rows", subject="y")[0]
    design = np.column_stack([np.ones(ROWS), table["age"], table["treat"], dummies(table["site"])])
    slopes, *_ = np.linalg.lstsq(design, table["y"], rcond=None)
    residual = table["y"] - design @ slopes
    inverse = np.linalg.inv(design.T @ design)
    leverage = 1.0 - design[7] @ inverse @ design[7]
    rest = (residual @ residual - residual[7] ** 2 / leverage) / (ROWS - design.shape[1] - 1)
    assert found.flagged
    assert found.against == "row 7"
    assert found.size == pytest.approx(residual[7] / np.sqrt(rest * leverage), rel=1e-6)


def test_levels_that_follow_from_another_cause_are_collinear():
    table = study()
    table["age"] = (table["site"] == "north") + 0.01 * np.random.default_rng(1).standard_normal(ROWS)
    found = lines(fit(table, GRAPH, rng=0).checks("treat", "y"), "collinear causes", subject="y", against="site")[0]
    assert found.flagged
    assert found.size > 100


def test_inflation_of_a_category_does_not_depend_on_its_reference():
    table, found = study(), []
    for order in (["east", "north", "west"], ["west", "east", "north"]):
        turned = table | {"site": pd.Categorical(table["site"], categories=order)}
        posterior = fit(pd.DataFrame(turned), GRAPH, rng=0)
        data = posterior.workings.data
        found.append(inflation_of_group(data.of("y"), data.categories["site"], ["age", "treat"]))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_an_independence_of_a_category_is_tested_by_its_levels_together():
    table = study()
    graph = ad.CandidateGraph.from_edges({("site", "treat"): 0.5, ("treat", "y"): 0.5, ("age", "treat"): 0.5})
    found = lines(fit(table, graph, rng=0).checks(), "independences", subject="y and site")[0]
    small = np.column_stack([np.ones(ROWS), table["treat"]])
    large = np.column_stack([small, dummies(table["site"])])
    left = [np.sum((table["y"] - x @ np.linalg.lstsq(x, table["y"], rcond=None)[0]) ** 2) for x in (small, large)]
    statistic = (left[0] - left[1]) / 2 / (left[1] / (ROWS - 4))
    assert found.p_value == pytest.approx(stats.f.sf(statistic, 2, ROWS - 4), rel=1e-6)
    assert found.size == pytest.approx(np.sqrt(1 - left[1] / left[0]), rel=1e-9)
    assert found.flagged


def test_two_categories_that_are_independent_are_seldom_found_otherwise():
    rng, values = np.random.default_rng(0), []
    graph = ad.CandidateGraph.from_edges({("site", "y"): 0.5, ("arm", "y"): 0.5})
    for _ in range(150):
        table = {"site": rng.choice(["a", "b", "c"], 200), "arm": rng.choice(list("pqrs"), 200)}
        posterior = fit(table | {"y": rng.standard_normal(200)}, graph, rng=0)
        data = posterior.workings.data
        values.append(association(data.pooled, data.categories["arm"], data.categories["site"], ())[1])
    assert stats.kstest(values, "uniform").pvalue > 0.001


def test_balance_of_a_category_is_the_distance_of_its_shares():
    table = study()
    found = lines(fit(table, GRAPH, rng=0).checks("treat", "y"), "balance", against="site")[0]
    share = dummies(table["site"])
    treated = table["treat"] == 1
    gap = share[treated].mean(axis=0) - share[~treated].mean(axis=0)
    inside = 0.5 * (np.cov(share[treated].T, bias=True) + np.cov(share[~treated].T, bias=True))
    assert found.size == pytest.approx(np.sqrt(gap @ np.linalg.solve(inside, gap)), rel=1e-9)
    assert "apart between rows where treat is 1 and where it is 0" in found.words


def test_each_arm_is_compared_with_the_first():
    table = study()
    graph = ad.CandidateGraph.from_tiers([["age", "site"], ["arm"], ["y"]])
    checks = fit(table, graph, rng=0).checks("arm", "y")
    assert len(lines(checks, "overlap", subject="arm")) == 2
    assert len(lines(checks, "balance", subject="arm", against="age")) == 2
    found = [
        line for line in lines(checks, "balance", against="age") if "is 'half' than where it is 'none'" in line.words
    ]
    ages = [table["age"][table["arm"] == name] for name in ("half", "none")]
    spread = np.sqrt(0.5 * (ages[0].var() + ages[1].var()))
    assert found[0].size == pytest.approx((ages[0].mean() - ages[1].mean()) / spread, rel=1e-9)


def test_an_arm_that_nobody_else_is_like_is_noted_in_its_contrast():
    rng = np.random.default_rng(2)
    age = rng.standard_normal(300)
    arm = np.where(age > 1.0, "old", np.where(rng.random(300) < 0.5, "none", "half"))
    table = {"age": age, "arm": arm, "y": age + rng.standard_normal(300)}
    effect = fit(table, ad.CandidateGraph.from_tiers([["age"], ["arm"], ["y"]]), rng=0).effect("arm", "y")
    assert any("extrapolated" in note and "at 'old'" in note for note in effect.contrast("none", "old").notes)
    assert not any("extrapolated" in note for note in effect.contrast("none", "half").notes)


# -- placebo -----------------------------------------------------------------------------------------------------------


def test_a_placebo_beside_a_category():
    effect = fit(study(), GRAPH, rng=0).effect("treat", "y")
    found = effect.checks.placebo(19, rng=1)
    assert found.p_value == pytest.approx(0.05)
    assert max(map(abs, found.means)) < 0.5 * effect.mean


def test_a_placebo_is_that_of_a_table_with_the_values_dealt_out():
    table = study()
    effect = fit(table, GRAPH, rng=0).effect("treat", "y")
    order = np.random.default_rng(5).spawn(1)[0].permutation(ROWS)
    again = fit(table | {"treat": table["treat"][order]}, GRAPH, rng=0).effect("treat", "y")
    assert effect.checks.placebo(1, rng=5).means[0] == pytest.approx(again.mean, abs=1e-9)


# -- sensitivity -------------------------------------------------------------------------------------------------------


def test_sensitivity_beside_a_category_is_that_beside_its_columns_where_all_edges_are_certain():
    table = study()
    certain = ad.CandidateGraph(GRAPH.variables, dict.fromkeys(GRAPH.edges, 1.0))
    found = fit(table, certain, rng=0, families="normal").effect("treat", "y").sensitivity()
    effect = fit(table, certain, rng=0, families="normal").effect("treat", "y")
    values = effect.posterior.workings.data.levels["site"].values
    place = np.array(["east", "north", "west"])
    codes = values[np.searchsorted(place, table["site"])]
    columns = {"age": table["age"], "b": codes[:, 0], "c": codes[:, 1], "treat": table["treat"], "y": table["y"]}
    wide = ad.CandidateGraph.from_tiers([["age", "b", "c"], ["treat"], ["y"]])
    wide = ad.CandidateGraph(wide.variables, dict.fromkeys(wide.edges, 1.0))
    other = fit(columns, wide, rng=0, families="normal").effect("treat", "y").sensitivity()
    for ask in (lambda s: s.at(0.2, 0.2).mean, lambda s: s.at(0.2, 0.2).sd, lambda s: s.robustness().value):
        assert ask(found) == pytest.approx(ask(other), rel=0.03)


def test_a_category_is_one_benchmark_with_the_share_of_all_its_levels():
    table = study()
    sensitivity = fit(table, GRAPH, rng=0, families="normal").effect("treat", "y").sensitivity()
    assert set(sensitivity.covariates) == {"age", "site"}
    found = sensitivity.benchmark("site", selected=False)
    design = np.column_stack([np.ones(ROWS), table["age"]])
    full = np.column_stack([design, dummies(table["site"])])
    left = [
        np.sum((table["treat"] - x @ np.linalg.lstsq(x, table["treat"], rcond=None)[0]) ** 2) for x in (design, full)
    ]
    share = 1 - left[1] / left[0]
    assert found.r2_treatment == pytest.approx(share / (1 - share), rel=0.1)  # Cinelli and Hazlett's bound, one time


def test_a_printed_answer_beside_a_category_says_how_strong_a_hidden_cause_would_have_to_be():
    text = everything(fit(study(), GRAPH, rng=0, families="normal").effect("treat", "y"))
    assert "A hidden common cause would have to explain" in text


# -- notes -------------------------------------------------------------------------------------------------------------


def test_a_column_outside_the_graph_that_goes_with_arms_and_outcome_is_named():
    rng = np.random.default_rng(4)
    hidden = rng.standard_normal(ROWS)
    arm = np.array(LEVELS)[np.digitize(hidden + 0.7 * rng.standard_normal(ROWS), [-0.5, 0.6])]
    table = {
        "arm": arm,
        "y": hidden + 0.7 * rng.standard_normal(ROWS),
        "hidden": hidden,
        "z": rng.standard_normal(ROWS),
    }
    effect = fit(table, ad.CandidateGraph.from_order(["arm", "y"]), rng=0).effect("arm", "y")
    notes = effect.contrast("none", "full").notes
    assert any("outside the graph, but correlated with both arm and y" in note for note in notes)
    assert not any("correlated" in note and "'z'" in note for note in notes)
