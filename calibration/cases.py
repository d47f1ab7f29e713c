"""What is asked of one simulated table, and what the truth is; and the rows of the calibration table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.typing import FloatArray
from calibration.hidden import TOP
from calibration.worlds import World, columns, draw_linked, draw_unordered, draw_world

DO = 1.0  # the value that the treatment is set to


@dataclass(frozen=True, eq=False)
class Case:
    """A table with its question and the truth.

    Parameters
    ----------
    table, graph, options
        For `fit`.
    treatment, outcome
        Names.
    effect
        The true total effect.
    coefficient
        Cause, effect, and the true coefficient; None if it is not asked for.
    unit
        Outcome of a new unit when the treatment is set to `DO`; None if it is not asked for.
    edge
        Cause, effect, and whether there is such an edge; None if it is not asked for.
    path
        Whether a path leads from treatment to outcome; None if it is not asked for.
    strength
        How strong a hidden cause is believed to be; None if there is none.
    """

    table: Any
    graph: Any
    options: dict[str, Any]
    treatment: str
    outcome: str
    effect: float
    coefficient: tuple[str, str, float] | None = None
    unit: float | None = None
    edge: tuple[str, str, bool] | None = None
    path: bool | None = None
    strength: ad.Strength | None = None


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Parameters
    ----------
    key
        What is fitted, in words.
    draw
        From a generator to a case.
    share
        Share of the data sets that a quick row has.
    truth
        ``"prior"``: the truth is drawn from the very prior of the fit. ``"near"``: from something close to it, for
        the method has no prior of everything that could be drawn from.
    approximates
        The method is an approximation by design.
    """

    key: str
    draw: Callable[[np.random.Generator], Case]
    share: float = 1.0
    truth: str = "prior"
    approximates: bool = False


NAMES = ("a", "b", "c", "d")
PROBABILITY = np.triu(np.array([[0, 0.5, 0.4, 0.3], [0, 0, 0.6, 0.5], [0, 0, 0, 0.5], [0, 0, 0, 0]]), 1)
SMALL = ad.CandidateGraph.from_matrix(PROBABILITY, NAMES)
CERTAIN = ad.CandidateGraph.from_order(NAMES, 1.0)
EVEN = ad.CandidateGraph.from_order(NAMES, 0.5)
WIDE = ad.CandidateGraph.from_tiers([[f"w{i}" for i in range(10)], ["x"], ["m"], ["y"]], 0.3)
LARGE = ad.datasets.paper_graph(30, 30)
TIERS = ad.CandidateGraph.from_tiers([[f"w{i}" for i in range(6)], ["x"], ["y"]], 0.5)
OPEN = ad.CandidateGraph.unordered(NAMES, 0.5)
RAW = {"units": "raw", "intercept": False, "link": 0.0}
KNOWN = ad.Prior(1.0, ad.priors.KnownNoise(1.0), **RAW)
PROPER = ad.Prior(1.5, ad.priors.UnknownNoise(3.0, 2.0), **RAW)
FLAT = ad.Prior(slab_variance=1.0, link=0.0)
LEARNED = ad.Prior(link=0.0)


def case_of(world: World, graph: Any, options: dict[str, Any], ends: tuple[str, str], rng: np.random.Generator) -> Case:
    """Return everything that can be asked of a world of straight lines.

    The coefficient is that of a cause of the outcome; the edge is any uncertain one.
    """
    graphs = graph if isinstance(graph, list) else [graph]
    edges = [edge for edge, p in graphs[0].edges.items() if p < 1.0]
    cause, effect = edges[rng.integers(len(edges))] if edges else ("", "")
    other = [name for name in graphs[0].parents(ends[1]) if name != ends[0]]
    second = other[rng.integers(len(other))]
    place = world.names.index
    path = world.has_path(*ends)
    return Case(
        table=columns(world),
        graph=graph,
        options=options,
        treatment=ends[0],
        outcome=ends[1],
        effect=world.effect(*ends) if path else 0.0,
        coefficient=(second, ends[1], float(world.coefficients[place(second), place(ends[1])])),
        unit=world.new_unit(ends[0], DO, ends[1], rng),
        edge=(cause, effect, bool(world.present[place(cause), place(effect)])) if edges else None,
        path=path,
    )


