"""Truth from the prior itself when every direction is open: ``python -m calibration.open_prior [--sets 300]``.

Five variables of which nothing is known, 50 rows, no intercept, raw units: graph, noise variances and coefficients are
drawn from the prior of the fit, so that intervals must cover and probabilities of a path must come true.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration.keep import FOLDER
from calibration.lines import fit
from calibration.orders import all_effects
from calibration.worlds import draw_unordered

NAMES = [f"x{i}" for i in range(5)]
GRAPH = ad.CandidateGraph.unordered(NAMES, 0.5)
PRIOR = ad.Prior(1.0, ad.priors.EquivalentNoise(2.0), units="raw", intercept=False, link=0.0)
LEVELS = (0.5, 0.8, 0.95)


def one_set(seed: int, rows: int = 50) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return coverage at each level, and the probability of a path and whether there is one for each pair."""
    rng = np.random.default_rng(seed)
    world = draw_unordered(GRAPH, PRIOR, rows, rng)
    posterior = fit(world.rows, GRAPH, names=world.names, prior=PRIOR, rng=seed)
    order = [world.names.index(name) for name in NAMES]
    effects = world.effects[np.ix_(order, order)]
    draws = all_effects(posterior, rng)
    there = np.abs(effects) > 1e-12
    off = ~np.eye(5, dtype=bool)
    ends = [np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0) for level in LEVELS]
    covered = [((low - 1e-12 <= effects) & (effects <= high + 1e-12))[off].mean() for low, high in ends]
    chance = (draws != 0.0).mean(axis=0)[off]
    return np.array(covered), chance, there[off]


def table(sets: int) -> str:
    """Return the page's tables."""
    runs = [one_set(seed) for seed in range(50_000, 50_000 + sets)]
    covered = np.array([run[0] for run in runs])
    lines = ["| central interval | covers |", "| --- | --- |"]
    for i, level in enumerate(LEVELS):
        error = covered[:, i].std() / math.sqrt(sets)
        lines.append(f"| {100 * level:g}% | {100 * covered[:, i].mean():.1f} ± {100 * error:.1f}% |")
    chance, real = (np.concatenate([run[i] for run in runs]) for i in (1, 2))
    lines += ["", "| P(path) | pairs | predicted | found |", "| --- | --- | --- | --- |"]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (chance >= low) & (chance < low + 0.2 + 1e-9)
        predicted, found = chance[inside].mean(), real[inside].mean()
        lines.append(f"| {low:.1f} to {low + 0.2:.1f} | {inside.sum()} | {predicted:.3f} | {found:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300, help="data sets")
    text = table(parser.parse_args().sets)
    print(text)
    FOLDER.mkdir(exist_ok=True)
    write_text(FOLDER / "open_prior.md", text + "\n")
