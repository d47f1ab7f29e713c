"""Each child has its own rows; the units are common to all."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.effects.outcome import outcome_distribution
from alldags.engines import resolve
from alldags.models.components import fitted_mixture
from alldags.models.store import NodeStore
from alldags.nodes.build import node_problem
from alldags.nodes.data import working_data

NAMES = ("x", "m", "y")
GRAPH = ad.CandidateGraph.from_order(NAMES, 1.0)
PRIOR = ad.Prior(slab_variance=100.0, units="raw")


def rows_of_two_kinds(rng: np.random.Generator, half: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return observed rows, and rows in which m was set to 5 by chance or not at all."""
    x = rng.normal(size=2 * half) + 3.0
    m = 1.0 + 0.5 * x + rng.normal(size=2 * half)
    m[half:] = rng.normal(size=half) + 9.0
    y = 2.0 - 1.0 * m + 0.25 * x + rng.normal(size=2 * half)
    table = np.column_stack([x, m, y])
    return table[:half], table[half:]


def moments(table: np.ndarray) -> ad.Moments:
    return ad.Moments.from_table(table, names=NAMES)


def test_a_child_with_rows_of_its_own_is_regressed_on_these(rng):
    observed, moved = rows_of_two_kinds(rng)
    every = np.concatenate([observed, moved])
    data = working_data(moments(every), ad.Prior(), NAMES, own={"m": moments(observed)})
    own, pooled = node_problem(data, GRAPH, ad.Prior(), "m"), node_problem(data, GRAPH, ad.Prior(), "y")
    scale = every.std(axis=0, ddof=1)  # the units come from all rows
    centred = observed - observed.mean(axis=0)
    assert (own.rows, own.n, pooled.rows) == (300, 299, 600)
    assert own.cross[0] == pytest.approx(centred[:, 0] @ centred[:, 1] / scale[0] / scale[1])
    assert own.origin.child == pytest.approx(observed[:, 1].mean() / scale[1])
    assert own.origin.terms[0] == pytest.approx(observed[:, 0].mean() / scale[0])
    assert pooled.origin.child == pytest.approx(every[:, 2].mean() / scale[2])


def test_an_intervention_uses_each_nodes_own_intercept(rng):
    observed, moved = rows_of_two_kinds(rng, 3000)
    data = working_data(
        moments(np.concatenate([observed, moved])), PRIOR, NAMES, own={"m": moments(observed), "x": moments(observed)}
    )
    store = NodeStore(resolve("exact"), resolve("exact"), np.random.SeedSequence(0), NAMES)
    models = fitted_mixture([GRAPH], [1.0], PRIOR, data, store)
    found = outcome_distribution(models, "x", "y", 2.0, 4000, np.random.default_rng(0))
    truth = 2.0 - (1.0 + 0.5 * 2.0) + 0.25 * 2.0
    assert found.mean == pytest.approx(truth, abs=0.1)
    assert found.sd == pytest.approx(np.sqrt(2.0), abs=0.05)
    assert found.centers.mean() == pytest.approx(found.mean, abs=0.01)
    assert np.sqrt(np.mean(found.spreads**2) + found.centers.var()) == pytest.approx(found.sd, rel=0.01)
    pooled = working_data(moments(np.concatenate([observed, moved])), PRIOR, NAMES)
    wrong = fitted_mixture(
        [GRAPH], [1.0], PRIOR, pooled, NodeStore(store.engine, store.engine, np.random.SeedSequence(0), NAMES)
    )
    assert abs(outcome_distribution(wrong, "x", "y", 2.0, 10, np.random.default_rng(0)).mean - truth) > 1.0


def test_moments_of_an_intervention_are_those_of_simulated_units(rng):
    observed, moved = rows_of_two_kinds(rng, 20)
    data = working_data(moments(np.concatenate([observed, moved])), PRIOR, NAMES, own={"m": moments(observed)})
    graph = ad.CandidateGraph.from_order(NAMES, 0.5)
    store = NodeStore(resolve("exact"), resolve("exact"), np.random.SeedSequence(0), NAMES)
    found = outcome_distribution(
        fitted_mixture([graph], [1.0], PRIOR, data, store), "x", "y", 6.0, 200_000, np.random.default_rng(0)
    )
    variance = np.mean(found.spreads**2) + found.centers.var()
    assert found.centers.mean() == pytest.approx(found.mean, abs=5 * found.sd / np.sqrt(200_000))
    assert np.sqrt(variance) == pytest.approx(found.sd, rel=0.02)
