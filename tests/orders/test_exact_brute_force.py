"""Answers through blocks of unknown order against brute force over every acyclic graph."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from orders.worlds import WORLDS

EXACT = {"rel": 1e-9, "abs": 1e-11}


@pytest.fixture(scope="module", params=WORLDS)
def world(request):
    return WORLDS[request.param]()


def ends(world):
    """The first variable on the last, the other way round, and two in the middle."""
    names = world.names
    return [(names[0], names[-1]), (names[-1], names[0]), (names[2], names[1]), (names[1], names[-1])]


def place(world, *names):
    return [world.names.index(name) for name in names]


def test_evidence(world):
    assert world.posterior.log_evidence == pytest.approx(world.log_evidence, rel=1e-10)


def test_mean_spread_and_paths_of_effects(world):
    for cause, effect in ends(world):
        i, j = place(world, cause, effect)
        found, unit = world.posterior.effect(cause, effect), world.unit(i, j)
        mean, sd, structure, none = world.naive.effect(i, j)
        assert found.mean == pytest.approx(unit * mean, **EXACT)
        assert found.sd == pytest.approx(unit * sd, rel=1e-8, abs=1e-9)
        assert found.uncertainty.structure == pytest.approx(unit * structure, rel=1e-7, abs=1e-7)
        assert found.probability_no_effect == pytest.approx(none, **EXACT)
        assert found.probability.reverse == pytest.approx(1 - world.naive.effect(j, i)[3], **EXACT)


def test_edges_and_coefficients(world):
    naive = world.naive
    chance, mean = naive.average(naive.edges), naive.average(naive.coefficients)
    for row in world.posterior.edge_probabilities().rows():
        i, j = place(world, row["cause"], row["effect"])
        assert row["posterior"] == pytest.approx(chance[i, j], **EXACT)
        assert row["either"] == pytest.approx(chance[i, j] + chance[j, i], **EXACT)
        assert row["prior"] == world.graph.edges[row["cause"], row["effect"]]
    square = naive.average(
        lambda g: np.array([np.diag(naive.node(j, own)[1]) + naive.node(j, own)[0] ** 2 for j, own in enumerate(g)]).T
    )
    for row in world.posterior.coefficients().rows():
        i, j = place(world, row["cause"], row["effect"])
        assert row["mean"] == pytest.approx(world.unit(i, j) * mean[i, j], **EXACT)
        sd = world.unit(i, j) * math.sqrt(square[i, j] - mean[i, j] ** 2)
        assert row["sd"] == pytest.approx(sd, rel=1e-7, abs=1e-9)


def test_effects_of_everything_on_everything(world):
    mean = world.naive.average(world.naive.effects)
    found = world.posterior.effects()
    for (i, cause), (j, effect) in itertools.product(enumerate(world.names), repeat=2):
        assert found[cause, effect] == pytest.approx(world.unit(i, j) * mean[i, j], **EXACT)
    spread, (i, j) = world.posterior.effects_sd(), place(world, world.names[1], world.names[-1])
    sd = world.naive.effect(i, j)[1]
    assert spread[world.names[1], world.names[-1]] == pytest.approx(world.unit(i, j) * sd, rel=1e-8, abs=1e-9)


def test_paths_are_exact_and_add_up(world):
    cause, effect = world.names[0], world.names[-1]
    i, j = place(world, cause, effect)
    found, unit = world.posterior.effect(cause, effect), world.unit(i, j)
    rows = list(found.paths().rows())
    assert math.fsum(row["mean"] for row in rows) == pytest.approx(found.mean, **EXACT)
    for row in rows:
        mean, second, chance = world.naive.path(place(world, *row["path"].split(" -> ")))
        assert row["mean"] == pytest.approx(unit * mean, **EXACT)
        assert row["sd"] == pytest.approx(unit * math.sqrt(second - mean**2), rel=1e-7, abs=1e-9)
        assert row["probability"] == pytest.approx(chance, **EXACT)


def test_mediators_pass_on_what_goes_through_them(world):
    cause, effect = world.names[0], world.names[-1]
    i, j = place(world, cause, effect)
    for name in set(world.names) - {cause, effect}:
        found = world.posterior.effect(cause, effect).mediation([name], products=False)
        mean, second = world.naive.mediated(i, world.names.index(name), j)
        assert found.indirect.mean == pytest.approx(world.unit(i, j) * mean, **EXACT)
        assert found.indirect.sd == pytest.approx(world.unit(i, j) * math.sqrt(second - mean**2), rel=1e-7, abs=1e-9)
        assert abs(found.indirect.draws.mean() - found.indirect.mean) < 5 * found.indirect.sd / math.sqrt(20_000)
        np.testing.assert_allclose(found.direct.draws + found.indirect.draws, found.total.draws, atol=1e-9)


def test_influence_of_edges_has_three_states(world):
    cause, effect = world.names[0], world.names[-1]
    i, j = place(world, cause, effect)
    found, unit, naive = world.posterior.effect(cause, effect), world.unit(i, j), world.naive
    chance = naive.average(naive.edges)
    for row in found.edge_influence().rows():
        a, b = place(world, row["cause"], row["effect"])
        both_ways = (row["effect"], row["cause"]) in world.graph.edges
        states = [(chance[a, b], row["effect_if_present"], naive.given_edge(a, b, i, j))]
        if both_ways:
            assert row["reversed"] == pytest.approx(chance[b, a], **EXACT)
            states.append((chance[b, a], row["effect_if_reversed"], naive.given_edge(b, a, i, j)))
        none = 1 - sum(p for p, _, _ in states)
        rest = naive.effect(i, j)[0] - sum(p * mean for p, _, mean in states)
        states.append((none, row["effect_if_absent"], rest / none))
        for _, shown, mean in states:
            assert shown == pytest.approx(unit * mean, rel=1e-7, abs=1e-9)
        variance = sum(p * (unit * mean - found.mean) ** 2 for p, _, mean in states)
        assert row["variance_removed"] == pytest.approx(variance / found.sd**2, rel=1e-7, abs=1e-10)


def test_the_outcome_under_an_intervention(world):
    n = len(world.rows)
    for cause, effect in ends(world)[:3]:
        i, j = place(world, cause, effect)
        value = (7.0 - world.rows[:, i].mean()) / world.scale[i]
        mean, variance = world.naive.intervention(i, j, value, noise=1.0 + 1.0 / n)
        found = world.posterior.effect(cause, effect).do(7.0).new_unit
        assert found.mean == pytest.approx(world.rows[:, j].mean() + world.scale[j] * mean, rel=1e-9)
        assert found.sd == pytest.approx(world.scale[j] * math.sqrt(variance), rel=1e-8)
        error = max(found.centers.std(), 0.1 * found.sd) / math.sqrt(len(found.centers))
        assert found.centers.mean() == pytest.approx(found.mean, abs=5 * error)
        drawn = math.sqrt(found.centers.var() + (found.spreads**2).mean())
        assert drawn == pytest.approx(found.sd, rel=0.1)


def test_draws_have_the_exact_moments_and_atom(world):
    for cause, effect in ends(world)[:3]:
        found = world.posterior.effect(cause, effect)
        draws = found.draws(20_000, rng=1)
        assert draws.mean() == pytest.approx(found.mean, abs=4.5 * found.sd / math.sqrt(20_000) + 1e-12)
        none = found.probability_no_effect
        assert np.mean(draws == 0.0) == pytest.approx(none, abs=4.5 * math.sqrt(none * (1 - none) / 20_000) + 1e-12)
        if found.sd > 0:
            square = (draws - found.mean) ** 2
            assert square.mean() == pytest.approx(found.sd**2, abs=5 * square.std() / math.sqrt(20_000))


def test_top_graphs_have_their_exact_probability(world):
    naive = world.naive
    exact = {
        frozenset((i, j) for j, own in enumerate(g) for i in own): w
        for w, g in zip(naive.weights, naive.graphs, strict=True)
    }
    found = world.posterior.top_graphs(5, by="graph")
    for item in found:
        edges = frozenset((world.names.index(a), world.names.index(b)) for a, b in item.edges)
        assert item.probability == pytest.approx(exact[edges], rel=1e-8)
    best = sorted(exact.values(), reverse=True)[:5]
    assert [item.probability for item in found] == pytest.approx(best, rel=1e-8)
    classes = world.posterior.top_graphs(3)
    assert sum(item.probability for item in classes[0].members) == pytest.approx(classes[0].probability)


def test_the_self_check_is_small(world):
    effect = world.posterior.effect(world.names[1], world.names[-1])
    for block in effect.workings.totals.items[0].order_blocks:
        assert block.diagnostics.self_check < 1e-12
        assert block.diagnostics.left_out < 1e-20
