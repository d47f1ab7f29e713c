"""``python -m calibration.levels [--sets 200] [--first 130000]``: effects on a category, and through one.

Six covariates: two confounders, one that drives the treatment only, two the outcome only, one that does nothing; the
treatment is yes or no, and no curves are looked for. "outcome" is one of four levels, asked about are the commonest and
the rarest; "mediator" is one of three levels between the treatment and a number, on which the treatment may act
directly, too, and does not. The truth is the mean difference of the rows' true means.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration.keep import FOLDER, markdown, run
from calibration.lines import fit
from calibration.outcomes import NAMES, ON_OUTCOME, ON_TREATMENT

WORDS = np.array(["bus", "car", "train", "walk"])
BASE = np.array([0.0, 0.6, -0.4, -1.4])
BY_COVARIATES, BY_TREATMENT = np.array([0.0, 1.0, -1.0, 0.5]), np.array([0.0, 0.7, -0.3, 0.8])
SCORES = np.array([0.0, 1.5, -1.0])  # of the mediator's levels, in the number that follows from it
OUTCOME = ad.CandidateGraph.from_tiers([NAMES, ["x"], ["way"]], 0.5).with_edge("x", "way", 1.0)
MEDIATOR = ad.CandidateGraph.from_tiers([NAMES, ["x"], ["way"], ["y"]], 0.5)
MEDIATOR = MEDIATOR.with_edge("x", "way", 1.0).with_edge("way", "y", 1.0)


@dataclass(frozen=True)
class Levelled:
    """What one fit of one data set says, and the truth."""

    world: str
    rows: int
    seed: int
    asked: str
    truth: float
    mean: float
    low: float
    high: float
    seconds: float


def probabilities(c: FloatArray, x: FloatArray | float, levels: int) -> FloatArray:
    """Return the true probability of each level in each row, shape (rows, levels)."""
    eta = BASE[:levels] + np.outer(c @ ON_OUTCOME, BY_COVARIATES[:levels])
    eta = np.exp(eta + np.outer(np.broadcast_to(x, len(c)), BY_TREATMENT[:levels]))
    return np.asarray(eta / eta.sum(axis=1, keepdims=True))


def fitted(task: tuple[str, int, int]) -> list[Levelled]:
    """Make a data set and fit it."""
    world, rows, seed = task
    rng = np.random.default_rng([len(world), rows, seed])
    c = rng.standard_normal((rows, 6)) @ np.linalg.cholesky(0.3 ** np.abs(np.subtract.outer(range(6), range(6)))).T
    x = (rng.random(rows) < 1.0 / (1.0 + np.exp(-c @ ON_TREATMENT))).astype(float)
    count = 4 if world == "outcome" else 3
    code = (rng.random(rows)[:, None] > probabilities(c, x, count).cumsum(axis=1)[:, :-1]).sum(axis=1)
    gaps = (probabilities(c, 1.0, count) - probabilities(c, 0.0, count)).mean(axis=0)
    table = dict(zip(NAMES, c.T, strict=True)) | {"x": x, "way": WORDS[code]}
    start = time.process_time()
    if world == "mediator":
        table["y"] = SCORES[code] + c @ ON_OUTCOME + rng.standard_normal(rows)
        effect = fit(table, MEDIATOR, rng=seed, families={"way": "categorical"}).effect("x", "y")
        answers = {"y": (float(gaps @ SCORES), effect.mean, *effect.interval())}
    else:
        answers = {}
        posterior = fit(table, OUTCOME, rng=seed, families={"way": "categorical"})
        found = posterior.effect("x", "way").probability.levels()
        for place in (1, 3):
            at = found["level"].index(WORDS[place])
            own = (found[name][at] for name in ("difference", "low", "high"))
            answers[str(WORDS[place])] = (float(gaps[place]), *own)
    seconds = time.process_time() - start
    return [Levelled(world, rows, seed, asked, *answer, seconds) for asked, answer in answers.items()]


def summary(records: list[Levelled]) -> str:
    """Return a line for each world, number of rows and what is asked."""
    lines = []
    for world, rows, asked in sorted({(r.world, r.rows, r.asked) for r in records}, reverse=True):
        own = [r for r in records if (r.world, r.rows, r.asked) == (world, rows, asked)]
        error = np.array([r.mean - r.truth for r in own])
        covered = np.mean([r.low <= r.truth <= r.high for r in own])
        lines.append([
            world, f"{rows:,}", asked, f"{len(own)}", f"{np.mean([r.truth for r in own]):+.3f}", f"{error.mean():+.3f}",
            f"{np.sqrt((error**2).mean()):.3f}", f"{100 * covered:.1f}%",
            f"{np.mean([r.high - r.low for r in own]):.3f}", f"{np.mean([r.seconds for r in own]):.2f}",
        ])  # fmt: skip
    head = ("category", "rows", "asked", "sets", "truth", "bias", "rmse", "95% covers", "width", "CPU seconds")
    return markdown(head, lines)


def main() -> None:
    """Run what is not kept yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--first", type=int, default=130_000, help="seed of the first")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.sets)
    cells = [("mediator", 300), ("outcome", 300), ("mediator", 1000), ("outcome", 1000)]
    tasks = {(world, rows, seed): (world, rows, seed) for world, rows in cells for seed in seeds}
    found = run(FOLDER / "levels.csv", Levelled, fitted, tasks, digits=".5g")
    text = summary(found)
    print(text)
    write_text(FOLDER / "levels.md", text + "\n")


if __name__ == "__main__":
    main()