def straight(
    graph: ad.CandidateGraph,
    prior: ad.Prior,
    rows: int,
    ends: tuple[str, str],
    options: dict[str, Any],
    rng: np.random.Generator,
) -> Case:
    """Draw a case of straight lines."""
    world = draw_world(graph, prior, rows, rng)
    return case_of(world, graph, {"prior": prior, **options}, ends, rng)


def small(prior: ad.Prior, graph: ad.CandidateGraph = SMALL, rows: int = 20, **options: Any) -> Any:
    """Return a drawer of cases with four variables."""
    return partial(straight, graph, prior, rows, ("a", "d"), options)


def wide(prior: ad.Prior, rows: int = 40, **options: Any) -> Any:
    """Return a drawer of cases with ten covariates, treatment, mediator and outcome."""
    return partial(straight, WIDE, prior, rows, ("x", "y"), options)


def large(rng: np.random.Generator) -> Case:
    """Draw a case of the paper's large graph: 62 variables, 1,020 candidate edges."""
    return straight(LARGE, ad.Prior.paper(), 100, ("X", "Y"), {}, rng)


def linked(rng: np.random.Generator) -> Case:
    """Draw a case from the joint prior that the link stands for."""
    prior = ad.Prior()
    world = draw_linked(TIERS, prior, "x", 40, rng)
    found = case_of(world, TIERS, {"prior": prior}, ("x", "y"), rng)
    return Case(**{**vars(found), "edge": None})  # probabilities of edges are told without the link


def unordered(engine: str, rng: np.random.Generator) -> Case:
    """Draw a case of four variables of which nothing is known."""
    prior = ad.Prior(1.0, ad.priors.EquivalentNoise(2.0), **RAW)
    world = draw_unordered(OPEN, prior, 30, rng)
    return case_of(world, OPEN, {"prior": prior, "engine": engine}, ("a", "d"), rng)


def several_graphs(rng: np.random.Generator) -> Case:
    """Draw a case with two candidate graphs, one of which is true."""
    graphs, weights = [EVEN, EVEN.without_edge("a", "b").without_edge("c", "d")], [0.4, 0.6]
    prior = ad.Prior(link=0.0)
    world = draw_world(graphs[rng.choice(2, p=weights)], prior, 20, rng)
    return case_of(world, graphs, {"prior": prior, "graph_weights": weights}, ("a", "d"), rng)


