"""How well effects are found when directions are open: ``python -m calibration.orders [--sets 30]``.

Truth: a random order, two and a half edges a variable, coefficients of absolute size 0.2 to 1, noise variances 0.5 to
1.5; variables divided by their standard deviations. All ordered pairs count. *Nothing known* leaves every direction
open; *three tiers* tells which third of the order a variable is in; *order known* tells all of it.
"""

from __future__ import annotations

import argparse

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.models.order_block import carry_along
from alldags.typing import FloatArray
from calibration.keep import FOLDER
from calibration.lines import fit

VARIABLES = 9
ROWS = (50, 200, 800)
DRAWS = 4000


def truth(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return coefficients in topological order, row = cause, and noise standard deviations; variances are one."""
    m = VARIABLES
    chance = 2.5 / ((m - 1) / 2)
    size = rng.choice([-1.0, 1.0], (m, m)) * rng.uniform(0.2, 1.0, (m, m))
    coefficients = np.triu(size * (rng.random((m, m)) < chance), 1)
    noise = np.sqrt(rng.uniform(0.5, 1.5, m))
    effects = np.linalg.inv(np.eye(m) - coefficients)
    scale = np.sqrt(((effects * noise[:, None]) ** 2).sum(axis=0))
    return coefficients * scale[:, None] / scale[None, :], noise / scale


def graphs(names: list[str]) -> dict[str, ad.CandidateGraph]:
    """Return what may be known; `names` are in the true order."""
    thirds = [names[i : i + VARIABLES // 3] for i in range(0, VARIABLES, VARIABLES // 3)]
    return {
        "nothing known": ad.CandidateGraph.unordered(names, 0.5),
        "three tiers": ad.CandidateGraph.from_tiers(thirds, probability=0.5, within=0.5),
        "order known": ad.CandidateGraph.from_order(names, 0.5),
    }


def one_set(rows: int, seed: int) -> dict[str, FloatArray]:
    """Return for each kind of knowledge: squared error, whether covered, covered if not zero; shape (3,)."""
    rng = np.random.default_rng(seed)
    coefficients, noise = truth(rng)
    effects = np.linalg.inv(np.eye(VARIABLES) - coefficients)
    x = (rng.normal(size=(rows, VARIABLES)) * noise) @ effects
    names = [f"x{i}" for i in range(VARIABLES)]
    found = {}
    for what, graph in graphs(names).items():
        prior = ad.Prior(noise=ad.priors.EquivalentNoise(), link=0.0)
        posterior = fit(x, graph, names=names, prior=prior, rng=seed)
        draws = all_effects(posterior, rng)
        unit = x.std(axis=0, ddof=1)
        draws *= unit[None, None, :] / unit[None, :, None]
        off = ~np.eye(VARIABLES, dtype=bool)
        effects_found = posterior.effects()
        mean = np.array([[effects_found[a, b] for b in names] for a in names])
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        covered = (low - 1e-12 <= effects) & (effects <= high + 1e-12)
        real = off & (effects != 0.0)
        found[what] = np.array([((mean - effects)[off] ** 2).mean(), covered[off].mean(), covered[real].mean()])
    return found


def all_effects(posterior: ad.Posterior, rng: np.random.Generator) -> FloatArray:
    """Draw all total effects, in working units, shape (draws, m, m)."""
    model = posterior._models.items[0]
    place = {name: i for i, name in enumerate(model.graph.variables)}
    coefficients = np.zeros((DRAWS, len(place), len(place)))
    for block in model.blocks(model.graph.variables):
        for (cause, effect), values in block.draw(DRAWS, rng.spawn(1)[0]).edges():
            coefficients[:, place[cause], place[effect]] = values
    out = np.empty_like(coefficients)
    for i in range(len(place)):
        out[:, i] = carry_along(coefficients, np.zeros((DRAWS, len(place))), i, 1.0)
    return out


def table(sets: int) -> str:
    """Return the page's table."""
    names = ("", "rows", "squared error", "95% intervals cover", "... effects that are not zero")
    head = f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"
    lines = [head]
    for rows in ROWS:
        runs = [one_set(rows, seed) for seed in range(sets)]
        for what in runs[0]:
            error, covered, real = np.mean([run[what] for run in runs], axis=0)
            lines.append(f"| {what} | {rows} | {error:.4f} | {100 * covered:.0f}% | {100 * real:.0f}% |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=30, help="data sets for each number of rows")
    text = table(parser.parse_args().sets)
    print(text)
    FOLDER.mkdir(exist_ok=True)
    write_text(FOLDER / "orders.md", text + "\n")
