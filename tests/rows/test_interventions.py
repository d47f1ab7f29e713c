"""Rows of experiments: left out of the regression of what was set in them, used in all others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from calibration.rows import DO_GRAPH, DO_TRUTH, DO_VALUE, experiment

import alldags as ad
from alldags.data.rows import RowGroups
from alldags.errors import DataError, GraphError
from alldags.nodes.build import node_problem
from alldags.nodes.data import working_data
from lines import fit

NAMES = ("z", "x", "m", "y")


@pytest.fixture
def table(rng):
    return experiment(rng, 240)


def cut(table, *, unset=None):
    """Return the moments of all rows, or of those in which one variable was not set, cut out by hand."""
    keep = np.ones(len(table["z"]), dtype=bool) if unset is None else table["target"] != unset
    return ad.Moments.from_table({name: table[name][keep] for name in NAMES})


@pytest.mark.parametrize("prior", [ad.Prior(), ad.Prior.paper()], ids=["default", "paper"])
def test_every_node_is_that_of_rows_cut_out_by_hand(table, prior):
    posterior = fit(table, DO_GRAPH, prior=prior, interventions="target")
    own = {name: cut(table, unset=name) for name in ("x", "m")}
    by_hand = working_data(cut(table), prior, NAMES, own=own)
    for child in NAMES:
        found = node_problem(posterior._data, DO_GRAPH, prior, child)
        expected = node_problem(by_hand, DO_GRAPH, prior, child)
        assert (found.n, found.rows) == (expected.n, expected.rows)
        for name in ("gram", "cross", "total"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.origin.terms, expected.origin.terms, rtol=1e-12)
        assert found.origin.child == pytest.approx(expected.origin.child, rel=1e-12)


def test_do_has_no_bias_where_pooled_means_have_one(scaled):
    told, not_told = [], []
    for seed in range(scaled(20)):
        rows = experiment(np.random.default_rng(seed))
        for answers, options in ((told, {"interventions": "target"}), (not_told, {})):
            at = fit(rows, DO_GRAPH, **options).effect("x", "y").do(DO_VALUE, 10)
            answers.append(float(at.mean) - DO_TRUTH)
    error = np.std(told, ddof=1) / np.sqrt(len(told))
    assert abs(np.mean(told)) < 4 * error
    assert np.mean(not_told) < -1.0  # the mediator's rows in which it was set make it look unmoved


FORMS = ["mapping", "pandas", "pandas strings", "categories", "polars", "pyarrow", "csv", "parquet", "feather"]


@pytest.fixture(params=FORMS)
def form(request, table, tmp_path):
    """The same table in every form."""
    frame = pl.DataFrame({name: list(column) for name, column in table.items()})
    match request.param:
        case "mapping":
            return table
        case "pandas":
            return pd.DataFrame(table).replace({"target": {"": np.nan}})
        case "pandas strings":
            return pd.DataFrame(table).replace({"target": {"": None}}).astype({"target": "string"})
        case "categories":
            return pd.DataFrame(table).astype({"target": "category"})
        case "polars":
            return frame.with_columns(
                pl.when(pl.col("target") == "").then(None).otherwise(pl.col("target")).alias("target")
            )
        case "pyarrow":
            return pa.table(table | {"target": pa.array([name or None for name in table["target"]])})
    path = tmp_path / f"t.{request.param}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "feather": frame.write_ipc}[request.param](path)
    return path


def test_every_source_gives_the_same_answer(form, table):
    expected = fit(table, DO_GRAPH, interventions="target", rng=0).effect("x", "y")
    found = fit(form, DO_GRAPH, interventions="target", rng=0).effect("x", "y")
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    assert float(found.do(1.0).mean) == pytest.approx(float(expected.do(1.0).mean), rel=1e-12)


def test_rows_read_in_parts_and_by_threads_give_the_same_moments(table, monkeypatch):
    whole = fit(table, DO_GRAPH, interventions="target")._data
    monkeypatch.setattr("alldags.data.rows.PART_ROWS", 7)
    for n_jobs in (1, 2):
        parts = fit(table, DO_GRAPH, interventions="target", n_jobs=n_jobs)._data
        for child in NAMES:
            np.testing.assert_allclose(parts.of(child).scatter, whole.of(child).scatter, rtol=1e-12, atol=1e-12)
            assert parts.of(child).rows == whole.of(child).rows


def ways_to_say_it(table):
    target = table["target"]
    where = {name: target == name for name in ("x", "m")}
    yield "list of names", list(target)
    yield "array of names", target
    yield "truth values", where
    yield "row numbers", {name: np.flatnonzero(mask) for name, mask in where.items()}
    yield "columns of truth values", {"x": "x_set", "m": "m_set"}


def test_every_way_to_say_it_gives_the_same_answer(table):
    expected = fit(table, DO_GRAPH, interventions="target").effect("x", "y").mean
    more = table | {f"{name}_set": (table["target"] == name).astype(float) for name in ("x", "m")}
    for words, given in ways_to_say_it(table):
        assert fit(more, DO_GRAPH, interventions=given).effect("x", "y").mean == expected, words


def test_several_variables_can_be_set_at_once(table):
    both = np.where(table["target"] == "x", " x + m ", table["target"]).astype(object)
    data = fit(table | {"target": both}, DO_GRAPH, interventions="target")._data
    assert (data.of("x").rows, data.of("m").rows, data.of("y").rows) == (160, 80, 240)


def test_a_name_with_a_plus_is_a_name(rng):
    table = {"a+b": rng.normal(size=20), "y": rng.normal(size=20), "set": ["a+b", None] * 10}
    graph = ad.CandidateGraph.from_order(["y", "a+b"])
    assert fit(table, graph, interventions="set")._data.of("a+b").rows == 10


def test_the_answer_says_what_was_left_out_and_uses_the_column_quietly(table):
    (note,) = fit(table, DO_GRAPH, interventions="target").notes
    assert note.text.endswith("left out of its own regression: 'm' (80), 'x' (80) of 240 rows")
    (note,) = fit(table | {"target": [""] * 240}, DO_GRAPH, interventions="target").notes
    assert "names no variable in any row" in note


def test_least_squares_leaves_out_rows_in_which_a_path_was_cut(table):
    posterior = fit(table, DO_GRAPH, interventions="target")
    keep = table["target"] != "m"
    design = np.column_stack([table["x"], table["z"], np.ones(240)])[keep]
    expected = np.linalg.lstsq(design, table["y"][keep], rcond=None)[0][0]
    assert posterior.effect("x", "y").checks.least_squares.estimate == pytest.approx(expected, rel=1e-10)


# -- the link ----------------------------------------------------------------------------------------------------------


def raised_by_link(posterior):
    node = posterior._linked_models("x").items[0].node("y")
    return dict(zip(node.parents, node.raised, strict=True))


def test_what_drives_the_treatment_is_looked_for_where_it_was_not_set(rng):
    z = rng.normal(size=400)
    x = np.where(np.arange(400) < 200, z + 0.5 * rng.normal(size=400), rng.normal(size=400))
    table = {"z": z, "x": x, "y": x + rng.normal(size=400)}
    graph = ad.CandidateGraph.from_order(["z", "x", "y"], 0.5)
    observed = {name: column[:200] for name, column in table.items()}
    by_lot = {"x": np.arange(200, 400)}
    assert raised_by_link(fit(table, graph, interventions=by_lot))["z"] > 0.99
    q = raised_by_link(fit(table, graph, interventions=by_lot))["z"]
    assert q == pytest.approx(raised_by_link(fit(observed, graph))["z"], abs=1e-3)
    noise = {name: column[200:] for name, column in table.items()}
    assert raised_by_link(fit(noise, graph, interventions={"x": np.arange(200)}))["z"] == 0.0
    assert raised_by_link(fit(table, graph, randomized="x"))["z"] == 0.0


# -- set in every row, and randomised ----------------------------------------------------------------------------------


def test_what_was_set_in_every_row_has_effects_but_no_causes(table):
    always = {"x": np.ones(240, dtype=bool)}
    posterior = fit(table, DO_GRAPH, interventions=always)
    expected = fit(table, DO_GRAPH, randomized="x").effect("x", "y")
    assert posterior.effect("x", "y").mean == pytest.approx(expected.mean, rel=1e-12)
    with pytest.raises(DataError, match=r"'x' was set in every row .* randomized='x'"):
        posterior.effect("z", "y")
    both = fit(table, DO_GRAPH, interventions=always, randomized="x")
    assert float(both.effect("x", "y").do(1.0).mean) == pytest.approx(float(expected.do(1.0).mean), rel=1e-12)
    assert len(both.edge_probabilities()["cause"]) == 5


def test_a_treatment_that_is_only_given_in_experiments_has_no_causes_to_be_seen(table):
    x = np.where(table["target"] == "x", table["x"], 0.0)
    posterior = fit(table | {"x": x}, DO_GRAPH, interventions="target")
    assert np.isfinite(posterior.effect("x", "y").mean)
    with pytest.raises(DataError, match="the same in all others"):
        posterior.effect("z", "y")


def test_randomised_variables_lose_the_edges_into_them_and_the_answer_says_so(table):
    by_hand = DO_GRAPH.without_edge("z", "x").without_edge("z", "m").without_edge("x", "m")
    posterior = fit(table, DO_GRAPH, randomized=["x", "m"], rng=0)
    assert posterior.graphs == (by_hand,)
    assert posterior.effect("x", "y").mean == fit(table, by_hand, rng=0).effect("x", "y").mean
    assert any("edges into 'x', 'm' were left out" in note for note in posterior.notes)
    with pytest.raises(GraphError, match=r"'w', which is not in the graph"):
        fit(table, DO_GRAPH, randomized="w")
    with pytest.raises(GraphError, match=r"'z' -> 'x' is certain, but randomized"):
        fit(table, DO_GRAPH.with_edge("z", "x", 1.0), randomized="x")


def test_experiments_decide_a_direction_that_observed_rows_leave_open(rng):
    graphs = [ad.CandidateGraph.from_order(order, 0.9) for order in (["a", "b"], ["b", "a"])]
    prior = ad.Prior(noise=ad.priors.EquivalentNoise())
    a = rng.normal(size=300)
    b = 0.8 * a + rng.normal(size=300)
    b[200:] = rng.normal(size=100)  # set: then a does not follow
    table = {"a": a, "b": b, "set": [None] * 200 + ["b"] * 100}
    observed = {name: column[:200] for name, column in (("a", a), ("b", b))}
    assert fit(observed, graphs, prior=prior).graph_probabilities[0] == pytest.approx(0.5, abs=1e-9)
    assert fit(table, graphs, prior=prior, interventions="set").graph_probabilities[0] > 0.999


def test_evidence_is_that_of_each_nodes_own_rows(table):
    prior = ad.Prior(slab_variance=1.0, units="raw", link=0.0)
    graphs = [DO_GRAPH, DO_GRAPH.without_edge("x", "m")]
    posterior = fit(table, graphs, prior=prior, interventions="target")
    total = []
    for graph in graphs:
        parts = []
        for child in NAMES:
            rows = {name: table[name][table["target"] != child] for name in NAMES}
            lone = ad.CandidateGraph(NAMES, {edge: p for edge, p in graph.edges.items() if edge[1] == child})
            parts.append(fit(rows, lone, prior=prior)._models.items[0].node(child).log_evidence)
        total.append(sum(parts))
    assert posterior.log_evidence == pytest.approx(np.logaddexp(*total) - np.log(2), rel=1e-12)


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("targt", r"interventions='targt' is not a column of the data; did you mean 'target'\?"),
        ("z", r"must name the variable set in each row, got .*interventions=\{'variable': 'column'\}"),
        (["q"] + [""] * 238 + ["zz"], r"names 'q', 'zz', which are not in the graph"),
        ([""] * 3, r"interventions needs one value for each of the 240 rows, got shape \(3,\)"),
        (5, r"interventions must be the name of a column or have one value per row, got 5"),
        ({"q": [0]}, r"names 'q', which is not in the graph"),
        ({"x": [240]}, r"row numbers go from 0 to 239, got 240 to 240"),
        ({"x": [0.5]}, r"must be a column's name, one truth value per row, or row numbers"),
        ({"x": np.zeros(240, dtype=int)}, r"may be row numbers or zeros and ones"),
        ({"x": [True]}, r"needs one truth value for each of the 240 rows"),
        ({"x": "y"}, r"column 'y' must hold truth values"),
    ],
)
def test_mistakes_are_named(table, given, words):
    with pytest.raises(DataError, match=words):
        fit(table, DO_GRAPH, interventions=given)


def test_moments_have_no_rows_to_look_at(table):
    with pytest.raises(DataError, match="moments, which hold no rows, and interventions="):
        fit(cut(table), DO_GRAPH, interventions={"x": [0]})


def test_groups_merge_like_moments():
    part = RowGroups(())
    assert part.without() is None
    assert part.targets == frozenset()


def test_nothing_unmeasured_acts_on_what_was_drawn_by_lot(table):
    table = {name: column[:60] for name, column in table.items()}
    hidden = DO_GRAPH.with_hidden("x", "y", 0.3).with_hidden("z", "y", 0.3)
    found = fit(table, hidden, randomized="x", rng=0)
    plain = fit(table, DO_GRAPH.with_hidden("z", "y", 0.3), randomized="x", rng=0)
    assert dict(found.graphs[0].hidden) == {("z", "y"): 0.3}
    for ask in (lambda e: e.mean, lambda e: e.sd, lambda e: e.interval(), lambda e: e.uncertainty.hidden):
        assert ask(found.effect("x", "y")) == ask(plain.effect("x", "y"))
    (said,) = (note for note in found.notes if "unmeasured" in note)
    assert "'x' <-> 'y'" in said
    assert "'z' <-> 'y'" not in said
    assert not any("unmeasured" in note for note in plain.notes)


def test_a_certain_hidden_cause_of_what_was_drawn_by_lot_is_a_contradiction(table):
    with pytest.raises(GraphError, match=r"'x' <-> 'y' is certain, but randomized= says that nothing acts on it"):
        fit(table, DO_GRAPH.with_hidden("x", "y", 1.0), randomized="x")
