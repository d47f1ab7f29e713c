from __future__ import annotations

import sys
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alldags as ad
from alldags.errors import GraphError, MissingExtraError
from alldags.show.plots.graph import line_style
from alldags.show.plots.layout import MAX_LINE, MAX_LINES, lay_out, sampled, untangled, wrapped
from alldags.show.table import Table

mpl.use("agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def random_graph(seed: int, m: int, density: float) -> ad.CandidateGraph:
    rng = np.random.default_rng(seed)
    names = ["v" * int(rng.integers(1, 30)) + str(i) for i in range(m)]
    matrix = np.triu(rng.random((m, m)) * (rng.random((m, m)) < density), 1)
    return ad.CandidateGraph.from_matrix(matrix, names)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 14), density=st.floats(0, 1))
def test_layout_keeps_boxes_apart_and_edges_off_them(seed: int, m: int, density: float) -> None:
    check_layout(random_graph(seed, m, density))


@pytest.mark.parametrize("seed", range(4))
def test_layout_of_wide_tiers_with_names_of_all_lengths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tiers = [[f"{tier}_{i}" + "x" * int(rng.integers(0, 14)) for i in range(6)] for tier in range(4)]
    check_layout(ad.CandidateGraph.from_tiers(tiers))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 9), density=st.floats(0, 1))
def test_layout_of_open_directions(seed: int, m: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    names = ["v" * int(rng.integers(1, 30)) + str(i) for i in range(m)]
    matrix = 0.4 * (rng.random((m, m)) < density) * (1 - np.eye(m))
    check_layout(ad.CandidateGraph.from_matrix(matrix, names))


def test_both_directions_are_drawn_apart() -> None:
    graph = ad.CandidateGraph.from_tiers([["age"], ["a", "b", "c"], ["y"]], within=0.5)
    layout = lay_out(graph)
    column = {name: layout.centre[graph.variables.index(name)] for name in graph.variables}
    for cause, effect in graph.edges:
        if {cause, effect} <= {"a", "b", "c"}:
            points = sampled(layout.curves[cause, effect])
            down = column[cause][1] > column[effect][1]
            assert ((points[:, 0] > column[cause][0]) == down).all()
    ax = graph.plot()
    assert sum(len(collection.get_paths()) for collection in ax.collections) == 2 * len(graph.edges)  # lines and heads


def check_layout(graph: ad.CandidateGraph) -> None:
    layout = lay_out(graph)
    low, high = layout.extent()
    m = len(graph.variables)
    index = {name: i for i, name in enumerate(graph.variables)}
    apart = np.abs(layout.centre[:, None] - layout.centre[None]) >= (layout.size[:, None] + layout.size[None]) / 2
    assert (apart.any(axis=2) | np.eye(m, dtype=bool)).all()
    assert set(layout.curves) == set(graph.edges)
    for (cause, effect), curve in layout.curves.items():
        ends = [index[cause], index[effect]]
        apart = graph.component(cause) != graph.component(effect)
        assert (layout.centre[ends[0], 0] < layout.centre[ends[1], 0]) == apart
        others = np.delete(np.arange(m), ends)
        points = sampled(curve, 300)
        inside = np.abs(points[:, None] - layout.centre[others]) < layout.size[others] / 2
        assert not inside.all(axis=2).any(), (cause, effect)
        for end, point in zip(ends, (curve[0], curve[-1]), strict=True):  # starts and ends on the border
            reach = np.abs(point - layout.centre[end]) / (layout.size[end] / 2)
            assert reach.max() == pytest.approx(1.0, abs=1e-9)
        assert (points >= low - 0.1).all()
        assert (points <= high + 0.1).all()


def test_untangling_removes_the_crossings_of_a_ladder() -> None:
    tiers = [[0, 1, 2, 3], [4, 5, 6, 7]]
    pairs = [(0, 7), (1, 6), (2, 5), (3, 4)]
    first, second = untangled(tiers, pairs)
    partner = dict(pairs)
    assert [partner[v] for v in first] == second


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("age", "age"),
        ("blood pressure (systolic)", "blood pressure\n(systolic)"),
        ("a_rather_long_name_of_it", "a_rather_long_\nname_of_it"),
        ("line\nbreak\x00", "line break"),
        ("x" * 20, "x" * 16 + "\n" + "x" * 4),
    ],
)
def test_labels_are_wrapped(name: str, label: str) -> None:
    assert wrapped(name) == label


@settings(max_examples=100, deadline=None)
@given(name=st.text(min_size=1, max_size=120))
def test_labels_stay_small(name: str) -> None:
    lines = wrapped(name).split("\n")
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= MAX_LINE + 1


def test_width_and_opacity_grow_with_probability() -> None:
    styles = [line_style(p, 10.0) for p in (0.05, 0.5, 0.95)]
    widths = [width for width, _ in styles]
    alphas = [colour[3] for _, colour in styles]
    assert widths == sorted(widths)
    assert alphas == sorted(alphas)
    assert widths[0] < widths[2]
    assert alphas[0] < 0.5 < alphas[2] < 1
    _, certain = line_style(1.0, 10.0)
    assert certain[:3] != styles[2][1][:3]


