"""Total effects in two published linear-Gaussian networks, whose truths are known: the default prior against 0.1's.

Candidates of a node are its true parents and random earlier variables. ``python -m calibration.networks`` prints root
mean square errors of standardised total effects, of pairs with and without an effect, and coverage.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from benchmarks.bench_priors import simulate

import alldags as ad
from alldags.typing import FloatArray
from calibration.lines import fit

FOLDER = Path(os.environ.get("ALLDAGS_DATA", Path(__file__).parents[2] / "shared" / "data"))
PRIORS = {"0.1": ad.Prior.v01(), "learned slab": ad.Prior(link=0.0), "default": ad.Prior()}
CANDIDATES = 10  # random earlier variables beside the true parents


def truth(network: dict, order: list[str]) -> FloatArray:
    """Return the true total effect of each row's variable on each column's, in raw units."""
    matrix = np.zeros((len(order), len(order)))
    for j, child in enumerate(order):
        for parent in network["cpds"][child]["parents"]:
            matrix[order.index(parent), j] = network["cpds"][child]["coefficients"][parent][0]
    return np.linalg.inv(np.eye(len(order)) - matrix)


def candidates(network: dict, order: list[str], rng: np.random.Generator) -> ad.CandidateGraph:
    """Return the candidate graph."""
    edges = {}
    for j, child in enumerate(order):
        parents = network["cpds"][child]["parents"]
        others = [name for name in order[:j] if name not in parents]
        extra = rng.choice(len(others), min(CANDIDATES, len(others)), replace=False) if others else []
        edges |= {(name, child): 0.5 for name in [*parents, *(others[i] for i in extra)]}
    return ad.CandidateGraph(tuple(order), edges)


def one_set(network: dict, rows: int, seed: int, pairs: int = 16) -> list[tuple[str, bool, float, bool]]:
    """Return prior, whether there is an effect, standardised error and coverage for some pairs of one data set."""
    rng = np.random.default_rng([seed, rows])
    columns = simulate(network, rows, rng)
    order = list(columns)
    effects, graph = truth(network, order), candidates(network, order, rng)
    sds = np.array([columns[name].std() for name in order])
    scaled = effects * sds[:, None] / sds[None, :]
    possible = [
        (i, j) for i in range(len(order)) for j in range(i + 1, len(order)) if order[j] in graph.descendants(order[i])
    ]
    with_effect = [pair for pair in possible if abs(scaled[pair]) > 1e-9]
    without = [pair for pair in possible if abs(scaled[pair]) <= 1e-9]
    chosen = [group[i] for group in (with_effect, without) for i in rng.choice(len(group), pairs, replace=False)]
    found = []
    for label, prior in PRIORS.items():
        posterior = fit(columns, graph, prior=prior, rng=seed)
        for i, j in chosen:
            effect = posterior.effect(order[i], order[j])
            low, high = effect.interval(0.95)
            error = (effect.mean - effects[i, j]) * sds[i] / sds[j]
            found.append(
                (label, (i, j) in with_effect, float(error), bool(low - 1e-12 <= effects[i, j] <= high + 1e-12))
            )
    return found


def main(sets: int) -> None:
    """Print the table."""
    warnings.simplefilter("ignore", ad.AlldagsWarning)
    print("| network, rows | prior | error, with an effect | without | covered, with an effect | without |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in ("ecoli70", "magic-niab"):
        network = json.loads((FOLDER / "gbn" / f"{name}.json").read_text())
        for rows in (100, 500):
            results = [item for seed in range(1000, 1000 + sets) for item in one_set(network, rows, seed)]
            for label in PRIORS:
                mine = [item for item in results if item[0] == label]
                rms = [
                    np.sqrt(np.mean([e**2 for _, there, e, _ in mine if there == wanted])) for wanted in (True, False)
                ]
                cover = [np.mean([c for _, there, _, c in mine if there == wanted]) for wanted in (True, False)]
                print(
                    f"| {name}, {rows} | {label} | {rms[0]:.4f} | {rms[1]:.4f} | {cover[0]:.3f} | {cover[1]:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
