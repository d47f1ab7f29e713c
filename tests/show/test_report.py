"""The report: what it says is what the library says, and it stays one harmless file."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import sys
from dataclasses import asdict
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import alldags as ad
from alldags.effects.influence import edge_influences, edge_probability
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError, MissingExtraError
from alldags.models.fitted import FittedGraph
from alldags.results.report import effect_report
from alldags.show.report.clip import MOST_EDGES, MOST_VARIABLES, clipped
from alldags.show.report.page import report_html, script_data
from alldags.show.report.record import Section
from alldags.show.report.svg import ticks_between
from lines import fit
from show.everything import everything

STUDY = ad.datasets.example()
HOSTILE = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Elements with their attributes and texts, in order of their end; void elements at once."""

    VOID = frozenset({"meta", "input", "br", "link", "img"})

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        made = SimpleNamespace(tag=tag, attributes=dict(attributes), text="")
        self.elements.append(made)
        if tag not in self.VOID:
            self._open.append(made)

    def handle_endtag(self, tag):
        assert self._open.pop().tag == tag

    def handle_data(self, data):
        for element in self._open:
            element.text += data

    def all(self, tag):
        return [element for element in self.elements if element.tag == tag]

    def data(self):
        return json.loads(next(e.text for e in self.all("script") if e.attributes.get("id") == "data"))


def page_of(effect, **changes):
    report = effect_report(effect)
    return Page(report_html(report.__class__(**{name: getattr(report, name) for name in report.__slots__} | changes)))


@pytest.fixture(scope="module")
def effect():
    study = ad.datasets.example()
    return fit(study.table, study.graph, rng=0).effect("smoking", "risk")


@pytest.fixture(scope="module")
def page(effect):
    return page_of(effect)


# -- sliders ---------------------------------------------------------------------------------------------------------


def refitted(effect, cause, child, stated):
    """Fit again with another probability of one edge, the link held fixed; return mean effect and P(edge)."""
    (model,) = effect.workings.models.items
    moved = FittedGraph(
        model.graph.with_edge(cause, child, stated), model.prior, model.data, model._store, link=model._link
    )
    total = TotalEffect.of(moved, effect.treatment, effect.outcome)
    return effect.workings.unit * total.mean, edge_probability(moved, (cause, child))


def slider(data, number, stated):
    """The formula of the page's script."""
    edge = data["edges"][number]

    def absent_prior(value):
        absent = (1 - value) * (1 - edge["raised"])
        return max(absent, data["least"]) if edge["raised"] > 0 and value < 1 else absent

    before, after = absent_prior(edge["prior"]), absent_prior(stated)
    present = edge["posterior"] * (1 - after) / (1 - before)
    absent = (1 - edge["posterior"]) * after / before
    p = present / (present + absent)
    return p * edge["present"] + (1 - p) * edge["absent"], p


@pytest.mark.parametrize("prior", [ad.Prior(), ad.Prior.v01(), ad.Prior(4.0, link=0.5)])
def test_sliders_equal_a_refit(prior):
    study = ad.datasets.example()
    effect = fit(study.table, study.graph, prior=prior, rng=0).effect("smoking", "risk")
    data = page_of(effect).data()
    assert len(data["edges"]) == 13
    for number, edge in enumerate(data["edges"]):
        for stated in (0.02, 0.4, 0.97) if number < 4 else (0.3,):
            mean, probability = refitted(effect, edge["cause"], edge["effect"], stated)
            moved, after = slider(data, number, stated)
            assert moved == pytest.approx(mean, abs=1e-9)
            assert after == pytest.approx(probability, abs=1e-9)


def test_a_slider_moves_the_answer_by_more_than_the_tolerance(effect, page):
    data = page.data()
    edge = data["edges"][0]
    assert (edge["cause"], edge["effect"]) == ("smoking", "risk")
    assert slider(data, 0, 0.02)[0] < effect.mean - 0.05
    assert slider(data, 0, edge["prior"])[0] == pytest.approx(effect.mean, abs=1e-12)


