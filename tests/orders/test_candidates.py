"""Which mates get a place in a table, and what is said of those that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alldags.orders.candidates import Candidates, choose, grow, look_at_excluded
from alldags.orders.exact import ExactOrder
from alldags.orders.partition import Partition
from block_problems import block_problem, even_odds, linear_data


def test_all_mates_are_kept_where_there_is_room(rng):
    scatter, n = linear_data(rng, 6, 100)
    found = choose(block_problem(scatter, n, even_odds(6), 6), 5)
    assert np.array_equal(found.kept, ~np.eye(6, dtype=bool))
    assert not found.excluded.any()


def test_certain_causes_always_have_a_place(rng):
    scatter, n = linear_data(rng, 10, 100)
    odds = even_odds(10)
    odds[4:9, 0] = math.inf
    odds[0, 4:9] = 0.0
    found = choose(block_problem(scatter, n, odds, 10), 3)
    assert found.kept[4:9, 0].all()
    assert found.kept[:, 0].sum() == 5
    assert (found.kept[:, 1:].sum(axis=0) <= 3).all()
    assert not (found.kept & ~found.possible).any()


def test_strong_causes_have_a_place(rng):
    x = rng.normal(size=(300, 12))
    x[:, 0] += x[:, 3] - x[:, 7]
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    found = choose(block_problem(x.T @ x, 299, even_odds(12), 12), 4)
    assert found.kept[[3, 7], 0].all()
    assert found.kept[0, [3, 7]].all()


def test_what_is_left_out_is_estimated_from_draws(rng):
    scatter, n = linear_data(rng, 6, 60)
    problem = block_problem(scatter, n, even_odds(6), 6)
    exact = ExactOrder()(problem, rng)
    possible = ~np.eye(6, dtype=bool)
    kept = possible.copy()
    kept[4, 2] = kept[1, 5] = False  # two edges without a place
    fewer = even_odds(6) * kept
    present = ExactOrder()(block_problem(scatter, n, fewer, 6), rng).draw(4000, rng).coefficients != 0.0
    found = look_at_excluded(problem, Candidates(kept, possible), present)
    for edge in ((4, 2), (1, 5)):
        assert found.probability[edge] == pytest.approx(exact.inclusion[edge], abs=0.03)
        assert found.mean[edge] == pytest.approx(exact.mean[edge], abs=0.02)
    assert (found.probability[kept] == 0).all()


def test_mates_change_places_with_those_that_matter_less():
    possible = ~np.eye(4, dtype=bool)
    kept = possible.copy()
    kept[3, 0] = kept[3, 1] = False
    inclusion = np.where(kept, 0.5, 0.0)
    inclusion[1, 0], inclusion[0, 1], inclusion[2, 1] = 0.05, math.inf, 0.02
    excluded = np.zeros((4, 4))
    excluded[3, 0], excluded[3, 1] = 0.3, 0.01
    found = grow(Candidates(kept, possible), inclusion, excluded, 0.02)
    assert found.kept[3, 0]
    assert not found.kept[1, 0]
    assert np.array_equal(found.kept[:, 1:], kept[:, 1:])  # below the least: stays out
    assert found.kept[0, 1]


def test_few_places_still_find_the_effects(rng):
    scatter, n = linear_data(rng, 9, 200)
    problem = block_problem(scatter, n, even_odds(9), 9)
    exact = ExactOrder()(problem, rng)
    block = Partition(places=5)(problem, rng)
    found = block.diagnostics
    assert found.edges_left_out > 0
    assert found.left_out < 0.03
    assert np.abs(block.effects - exact.effects).max() < 0.06


def test_too_few_places_are_said_to_be_too_few(rng):
    x = rng.normal(size=(400, 7))
    x[:, 0] += x[:, 1:].sum(axis=1)
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    block = Partition(places=2, sweeps=100, max_sweeps=200)(block_problem(x.T @ x, 399, even_odds(7), 7), rng)
    assert not block.diagnostics.converged
    assert any("have no room for" in text for text in block.diagnostics.warnings)
