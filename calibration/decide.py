"""Decisions: do intervals of what a choice gains cover, and do choices lose as much as they say?

Run with ``python -m calibration.decide [--sets 200]``. In every table of 500 rows the sizes of effects are drawn anew,
some of them none; what each action, and each plan for rows, truly gains in these rows is computed from the equations
that made them. Edges that are asked about have probability 1/2 along straight lines, and are certain elsewhere.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.files import write_text
from calibration import keep
from calibration.keep import FOLDER, Key

ROWS = 500


@dataclass(frozen=True)
class Outcome:
    """One decision.

    Parameters
    ----------
    design, seed
        Which data set.
    truth, mean, low, high
        What the choice truly gains over doing nothing, the estimate, and the ends of its 95% interval.
    promised, lost
        Loss of the choice, compared with the best: as expected, and in truth.
    """

    design: str
    seed: int
    truth: float
    mean: float
    low: float
    high: float
    promised: float
    lost: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


Found = tuple[float, float, float, float, float, float]
"""Truth, estimate and the ends of its interval; promised and true loss."""


def lines(rng: np.random.Generator) -> Found:
    """Choose between nothing, one unit more of a, and one more of b, which costs; for all rows."""
    z, noise_a, noise_b, noise = rng.standard_normal((4, ROWS))
    by_a, by_b = rng.normal(0.0, 0.1, 2) * (rng.random(2) < 0.5)
    a, b = 0.6 * z + noise_a, 0.5 * z + noise_b
    table = {"z": z, "a": a, "b": b, "y": by_a * a + by_b * b + 0.5 * z + noise}
    graph = ad.CandidateGraph.from_tiers([["z"], ["a", "b"], ["y"]], probability=0.5)
    posterior = ad.fit(table, graph, terms=None, rng=int(rng.integers(2**31)))
    found = posterior.decide([{}, ad.shift("a", 1.0), ad.shift("b", 1.0)], "y", cost=[0.0, 0.0, 0.02])
    worth, best = np.array([0.0, by_a, by_b - 0.02]), found.worths.best
    gap = found.worths.draws[best] - found.worths.draws[0]
    low, high = np.quantile(gap, [0.025, 0.975])
    mean = float(found.worths.mean[best] - found.worths.mean[0])
    return (
        float(worth[best]),
        mean,
        float(low),
        float(high),
        found.value_of_information,
        float(worth.max() - worth[best]),
    )


def curves(rng: np.random.Generator) -> Found:
    """Choose row by row whom to treat, where the effect differs with a covariate and runs in part by way of another."""
    z, w = rng.standard_normal((2, ROWS))
    level = rng.normal(0.0, 0.6)
    t = (rng.random(ROWS) < expit(0.7 * z - 0.4 * w)).astype(float)
    m = 0.4 * t + 0.5 * z + rng.standard_normal(ROWS)
    y = t * (level + 0.6 * z) + 0.5 * m + 0.4 * w + rng.standard_normal(ROWS)
    uncertain = {(cause, effect): 0.5 for cause in "zw" for effect in "tmy"}
    graph = ad.CandidateGraph.from_edges(uncertain | dict.fromkeys([("t", "m"), ("t", "y"), ("m", "y")], 1.0))
    posterior = ad.fit({"z": z, "w": w, "t": t, "m": m, "y": y}, graph, rng=int(rng.integers(2**31)))
    return _plan(posterior, np.asarray(level + 0.6 * z + 0.5 * 0.4), cost=0.0, budget=None)


def yes_no(rng: np.random.Generator) -> Found:
    """Choose 150 of 500 rows to treat, by the risk that treatment saves them, less what it costs."""
    z = rng.standard_normal(ROWS)
    level = rng.normal(0.4, 0.4)
    t = (rng.random(ROWS) < expit(0.8 * z)).astype(float)
    y = (rng.random(ROWS) < expit(-0.8 + level * t + 1.2 * z)).astype(float)
    graph = ad.CandidateGraph.from_edges({("z", "t"): 0.5, ("z", "y"): 0.5, ("t", "y"): 1.0})
    posterior = ad.fit({"z": z, "t": t, "y": y}, graph, terms=None, rng=int(rng.integers(2**31)))
    return _plan(posterior, expit(-0.8 + level + 1.2 * z) - expit(-0.8 + 1.2 * z), cost=0.03, budget=150)


def _plan(
    posterior: ad.Posterior, gain: np.ndarray[tuple[int], np.dtype[np.float64]], cost: float, budget: int | None
) -> Found:
    """Return what a plan for rows says and what is true of it; the best plan knows what each row gains."""
    found = posterior.decide({"t": [0, 1]}, "y", cost=[0.0, cost], by="row", budget=budget)
    plan = found.plan
    assert plan is not None
    chosen = np.array([action == "t = 1" for action in plan.choice.values()])
    worth = gain - cost
    best = np.sort(np.maximum(worth, 0.0))[::-1][:budget].sum() / ROWS
    truth = float((worth * chosen).mean())
    promised = float("nan") if plan.expected_loss is None else plan.expected_loss
    return truth, plan.gain.mean, *plan.gain.interval(), promised, float(best - truth)


DESIGNS: dict[str, Callable[[np.random.Generator], Found]] = {
    "straight lines, one action for all": lines,
    "curves by default, row by row": curves,
    "yes/no, 150 of 500 rows": yes_no,
}


def run(task: tuple[str, int]) -> list[Outcome]:
    """Decide in one data set."""
    design, seed = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [Outcome(design, seed, *DESIGNS[design](np.random.default_rng([33, seed])))]


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each design")
    parser.add_argument("--first-seed", type=int, default=50_000)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[str, int]] = {(design, seed): (design, seed) for seed in seeds for design in DESIGNS}
    outcomes = keep.run(FOLDER / "decide.csv", Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = table(outcomes)
    print(text)
    write_text(FOLDER / "decide.md", text + "\n")


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the results in Markdown."""
    lines = [
        "| design | sets | true gain | bias | error | width | covered | loss promised | true loss |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for design in dict.fromkeys(item.design for item in outcomes):
        items = [item for item in outcomes if item.design == design]
        gap = np.array([item.mean - item.truth for item in items])
        numbers = [np.mean([item.truth for item in items]), gap.mean(), np.sqrt(np.mean(gap**2))]
        numbers += [np.mean([item.high - item.low for item in items]), np.mean([item.covered for item in items])]
        promised, lost = (np.mean([getattr(item, name) for item in items]) for name in ("promised", "lost"))
        shown = " | ".join(f"{x:.3f}" for x in numbers)
        said = "" if np.isnan(promised) else f"{promised:.4f}"
        lines.append(f"| {design} | {len(items)} | {shown} | {said} | {lost:.4f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
