"""``python -m calibration.survival [--sets 200] [--n-jobs 1]``: restricted mean survival times against the truth.

Two worlds of 500 rows, about 30% of them censored, with a confounded treatment and six candidate covariates, of which
three act: Weibull times with proportional hazards, and hazards that cross, where the treatment harms early and helps
late. Compared with g-computation by a Cox regression that is told which covariates act. Truth is the difference of the
restricted means of the rows themselves, up to the horizon that the answer chose. Seeds below 1,000 were used for
choices.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key

ROWS, COVARIATES = 500, 6
WORLDS = ("weibull", "crossing")
METHODS = ("cox", "straight", "one ratio", "default")  # the last with curves
_ON_TIME = np.array([0.6, -0.4, 0.0, 0.5, 0.0, 0.0])
_ON_TREATMENT = np.array([0.7, -0.5, 0.4, 0.0, 0.0, 0.0])
_TURN, _EARLY, _LATE = 0.6, 0.7, -1.2  # of crossing hazards: when, and the log hazard ratios before and after
_GRID = 2000


@dataclass(frozen=True)
class Result:
    """What one method said of one data set: estimate, interval, and the truth."""

    world: str
    seed: int
    method: str
    estimate: float
    low: float
    high: float
    truth: float
    censored: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def cumulative(world: str, times: FloatArray, arm: float) -> FloatArray:
    """Return the cumulative hazard of a row of risk one, at times of any shape."""
    if world == "weibull":
        return np.asarray(times**1.5 * np.exp(-0.5 * arm))
    early, late = np.exp(_EARLY * arm), np.exp(_LATE * arm)
    return np.asarray(early * np.minimum(times, _TURN) + late * np.maximum(times - _TURN, 0.0))


def drawn_times(world: str, risk: FloatArray, arm: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return times until the event."""
    left = rng.exponential(size=len(risk)) / risk
    if world == "weibull":
        return np.asarray((left * np.exp(0.5 * arm)) ** (1.0 / 1.5))
    early, late = np.exp(_EARLY * arm), np.exp(_LATE * arm)
    return np.asarray(np.where(left <= early * _TURN, left / early, _TURN + (left - early * _TURN) / late))


def table_of(world: str, seed: int) -> dict[str, FloatArray]:
    """Return a data set."""
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    x = rng.standard_normal((ROWS, COVARIATES))
    treated = (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-x @ _ON_TREATMENT))).astype(float)
    time = drawn_times(world, np.exp(x @ _ON_TIME), treated, rng)
    until = rng.exponential(2.6 if world == "weibull" else 3.2, ROWS)
    found = {f"x{i + 1}": x[:, i] for i in range(COVARIATES)}
    return {**found, "treated": treated, "time": np.minimum(time, until), "died": (time <= until).astype(float)}


def truth_of(world: str, table: dict[str, FloatArray], horizon: float) -> float:
    """Return the mean over rows of the difference of restricted means."""
    grid = (np.arange(_GRID) + 0.5) * horizon / _GRID
    risk = np.exp(np.column_stack([table[f"x{i + 1}"] for i in range(COVARIATES)]) @ _ON_TIME)
    means = [np.exp(-risk[:, None] * cumulative(world, grid, arm)).mean() * horizon for arm in (0.0, 1.0)]
    return float(means[1] - means[0])


def graph() -> ad.CandidateGraph:
    """Return the candidate graph: every covariate may act on both, and that the treatment acts is certain."""
    names = [f"x{i + 1}" for i in range(COVARIATES)]
    edges = {(name, child): 0.5 for child in ("treated", "time") for name in names}
    return ad.CandidateGraph.from_edges({**edges, ("treated", "time"): 1.0})


