"""Which prior: learned and fixed hyperparameters on data whose truth is known (ALLDAGS_DATA names the folder)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import alldags as ad
from alldags.datasets.public import ihdp, lbidd, lbidd_sets
from alldags.engines import Exact
from alldags.nodes import NodePosterior, node_problem, working_data
from benchmarks.report import Row

CANDIDATES = 14  # every prior can then be averaged exactly, grids included
DEFAULT = "slab variance 1"
PRIORS = {
    DEFAULT: ad.Prior.v01(),
    "slab variance 0.1": ad.Prior(slab_variance=0.1),
    "slab variance 10": ad.Prior(slab_variance=10.0),
    "slab apart from the noise": ad.Prior(noise=ad.priors.UnknownNoise(scales_slab=False)),
    "LearnedSlab (the default)": ad.Prior(),
    "GPrior('n')": ad.Prior(slab=ad.priors.GPrior("n")),
    "HyperG(3)": ad.Prior(slab=ad.priors.HyperG(3.0)),
    "ZellnerSiow": ad.Prior(slab=ad.priors.ZellnerSiow()),
    "BetaBinomial(1, 1)": ad.Prior(slab_variance=1.0, edges=ad.priors.BetaBinomial(1.0, 1.0)),
    "LearnedSlab + BetaBinomial(1, 1)": ad.Prior(slab=ad.priors.LearnedSlab(), edges=ad.priors.BetaBinomial(1.0, 1.0)),
}


def folder() -> Path:
    return Path(os.environ.get("ALLDAGS_DATA", Path(__file__).parents[2] / "shared" / "data"))


def run() -> list[Row]:
    if not folder().is_dir():
        return []
    return [*network_rows("ecoli70"), *network_rows("magic-niab"), *effect_rows("IHDP"), *effect_rows("LBIDD")]


def solve(table: np.ndarray, names: tuple[str, ...], prior: ad.Prior) -> NodePosterior:
    """Posterior of the last column given the others."""
    graph = ad.CandidateGraph.from_tiers([names[:-1], names[-1:]], 0.5)
    working = working_data(ad.Moments.from_table(table, names=names), prior, names)
    return Exact()(node_problem(working, graph, prior, names[-1]), np.random.default_rng(0))


# -- networks: which edges, which coefficients -----------------------------------------------------------------------


def simulate(network: dict, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    while len(columns) < len(network["nodes"]):
        for name in network["nodes"]:
            node = network["cpds"][name]
            if name not in columns and all(parent in columns for parent in node["parents"]):
                value = node["coefficients"]["(Intercept)"][0] + node["sd"][0] * rng.standard_normal(n)
                columns[name] = value + sum(node["coefficients"][p][0] * columns[p] for p in node["parents"])
    return columns


def nodes_of(
    network: dict, n: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, tuple[str, ...], np.ndarray]]:
    """Yield table, names and true coefficients (standardised) of nodes with parents, among earlier variables."""
    columns = simulate(network, n, rng)
    order = list(columns)
    for child in order[CANDIDATES:]:
        node = network["cpds"][child]
        if not 0 < len(node["parents"]) <= CANDIDATES:
            continue
        others = [name for name in order[: order.index(child)] if name not in node["parents"]]
        extra = rng.choice(len(others), CANDIDATES - len(node["parents"]), replace=False)
        parents = [*node["parents"], *(others[i] for i in extra)]
        truth = np.array([node["coefficients"].get(name, [0.0])[0] * columns[name].std() for name in parents])
        names = (*parents, child)
        yield np.column_stack([columns[name] for name in names]), names, truth / columns[child].std()


def network_rows(name: str, n: int = 100, repeats: int = 2) -> list[Row]:
    network = json.loads((folder() / "gbn" / f"{name}.json").read_text())
    scores: dict[str, list[tuple[float, float, float]]] = {label: [] for label in PRIORS}
    for repeat in range(repeats):
        for table, names, truth in nodes_of(network, n, np.random.default_rng(repeat)):
            for label, prior in PRIORS.items():
                found = solve(table, names, prior)
                right = np.where(truth != 0, found.inclusion, 1.0 - np.asarray(found.inclusion))
                score = -np.log(np.maximum(right, 1e-12)).sum()
                scores[label].append((score, float(((found.mean - truth) ** 2).sum()), float(found.log_evidence or 0)))
    base = np.array(scores[DEFAULT])
    rows = []
    for label, values in scores.items():
        gap = np.array(values) - base
        error = np.sqrt(np.array(values)[:, 1].mean() / CANDIDATES)
        note = f"against slab variance 1 {paired(gap[:, 0])}; coefficients rms {error:.4f}; "
        note += f"log evidence {paired(gap[:, 2])}; {len(values)} nodes"
        rows.append(Row(f"{name}, n = {n}, {label}: edges", np.array(values)[:, 0].mean(), "nats lost", note=note))
    return rows


def paired(gap: np.ndarray) -> str:
    """Mean difference and its standard error."""
    return f"{gap.mean():+.3f} (se {gap.std(ddof=1) / np.sqrt(len(gap)):.3f})"


# -- treatment effects -----------------------------------------------------------------------------------------------


def treated(kind: str) -> Iterator[tuple[np.ndarray, float]]:
    """Yield tables (strongest covariates, treatment, outcome) and true average effects."""
    data = (
        [ihdp(i, folder()) for i in range(1, 11)]
        if kind == "IHDP"
        else [lbidd(u, folder()) for u in lbidd_sets(folder())]
    )
    for one in data:
        x = one.covariates[:, one.covariates.std(axis=0) > 0]
        z = (x - x.mean(axis=0)) / x.std(axis=0)
        goals = np.column_stack([one.outcome, one.treatment])
        strength = np.abs(z.T @ ((goals - goals.mean(axis=0)) / goals.std(axis=0))).sum(axis=1)
        top = np.argsort(-strength)[: CANDIDATES - 1]
        yield np.column_stack([x[:, top], one.treatment, one.outcome]), one.effect


def effect_rows(kind: str) -> list[Row]:
    names = (*(f"x{i}" for i in range(CANDIDATES - 1)), "t", "y")
    errors: dict[str, list[tuple[float, float]]] = {label: [] for label in PRIORS}
    for table, truth in treated(kind):
        unit = table[:, -1].std() / table[:, -2].std()
        for label, prior in PRIORS.items():
            found = solve(table, names, prior)
            error = (found.mean[-1] * unit - truth) / table[:, -1].std()
            errors[label].append((abs(error), float(found.log_evidence or 0)))
    base = np.array(errors[DEFAULT])
    rows = []
    for label, values in errors.items():
        size, gap = np.array(values)[:, 0], np.array(values) - base
        note = f"against slab variance 1 {paired(gap[:, 0])}; median {np.median(size):.4f}; "
        note += f"rms {np.sqrt((size**2).mean()):.4f}; log evidence {paired(gap[:, 1])}; {len(values)} data sets"
        rows.append(Row(f"{kind}, {label}: effect", size.mean(), "mean error, sd of y", note=note))
    return rows
