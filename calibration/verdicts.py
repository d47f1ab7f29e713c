"""From ranks and forecasts to p-values and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from alldags.typing import BoolArray, FloatArray
from calibration.cases import ROWS, Row
from calibration.keep import markdown

Quantity = Literal["effect", "coefficient", "unit", "edge", "no_path"]
RANKED: tuple[Quantity, ...] = ("effect", "coefficient", "unit")
FORECAST: dict[Quantity, str] = {"edge": "present", "no_path": "absent"}
WORDS: dict[Quantity, str] = {
    "effect": "effect",
    "coefficient": "coefficient",
    "unit": "new unit, do()",
    "edge": "P(edge)",
    "no_path": "P(no path)",
}
LEVELS = (50, 80, 95)
ALARM = 0.01  # of all tests together
_BINS = 5
_SIMULATED = 4000


def rank_p(ranks: FloatArray) -> float:
    """Return the probability of ranks that are no more even than these if they are uniform.

    Two looks, and twice the smaller p-value: at the ranks, which sees a shift, and at their distance from the middle,
    which sees intervals that are too narrow or too wide. Each compares the largest gap between empirical and uniform
    distribution with its exact distribution (Kolmogorov).
    """
    looks = (stats.kstest(values, "uniform").pvalue for values in (ranks, np.abs(2 * ranks - 1)))
    return min(1.0, 2 * float(min(looks)))


def forecast_p(chance: FloatArray, came_true: BoolArray) -> float:
    """Return the probability of events that are no nearer to their forecasts if these are right, by simulation.

    Forecasts are put into five bins; squared gaps between events and forecasts, each over its variance, are summed.
    """
    bins = np.minimum((chance * _BINS).astype(int), _BINS - 1)
    member = np.eye(_BINS)[bins]
    spread = member.T @ (chance * (1 - chance)) + 0.25 / len(chance)
    events = np.random.default_rng(0).random((_SIMULATED, len(chance))) < chance
    simulated = (((events - chance) @ member) ** 2 / spread).sum(axis=1)
    found = (((came_true - chance) @ member) ** 2 / spread).sum()
    return float((1 + (simulated >= found - 1e-9).sum()) / (1 + _SIMULATED))


def narrowness(ranks: FloatArray) -> float:
    """Return the mean distance of ranks from the middle over what it should be: above 1, intervals are too narrow."""
    return float(2 * np.mean(np.abs(2 * ranks - 1)))


@dataclass(frozen=True)
class Verdict:
    """One quantity of one row: number of data sets, p-value, and that p-value corrected for the number of tests."""

    row: Row
    quantity: Quantity
    sets: int
    p: float
    adjusted: float

    @property
    def is_alarm(self) -> bool:
        """Whether chance does not explain it."""
        return self.adjusted < ALARM


def column(found: Sequence[Any], name: str) -> FloatArray:
    """Return one field of all records."""
    return np.array([getattr(item, name) for item in found], dtype=float)


def verdicts(found: Sequence[Any]) -> list[Verdict]:
    """Test everything; p-values are corrected (Holm) within the rows that must pass, and within the others."""
    out = []
    for claims in (True, False):
        tests = [
            (row, quantity, len(mine), p)
            for row in ROWS
            if (row.truth == "prior" and not row.approximates) == claims
            for mine in [[item for item in found if item.row == row.key]]
            for quantity in WORDS
            for p in [_p(mine, quantity)]
            if p is not None
        ]
        adjusted = holm([p for *_, p in tests])
        out += [Verdict(*test, value) for test, value in zip(tests, adjusted, strict=True)]
    return out


def _p(mine: Sequence[Any], quantity: Quantity) -> float | None:
    values = column(mine, quantity)
    if not len(values) or np.isnan(values).all():
        return None
    if quantity in FORECAST:
        return forecast_p(values, column(mine, FORECAST[quantity]).astype(bool))
    return rank_p(values)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979).

    Examples
    --------
    >>> from calibration.verdicts import holm
    >>> holm([0.01, 0.5, 0.04])
    [0.03, 0.5, 0.08]
    """
    order, out, top = np.argsort(p), [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        top = max(top, min(1.0, (len(p) - place) * p[i]))
        out[i] = top
    return out


def ranks_table(found: Sequence[Any]) -> str:
    """Return p-values of every row and quantity in Markdown; alarms are bold."""
    every = {(item.row.key, item.quantity): item for item in verdicts(found)}
    rows = []
    for row in ROWS:
        sets = sum(item.row == row.key for item in found)
        if sets:
            cells = (_cell(every.get((row.key, quantity))) for quantity in WORDS)
            rows.append([row.key, _kind(row), f"{sets:,}", *cells])
    return markdown(["what is fitted", "truth", "sets", *WORDS.values()], rows)


def _kind(row: Row) -> str:
    return "prior" if row.truth == "prior" else "near the prior"


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "-"
    text = f"{verdict.p:.3f}" if verdict.p >= 0.001 else "< .001"
    return f"**{text}**" if verdict.is_alarm else text


def coverage_table(found: Sequence[Any]) -> str:
    """Return coverage of central intervals and what became of forecasts, in Markdown."""
    rows = []
    for row in ROWS:
        mine = [item for item in found if item.row == row.key]
        if mine:
            ranked = (_covered(mine, quantity) for quantity in RANKED)
            narrow = f"{narrowness(column(mine, 'effect')):.2f} ± {2 * math.sqrt(1 / 12 / len(mine)):.2f}"
            rows.append([row.key, *ranked, narrow, *(_forecast(mine, q, name) for q, name in FORECAST.items())])
    head = ["what is fitted", *(f"{WORDS[quantity]}: 50 / 80 / 95%" for quantity in RANKED)]
    return markdown([*head, "narrowness", "P(edge): said / found", "P(no path): said / found"], rows)


def _covered(mine: Sequence[Any], quantity: Quantity) -> str:
    inside = column(mine, f"{quantity}_within")
    if not inside.any():
        return "-"
    return " / ".join(f"{100 * np.mean(inside <= level):.0f}" for level in LEVELS)


def _forecast(mine: Sequence[Any], quantity: Quantity, event: str) -> str:
    said = column(mine, quantity)
    if np.isnan(said).all():
        return "-"
    return f"{said.mean():.3f} / {column(mine, event).mean():.3f}"


def summary(found: Sequence[Any]) -> str:
    """Return in a paragraph how many tests there were and how many alarms."""
    every = [item for item in verdicts(found) if item.row.truth == "prior" and not item.row.approximates]
    alarms = [item for item in every if item.is_alarm]
    small = sum(item.p < 0.05 for item in every)
    sets = len({(item.row, item.seed) for item in found})
    if not every:
        return f"{sets:,} data sets in all. In none of them was the truth drawn from the prior itself."
    least = min(item.p for item in every)
    words = "no alarm" if not alarms else "alarms: " + "; ".join(f"{a.row.key} ({WORDS[a.quantity]})" for a in alarms)
    return (
        f"{sets:,} data sets in all. Where the truth is drawn from the prior itself there are {len(every)} tests; "
        f"{small} have a p-value below 0.05 where chance alone gives about {0.05 * len(every):.0f}, and the smallest "
        f"is {least:.3g}. Corrected for their number (Holm), at one in a hundred for all of them together: {words}."
    )
