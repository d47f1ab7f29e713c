"""Other members of a graph's Markov class, and what they do to an effect."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from alldags.graph.markov import class_key, class_members, edges_of, parents_of
from alldags.orders.members import mean_coefficients, other_members
from block_problems import block_problem, even_odds, linear_data
from lines import fit
from naive.orders import Orders


def repeated(parents, rows, size):
    return np.repeat(edges_of(parents, rows)[None], size, axis=0)


@pytest.mark.parametrize("parents", [(0, 1, 2, 4), (0, 1, 3, 7), (2, 0, 10, 0), (0, 1, 1, 6)])
def test_members_are_drawn_evenly_under_symmetric_odds(parents, rng):
    scatter, n = linear_data(rng, 4, 50)
    members = other_members(block_problem(scatter, n, even_odds(4), 4), repeated(parents, 4, 4000), rng)
    counts = Counter(parents_of(one) for one in members)
    expected = class_members(parents)
    assert counts.keys() == set(expected)
    share = 1.0 / len(expected)
    assert all(abs(c / 4000 - share) < 4.5 * math.sqrt(share * (1 - share) / 4000) + 1e-12 for c in counts.values())


def test_members_weigh_what_the_prior_says(rng):
    scatter, n = linear_data(rng, 4, 50)
    odds = rng.uniform(0.1, 2.0, (4, 4)) * (1 - np.eye(4))
    odds[2, 1] = 0.0  # 1 -> 2 cannot be turned
    truth = Orders(scatter, n, odds, by_size=np.array([0.0, 0.3, -0.2, 1.0]))
    problem = block_problem(scatter, n, odds, 4)
    start = (0, 1, 2, 4)
    members = other_members(problem, repeated(start, 4, 6000), rng)
    counts = Counter(parents_of(one) for one in members)
    weights = {}
    for graph, w in zip(truth.graphs, truth.weights, strict=True):
        words = tuple(sum(1 << i for i in own) for own in graph)
        if class_key(words) == class_key(start):
            size = sum(0.0 if truth.by_size is None else truth.by_size[len(own)] for own in graph)
            weights[words] = w / math.exp(size)  # the block has no size prior
    total = sum(weights.values())
    assert counts.keys() == weights.keys()
    for words, w in weights.items():
        assert abs(counts[words] / 6000 - w / total) < 4.5 * math.sqrt(0.25 / 6000)


def test_earlier_causes_keep_classes_apart(rng):
    scatter, n = linear_data(rng, 4, 50)
    odds = even_odds(4)
    odds[:, 3] = 0.0
    problem = block_problem(scatter, n, odds, 3)
    graph = (0b1000, 0b0001, 0b0010)  # z -> a -> b -> c: nothing can be turned without a new collider
    assert (other_members(problem, repeated(graph, 4, 50), rng) == repeated(graph, 4, 50)).all()
    both = (0b1000, 0b1001, 0)  # z acts on both a and b
    assert {parents_of(one) for one in other_members(problem, repeated(both, 4, 200), rng)} == set(class_members(both))


def test_an_experiment_tells_directions_apart(rng):
    scatter, n = linear_data(rng, 3, 50)
    problem = block_problem(scatter, n, even_odds(3), 3)
    set_once = replace(problem.nodes[0], n=n - 10.0, gram=0.9 * problem.nodes[0].gram)
    problem = replace(problem, nodes=(set_once, *problem.nodes[1:]))
    pair = (0, 1, 2)  # a -> b -> c; a has other rows
    found = {parents_of(one) for one in other_members(problem, repeated(pair, 3, 300), rng)}
    assert found == {pair}
    later = (0, 4, 0)  # c -> b
    assert {parents_of(one) for one in other_members(problem, repeated(later, 3, 300), rng)} == {later, (0, 0, 2)}


def test_mean_coefficients_are_those_of_each_graph(rng):
    scatter, n = linear_data(rng, 4, 50)
    truth = Orders(scatter, n, even_odds(4))
    graphs = [truth.graphs[i] for i in rng.choice(len(truth.graphs), 20)]
    present = np.array([truth.edges(g) for g in graphs]) > 0
    have = mean_coefficients(block_problem(scatter, n, even_odds(4), 4), present)
    np.testing.assert_allclose(have, [truth.coefficients(g) for g in graphs], atol=1e-10)


def inside_classes(truth, value):
    """Mean variance of a graph's value inside Markov classes, from the list of all graphs."""
    groups = defaultdict(list)
    for graph, w in zip(truth.graphs, truth.weights, strict=True):
        groups[class_key(tuple(sum(1 << i for i in own) for own in graph))].append((w, value(graph)))
    total = 0.0
    for members in groups.values():
        w, x = np.array(members).T
        total += w @ (x - w @ x / w.sum()) ** 2
    return total


