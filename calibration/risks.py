"""``python -m calibration.risks [--sets 200] [--n-jobs 1]``: coverage and error of differences of risk.

Eight covariates: three confounders, two that drive the treatment only, two the outcome only, one that does nothing. The
truth is the difference of risk in the population. Compared are the default, straight lines (``families="normal"``), and
g-computation from a maximum-likelihood fit of the full model with its delta-method interval.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key
from calibration.lines import fit

NAMES = tuple(f"c{i}" for i in range(8))
ON_TREATMENT = np.array([1.0, 1.0, -0.7, 0.6, -0.6, 0.0, 0.0, 0.0])
ON_OUTCOME = np.array([1.0, 0.8, -0.6, 0.0, 0.0, 0.7, -0.7, 0.0])
GRAPH = ad.CandidateGraph.from_tiers([NAMES, ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)


@dataclass(frozen=True)
class Cell:
    """A design: strengths of the covariates on treatment and outcome, log odds ratio of the treatment, rate, rows."""

    name: str
    treatment: float
    outcome: float
    effect: float
    rate: float
    rows: int

    @property
    def key(self) -> str:
        """Name and size."""
        return f"{self.name}, {self.rows:,} rows"


DESIGNS = (
    ("balanced", 0.5, 0.6, 0.8, 0.4),
    ("rare", 0.5, 0.6, 0.8, 0.05),
    ("strong confounding", 1.2, 1.5, 1.0, 0.4),
    ("strong confounding, rare", 1.0, 1.2, 1.0, 0.07),
    ("strong confounding, no effect", 1.2, 1.5, 0.0, 0.4),
)
CELLS = tuple(Cell(*design, rows) for rows in (1000, 200) for design in DESIGNS)


@dataclass(frozen=True)
class Outcome:
    """One data set: truth, and estimate with the ends of the 95% interval of each method."""

    cell: str
    seed: int
    truth: float
    estimate: float
    low: float
    high: float
    line: float
    line_low: float
    line_high: float
    likelihood: float
    likelihood_low: float
    likelihood_high: float
    sampled: bool


def covariates(cell: Cell, rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return covariates (rows, 8), treatment and the outcome's predictor without treatment and intercept."""
    root = np.linalg.cholesky(0.3 ** np.abs(np.subtract.outer(range(8), range(8))))
    c = rng.standard_normal((rows, 8)) @ root.T
    c[:, 1], c[:, 5] = c[:, 1] > 0.5, c[:, 5] > 0.0
    x = (rng.random(rows) < expit(cell.treatment * (c @ ON_TREATMENT - 0.4))).astype(float)
    return c, x, cell.outcome * (c @ ON_OUTCOME)


@cache
def truth(cell: Cell) -> tuple[float, float]:
    """Return intercept and difference of risk in the population."""
    _, x, eta = covariates(cell, 400_000, np.random.default_rng(99))
    low, high = -20.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + eta + cell.effect * x).mean() < cell.rate else (low, middle)
    return middle, float((expit(middle + eta + cell.effect) - expit(middle + eta)).mean())


def maximum_likelihood(z: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """Return the difference of risk by g-computation, and its 95% interval; the treatment is the last column."""
    point = np.zeros(z.shape[1])
    point[0] = math.log(y.mean() / (1 - y.mean()))
    for _ in range(50):
        p = expit(z @ point)
        information = (z * (p * (1 - p))[:, None]).T @ z + 1e-6 * np.eye(len(point))
        step = np.linalg.solve(information, z.T @ (y - p))
        point = point + step * min(1.0, 5.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    ones, zeros = z.copy(), z.copy()
    ones[:, -1], zeros[:, -1] = 1.0, 0.0
    high, low = expit(ones @ point), expit(zeros @ point)
    slope = (ones * (high * (1 - high))[:, None] - zeros * (low * (1 - low))[:, None]).mean(axis=0)
    gap = high - low
    half = 1.96 * math.sqrt(slope @ np.linalg.solve(information, slope) + gap.var() / len(y))
    return float(gap.mean()), float(gap.mean() - half), float(gap.mean() + half)


def run(task: tuple[int, int]) -> list[Outcome]:
    """Return what one data set gives; nothing if it has fewer than two events or treated rows."""
    cell, seed = CELLS[task[0]], task[1]
    intercept, effect = truth(cell)
    rng = np.random.default_rng([task[0], seed])
    c, x, eta = covariates(cell, cell.rows, rng)
    y = (rng.random(cell.rows) < expit(intercept + eta + cell.effect * x)).astype(float)
    if y.sum() < 2 or x.sum() < 2:
        return []
    table = dict(zip(NAMES, c.T, strict=True)) | {"x": x, "y": y}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        found = fit(table, GRAPH, rng=seed).effect("x", "y", over="population")
        line = fit(table, GRAPH, rng=seed, families="normal").effect("x", "y")
        ends = (*found.interval(), line.mean, *line.interval())
    full = maximum_likelihood(np.column_stack([np.ones(cell.rows), c, x]), y)
    sampled = "polya-gamma" in found.uncertainty.engines.values()
    return [Outcome(cell.key, seed, effect, found.mean, ends[0], ends[1], *ends[2:], *full, sampled)]


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=0, help="only cells with so many rows")
    options = parser.parse_args()
    chosen = [i for i, cell in enumerate(CELLS) if options.rows in (0, cell.rows)]
    tasks: dict[Key, tuple[int, int]] = {(CELLS[i].key, s): (i, s) for s in range(options.sets) for i in chosen}
    found = keep.run(FOLDER / "risks.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = tabulate(found)
    print(text)
    write_text(FOLDER / "risks.md", text + "\n")


def tabulate(outcomes: Sequence[Outcome]) -> str:
    """Return bias, error and coverage of each cell in Markdown: default, straight lines, maximum likelihood."""
    lines = [
        "| design (difference of risk) | sets | bias: default / lines / likelihood | rmse | covered by 95% intervals | "
        "sampled |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for cell in CELLS:
        items = [item for item in outcomes if item.cell == cell.key]
        if items:
            lines.append(_row(cell, items))
    return "\n".join(lines)


def _row(cell: Cell, items: Sequence[Outcome]) -> str:
    names = (("estimate", "low", "high"), ("line", "line_low", "line_high"))
    names += (("likelihood", "likelihood_low", "likelihood_high"),)
    effect = items[0].truth
    bias, error, covered = [], [], []
    for point, low, high in names:
        gap = np.array([getattr(item, point) - effect for item in items])
        bias.append(f"{gap.mean():+.3f}")
        error.append(f"{math.sqrt((gap**2).mean()):.3f}")
        covered.append(f"{np.mean([getattr(item, low) <= effect <= getattr(item, high) for item in items]):.3f}")
    sampled = sum(item.sampled for item in items)
    parts = (f"{cell.key} ({effect:.3f})", str(len(items)), *(" / ".join(part) for part in (bias, error, covered)))
    return f"| {' | '.join(parts)} | {sampled} |"


if __name__ == "__main__":
    main()
