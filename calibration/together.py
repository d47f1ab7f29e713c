"""``python -m calibration.together [--sets 200] [--only WORD]``: do 95% intervals hold where much is asked at once?

Three covariates, one of them bent, a category, a yes/no treatment and an outcome that is yes/no or a count. Rows may
come in 40 clusters of 20, with the treatment partly or fully the cluster's; they may be sampled with chances that
depend on a covariate and the outcome; and values of the bent covariate and of the category may be missing, depending
on the treatment and another covariate. The edge of the treatment is certain; the truth is the effect in the population.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from alldags.typing import FloatArray, IntArray
from calibration import keep
from calibration.keep import FOLDER, Key, markdown

LEVELS = np.array(["none", "some", "much"], dtype=object)
ON_TREATMENT, ON_OUTCOME = np.array([0.0, 0.8, -0.6]), np.array([0.0, 0.9, -0.6])
CLUSTERS, FIRST_SEED = 40, 60_000


@dataclass(frozen=True)
class Cell:
    """What is asked at once; `shared` is the part of the treatment's noise that a cluster shares, None: no clusters."""

    key: str
    count: bool = False
    category: bool = False
    shared: float | None = None
    sampled: bool = False
    gaps: bool = False
    rows: int = 800

    @property
    def graph(self) -> ad.CandidateGraph:
        """Covariates may act on treatment and outcome."""
        first = ["a", "b", "c", *(["level"] if self.category else [])]
        return ad.CandidateGraph.from_tiers([first, ["t"], ["y"]], 0.5).with_edge("t", "y", 1.0)


CELLS = (
    Cell("count, category, bend", count=True, category=True),
    Cell("yes/no, bend, treatment partly by cluster", shared=0.5),
    Cell("yes/no, bend, treatment by cluster", shared=1.0),
    Cell("yes/no, bend, sampling weights", sampled=True),
    Cell("all at once", category=True, shared=0.5, sampled=True, gaps=True),
)


@dataclass(frozen=True)
class World:
    """Rows of a population: clusters, covariates, level, treatment and mean outcome."""

    cluster: IntArray
    x: FloatArray
    level: IntArray
    t: FloatArray
    mean: FloatArray


def world(cell: Cell, rows: int, rng: np.random.Generator, do: float | None = None) -> World:
    """Draw rows in clusters of 20; with the treatment set, if `do` says so."""
    cluster = np.arange(rows) // 20
    count, shared = rows // 20, cell.shared or 0.0
    x = rng.standard_normal((rows, 3)) @ np.linalg.cholesky(0.7 * np.eye(3) + 0.3).T
    level = rng.integers(0, 3, rows) * int(cell.category)
    acts = np.abs(x[:, 0]) - 0.8
    noise = np.sqrt(shared) * rng.standard_normal(count)[cluster] + np.sqrt(1.0 - shared) * rng.standard_normal(rows)
    own = (0.5 * acts + 0.3 * x[:, 1] + ON_TREATMENT[level]) * (shared < 1.0)
    t = (own + noise > 0).astype(float) if do is None else np.full(rows, do)
    alike = 0.7 * rng.standard_normal(count)[cluster] * (cell.shared is not None)
    eta = -0.4 + 0.7 * t + acts + 0.4 * x[:, 1] + ON_OUTCOME[level] + alike
    return World(cluster, x, level, t, np.exp(0.5 * eta) if cell.count else expit(eta))


@cache
def truth(cell: Cell) -> float:
    """Return the effect in the population."""
    high, low = (world(cell, 1_000_000, np.random.default_rng(1), do).mean for do in (1.0, 0.0))
    return float(np.mean(high - low))


def table(cell: Cell, rng: np.random.Generator) -> dict[str, Any]:
    """Return a table, with the columns `cluster` and `weight` where they are asked for."""
    made = world(cell, cell.rows * (2 if cell.sampled else 1), rng)
    if cell.sampled and cell.shared is not None:  # as many clusters as without sampling, of twice the size
        made = replace(made, cluster=made.cluster // 2)
    y = (rng.poisson(made.mean) if cell.count else rng.random(len(made.mean)) < made.mean).astype(float)
    found: dict[str, Any] = dict(zip("abc", made.x.T, strict=True)) | {"t": made.t, "y": y, "cluster": made.cluster}
    found["level"] = LEVELS[made.level]
    chance = expit(0.6 * made.x[:, 1] + 0.8 * y - 0.4)
    if cell.sampled:
        kept = rng.random(len(y)) < chance
        found = {name: column[kept] for name, column in found.items()} | {"weight": 1.0 / chance[kept]}
    return _with_gaps(found, rng) if cell.gaps else found


def _with_gaps(found: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    chance = expit(-1.8 + 0.6 * found["t"] + 0.5 * found["c"])
    lost = {name: rng.random(len(chance)) < chance for name in ("a", "level")}
    empty: dict[str, Any] = {"a": np.nan, "level": None}
    return found | {name: np.where(gone, empty[name], found[name]) for name, gone in lost.items()}


@dataclass(frozen=True)
class Outcome:
    """One answer with its 95% interval."""

    cell: str
    seed: int
    truth: float
    mean: float
    sd: float
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def run(task: tuple[int, int]) -> list[Outcome]:
    """Return the answer to one data set."""
    place, seed = task
    cell = CELLS[place]
    options: dict[str, Any] = {"cluster": "cluster"} if cell.shared is not None else {}
    options |= {"weights": "weight", "weight_kind": "sampling"} if cell.sampled else {}
    options |= {"missing": "impute"} if cell.gaps else {}
    options |= {"families": {"y": "poisson"}} if cell.count else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = table(cell, np.random.default_rng([seed, place]))
        effect = ad.fit(data, cell.graph, rng=seed, **options).effect("t", "y", over="population")
        return [Outcome(cell.key, seed, truth(cell), effect.mean, effect.sd, *effect.interval(0.95))]


def tabulate(outcomes: Sequence[Outcome]) -> str:
    """Return bias, spread, sd and coverage in Markdown."""
    rows = []
    for cell in CELLS:
        items = [item for item in outcomes if item.cell == cell.key]
        if items:
            error = np.array([item.mean - item.truth for item in items])
            covered, sd = np.mean([item.covered for item in items]), np.mean([item.sd for item in items])
            numbers = f"{error.mean():+.3f}", f"{error.std():.3f}", f"{sd:.3f}", f"{100 * covered:.1f}%"
            rows.append([f"{cell.key} ({items[0].truth:.3f})", str(len(items)), *numbers])
    return markdown(["asked at once (truth)", "sets", "bias", "spread", "sd", "covered"], rows)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only cells whose name holds this word")
    options = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.sets)
    tasks: dict[Key, tuple[int, int]] = {
        (cell.key, seed): (i, seed) for i, cell in enumerate(CELLS) if options.only in cell.key for seed in seeds
    }
    keep.run(FOLDER / "together.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = tabulate(keep.read(FOLDER / "together.csv", Outcome))
    print(text)
    write_text(FOLDER / "together.md", text + "\n")


if __name__ == "__main__":
    main()
