"""``python -m calibration.arms [--sets 200] [--n-jobs 1]``: coverage of contrasts of a category as the treatment.

An arm with three levels that two covariates drive, and a category of three levels that drives it, too; one covariate
drives the outcome only, one does nothing. The outcome is normal, yes/no, a count or heavy-tailed, directly or through a
mediator; the edge from the arm is certain. The truth is the difference of mean outcomes in the population. Each
contrast is held against its own interval, and all three at once against the wide ones.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray, IntArray
from calibration import keep
from calibration.keep import FOLDER, Key
from calibration.lines import fit

LEVELS = ("none", "half", "full")
PAIRS = tuple(itertools.combinations(range(3), 2))
SITES = ("east", "north", "west")
FIRST_SEED = 50_000


@dataclass(frozen=True)
class Cell:
    """A design: kind of the outcome, whether the arm acts through a mediator, too, and rows."""

    kind: str
    mediated: bool
    rows: int

    @property
    def key(self) -> str:
        """Name and size."""
        return f"{self.kind}{', through a mediator' if self.mediated else ''}, {self.rows:,} rows"


CELLS = (
    Cell("yes/no", False, 600),
    Cell("yes/no", True, 600),
    Cell("normal", True, 300),
    Cell("count", False, 600),
    Cell("heavy tails", False, 300),
    Cell("normal", False, 300),
    Cell("count", True, 600),
    Cell("heavy tails", True, 300),
)
FAMILIES: dict[str, Any] = {"count": {"y": "poisson"}, "heavy tails": {"y": "student"}}


@dataclass(frozen=True)
class Outcome:
    """One contrast of one data set: truth, estimate, ends of the 95% interval, and whether all three held at once."""

    cell: str
    seed: int
    start: str
    stop: str
    truth: float
    estimate: float
    sd: float
    low: float
    high: float
    together: bool


def graph(cell: Cell) -> ad.CandidateGraph:
    """Return the candidate graph: what acts on the arm, and on the outcome."""
    between = [["m"]] if cell.mediated else []
    found = ad.CandidateGraph.from_tiers([["a", "b", "c", "d", "site"], ["arm"], *between, ["y"]], 0.5)
    return found.with_edge("arm", "y", 1.0)


@dataclass(frozen=True, eq=False)
class World:
    """Rows of a population: covariates, arm, and what noise of the mediator and the outcome is made of."""

    covariates: FloatArray
    site: IntArray
    arm: IntArray
    noise: FloatArray

    def predictor(self, cell: Cell, arm: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the mediator and the outcome's predictor under some arms."""
        dose = np.array([0.0, 0.5, 0.9])[arm]
        a, _, c, _ = self.covariates.T
        m = 0.8 * dose + 0.4 * a + self.noise
        own = 0.6 * a + 0.5 * c + np.array([0.0, 0.7, -0.5])[self.site]
        return m, own + (0.4 * dose + 0.5 * m if cell.mediated else 0.8 * dose) - 0.4

    def mean(self, cell: Cell, arm: IntArray) -> FloatArray:
        """Return each row's mean outcome under some arms."""
        eta = self.predictor(cell, arm)[1]
        return expit(eta) if cell.kind == "yes/no" else np.exp(0.5 * eta) if cell.kind == "count" else eta


def world(rows: int, rng: np.random.Generator) -> World:
    """Return rows in which a, b and the site drive the arm."""
    covariates, site = rng.standard_normal((rows, 4)), rng.integers(0, 3, rows)
    a, b = covariates[:, 0], covariates[:, 1]
    north = (site == 1) * 0.6
    odds = np.exp(np.column_stack([np.zeros(rows), 0.7 * a + north, 0.5 * b - 0.4 * a + 2 * north]))
    shares = (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
    arm = (rng.random(rows)[:, None] > shares).sum(axis=1).clip(max=2)
    return World(covariates, site, arm, rng.standard_normal(rows))


@cache
def truth(cell: Cell) -> tuple[float, ...]:
    """Return the mean outcome of a large population under each level."""
    everyone = world(1_000_000, np.random.default_rng(99))
    levels = (np.full(len(everyone.arm), level) for level in range(3))
    return tuple(float(everyone.mean(cell, arm).mean()) for arm in levels)


def drawn(cell: Cell, made: World, rng: np.random.Generator) -> dict[str, Any]:
    """Return a table."""
    mean = made.mean(cell, made.arm)
    rows = len(mean)
    y = {
        "yes/no": lambda: (rng.random(rows) < mean).astype(float),
        "normal": lambda: mean + rng.standard_normal(rows),
        "count": lambda: rng.poisson(mean).astype(float),
        "heavy tails": lambda: mean + rng.standard_t(3, rows),
    }[cell.kind]()
    table: dict[str, Any] = dict(zip("abcd", made.covariates.T, strict=True))
    table |= {"site": np.array(SITES)[made.site], "arm": np.array(LEVELS)[made.arm], "y": y}
    return table | ({"m": made.predictor(cell, made.arm)[0]} if cell.mediated else {})


def run(task: tuple[int, int]) -> list[Outcome]:
    """Return the three contrasts of one data set."""
    cell, seed = CELLS[task[0]], task[1]
    rng = np.random.default_rng([task[0], seed])
    table = drawn(cell, world(cell.rows, rng), rng)
    means = dict(zip(LEVELS, truth(cell), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        posterior = fit(table, graph(cell), rng=seed, families=FAMILIES.get(cell.kind, "auto"))
        rows = list(posterior.effect("arm", "y", over="population").contrasts().table.rows())
    gaps = [means[row["stop"]] - means[row["start"]] for row in rows]
    held = all(row["low_all"] <= gap <= row["high_all"] for row, gap in zip(rows, gaps, strict=True))
    return [
        Outcome(cell.key, seed, row["start"], row["stop"], gap, row["mean"], row["sd"], row["low"], row["high"], held)
        for row, gap in zip(rows, gaps, strict=True)
    ]


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.sets)
    tasks: dict[Key, tuple[int, int]] = {(cell.key, s): (i, s) for i, cell in enumerate(CELLS) for s in seeds}
    found = keep.run(FOLDER / "arms.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = tabulate(found)
    print(text)
    write_text(FOLDER / "arms.md", text + "\n")


def tabulate(outcomes: Sequence[Outcome]) -> str:
    """Return bias, spread, sd and coverage of each contrast in Markdown."""
    lines = [
        "| outcome | contrast (truth) | sets | bias | spread | sd | covered | all three at once |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in CELLS:
        own = [item for item in outcomes if item.cell == cell.key]
        pairs = dict.fromkeys((item.start, item.stop) for item in own)
        lines += [_row(cell, [item for item in own if (item.start, item.stop) == pair]) for pair in pairs]
    return "\n".join(lines)


def _row(cell: Cell, items: Sequence[Outcome]) -> str:
    truth_of = items[0].truth
    means = np.array([item.estimate for item in items])
    covered = np.mean([item.low <= truth_of <= item.high for item in items])
    together = np.mean([item.together for item in items])
    parts = (
        f"{items[0].start} to {items[0].stop} ({truth_of:.3f})", str(len(items)), f"{means.mean() - truth_of:+.3f}",
        f"{means.std():.3f}", f"{np.mean([item.sd for item in items]):.3f}", f"{covered:.3f}", f"{together:.3f}",
    )  # fmt: skip
    return f"| {cell.key} | {' | '.join(parts)} |"


if __name__ == "__main__":
    main()
