"""A category outside a block of unknown order that may act on its members: all its columns or none."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import alldags as ad
from alldags.errors import AlldagsError
from alldags.nodes import NodeProblem
from lines import fit
from naive.sets import one_set
from naive.units import columns_of

NO_LINK = ad.Prior(link=0.0)
GRAPH = ad.CandidateGraph.from_tiers([["age", "site"], ["x", "z"]], 0.4, within=[None, 0.5])


def table(seed=0, rows=60):
    """Return a table in which the site acts on both members of the block; few rows, so that much is open."""
    rng = np.random.default_rng(seed)
    site, age = rng.choice(["u", "v", "w"], rows, p=[0.5, 0.3, 0.2]), rng.standard_normal(rows)
    shift = np.array([{"u": 0.0, "v": 0.8, "w": -0.6}[one] for one in site])
    x = 0.6 * shift + 0.3 * age + rng.standard_normal(rows)
    return {"age": age, "site": site, "x": x, "z": 0.4 * x + 0.4 * shift + rng.standard_normal(rows)}


def parts(columns, child, causes, settings):
    """Return log evidence, mean and second moment over columns, of every set of causes."""
    pieces = [columns_of(columns[name]) for name in causes]
    owner = np.repeat(np.arange(len(causes)), [piece.shape[1] for piece in pieces])
    design, y = np.hstack(pieces), columns_of(columns[child])[:, 0]
    problem = NodeProblem(
        child=child, terms=tuple(f"c{i}" for i in range(len(owner))), gram=design.T @ design, cross=design.T @ y,
        total=float(y @ y), n=float(len(y) - 1), probability=np.ones(len(owner)), settings=tuple(settings),
    )  # fmt: skip
    masks = itertools.product([False, True], repeat=len(causes))
    return {mask: one_set(problem, settings[0], np.array(mask)[owner]) for mask in masks}


def every_graph(columns, settings):
    """Return the probability of each edge, and mean and standard deviation of the effect of x on z."""
    of_x, of_z = (parts(columns, a, ("age", "site", b), settings) for a, b in (("x", "z"), ("z", "x")))
    total, first, second, edges = 0.0, 0.0, 0.0, dict.fromkeys([*GRAPH.edges], 0.0)
    inside = {(False, False): 0.5, (True, False): 0.25, (False, True): 0.25}  # z -> x, x -> z
    for (back, forth), prior in inside.items():
        for outer in itertools.product([False, True], repeat=4):
            chance = prior * np.prod([0.4 if there else 0.6 for there in outer])
            one, other = of_x[*outer[:2], back], of_z[*outer[2:], forth]
            weight = chance * np.exp(one.log_weight + other.log_weight + 150.0)
            total += weight
            first += weight * other.mean[-1]
            second += weight * (other.covariance[-1, -1] + other.mean[-1] ** 2)
            present = (("age", "x"), outer[0]), (("site", "x"), outer[1]), (("age", "z"), outer[2])
            for edge, there in (*present, (("site", "z"), outer[3]), (("z", "x"), back), (("x", "z"), forth)):
                edges[edge] += weight * there
    mean = first / total
    return {edge: value / total for edge, value in edges.items()}, mean, np.sqrt(second / total - mean**2)


@pytest.mark.parametrize("seed", range(3))
def test_edges_and_effects_are_those_of_a_sum_over_all_graphs(seed):
    columns = table(seed)
    posterior = fit(columns, GRAPH, rng=0, prior=NO_LINK)
    settings = posterior.workings.models.items[0].order_block("x").problem.nodes[0].settings
    edges, mean, sd = every_graph(columns, settings)
    found = posterior.edge_probabilities()
    for cause, effect, p in zip(found["cause"], found["effect"], found["posterior"], strict=True):
        assert p == pytest.approx(edges[cause, effect], rel=1e-8), (cause, effect)
    effect = posterior.effect("x", "z")
    unit = columns["z"].std(ddof=1) / columns["x"].std(ddof=1)
    assert effect.mean == pytest.approx(unit * mean, rel=1e-8)
    assert effect.sd == pytest.approx(unit * sd, rel=1e-8)
    assert effect.probability_no_effect == pytest.approx(1.0 - edges["x", "z"], rel=1e-8)


def test_draws_have_all_columns_or_none_and_the_shares_of_the_sums():
    posterior = fit(table(1), GRAPH, rng=0, prior=NO_LINK)
    block = posterior.workings.models.items[0].order_block("x")
    drawn = block.posterior.draw(20_000, np.random.default_rng(1)).coefficients
    place = block.problem.place
    for j in range(2):
        levels = drawn[:, [place["site: v"], place["site: w"]], j] != 0.0
        assert (levels[:, 0] == levels[:, 1]).all()
        assert levels[:, 0].mean() == pytest.approx(block.posterior.inclusion[place["site: v"], j], abs=0.015)
    np.testing.assert_allclose(drawn.mean(axis=0), block.posterior.mean, atol=0.01)


def test_sampled_orders_agree_with_the_sum():
    columns = table(2, 200)
    exact, sampled = (fit(columns, GRAPH, rng=0, prior=NO_LINK, engine=name) for name in ("exact", "mcmc"))
    np.testing.assert_allclose(
        sampled.edge_probabilities()["posterior"], exact.edge_probabilities()["posterior"], atol=0.03
    )
    one, other = exact.effect("x", "z"), sampled.effect("x", "z")
    assert other.mean == pytest.approx(one.mean, abs=0.1 * one.sd)
    assert other.sd == pytest.approx(one.sd, rel=0.1)


def test_the_reference_makes_no_difference_and_directions_still_tie():
    columns, found = table(0), []
    for order in (["u", "v", "w"], ["w", "u", "v"]):
        turned = pd.DataFrame(columns).assign(site=pd.Categorical(columns["site"], categories=order))
        found.append(fit(turned, GRAPH, rng=0, prior=NO_LINK).edge_probabilities()["posterior"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    certain = ad.CandidateGraph.from_edges({("site", "x"): 1.0, ("site", "z"): 1.0, ("x", "z"): 0.3, ("z", "x"): 0.3})
    tied = fit({name: columns[name] for name in ("site", "x", "z")}, certain, rng=0, prior=NO_LINK)
    chances = {(row["cause"], row["effect"]): row["posterior"] for row in tied.edge_probabilities().rows()}
    assert chances["x", "z"] == pytest.approx(chances["z", "x"], rel=1e-9)


def test_tables_influence_and_graphs_name_the_category():
    columns = table(0) | {"y": np.random.default_rng(5).standard_normal(60)}
    graph = ad.CandidateGraph.from_tiers([["age", "site"], ["x", "z"], ["y"]], 0.4, within=[None, 0.5, None])
    posterior = fit(columns, graph, rng=0)
    effect = posterior.effect("x", "y")
    assert ("site", "x") in {(row["cause"], row["effect"]) for row in effect.edge_influence().rows()}
    assert all(":" not in name for item in posterior.top_graphs(5) for edge in item.edges for name in edge)
    assert float(effect.do(1.0).mean) == pytest.approx(float(effect.do(0.0).mean) + effect.mean, rel=1e-9)
    with pytest.raises(AlldagsError, match=r"a new unit's outcome with a category and an open order.*ask for do\(x\)"):
        effect.do(1.0).new_unit  # noqa: B018
    with pytest.raises(AlldagsError, match="'site' is a category and acts through variables whose order is open"):
        posterior.effect("site", "y")


def test_a_category_inside_a_block_is_refused():
    graph = ad.CandidateGraph.from_tiers([["age"], ["x", "site"]], within=[None, 0.5])
    with pytest.raises(
        AlldagsError, match="the category 'site', whose place in the order is open, and open directions"
    ):
        fit(table(), graph, rng=0)
