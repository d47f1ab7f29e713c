"""Pictures: the same as the ones that were looked at and kept, their letters, their colours, their files."""

from __future__ import annotations

import itertools
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy.integrate import trapezoid

from alldags.errors import AlldagsError
from alldags.show.plots import style
from alldags.show.plots.effect import smooth_density
from alldags.show.plots.save import save_figure

mpl.use("agg")
import matplotlib.pyplot as plt

from lines import fit
from show import pictures
from show.pictures import (
    DRAWS,
    GRAPH,
    SUMMARY,
    balance_picture,
    effect_picture,
    folded_picture,
    given_picture,
    graph_picture,
    residuals_picture,
)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def kept(name):
    return pictures.pixels((pictures.FOLDER / f"{name}.png").read_bytes())


def off(name, picture):
    """How far a picture is from the one that was kept."""
    return pictures.distance(kept(name), pictures.pixels(pictures.drawn(picture)))


def tolerance(name):
    """How far the kept picture is from itself one pixel down or to the right: lines may be rounded to other pixels."""
    whole = kept(name)
    return max(pictures.distance(whole, pictures.moved(whole, *step)) for step in ((1, 0), (0, 1)))


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_picture_is_the_one_that_was_kept(name):
    assert off(name, pictures.PICTURES[name]) < tolerance(name)


@pytest.mark.parametrize(
    "change",
    [
        {"summary": replace(SUMMARY, probability_no_effect=0.0)},
        {"summary": replace(SUMMARY, probability_no_effect=0.35)},
        {"summary": replace(SUMMARY, mean=0.65)},
        {"summary": replace(SUMMARY, low=0.1)},
        {"summary": replace(SUMMARY, high=1.1)},
        {"draws": np.where(DRAWS == 0, 0, DRAWS + 0.05)},
        {"draws": np.where(DRAWS == 0, 0, 0.75 + 1.1 * (DRAWS - 0.75))},
    ],
)
def test_other_numbers_give_another_picture_of_an_effect(change):
    assert off("effect", lambda: effect_picture(**change)) > tolerance("effect")


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": None},
        {"treatment": "risk", "outcome": "smoking"},
        {"graph": GRAPH.with_edge("smoking", "tar", 0.5)},
        {"graph": GRAPH.without_edge("age", "risk")},
    ],
)
def test_another_graph_gives_another_picture(change):
    assert off("graph", lambda: graph_picture(**change)) > tolerance("graph")


@pytest.mark.parametrize(
    ("name", "colour"),
    [
        ("effect", "EFFECT"),
        ("effect", "INTERVAL"),
        ("effect", "NO_EFFECT"),
        ("graph", "CERTAIN"),
        ("graph", "UNCERTAIN"),
    ],
)
def test_another_colour_is_another_picture(name, colour, monkeypatch):
    monkeypatch.setattr(style, colour, "#2d7d32")
    assert off(name, pictures.PICTURES[name]) > tolerance(name)


# -- letters ---------------------------------------------------------------------------------------------------------


def test_effect_picture_says_what_it_shows():
    ax = effect_picture(replace(SUMMARY, level=0.9))
    right = next(other for other in ax.figure.axes if other is not ax)
    assert ax.get_xlabel() == "total effect of smoking on risk, per unit"
    assert ax.get_ylabel() == "posterior density"
    assert right.get_ylabel() == "probability of no effect"
    assert [text.get_text() for text in right.texts] == ["no effect: 30.0%"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [
        "there is an effect: 70.0%",
        "90% interval 0 to 1.24",
        "mean 0.53",
        "if there is an effect: 0.86 (0.67 to 1.05)",
    ]


@pytest.mark.parametrize(("probability", "bars"), [(None, 0), (4e-4, 0), (6e-4, 1), (1.0, 1)])
def test_bar_of_no_effect_is_drawn_where_it_rounds_to_something(probability, bars):
    draws = np.zeros(50) if probability == 1.0 else DRAWS
    assert len(effect_picture(replace(SUMMARY, probability_no_effect=probability), draws).figure.axes) == 1 + bars


def test_density_holds_the_probability_that_it_shows():
    values = DRAWS[DRAWS != 0]
    grid, density = smooth_density(values)
    assert trapezoid(density, grid) == pytest.approx(1.0, abs=0.005)  # 0.2% of the draws lie outside of the grid
    exact = np.exp(-0.5 * ((grid - 0.75) / 0.25) ** 2) / (0.25 * np.sqrt(2 * np.pi))
    # smoothing by h lowers the peak by a factor of 1 - h^2 / 2, in units of the spread: h = 0.9 * 3000^-0.2 = 0.18
    assert np.abs(density - exact).max() < 0.03 * exact.max()


# -- colours ---------------------------------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009), severity 1: colours as seen without one kind of cone, linear RGB
SIGHT = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])


