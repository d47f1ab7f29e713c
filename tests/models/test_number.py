"""How many of very many candidates are causes: learned where nobody said, and said where too many are expected."""

import math

import numpy as np
import pytest

import alldags as ad
from alldags.assumptions.stability import _with_edge_odds
from alldags.graph.io import format_graph
from alldags.models import number
from alldags.models.number import MOST, uncounted
from alldags.notes import Note
from lines import fit

NAMES = [f"c{i}" for i in range(MOST + 5)]


@pytest.fixture(scope="module")
def table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    columns = rng.standard_normal((200, len(NAMES)))
    x = columns[:, 0] + 0.4 * columns[:, 1] + rng.standard_normal(200)
    y = 0.5 * x + columns[:, 0] + columns[:, 2] + rng.standard_normal(200)
    return {name: columns[:, i] for i, name in enumerate(NAMES)} | {"x": x, "y": y}


def graph_of(count: int = MOST + 5, probability: float | None = None) -> ad.CandidateGraph:
    return ad.CandidateGraph.from_tiers([NAMES[:count], ["x"], ["y"]], probability)


def node(posterior: ad.Posterior, child: str, treatment: str | None = None):
    models = posterior.workings.models if treatment is None else posterior.workings.about(treatment)
    return models.items[0].node(child)


def test_the_number_is_that_of_the_beta_binomial_prior_to_the_last_bit(table):
    learned = node(fit(table, graph_of(), rng=0), "y")
    said = node(fit(table, graph_of(), prior=ad.Prior(edges=ad.priors.BetaBinomial()), rng=0), "y")
    assert (learned.mean == said.mean).all()
    assert (learned.inclusion == said.inclusion).all()
    assert learned.inclusion.sum() < 12 < node(fit(table, graph_of(probability=0.5), rng=0), "y").inclusion.sum()


def test_up_to_sixty_candidates_nothing_changes(table):
    for child, count in (("x", MOST), ("y", MOST - 1)):
        open_, even = (fit(table, graph_of(count, p), rng=0) for p in (None, 0.5))
        assert not uncounted(graph_of(count), ad.Prior(), child)
        assert (node(open_, child).mean == node(even, child).mean).all()
    assert len(uncounted(graph_of(MOST + 1), ad.Prior(), "x")) == MOST + 1


def test_a_link_raises_odds_relative_to_the_others(table):
    linked = node(fit(table, graph_of(), rng=0), "y", "x")
    prior = ad.Prior(edges=ad.priors.BetaBinomial(relative=True))
    said = node(fit(table, graph_of(probability=0.5), prior=prior, rng=0), "y", "x")
    assert (linked.mean == said.mean).all()
    assert linked.prior_inclusion[linked.parents.index("c1")] > linked.prior_inclusion[linked.parents.index("c9")]


def test_beside_stated_edges_a_link_raises_from_the_mean_of_the_learned_probability(table):
    model = fit(table, graph_of().with_edge("x", "y", 0.9), rng=0).workings.about("x").items[0]
    counted, linked = model._store.get(model._counting_key("y")), model.node("y")
    present = sum(p for name, p in zip(counted.parents, counted.inclusion, strict=True) if name != "x")
    share = (1.0 + present) / (2.0 + len(NAMES))
    place, drives = linked.parents.index("c1"), model._link.inclusion("x")["c1"]
    assert linked.stated_inclusion[place] == pytest.approx(share, rel=1e-12)
    assert linked.prior_inclusion[place] == pytest.approx(1.0 - (1.0 - share) * (1.0 - drives), rel=1e-12)


def test_what_was_stated_of_single_edges_is_kept(table):
    graph = graph_of().with_edge("x", "y", 0.9).with_edge("c3", "y", 1.0).with_edge("c4", "y", 0.5)
    found = node(fit(table, graph, rng=0), "y")
    prior = dict(zip(found.parents, found.prior_inclusion.tolist(), strict=True))
    assert (prior["x"], prior["c3"], prior["c4"]) == (0.9, 1.0, 0.5)
    assert prior["c0"] == prior["c9"] < 0.2


