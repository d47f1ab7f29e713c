"""The simulator draws from the model of the paper's section 5.1."""

from __future__ import annotations

import math

import numpy as np
import pytest

import alldags as ad


def test_edges_are_those_of_figure_2():
    graph = ad.datasets.paper_graph(1, 2)
    expected = {
        ("W1", "X"),
        ("W1", "Y"),
        ("W1", "Z1"),
        ("W1", "Z2"),
        ("X", "Z1"),
        ("X", "Z2"),
        ("Z1", "Y"),
        ("Z2", "Y"),
    }
    assert set(graph.edges) == expected
    assert set(graph.edges.values()) == {0.5}
    assert graph.variables == ("W1", "X", "Z1", "Z2", "Y")


def test_direct_edge_only_when_asked():
    assert ("X", "Y") not in ad.datasets.paper_graph(2, 2).edges
    assert ad.datasets.paper_graph(2, 2, direct=True, probability=0.3).edges["X", "Y"] == 0.3


@pytest.mark.parametrize(("n1", "n2", "edges"), [(2, 2, 12), (30, 30, 1020), (0, 1, 2)])
def test_number_of_candidates(n1, n2, edges):
    assert len(ad.datasets.paper_graph(n1, n2).edges) == edges == 2 * n1 + n1 * n2 + 2 * n2


def test_rows_do_not_depend_on_the_number_of_rows():
    graph = ad.datasets.paper_graph(2, 2)
    long, short = ad.datasets.paper_sample(graph, 50, 7), ad.datasets.paper_sample(graph, 20, 7)
    np.testing.assert_allclose(long.table[:20], short.table, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(long.coefficients, short.coefficients)


def test_effect_is_the_sum_over_paths(rng):
    sample = ad.datasets.paper_sample(ad.datasets.paper_graph(2, 3, direct=True, probability=0.9), 1, rng)
    b = {
        (i, j): sample.coefficients[sample.names.index(i), sample.names.index(j)]
        for i in sample.names
        for j in sample.names
    }
    by_hand = b["X", "Y"] + sum(b["X", f"Z{k}"] * b[f"Z{k}", "Y"] for k in (1, 2, 3))
    assert sample.effect() == pytest.approx(by_hand, rel=1e-12)
    assert sample.effect("Y", "X") == 0.0


def test_edges_coefficients_and_noise_have_the_stated_distributions():
    graph = ad.datasets.paper_graph(10, 10, probability=0.3)
    draws = [ad.datasets.paper_sample(graph, 40, seed, slab_variance=2.0, noise_precision=4.0) for seed in range(40)]
    present = np.concatenate([d.coefficients[graph.to_matrix() > 0] for d in draws])
    share = np.mean(present != 0)
    assert share == pytest.approx(0.3, abs=4 * math.sqrt(0.3 * 0.7 / len(present)))
    values = present[present != 0]
    assert np.mean(values**2) == pytest.approx(2.0, abs=4 * 2.0 * math.sqrt(2 / len(values)))
    noise = np.concatenate([(d.table - d.table @ d.coefficients).ravel() for d in draws])
    assert np.mean(noise**2) == pytest.approx(0.25, abs=4 * 0.25 * math.sqrt(2 / len(noise)))
    assert all((d.coefficients[graph.to_matrix() == 0] == 0).all() for d in draws)


def test_columns_are_named():
    sample = ad.datasets.paper_sample(ad.datasets.paper_graph(1, 1), 5, 0)
    assert list(sample.columns()) == ["W1", "X", "Z1", "Y"]
    np.testing.assert_array_equal(sample.columns()["Z1"], sample.table[:, 2])


def test_mistakes_are_named():
    with pytest.raises(ad.AlldagsError, match="n1 must be zero or a positive"):
        ad.datasets.paper_graph(-1, 2)
    graph = ad.datasets.paper_graph(1, 1)
    with pytest.raises(ad.AlldagsError, match="n must be zero or a positive number of rows, got -3"):
        ad.datasets.paper_sample(graph, -3)
    with pytest.raises(ad.AlldagsError, match="slab_variance must be a positive finite number, got 0"):
        ad.datasets.paper_sample(graph, 3, slab_variance=0)
    with pytest.raises(ad.AlldagsError, match="noise_precision must be a positive finite number, got inf"):
        ad.datasets.paper_sample(graph, 3, noise_precision=math.inf)
    with pytest.raises(AttributeError, match="has no attribute 'paper_grpah'"):
        _ = ad.datasets.paper_grpah
