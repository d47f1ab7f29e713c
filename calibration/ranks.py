"""``python -m calibration.ranks [--sets 1000] [--only WORD]``: truths drawn from the prior, ranked among draws.

If a truth comes from the prior and the rows from the truth, the truth is one more draw from the posterior: its rank
among draws is uniform, central intervals hold it as often as they say, and probabilities come true (simulation-based
calibration). Draws of an effect may be exactly zero, as may the truth; such ties are broken at random.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np

import alldags as ad
from alldags.effects.direct import edge_draws
from alldags.files import write_text
from alldags.typing import FloatArray
from calibration import keep
from calibration.cases import DO, ROWS, Case, Row
from calibration.keep import FOLDER, Key
from calibration.lines import fit

LEVELS = (50, 80, 95)  # per cent
DRAWS = 999
NEVER = 100  # no interval held the truth


@dataclass(frozen=True)
class Rank:
    """One data set.

    Parameters
    ----------
    row, seed
        Which.
    effect, coefficient, unit
        Rank of the truth among draws, as a share; nan if it was not asked for. Of `unit`, the outcome of a new unit
        under ``do()``, it is the distribution function at the truth.
    effect_within, coefficient_within, unit_within
        The smallest of 50, 80 and 95 whose central interval holds the truth; 100 if none does, 0 if not asked for.
    no_path, edge
        Probability of no path from treatment to outcome, and of an edge; nan if not asked for.
    absent, present
        Whether there is no path, and whether there is that edge.
    """

    row: str
    seed: int
    effect: float
    effect_within: int
    coefficient: float
    coefficient_within: int
    unit: float
    unit_within: int
    no_path: float
    absent: bool
    edge: float
    present: bool


def rank_of(truth: float, draws: FloatArray, rng: np.random.Generator) -> float:
    """Return the truth's place among draws as a number between 0 and 1; places among equals are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from calibration.ranks import rank_of
    >>> 0.5 < rank_of(0.7, np.array([0.1, 0.2, 0.3, 0.9]), np.random.default_rng(0)) < 0.9
    True
    """
    below, equal = int((draws < truth).sum()), int((draws == truth).sum())
    return float((below + rng.integers(0, equal + 1) + rng.random()) / (len(draws) + 1))


def within(truth: float, intervals: Sequence[tuple[float, float]]) -> int:
    """Return the smallest level whose interval holds the truth."""
    slack = 1e-12 * abs(truth)
    held = (level for level, (low, high) in zip(LEVELS, intervals, strict=True) if low - slack <= truth <= high + slack)
    return next(held, NEVER)


def run(task: tuple[int, int]) -> list[Rank]:
    """Return what one data set gives; `task` is the number of the row and the seed."""
    row, seed = ROWS[task[0]], task[1]
    first, second, third = np.random.default_rng([crc32(row.key.encode()), seed]).spawn(3)
    case = row.draw(first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        posterior = fit(case.table, case.graph, rng=second, **case.options)
        return [answered(row.key, seed, case, posterior, third)]


def answered(key: str, seed: int, case: Case, posterior: ad.Posterior, rng: np.random.Generator) -> Rank:
    """Hold every answer against its truth."""
    effect = posterior.effect(case.treatment, case.outcome)
    total = _given(case, effect, rng) if case.strength is not None else _total(case, effect, rng)
    unit = math.nan if case.unit is None else float(effect.do(DO).new_unit.cdf(case.unit))
    ends = [((100 - level) / 200, (100 + level) / 200) for level in LEVELS]
    no_path = None if case.path is None else effect.probability_no_effect
    return Rank(
        key,
        seed,
        *total,
        *_coefficient(case, effect, rng),
        unit,
        0 if case.unit is None else within(unit, ends),
        math.nan if no_path is None else no_path,
        case.path is False,
        _edge(case, posterior),
        bool(case.edge and case.edge[2]),
    )


def _total(case: Case, effect: ad.Effect, rng: np.random.Generator) -> tuple[float, int]:
    draws = effect.draws(DRAWS, rng=rng.spawn(1)[0])
    return rank_of(case.effect, draws, rng), within(case.effect, [effect.interval(level / 100) for level in LEVELS])


def _given(case: Case, effect: ad.Effect, rng: np.random.Generator) -> tuple[float, int]:
    """Return rank and interval of an effect when a hidden cause may be there."""
    assert case.strength is not None
    draws = effect.sensitivity()._draws_given(case.strength)
    values = rng.choice(draws.values, DRAWS, p=draws.weights / draws.weights.sum())
    return rank_of(case.effect, values, rng), within(case.effect, [draws.interval(level / 100) for level in LEVELS])


def _coefficient(case: Case, effect: ad.Effect, rng: np.random.Generator) -> tuple[float, int]:
    if case.coefficient is None:
        return math.nan, 0
    cause, child, truth = case.coefficient
    sample = effect.workings.models.draw(DRAWS, rng.spawn(1)[0], partial(_draw_edge, (cause, child)))
    draws = np.asarray(sample) * effect.posterior._data.unit(cause, child)
    ends = [tuple(np.quantile(draws, [(100 - level) / 200, (100 + level) / 200])) for level in LEVELS]
    return rank_of(truth, draws, rng), within(truth, ends)


def _draw_edge(edge: tuple[str, str], model: object, size: int, rng: np.random.Generator) -> FloatArray:
    return edge_draws(model, edge, size, rng)  # type: ignore[arg-type]


def _edge(case: Case, posterior: ad.Posterior) -> float:
    """Return the posterior probability of the edge that is asked for."""
    if case.edge is None:
        return math.nan
    found = posterior.edge_probabilities()
    if "posterior" not in found.columns:
        return math.nan
    place = list(zip(found["cause"], found["effect"], strict=True)).index(case.edge[:2])
    return float(found["posterior"][place])


def sets_of(row: Row, sets: int) -> int:
    """Return how many data sets a row gets when a quick one gets `sets`."""
    return round(row.share * sets)


def collect(sets: int, only: str = "", n_jobs: int = 1) -> list[Rank]:
    """Run what is missing and return what all data sets gave, those of longer runs, too."""
    tasks: dict[Key, tuple[int, int]] = {
        (row.key, seed): (i, seed)
        for seed in range(sets)  # all rows grow together, so that a run may be stopped at any time
        for i, row in enumerate(ROWS)
        if only in row.key and seed < sets_of(row, sets)
    }
    keep.run(FOLDER / "ranks.csv", Rank, run, tasks, n_jobs=n_jobs, digits=".5g")
    return [item for item in keep.read(FOLDER / "ranks.csv", Rank) if only in item.row]


def main() -> None:
    """Run what is missing and write the table."""
    from calibration.verdicts import coverage_table, ranks_table, summary

    parser = argparse.ArgumentParser(description=__doc__)
    words = "data sets of a quick row, slow ones get fewer; 0: tables only"
    parser.add_argument("--sets", type=int, default=1000, help=words)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only rows whose name holds this word")
    options = parser.parse_args()
    found = collect(options.sets, options.only, options.n_jobs)
    parts = {"ranks": ranks_table(found), "coverage": coverage_table(found), "summary": summary(found)}
    print("\n\n".join(parts.values()))
    if not options.only:
        for name, text in parts.items():
            write_text(FOLDER / f"ranks_{name}.md", text + "\n")


if __name__ == "__main__":
    main()
