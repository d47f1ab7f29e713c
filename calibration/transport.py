"""Effects in other rows than those of the fit, and of several variables at once: do 95% intervals cover?

Run with ``python -m calibration.transport [--sets 200]``. Tables of 500 rows are simulated, and 300 rows of another
population, of whose rows only covariates are told; what is true of exactly these rows is computed from the equations
that made them. Edges that are asked about are certain, those of covariates have probability 1/2.
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
from alldags.typing import FloatArray
from calibration import keep
from calibration.keep import FOLDER, Key

ROWS, OTHERS = 500, 300
Found = tuple[float, float, float, float]
"""Truth, estimate, and the ends of its 95% interval."""


@dataclass(frozen=True)
class Outcome:
    """One answer.

    Parameters
    ----------
    design, seed
        Which data set.
    asked
        What was asked.
    truth, mean, low, high
        The true value, the estimate, and the ends of its 95% interval.
    """

    design: str
    seed: int
    asked: str
    truth: float
    mean: float
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def _of(quantity: ad.Effect | ad.records.Quantity, truth: float) -> Found:
    return truth, float(quantity.mean), *quantity.interval(0.95)


# -- an effect that differs with covariates, normal outcome ------------------------------------------------------------

CURVED = ad.CandidateGraph.from_edges(
    {(cause, effect): 0.5 for cause in "zw" for effect in "tmy"}
    | dict.fromkeys([("t", "m"), ("t", "y"), ("m", "y")], 1.0)
)


def curved(rng: np.random.Generator) -> dict[str, Found]:
    """Ask of a yes/no treatment whose effect rises with z, in part by way of m; the others have more of z."""
    z, w = rng.standard_normal((2, ROWS))
    t = (rng.random(ROWS) < expit(0.7 * z - 0.4 * w)).astype(float)
    m = 0.6 * t + 0.5 * z + rng.standard_normal(ROWS)
    y = t * (0.5 + 0.8 * z) + 0.5 * m + 0.4 * w + rng.standard_normal(ROWS)
    posterior = ad.fit({"z": z, "w": w, "t": t, "m": m, "y": y}, CURVED, rng=int(rng.integers(2**31)))
    others = {"z": rng.normal(0.8, 0.7, OTHERS), "w": rng.normal(-0.3, 1.0, OTHERS)}
    gain = 0.5 + 0.8 * others["z"] + 0.5 * 0.6
    level = gain + 0.25 * others["z"] + 0.4 * others["w"]
    weight = np.exp(0.7 * z)
    effect = posterior.effect("t", "y", over=others)
    return {
        "effect in other rows": _of(effect, float(gain.mean())),
        "mean outcome of other rows, treated": _of(effect.do(1).mean, float(level.mean())),
        "effect over weighted rows": _of(
            posterior.effect("t", "y", over=weight), float(np.average(0.8 + 0.8 * z, weights=weight))
        ),
    }


# -- yes/no mediator and outcome ---------------------------------------------------------------------------------------

YES_NO = ad.CandidateGraph.from_edges(
    {("z", effect): 0.5 for effect in "aby"} | dict.fromkeys([("a", "b"), ("a", "y"), ("b", "y")], 1.0)
)


def _risk(z: FloatArray, a: float, b: float | None) -> FloatArray:
    """Return the probability of the outcome where a is set, and b is set or follows."""
    if b is not None:
        return np.asarray(expit(-0.8 + 0.8 * a + 0.9 * b + 0.6 * z))
    p = expit(-0.3 + 0.9 * a + 0.4 * z)
    return np.asarray(p * _risk(z, a, 1.0) + (1.0 - p) * _risk(z, a, 0.0))


def yes_no(rng: np.random.Generator) -> dict[str, Found]:
    """Ask of treatment, mediator and outcome that are yes or no."""
    z = rng.standard_normal(ROWS)
    a = (rng.random(ROWS) < expit(0.8 * z)).astype(float)
    b = (rng.random(ROWS) < expit(-0.3 + 0.9 * a + 0.4 * z)).astype(float)
    y = (rng.random(ROWS) < expit(-0.8 + 0.8 * a + 0.9 * b + 0.6 * z)).astype(float)
    posterior = ad.fit({"z": z, "a": a, "b": b, "y": y}, YES_NO, terms=None, rng=int(rng.integers(2**31)))
    others = {"z": rng.normal(1.0, 0.8, OTHERS)}
    own = others["z"]
    both = posterior.do({"a": 1, "b": 0}, outcome="y").minus(posterior.do({"a": 0, "b": 1}, outcome="y"))
    effect = posterior.effect("a", "y", over=others)
    moved = posterior.do({"a": 1, "b": 1}, outcome="y", over=others)
    return {
        "effect in other rows": _of(effect, float((_risk(own, 1.0, None) - _risk(own, 0.0, None)).mean())),
        "mean outcome of other rows, treated": _of(effect.do(1).mean, float(_risk(own, 1.0, None).mean())),
        "both set, mean outcome of other rows": _of(moved.mean, float(_risk(own, 1.0, 1.0).mean())),
        "both set one way less the other": _of(both, float((_risk(z, 1.0, 0.0) - _risk(z, 0.0, 1.0)).mean())),
    }


DESIGNS: dict[str, Callable[[np.random.Generator], dict[str, Found]]] = {
    "curves by default": curved,
    "yes/no, straight": yes_no,
}


def run(task: tuple[str, int]) -> list[Outcome]:
    """Ask all questions of one data set."""
    design, seed = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = DESIGNS[design](np.random.default_rng([91, seed]))
    return [Outcome(design, seed, asked, *values) for asked, values in found.items()]


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each design")
    parser.add_argument("--first-seed", type=int, default=40_000)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.sets)
    tasks: dict[Key, tuple[str, int]] = {(design, seed): (design, seed) for seed in seeds for design in DESIGNS}
    path = FOLDER / "transport.csv"
    outcomes = keep.run(path, Outcome, run, tasks, n_jobs=options.n_jobs, digits=".5f")
    text = table(outcomes)
    print(text)
    write_text(FOLDER / "transport.md", text + "\n")


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the results in Markdown."""
    lines = [
        "| design | asked | sets | bias | error | width | covered |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in dict.fromkeys((item.design, item.asked) for item in outcomes):
        items = [item for item in outcomes if (item.design, item.asked) == key]
        gap = np.array([item.mean - item.truth for item in items])
        width, covered = (float(np.mean(x)) for x in zip(*((i.high - i.low, i.covered) for i in items), strict=True))
        shown = " | ".join(f"{x:.3f}" for x in (gap.mean(), np.sqrt(np.mean(gap**2)), width, covered))
        lines.append(f"| {key[0]} | {key[1]} | {len(items)} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
