"""Weak confounders, strong ones, instruments and noise: coverage and error of the default prior against least squares.

The truth is not drawn from the prior: coefficients are fixed, many of them too weak to be seen. Every cell is a design
with its number of covariates and rows; a data set is one draw of the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import alldags as ad
from alldags.typing import FloatArray
from calibration.lines import fit

Coefficients = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Cell:
    """A design.

    Parameters
    ----------
    name
        In the table.
    covariates, rows
        Sizes.
    effect
        Of the treatment on the outcome.
    make
        Coefficients of the covariates on treatment and outcome, from their number and a generator.
    confounders
        How many covariates act on both.
    mediator
        Whether the effect passes through a mediator on which, with the outcome, the covariates act.
    """

    name: str
    covariates: int
    rows: int
    effect: float
    make: Callable[[int, np.random.Generator], Coefficients]
    confounders: int
    mediator: bool = False

    @property
    def key(self) -> str:
        """Name and sizes."""
        return f"{self.name}, {self.covariates} x {self.rows}, effect {self.effect:g}"


def uniform(a: float, b: float) -> Callable[[int, np.random.Generator], Coefficients]:
    """Return a maker for covariates that all act alike."""
    return lambda count, _: (np.full(count, a), np.full(count, b))


def first(active: int, a: float, b: float) -> Callable[[int, np.random.Generator], Coefficients]:
    """Return a maker for a few covariates that act on both, among noise."""
    return lambda count, _: (np.where(np.arange(count) < active, a, 0.0), np.where(np.arange(count) < active, b, 0.0))


def mixed(count: int, _: np.random.Generator) -> Coefficients:
    """Return five instruments, five causes of the outcome, five confounders, noise."""
    a, b = np.zeros((2, count))
    a[:5], b[5:10], a[10:15], b[10:15] = 0.6, 0.6, 0.4, 0.3
    return a, b


def dense(count: int, rng: np.random.Generator) -> Coefficients:
    """Return covariates that all act weakly and in the same direction, half as strongly on the outcome."""
    a = rng.uniform(0.5, 1.5, count) / np.sqrt(count)
    return a, a / 2


CELLS = (
    Cell("all weak", 50, 300, 0.5, uniform(0.1, 0.1), 50),
    Cell("all weak", 50, 1000, 0.5, uniform(0.1, 0.1), 50),
    Cell("all weak", 50, 300, 0.0, uniform(0.1, 0.1), 50),
    Cell("all weak, twice as strong on the treatment", 50, 300, 0.5, uniform(0.2, 0.1), 50),
    Cell("all weak, twice as strong on the treatment", 50, 1000, 0.5, uniform(0.2, 0.1), 50),
    Cell("ten weak", 50, 300, 0.5, first(10, 0.4, 0.12), 10),
    Cell("five strong on the treatment, weak on the outcome", 50, 300, 0.5, first(5, 0.6, 0.15), 5),
    Cell("five strong on the treatment, weak on the outcome", 50, 200, 0.5, first(5, 0.6, 0.15), 5),
    Cell("no confounding", 50, 300, 0.5, first(0, 0.0, 0.0), 0),
    Cell("no confounding", 50, 200, 0.5, first(0, 0.0, 0.0), 0),
    Cell("no confounding", 50, 300, 0.0, first(0, 0.0, 0.0), 0),
    Cell("three strong", 20, 100, 0.5, first(3, 0.6, 0.6), 3),
    Cell("three strong", 20, 100, 0.0, first(3, 0.6, 0.6), 3),
    Cell("instruments, causes and confounders", 50, 300, 0.5, mixed, 5),
    Cell("dense", 50, 300, 0.5, dense, 50),
    Cell("dense", 12, 100, 0.5, dense, 12),
    Cell("dense", 12, 400, 2.0, dense, 12),
    Cell("weak, of mediator and outcome", 50, 300, 0.5, uniform(0.1, 0.1), 50, mediator=True),
    # more candidates than half the rows: reported, no promise
    Cell("all weak", 50, 100, 0.5, uniform(0.1, 0.1), 50),
    Cell("ten weak", 100, 150, 0.5, first(10, 0.4, 0.12), 10),
)


@dataclass(frozen=True)
class Outcome:
    """One data set: estimates, and whether 95% intervals hold the truth."""

    cell: str
    seed: int
    estimate: float
    covered: bool
    width: float
    plain: float
    plain_covered: bool
    noted: bool


def simulate(cell: Cell, rng: np.random.Generator) -> tuple[dict[str, FloatArray], ad.CandidateGraph]:
    """Return a table and its candidate graph; the edge from treatment to outcome has probability one half."""
    c = rng.standard_normal((cell.rows, cell.covariates))
    a, b = cell.make(cell.covariates, rng)
    names = [f"c{i}" for i in range(cell.covariates)]
    columns = dict(zip(names, c.T, strict=True))
    noise = rng.standard_normal((3, cell.rows))
    if cell.mediator:
        columns["x"] = noise[0]
        columns["m"] = cell.effect * columns["x"] + c @ a + noise[1]
        columns["y"] = columns["m"] + c @ b + noise[2]
        edges = {(name, k): 0.5 for name in (*names, "x") for k in ("m", "y")} | {("m", "y"): 0.5}
        return columns, ad.CandidateGraph((*names, "x", "m", "y"), edges)
    columns["x"] = c @ a + noise[0]
    columns["y"] = cell.effect * columns["x"] + c @ b + noise[1]
    return columns, ad.CandidateGraph.from_tiers([names, ["x"], ["y"]], 0.5)


def run(task: tuple[int, int]) -> list[Outcome]:
    """Return what one data set of one cell gives; `task` is the cell's number and the data set's seed."""
    cell, seed = CELLS[task[0]], task[1]
    rng = np.random.default_rng([crc32(cell.key.encode()), seed])
    table, graph = simulate(cell, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        effect = fit(table, graph, rng=seed).effect("x", "y")
        low, high = effect.interval(0.95)
        noted = any(note.text.startswith("least squares") for note in effect.notes)
    plain = effect.checks.least_squares
    outcome = Outcome(
        cell=cell.key,
        seed=seed,
        estimate=effect.mean,
        covered=low <= cell.effect <= high,
        width=high - low,
        plain=np.nan if plain is None else plain.estimate,
        plain_covered=plain is not None and plain.low <= cell.effect <= plain.high,
        noted=noted,
    )
    return [outcome]
