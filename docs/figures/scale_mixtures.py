"""Draw the pictures of docs/explanation/scale-mixtures.md: ``python docs/figures/scale_mixtures.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.bench_small_experiment import all_at_once, effects, one_by_one, problems, simulate  # noqa: E402

from alldags import engines  # noqa: E402
from alldags.nodes import NodeProblem, Setting  # noqa: E402
from alldags.priors.mixtures import NEG, Horseshoe, Laplace, ScaleMixture, StudentT  # noqa: E402
from alldags.priors.noise import KnownNoise  # noqa: E402

OUT = HERE.parent / "_static"
NAMES = {"neg": "NEG (paper)", "laplace": "Laplace", "student-t": "Student-t", "horseshoe": "horseshoe"}
COLOURS = {"neg": "#0072B2", "laplace": "#E69F00", "student-t": "#009E73", "horseshoe": "#CC79A7", "exact": "#000000"}
PRIORS = {"neg": NEG(), "laplace": Laplace(), "student-t": StudentT(), "horseshoe": Horseshoe(learn_global=False)}
RNG = np.random.default_rng(0)


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(OUT / f"scale_mixtures_{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def densities() -> None:
    """Spike and slab next to the four scale mixtures, on a linear and on a logarithmic axis."""
    figure, (near, far) = plt.subplots(1, 2, figsize=(8.5, 3.2))
    theta = np.concatenate([-np.geomspace(5, 1e-3, 150), np.geomspace(1e-3, 5, 150)])
    labels = NAMES | {"neg": r"NEG ($\kappa=0.2$, $\nu=0.01$)"}
    for axis in (near, far):
        axis.plot(
            theta, 0.5 * np.exp(-0.5 * theta**2) / np.sqrt(2 * np.pi), color="black", label="slab: half of N(0, 1)"
        )
        for mixing, colour in COLOURS.items():
            if mixing != "exact":  # at kappa = nu = 1e-6 NEG spreads over so many magnitudes that nothing would be seen
                density = np.exp((NEG(0.2, 0.01) if mixing == "neg" else PRIORS[mixing]).log_density(theta))
                axis.plot(theta, density, color=colour, label=labels[mixing])
        axis.set_xlabel(r"coefficient $\theta$")
    near.annotate("", (0, 2.2), (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2, "color": "black"})
    near.text(0.25, 2.05, "spike: half at 0")
    near.set(xlim=(-2, 2), ylim=(0, 2.3), ylabel="prior density")
    far.set(xlim=(0, 5), ylim=(1e-5, 10), yscale="log", title="the tails, log scale")
    far.legend(fontsize=8, loc="upper right")
    save(figure, "priors")


def _one_parent(estimate: float, precision: float, prior: ScaleMixture | None = None) -> NodeProblem:
    """A node with one candidate parent whose least-squares estimate and its precision are given."""
    return NodeProblem(
        child="y",
        terms=("x",),
        gram=np.array([[precision]]),
        cross=np.array([precision * estimate]),
        total=precision * estimate**2 + precision,
        n=precision,
        probability=np.array([0.5]),
        settings=(Setting(1.0, KnownNoise(1.0), coefficients=prior),),
    )


def profiles(precision: float = 50.0) -> None:
    """Posterior mean of one coefficient against its least-squares estimate."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), sharey=True)
    error = precision**-0.5
    z = np.linspace(0, 6, 97)
    nodes = [_one_parent(value * error, precision) for value in z]
    exact = [engines.Exact()(node, RNG).mean[0] / error for node in nodes]
    for axis, engine, title in (
        (axes[0], engines.VB, "variational Bayes"),
        (axes[1], engines.EM, "EM (mode)"),
    ):
        axis.plot(z, z, color="0.7", lw=1, ls=":")
        axis.plot(z, exact, color="black", lw=2, label="exact average")
        for mixing, name in NAMES.items():
            nodes = [_one_parent(value * error, precision, PRIORS[mixing]) for value in z]
            fits = [engine()(node, RNG).mean[0] / error for node in nodes]
            axis.plot(z, fits, color=COLOURS[mixing], label=name)
        axis.set(title=title, xlabel="least-squares estimate / its standard error")
    axes[0].set_ylabel("posterior mean / standard error")
    axes[0].legend(fontsize=8)
    save(figure, "profiles")


def small_experiment(replicates: int = 3000) -> None:
    """Squared errors on the paper's small experiment, and where VB and the exact average differ."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4))
    methods = {
        "exact": one_by_one(engines.Exact()),
        "VB": all_at_once(engines.VB()),
        "K2": one_by_one(engines.K2()),
        "full": one_by_one(engines.Full()),
    }
    sizes = (10, 20, 50, 100, 200)
    curves: dict[str, list[float]] = {name: [] for name in methods}
    for n in sizes:
        tables, truth = simulate(np.random.default_rng([7, n]), replicates, n)
        nodes = [node for table in tables for node in problems(table)]
        means = {name: method(nodes) for name, method in methods.items()}
        for name, values in means.items():
            curves[name].append(float(((effects(values) - truth) ** 2).mean()))
        if n in (20, 100):
            _differences(right, nodes, means, n)
    for name, colour in zip(methods, ("black", "#0072B2", "#D55E00", "#999999"), strict=True):
        left.plot(sizes, np.array(curves[name]) / curves["exact"], marker="o", color=colour, label=name)
    left.set(xscale="log", xlabel="rows", ylabel="mean squared error / exact", xticks=sizes, xticklabels=sizes)
    left.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    left.legend(fontsize=8)
    right.set(xlabel="estimate in the full model / its standard error", ylim=(0, None))
    right.set_ylabel("|VB - exact| / standard error")
    right.legend(fontsize=8)
    save(figure, "small_experiment")


def _differences(axis: plt.Axes, nodes: list[NodeProblem], means: dict[str, list[np.ndarray]], n: int) -> None:
    errors = [np.sqrt(np.diag(np.linalg.inv(node.gram + np.eye(node.k)))) for node in nodes]
    z = np.abs(np.concatenate([full / error for full, error in zip(means["full"], errors, strict=True)]))
    gap = [np.abs(a - b) / error for a, b, error in zip(means["VB"], means["exact"], errors, strict=True)]
    edges = np.arange(0, 6.01, 0.25)
    place = np.digitize(z, edges) - 1
    average = [np.concatenate(gap)[place == i].mean() for i in range(len(edges) - 1)]
    axis.plot(edges[:-1] + 0.125, average, label=f"{n} rows", color={20: "#56B4E9", 100: "#0072B2"}[n])


if __name__ == "__main__":
    mpl.rcParams.update(
        {"svg.hashsalt": "alldags", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    densities()
    profiles()
    small_experiment()