def test_plot_draws_every_variable_and_edge() -> None:
    graph = ad.CandidateGraph.from_tiers([["a", "b"], ["c"], ["d"]]).with_edge("a", "c", 1.0)
    ax = graph.plot(treatment="c", outcome="d")
    assert {text.get_text() for text in ax.texts} == {"a", "b", "c", "d"}
    lines, heads = ax.collections
    assert len(lines.get_paths()) == len(heads.get_paths()) == len(graph.edges)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["treatment", "outcome", "probability 0.5", "certain"]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("names", [["age", "WWWWMMMM@@", "blood pressure (systolic)"], ["a", "b"]])
def test_text_and_legend_fit(names: list[str]) -> None:
    graph = ad.CandidateGraph.from_order(names)
    ax = graph.plot(treatment=names[0], outcome=names[-1])
    ax.figure.canvas.draw()
    for text, box in zip(ax.texts, ax.patches, strict=True):
        inner, outer = text.get_window_extent(), box.get_window_extent()
        assert outer.x0 < inner.x0 < inner.x1 < outer.x1
        assert outer.y0 - 1 < inner.y0 < inner.y1 < outer.y1 + 1
    legend, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert whole.x0 <= legend.x0 < legend.x1 <= whole.x1
    assert legend.y1 < min(box.get_window_extent().y0 for box in ax.patches)


def test_plot_fits_given_axes() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(6, 2))
    graph = ad.CandidateGraph.from_order(["a", "b", "c", "d"])
    assert graph.plot(ax=axes[1]) is axes[1]
    figure.canvas.draw()
    assert not axes[0].texts
    for text in axes[1].texts:
        assert axes[1].bbox.x0 < text.get_window_extent().x0
        assert text.get_window_extent().x1 < axes[1].bbox.x1


@pytest.mark.parametrize("names", [["a"], ["$\\bad{x}$", "_y", "<b>", "%", "a\nb"]])
def test_odd_names_and_graphs_without_edges(names: list[str]) -> None:
    for graph in (ad.CandidateGraph(tuple(names), {}), ad.CandidateGraph.from_order(names)):
        graph.plot().figure.canvas.draw()


@pytest.mark.parametrize("kind", ["mapping", "array", "frame", "table", "tidy frame"])
def test_posterior_probabilities_instead(kind: str) -> None:
    graph = ad.CandidateGraph.from_order(["a", "b", "c"])
    posterior = {("a", "b"): 0.99, ("b", "c"): 0.0, ("a", "c"): 0.2}
    matrix = np.array([[0, 0.99, 0.2], [0, 0, 0], [0, 0, 0]])
    frame = pd.DataFrame(matrix, index=list("abc"), columns=list("abc"))
    columns = {"cause": ["a", "b", "a"], "effect": ["b", "c", "c"], "posterior": list(posterior.values())}
    forms = {
        "mapping": posterior,
        "array": matrix,
        "frame": frame,
        "table": Table({**columns, "prior": [0.5] * 3}),
        "tidy frame": pd.DataFrame(columns).rename(columns={"posterior": "probability"}),
    }
    ax = graph.plot(probabilities=forms[kind])
    lines = ax.collections[0]
    assert lines.get_linewidths() == pytest.approx([line_style(p, 10.0)[0] for p in (0.2, 0.99)], rel=1e-6)
    assert len(ax.texts) == 3


def test_data_do_not_make_an_edge_certain() -> None:
    graph = ad.CandidateGraph.from_edges({("a", "b"): 0.5, ("b", "c"): 1.0})
    ax = graph.plot(probabilities={("a", "b"): 1.0 + 1e-12, ("b", "c"): 1.0})
    uncertain, certain = ax.collections[0].get_edgecolors()
    assert tuple(certain) == line_style(1.0, 10.0)[1]
    assert tuple(uncertain[:3]) == line_style(0.5, 10.0)[1][:3]


def test_mistakes() -> None:
    graph = ad.CandidateGraph.from_order(["smoking", "cancer"])
    with pytest.raises(GraphError, match="'smokin' is not a variable of the graph; did you mean 'smoking'"):
        graph.plot(treatment="smokin")
    with pytest.raises(GraphError, match="'cancer' -> 'smoking', which is not a candidate edge"):
        graph.plot(probabilities={("cancer", "smoking"): 0.5})
    with pytest.raises(GraphError, match=r"probability 1\.5"):
        graph.plot(probabilities={("smoking", "cancer"): 1.5})
    with pytest.raises(GraphError, match="treatment and outcome are both 'smoking'"):
        graph.plot(treatment="smoking", outcome="smoking")


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"alldags\[plot\]"):
        ad.CandidateGraph(("a",), {}).plot()


def test_of_more_than_sixty_variables_the_rest_is_folded():
    names = [f"v{i}" for i in range(70)]
    edges = {(name, "y"): (i + 1) / 100 for i, name in enumerate(names)}
    graph = ad.CandidateGraph((*names, "y"), edges)
    axes = graph.plot(treatment="v0", outcome="y")
    shown = [text.get_text().strip("\u200b") for text in axes.texts]
    assert {"v0", "y", "v69", "11 more"} <= set(shown)
    assert "v3" not in shown
    assert len(shown) - sum(" " in text for text in shown) == 60
    assert len(graph.plot(limit=71).texts) >= 71
    plt.close("all")
    with pytest.raises(ValueError, match="limit"):
        graph.plot(limit=1)
