"""What families of regressions, and what their effects are differences of, are called: one row each.

A new family is a file in `alldags.families`, its class in `alldags.families.kinds`, and a row here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from alldags.wording import option

_LINES = f"use {option('families', 'normal')}"


class Kind(NamedTuple):
    """How a family is spoken of.

    Parameters
    ----------
    words
        What a refusal calls its variables; ``{names}`` are their names, ``{s}`` ends a plural.
    way_out
        What to do without it.
    scale
        What its predictor is.
    regression
        What its regression is called.
    described
        What a variable is; ``{events}`` is the sum of its values, ``{rows}`` their number.
    """

    words: str
    way_out: str
    scale: str
    regression: str
    described: str

    @property
    def bends(self) -> bool:
        """Whether its mean is no line in its predictor."""
        return self.scale != "mean"


class Measure(NamedTuple):
    """What effects on a mean that is no line in its causes are differences of.

    Parameters
    ----------
    mean
        The mean, beside numbers.
    means
        Means, in a sentence for a paper.
    scale
        What of an outcome changes.
    low, high
        Between which the mean is.
    has_ratio
        Whether means can be divided by each other: zero is nothing.
    """

    mean: str
    means: str
    scale: str
    low: float
    high: float
    has_ratio: bool = True


KINDS: dict[str, Kind] = {
    "bernoulli": Kind(
        "the yes/no variable{s} {names}", _LINES, "log-odds", "logistic", "yes/no ({events:,.0f} of {rows:,.0f})"
    ),
    "poisson": Kind(
        "the count{s} {names}", _LINES, "log rate", "Poisson", "a count ({events:,.0f} in {rows:,.0f} rows)"
    ),
    "survival": Kind(
        "the survival time{s} {names}",
        "leave it out of the graph",
        "log hazard",
        "proportional hazards",
        "a survival time ({events:,.0f} events in {rows:,.0f} rows)",
    ),
    "student": Kind("the heavy tails of {names}", "use normal noise", "mean", "heavy-tailed", "a number"),
    "ordered": Kind("the grade{s} {names}", _LINES, "log-odds", "cumulative logistic", "a grade ({rows:,.0f} rows)"),
    "categorical": Kind(
        "the levels of {names}",
        "leave out the edges into it",
        "log-odds",
        "multinomial logistic",
        "a category ({rows:,.0f} rows)",
    ),
    "lognormal": Kind("the amount{s} {names}", _LINES, "log mean", "log-normal", "a positive amount (log-normal)"),
    "hurdle": Kind(
        "the amount{s} with zeros {names}",
        _LINES,
        "log-odds and log mean",
        "two-part",
        "an amount with zeros ({events:,.0f} of {rows:,.0f} rows have some)",
    ),
    "gamma": Kind("the amount{s} {names}", _LINES, "log mean", "gamma", "a positive amount (gamma)"),
}
MEASURES: dict[str, Measure] = {
    "risk": Measure("probability", "probabilities", "probability", 0.0, 1.0),
    "rate": Measure("mean count", "mean counts", "mean", 0.0, math.inf),
    "score": Measure("mean score", "mean scores", "mean score", -math.inf, math.inf, has_ratio=False),
    "amount": Measure("mean", "means", "mean", 0.0, math.inf),
    "survival": Measure(
        "restricted mean",
        "restricted mean survival times",
        "restricted mean",
        0.0,
        math.inf,
    ),
}
