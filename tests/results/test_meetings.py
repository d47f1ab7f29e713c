"""Where two capabilities meet, the answer is right or the meeting is refused by name.

`MEETINGS` lists every such pair that needed a decision, and for each part of the decision the test that holds it: one
of this module, or one that stands with the capability itself. The pairs of options that say something of rows are in
`tests/rows/test_pairs.py`, which walks over all of them.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import alldags as ad
from alldags.priors.link import link_prior
from lines import fit

TESTS = Path(__file__).parents[1]
HERE = "results/test_meetings.py"

MEETINGS: dict[str, tuple[str, ...]] = {
    "default prior, block of unknown order": (
        "orders/test_open_order.py::test_the_default_prior_inside_a_block_is_the_fixed_slab_and_said_once",
        "orders/test_open_order.py::test_a_slab_that_prefers_directions_is_refused",
        f"{HERE}::test_a_slab_that_is_not_given_is_learned_outside_a_block_only",
    ),
    "several candidate graphs, opposite directions": (
        "orders/test_open_order.py::test_several_graphs_of_opposite_directions_against_every_graph",
        "orders/test_open_order.py::test_only_nodes_between_which_graphs_disagree_have_the_tying_prior",
    ),
    "link, block": ("orders/test_open_order.py::test_the_link_raises_edges_into_a_block_from_outside_only",),
    "link, several graphs, shared hyperparameters": (
        f"{HERE}::test_graphs_are_weighed_without_the_link_and_answer_with_it",
        f"{HERE}::test_tables_of_edges_and_graphs_are_without_link_and_say_so",
    ),
    "link, effects of everything": (
        "models/test_link.py::test_all_effects_are_linked_for_each_treatment",
        "models/test_link.py::test_linking_very_many_effects_is_refused_with_the_way_out",
        f"{HERE}::test_effects_on_one_outcome_are_those_asked_for_one_by_one",
    ),
    "link, engines": (
        "models/test_link.py::test_engines_without_edge_probabilities_do_not_link",
        f"{HERE}::test_what_drives_the_treatment_is_found_in_the_same_way_whatever_the_engine",
        f"{HERE}::test_what_drives_a_yes_no_treatment_is_found_by_a_straight_line",
    ),
    "link, influence and sliders": (
        "models/test_link.py::test_what_an_edge_does_is_told_for_its_stated_probability",
        f"{HERE}::test_edges_into_the_treatment_have_no_influence",
    ),
    "link, experiments, imputation, weights": (
        "rows/test_interventions.py::test_what_drives_the_treatment_is_looked_for_where_it_was_not_set",
        "rows/test_interventions.py::test_a_treatment_that_is_only_given_in_experiments_has_no_causes_to_be_seen",
        "rows/test_missing.py::test_each_table_has_its_own_link",
        f"{HERE}::test_a_randomised_treatment_is_not_linked",
        f"{HERE}::test_the_link_of_weighted_rows_is_that_of_repeated_rows",
    ),
    "evidence of sampled nodes": (
        "engines/test_mcmc_modes.py::test_the_evidence_and_its_error_are_right",
        f"{HERE}::test_sampled_graphs_are_weighed_like_enumerated_ones",
    ),
    "no effect, flat treatment (terms)": (
        "terms/test_closed_forms.py::test_no_effect_against_the_bayes_factor_of_one_regression",
    ),
    "terms, yes/no, Student noise inside blocks": (
        "terms/test_words.py::test_more_that_does_not_go_with_terms",
        f"{HERE}::test_families_inside_a_block_are_refused",
    ),
    "sensitivity, terms or yes/no": (
        "results/test_effect_contract.py"
        "::test_how_strong_a_hidden_cause_would_have_to_be_is_said_of_every_kind_of_effect",
        "results/test_families.py::test_hidden_causes_of_effects_that_are_no_lines",
    ),
    "sensitivity, experiments on what a hidden cause hits": (
        "results/test_sensitivity.py::test_rows_in_which_a_variable_was_set_are_refused",
    ),
    "sensitivity, imputation": (f"{HERE}::test_a_hidden_cause_is_averaged_over_imputed_tables",),
}


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("meeting", MEETINGS)
def test_every_meeting_has_its_tests(meeting):
    for place in MEETINGS[meeting]:
        path, name = place.split("::")
        assert name in functions_of(path), place


def test_every_test_here_belongs_to_a_meeting():
    named = {place.split("::")[1] for places in MEETINGS.values() for place in places if place.startswith(HERE)}
    own = {name for name in functions_of(HERE) if name.startswith("test_")}
    assert own - named == {"test_every_meeting_has_its_tests", "test_every_test_here_belongs_to_a_meeting"}


# -- a table with confounders that are weak on the outcome -----------------------------------------------------------

NAMES = ("a", "b", "c", "x", "y")
GRAPH = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["x"], ["y"]], 0.3)


def table(rows: int = 150, seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    c = rng.standard_normal((rows, 3))
    x = c @ [0.8, 0.6, 0.0] + rng.standard_normal(rows)
    y = 0.5 * x + c @ [0.15, -0.1, 0.0] + rng.standard_normal(rows)
    return dict(zip(NAMES, (*c.T, x, y), strict=True))


def drives(posterior: ad.Posterior) -> dict[str, float]:
    """Return how probable it is that each covariate drives the treatment, as the link sees it."""
    model = posterior._linked_models("x").items[0]
    model.node("y")
    return model._link.inclusion("x")


def test_a_slab_that_is_not_given_is_learned_outside_a_block_only():
    graph = ad.CandidateGraph.from_tiers([["a", "b"], ["x"], ["y"]], probability=0.5, within=0.5)
    found = fit({name: table()[name] for name in ("a", "b", "x", "y")}, graph, rng=0)
    (model,) = found._models.items
    inside = model.order_block("a").problem.nodes[0].settings
    assert [(setting.slab_variance, setting.noise) for setting in inside] == [(1.0, ad.priors.EquivalentNoise(2.0))]
    assert len(model.node("y").problem.settings) == ad.priors.LearnedSlab().points


def test_graphs_are_weighed_without_the_link_and_answer_with_it():
    graphs = [GRAPH, GRAPH.without_edge("b", "y")]
    for slab in (None, ad.priors.LearnedSlab(shared=True)):
        linked, plain = (
            fit(table(), graphs, graph_weights=[0.7, 0.3], prior=ad.Prior(slab=slab, link=link), rng=0)
            for link in (1.0, 0.0)
        )
        assert linked.graph_probabilities == plain.graph_probabilities
        assert linked.log_evidence == plain.log_evidence
        assert linked.effect("x", "y").mean != plain.effect("x", "y").mean
    alone = [fit(table(), graph, rng=0) for graph in graphs]
    odds = np.array([0.7, 0.3]) * np.exp([item.log_evidence - alone[0].log_evidence for item in alone])
    expected = np.average([item.effect("x", "y").mean for item in alone], weights=odds)
    both = fit(table(), graphs, graph_weights=[0.7, 0.3], rng=0).effect("x", "y")
    assert both.mean == pytest.approx(expected, rel=1e-9)


def test_tables_of_edges_and_graphs_are_without_link_and_say_so():
    linked, plain = (fit(table(), GRAPH, prior=ad.Prior(link=link), rng=0) for link in (1.0, 0.0))
    assert linked.edge_probabilities()["posterior"] == plain.edge_probabilities()["posterior"]
    assert "each edge by itself" in linked.edge_probabilities().note
    assert linked.coefficients()["mean"] == plain.coefficients()["mean"]
    assert linked.top_graphs(3) == plain.top_graphs(3)


def test_effects_on_one_outcome_are_those_asked_for_one_by_one():
    posterior = fit(table(), GRAPH, rng=0)
    found = posterior.effects_on("y")
    for treatment, mean, sd in zip(found["treatment"], found["mean"], found["sd"], strict=True):
        effect = posterior.effect(treatment, "y")
        assert (mean, sd) == (pytest.approx(effect.mean, rel=1e-12), pytest.approx(effect.sd, rel=1e-9))


def test_what_drives_the_treatment_is_found_in_the_same_way_whatever_the_engine():
    expected = drives(fit(table(), GRAPH, rng=0, engine="auto"))
    for engine in ("exact", "certified", "mcmc", "k2"):
        assert drives(fit(table(), GRAPH, rng=0, engine=engine)) == expected, engine


def test_what_drives_a_yes_no_treatment_is_found_by_a_straight_line():
    data = table() | {"x": (table()["x"] > 0).astype(float)}
    by_hand = fit(data, GRAPH, prior=link_prior(ad.Prior()), families="normal", rng=0).edge_probabilities()
    expected = {
        cause: p
        for cause, effect, p in zip(by_hand["cause"], by_hand["effect"], by_hand["posterior"], strict=True)
        if effect == "x"
    }
    assert drives(fit(data, GRAPH, rng=0)) == pytest.approx(expected, rel=1e-9)


def test_edges_into_the_treatment_have_no_influence():
    found = fit(table(), GRAPH, rng=0).effect("x", "y").edge_influence()
    assert "y" in found["effect"]
    assert "x" not in found["effect"]


def test_a_randomised_treatment_is_not_linked():
    posterior = fit(table(), GRAPH, rng=0, randomized="x")
    plain = fit(table(), GRAPH, rng=0, randomized="x", prior=ad.Prior(link=0.0))
    assert posterior.effect("x", "y").mean == plain.effect("x", "y").mean


def test_the_link_of_weighted_rows_is_that_of_repeated_rows():
    count = np.random.default_rng(0).integers(1, 4, 150)
    weighted = fit(table() | {"count": count.astype(float)}, GRAPH, rng=0, weights="count")
    repeated = fit({name: np.repeat(column, count) for name, column in table().items()}, GRAPH, rng=0)
    assert drives(weighted) == pytest.approx(drives(repeated), rel=1e-9)
    assert weighted.effect("x", "y").mean == pytest.approx(repeated.effect("x", "y").mean, rel=1e-9)


def test_sampled_graphs_are_weighed_like_enumerated_ones():
    graphs = [GRAPH, GRAPH.without_edge("a", "y")]
    exact, sampled = (fit(table(), graphs, rng=0, engine=engine) for engine in ("exact", "mcmc"))
    assert sampled.graph_probabilities == pytest.approx(exact.graph_probabilities, abs=0.05)
    effects = [posterior.effect("x", "y") for posterior in (exact, sampled)]
    assert effects[1].mean == pytest.approx(effects[0].mean, abs=5 * effects[1].uncertainty.mean_error + 1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "student"])
def test_families_inside_a_block_are_refused(family):
    data = table() | {"y": (table()["y"] > 0).astype(float)} if family == "bernoulli" else table()
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["x", "y"]], probability=0.5, within=0.5)
    with pytest.raises(ad.AlldagsError, match="and open directions of"):
        fit(data, graph, families={"y": family}, rng=0)


def test_a_hidden_cause_is_averaged_over_imputed_tables():
    strength = ad.Strength((0.0, 0.3), (0.0, 0.3), sign="positive")
    tables = [table(), table() | {"a": table()["a"] + 0.5 * np.random.default_rng(1).standard_normal(150)}]
    alone = [fit(one, GRAPH, rng=0).effect("x", "y").sensitivity().given(strength) for one in tables]
    both = fit(ad.Imputed(tables), GRAPH, rng=0).effect("x", "y").sensitivity().given(strength)
    means, sds = (np.array([getattr(answer, name) for answer in alone]) for name in ("mean", "sd"))
    assert both.mean == pytest.approx(means.mean(), abs=0.01)
    assert both.sd == pytest.approx(np.sqrt((sds**2).mean() + means.var()), rel=0.03)
