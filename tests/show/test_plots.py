"""Pictures of effects and posteriors: what is drawn is what the numbers say."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import alldags as ad
from alldags.errors import AlldagsError, MissingExtraError
from alldags.show.plots import style
from alldags.show.plots.forest import ForestRow, plot_forest
from alldags.show.plots.traces import plot_traces
from show.test_pictures import SIGHT, lab

mpl.use("agg")
import matplotlib.pyplot as plt

from lines import fit

STUDY = ad.datasets.example()


@pytest.fixture(scope="module")
def posterior():
    return fit(STUDY.table, STUDY.graph, rng=0)


@pytest.fixture(scope="module")
def effect(posterior):
    return posterior.effect("smoking", "risk")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def row_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# -- effects on one outcome ------------------------------------------------------------------------------------------


def test_effects_on_are_the_single_effects(posterior):
    table = posterior.effects_on("risk", level=0.8)
    assert table["treatment"] == ["age", "sex", "income", "smoking", "tar", "exercise"]
    for row in table.rows():
        single = posterior.effect(row["treatment"], "risk")
        assert (row["mean"], row["sd"]) == (single.mean, single.sd)
        assert (row["low"], row["high"]) == single.interval(0.8)
        assert row["probability_no_effect"] == single.probability_no_effect


def test_effects_on_without_link(posterior):
    plain = fit(STUDY.table, STUDY.graph, prior=ad.Prior(link=0.0), rng=0)
    table = posterior.effects_on("risk", link=0.0)
    assert table["mean"] == pytest.approx(plain.effects_on("risk")["mean"], rel=1e-12)
    assert table["sd"] == pytest.approx(plain.effects_on("risk")["sd"], rel=1e-12)
    assert table["mean"] != pytest.approx(posterior.effects_on("risk")["mean"], rel=1e-3)
    assert table["mean"] == pytest.approx([posterior.effects(link=0.0)[n, "risk"] for n in table["treatment"]])


def test_effects_on_mistakes(posterior):
    with pytest.raises(AlldagsError, match="the outcome 'rsk' is not in the graph; did you mean 'risk'"):
        posterior.effects_on("rsk")
    with pytest.raises(AlldagsError, match="link must be None, 0 or the prior's own"):
        posterior.effects_on("risk", link=0.3)
    with pytest.raises(AlldagsError, match="level must lie strictly between 0 and 1"):
        posterior.effects_on("risk", level=95)
    names = [f"v{i}" for i in range(70)]
    many = fit(np.random.default_rng(0).normal(size=(80, 70)), ad.CandidateGraph.from_order(names), names=names)
    with pytest.raises(AlldagsError, match=r"need 2,415 fits of nodes.*effects_on\('v69', link=0.0\)"):
        many.effects_on("v69")


def test_forest_has_a_row_for_each_effect(posterior):
    ax = posterior.plots.effects_on("risk")
    table = posterior.effects_on("risk")
    assert row_names(ax) == table["treatment"]
    segments = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]
    ends = {(float(a), float(b)) for a, b in segments}
    assert {(row["low"], row["high"]) for row in table.rows()} <= ends
    assert texts(ax) == ["no effect", "<1%", "30%", "<1%", "<1%", "<1%", "1%"]
    assert legend(ax) == ["mean, 95% interval"]


def test_forest_marks_what_is_more_likely_nothing():
    ax = plot_forest([ForestRow("a", 0.1, 0.0, 0.3, 0.8), ForestRow("b", 0.3, 0.2, 0.4)], "effect")
    assert legend(ax) == ["mean, 95% interval", "more likely no effect"]
    assert texts(ax) == ["no effect", "80%"]


def test_engines_compared(effect):
    others = {name: fit(STUDY.table, STUDY.graph, engine=name).effect("smoking", "risk") for name in ("k2", "full")}
    ax = effect.plots.compared(others, name="exact")
    assert row_names(ax) == ["exact", "k2", "full"]
    means = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]
    assert means == [effect.mean, others["k2"].mean, others["full"].mean]
    with pytest.raises(AlldagsError, match="'other' is the effect of 'age' on 'risk', not of 'smoking' on 'risk'"):
        effect.plots.compared({"other": effect.posterior.effect("age", "risk")})


# -- one effect ------------------------------------------------------------------------------------------------------


def test_paths_add_up_to_the_effect(effect):
    ax = effect.plots.paths()
    *paths, whole = ax.patches
    table = effect.paths(8)
    assert [bar.get_width() for bar in paths] == pytest.approx(table["mean"])
    starts = np.append(0.0, np.cumsum(table["mean"])[:-1])
    assert [bar.get_x() for bar in paths] == pytest.approx(starts)
    assert paths[-1].get_x() + paths[-1].get_width() == pytest.approx(whole.get_width())
    assert whole.get_width() == pytest.approx(effect.mean)
    assert row_names(ax) == ["smoking → tar → risk", "smoking → risk", "smoking → exercise → risk", "whole effect"]
    assert texts(ax) == ["0.53", "0.28", "0.08", "0.89"]


def test_paths_and_edges_are_those_of_a_graph_with_hidden_common_causes():
    graph = STUDY.graph.with_hidden("smoking", "risk", 0.3)
    hidden = fit(STUDY.table, graph, rng=0).effect("smoking", "risk")
    assert hidden.plots.paths().patches[-1].get_width() == pytest.approx(hidden.mean)
    assert hidden.plots.influence().get_title(loc="left") == ""


def test_paths_of_a_difference_of_risks_are_refused():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-x))).astype(float)
    effect = fit({"x": x, "y": y}, ad.CandidateGraph.from_order(["x", "y"]), rng=0).effect("x", "y")
    with pytest.raises(AlldagsError, match="the effect on 'y' is a difference of means, to which paths do not add up"):
        effect.plots.paths()


def test_influence_shows_both_means(effect):
    ax = effect.plots.influence(limit=3)
    table = list(effect.edge_influence().rows())[:3]
    assert row_names(ax) == [f"{row['cause']} → {row['effect']}" for row in table]
    drawn = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 4]
    assert np.array(drawn) == pytest.approx(
        np.array([(row["effect_if_absent"], row["effect_if_present"]) for row in table])
    )
    assert texts(ax) == ["28%", "<1%", "<1%", "variance\nremoved"]


def test_spread_shares_are_those_of_the_variances(effect, posterior):
    ax = effect.plots.spread([posterior.effect("sex", "risk")])
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 2)
    assert widths.sum(axis=1) == pytest.approx([1, 1])
    assert widths[0, 0] == pytest.approx((effect.uncertainty.structure / effect.sd) ** 2)
    assert row_names(ax) == ["smoking → risk", "sex → risk"]


def test_do_fan_holds_the_distributions(effect):
    ax = effect.plots.do([10.0, 20.0])
    (line,) = ax.lines
    assert line.get_ydata() == pytest.approx([float(effect.do(10.0).mean), float(effect.do(20.0).mean)])
    widest = ax.collections[0].get_paths()[0].vertices
    assert widest[:, 1].min() == pytest.approx(effect.do(10.0).new_unit.interval(0.95)[0])
    assert widest[:, 1].max() == pytest.approx(effect.do(20.0).new_unit.interval(0.95)[1])
    assert legend(ax) == ["95% of new units", "80% of new units", "50% of new units", "mean"]


def test_do_fan_spans_the_treatment(effect):
    ax = effect.plots.do()
    x = ax.lines[0].get_xdata()
    smoking = np.asarray(STUDY.table["smoking"])
    assert (x[0], x[-1]) == pytest.approx((smoking.mean() - 2 * smoking.std(), smoking.mean() + 2 * smoking.std()))


def test_effect_given_that_there_is_one_is_drawn_apart(posterior):
    effect = posterior.effect("sex", "risk")
    given = effect.summary().given_effect
    ax = effect.plot()
    assert "if there is an effect: -0.20 (-1.15 to 1.44)" in legend(ax)
    dashed = [line.get_xdata() for line in ax.lines if "if there is" in str(line.get_label())]
    assert dashed[0] == pytest.approx([given.low, given.high])
    assert not any("if there is" in text for text in legend(posterior.effect("smoking", "risk").plot()))


# -- posteriors ------------------------------------------------------------------------------------------------------


def test_heat_map_has_every_candidate_edge(posterior):
    ax = posterior.plots.edges()
    values = np.ma.filled(ax.images[0].get_array(), np.nan)
    rows, columns = row_names(ax), [text.get_text() for text in ax.get_xticklabels()]
    table = list(posterior.edge_probabilities().rows())
    assert np.isfinite(values).sum() == len(table) == len(ax.texts)
    for row in table:
        assert values[rows.index(row["cause"]), columns.index(row["effect"])] == pytest.approx(row["posterior"])


def test_prior_against_posterior(posterior):
    ax = posterior.plots.prior(limit=4)
    moved = sorted(posterior.edge_probabilities().rows(), key=lambda row: -abs(row["posterior"] - row["prior"]))[:4]
    assert row_names(ax) == [f"{row['cause']} → {row['effect']}" for row in moved]
    drawn = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 3]
    assert np.array(drawn) == pytest.approx(np.array([(row["prior"], row["posterior"]) for row in moved]))


def test_traces_average_to_the_coefficients():
    posterior = fit(STUDY.table, STUDY.graph, engine="mcmc", rng=0)
    axes = posterior.plots.traces("risk", limit=2)
    table = {row["cause"]: row["mean"] for row in posterior.coefficients().rows() if row["effect"] == "risk"}
    largest = sorted(table, key=lambda name: -abs(table[name]))[:2]
    assert [ax.get_title(loc="left") for ax in axes] == [f"{name} → risk" for name in largest]
    for ax, name in zip(axes, largest, strict=True):
        assert np.mean([line.get_ydata() for line in ax.lines]) == pytest.approx(table[name], rel=1e-6)


def test_traces_mistakes(posterior):
    with pytest.raises(AlldagsError, match="the regression of 'risk' was computed by 'exact' and has no chains"):
        posterior.plots.traces("risk")
    with pytest.raises(AlldagsError, match="2 causes need 2 axes, got 1"):
        plot_traces(["a", "b"], np.zeros((2, 5, 2)), "y", [plt.subplots()[1]])


# -- all -------------------------------------------------------------------------------------------------------------

PICTURES = {
    "paths": lambda e, **o: e.plots.paths(**o),
    "influence": lambda e, **o: e.plots.influence(**o),
    "spread": lambda e, **o: e.plots.spread(**o),
    "do": lambda e, **o: e.plots.do([1.0, 2.0], **o),
    "compared": lambda e, **o: e.plots.compared({}, **o),
    "forest": lambda e, **o: e.posterior.plots.effects_on(e.outcome, **o),
    "edges": lambda e, **o: e.posterior.plots.edges(**o),
    "prior": lambda e, **o: e.posterior.plots.prior(**o),
}


@pytest.mark.parametrize("name", PICTURES)
def test_takes_axes_and_gives_them_back(name, effect):
    figure, (left, right) = plt.subplots(1, 2)
    assert PICTURES[name](effect, ax=right) is right
    assert not left.has_data()
    figure.canvas.draw()


@pytest.fixture(scope="module")
def odd():
    names = ["$\\bad{x}$", "_y" * 30, "<b>%"]
    table = np.random.default_rng(0).normal(size=(60, 3))
    return fit(table, ad.CandidateGraph.from_order(names), names=names, rng=0).effect(names[0], names[2])


@pytest.mark.parametrize("name", PICTURES)
def test_names_are_shown_as_they_are_and_fit(name, odd):
    ax = PICTURES[name](odd)
    figure = ax.figure
    figure.canvas.draw()
    box = figure.bbox
    ticks = [text for text in ax.get_xticklabels() if ax.get_xlim()[0] <= text.get_position()[0] <= ax.get_xlim()[1]]
    legend = ax.get_legend().get_texts() if ax.get_legend() else []
    for text in [*ax.get_yticklabels(), *ticks, *legend]:
        extent = text.get_window_extent()
        if text.get_text():
            assert extent.x0 >= box.x0 - 1, text
            assert extent.x1 <= box.x1 + 1, text
            assert extent.y0 >= box.y0 - 1, text


def test_missing_extra(monkeypatch, effect):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"alldags\[plot\]"):
        effect.plots.paths()


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_side_by_side_stay_apart(sight):
    beside = [(style.STRUCTURE, style.COEFFICIENTS), *zip(style.SHADES, style.SHADES[1:], strict=False)]
    for one, two in beside:
        assert np.linalg.norm(lab(one, sight) - lab(two, sight)) > 10
        assert abs(lab(one, "all cones")[0] - lab(two, "all cones")[0]) > 8  # lightness: what is left in grey


def test_hidden_common_causes_are_drawn_dashed_with_two_heads():
    from matplotlib.patches import FancyArrowPatch

    graph = STUDY.graph.with_hidden("smoking", "risk", 0.3)
    arrows = [patch for patch in graph.plot().patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 1
    assert arrows[0].get_linestyle() != "-"
    assert not [patch for patch in STUDY.graph.plot().patches if isinstance(patch, FancyArrowPatch)]
