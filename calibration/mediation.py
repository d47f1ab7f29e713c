"""``python -m calibration.mediation [--sets 200] [--n-jobs 1]``: coverage of direct and indirect effects.

A yes/no treatment that two of six covariates drive, a yes/no mediator and a yes/no outcome, on which treatment and
mediator act by their product, too; or two mediators, a normal one that acts on a yes/no one. The edge from treatment to
outcome is certain, all others are not. The truth is that of a large population, by sums over the mediators' values.
"""

from __future__ import annotations

import argparse
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

FIRST_SEED = 80_000
COVARIATES = tuple(f"x{i}" for i in range(6))
EFFECTS = ("total", "direct", "indirect", "first through a", "then through m")
Rows = dict[str, FloatArray]


@dataclass(frozen=True)
class Cell:
    """A design: the mediators, rows, whether curves are looked for, and whether products are certain."""

    mediators: tuple[str, ...]
    rows: int
    curves: bool = False
    products: bool = True

    @property
    def key(self) -> str:
        """What it is."""
        words = "one mediator" if len(self.mediators) == 1 else "two mediators"
        curves, products = "" if self.curves else ", straight", "" if self.products else ", without products"
        return f"{words}, {self.rows:,} rows{curves}{products}"


CELLS = (
    Cell(("m",), 500),
    Cell(("m",), 1000),
    Cell(("a", "m"), 500),
    Cell(("a", "m"), 1000),
    Cell(("m",), 500, products=False),
    Cell(("m",), 1000, products=False),
    Cell(("m",), 500, curves=True),
    Cell(("m",), 1000, curves=True),
)


@dataclass(frozen=True)
class Outcome:
    """One effect of one data set: truth, estimate, sd and ends of the 95% interval."""

    cell: str
    seed: int
    effect: str
    truth: float
    estimate: float
    sd: float
    low: float
    high: float


# -- the worlds --------------------------------------------------------------------------------------------------------


def covariates(rows: int, rng: np.random.Generator) -> Rows:
    """Return covariates, the treatment, and noise of the normal mediator."""
    found = dict(zip(COVARIATES, rng.standard_normal((6, rows)), strict=True))
    found["t"] = (rng.random(rows) < expit(0.5 * found["x0"] + 0.4 * found["x1"])).astype(float)
    return found | {"noise": rng.standard_normal(rows)}


def first(rows: Rows, t: float | FloatArray) -> FloatArray:
    """Return the normal mediator."""
    return np.asarray(0.8 * t + 0.4 * rows["x0"] + rows["noise"])


def chance_m(rows: Rows, cell: Cell, t: float | FloatArray, a: FloatArray) -> FloatArray:
    """Return the probability of the yes/no mediator."""
    if len(cell.mediators) == 1:
        return np.asarray(expit(-0.4 + 1.2 * t + 0.5 * rows["x0"]))
    return np.asarray(expit(-0.4 + 0.8 * t + 0.5 * a + 0.3 * rows["x1"]))


def chance_y(rows: Rows, cell: Cell, t: float | FloatArray, a: FloatArray, m: float | FloatArray) -> FloatArray:
    """Return the probability of the outcome."""
    own = 0.4 * rows["x0"] + 0.4 * rows["x1"]
    if len(cell.mediators) == 1:
        return np.asarray(expit(-1.0 + 0.4 * t + 0.8 * m + 0.6 * t * m + own))
    return np.asarray(expit(-1.0 + 0.3 * t + 0.4 * a + 0.6 * m + 0.4 * t * m + own))


@cache
def truth(cell: Cell) -> dict[str, float]:
    """Return the effects in a large population."""
    rows = covariates(1_000_000, np.random.default_rng(99))

    def mean(t: float, for_a: float, for_m: float) -> float:
        a = first(rows, for_a)
        p = chance_m(rows, cell, for_m, a)
        return float((p * chance_y(rows, cell, t, a, 1.0) + (1 - p) * chance_y(rows, cell, t, a, 0.0)).mean())

    low, held, none, high = mean(0, 0, 0), mean(1, 0, 0), mean(1, 0, 1), mean(1, 1, 1)
    found = {"total": high - low, "direct": held - low, "indirect": high - held}
    return found | ({} if len(cell.mediators) == 1 else {"first through a": high - none, "then through m": none - held})


def drawn(cell: Cell, rng: np.random.Generator) -> Rows:
    """Return a table."""
    rows = covariates(cell.rows, rng)
    a = first(rows, rows["t"])
    m = (rng.random(cell.rows) < chance_m(rows, cell, rows["t"], a)).astype(float)
    y = (rng.random(cell.rows) < chance_y(rows, cell, rows["t"], a, m)).astype(float)
    del rows["noise"]
    return rows | ({} if len(cell.mediators) == 1 else {"a": a}) | {"m": m, "y": y}


def graph(cell: Cell) -> ad.CandidateGraph:
    """Return the candidate graph."""
    between = [[name] for name in cell.mediators]
    return ad.CandidateGraph.from_tiers([[*COVARIATES], ["t"], *between, ["y"]], 0.5).with_edge("t", "y", 1.0)


# -- runs --------------------------------------------------------------------------------------------------------------


def run(task: tuple[int, int]) -> list[Outcome]:
    """Return the effects of one data set."""
    cell, seed = CELLS[task[0]], task[1]
    table = drawn(cell, np.random.default_rng([cell.rows, len(cell.mediators), seed]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        posterior = ad.fit(table, graph(cell), terms="auto" if cell.curves else None, rng=seed)
        effect = posterior.effect("t", "y", over="population")
        found = effect.mediation(cell.mediators, products=cell.products)
    effects = [found.total, found.direct, found.indirect, *(found.parts.values() if len(found.parts) > 1 else ())]
    return [
        Outcome(cell.key, seed, name, value, one.mean, one.sd, *one.interval())
        for (name, value), one in zip(truth(cell).items(), effects, strict=True)
    ]


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="seeds below 1,000 were used for choices")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only cells whose name holds this word")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    chosen = [i for i, cell in enumerate(CELLS) if options.only in cell.key]
    tasks: dict[Key, tuple[int, int]] = {(CELLS[i].key, seed): (i, seed) for i in chosen for seed in seeds}
    name = "mediation" if options.first_seed == FIRST_SEED else f"mediation_{options.first_seed}"
    found = keep.run(FOLDER / f"{name}.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = tabulate(found)
    print(text)
    if options.first_seed == FIRST_SEED and not options.only:
        write_text(FOLDER / "mediation.md", text + "\n")


def tabulate(outcomes: Sequence[Outcome]) -> str:
    """Return bias, spread, sd and coverage of each effect in Markdown."""
    lines = [
        "| design | effect (truth) | sets | bias | spread | sd | covered |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in dict.fromkeys(cell.key for cell in CELLS):
        own = [item for item in outcomes if item.cell == key]
        found = [[item for item in own if item.effect == name] for name in EFFECTS]
        lines += [_row(key, items) for items in found if items]
    return "\n".join(lines)


def _row(key: str, items: Sequence[Outcome]) -> str:
    value = items[0].truth
    means = np.array([item.estimate for item in items])
    covered = np.mean([item.low <= value <= item.high for item in items])
    parts = (
        f"{items[0].effect} ({value:.3f})", str(len(items)), f"{means.mean() - value:+.3f}", f"{means.std():.3f}",
        f"{np.mean([item.sd for item in items]):.3f}", f"{covered:.3f}",
    )  # fmt: skip
    return f"| {key} | {' | '.join(parts)} |"


if __name__ == "__main__":
    main()
