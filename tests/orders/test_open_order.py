"""Blocks of unknown order: priors, lists of graphs, the link, refusals, and what is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad
from alldags.nodes import NodeProblem, Setting
from alldags.orders.exact import ExactBlock, ExactOrder
from alldags.orders.problem import BlockProblem, Start
from lines import fit
from naive.orders import Orders
from orders.worlds import PRIOR, OpenWorld, table
from show.everything import everything

NAMES = list("abcd")


def standardized(rows):
    x = (rows - rows.mean(axis=0)) / rows.std(axis=0, ddof=1)
    return x.T @ x


def complete(order):
    return ad.CandidateGraph.from_order(order, probability=1.0)


# -- score -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.1, 0.001])
def test_complete_graphs_of_opposite_orders_weigh_the_same(noise):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3))
    x[:, 2] = x[:, 0] + x[:, 1] + noise * x[:, 2]
    rows = dict(zip("abc", x.T, strict=True))
    posterior = fit(rows, [complete(list("abc")), complete(list("cba")).with_order(list("abc"))], rng=0)
    assert posterior.graph_probabilities == pytest.approx((0.5, 0.5), abs=1e-9)


def test_several_graphs_of_opposite_directions_against_every_graph():
    world = OpenWorld(table(NAMES, 15, 7), ad.CandidateGraph.from_order(NAMES, 0.4))
    forward = world.graph
    backward = forward.without_edge("b", "c").with_edge("c", "b", 0.7)
    posterior = fit(world.rows, [forward, backward], graph_weights=[0.7, 0.3], names=NAMES, prior=PRIOR, rng=0)
    parts = [OpenWorld(world.rows, graph) for graph in (forward, backward)]
    log = np.log([0.7, 0.3]) + [part.log_evidence for part in parts]
    weights = np.exp(log - np.logaddexp.reduce(log))
    assert posterior.graph_probabilities == pytest.approx(weights, rel=1e-9)
    mean = weights @ [part.naive.effect(0, 3)[0] for part in parts]
    assert posterior.effect("a", "d").mean == pytest.approx(world.unit(0, 3) * mean, rel=1e-9)


def test_only_nodes_between_which_graphs_disagree_have_the_tying_prior():
    rows = dict(zip(NAMES, table(NAMES, 60, 3).T, strict=True))
    forward = ad.CandidateGraph.from_order(NAMES, 0.5)
    backward = forward.without_edge("a", "b").with_edge("b", "a", 0.5)
    posterior = fit(rows, [forward, backward], rng=0)
    alone = fit(rows, forward, rng=0)
    models = posterior._models.items
    assert models[0].node("d") is models[1].node("d")
    assert models[0].node("d").mean == pytest.approx(alone._models.items[0].node("d").mean, rel=1e-14)
    assert isinstance(models[0].node("b").problem.settings[0].noise, ad.priors.EquivalentNoise)


def test_the_default_prior_inside_a_block_is_the_fixed_slab_and_said_once():
    rows = table(NAMES, 40, 5)
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["d"]], within=[0.5, None])
    plain = fit(rows, graph, names=NAMES, rng=0)
    explicit = fit(
        rows, graph, names=NAMES, prior=ad.Prior(slab_variance=1.0, noise=ad.priors.EquivalentNoise()), rng=0
    )
    found, same = plain.effect("a", "c"), explicit.effect("a", "c")
    assert found.mean == pytest.approx(same.mean, rel=1e-12)
    assert found.sd == pytest.approx(same.sd, rel=1e-12)
    assert sum("EquivalentNoise()" in note for note in found.notes) == 1
    assert not any("EquivalentNoise()" in note for note in same.notes)
    node = plain._models.items[0].node("d")
    assert len(node.problem.settings) > 1  # outside, the slab is learned


def test_members_of_a_markov_class_tie():
    rows = table(NAMES, 60, 2)
    posterior = fit(rows, ad.CandidateGraph.unordered(NAMES, 0.5), names=NAMES, rng=0)
    for item in posterior.top_graphs(3):
        values = [member.probability for member in item.members]
        assert values == pytest.approx([values[0]] * len(values), rel=1e-9)
    assert "--" in str(posterior.top_graphs(1)[0]) or len(posterior.top_graphs(1)[0].members) == 1


def test_beta_binomial_edges_in_a_block():
    rows = table(NAMES, 15, 6)
    graph = ad.CandidateGraph.unordered(NAMES, 0.5)
    prior = ad.Prior(noise=ad.priors.EquivalentNoise(), edges=ad.priors.BetaBinomial(1, 1), link=0.0)
    posterior = fit(rows, graph, names=NAMES, prior=prior, rng=0)
    odds, by_size = np.ones((4, 4)) - np.eye(4), ad.priors.BetaBinomial(1, 1).log_size(3)
    naive = Orders(standardized(rows), 14.0, odds, by_size=by_size)
    unit = rows[:, 3].std() / rows[:, 0].std()
    mean, sd, structure, none = naive.effect(0, 3)
    found = posterior.effect("a", "d")
    assert found.mean == pytest.approx(unit * mean, rel=1e-9)
    assert found.sd == pytest.approx(unit * sd, rel=1e-8)
    assert found.uncertainty.structure == pytest.approx(unit * structure, rel=1e-7)
    assert found.probability_no_effect == pytest.approx(none, rel=1e-9)
    empty = Orders(np.zeros((4, 4)), 0.0, odds, by_size=by_size)
    assert posterior.log_evidence == pytest.approx(naive.log_total - empty.log_total, rel=1e-10)
    prior_edges = empty.average(empty.edges)
    for row in posterior.edge_probabilities().rows():
        i, j = NAMES.index(row["cause"]), NAMES.index(row["effect"])
        assert row["prior"] == pytest.approx(prior_edges[i, j], rel=1e-9)


def test_known_noise_is_kept_and_orients():
    rng = np.random.default_rng(1)
    a = rng.normal(size=400)
    rows = {"a": a, "b": 2.0 * a + rng.normal(size=400)}
    effect = fit(rows, ad.CandidateGraph.unordered(["a", "b"], 0.5), prior=ad.Prior.paper(), rng=0).effect("a", "b")
    assert effect.probability_no_effect < 1e-3  # equal variances tell the direction
    tied = fit(rows, ad.CandidateGraph.unordered(["a", "b"], 0.5), rng=0).effect("a", "b")
    assert tied.probability_no_effect == pytest.approx(0.5, abs=1e-9)


# -- invariance --------------------------------------------------------------------------------------------------------


def test_order_of_columns_and_units_do_not_matter():
    rows = table(NAMES, 30, 8)
    graph = ad.CandidateGraph.from_tiers([["a", "b", "c"], ["d"]], within=[0.6, None]).with_pair("a", "b", 0.2, 0.3)
    found = fit(rows, graph, names=NAMES, robust=False, rng=0).effect("b", "d")
    scale = np.array([1.0, 10.0, 0.1, 5.0])
    other = graph.with_order(list("dcba"))
    turned = fit((rows * scale)[:, ::-1], other, names=NAMES[::-1], robust=False, rng=0).effect("b", "d")
    assert turned.mean * 10.0 / 5.0 == pytest.approx(found.mean, rel=1e-9)
    assert turned.sd * 10.0 / 5.0 == pytest.approx(found.sd, rel=1e-9)
    assert turned.probability_no_effect == pytest.approx(found.probability_no_effect, rel=1e-9)


def test_near_copies_lose_no_digits():
    rng = np.random.default_rng(3)
    base = rng.normal(size=(300, 1))
    x = base + rng.normal(size=(300, 6)) * 10.0 ** rng.uniform(-6, -1, 6)
    names = [f"x{i}" for i in range(6)]
    posterior = fit(x, ad.CandidateGraph.unordered(names, 0.5), names=names, rng=0)
    effect = posterior.effect("x0", "x1")
    block = effect.workings.totals.items[0].order_blocks[0]
    assert block.diagnostics.self_check < 1e-9
    assert effect.uncertainty.converged


# -- the link ----------------------------------------------------------------------------------------------------------


def test_the_link_raises_edges_into_a_block_from_outside_only():
    rng = np.random.default_rng(4)
    c = rng.normal(size=300)
    x = c + rng.normal(size=300)
    m = 0.5 * x + 0.1 * c + rng.normal(size=300)
    y = 0.5 * m + 0.5 * x + 0.1 * c + rng.normal(size=300)
    graph = ad.CandidateGraph.from_tiers([["c"], ["x"], ["m", "y"]], probability=0.3, within=[None, None, 0.5])
    posterior = fit({"c": c, "x": x, "m": m, "y": y}, graph, rng=0)
    model = posterior.effect("x", "y").workings.models.items[0]
    for child in ("m", "y"):
        margin = model.margin(child)
        raised = dict(zip(margin.parents, margin.raised, strict=True))
        assert raised["c"] > 0.9
        assert raised["x"] == 0.0
        assert raised["y" if child == "m" else "m"] == 0.0
    inside = posterior.effect("m", "y").workings.models.items[0].margin("y")
    assert inside.raised.max() == 0.0  # block-mates are no sources


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "match"),
    [
        (ad.Prior(slab=ad.priors.GPrior("n")), "slab=GPrior.* data cannot tell apart.*slab_variance"),
        (ad.Prior(slab=ad.priors.LearnedSlab(spread=1.0)), "slab=LearnedSlab"),
    ],
)
def test_a_slab_that_prefers_directions_is_refused(prior, match):
    with pytest.raises(ad.errors.PriorError, match=match):
        fit(table(NAMES, 20, 1), ad.CandidateGraph.unordered(NAMES, 0.5), names=NAMES, prior=prior)


@pytest.mark.parametrize("engine", ["vb", "em", "k2", "full", "gibbs", "certified"])
def test_engines_without_orders_are_refused(engine):
    with pytest.raises(ad.errors.EngineError, match=f"{engine}.*does not average over orders.*engine='auto'"):
        fit(table(NAMES, 20, 1), ad.CandidateGraph.unordered(NAMES, 0.5), names=NAMES, engine=engine)


def wide_block(b, earlier=0):
    nodes = []
    for j in range(b):
        terms = tuple(f"x{i}" for i in range(b) if i != j) + tuple(f"e{i}" for i in range(earlier))
        k = len(terms)
        setting = (Setting(1.0, ad.priors.EquivalentNoise()),)
        nodes.append(NodeProblem(f"x{j}", terms, np.eye(k), np.zeros(k), 1.0, 9.0, np.full(k, 0.3), setting))
    return BlockProblem(tuple(nodes))


def test_too_large_a_block_names_the_ways_out():
    with pytest.raises(
        ad.errors.EngineError,
        match=r"19 variables.*one block: at most 18.*a list of two.*engine='mcmc'.*seconds and .* GB",
    ):
        ExactOrder()(wide_block(19), np.random.default_rng(0))
    with pytest.raises(ad.errors.EngineError, match=r"25 uncertain candidate parents.*earlier causes"):
        ExactOrder()(wide_block(4, earlier=22), np.random.default_rng(0))
    with pytest.raises(ad.errors.EngineError, match="max_entries"):
        ExactOrder(max_entries=0)


def test_second_moments_of_a_very_large_block_are_refused():
    block = ExactBlock(wide_block(16))
    with pytest.raises(ad.errors.EngineError, match=r"16 variables.*at most 15.*engine='mcmc'"):
        block.second(Start(np.zeros(0), np.zeros((0, 0)), 0))


# -- what is said ------------------------------------------------------------------------------------------------------


def test_the_answer_says_which_way_and_what_was_left_open():
    rng = np.random.default_rng(0)
    a = rng.normal(size=150)
    rows = {"a": a, "b": 0.6 * a + rng.normal(size=150)}
    effect = fit(rows, ad.CandidateGraph.unordered(["a", "b"], 0.5), rng=0).effect("a", "b")
    text = " ".join(everything(effect).split())
    assert "Which of the two acts on the other was left open: a on b 50.0%, b on a 50.0%, neither below 0.1%." in text
    assert "b -> a 50%, a -> b 50%, no edge <1%" in text or "a -> b 50%, b -> a 50%, no edge <1%" in text
    assert "no number of such rows can tell" in text
    found = effect.to.dict()
    assert found["probability_reverse"] == pytest.approx((1 - found["probability_neither"]) / 2, abs=1e-9)
    assert found["open_pairs"][0]["none"] == pytest.approx(found["probability_neither"], abs=1e-9)
    assert found["sd_direction"] == pytest.approx(effect.uncertainty.structure, rel=0.1)
    parts = (1 - effect.probability_no_effect, effect.probability.reverse, effect.probability.neither)
    assert math.fsum(parts) == pytest.approx(1.0, abs=1e-12)


def test_without_open_directions_nothing_is_said_of_them():
    rows = dict(zip(NAMES, table(NAMES, 40, 1).T, strict=True))
    effect = fit(rows, ad.CandidateGraph.from_order(NAMES), rng=0).effect("a", "d")
    assert effect.probability.open_pairs == ()
    assert effect.probability.reverse == 0.0
    found = effect.to.dict()
    assert found["probability_reverse"] is None
    assert found["open_pairs"] == []
    assert "either" not in fit(rows, ad.CandidateGraph.from_order(NAMES)).edge_probabilities().columns


def test_same_seed_same_draws_whatever_the_threads():
    rows, graph = table(NAMES, 30, 1), ad.CandidateGraph.unordered(NAMES, 0.5)
    one, two = (fit(rows, graph, names=NAMES, rng=5, n_jobs=jobs).effect("a", "d") for jobs in (1, 2))
    assert np.array_equal(one.draws(500), two.draws(500))


def test_paths_of_a_large_block_are_found_by_draws():
    names = [f"x{i}" for i in range(7)]
    rows = table(names, 100, 9)
    effect = fit(rows, ad.CandidateGraph.unordered(names, 0.5), names=names, rng=0).effect("x0", "x5")
    found = effect.paths(limit=5)
    assert list(found["path"])[-1] == "all other paths"
    assert math.fsum(found["mean"]) == pytest.approx(effect.mean, rel=1e-9, abs=1e-12)
    assert len(found) == 6
