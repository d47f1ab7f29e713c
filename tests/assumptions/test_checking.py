"""Checks of assumptions: rows in batches, independences of all graphs, and what is singular, separated or missing."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import alldags as ad
from alldags.assumptions.independences import Independence, implied_independences
from alldags.assumptions.misfit import check_residuals
from alldags.assumptions.moments import inflation, partial_correlations
from alldags.assumptions.overlap import differences_of_moments, overlap
from alldags.assumptions.regression import Regressed, fit_rows, score_tests
from alldags.data import batches
from alldags.data.batches import RowTable
from alldags.data.source import open_source
from alldags.families.count import Poisson
from alldags.families.yes_no import Bernoulli
from alldags.nodes.data import working_data


def regressed(table, child, causes, family=None):
    arrays = {name: np.asarray(values, dtype=float) for name, values in table.items()}
    center = {name: float(values.mean()) for name, values in arrays.items()}
    deviation = {name: float(values.std()) for name, values in arrays.items()}
    return Regressed(child, tuple(causes), RowTable(open_source(arrays).numbers()), center, deviation, family)


def rows(rng, count=300):
    a, b = rng.standard_normal((2, count))
    y = a - 0.5 * b + rng.standard_normal(count)
    return {
        "a": a,
        "b": b,
        "y": y,
        "yes": (rng.logistic(size=count) < y).astype(float),
        "count": rng.poisson(np.exp(a / 2)),
    }


# -- regressions -------------------------------------------------------------------------------------------------------


def test_many_batches_are_as_good_as_one(rng, monkeypatch):
    table = rows(rng, 500)
    whole = check_residuals(fit_rows(regressed(table, "y", ["a", "b"])))
    one = RowTable.batches
    monkeypatch.setattr(RowTable, "batches", lambda self, names, size=64: one(self, names, size))
    parts = check_residuals(fit_rows(regressed(table, "y", ["a", "b"])))
    assert parts.outliers[0].row == whole.outliers[0].row
    assert parts.outlier_p == pytest.approx(whole.outlier_p, rel=1e-9)
    assert parts.spread_p == pytest.approx(whole.spread_p, rel=1e-9)
    for first, second in zip(parts.curvature, whole.curvature, strict=True):
        assert first.p_value == pytest.approx(second.p_value, rel=1e-8)


@pytest.mark.parametrize(("child", "family"), [("yes", Bernoulli()), ("count", Poisson())])
def test_a_fit_is_where_the_gradient_vanishes(rng, child, family):
    fitted = fit_rows(regressed(rows(rng), child, ["a", "b"], family))
    gradient = np.zeros(3)
    for batch in fitted.of.batches():
        gradient += batch.design.T @ fitted.residuals(batch, fitted.predictor(batch))[0]
    np.testing.assert_allclose(gradient[1:], 0.01 * fitted.coefficients[1:], atol=1e-5)  # the ridge


def test_separated_rows_still_have_a_propensity():
    x = np.linspace(-1, 1, 40)
    found = overlap(regressed({"x": x, "t": x > 0}, "t", ["x"]))
    assert found.treated_outside == found.untreated_outside == found.outside == 1.0


def test_a_cause_that_is_a_copy_of_others_does_not_stop_the_checks(rng):
    table = rows(rng)
    table["copy"] = table["a"] + table["b"]
    assert fit_rows(regressed(table, "y", ["a", "b", "copy"])) is not None


def test_score_tests_leave_out_what_the_regression_holds(rng):
    fitted = fit_rows(regressed(rows(rng), "y", ["a", "b"]))
    found = score_tests(fitted, lambda batch, _: batch.design[:, [1]] - batch.design[:, [2]])
    assert math.isnan(found.statistic[0])


@pytest.mark.parametrize(("child", "family"), [("y", None), ("yes", Bernoulli()), ("count", Poisson())])
def test_score_tests_are_chi_squared_where_the_model_holds(child, family):
    values = []
    for seed in range(200):
        table = rows(np.random.default_rng(seed), 200)
        found = score_tests(
            fit_rows(regressed(table, child, ["a", "b"], family)), lambda batch, _: batch.design[:, [1]] ** 2
        )
        values.append(found.statistic[0])
    values = np.array(values)
    assert values.mean() == pytest.approx(1.0, abs=4 * math.sqrt(2 / 200))
    assert np.mean(values > 3.84) == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 200))


def test_score_tests_hold_with_uneven_noise():
    """Four times the noise where the cause is large: the usual F test finds a curve in far more than 5%."""
    values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(300)
        y = x + np.exp(np.abs(x)) * rng.standard_normal(300)
        fitted = fit_rows(regressed({"x": x, "y": y}, "y", ["x"]))
        values.append(score_tests(fitted, lambda batch, _: batch.design[:, [1]] ** 2).statistic[0])
    assert np.mean(np.array(values) > 3.84) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 200)


def test_kept_and_read_again(rng, monkeypatch):
    table = rows(rng)
    kept = fit_rows(regressed(table, "y", ["a", "b"])).coefficients
    monkeypatch.setattr(batches, "_KEPT_VALUES", 0)
    np.testing.assert_allclose(fit_rows(regressed(table, "y", ["a", "b"])).coefficients, kept, rtol=1e-12)


# -- independences -----------------------------------------------------------------------------------------------------


def all_graphs(candidate):
    """Yield every acyclic graph of a candidate graph."""
    edges = list(candidate.edges)
    for size in range(len(edges) + 1):
        for chosen in itertools.combinations(edges, size):
            graph = nx.DiGraph()
            graph.add_nodes_from(candidate.variables)
            graph.add_edges_from(chosen)
            if nx.is_directed_acyclic_graph(graph):
                yield graph


def separated_in_all(graphs, pair, given):
    return all(nx.is_d_separator(graph, {pair[0]}, {pair[1]}, set(given)) for graph in graphs)


def by_brute_force(candidates):
    """Return the pairs that some set separates in every graph of every candidate graph."""
    graphs = [graph for candidate in candidates for graph in all_graphs(candidate)]
    names = candidates[0].variables
    found = set()
    for pair in itertools.combinations(names, 2):
        rest = [name for name in names if name not in pair]
        sets = (given for size in range(len(rest) + 1) for given in itertools.combinations(rest, size))
        if any(separated_in_all(graphs, pair, given) for given in sets):
            found.add(frozenset(pair))
    return found, graphs


WORLDS = {
    "chain": [ad.CandidateGraph.from_edges({("x", "m"): 0.5, ("m", "y"): 1.0, ("z", "y"): 0.5})],
    "tiers": [ad.CandidateGraph.from_tiers([["a", "b"], ["c"], ["d"]]).without_edge("a", "d")],
    "two graphs": [
        ad.CandidateGraph.from_edges({("a", "b"): 0.5, ("b", "c"): 0.5, ("c", "d"): 0.5}),
        ad.CandidateGraph.from_edges({("b", "a"): 0.5, ("b", "c"): 0.5, ("b", "d"): 0.5}),
    ],
    "opposite": [
        ad.CandidateGraph.from_edges({("a", "b"): 0.5, ("b", "c"): 0.5}),
        ad.CandidateGraph.from_edges({("c", "b"): 0.5, ("a", "b"): 0.5}),
    ],
}


@pytest.mark.parametrize("name", WORLDS)
def test_independences_are_those_of_all_graphs(name):
    candidates = WORLDS[name]
    expected, graphs = by_brute_force(candidates)
    found = implied_independences(candidates)
    assert {frozenset((item.child, item.other)) for item in found} == expected
    assert all(separated_in_all(graphs, (item.child, item.other), item.given) for item in found)


def test_independences_with_open_directions_hold_in_all_graphs():
    edges = {("z", "a"): 0.5, ("a", "y"): 0.5, ("w", "y"): 0.5}
    graph = ad.CandidateGraph(("z", "w", "a", "b", "y"), edges).with_pair("a", "b", 0.3, 0.3)
    found = implied_independences([graph])
    assert {str(item) for item in found} >= {"y and z given w, a", "y and b given w, a", "a and w given z"}
    graphs = list(all_graphs(graph))
    assert all(separated_in_all(graphs, (item.child, item.other), item.given) for item in found)


def test_a_hidden_common_cause_takes_independences_away():
    graph = ad.CandidateGraph.from_edges({("x", "m"): 0.5, ("m", "y"): 0.5})
    assert [str(item) for item in implied_independences([graph])] == ["y and x given m"]
    assert implied_independences([graph.with_hidden("m", "y", 0.5)]) == ()


# -- moments -----------------------------------------------------------------------------------------------------------


def test_copies_inflate_without_end(rng):
    table = rows(rng)
    table["copy"] = 2 * table["a"]
    data = working_data(ad.Moments.from_table(table), ad.Prior(), tuple(table))
    factors = inflation(data.of("y"), ("a", "b", "copy"))
    assert math.isinf(factors[0])
    assert math.isinf(factors[2])
    assert factors[1] == pytest.approx(1.0, abs=0.1)


def test_partial_correlation_is_the_t_test_of_a_regression(rng):
    from scipy.stats import linregress

    table = rows(rng)
    data = working_data(ad.Moments.from_table(table), ad.Prior(), tuple(table))
    item = Independence("y", "b", ())
    r, p = partial_correlations(data.of("y"), [item])[item]
    plain = linregress(table["b"], table["y"])
    assert r == pytest.approx(plain.rvalue, rel=1e-9)
    assert p == pytest.approx(plain.pvalue, rel=1e-6)


def test_partial_correlations_need_rows(rng):
    table = {name: values[:9] for name, values in rows(rng).items()}
    data = working_data(ad.Moments.from_table(table), ad.Prior(), ("a", "b", "y"))
    assert partial_correlations(data.of("y"), [Independence("y", "b", ("a",))]) == {}


@pytest.mark.parametrize("units", ["standardized", "raw"])
def test_differences_between_arms_from_moments(rng, units):
    t = (rng.random(400) < 0.3).astype(float)
    table = {"t": t, "x": 3.0 + 2.0 * t + rng.standard_normal(400)}
    data = working_data(ad.Moments.from_table(table), ad.Prior(units=units), ("t", "x"))
    arms = [table["x"][t == arm] for arm in (0, 1)]
    inside = sum(len(arm) * arm.var() for arm in arms) / 400
    expected = (arms[1].mean() - arms[0].mean()) / math.sqrt(inside)
    assert differences_of_moments(data.pooled, "t", ("x",))[0] == pytest.approx(expected, rel=1e-9)
