"""The short way to a mean effect gives what the library's results give."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags.engines import resolve
from alldags.experiments.estimate import array_moments, mean_effect, path_nodes

PRIORS = {"paper": ad.Prior.paper(), "default": ad.Prior()}


def test_only_nodes_on_paths():
    graph = ad.datasets.paper_graph(2, 2)
    assert path_nodes(graph, "X", "Y") == ("Z1", "Z2", "Y")
    assert path_nodes(graph, "W1", "Z2") == ("X", "Z2")
    assert path_nodes(graph, "Y", "X") == ()


def test_no_path_is_no_effect(rng):
    sample = ad.datasets.paper_sample(ad.datasets.paper_graph(1, 1), 10, rng)
    moments = array_moments(sample.table, sample.names)
    assert mean_effect(moments, sample.graph, ad.Prior.paper(), resolve("full"), rng, "Y", "X") == 0.0


def test_moments_are_those_of_the_table(rng):
    table = rng.standard_normal((20, 3)) + 5
    found, expected = array_moments(table, "abc"), ad.Moments.from_table(table, names=list("abc"))
    assert (found.n, found.names) == (expected.n, expected.names)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("engine", ["exact", "k2", "full"])
@pytest.mark.parametrize("ends", [("X", "Y"), ("W1", "Y"), ("Z1", "Y")])
def test_equals_fit(rng, prior, engine, ends):
    sample = ad.datasets.paper_sample(ad.datasets.paper_graph(2, 2, direct=True), 30, rng)
    table = sample.table * [1, 10, 0.5, 3, 2, 7] + 4  # units must come out right
    moments = array_moments(table, sample.names)
    short = mean_effect(moments, sample.graph, PRIORS[prior], resolve(engine), rng, *ends)
    long = ad.fit(moments, sample.graph, prior=PRIORS[prior], engine=engine, rng=0).effect(*ends).mean
    assert short == pytest.approx(long, rel=1e-9, abs=1e-12)
