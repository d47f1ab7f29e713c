"""The table of variants: each row is what a fit with that prior would say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import alldags as ad
from lines import fit


@pytest.fixture(scope="module")
def study() -> ad.datasets.Study:
    return ad.datasets.example()


def test_rows_equal_fits_with_these_priors(study) -> None:
    table = fit(study.table, study.graph, rng=0).effect("smoking", "risk").checks.stability()
    odds = {edge: p / (1 - p) for edge, p in study.graph.edges.items()}
    rare = replace(study.graph, edges={edge: value / 3 / (1 + value / 3) for edge, value in odds.items()})
    fits = {
        "as fitted": (study.graph, ad.Prior()),
        "edge odds a third": (rare, ad.Prior()),
        "slab variance 10": (study.graph, ad.Prior(10.0)),
        "without the link": (study.graph, ad.Prior(link=0.0)),
    }
    found = dict(zip(table["variant"], zip(table["mean"], table["low"], table["high"], strict=True), strict=True))
    for name, (graph, prior) in fits.items():
        effect = fit(study.table, graph, prior=prior, rng=0).effect("smoking", "risk")
        assert found[name] == pytest.approx((effect.mean, *effect.interval()), rel=1e-9), name
    assert table.note == ""


def test_fixed_slabs_are_compared_with_a_learned_one(study) -> None:
    effect = fit(study.table, study.graph, prior=ad.Prior.v01(), rng=0).effect("smoking", "risk")
    names = effect.checks.stability()["variant"]
    assert "slab learned" in names
    assert "slab variance 1" not in names
    assert "without the link" not in names


def test_an_answer_that_turns_is_noted() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = 0.58 * x + rng.normal(size=60)
    effect = fit({"x": x, "y": y}, ad.CandidateGraph.from_order(["x", "y"], 0.8), rng=0).effect("x", "y")
    table = effect.checks.stability()
    assert min(table["low"]) <= 0.0 < max(table["low"])
    assert "whether the 95% interval holds zero depends on these choices" in table.note
    assert "note: whether the 95% interval" in str(table).replace("\n", " ")


def test_another_engine_is_among_the_choices(study) -> None:
    table = fit(study.table, study.graph, rng=0).effect("smoking", "risk").checks.stability()
    full = fit(study.table, study.graph, engine="full", rng=0).effect("smoking", "risk")
    assert table["variant"][-1] == "engine full: every edge"
    assert table["mean"][-1] == pytest.approx(full.mean, rel=1e-12)
    assert (table["low"][-1], table["high"][-1]) == pytest.approx(full.interval(0.95), abs=0.03 * full.sd)


def test_several_graphs_and_open_directions(study) -> None:
    two = fit(study.table, [study.graph, study.graph.without_edge("smoking", "risk")], rng=0)
    assert len(two.effect("smoking", "risk").checks.stability()) == 8
    graph = ad.CandidateGraph.from_tiers([["age"], ["smoking", "tar"], ["risk"]], within=[None, 0.5, None])
    table = fit(study.table, graph, rng=0).effect("smoking", "risk").checks.stability()
    assert not any("odds" in name for name in table["variant"])


def test_scale_mixtures_have_nothing_to_vary(study) -> None:
    effect = fit(study.table, study.graph, prior=ad.Prior(coefficients=ad.priors.Horseshoe(0.1)), engine="vb", rng=0)
    with pytest.raises(ad.AlldagsError, match="which scale mixtures do not have"):
        effect.effect("smoking", "risk").checks.stability()
