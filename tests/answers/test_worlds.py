"""Worlds: against the push of one treatment, and one draw at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import alldags as ad
from alldags.answers import worlds as module
from alldags.answers.comparison import STEP, Comparison
from alldags.answers.nodes import sample_nodes
from alldags.answers.push import Push
from alldags.answers.world import AS_IT_IS, Shift, Stays, Value, World, moved_nodes
from alldags.answers.worlds import Worlds, world_blocks
from answers.test_push import CASES, asked, response_of, table
from lines import fit
from naive import worlds as naive

SIZE = 17


@cache
def drawn(case):
    """Return rows, draws of all nodes after the covariates, and the push of the same."""
    response = response_of(asked(case))
    model = response.model
    (rows,) = response.batches()
    names = [name for name in model.graph.order if model.graph.ancestors(name)]
    samples = sample_nodes(model, tuple(names), SIZE, np.random.default_rng(3))
    uniforms = {name: np.random.default_rng([7, i]).random(rows.count) for i, name in enumerate(names)}
    folds = {name: fold for name, fold in rows.folds.items() if fold is not None}
    return response, replace(rows, uniforms=uniforms, folds=folds), samples


def means(rows, samples, world, name, **options):
    found = [Worlds(rows, samples, block, **options).mean(world, name) for block in world_blocks(rows.count, samples)]
    return np.concatenate(found, axis=1)


def expected(rows, samples, world, name, **options):
    return np.array([naive.mean(rows, samples, world, name, draw, **options) for draw in range(SIZE)]).T


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("comparison", [STEP, Comparison(0.0, 1.0)], ids=["step", "values"])
def test_one_treatment_is_what_its_push_gives(case, comparison, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_VALUES", 120 * 7)  # several blocks of draws
    response, rows, samples = drawn(case)
    own = {name: samples[name] for name in response.span.reached}
    route = response.route(own)
    low, high = Push(rows, own, route, slice(0, SIZE)).both(*rows.moves(route.source, comparison))
    settings = (Stays(), Shift(1.0)) if comparison.is_step else (Value(0.0), Value(1.0))
    for setting, pushed in zip(settings, (low, high), strict=True):
        found = means(rows, samples, World({"t": setting}), response.outcome)
        np.testing.assert_allclose(found, pushed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_several_are_one_draw_at_a_time(case):
    response, rows, samples = drawn(case)
    second = response.span.variables[1]
    for settings in ({"t": Value(1.0), second: Value(0.0)}, {"t": Shift(0.5), "z": Value(0.3)}, {"z": Shift(-1.0)}):
        world = World(settings)
        np.testing.assert_allclose(
            means(rows, samples, world, response.outcome),
            expected(rows, samples, world, response.outcome),
            rtol=1e-9,
            atol=1e-9,
        )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("keeps", [False, True])
def test_causes_are_read_in_the_worlds_that_are_named(case, keeps):
    response, rows, samples = drawn(case)
    if case == "count" and keeps:
        return  # a count that keeps its level is drawn: see below
    low, high = World({"t": Value(0.0)}), World({"t": Value(1.0)})
    between = response.span.variables[1:-1]
    nested = World({"t": Value(1.0)}, reads={response.outcome: dict.fromkeys(between, low)})
    other = World({"t": Value(0.0)}, reads={response.outcome: {between[0]: high}})
    for world in (nested, other):
        found = means(rows, samples, world, response.outcome, keeps=keeps)
        np.testing.assert_allclose(
            found, expected(rows, samples, world, response.outcome, keeps=keeps), rtol=1e-9, atol=1e-9
        )


def test_a_path_by_way_of_two_mediators_is_one_draw_at_a_time():
    """t acts on y by way of n alone, and on n by itself; m, which is before n, stays as it was."""
    graph = ad.CandidateGraph.from_tiers([["z"], ["t"], ["m"], ["n"], ["y"]], probability=1.0)
    effect = fit(table(), graph, rng=0, families={"n": "bernoulli"}).effect("t", "y")
    response = response_of(effect)
    (rows,) = response.batches()
    names = ("t", "m", "n", "y")
    samples = sample_nodes(response.model, names, SIZE, np.random.default_rng(1))
    low = World({"t": Value(0.0)})
    by_n = World({"t": Value(1.0)}, reads={"n": {"m": low}})
    world = World({"t": Value(0.0)}, reads={"y": {"n": by_n, "m": low}})
    np.testing.assert_allclose(means(rows, samples, world, "y"), expected(rows, samples, world, "y"), atol=1e-9)
    assert moved_nodes(response.model.graph, [world], "y") == ("m", "n", "y")


def test_nothing_set_leaves_every_normal_row_as_it_is():
    _, rows, samples = drawn("curves")
    found = means(rows, samples, AS_IT_IS, "y")
    np.testing.assert_array_equal(found, np.repeat(rows.rows.values["y"][:, None], SIZE, axis=1))
    np.testing.assert_allclose(means(rows, samples, World({"t": Stays()}), "y"), found, atol=1e-12)


@pytest.mark.parametrize("case", ["yes/no in between", "yes/no outcome", "count"])
def test_rows_that_keep_their_levels_are_as_they_are_where_nothing_changes(case):
    response, rows, samples = drawn(case)
    found = means(rows, samples, World({"t": Stays()}), response.outcome, keeps=True)
    own = np.repeat(rows.rows.values[response.outcome][:, None], SIZE, axis=1)
    np.testing.assert_allclose(found, own, atol=1e-9)


def test_values_that_are_drawn_are_on_average_summed_over():
    _, rows, samples = drawn("yes/no in between")
    world = World({"t": Value(1.0)})
    summed, one = Worlds(rows, samples, slice(0, SIZE)), np.zeros(SIZE)
    for seed in range(40):
        uniforms = {name: np.random.default_rng([seed, i]).random(rows.count) for i, name in enumerate(samples)}
        push = Worlds(replace(rows, uniforms=uniforms), samples, slice(0, SIZE))
        one += push.mean(world, "y", drawn=True).mean(axis=0) / 40
        values = push.value(world, "n")
        assert set(np.unique(values)) <= {0.0, 1.0}
    np.testing.assert_allclose(one, summed.mean(world, "y").mean(axis=0), atol=0.05)
