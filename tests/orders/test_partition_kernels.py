"""Compiled walks over ordered partitions against slow twins."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from alldags.kernels.blocks import partition as kernels
from alldags.kernels.blocks.given import Given, draw_mates, draw_start, read_partitions
from alldags.kernels.blocks.scores import average_subsets
from naive.orders import Orders
from naive.partitions import all_partitions, layers_of, log_weight, places, random_tables
from partition_kernels import relocate, take_out, weigh_places

pytestmark = pytest.mark.kernels


def make_target(scores, mates):
    b = len(scores)
    place = np.zeros((b, b), dtype=np.int64)
    for j, own in enumerate(mates):
        place[j, own] = 1 << np.arange(len(own))
    log_sum = scores.copy()
    for row in log_sum:
        average_subsets(row, np.empty((len(row), 0)))
    return kernels.Target(log_sum, place)


def settled(target, layer):
    walker = kernels.one_of(kernels.new_walkers(1, len(layer)), 0)
    kernels.settle(target, walker, np.array(layer))
    return walker


@pytest.fixture(params=[0.0, 0.3])
def tables(request, rng):
    return random_tables(rng, 6, 4, never=request.param)


def test_weights_of_partitions_are_those_of_their_graphs(tables, rng):
    target = make_target(*tables)
    for _ in range(40):
        layer = layers_of([set(rng.choice(j, rng.integers(j + 1), replace=False).tolist()) for j in range(6)])
        want, have = log_weight(*tables, layer), kernels.log_weight(settled(target, layer))
        assert have == pytest.approx(want, abs=1e-8) if math.isfinite(want) else have < -1e200


def test_all_places_are_weighed_as_if_each_partition_were_weighed_anew(tables, rng):
    target, space = make_target(*tables), kernels.new_space(6)
    for trial in range(60):
        layer = layers_of([set(rng.choice(j, rng.integers(j + 1), replace=False).tolist()) for j in range(6)])
        layer, v = tuple(np.array(layer)[rng.permutation(6)]), trial % 6
        walker = settled(target, layer)
        take_out(target, walker, v)
        count = weigh_places(target, walker, v, space)
        options = places(layer, v)
        assert count == len(options)
        for have, other in zip(space.options[:count], options, strict=True):
            want = log_weight(*tables, other)
            assert have == pytest.approx(want, abs=1e-7) if math.isfinite(want) else have < -1e200


def test_a_walker_knows_what_a_new_one_would_know(tables, rng):
    target, space = make_target(*tables), kernels.new_space(6)
    walker = settled(target, [0] * 6)
    for step in range(60):
        relocate(target, walker, step % 6, 0.7, space, rng.random())
        other = settled(target, walker.layer)
        for mine, fresh in zip(walker, other, strict=True):
            np.testing.assert_allclose(mine, fresh, rtol=1e-12)


def test_partitions_share_out_all_graphs(rng):
    x = rng.normal(size=(30, 4)) @ (np.eye(4) + np.triu(rng.normal(size=(4, 4)), 1))
    truth = Orders(x.T @ x, 30, np.full((4, 4), 0.5) - 0.5 * np.eye(4))
    mates = [[i for i in range(4) if i != j] for j in range(4)]
    scores = np.array(
        [
            [truth.log_weight(j, frozenset(m for k, m in enumerate(own) if s >> k & 1)) for s in range(8)]
            for j, own in enumerate(mates)
        ]
    )
    base = scores.max(axis=1)
    weights = {layer: log_weight(scores - base[:, None], mates, layer) for layer in all_partitions(4)}
    assert len(weights) == 75
    assert np.logaddexp.reduce(list(weights.values())) + base.sum() == pytest.approx(truth.log_total, abs=1e-9)
    shares = Counter()
    for graph, w in zip(truth.graphs, truth.weights, strict=True):
        shares[layers_of(graph)] += w
    for layer, value in weights.items():
        assert math.exp(value + base.sum() - truth.log_total) == pytest.approx(shares[layer], abs=1e-9)


@pytest.mark.parametrize("powers", [[1.0], [1.0, 0.6, 0.35]])
def test_walks_visit_partitions_as_often_as_they_weigh(powers, rng, scaled):
    b, sweeps = 4, scaled(40_000)
    scores, mates = random_tables(rng, b, 3, spread=1.5)
    target = make_target(scores, mates)
    powers = np.array(powers)
    walkers = kernels.new_walkers(len(powers), b)
    for w in range(len(powers)):
        kernels.settle(target, kernels.one_of(walkers, w), np.zeros(b, dtype=np.int64))
    kept, weights, swaps = np.zeros((sweeps, b), np.int64), np.zeros(sweeps), np.zeros(len(powers) - 1, np.int64)
    kernels.walk(target, walkers, powers, sweeps, 1, kept, weights, kernels.new_space(b), swaps, rng)
    logs = {layer: log_weight(scores, mates, layer) for layer in all_partitions(b)}
    total = np.logaddexp.reduce(list(logs.values()))
    batches = [Counter(map(tuple, part.tolist())) for part in np.array_split(kept, 40)]
    z = []
    for layer, value in logs.items():
        share = np.array([batch[layer] / batch.total() for batch in batches])
        expected = math.exp(value - total)
        if expected * sweeps > 100:
            z.append((share.mean() - expected) / (share.std(ddof=1) / math.sqrt(len(share))))
    assert np.abs(z).max(initial=0.0) < 4.5
    assert len(z) > 10 or sweeps < 40_000
    assert (swaps > 0).all()
    assert weights[-1] == pytest.approx(log_weight(scores, mates, tuple(kept[-1])), abs=1e-8)


def test_parents_are_drawn_as_often_as_they_weigh(rng, scaled):
    size = scaled(20_000)
    scores, mates = random_tables(rng, 4, 3)
    target, layer = make_target(scores, mates), np.array([[0, 1, 1, 2]])
    zeros = [np.zeros(layer.shape, dtype=np.int64) for _ in range(3)]
    given = Given(layer, *zeros, np.zeros(layer.shape))
    read_partitions(target, given)
    sets = np.zeros((size, 4), dtype=np.int64)
    draw_mates(target.log_sum, scores, given, np.zeros(size, dtype=np.int64), rng.random((size, 4)), sets)
    for j in range(4):
        allowed = np.zeros(8)
        for s in range(8):
            inside = {m for k, m in enumerate(mates[j]) if s >> k & 1}
            levels = [layer[0, m] for m in inside]
            fits = all(level < layer[0, j] for level in levels)
            if fits and (layer[0, j] == 0 or layer[0, j] - 1 in levels):
                allowed[s] = math.exp(scores[j, s])
        want = allowed / allowed.sum()
        have = np.bincount(sets[:, j], minlength=8) / size
        assert np.abs(have - want).max() < 4.5 * math.sqrt(0.25 / size)
        assert (have[want == 0] == 0).all()


def test_chains_start_from_graphs_that_weigh_something(rng):
    scores, mates = random_tables(rng, 6, 4)
    needed = [s for s in range(16) if not s & 1]
    scores[3, needed] = -1e300  # the first mate of variable 3 is its certain parent
    scores[
        mates[3][0], [s for s in range(16) if 3 in {m for k, m in enumerate(mates[mates[3][0]]) if s >> k & 1}]
    ] = -1e300
    target, layer = make_target(scores, mates), np.zeros(6, dtype=np.int64)
    seen = set()
    for _ in range(30):
        draw_start(target, scores, rng, layer)
        assert math.isfinite(log_weight(scores, mates, tuple(layer)))
        assert layer[3] > layer[mates[3][0]]
        seen.add(tuple(layer.tolist()))
    assert len(seen) > 15
