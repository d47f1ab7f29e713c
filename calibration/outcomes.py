"""``python -m calibration.outcomes [--sets 200] [--first 90000]``: effects on amounts and grades, by family.

Six covariates: two confounders, one that drives the treatment only, two the outcome only, one that does nothing; the
treatment is yes or no, its edge to the outcome is certain, and no curves are looked for. The truth is the mean
difference of the rows' true means. Amounts are log-normal or gamma around ``exp`` of the predictor, and each is fitted
by both families, by straight lines and with Student's noise; grades are cut from a logistic variable;
amounts with zeros are two-part and gamma, both parts with the same predictor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration.keep import FOLDER, markdown, run
from calibration.lines import fit

NAMES = tuple(f"c{i}" for i in range(6))
ON_TREATMENT = np.array([0.6, -0.4, 0.5, 0.0, 0.0, 0.0])
ON_OUTCOME = np.array([0.4, -0.3, 0.0, 0.3, -0.3, 0.0])
EFFECT = 0.3
GRAPH = ad.CandidateGraph.from_tiers([NAMES, ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
Made = tuple[FloatArray, Callable[[FloatArray], FloatArray]]


def log_normal(eta: FloatArray, rng: np.random.Generator) -> Made:
    """Return amounts with log noise of standard deviation 0.9, and their mean as a function of the predictor."""
    return np.exp(eta + 0.9 * rng.standard_normal(len(eta))), lambda at: np.exp(at + 0.405)


def gamma(eta: FloatArray, rng: np.random.Generator) -> Made:
    """Return amounts of shape 1.2, and their mean."""
    return np.exp(eta) * rng.gamma(1.2, 1 / 1.2, len(eta)), np.exp


def grades(eta: FloatArray, rng: np.random.Generator) -> Made:
    """Return grades from 1 to 5, and the mean grade."""
    cuts = np.array([-0.5, 0.5, 1.5, 2.5])

    def mean(at: FloatArray) -> FloatArray:
        return np.asarray(1.0 + (1.0 / (1.0 + np.exp(cuts[:, None] - 2.0 * at))).sum(axis=0))

    return 1.0 + (2.0 * eta + rng.logistic(size=len(eta)) > cuts[:, None]).sum(axis=0), mean


def hurdle(eta: FloatArray, rng: np.random.Generator) -> Made:
    """Return amounts of shape 1.2, of which about four of ten are 0, more where they are small, and their mean."""
    some = rng.random(len(eta)) < _chance(eta)
    return some * gamma(eta, rng)[0], lambda at: _chance(at) * np.exp(at)


def _chance(eta: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(0.5 - eta)))


WORLDS: dict[str, tuple[Callable[[FloatArray, np.random.Generator], Made], tuple[str, ...]]] = {
    "log-normal": (log_normal, ("lognormal", "gamma", "normal", "student")),
    "gamma": (gamma, ("gamma", "lognormal", "normal", "student")),
    "grades": (grades, ("ordered", "normal")),
    "zeros": (hurdle, ("hurdle", "normal")),
}


@dataclass(frozen=True)
class Outcome:
    """What one fit of one data set says, and the truth."""

    world: str
    rows: int
    seed: int
    family: str
    truth: float
    mean: float
    low: float
    high: float
    seconds: float


def fitted(task: tuple[str, int, int]) -> list[Outcome]:
    """Make a data set and fit it by each family."""
    world, rows, seed = task
    rng = np.random.default_rng([list(WORLDS).index(world), rows, seed])
    c = rng.standard_normal((rows, 6)) @ np.linalg.cholesky(0.3 ** np.abs(np.subtract.outer(range(6), range(6)))).T
    x = (rng.random(rows) < 1.0 / (1.0 + np.exp(-c @ ON_TREATMENT))).astype(float)
    make, families = WORLDS[world]
    base = 1.0 + c @ ON_OUTCOME
    y, mean = make(base + EFFECT * x, rng)
    truth = float((mean(base + EFFECT) - mean(base)).mean())
    table = dict(zip(NAMES, c.T, strict=True)) | {"x": x, "y": y}
    found = []
    for family in families:
        start = time.process_time()
        effect = fit(table, GRAPH, rng=seed, families={"y": family}).effect("x", "y")
        answer = effect.mean, *effect.interval()
        found.append(Outcome(world, rows, seed, family, truth, *answer, time.process_time() - start))
    return found


def summary(records: list[Outcome]) -> str:
    """Return a line for each world, number of rows and family."""
    cells = sorted(
        {(r.world, r.rows, r.family) for r in records}, key=lambda c: (c[0], c[1], WORLDS[c[0]][1].index(c[2]))
    )
    lines = []
    for world, rows, family in cells:
        own = [r for r in records if (r.world, r.rows, r.family) == (world, rows, family)]
        error = np.array([r.mean - r.truth for r in own])
        covered = np.mean([r.low <= r.truth <= r.high for r in own])
        width = np.mean([r.high - r.low for r in own])
        lines.append([
            world, f"{rows:,}", family, f"{len(own)}", f"{np.mean([r.truth for r in own]):.3f}", f"{error.mean():+.3f}",
            f"{np.sqrt((error**2).mean()):.3f}", f"{100 * covered:.1f}%", f"{width:.2f}",
            f"{np.mean([r.seconds for r in own]):.2f}",
        ])  # fmt: skip
    head = ("outcome", "rows", "fitted as", "sets", "truth", "bias", "rmse", "95% covers", "width", "CPU seconds")
    return markdown(head, lines)


def main() -> None:
    """Run what is not kept yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--first", type=int, default=90_000, help="seed of the first")
    parser.add_argument("--world", choices=list(WORLDS), action="append", help="these only")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.sets)
    chosen = options.world or list(WORLDS)
    tasks = {(world, rows, seed): (world, rows, seed) for world in chosen for rows in (300, 1000) for seed in seeds}
    found = run(FOLDER / "outcomes.csv", Outcome, fitted, tasks, digits=".5g")
    text = summary(found)
    print(text)
    write_text(FOLDER / "outcomes.md", text + "\n")


if __name__ == "__main__":
    main()