def experiments(rng: np.random.Generator) -> Case:
    """Draw a case in which a third of the rows had one variable set, and a third another."""
    prior = ad.Prior(1.5, ad.priors.UnknownNoise(3.0, 2.0), units="raw", link=0.0)
    world = draw_world(SMALL, prior, 0, rng)
    rows = 36
    target = np.repeat(["", "a", "c"], rows // 3)
    values = world.origin + world.noise * rng.standard_normal((rows, len(NAMES)))
    for j, name in enumerate(world.names):
        made = values[:, j] + values[:, :j] @ world.coefficients[:j, j]
        values[:, j] = np.where(target == name, rng.normal(2.0, 1.0, rows), made)
    filled = World(world.names, world.coefficients, world.present, world.origin, world.noise, values)
    found = case_of(filled, SMALL, {"prior": prior, "interventions": "target"}, ("a", "d"), rng)
    return Case(**{**vars(found), "table": {**found.table, "target": target}})


def imputed(rng: np.random.Generator) -> Case:
    """Draw a case in which a fifth of two columns is missing, the more often the larger the first variable."""
    prior = ad.Prior(link=0.0)
    world = draw_world(EVEN, prior, 100, rng)
    found = case_of(world, EVEN, {"prior": prior, "missing": "impute"}, ("a", "d"), rng)
    table = {name: column.copy() for name, column in found.table.items()}
    driver = (table["a"] - table["a"].mean()) / table["a"].std()
    for name in ("b", "d"):
        table[name][rng.random(100) < expit(driver - 1.6)] = np.nan
    return Case(**{**vars(found), "table": table})


def hidden(link: float, rng: np.random.Generator) -> Case:
    """Draw a case with a hidden cause of treatment and outcome, as strong as the stated prior says.

    The slab is learned: some covariates drive the treatment so strongly that, where they do not act on the outcome,
    they are instruments.
    """
    world = draw_world(TIERS, ad.Prior(link=0.0), 200, rng)
    x, y = (world.names.index(name) for name in ("x", "y"))
    r2x, r2y = rng.uniform(0, TOP, 2)
    loads = np.sqrt([r2x, r2y / (1 - r2x + r2x * r2y)])
    cause = rng.standard_normal(200)
    moved = [world.noise[j] * _moved(_residual(world, j), load, cause) for j, load in zip((x, y), loads, strict=True)]
    effect = float(world.coefficients[x, y])
    table = columns(world)
    table |= {"x": table["x"] + moved[0], "y": table["y"] + moved[1] + effect * moved[0]}
    strength = ad.Strength((0.0, TOP), (0.0, TOP), sign="positive")
    return Case(table, TIERS, {"prior": ad.Prior(link=link)}, "x", "y", effect, strength=strength)


def _moved(noise: FloatArray, load: float, cause: FloatArray) -> FloatArray:
    """Return what a hidden cause adds to noise that keeps its variance."""
    return np.asarray(load * cause + (np.sqrt(1 - load**2) - 1) * noise)


def _residual(world: World, child: int) -> FloatArray:
    """Return a variable's noise in the rows, standardised."""
    fitted = world.origin[child] + world.rows @ world.coefficients[:, child]
    return np.asarray((world.rows[:, child] - fitted) / world.noise[child])


def heavy_tails(rng: np.random.Generator) -> Case:
    """Draw a case whose outcome has Student noise with four degrees of freedom, and is said to."""
    world = draw_world(SMALL, FLAT, 40, rng)
    last = len(NAMES) - 1
    found = case_of(world, SMALL, {"prior": FLAT, "families": {"d": "student"}}, ("a", "d"), rng)
    moved = world.noise[last] * (rng.standard_t(ad.Student().df, 40) - _residual(world, last))
    return Case(**{**vars(found), "table": {**found.table, "d": found.table["d"] + moved}, "unit": None})


def yes_no(rows: int, rng: np.random.Generator) -> Case:
    """Draw a case with a yes/no treatment and a yes/no outcome; effects are differences of risk in the table."""
    graph = ad.CandidateGraph.from_tiers([["v", "w"], ["x"], ["y"]], 0.5)
    prior = ad.Prior(slab_variance=1.0, units="raw", link=0.0)
    table = {name: rng.standard_normal(rows) for name in ("v", "w")}
    present = rng.random(5) < 0.5
    theta = present * rng.standard_normal(5)
    table["x"] = (rng.random(rows) < expit(theta[0] * table["v"] + theta[1] * table["w"])).astype(float)
    eta = rng.normal(0.0, 1.0) + theta[2] * table["v"] + theta[3] * table["w"]
    table["y"] = (rng.random(rows) < expit(eta + theta[4] * table["x"])).astype(float)
    effect = float(np.mean(expit(eta + theta[4]) - expit(eta)))
    return Case(
        table=table,
        graph=graph,
        options={"prior": prior},
        treatment="x",
        outcome="y",
        effect=effect,
        coefficient=("v", "y", float(theta[2])),
        edge=("w", "y", bool(present[3])),
        path=bool(present[4]),
    )


def products(rng: np.random.Generator) -> Case:
    """Draw a case whose outcome has a product of treatment and covariate, which is written down as a term."""
    graph = ad.CandidateGraph.from_tiers([["v", "w"], ["x"], ["y"]], 0.5)
    rows = 80
    table = {name: rng.standard_normal(rows) for name in ("v", "w")}
    present = rng.random(6) < 0.5
    theta = present * rng.standard_normal(6)
    table["x"] = theta[0] * table["v"] + theta[1] * table["w"] + rng.standard_normal(rows)
    slope = theta[4] + theta[5] * table["w"]
    table["y"] = slope * table["x"] + theta[2] * table["v"] + theta[3] * table["w"] + rng.standard_normal(rows)
    options = {"prior": ad.Prior(link=0.0), "terms": {"y": ["x*w"]}}
    return Case(table, graph, options, "x", "y", float(slope.mean()), path=bool(present[4] or present[5]))


def bends(rng: np.random.Generator) -> Case:
    """Draw a case with a yes/no treatment whose effect may differ, and covariates that may act along a curve."""
    graph = ad.CandidateGraph.from_tiers([["v", "w"], ["x"], ["y"]], 0.5)
    rows = 200
    table = {name: rng.standard_normal(rows) for name in ("v", "w")}
    theta = (rng.random(6) < 0.5) * rng.standard_normal(6)
    table["x"] = (rng.random(rows) < expit(theta[0] * table["v"])).astype(float)
    curve = theta[1] * table["v"] + theta[2] * np.maximum(table["v"], 0.0) + theta[3] * table["w"]
    curve = curve + theta[4] * np.minimum(table["w"] ** 2, 4.0)
    path = bool(rng.random() < 0.5)
    slope = path * (rng.standard_normal() + theta[5] * table["v"])
    table["y"] = curve + slope * table["x"] + rng.standard_normal(rows)
    return Case(table, graph, {"terms": "auto"}, "x", "y", float(slope.mean()), path=path)


def _mixture(mixture: Any) -> ad.Prior:
    return ad.Prior(noise=ad.priors.UnknownNoise(3.0, 2.0), coefficients=mixture, **RAW)


ROWS = (
    Row("exact; known noise, fixed slab", small(KNOWN, engine="exact")),
    Row("exact; unknown noise, fixed slab", small(PROPER, engine="exact")),
    Row("exact; flat intercept and noise, fixed slab", small(FLAT, engine="exact")),
    Row("exact; learned slab (default without link)", small(LEARNED, engine="exact")),
    Row("exact; one learned slab for all", small(ad.Prior(slab=ad.priors.LearnedSlab(shared=True), link=0.0))),
    Row("exact; hyper-g slab", small(ad.Prior(slab=ad.priors.HyperG(), link=0.0), engine="exact"), 0.5),
    Row(
        "exact; slab apart from the noise",
        small(ad.Prior(1.0, ad.priors.UnknownNoise(3.0, 2.0, scales_slab=False), **RAW), engine="exact"),
        0.5,
    ),
    Row(
        "exact; learned edge probability",
        small(ad.Prior(edges=ad.priors.BetaBinomial(), link=0.0), EVEN, engine="exact"),
    ),
    Row("exact; score-equivalent noise, order known", small(ad.Prior(1.0, ad.priors.EquivalentNoise(), **RAW))),
    Row("exact; two candidate graphs", several_graphs),
    Row("exact; experimental rows", experiments),
    Row("exact; nothing known of the order", partial(unordered, "exact")),
    Row("full; every candidate edge is there", small(LEARNED, CERTAIN, engine="full")),
    Row("exact; ten covariates, learned slab", wide(LEARNED), 0.3),
    Row("certified; ten covariates, unknown noise", wide(FLAT, engine="certified"), 0.5),
    Row("certified; ten covariates, learned slab", wide(LEARNED, engine="certified"), 0.2),
    Row("mcmc; ten covariates, known noise", wide(KNOWN, engine="mcmc"), 0.3),
    Row("mcmc; ten covariates, learned slab", wide(LEARNED, engine="mcmc"), 0.2),
    Row("mcmc; nothing known of the order", partial(unordered, "mcmc"), 0.3),
    Row("auto; the paper's large graph, 1,020 edges", large, 0.05),
    Row("gibbs; NEG(2, 2)", small(_mixture(ad.priors.NEG(2.0, 2.0)), engine="gibbs"), 0.3),
    Row("gibbs; horseshoe", small(_mixture(ad.priors.Horseshoe(0.5)), engine="gibbs"), 0.3),
    Row("auto; link, one node after the treatment", linked, 0.5, truth="near"),
    Row("auto; a fifth of two columns imputed", imputed, 0.1, truth="near"),
    Row("auto; hidden cause, stated strength", partial(hidden, 1.0), 0.3, truth="near"),
    Row("auto; hidden cause, stated strength, no link", partial(hidden, 0.0), 0.3, truth="near"),
    Row("auto; Student noise of the outcome", heavy_tails, 0.3),
    Row("auto; yes/no outcome, 200 rows", partial(yes_no, 200), 0.5, truth="near"),
    Row("auto; yes/no outcome, 60 rows", partial(yes_no, 60), 0.5, truth="near"),
    Row("auto; terms written down", products, truth="near"),
    Row("auto; terms='auto'", bends, 0.1, truth="near"),
    Row("vb; NEG(2, 2)", small(_mixture(ad.priors.NEG(2.0, 2.0)), engine="vb"), approximates=True),
    Row("vb; horseshoe", small(_mixture(ad.priors.Horseshoe(0.5)), engine="vb"), approximates=True),
    Row("em; NEG(2, 2)", small(_mixture(ad.priors.NEG(2.0, 2.0)), engine="em"), approximates=True),
    Row("k2; one graph, learned slab", small(LEARNED, engine="k2"), approximates=True),
)
