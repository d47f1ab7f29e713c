"""What people stumbled over when they tried the package for the first time."""

from __future__ import annotations

import numpy as np
import pytest

import alldags as ad
from alldags import cli
from alldags.errors import AlldagsError
from alldags.results.report import effect_report
from alldags.show.report.page import report_html
from alldags.show.report.record import EdgeFacts
from alldags.show.report.texts import edge_label, shape_words, spread_words, states
from lines import fit
from show.everything import everything

STUDY = ad.datasets.example()
GRAPH = ad.CandidateGraph.from_tiers([["a", "b"], ["x"], ["m"], ["y"]])


def rows(count=200, seed=0):
    rng = np.random.default_rng(seed)
    a, b, x, m, y = rng.standard_normal((5, count))
    x = x + 0.7 * a
    m = m + 0.5 * x - 0.3 * b
    return {"a": a, "b": b, "x": x, "m": m, "y": y + 0.4 * m + 0.3 * x + 0.5 * a}


@pytest.fixture(scope="module")
def open_effect():
    """An effect with a possible confounder, and a mediator, whose directions are open."""
    graph = GRAPH.with_pair("a", "x", 0.4, 0.4).with_pair("x", "m", 0.4, 0.4)
    return fit(rows(), graph, rng=0).effect("x", "y")


# -- open directions ---------------------------------------------------------------------------------------------------


def test_an_open_pair_is_what_to_study_next(open_effect):
    table = open_effect.edge_influence()
    first = next(table.rows())
    assert first["reversed"] > 0
    report = effect_report(open_effect)
    best = report.influences[0]
    assert best.pair == (first["cause"], first["effect"])
    assert best.removed == pytest.approx(first["variance_removed"], rel=1e-9)
    html = report_html(report)
    assert f"Knowing which of {best.cause} and {best.effect} acts on the other" in html
    assert "turned around" in html


def test_an_open_pair_that_is_certain_to_be_joined_still_bears():
    pair = EdgeFacts("a", "x", prior=0.5, posterior=0.6, present=1.0, turned=0.2, reverse=0.4)
    assert pair.bears
    assert pair.weight == pytest.approx(0.6 * 0.8)
    summary = fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk").summary()
    assert states(pair, summary) == "1.00 with it, 0.20 with it turned around"
    assert edge_label(pair, summary).endswith("turned around 40%; effect with it 1.00, with it turned around 0.20")


def test_a_possible_confounder_whose_direction_is_open_is_named(open_effect):
    text = " ".join(everything(open_effect).split())
    assert "a, m may come before x or after it: the average adjusts for them in the graphs in which they come" in text
    assert open_effect.to.dict()["either_side"] == ["a", "m"]
    assert fit(rows(), GRAPH, rng=0).effect("x", "y").summary().either_side == ()


# -- yes/no ------------------------------------------------------------------------------------------------------------


def test_a_report_on_a_risk_does_not_speak_of_straight_lines_and_noise():
    table = rows()
    table["y"] = (table["y"] > 0).astype(float)
    effect = fit(table, GRAPH, rng=0).effect("x", "y")
    html = report_html(effect_report(effect))
    assert "The answer holds if the log-odds of y and everything else on the way are straight lines" in html
    assert "The regression of y (log-odds) has no noise variance" in effect.to.sentence("methods")
    assert "Put the sliders back" not in html  # there are none
    assert "Had you stated another probability" not in html
    plain = fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")
    assert shape_words(plain.summary()) == "effects are straight lines with even noise around them"
    assert "Put the sliders back" in report_html(effect_report(plain))


def test_a_yes_no_treatment_alone_is_no_reason_for_a_note(tmp_path):
    table = rows()
    table["x"], table["m"] = (table["x"] > 0).astype(float), (table["m"] > 0).astype(float)
    posterior = fit(ad.Moments.from_table(table), GRAPH, rng=0)
    assert any("may be yes/no" in note for note in posterior.notes)
    assert any("may be yes/no" in note for note in posterior.effect("x", "y").notes)  # through m
    assert not any("may be yes/no" in note for note in posterior.effect("m", "y").notes)
    posterior.save(tmp_path / "fit.npz")
    assert ad.load(tmp_path / "fit.npz").effect("m", "y").notes == posterior.effect("m", "y").notes