def odds_of(posterior, names):
    """The prior odds that a fit has given every edge, row = cause."""
    odds = np.zeros((len(names), len(names)))
    model = posterior._models.items[0]
    for name in names:
        block = model.order_block(name)
        nodes = [model.node(name).problem] if block is None else block.problem.nodes
        for node in nodes:
            odds[[names.index(term) for term in node.terms], names.index(node.child)] = np.exp(node.log_odds)
    return odds


def ask(graph, rows, prior):
    names = list(graph.variables)
    table = dict(zip(names, rows.T, strict=True))
    posterior = fit(table, graph, prior=prior, rng=3)
    units = rows.std(axis=0, ddof=1)
    z = (rows - rows.mean(axis=0)) / units
    return posterior, Orders(z.T @ z, len(rows) - 1, odds_of(posterior, names)), units


GRAPHS = {
    "nothing known": ad.CandidateGraph.unordered(list("abcd"), 0.5),
    "one direction more probable": ad.CandidateGraph.unordered(list("abcd"), 0.5).with_pair("b", "c", 0.5, 0.1),
    "tiers": ad.CandidateGraph.from_tiers([["a"], ["b", "c", "d"], ["e"]], 0.5, within=0.6),
    "two open tiers": ad.CandidateGraph.from_tiers([["a", "b"], ["c", "d", "e"]], 0.5, within=0.6),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_part_inside_classes_is_that_of_all_graphs(name, rng):
    graph = GRAPHS[name]
    m = len(graph.variables)
    rows = rng.normal(size=(60, m)) @ (np.eye(m) + np.triu(rng.normal(size=(m, m)), 1) * 0.5)
    prior = ad.Prior(noise=ad.priors.EquivalentNoise(dof=2), link=0.0)
    posterior, truth, units = ask(graph, rows, prior)
    for source, target in (("a", "d"), ("b", "d"), ("a", graph.variables[-1])):
        i, j = graph.variables.index(source), graph.variables.index(target)
        want = math.sqrt(inside_classes(truth, lambda g, i=i, j=j: truth.effects(g)[i, j])) * units[j] / units[i]
        effect = posterior.effect(source, target)
        assert effect.uncertainty.direction == pytest.approx(want, rel=0.08, abs=1e-3)
        assert effect.uncertainty.direction <= effect.uncertainty.structure


def test_known_directions_leave_nothing_to_classes(rng):
    rows = rng.normal(size=(50, 3))
    graph = ad.CandidateGraph.from_order(list("abc"), 0.5)
    posterior = fit(dict(zip("abc", rows.T, strict=True)), graph, rng=0)
    assert posterior.effect("a", "c").uncertainty.direction == 0.0


def test_more_rows_do_not_help_inside_a_class(rng):
    """a - b, strongly: all of what is left after 20,000 rows is the direction."""
    parts = []
    for n in (200, 20_000):
        a = rng.normal(size=n)
        table = {"a": a, "b": a + rng.normal(size=n)}
        effect = fit(table, ad.CandidateGraph.unordered(["a", "b"], 0.5), rng=0).effect("a", "b")
        parts.append(effect.uncertainty.direction)
        assert effect.uncertainty.direction == pytest.approx(effect.uncertainty.structure, rel=0.05)
    assert parts[1] == pytest.approx(parts[0], rel=0.25)
    assert parts[1] == pytest.approx(0.5, rel=0.1)  # 1 or 0, each with one half


def test_exact_and_sampled_blocks_agree_on_it(rng):
    rows = rng.normal(size=(80, 5)) @ (np.eye(5) + np.triu(rng.normal(size=(5, 5)), 1) * 0.6)
    table, graph = dict(zip("abcde", rows.T, strict=True)), ad.CandidateGraph.unordered(list("abcde"), 0.5)
    exact, sampled = (fit(table, graph, engine=name, rng=0).effect("b", "e") for name in ("exact", "mcmc"))
    assert sampled.uncertainty.converged
    assert sampled.uncertainty.mean_error > 0
    assert abs(sampled.mean - exact.mean) < 5 * sampled.uncertainty.mean_error
    assert sampled.sd == pytest.approx(exact.sd, rel=0.05)
    assert sampled.uncertainty.structure == pytest.approx(exact.uncertainty.structure, rel=0.05)
    assert sampled.uncertainty.direction == pytest.approx(exact.uncertainty.direction, rel=0.1)
    assert sampled.probability_no_effect == pytest.approx(exact.probability_no_effect, abs=0.05)
    assert any("order of 5 variables was sampled" in note for note in sampled.notes)
