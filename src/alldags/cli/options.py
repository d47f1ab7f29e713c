"""What all commands that fit can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Data = Annotated[
    Path,
    Parameter(
        help="Table: a file (.csv .tsv .parquet .feather .xlsx .dta .sqlite), a pattern such as 'part-*.parquet', a "
        "folder, moments (.json .npz), or - for CSV from standard input."
    ),
]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object instead of text.")]


@Parameter(name="*")
@dataclass(frozen=True)
class FitOptions:
    """Options shared by all commands that fit.

    Parameters
    ----------
    graph
        Candidate graph: .toml .csv .dot .gml .json .dagitty .txt
    engine
        auto, exact, certified, mcmc, vb, em, gibbs, k2 or full.
    prior
        default or learned (learned slab, unknown noise, standardized units, linked); g, hyper-g or zellner-siow (the
        same with another slab); paper (known noise, raw units, no intercept); v01 (the default of version 0.1: fixed
        slab, no link).
    slab_variance
        Prior variance of a coefficient whose edge is present; learned if not given.
    link
        From 0 (none) to 1: how far what drives the treatment is taken for a confounder.
    noise_precision
        Take the noise precision as known, with this value.
    interventions
        Column that names the variable set from outside in each row, several joined by +.
    randomized
        Variables that were randomised: edges into them are left out.
    missing
        Missing values: raise an error (rows that lack the outcome alone are left out, with a note), drop rows, or
        impute.
    imputations
        Number of completed tables with --missing impute; by default one for each percent of rows with a gap, 5 to 20.
    auxiliary
        Columns outside the graph that help to impute.
    weights
        Column of weights of the rows.
    weight_kind
        frequency (a row stands for so many) or sampling (one over the probability of being sampled).
    cluster
        Column that says which rows belong together.
    robust
        Ask the rows whether noise is uneven, and widen the interval if they say so.
    fixed_effects
        One or two columns, joined by a comma, each level of which has its own intercept: state,year.
    reliability
        Share of the variance of a variable that is not error of measurement, such as smoking=0.8; repeatable.
    error_sd
        Standard deviation of a variable's error of measurement, in its own units, such as weight=1.5; repeatable.
    categories
        Columns of whole numbers that are codes of levels: education,exercise or education exercise.
    family
        Family of an outcome or mediator, such as death=bernoulli, visits=poisson, cost=gamma or cost=lognormal
        (positive, skewed), cost=hurdle (an amount with zeros; hurdle:lognormal), pain=ordered (a grade),
        way=categorical or way=categorical:bus (the probability of a level) or change=student (heavy tails);
        repeatable. Outcomes and mediators of zeros and ones are yes/no without it, and levels of words have
        probabilities; normal alone takes straight lines for all.
    terms
        auto: average over curves, and over effects that differ between rows; straight: lines only.
    seed
        Seed of the draws behind intervals and of sampling engines.
    n_jobs
        Threads.
    progress
        Show a bar on a terminal when the work is long.
    """

    graph: Path | None = None
    engine: str = "auto"
    prior: Literal["default", "learned", "g", "hyper-g", "zellner-siow", "paper", "v01"] = "default"
    slab_variance: float | None = None
    link: float = 1.0
    noise_precision: float | None = None
    interventions: str | None = None
    randomized: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()
    missing: Literal["raise", "drop", "impute"] = "raise"
    imputations: int | None = None
    auxiliary: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()
    weights: str | None = None
    weight_kind: Literal["frequency", "sampling"] = "frequency"
    cluster: str | None = None
    robust: bool = True
    fixed_effects: str | None = None
    reliability: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    error_sd: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    categories: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()
    family: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    terms: Literal["auto", "straight"] = "auto"
    seed: int = 0
    n_jobs: int = 1
    progress: bool = True


@Parameter(name="*")
@dataclass(frozen=True)
class Study:
    """What may act on what, without a graph file.

    Parameters
    ----------
    confounders
        Columns that may act on treatment and outcome: age,sex,income or age sex income.
    mediators
        Columns that the treatment may act on, and that may act on the outcome.
    probability
        That the treatment acts on the outcome directly; certain if not given.
    instruments
        Columns that act on the treatment, and on the outcome only through it; something unmeasured may then act on
        both, and the instruments tell how strong it is.
    valid
        Probability that each instrument is one, or "some": the share of those that are is unknown.
    """

    confounders: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()
    mediators: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()
    probability: float | None = None
    instruments: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()
    valid: str = "1"


@Parameter(name="*")
@dataclass(frozen=True)
class Steps:
    """Rows in time: series and panels.

    Parameters
    ----------
    time
        Column that says when each row was seen: whole numbers or dates.
    unit
        Column that says whose row it is, such as a shop or a person.
    lags
        How many steps back causes may be; with --graph it follows from the names in it (price[-1]), by default 2.
    after
        Follow the effect for so many steps.
    lasting
        With --after: the change stays; else it is of one step.
    intercepts
        What is lasting about units: fixed, random or joint (panels of few rows a unit).
    always
        Columns that act on every variable for certain; trend and season (or season:12) are made from the time.
    """

    time: str | None = None
    unit: str | None = None
    lags: int | None = None
    after: int | None = None
    lasting: Annotated[bool, Parameter(negative="")] = False
    intercepts: Literal["fixed", "random", "joint"] | None = None
    always: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = ()


DEFAULTS, NOTHING_SAID, NO_TIME = FitOptions(), Study(), Steps()
