"""Pictures kept small, and how far two of them are apart.

Run this file to draw the kept pictures anew after an intended change; look at them before you commit them.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.image import imread
from matplotlib.legend import Legend
from matplotlib.text import Text
from scipy.ndimage import gaussian_filter
from scipy.stats import norm

import alldags as ad
from alldags.show.plots.checks import plot_balance, plot_residuals
from alldags.show.plots.effect import plot_effect
from alldags.show.plots.folded import folded
from alldags.show.plots.given import plot_given_effect
from alldags.show.plots.graph import plot_graph
from show import answers

FOLDER = Path(__file__).with_suffix("")
DPI = 60
SMOOTH = 2.0  # pixels: what is a pixel away still counts in part as being there

SUMMARY = replace(
    answers.record(answers.stored()["auto"]), mean=0.525, low=0.0, high=1.236, probability_no_effect=0.3, notes=()
)
DRAWS = np.append(norm.ppf(np.arange(0.5, 3000) / 3000, loc=0.75, scale=0.25), np.zeros(1286))
GRAPH = ad.CandidateGraph.from_tiers([["age", "sex"], ["smoking"], ["tar", "exercise"], ["risk"]]).with_edge(
    "smoking", "tar", 1.0
)


def effect_picture(summary=SUMMARY, draws=DRAWS):
    """Return axes with an effect whose density, interval, mean and atom can all be seen."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(5.0, 2.5))
    return plot_effect(summary, draws, figure.add_axes((0.05, 0.05, 0.9, 0.9)))


def graph_picture(graph=GRAPH, treatment="smoking", outcome="risk"):
    """Return axes with a graph that has certain and uncertain edges, and both roles."""
    return graph.plot(treatment=treatment, outcome=outcome)


def given_picture(summary=SUMMARY, draws=DRAWS):
    """Return axes with the density, mean and interval of an effect given that there is one."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(5.0, 2.5))
    return plot_given_effect(summary, draws, figure.add_axes((0.05, 0.1, 0.9, 0.85)))


def folded_picture(kept=("age", "smoking", "tar", "risk")):
    """Return axes with a graph of which some variables are folded."""
    edges = {edge: p for edge, p in GRAPH.edges.items() if set(edge) <= set(kept)}
    drawn = folded(GRAPH.tiers(), edges, kept)
    return plot_graph(drawn, None, "smoking", "risk", folded=drawn.folded)


def residuals_picture(size=0.2):
    """Return axes with residuals along fitted values."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(5.0, 2.5))
    fitted = np.linspace(1.0, 9.0, 10)
    bins = fitted, size * np.sin(fitted), np.full(10, 0.1)
    return plot_residuals("y", bins, figure.add_axes((0.1, 0.1, 0.85, 0.85)))


def balance_picture(gaps=(0.4, -0.3, 0.1, 0.0)):
    """Return axes with differences between two arms."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(5.0, 2.5))
    return plot_balance(["age", "sex", "income", "site"], gaps, figure.add_axes((0.2, 0.1, 0.75, 0.85)))


PICTURES: dict[str, Callable] = {
    "effect": effect_picture,
    "graph": graph_picture,
    "given": given_picture,
    "folded": folded_picture,
    "residuals": residuals_picture,
    "balance": balance_picture,
}


def drawn(picture: Callable, **settings) -> bytes:
    """Return a picture as PNG, without letters, in matplotlib's own style with some settings changed."""
    import matplotlib.pyplot as plt

    stream = io.BytesIO()
    with mpl.rc_context({**mpl.rcParamsDefault, "backend": "agg", **settings}):
        figure = picture().figure
        for artist in [*figure.findobj(Text), *figure.findobj(Legend)]:  # fonts are drawn differently elsewhere
            artist.set_visible(False)
        figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)
    return stream.getvalue()


def pixels(png: bytes) -> np.ndarray:
    """Return red, green and blue on white between 0 and 1, shape (height, width, 3)."""
    values = imread(io.BytesIO(png))
    return values[..., :3] * values[..., 3:] + 1 - values[..., 3:]


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest difference between two pictures after smoothing; 1 if their sizes differ."""
    if first.shape != second.shape:
        return 1.0
    return float(np.abs(gaussian_filter(first - second, (SMOOTH, SMOOTH, 0))).max())


def moved(picture: np.ndarray, down: int, right: int) -> np.ndarray:
    """Return a picture moved by whole pixels."""
    return np.roll(picture, (down, right), axis=(0, 1))


def update() -> None:
    """Draw the kept pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.png").write_bytes(drawn(picture))


if __name__ == "__main__":
    mpl.use("agg")
    update()