def test_no_line_of_an_answer_is_wider_than_a_terminal():
    rng = np.random.default_rng(1)
    table = {"a": rng.standard_normal(3000), "t": rng.integers(0, 2, 3000).astype(float)}
    table["y"] = (rng.logistic(size=3000) < 2.5 + table["a"]).astype(float)
    graph = ad.CandidateGraph.from_edges({("a", "y"): 0.5, ("t", "y"): 0.5})
    assert max(map(len, str(fit(table, graph, rng=0).effect("t", "y")).splitlines())) <= 80


# -- imputation --------------------------------------------------------------------------------------------------------


def test_the_parts_of_the_variance_in_a_report_add_up_with_missing_values():
    table = rows(60)
    table["x"][::2] = np.nan
    effect = fit(table, GRAPH, rng=0, missing="impute", imputations=8).effect("x", "y")
    words = spread_words(effect.summary())
    shares = [int(word.rstrip("%")) for word in words.replace("<1%", "0%").split() if word.endswith("%")]
    assert "from not knowing the missing values" in words
    assert len(shares) == 3
    assert shares[1] == pytest.approx(100 * effect.uncertainty.missing_information, abs=1)
    assert sum(shares) == pytest.approx(100, abs=2)  # each is rounded


# -- tables ------------------------------------------------------------------------------------------------------------


def test_tables_can_be_given_to_data_frame_libraries():
    import pandas as pd
    import polars as pl

    table = fit(STUDY.table, STUDY.graph, rng=0).edge_probabilities()
    assert pd.DataFrame(table).equals(table.to_pandas())
    assert pl.DataFrame(list(table)).equals(table.to_polars())


def test_edge_tables_say_whether_the_link_is_in_them():
    posterior = fit(STUDY.table, STUDY.graph, rng=0)
    assert "each edge by itself" in posterior.edge_probabilities().note
    assert "kept_as_confounder: as used in the effect" in posterior.effect("smoking", "risk").edge_influence().note
    plain = fit(STUDY.table, STUDY.graph, prior=ad.Prior(link=0.0), rng=0)
    assert plain.edge_probabilities().note == plain.effect("smoking", "risk").edge_influence().note == ""


def test_the_grid_of_strengths_fits_a_terminal():
    text = fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk").sensitivity().text()
    assert max(map(len, text.splitlines())) <= 80


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_a_column_that_is_not_in_the_graph_is_said_to_be_one():
    posterior = fit(STUDY.table | {"tars": np.zeros(500)}, STUDY.graph, rng=0)
    with pytest.raises(AlldagsError, match="the outcome 'tars' is not in the graph, but it is a column of the table"):
        posterior.effect("smoking", "tars")
    with pytest.raises(AlldagsError, match="is not in the graph; did you mean 'smoking'"):
        posterior.effect("smokin", "risk")
    with pytest.raises(AlldagsError, match="'weight' is not in the graph; it has 'age', 'sex'"):
        posterior.effect("weight", "risk")


@pytest.mark.parametrize("name", ["r.pdf", "r.PNG", "r.docx"])
def test_a_report_is_a_file_of_html(tmp_path, name):
    posterior = fit(STUDY.table, STUDY.graph, rng=0)
    with pytest.raises(AlldagsError, match=r"a report is a file of HTML, .* call it report.html"):
        posterior.report(tmp_path / name, "smoking", "risk")
    assert list(tmp_path.iterdir()) == []


def run(arguments, monkeypatch, capsys):
    """Return what the command line says about a mistake."""
    monkeypatch.setattr(cli, "_run", lambda: cli.app(arguments, exit_on_error=False, print_error=False))
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("--graph", "alldags: name the confounders (--confounders age,sex), or a graph file (--graph"),
        ("--outcome", "alldags: --outcome is missing: "),
    ],
)
def test_options_that_were_forgotten_are_explained(left_out, said, monkeypatch, capsys):
    options = {"--graph": "g.toml", "--treatment": "x", "--outcome": "y"}
    del options[left_out]
    arguments = ["effect", "study.csv", *(word for pair in options.items() for word in pair)]
    message = run(arguments, monkeypatch, capsys)
    assert message.startswith(said)


def test_errors_are_wrapped_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    lines = run(["effect", "study.csv", "--treatment", "x", "--outcome", "y"], monkeypatch, capsys).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