def test_closed_form_is_the_library_s_own(effect):
    unit = effect.workings.unit
    for item in edge_influences(effect.workings.totals):
        mean, probability = refitted(effect, item.cause, item.effect, 0.7)
        assert unit * item.mean_at(0.7) == pytest.approx(mean, abs=1e-9)
        assert item.posterior_at(0.7) == pytest.approx(probability, abs=1e-9)


def test_edges_that_do_not_move_alone_have_no_slider():
    study = ad.datasets.example()
    prior = ad.Prior(1.0, edges=ad.priors.BetaBinomial(), link=0.0)
    graph = ad.CandidateGraph.from_edges(study.graph.edges.keys())
    learned = page_of(fit(study.table, graph, prior=prior).effect("smoking", "risk"))
    other = study.graph.without_edge("smoking", "risk")
    several = page_of(fit(study.table, [study.graph, other]).effect("smoking", "risk"))
    for page in (learned, several):
        assert not page.all("input")
        assert page.data()["edges"]
        assert not any(edge["moves"] for edge in page.data()["edges"])


# -- what it says ----------------------------------------------------------------------------------------------------


def test_it_says_what_the_library_says(effect, page):
    text = next(element.text for element in page.all("main"))
    summary = effect.summary()
    words = " ".join(text.split())
    for part in (
        "Raising smoking by one unit changes risk by 0.89 on average (95% interval 0.68 to 1.09)",
        "Knowing whether smoking acts directly on risk would remove 28% of the posterior variance",
        "smoking → tar → risk",
        "The total causal effect of smoking on risk was estimated as its posterior",
        "@inproceedings{horii2021bayesian",
        "rng=0",
        f"alldags {ad.__version__}",
    ):
        assert part in words, part
    assert page.data()["mean"] == summary.mean


def test_every_candidate_edge_is_drawn_and_told(effect, page):
    arrows = [e for e in page.all("g") if "data-cause" in e.attributes]
    assert {(a.attributes["data-cause"], a.attributes["data-effect"]) for a in arrows} == set(
        effect.posterior.graphs[0].edges
    )
    table = {(row["cause"], row["effect"]): row for row in effect.edge_influence().rows()}
    row = table["smoking", "risk"]
    label = next(a.attributes["aria-label"] for a in arrows if a.attributes["data-cause"] == "smoking"
                 and a.attributes["data-effect"] == "risk")  # fmt: skip
    assert label == (
        f"smoking → risk: probability 50% before the data, {row['posterior']:.0%} after; "
        f"effect with it {row['effect_if_present']:.2f}, without it {row['effect_if_absent']:.2f}"
    )