@pytest.mark.parametrize("prior", [ad.Prior.paper(), ad.Prior.v01(), ad.Prior(edges=ad.priors.EqualEdges(0.5))])
def test_a_prior_that_learns_nothing_keeps_even_odds(prior):
    assert not uncounted(graph_of(), prior, "y")


def test_open_directions_and_hidden_causes_keep_even_odds():
    graph = graph_of()
    assert uncounted(graph, ad.Prior(), "y")
    assert not uncounted(graph.with_hidden("x", "y"), ad.Prior(), "y")
    assert not uncounted(graph.with_pair("x", "y"), ad.Prior(), "y")


def test_a_regression_over_sites_learns_the_number_too(monkeypatch):
    monkeypatch.setattr(number, "MOST", 2)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 4))
    rows[:, 3] = rng.random(300) < 1.0 / (1.0 + np.exp(-rows[:, 0]))
    tables = [dict(zip("abcd", rows[i::2].T, strict=True)) for i in (0, 1)]
    moments = ad.read_moments(tables[0]) + ad.read_moments(tables[1])
    replies = [lambda request, table=table: ad.sites.site_reply(table, request) for table in tables]
    learned = ad.sites.fit_sites(replies, moments, {"d": ["a", "b", "c"]}, "d", rng=0).edges()["posterior"]
    prior = ad.Prior(edges=ad.priors.BetaBinomial(relative=True))
    stated = ad.sites.fit_sites(replies, moments, {"d": ["a", "b", "c"]}, "d", prior=prior, rng=0)
    assert learned == stated.edges()["posterior"]


def test_lines_of_a_regression_with_curves_have_the_learned_probability(table):
    posterior = ad.fit(table, graph_of().with_edge("x", "y", 1.0), rng=0)
    found = node(posterior, "y", "x")
    stated = found.found.spec.causes
    assert stated["x"] == 1.0
    assert stated["c5"] == stated["c0"] < 0.2


def test_a_posterior_that_was_saved_gives_the_same_answer(table, tmp_path):
    posterior = fit(table, graph_of(), rng=0)
    posterior.save(tmp_path / "wide.npz")
    again = ad.load(tmp_path / "wide.npz")
    assert again.graphs == posterior.graphs
    assert again.graphs[0].unstated == graph_of().unstated
    assert again.effect("x", "y").mean == posterior.effect("x", "y").mean
    assert again.notes == posterior.notes


def test_stability_leaves_a_learned_number_alone(table):
    model = fit(table, graph_of().with_edge("x", "y", 0.5), rng=0).workings.models.items[0]
    edges = _with_edge_odds(3.0, model).graph.edges
    assert (edges["c0", "y"], edges["x", "y"]) == (0.5, 0.75)


def test_prior_odds_of_no_effect_are_not_told_where_the_number_is_learned(table):
    assert fit(table, graph_of(), rng=0).effect("x", "y").summary().prior_no_effect is None
    assert fit(table, graph_of(20), rng=0).effect("x", "y").summary().prior_no_effect == pytest.approx(0.5)


# -- what is said of it ------------------------------------------------------------------------------------------------

LEARNED, MANY = "is learned: there are more than 60", "the prior expects"


def said(posterior: ad.Posterior, words: str) -> list[Note]:
    return [note for note in posterior.notes if words in note]


def test_the_answer_says_that_the_number_is_learned_and_the_advice_works(table):
    (note,) = said(fit(table, graph_of()), LEARNED)
    assert "of 'x', 'y' are causes" in note
    assert "write probability=0.5 where the graph is made" in note
    assert note.about == ("x", "y")
    assert not said(fit(table, graph_of(probability=0.5)), LEARNED)
    assert said(fit(table, graph_of()).effect("x", "y"), LEARNED)


