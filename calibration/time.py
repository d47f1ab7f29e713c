"""Series and panels: are responses after some steps, and effects in panels of few waves, where their intervals say?

Run with ``python -m calibration.time [--sets 200] [--only panel]``. *Series*: six variables, two lags, a known order
inside a step; 30% of edges inside a step, 25% of those from the last step and 10% of those from the one before are
there. Responses of one treatment on all others after 0 to 8 steps are compared with those of the same regressions with
all edges certain, a Bayesian ridge; ``--only larger`` has eight variables, about a minute a set. *Panels*:
300 units, five waves, two variables with traits of their own; of *drawn* ones the truth comes from the prior. *Walks*:
two random walks that have nothing to do with each other.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import alldags as ad
from alldags.effects.steps.recursion import radius, responses
from alldags.files import write_text
from calibration import keep
from calibration.keep import FOLDER, Key

STEPS, LAGS, BURN = 8, 2, 100
DEAR = 8  # variables from which on a set is so dear that all treatments are asked about
VISIBLE = 0.05  # a response above is one that is not zero


@dataclass(frozen=True)
class Outcome:
    """What was found of one number.

    Parameters
    ----------
    design, seed, what
        Which data set, and which number of it.
    truth, mean, sd, low, high
        The number, and its posterior mean, standard deviation and 95% interval.
    """

    design: str
    seed: int
    what: str
    truth: float
    mean: float
    sd: float
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low - 1e-12 <= self.truth <= self.high + 1e-12


# -- series ------------------------------------------------------------------------------------------------------------


def truth_of_series(m: int, rng: np.random.Generator) -> Any:
    """Return true coefficients, shape (lags + 1, m, m), row = cause, of a series that settles."""
    while True:
        found = np.zeros((LAGS + 1, m, m))
        for lag, (low, high, share) in enumerate([(0.2, 0.6, 0.3), (0.1, 0.4, 0.25), (0.1, 0.3, 0.1)]):
            size = rng.choice([-1, 1], (m, m)) * rng.uniform(low, high, (m, m))
            found[lag] = size * (rng.random((m, m)) < share)
        found[0] = np.triu(found[0], 1)
        found[1][np.diag_indices(m)] = rng.uniform(0.2, 0.7, m)
        if radius(found[None])[0] < 0.95:
            return found


def simulated(matrices: Any, rows: int, rng: np.random.Generator) -> Any:
    """Return a series, shape (rows, m)."""
    m = matrices.shape[1]
    front = np.linalg.inv(np.eye(m) - matrices[0])
    noise = rng.standard_normal((rows + BURN, m)) * np.exp(rng.normal(0, 0.3, m))
    found = np.zeros((rows + BURN, m))
    for t in range(LAGS, rows + BURN):
        found[t] = (sum(found[t - lag] @ matrices[lag] for lag in range(1, LAGS + 1)) + noise[t]) @ front
    return found[BURN:]


def series(rows: int, m: int, design: str, seed: int) -> list[Outcome]:
    """Responses of one treatment (or all) on all others, averaged over graphs and with all edges certain."""
    rng = np.random.default_rng([31, m, rows, seed])
    matrices = truth_of_series(m, rng)
    names = [f"v{i}" for i in range(m)]
    table = {"t": np.arange(rows), **dict(zip(names, simulated(matrices, rows, rng).T, strict=True))}
    treatments = rng.choice(m, 1) if m < DEAR else np.arange(m)
    found = []
    for kind, probability, own in (("average", 0.5, 0.9), ("ridge", 1.0, 1.0)):
        graph = ad.CandidateGraph.over_time(names, LAGS, probability, own=own, order=names)
        posterior = ad.fit(table, graph, time="t", rng=seed)
        for x in treatments:
            true = responses(matrices[None], int(x), STEPS)[0]
            for y in (y for y in range(m) if y != x):
                response = posterior.effect(names[x], names[y], after=STEPS)
                spread = _spread(response) if kind == "average" else np.full((3, STEPS + 1), np.nan)
                numbers = zip(true[:, y], response.mean, *spread, strict=True)
                found += [Outcome(design, seed, f"{kind} {h} {x} {y}", *map(float, one))
                          for h, one in enumerate(numbers)]  # fmt: skip
    return found


def _spread(response: Any) -> tuple[Any, ...]:
    """Return sd, and low and high ends, after each number of steps."""
    return (response.sd, *response.interval())


# -- panels ------------------------------------------------------------------------------------------------------------

PANELS = {  # effect of x on y, own, feedback, variance and correlation of traits
    "A": (0.2, 0.4, 0.1, 1.0, 0.5),
    "C": (0.2, 0.4, 0.1, 3.0, 0.7),
    "F": (0.0, 0.2, 0.1, 2.0, 0.7),
    "G": (-0.15, 0.3, 0.0, 2.0, 0.7),
}


SLAB = 0.1  # of truths that are drawn from the prior
SMALL = ad.Prior(slab=ad.priors.LearnedSlab(median=0.04, spread=1.0, low=0.01, high=1.0, points=5))


def panel_rows(name: str, rng: np.random.Generator, units: int = 300, waves: int = 5) -> Any:
    """Return a panel, shape (units, waves, 2): traits, and deviations from them that follow each other."""
    effect, own, back, variance, correlation = PANELS[name]
    phi = np.array([[own, effect], [back, own]])  # row = cause
    traits = (
        rng.standard_normal((units, 2))
        @ np.linalg.cholesky(variance * np.array([[1.0, correlation], [correlation, 1.0]])).T
    )
    spread = np.eye(2)
    for _ in range(200):
        spread = phi.T @ spread @ phi + np.eye(2)
    apart = rng.standard_normal((units, 2)) @ np.linalg.cholesky(spread).T
    found = [traits + apart]
    for _ in range(1, waves):
        apart = apart @ phi + rng.standard_normal((units, 2))
        found.append(traits + apart)
    return np.stack(found, axis=1)


def as_table(values: Any) -> dict[str, Any]:
    """Return a panel, shape (units, waves, 2), as a table of rows."""
    units, waves, _ = values.shape
    return {"unit": np.repeat(np.arange(units), waves), "wave": np.tile(np.arange(waves), units),
            "x": values[:, :, 0].ravel(), "y": values[:, :, 1].ravel()}  # fmt: skip


def panel(name: str, design: str, seed: int) -> list[Outcome]:
    """Effects one wave later: joint traits with edges certain and averaged, and as if there were no traits."""
    values = panel_rows(name, np.random.default_rng([31, ord(name), seed]))
    table = as_table(values)
    effect, _, back, *_ = PANELS[name]
    found = []
    for kind, probability, own, intercepts, prior in (
        ("certain", 1.0, 1.0, "joint", None),
        ("averaged", 0.5, 0.9, "joint", None),
        ("averaged, small slab", 0.5, 0.9, "joint", SMALL),
        ("pooled", 1.0, 1.0, None, None),
    ):
        graph = ad.CandidateGraph.over_time(["x", "y"], 1, probability, own=own)
        posterior = ad.fit(table, graph, prior=prior, time="wave", unit="unit", intercepts=intercepts, rng=seed)
        for cause, outcome, true in (("x", "y", effect), ("y", "x", back)):
            one = posterior.effect(cause, outcome, after=1).at(1)
            found.append(Outcome(design, seed, f"{kind} {cause}", true, one.mean, one.sd, *one.interval()))
    return found


def drawn_panel(design: str, seed: int) -> list[Outcome]:
    """Effects one wave later where truths are drawn from the prior, edges certain and averaged: ranks must be even."""
    found, prior = [], ad.Prior(slab_variance=SLAB, units="raw")
    for kind, probability in (("certain", 1.0), ("averaged", 0.5)):
        rng = np.random.default_rng([31, 98, seed, int(probability)])
        phi = rng.normal(0, SLAB**0.5, (2, 2)) * (rng.random((2, 2)) < probability)
        root, psi = rng.normal(0, 0.7, (2, 2)), rng.normal(0, 0.3, (2, 2))
        waves = [rng.standard_normal((300, 2)) @ rng.normal(0, 1, (2, 2))]
        traits = rng.standard_normal((300, 2)) @ root + waves[0] @ psi
        for _ in range(4):
            waves.append(waves[-1] @ phi + traits + rng.standard_normal((300, 2)))
        graph = ad.CandidateGraph.over_time(["x", "y"], 1, probability, own=probability)
        told: Any = {"time": "wave", "unit": "unit", "intercepts": "joint", "prior": prior, "rng": seed}
        posterior = ad.fit(as_table(np.stack(waves, axis=1)), graph, **told)
        for cause, outcome, true in (("x", "y", phi[0, 1]), ("y", "x", phi[1, 0])):
            one = posterior.effect(cause, outcome, after=1).at(1)
            found.append(Outcome(design, seed, f"{kind} {cause}", float(true), one.mean, one.sd, *one.interval()))
    return found


# -- random walks ------------------------------------------------------------------------------------------------------


def walks(lags: int, design: str, seed: int) -> list[Outcome]:
    """Two random walks: the effect in the same step, which is none."""
    rng = np.random.default_rng([31, 99, seed])
    x, y = rng.standard_normal((2, 100)).cumsum(axis=1)
    graph = ad.CandidateGraph.over_time(["x", "y"], lags, order=["x", "y"])
    posterior = ad.fit({"t": np.arange(100), "x": x, "y": y}, graph, time="t", lags=lags, rng=seed)
    effect = posterior.effect("x", "y")
    return [Outcome(design, seed, "x", 0.0, effect.mean, effect.sd, *effect.interval())]


DESIGNS: dict[str, Callable[[str, int], list[Outcome]]] = {
    **{f"panel {name}": partial(panel, name) for name in PANELS},
    "drawn panel": drawn_panel,
    "series, 100 steps": partial(series, 100, 6),
    "series, 400 steps": partial(series, 400, 6),
    **{f"random walks, {lags} lags": partial(walks, lags) for lags in (0, 1, 2)},
}


LARGER: dict[str, Callable[[str, int], list[Outcome]]] = {
    f"larger series, {rows} steps": partial(series, rows, 8) for rows in (100, 400)
}
FIRST_SEED = 72_000  # those before were looked at


def run(task: tuple[str, int]) -> list[Outcome]:
    """Look at one data set."""
    design, seed = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**DESIGNS, **LARGER}[design](design, seed)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each design")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--only", default="", help="designs whose names begin so")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="only write the table, of all that was run before")
    options = parser.parse_args()
    if options.write:
        files = [_file(design) for design in {**DESIGNS, **LARGER}]
        write_text(FOLDER / "time.md", table([one for file in files for one in keep.read(file, Outcome)]) + "\n")
        return
    chosen = (
        [design for design in {**DESIGNS, **LARGER} if design.startswith(options.only)] if options.only else DESIGNS
    )
    outcomes: list[Outcome] = []
    for design in chosen:
        seeds = range(options.first_seed, options.first_seed + options.sets)
        tasks: dict[Key, tuple[str, int]] = {(design, seed): (design, seed) for seed in seeds}
        outcomes += keep.run(_file(design), Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
        print(table([one for one in outcomes if one.design == design]), flush=True)
    if not options.only:
        write_text(FOLDER / "time.md", table(outcomes) + "\n")


def _file(design: str) -> Path:
    return FOLDER / f"time_{design.replace(', ', '_').replace(' ', '_')}.csv"


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the results in Markdown."""
    lines = [
        "| design | what | sets | bias | error | said / seen spread | covered |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for design, what in dict.fromkeys((one.design, _kind(one)) for one in outcomes):
        items = [one for one in outcomes if one.design == design and _kind(one) == what]
        gap = np.array([one.mean - one.truth for one in items])
        said = np.sqrt(np.mean([one.sd**2 for one in items])) / gap.std()
        sets, covered = len({one.seed for one in items}), np.mean([one.covered for one in items])
        spread = "| " if np.isnan(said) else f"{said:.2f} | {covered:.3f}"  # only the mean was asked for
        numbers = f"{gap.mean():+.4f} | {np.sqrt(np.mean(gap**2)):.4f} | {spread}"
        lines.append(f"| {design} | {what} | {sets} | {numbers} |")
    kinds = dict.fromkeys(one.design for one in outcomes if _is_series(one.design))
    rows = (_series_row(design, [one for one in outcomes if one.design == design]) for design in kinds)
    return "\n".join([*lines, *rows])


def _is_series(design: str) -> bool:
    return "series" in design


def _kind(one: Outcome) -> str:
    if not _is_series(one.design):
        return one.what
    kind, step, *_ = one.what.split()
    there = "there" if abs(one.truth) > VISIBLE else "none"
    return f"{kind}, {there}, {'0 to 4' if int(step) <= 4 else '5 to 8'} steps"


def _series_row(design: str, items: Sequence[Outcome]) -> str:
    """Return the error over the ridge's, of all responses and data sets, its standard error, and how many are covered.

    The standard error leaves out one data set after the other.
    """
    squares: dict[str, dict[int, float]] = {"average": {}, "ridge": {}}
    for one in items:
        own = squares[one.what.split()[0]]
        own[one.seed] = own.get(one.seed, 0.0) + (one.mean - one.truth) ** 2
    ours, theirs = (np.array([own[seed] for seed in sorted(own)]) for own in squares.values())
    ratio, sets = np.sqrt(ours.sum() / theirs.sum()), len(ours)
    without = np.sqrt((ours.sum() - ours) / (theirs.sum() - theirs))
    spread = np.sqrt((sets - 1) / sets * ((without - without.mean()) ** 2).sum())
    inside = np.mean([one.covered for one in items if one.what.startswith("average")])
    return f"| {design} | error over the ridge's | {sets} | | {ratio:.3f} ± {spread:.3f} | | {inside:.3f} |"


if __name__ == "__main__":
    main()
