"""Worlds in which noise is not what the model takes it for; `calibration.rows` asks with and without the rows' say.

Five covariates, of which three drive both treatment and outcome; the edge from treatment to outcome is certain, so
that the tables are about noise alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import expit

import alldags as ad
from alldags.typing import FloatArray
from calibration.lines import fit

Answer = tuple[float, float, float]
"""Estimate, and the ends of its 95% interval."""
Noise = Callable[[FloatArray, np.random.Generator], FloatArray]
EFFECT = 0.5
ON_TREATMENT = np.array([0.5, 0.4, -0.3, 0.4, 0.0])
ON_OUTCOME = np.array([0.5, -0.4, 0.3, 0.0, 0.4])
NAMES = tuple(f"c{i}" for i in range(5))
GRAPH = ad.CandidateGraph.from_tiers([list(NAMES), ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
SCHOOLS = ad.CandidateGraph.from_tiers([["c"], ["x"], ["y"]], 0.5).with_edge("x", "y", 1.0)
_POPULATION = 1_000_000


def even(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what the model assumes."""
    return rng.standard_normal(len(x))


def grows(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noise whose variance grows with the treatment's distance from its mean."""
    return np.asarray(rng.standard_normal(len(x)) * np.sqrt(0.2 + 0.8 * (x - x.mean()) ** 2 / x.var()))


def dose(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noise whose size grows with the square of the treatment."""
    size = 0.3 + x**2 / np.mean(x**2)
    return np.asarray(rng.standard_normal(len(x)) * size / np.sqrt(np.mean(size**2)))


def treated(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noise that is three times as large under treatment."""
    return np.asarray(rng.standard_normal(len(x)) * np.where(x > 0, 3.0, 1.0))


def table(rng: np.random.Generator, noise: Noise, share: float | None, rows: int) -> dict[str, FloatArray]:
    """Return covariates, a treatment (yes for so large a share of the rows, else a dose) and an outcome."""
    c = rng.standard_normal((rows, 5))
    x = c @ ON_TREATMENT + rng.standard_normal(rows)
    if share is not None:
        x = (x > np.quantile(x, 1.0 - share)).astype(float)
    return {**dict(zip(NAMES, c.T, strict=True)), "x": x, "y": EFFECT * x + c @ ON_OUTCOME + noise(x, rng)}


def _asked(data: Any, graph: ad.CandidateGraph, seed: int, said: dict[str, Any], **options: Any) -> dict[str, Answer]:
    """Return answers without and with what is said."""
    found = {}
    for name, extra in (
        ("rows alike and independent", {"robust": False}),
        ("default" if not said else "cluster=", said),
    ):
        effect = fit(data, graph, rng=seed, **options, **extra).effect("x", "y", "population")
        found[name] = (effect.mean, *effect.interval(0.95))
    return found


def noisy(seed: int, noise: Noise, share: float | None = None, rows: int = 300) -> dict[str, Answer]:
    """Ask about a normal outcome."""
    return _asked(table(np.random.default_rng(seed), noise, share, rows), GRAPH, seed, {})


def counted(seed: int, shape: float | None, rows: int = 400) -> dict[str, Answer]:
    """Ask about a count whose mean has a factor of its own in every row, drawn from a gamma distribution."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal(rows)
    x = (0.6 * c + rng.standard_normal(rows) > 0).astype(float)
    own = 1.0 if shape is None else rng.gamma(shape, 1.0 / shape, rows)
    y = rng.poisson(np.exp(0.2 + 0.4 * x + 0.3 * c) * own).astype(float)
    return _asked({"c": c, "x": x, "y": y}, SCHOOLS, seed, {}, families={"y": "poisson"})


def count_effect() -> float:
    """Return the difference of mean counts, of normal covariates in closed form."""
    return float(np.exp(0.2 + 0.3**2 / 2) * (np.exp(0.4) - 1.0))


def yes_no_schools(seed: int, by_school: bool) -> dict[str, Answer]:
    """Ask about a yes/no outcome of 40 schools of 20 pupils that have something in common."""
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(40), 20)
    c = np.sqrt(0.3) * rng.standard_normal(40)[school] + np.sqrt(0.7) * rng.standard_normal(800)
    chosen = rng.standard_normal(40)[school] if by_school else 0.5 * c + rng.standard_normal(40)[school] * 0.5
    x = (chosen + (0.0 if by_school else 0.8) * rng.standard_normal(800) > 0).astype(float)
    y = (rng.random(800) < expit(-0.3 + 0.7 * x + 0.6 * c + 0.8 * rng.standard_normal(40)[school])).astype(float)
    return _asked({"c": c, "x": x, "y": y}, SCHOOLS, seed, {"cluster": school.tolist()})


@cache
def risk_effect() -> float:
    """Return the difference of risks over schools and pupils."""
    rng = np.random.default_rng(1)
    rest = -0.3 + 0.6 * rng.standard_normal(_POPULATION) + 0.8 * rng.standard_normal(_POPULATION)
    return float(np.mean(expit(rest + 0.7) - expit(rest)))


STUDIES: dict[str, tuple[Callable[[int], dict[str, Answer]], float]] = {
    "even noise, dose": (partial(noisy, noise=even), EFFECT),
    "even noise, dose, 50 rows": (partial(noisy, noise=even, rows=50), EFFECT),
    "even noise, half treated": (partial(noisy, noise=even, share=0.5), EFFECT),
    "noise grows with the dose": (partial(noisy, noise=grows), EFFECT),
    "noise grows with the dose, 50 rows": (partial(noisy, noise=grows, rows=50), EFFECT),
    "noise grows with the dose's square": (partial(noisy, noise=dose), EFFECT),
    "a tenth treated, noise three times as large": (partial(noisy, noise=treated, share=0.1), EFFECT),
    "counts as the model has them": (partial(counted, shape=None), count_effect()),
    "counts that vary more (gamma 1)": (partial(counted, shape=1.0), count_effect()),
    "counts that vary more (gamma 1/2)": (partial(counted, shape=0.5), count_effect()),
    "yes/no, 40 schools, treatment alike": (partial(yes_no_schools, by_school=False), risk_effect()),
    "yes/no, 40 schools, treatment by school": (partial(yes_no_schools, by_school=True), risk_effect()),
}