def run(task: tuple[str, int, str]) -> list[Result]:
    """Return what one method says of one data set."""
    world, seed, method = task
    table = table_of(world, seed)
    family = ad.Survival(event="died", changing=method != "one ratio")
    terms = "auto" if method == "default" else None
    posterior = ad.fit(table, graph(), families={"time": family}, terms=terms, rng=seed)
    placed = posterior.workings.data.about("treated").families["time"]
    assert isinstance(placed, ad.Survival)
    assert placed.until is not None
    if method == "cox":
        found = (cox(table, placed.until), np.nan, np.nan)
    else:
        effect = posterior.effect("treated", "time")
        found = (effect.mean, *effect.interval(0.95))
    truth, censored = truth_of(world, table, placed.until), 1.0 - float(table["died"].mean())
    return [Result(world, seed, method, *found, truth, censored)]


# -- a Cox regression, and what its curves give ------------------------------------------------------------------------


def cox(table: dict[str, FloatArray], horizon: float) -> float:
    """Return the difference of restricted means by g-computation from a Cox regression with the true covariates."""
    places = np.flatnonzero(_ON_TIME)
    design = np.column_stack([table["treated"], *(table[f"x{i + 1}"] for i in places)])
    order = np.argsort(table["time"])
    design, time, died = design[order], table["time"][order], table["died"][order]
    beta = np.zeros(design.shape[1])
    for _ in range(25):
        risk = np.exp(design @ beta)
        total, first, second = (
            _later(part) for part in (risk, risk[:, None] * design, risk[:, None, None] * _squares(design))
        )
        mean = first / total[:, None]
        gradient = died @ (design - mean)
        information = np.einsum("n,nij->ij", died, second / total[:, None, None] - _squares(mean))
        beta = beta + np.linalg.solve(information, gradient)
    risk = np.exp(design @ beta)
    hazard = np.cumsum(died / _later(risk))
    inside = time <= horizon
    widths = np.diff(np.append(np.append(0.0, time[inside]), horizon))
    steps = np.append(0.0, hazard[inside])
    means = []
    for arm in (0.0, 1.0):
        moved = risk * np.exp(beta[0] * (arm - design[:, 0]))
        means.append(float((np.exp(-moved[:, None] * steps) @ widths).mean()))
    return means[1] - means[0]


def _later(values: FloatArray) -> FloatArray:
    """Return sums over all rows from each on."""
    return np.asarray(np.cumsum(values[::-1], axis=0)[::-1])


def _squares(values: FloatArray) -> FloatArray:
    return np.asarray(values[:, :, None] * values[:, None, :])


def table(results: Sequence[Result]) -> str:
    """Return the results in Markdown."""
    lines = [
        "| world | method | sets | truth | bias | error | over Cox | covered | width |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for world in WORLDS:
        errors = {
            method: np.array(
                [one.estimate - one.truth for one in results if (one.world, one.method) == (world, method)]
            )
            for method in METHODS
        }
        for method, off in errors.items():
            own = [one for one in results if (one.world, one.method) == (world, method)]
            if not own:
                continue
            error, cox_error = (float(np.sqrt(np.mean(part**2))) for part in (off, errors["cox"]))
            covered, width = np.mean([one.covered for one in own]), np.mean([one.high - one.low for one in own])
            said = "| |" if method == "cox" else f"| {covered:.3f} | {width:.3f} |"
            truth = np.mean([one.truth for one in own])
            numbers = f"{truth:.3f} | {off.mean():+.4f} | {error:.4f} | {error / cox_error:.2f} {said}"
            lines.append(f"| {world} | {method} | {len(own)} | {numbers}")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each world")
    parser.add_argument("--first-seed", type=int, default=95_000)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[str, int, str]] = {
        (world, seed, method): (world, seed, method) for method in METHODS for seed in seeds for world in WORLDS
    }
    results = keep.run(FOLDER / "survival.csv", Result, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = table(results)
    print(text)
    if options.first_seed >= 1000:
        write_text(FOLDER / "survival.md", text + "\n")


if __name__ == "__main__":
    main()