def lab(colour, sight):
    """Return lightness and two opponent colours (CIELAB), in which 2.3 is just noticeable."""
    values = np.array(to_rgb(colour))
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    x, y, z = TO_XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1) / TO_XYZ.sum(axis=1)
    root = [np.cbrt(v) if v > (6 / 29) ** 3 else v * (29 / 6) ** 2 / 3 + 4 / 29 for v in (x, y, z)]
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_stay_apart_for_everybody(sight):
    beside = [
        *itertools.combinations([(style.EFFECT,), (style.INTERVAL,), (style.NO_EFFECT,)], 2),
        ((style.CERTAIN,), (style.UNCERTAIN,)),
        *itertools.combinations(style.ROLES.values(), 2),
    ]
    for one, two in beside:
        clearest = max(np.linalg.norm(lab(a, sight) - lab(b, sight)) for a, b in zip(one, two, strict=True))
        assert clearest > 10, (one, two)


def test_colour_distance_sees_confusable_colours():
    red, green = "#c04040", "#5f7a28"
    apart = {sight: np.linalg.norm(lab(red, sight) - lab(green, sight)) for sight in SIGHT}
    assert apart["all cones"] > 60
    assert apart["no green"] < 30
    assert np.linalg.norm(lab("white", "all cones") - lab("black", "all cones")) == pytest.approx(100, abs=0.1)


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_picture_is_written_and_closed(tmp_path, ending, start):
    save_figure(graph_picture(), tmp_path / f"graph{ending}")
    assert (tmp_path / f"graph{ending}").read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [f"graph{ending}"]
    assert plt.get_fignums() == []


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(AlldagsError, match=r"cannot write a picture as 'graph\.xyz'; use an ending such as \.png"):
        save_figure(graph_picture(), tmp_path / "graph.xyz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "picture"),
    [
        ("given", lambda: given_picture(draws=np.where(DRAWS == 0, 0, DRAWS + 0.1))),
        ("given", lambda: given_picture(summary=replace(SUMMARY, given_effect=replace(SUMMARY.given_effect, low=0.3)))),
        ("folded", lambda: folded_picture(("age", "sex", "smoking", "tar", "risk"))),
        ("residuals", lambda: residuals_picture(-0.2)),
        ("balance", lambda: balance_picture((0.4, -0.2, 0.1, 0.0))),
    ],
)
def test_a_change_of_what_is_drawn_shows(name, picture):
    assert off(name, picture) > tolerance(name)


def test_an_effect_that_is_not_there_is_not_drawn():
    with pytest.raises(AlldagsError, match="there is no effect of 'smoking' on 'risk' to draw"):
        given_picture(summary=replace(SUMMARY, given_effect=None))


def test_large_graphs_are_folded_to_what_the_effect_rests_on():
    import alldags as ad

    rng = np.random.default_rng(0)
    graph = ad.CandidateGraph.from_tiers([[f"w{i}" for i in range(30)], ["x"], ["y"]], 0.1)
    table = dict(zip(graph.variables, rng.standard_normal((32, 200)), strict=True))
    table["y"] = table["y"] + table["x"] + table["w3"]
    table["x"] = table["x"] + table["w3"]
    effect = fit(table, graph, rng=0).effect("x", "y")
    shown = [text.get_text().strip(chr(0x200B)) for text in effect.plots.graph(limit=5).texts]
    assert {"x", "y", "w3", "27 more"} <= set(shown)
    assert len(shown) == 6
    with pytest.raises(AlldagsError, match="limit"):
        effect.plots.graph(limit=1)


def test_checks_that_were_not_made_are_not_drawn():
    import alldags as ad

    study = ad.datasets.example()
    checks = fit(study.table, study.graph, rng=0).checks("smoking", "risk")
    assert checks.plot_residuals("risk").get_xlabel() == "fitted risk, in ten groups of rows"
    with pytest.raises(AlldagsError, match="the residuals of 'age' were not looked at; those of: 'tar'"):
        checks.plot_residuals("age")
    with pytest.raises(AlldagsError, match="name one treatment"):
        checks.plot_balance()