def test_a_prior_that_expects_too_many_causes_is_told_and_the_advice_works(table):
    x, y = said(fit(table, graph_of(probability=0.5)), MANY)
    assert x.severity == "check"
    assert "the prior expects 33 of the 66 candidate causes of 'y' to act on it, with 200 rows" in y
    assert "0.2 each expects ten" in y
    ways_out = [
        fit(table, graph_of()),
        fit(table, graph_of(probability=0.15)),
        fit(table, graph_of(probability=0.5), prior=ad.Prior(edges=ad.priors.BetaBinomial())),
    ]
    for posterior in ways_out:
        assert not said(posterior, MANY)
    assert not said(fit({name: np.tile(column, 2) for name, column in table.items()}, graph_of(probability=0.5)), MANY)


def test_the_methods_section_says_that_the_number_is_learned(table):
    words = "those into y whose probabilities were left open had a common one, uniform between 0 and 1."
    assert words in fit(table, graph_of(), rng=0).effect("x", "y").to.sentence("methods")
    assert "common one" not in fit(table, graph_of(probability=0.5), rng=0).effect("x", "y").to.sentence("methods")


def test_few_candidates_are_not_told_of(table):
    small = {name: column[:40] for name, column in table.items()}
    assert not said(fit(small, graph_of(20, 0.5)), MANY)


def test_the_command_line_has_words_of_its_own(table):
    (note,) = said(fit(table, graph_of()), LEARNED)
    assert "state 0.5 in a graph file" in note.on_command_line
    many = said(fit(table, graph_of(probability=0.5)), MANY)[0].on_command_line
    assert "leave probabilities out to learn how many" in many


# -- kept in graphs and files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["toml", "json", "csv", "dot", "gml", "dagitty"])
def test_files_keep_what_was_not_stated(format):
    graph = ad.CandidateGraph.from_order(["a", "b", "c", "d"]).with_edge("a", "c", 0.5).with_edge("a", "d", 0.3)
    assert graph.unstated == {("a", "b"), ("b", "c"), ("b", "d"), ("c", "d")}
    again = ad.parse_graph(format_graph(graph, format), format)
    assert again == graph
    assert again.unstated == graph.unstated
    assert ad.parse_graph(format_graph(graph, format), format, probability=0.2).probability("a", "b") == 0.2


@pytest.mark.parametrize("format", ["toml", "json", "csv", "dot", "gml", "dagitty"])
def test_files_keep_open_pairs_that_were_not_stated(format):
    graph = ad.CandidateGraph.from_edges([("a", "b"), ("b", "a"), ("b", "c")])
    assert ad.parse_graph(format_graph(graph, format), format) == graph


def test_half_of_a_pair_that_was_not_stated_is_no_even_odds():
    graph = ad.CandidateGraph.from_edges([("a", "b"), ("b", "a")]).without_edge("b", "a")
    assert (graph.probability("a", "b"), graph.unstated) == (0.25, frozenset())


@pytest.mark.parametrize(
    "make",
    [
        lambda: ad.CandidateGraph.from_tiers([["a"], ["b"]]),
        lambda: ad.CandidateGraph.from_order(["a", "b"]),
        lambda: ad.parse_graph("b ~ a"),
        lambda: ad.parse_graph('{"tiers": [["a"], ["b"]]}'),
    ],
)
def test_even_odds_that_nobody_stated_are_no_statement(make):
    assert make().unstated == {("a", "b")}
    assert make() != ad.CandidateGraph.from_edges({("a", "b"): 0.5})
    assert make().probability("a", "b") == 0.5


def test_the_front_door_states_no_probability_but_that_of_the_effect():
    from alldags.front import study_graph

    graph = study_graph("x", "y", ["a", "b"], probability=0.5)
    assert graph.unstated == {("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")}
    assert not math.isnan(graph.probability("x", "y"))
