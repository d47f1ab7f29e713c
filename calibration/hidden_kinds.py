"""``python -m calibration.hidden_kinds [--sets 200] [--n-jobs 1]``: a real hidden cause of effects that are no lines.

Six covariates, of which one acts on the outcome by a bend; the hidden cause acts on a yes/no treatment, and on the
outcome, by 0.8 on the scale of their predictors. How strong that is in the terms of the bias formula is read from
400,000 rows in which it is seen; in as many in which it is not, the bias that the package then states is compared with
the bias itself. Intervals that ignore the cause, and intervals that know how strong it is, are held to the difference
that the treatment makes in the population.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.effects.hidden.records import SensitivityAnswer
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key

CELLS = ("yes/no outcome", "count outcome", "yes/no mediator and outcome")
COVARIATES = tuple(f"x{i}" for i in range(6))
ROWS, LARGE = 800, 400_000
LARGE_SETS = 5
STRENGTH = 0.8


@dataclass(frozen=True)
class World:
    """Rows with what is hidden: covariates, treatment, its probability, and the mean outcome under any treatment."""

    x: FloatArray
    treatment: FloatArray
    chance: FloatArray
    mediator: FloatArray | None
    outcome: FloatArray
    mean: Callable[[FloatArray], FloatArray]

    @property
    def table(self) -> dict[str, FloatArray]:
        """What is measured."""
        found = {name: self.x[:, i] for i, name in enumerate(COVARIATES)} | {"t": self.treatment, "y": self.outcome}
        return found if self.mediator is None else found | {"m": self.mediator}

    @property
    def truth(self) -> float:
        """The difference that the treatment makes in these rows."""
        one = np.ones(len(self.x))
        return float((self.mean(one) - self.mean(0.0 * one)).mean())


def simulate(cell: str, rows: int, rng: np.random.Generator) -> World:
    """Return rows of one cell."""
    x = np.sqrt(0.3) * rng.standard_normal((rows, 1)) + np.sqrt(0.7) * rng.standard_normal((rows, 6))
    u = rng.standard_normal(rows)
    chance = expit(0.5 * x[:, 0] + 0.4 * x[:, 1] + STRENGTH * u)
    t = (rng.random(rows) < chance) * 1.0
    rest = 0.8 * (np.abs(x[:, 0]) - 0.8) + 0.4 * x[:, 1] + STRENGTH * u
    if cell == "count outcome":
        counts = lambda t: np.exp(-0.5 + 0.4 * t + 0.5 * rest)  # noqa: E731
        return World(x, t, chance, None, rng.poisson(counts(t)) * 1.0, counts)
    if cell == "yes/no outcome":
        risk = lambda t: expit(-0.5 + 0.5 * t + rest)  # noqa: E731
        return World(x, t, chance, None, (rng.random(rows) < risk(t)) * 1.0, risk)
    middle = lambda t: expit(-0.4 + 1.2 * t + 0.5 * x[:, 0])  # noqa: E731
    given = lambda t, m: expit(-0.8 + 0.3 * t + 0.8 * m + rest)  # noqa: E731
    m = (rng.random(rows) < middle(t)) * 1.0
    y = (rng.random(rows) < given(t, m)) * 1.0
    return World(x, t, chance, m, y, lambda t: middle(t) * given(t, 1.0) + (1.0 - middle(t)) * given(t, 0.0))


@dataclass(frozen=True)
class Story:
    """What the hidden cause is, in the terms of the bias formula.

    Parameters
    ----------
    truth
        The effect.
    outcome, treatment
        ``C_Y^2``, and the share of the representer that only the hidden cause explains.
    correlation
        Of what it explains of both.
    """

    truth: float
    outcome: float
    treatment: float
    correlation: float


@cache
def story(cell: str) -> Story:
    """Return the strength of the hidden cause from many rows in which it is seen, treated and not, by probability."""
    world = simulate(cell, LARGE, np.random.default_rng([crc32(cell.encode()), 1]))
    bends = [np.maximum(world.x[:, 0] - knot, 0.0) for knot in np.quantile(world.x[:, 0], [0.2, 0.4, 0.6, 0.8])]
    base = np.column_stack([np.ones(LARGE), world.x[:, :2], *bends])
    untreated, treated = np.column_stack([base, 0.0 * base]), np.column_stack([base, base])
    columns, weight = np.vstack([untreated, treated]), np.concatenate([1.0 - world.chance, world.chance]) / LARGE
    one = np.ones(LARGE)
    long = np.concatenate([world.mean(0.0 * one), world.mean(one)])
    alpha = np.concatenate([-1.0 / (1.0 - world.chance), 1.0 / world.chance])
    mean: Callable[[FloatArray], FloatArray] = np.exp if cell == "count outcome" else expit
    short = most_likely(columns, long, weight, mean)
    fitted = mean(columns @ short)
    change = (treated - untreated).mean(axis=0)
    alpha_short = columns @ np.linalg.solve((columns * weight[:, None]).T @ columns, change)
    noise = weight @ (long if cell == "count outcome" else long * (1.0 - long))
    explained, gained = weight @ (long - fitted) ** 2, weight @ (alpha - alpha_short) ** 2
    correlation = weight @ ((long - fitted) * (alpha_short - alpha)) / np.sqrt(explained * gained)
    left, norm = noise + explained, weight @ alpha_short**2
    outcome, gain = explained / left, weight @ alpha**2 / norm - 1.0
    return Story(world.truth, float(outcome), float(gain / (1.0 + gain)), float(correlation))


def most_likely(
    columns: FloatArray, outcome: FloatArray, weight: FloatArray, mean: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the most likely coefficients of a regression on the scale of its predictor."""
    found = np.zeros(columns.shape[1])
    for _ in range(15):
        at = mean(columns @ found)
        slope = weight * (at if mean is np.exp else at * (1.0 - at))
        gradient = columns.T @ (weight * (outcome - at))
        found = found + np.linalg.solve((columns * slope[:, None]).T @ columns, gradient)
    return found


