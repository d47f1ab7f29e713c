"""An edge after the data, and kept as a confounder: two columns, each equal to a fit of its own."""

from __future__ import annotations

import pytest

import alldags as ad
from alldags.results.report import effect_report
from alldags.show.report.clip import clipped
from alldags.show.report.page import report_html
from alldags.show.report.texts import edge_label
from lines import fit

STUDY = ad.datasets.example()


@pytest.fixture(scope="module")
def posterior():
    return fit(STUDY.table, STUDY.graph, rng=0)


@pytest.fixture(scope="module")
def effect(posterior):
    return posterior.effect("smoking", "risk")


def by_edge(table, name):
    return dict(zip(zip(table["cause"], table["effect"], strict=True), table[name], strict=True))


def test_after_the_data_is_what_a_fit_without_the_link_says(effect, posterior):
    plain = fit(STUDY.table, STUDY.graph, prior=ad.Prior(link=0.0), rng=0)
    expected = by_edge(plain.edge_probabilities(), "posterior")
    influence, edges = effect.edge_influence(), posterior.edge_probabilities(treatment="smoking")
    for edge, found in by_edge(influence, "posterior").items():
        assert found == pytest.approx(expected[edge], rel=1e-9)
        assert by_edge(edges, "posterior")[edge] == pytest.approx(expected[edge], rel=1e-9)
    assert by_edge(influence, "posterior")["age", "tar"] < 0.01


def test_kept_as_a_confounder_is_what_the_effect_is_averaged_with(effect, posterior):
    influence = effect.edge_influence()
    for row in influence.rows():
        kept = row["kept_as_confounder"]
        blend = kept * row["effect_if_present"] + (1 - kept) * row["effect_if_absent"]
        assert blend == pytest.approx(effect.mean, rel=1e-6)
    edges = by_edge(posterior.edge_probabilities(treatment="smoking"), "kept_as_confounder")
    for edge, kept in by_edge(influence, "kept_as_confounder").items():
        assert edges[edge] == pytest.approx(kept, rel=1e-9)
    assert edges["age", "tar"] > 0.99


def test_without_a_link_there_is_one_column(posterior):
    plain = fit(STUDY.table, STUDY.graph, prior=ad.Prior(link=0.0), rng=0)
    assert "kept_as_confounder" not in plain.effect("smoking", "risk").edge_influence().columns
    assert "kept_as_confounder" not in plain.edge_probabilities(treatment="smoking").columns
    assert "kept_as_confounder" not in posterior.edge_probabilities().columns
    with pytest.raises(ad.AlldagsError, match="the treatment 'smokin' is not in the graph; did you mean 'smoking'"):
        posterior.edge_probabilities(treatment="smokin")


def test_effects_by_draws_have_both_columns():
    table = {**STUDY.table, "risk": (STUDY.table["risk"] > STUDY.table["risk"].mean()) * 1.0}
    row = next(fit(table, STUDY.graph, rng=0).effect("smoking", "risk").edge_influence().rows())
    assert 0.0 <= row["posterior"] <= 1.0
    assert 0.0 <= row["kept_as_confounder"] <= 1.0


def test_report_and_page_draw_by_the_data_and_say_both(effect):
    report = effect_report(effect, checks=False)
    (edge,) = (edge for edge in report.edges if edge.pair == ("age", "tar"))
    assert clipped(report).edges["age", "tar"] == edge.posterior < 0.01
    assert edge.kept > 0.99
    assert "10% before the data, 1% after, kept as a confounder >99%" in edge_label(edge, report.summary)
    page = report_html(report)
    assert ">after the data</th>" in page
    assert ">kept as a confounder</th>" in page


def test_the_graph_comes_before_the_numbers_which_are_folded(effect):
    page = report_html(effect_report(effect, checks=False))
    places = [page.index(mark) for mark in ('<section id="answer"', '<section id="graph"', '<section id="numbers"')]
    assert places == sorted(places)
    assert page.index("<summary>All numbers</summary>") < page.index(">P(effect &gt; 0)</th>")
