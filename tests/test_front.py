"""The front door: `ad.effect`, and what the default call averages over."""

from __future__ import annotations

import re

import numpy as np
import pytest

import alldags as ad
from alldags.front import study_graph
from lines import fit

STUDY = ad.datasets.example()
FIRST = ["age", "sex", "income"]


def test_the_graph_of_a_study_has_one_certain_edge():
    graph = study_graph("smoking", "risk", FIRST, ["tar", "exercise"])
    assert {edge for edge, p in graph.edges.items() if p == 1.0} == {("smoking", "risk")}
    assert {p for edge, p in graph.edges.items() if edge != ("smoking", "risk")} == {0.5}
    assert graph.probability("tar", "exercise") == 0.0
    assert graph.probability("age", "tar") == 0.5
    assert study_graph("smoking", "risk", probability=0.3).probability("smoking", "risk") == 0.3
    tiers = study_graph("smoking", "risk", FIRST, [["tar"], ["exercise"]])
    assert tiers.probability("tar", "exercise") == 0.5
    assert tiers.probability("exercise", "tar") == 0.0


def test_the_front_door_asks_what_the_full_way_asks():
    options = {"rng": 3, "terms": None, "prior": ad.Prior(link=0.0)}
    short = ad.effect(STUDY.table, treatment="smoking", outcome="risk", confounders=FIRST, **options)
    graph = ad.CandidateGraph.from_tiers([FIRST, ["smoking"], ["risk"]]).with_edge("smoking", "risk", 1.0)
    whole = ad.fit(STUDY.table, graph, **options).effect("smoking", "risk")
    assert (short.mean, short.sd, short.interval()) == (whole.mean, whole.sd, whole.interval())
    assert short.posterior.graphs == (graph,)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"confounders": ["age", "smoking"]}, "'smoking' stands twice, in treatment and confounders; .* name it once"),
        ({"confounders": ["age", "age"]}, "'age' stands twice, in confounders; .* name it once"),
        ({"mediators": "tar"}, r"mediators must be a list of names; write mediators=\['tar'\]"),
        ({"confounders": "age"}, "confounders"),
        ({"confounders": ["agee"]}, "agee"),
    ],
)
def test_mistakes_are_named(said, message):
    with pytest.raises(ad.AlldagsError, match=message):
        ad.effect(STUDY.table, treatment="smoking", outcome="risk", **said)


def test_rows_without_outcome_are_left_out_with_a_word():
    risk = np.asarray(STUDY.table["risk"], dtype=float).copy()
    risk[:40] = np.nan
    named = {"treatment": "smoking", "outcome": "risk", "confounders": FIRST, "terms": None, "rng": 0}
    found = ad.effect(dict(STUDY.table) | {"risk": risk}, **named)
    few = {name: np.asarray(column)[40:] for name, column in STUDY.table.items()}
    assert found.mean == pytest.approx(ad.effect(few, **named).mean, abs=0.02)
    assert "! risk is missing in 40 of 500 rows, which its regression leaves out" in str(found).replace("\n  ", " ")


def bent(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(rows)
    t = (rng.logistic(size=rows) < 1.5 * (w**2 - 1)).astype(float)
    return {"w": w, "t": t, "y": 0.5 * t + w**2 + rng.standard_normal(rows)}


GRAPH = ad.CandidateGraph.from_tiers([["w"], ["t"], ["y"]]).with_edge("t", "y", 1.0)


def test_a_bent_confounder_is_adjusted_for_unless_lines_are_asked_for():
    default = ad.fit(bent(), GRAPH, rng=0).effect("t", "y")
    low, high = default.interval()
    assert low < 0.5 < high
    for said in (None, "straight"):
        straight = ad.fit(bent(), GRAPH, terms=said, rng=0).effect("t", "y")
        assert straight.interval()[0] > 1.0
    assert dict(default.summary().shapes)["curves"] > 0.99


@pytest.mark.parametrize(
    ("table", "graph", "options", "reason"),
    [
        (lambda: ad.Moments.from_table(bent()), GRAPH, {}, "moments, which hold no rows: curves are made from rows"),
        (bent, GRAPH, {"prior": ad.Prior.paper()}, "a prior without intercept: curves need an intercept"),
        (bent, GRAPH, {"engine": "exact"}, "engine='exact': this engine is for straight lines"),
        (bent, ad.CandidateGraph.unordered(["w", "t", "y"]), {}, "open directions .*: the form of a regression would"),
        (lambda: bent() | {"g": np.arange(400) % 8}, GRAPH, {"fixed_effects": "g"}, "fixed_effects=: levels are taken"),
    ],
)
def test_where_curves_do_not_go_the_answer_is_straight_and_says_so(table, graph, options, reason):
    options = {"families": "normal", "rng": 0, **options}
    default, straight = ad.fit(table(), graph, **options), fit(table(), graph, **options)
    notes = [str(note) for note in default.notes if "curves were not looked for" in note]
    assert len(notes) == 1
    assert re.search(reason, notes[0])
    assert default.effect("t", "y").mean == straight.effect("t", "y").mean
    assert not any("curves were not looked for" in note for note in straight.notes)


def test_tables_of_all_effects_are_straight_by_default():
    default, straight = (ask(bent(), GRAPH, families="normal", rng=0) for ask in (ad.fit, fit))
    np.testing.assert_array_equal(default.effects().values, straight.effects().values)
    np.testing.assert_array_equal(default.effects_sd().values, straight.effects_sd().values)
    assert list(default.edge_probabilities().rows()) == list(straight.edge_probabilities().rows())


def test_few_rows_or_a_nearly_empty_arm_leave_lines():
    few = {name: column[:30] for name, column in bent().items()}
    assert ad.fit(few, GRAPH, rng=0).effect("t", "y").mean == fit(few, GRAPH, rng=0).effect("t", "y").mean
    rare = bent() | {"t": (np.arange(400) < 12).astype(float)}
    assert ad.fit(rare, GRAPH, rng=0).effect("t", "y").mean == fit(rare, GRAPH, rng=0).effect("t", "y").mean


def test_a_word_that_is_no_choice_is_refused():
    with pytest.raises(ad.AlldagsError, match=r"terms must be .*'auto'.*'straight'.*, got 'curved'"):
        ad.fit(bent(), GRAPH, terms="curved")


def test_of_very_many_causes_the_best_are_looked_at_for_curves():
    rng = np.random.default_rng(1)
    w = rng.standard_normal((300, 120))
    t = (rng.logistic(size=300) < w[:, 7]).astype(float)
    y = t + w[:, 3] + 2 * np.abs(w[:, 55]) + rng.standard_normal(300)
    names = [f"w{i}" for i in range(120)]
    graph = ad.CandidateGraph.from_tiers([names, ["t"], ["y"]], 0.05).with_edge("t", "y", 1.0)
    effect = ad.fit(dict(zip(names, w.T, strict=True)) | {"t": t, "y": y}, graph, rng=0).effect("t", "y")
    node = effect.workings.totals.items[0].model.node("y")
    bending = node.found.spec.bending(node.found.spec.rows.sample())
    assert len(bending) <= 40
    assert {"w3", "w7", "w55"} <= bending
    assert node.inclusion[node.parents.index("w55")] > 0.99
    assert any("of 121 causes of y, curves were looked for in the" in note for note in effect.notes)
