"""A quick slice of `calibration.ranks`: truths from the prior rank uniformly, intervals hold, probabilities come true.

A published neighbour of this package had intervals 3.8 times too wide because its tests looked only at means.
"""

from __future__ import annotations

import numpy as np
import pytest
from calibration.cases import CERTAIN, FLAT, NAMES, ROWS, SMALL
from calibration.worlds import acyclic, draw_world
from scipy import stats

import alldags as ad
from alldags.effects.direct import edge_draws
from calibration import keep, ranks, verdicts

ONE_IN = 1e-3  # false alarms of each test
QUICK = (0, 3)  # known noise; flat intercept and noise with a learned slab


@pytest.fixture(scope="module", params=QUICK, ids=lambda place: ROWS[place].key)
def found(request, calibrate_scale):
    return [ranks.run((request.param, 1_000_000 + seed))[0] for seed in range(120 * calibrate_scale)]


@pytest.mark.parametrize("quantity", verdicts.RANKED)
def test_ranks_of_the_truth_are_uniform(found, quantity):
    assert verdicts.rank_p(verdicts.column(found, quantity)) > ONE_IN


@pytest.mark.parametrize(("quantity", "event"), verdicts.FORECAST.items())
def test_probabilities_come_true(found, quantity, event):
    assert verdicts.forecast_p(verdicts.column(found, quantity), verdicts.column(found, event).astype(bool)) > ONE_IN


@pytest.mark.parametrize("quantity", verdicts.RANKED)
@pytest.mark.parametrize("level", ranks.LEVELS)
def test_intervals_hold(found, quantity, level):
    """An interval with an end at the atom at zero holds more often than it says, never less; without atom, exactly."""
    inside = verdicts.column(found, f"{quantity}_within") <= level
    atom = "less" if quantity != "unit" else "two-sided"
    assert stats.binomtest(int(inside.sum()), len(inside), level / 100, alternative=atom).pvalue > ONE_IN


# -- a wrong posterior is seen ---------------------------------------------------------------------------------------

EDGES = (("a", "b"), ("b", "c"), ("c", "d"))  # of different children, so that their ranks are independent


def coefficients(seed: int) -> list[tuple[float, np.ndarray]]:
    """Return true coefficients of a known graph, with draws from their posterior."""
    first, second = np.random.default_rng([7, seed]).spawn(2)
    world = draw_world(CERTAIN, FLAT, 20, first)
    posterior = ad.fit(world.rows, CERTAIN, names=NAMES, prior=FLAT, engine="exact", rng=seed)
    (model,) = posterior._models.items
    out = []
    for edge in EDGES:
        truth = world.coefficients[NAMES.index(edge[0]), NAMES.index(edge[1])]
        out.append((truth, edge_draws(model, edge, 199, second) * posterior._data.unit(*edge)))
    return out


@pytest.fixture(scope="module")
def known_graph():
    return [pair for seed in range(500) for pair in coefficients(seed)]


def p_value(pairs, change):
    rng = np.random.default_rng(1)
    return verdicts.rank_p(np.array([ranks.rank_of(truth, change(draws), rng) for truth, draws in pairs]))


def stretched(factor):
    return lambda draws: draws.mean() + np.sqrt(factor) * (draws - draws.mean())


def test_the_posterior_as_it_is_passes(known_graph):
    assert p_value(known_graph, stretched(1.0)) > ONE_IN


@pytest.mark.parametrize(
    "change",
    [stretched(1.3), stretched(1 / 1.3), lambda draws: draws + 0.2 * draws.std(), lambda draws: 0.9 * draws],
    ids=["variance 1.3 times", "variance over 1.3", "shifted by a fifth of an sd", "shrunk by a tenth"],
)
def test_a_posterior_that_is_off_fails(known_graph, change):
    assert p_value(known_graph, change) < ONE_IN


def test_forecasts_that_are_off_fail():
    rng = np.random.default_rng(3)
    chance = rng.beta(0.5, 0.5, 1000)
    assert verdicts.forecast_p(chance, rng.random(1000) < chance) > ONE_IN
    too_sure = chance**2 / (chance**2 + (1 - chance) ** 2)
    assert verdicts.forecast_p(too_sure, rng.random(1000) < chance) < ONE_IN


# -- the tools -------------------------------------------------------------------------------------------------------


def test_ties_with_the_atom_are_broken_evenly():
    rng = np.random.default_rng(0)
    draws = np.concatenate([np.full(60, -1.0), np.zeros(139)])
    found = np.array([ranks.rank_of(0.0, draws, rng) for _ in range(2000)])
    assert found.min() >= 60 / 200
    assert stats.kstest((found - 0.3) / 0.7, "uniform").pvalue > ONE_IN


def test_smallest_interval_that_holds():
    ends = [(-1.0, 1.0), (-2.0, 2.0), (-3.0, 3.0)]
    assert [ranks.within(value, ends) for value in (0.0, 1.0, -1.5, 2.5, 4.0)] == [50, 50, 80, 95, 100]


def test_records_are_kept_and_a_run_goes_on(tmp_path):
    path = tmp_path / "ranks.csv"
    asked = []

    def job(task):
        asked.append(task)
        return ranks.run(task)

    tasks = {(ROWS[0].key, seed): (0, seed) for seed in range(4)}
    first = keep.run(path, ranks.Rank, job, dict(list(tasks.items())[:2]))
    every = keep.run(path, ranks.Rank, job, tasks)
    assert asked == [(0, seed) for seed in range(4)]
    assert [item.seed for item in every] == [0, 1, 2, 3]
    assert every[:2] == first  # all digits are kept
    assert verdicts.ranks_table(every).count("\n") == 2


def test_worlds_follow_the_stated_probabilities():
    rng = np.random.default_rng(2)
    present = np.mean([draw_world(SMALL, FLAT, 5, rng).present for _ in range(2000)], axis=0)
    np.testing.assert_allclose(present, SMALL.to_matrix(), atol=4 * np.sqrt(0.25 / 2000))


def test_all_acyclic_graphs_are_weighed():
    graphs, weights = acyclic(ad.CandidateGraph.unordered(("a", "b", "c"), 0.5))
    assert len(graphs) == 25
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ graphs[:, 0, 1] == pytest.approx(0.25)  # either direction has half of the stated probability