@dataclass(frozen=True)
class Covered:
    """One data set: the truth, and 95% intervals without and with the hidden cause."""

    cell: str
    seed: int
    truth: float
    plain: float
    plain_covered: bool
    mean: float
    sd: float
    covered: bool
    robustness: float


def effect_of(cell: str, world: World, seed: int, **terms: Any) -> ad.Effect:
    """Return the effect of the treatment in the population that these rows are a sample of."""
    middle = [] if world.mediator is None else [["m"]]
    graph = ad.CandidateGraph.from_tiers([COVARIATES, ["t"], *middle, ["y"]], 0.5).with_edge("t", "y", 1.0)
    families: Any = {"y": "poisson"} if cell == "count outcome" else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        posterior = ad.fit(world.table, graph, families=families, terms={"y": ad.Terms(products=0, **terms)}, rng=seed)
        effect = posterior.effect("t", "y", over="population")
        effect.interval(0.95)
    return effect


def known_answer(known: Story, effect: ad.Effect) -> SensitivityAnswer:
    """Return the effect, given the strength of the hidden cause; a correlation below one is less of the outcome."""
    return effect.sensitivity().at(known.treatment, known.correlation**2 * known.outcome, sign="positive")


def large(cell: str) -> tuple[float, float]:
    """Return the bias of the effect from many rows, and what it is said to be, averages over data sets."""
    known, found = story(cell), []
    for seed in range(LARGE_SETS):
        world = simulate(cell, LARGE, np.random.default_rng([crc32(cell.encode()), 2, seed]))
        effect = effect_of(cell, world, seed, index=False, propensity=False, modification="none")
        found.append((effect.mean - world.truth, effect.mean - known_answer(known, effect).mean))
    real, said = np.mean(found, axis=0)
    return float(real), float(said)


def run(task: tuple[str, int]) -> list[Covered]:
    """Return what one data set of one cell gives."""
    cell, seed = task
    known = story(cell)
    effect = effect_of(cell, simulate(cell, ROWS, np.random.default_rng([crc32(cell.encode()), seed])), seed)
    low, high = effect.interval(0.95)
    answer, sensitivity = known_answer(known, effect), effect.sensitivity()
    return [
        Covered(
            cell, seed, known.truth, effect.mean, low <= known.truth <= high, answer.mean, answer.sd,
            answer.low <= known.truth <= answer.high, sensitivity.robustness(0.95).value,
        )
    ]  # fmt: skip


def table(outcomes: list[Covered]) -> str:
    """Return the results in Markdown."""
    head = ("effect", "bias in 400,000 rows", "stated", "sets", "covered, ignoring it", "covered", "error left",
            "spread", "sd")  # fmt: skip
    rows = []
    for cell in CELLS:
        if items := [item for item in outcomes if item.cell == cell]:
            known, means = story(cell), np.array([item.mean for item in items])
            real, said = large(cell)
            rows.append((
                cell, f"{real:.4f}", f"{said:.4f}", str(len(items)),
                f"{np.mean([item.plain_covered for item in items]):.3f}",
                f"{np.mean([item.covered for item in items]):.3f}", f"{means.mean() - known.truth:+.3f}",
                f"{means.std(ddof=1):.3f}", f"{np.mean([item.sd for item in items]):.3f}",
            ))  # fmt: skip
    return keep.markdown(head, rows)


def main() -> None:
    """Run what is missing; write every data set, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell")
    parser.add_argument("--first-seed", type=int, default=20_000, help="seeds below 20,000 were used for choices")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only cells whose name holds this word")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[str, int]] = {
        (cell, seed): (cell, seed) for cell in CELLS if options.only in cell for seed in seeds
    }
    outcomes = keep.run(FOLDER / "hidden_kinds.csv", Covered, run, tasks, n_jobs=options.n_jobs)
    text = table(outcomes)
    print(text)
    if not options.only:
        write_text(FOLDER / "hidden_kinds.md", text + "\n")


if __name__ == "__main__":
    main()
