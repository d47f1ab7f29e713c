"""With the default prior, units and origins of columns change an effect exactly as they should, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alldags as ad
from lines import fit
from problems import random_world

scales = st.floats(-4, 4).map(lambda power: 10.0**power)
origins = st.floats(-1e4, 1e4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 50), unit=st.tuples(*[scales] * 5), origin=st.tuples(*[origins] * 5), flip=st.booleans())
def test_units_and_origins(seed, unit, origin, flip):
    world = random_world(seed, ad.Prior())
    factor = np.array(unit) * (-1.0 if flip else 1.0) ** np.arange(5)
    moved = world.rows * factor + np.array(origin) * np.abs(factor)
    first = world.fit()
    second = fit(moved, world.graph, names=world.names, rng=1, engine="exact", robust=False)
    change = factor[None, :] / factor[:, None]
    np.testing.assert_allclose(second.effects().values / change, first.effects().values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        second.effects_sd().values / abs(change), first.effects_sd().values, rtol=1e-6, atol=1e-9
    )
    old, new = first.edge_probabilities(), second.edge_probabilities()
    assert new["posterior"] == pytest.approx(old["posterior"], rel=1e-6, abs=1e-9)
    a, b = first.effect("a", "e"), second.effect("a", "e")
    assert b.probability_no_effect == pytest.approx(a.probability_no_effect, rel=1e-6, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 50), order=st.permutations(range(5)))
def test_order_of_columns_and_variables_does_not_matter(seed, order):
    world = random_world(seed, ad.Prior())
    names = [world.names[i] for i in order]
    graph = ad.CandidateGraph.from_edges(dict(world.graph.edges), variables=names)
    moved = fit(world.rows[:, order], graph, names=names, engine="exact", robust=False).effect("a", "e")
    effect = world.fit().effect("a", "e")
    assert moved.mean == pytest.approx(effect.mean, rel=1e-9, abs=1e-12)
    assert moved.sd == pytest.approx(effect.sd, rel=1e-7, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 50))
def test_certain_and_excluded_edges_are_limits(seed):
    """Without link: that raises any edge that is a candidate, however improbable, and never one that is not."""
    world = random_world(seed, ad.Prior())
    cause, effect = next(iter(world.graph.edges))
    for limit, near in ((1.0, 1 - 1e-15), (0.0, 1e-90)):
        exact, close = (
            fit(world.rows, world.graph.with_edge(cause, effect, p), names=world.names, engine="exact", robust=False)
            .effects(link=0.0)
            .values
            for p in (limit, near)
        )
        np.testing.assert_allclose(close, exact, rtol=1e-9, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 50), estimate=st.floats(-5, 5))
def test_mean_minimises_expected_loss(seed, estimate):
    effect = random_world(seed, ad.Prior()).fit().effect("a", "e")
    assert effect.uncertainty.expected_loss(estimate) >= effect.uncertainty.expected_loss(effect.mean) - 1e-12
    assert effect.uncertainty.expected_loss(effect.mean) == pytest.approx(effect.sd**2)