def test_the_python_lines_give_the_same_answer(effect, page, tmp_path, monkeypatch, capsys):
    study = ad.datasets.example()
    texts = {e.attributes.get("id"): e.text for e in page.all("pre")}
    (tmp_path / "graph.toml").write_text(texts["graph-file"], encoding="utf-8")
    rows = zip(*study.table.values(), strict=True)
    lines = [",".join(study.table), *(",".join(repr(float(value)) for value in row) for row in rows)]
    (tmp_path / "study.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(texts["python"], names)
    assert names["effect"].mean == pytest.approx(effect.mean, abs=1e-9)
    assert capsys.readouterr().out == f"{effect}\n"


def test_the_python_lines_hold_what_was_asked(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(5)
    x = rng.normal(size=80)
    y, weight = 0.5 * x**2 + rng.normal(size=80), rng.integers(1, 4, 80)
    lines = ["z,x,y,weight"]
    lines += [f"{'' if i == 3 else 'no' if i % 2 else 'yes'},{x[i]},{y[i]},{weight[i]}" for i in range(80)]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text("\n".join(lines), encoding="utf-8")
    graph = ad.CandidateGraph.from_order(["z", "x", "y"])
    options = {"missing": "drop", "weights": "weight", "families": {"x": "normal"}}
    effect = fit(tmp_path / "own.csv", graph, rng=4, **options).effect("x", "y")
    report = effect_report(effect)
    assert "weights='weight'" in report.python
    (tmp_path / "graph.toml").write_text(report.graph_file[1], encoding="utf-8")
    names: dict[str, object] = {}
    exec(report.python, names)
    assert capsys.readouterr().out == f"{effect}\n"
    effect = fit(tmp_path / "own.csv", graph, rng=4, missing="drop", weights=weight.astype(float)).effect("x", "y")
    assert "weights = ...  # as you gave it" in effect_report(effect).python
    assert "weights=weights" in effect_report(effect).python


def test_regressions_are_computed_as_the_answer_says():
    rng = np.random.default_rng(6)
    x = rng.normal(size=200)
    table = {"x": x, "y": (rng.random(200) < 1 / (1 + np.exp(-x))).astype(float)}
    effect = fit(table, ad.CandidateGraph.from_order(["x", "y"]), rng=0).effect("x", "y")
    assert effect.summary().computed == "1 regression by weighted draws"
    assert [item.computed for item in effect_report(effect).regressions] == ["by weighted draws"]
    assert effect.paths().note == "on the log-odds of y, where paths add up"
    assert "- where an edge is so nearly certain" in effect.edge_influence().note


def test_it_says_how_strong_a_hidden_cause_would_have_to_be(effect, page):
    text = " ".join(next(element.text for element in page.all("main")).split())
    assert (
        "A hidden common cause would have to explain 31% of the unexplained variance of both smoking and risk" in text
    )
    first = next(effect.sensitivity().benchmarks().rows())
    assert first["as strong as"] == "age"
    assert f"{first['mean']:.2f} ({first['low']:.2f} to {first['high']:.2f})" in [e.text for e in page.all("td")]


def test_further_checks_have_a_place(effect):
    section = Section("Overlap", ("All rows overlap.",), ("variable", "difference"), (("age", "0.1"),))
    page = page_of(effect, checks=(section,))
    assert "Overlap" in [e.text for e in page.all("h3")]
    assert "0.1" in [e.text for e in page.all("td")]


@pytest.mark.parametrize("engine", ["vb", "full"])
def test_engines_without_graphs(engine):
    study = ad.datasets.example()
    effect = fit(study.table, study.graph, engine=engine, rng=0).effect("smoking", "risk")
    page = page_of(effect)
    assert "No uncertain edge bears on this effect" in " ".join(next(e.text for e in page.all("main")).split())


def test_hidden_common_causes_in_the_graph_are_named():
    graph = STUDY.graph.with_hidden("smoking", "risk", 0.3)
    effect = fit(STUDY.table, graph, rng=0).effect("smoking", "risk")
    page = page_of(effect)
    text = " ".join(next(e.text for e in page.all("main")).split())
    assert "which are not drawn: smoking ↔ risk (30.0%)" in text
    assert page.data()["mean"] == pytest.approx(sum(effect.paths()["mean"]), abs=1e-9)
    assert page.data()["mean"] == pytest.approx(effect.mean, abs=1e-9)
    assert "nothing identifies this effect" in text


def rows_with(kind):
    """A table and options of `fit` under which rows count differently."""
    table = {name: np.array(column, dtype=float) for name, column in STUDY.table.items()}
    if kind == "impute":
        table["tar"][::50] = np.nan
        return table, {"missing": "impute", "imputations": 3}
    if kind == "weights":
        return table, {"weights": np.where(np.arange(500) < 250, 1.0, 2.0)}
    return table, {"cluster": np.arange(500) // 10}


@pytest.mark.parametrize("kind", ["impute", "weights", "cluster"])
def test_rows_that_count_differently(kind):
    table, options = rows_with(kind)
    effect = fit(table, STUDY.graph, rng=0, **options).effect("smoking", "risk")
    page = page_of(effect)
    text = " ".join(next(e.text for e in page.all("main")).split())
    assert effect.summary().notes or kind == "weights"
    assert " ".join(everything(effect).split("\n\n")[0].split()) in text
    assert bool(page.all("input")) == (kind != "impute")  # several completed tables: no edge moves alone


def test_differences_of_risks():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    z = 0.6 * x + rng.normal(size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-z))).astype(float)
    effect = fit({"x": x, "z": z, "y": y}, ad.CandidateGraph.from_order(["x", "z", "y"]), rng=0).effect("x", "y")
    page = page_of(effect)
    assert not page.all("input")
    table = {(row["cause"], row["effect"]): row for row in effect.edge_influence().rows()}
    edge = page.data()["edges"][0]
    assert edge["present"] == table[edge["cause"], edge["effect"]]["effect_if_present"]
    assert abs(edge["present"]) < 1
    assert "do not add up to the effect on the mean outcome" in " ".join(next(e.text for e in page.all("main")).split())


def test_open_directions():
    graph = STUDY.graph.with_pair("tar", "exercise", 0.3, 0.3)
    effect = fit(STUDY.table, graph, rng=0).effect("tar", "risk")
    report = effect_report(effect)
    table = {(row["cause"], row["effect"]): row["variance_removed"] for row in effect.edge_influence().rows()}
    found = {edge.pair: edge.removed for edge in report.influences}
    assert len(found) >= 12
    assert found == pytest.approx({pair: table[pair] for pair in found}, abs=1e-12)
    assert not any(edge.moves for edge in report.influences if set(edge.pair) == {"tar", "exercise"})


def test_no_path_at_all():
    study = ad.datasets.example()
    page = page_of(fit(study.table, study.graph).effect("risk", "smoking"))
    text = " ".join(next(e.text for e in page.all("main")).split())
    assert "the effect is zero by assumption" in text
    assert "There is no path to carry an effect." in text


def test_an_effect_that_bends_is_not_said_to_have_no_path():
    text = " ".join(
        next(
            e.text for e in page_of(ad.fit(STUDY.table, STUDY.graph, rng=0).effect("smoking", "risk")).all("main")
        ).split()
    )
    assert "The effect is not split into paths" in text
    assert "no path to carry" not in text


def test_completed_tables_are_neither_several_graphs_nor_several_priors():
    table = {**STUDY.table, "age": np.where(np.arange(500) < 30, np.nan, STUDY.table["age"])}
    report = effect_report(fit(table, STUDY.graph, missing="impute", rng=0).effect("smoking", "risk"))
    assert not report.several
    assert dict(report.origin)["prior"] == "ad.Prior()"
    assert "prior = ad.Prior()\n" in report.python


# -- one harmless file -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = {HOSTILE: x, '"><img src=x onerror=alert(1)>': x + rng.normal(size=200), "</style>{{ 7*7 }}": 0.5 * x}
    table["</style>{{ 7*7 }}"] = table["</style>{{ 7*7 }}"] + rng.normal(size=200)
    graph = ad.CandidateGraph.from_order(list(table))
    target = tmp_path_factory.mktemp("report") / "r.html"
    fit(table, graph, rng=0).report(target, treatment=HOSTILE, outcome="</style>{{ 7*7 }}")
    return target.read_text(encoding="utf-8")


def test_names_stay_text(hostile):
    page = Page(hostile)
    assert len(page.all("script")) == 2
    assert not page.all("img")
    assert len(page.all("style")) == 1
    assert HOSTILE in page.all("h1")[0].text
    assert "{{ 7*7 }}" in page.all("h1")[0].text
    assert {edge["cause"] for edge in page.data()["edges"]} >= {HOSTILE}
    assert "<" not in script_data([HOSTILE])


@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_policy_allows_its_own_script_and_style_and_nothing_else(which, page, hostile):
    page = page if which == "plain" else Page(hostile)
    policy = next(
        e.attributes["content"] for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    script = next(e.text for e in page.all("script") if "type" not in e.attributes)
    for text, rule in ((script, "script-src"), (page.all("style")[0].text, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    for element in page.elements:  # the policy would block them
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]
        assert "src" not in element.attributes
        assert element.attributes.get("href", "#").startswith("#")


def test_controls_have_names_and_links_have_targets(page):
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in page.elements:
        for name in ("aria-labelledby", "data-copy"):
            assert element.attributes.get(name, ids[0]) in ids
        assert element.attributes.get("href", f"#{ids[0]}")[1:] in ids
    assert all(e.attributes["aria-label"] for e in page.all("input"))
    assert all(e.text.strip() for e in page.all("button"))
    levels = [int(e.tag[1]) for e in page.elements if e.tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert max(b - a for a, b in itertools.pairwise(levels)) <= 1


# -- large graphs ----------------------------------------------------------------------------------------------------


def test_large_graph_is_clipped_to_what_matters():
    graph = ad.datasets.paper_graph(9, 9)
    sample = ad.datasets.paper_sample(graph, 300, rng=1)
    effect = fit(sample.columns(), graph, prior=ad.Prior.v01(), rng=0).effect("X", "Y")
    report = effect_report(effect)
    shown = clipped(report)
    assert len(shown.variables) <= MOST_VARIABLES < len(graph.variables)
    assert len(shown.edges) <= MOST_EDGES < len(graph.edges)
    assert {"X", "Y"} <= set(shown.variables)
    left_out = [edge for edge in report.edges if edge.pair not in shown.edges]
    kept = [edge for edge in report.edges if edge.pair in shown.edges]
    assert max(edge.weight for edge in left_out) <= sorted((e.weight for e in kept), reverse=True)[8]
    page = Page(report_html(report))
    summaries = [e.text for e in page.all("summary")]
    assert any(f"{len(left_out)} more edges" in text for text in summaries)
    assert len(report_html(report)) < 400_000


# -- files and mistakes ----------------------------------------------------------------------------------------------


def test_report_is_written_whole_or_not_at_all(tmp_path, effect, monkeypatch):
    target = tmp_path / "r.html"
    effect.posterior.report(target, treatment="smoking", outcome="risk")
    assert target.stat().st_size < 400_000
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    with pytest.raises(AlldagsError, match="the treatment 'smokin' is not in the graph; did you mean 'smoking'"):
        effect.posterior.report(tmp_path / "other.html", treatment="smokin", outcome="risk")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_missing_extra(monkeypatch, effect):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"alldags\[report\]"):
        report_html(effect_report(effect))


def test_ticks_are_round_and_inside():
    for low, high in ((-0.1, 1.3), (1200.0, 3417.0), (-1e-5, 3e-5)):
        found = ticks_between(low, high)
        assert 2 < len(found) <= 8
        assert low <= found[0] < found[-1] <= high
        step = found[1] - found[0]
        assert np.allclose(np.diff(found), step)
        assert math.isclose(
            step / 10 ** math.floor(math.log10(step) + 1e-9), round(step / 10 ** math.floor(math.log10(step) + 1e-9))
        )


def test_wheel_holds_the_templates():
    from pathlib import Path

    from hatchling.builders.wheel import WheelBuilder

    root = Path(__file__).parents[2]
    builder = WheelBuilder(str(root))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    source = root / "src"
    templates = {str(path.relative_to(source)) for path in source.rglob("templates/*")}
    assert {Path(name).name for name in templates} >= {"report.html", "report.css", "report.js"}
    assert templates <= packed


def test_of_many_edges_the_influential_ones_are_looked_at(effect):
    everything = {(item.cause, item.effect): item for item in edge_influences(effect.workings.totals)}
    some = {(item.cause, item.effect): item for item in edge_influences(effect.workings.totals, 6)}
    assert len(some) == 6 < len(everything)
    for edge, item in some.items():
        one, other = asdict(item), asdict(everything[edge])
        numbers = [key for key, value in one.items() if isinstance(value, float)]
        assert len(numbers) > 2
        for key in numbers:  # products are added in another order
            assert one.pop(key) == pytest.approx(other.pop(key), rel=1e-10, nan_ok=True), key
        assert one == other
    moved = {edge: abs(item.mean_present - item.mean_absent) for edge, item in everything.items()}
    doubt = {edge: item.posterior * (1 - item.posterior) * moved[edge] ** 2 for edge, item in everything.items()}
    assert max(doubt, key=doubt.__getitem__) in some
    assert sum(doubt[edge] for edge in some) > 0.99 * sum(doubt.values())
