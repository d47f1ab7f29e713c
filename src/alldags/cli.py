"""The command line: parse, call the library, print."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from dataclasses import dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter

import alldags
from alldags.errors import AlldagsError, GraphError, did_you_mean
from alldags.text import line_width, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alldags.graph.candidate import CandidateGraph
    from alldags.graph.hidden import Valid
    from alldags.priors.prior import Prior
    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior
    from alldags.results.response import Response
    from alldags.show.summary import EffectSummary
    from replication.command import Report

app = App(
    name="alldags",
    help="Causal effects averaged over every DAG you cannot rule out.",
    version=alldags.__version__,
    help_format="plaintext",
)
if hasattr(app, "suppress_keyboard_interrupt"):  # newer versions would end without a word
    app.suppress_keyboard_interrupt = False

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
        (positive, skewed), cost=hurdle (an amount with zeros; hurdle:lognormal), pain=ordered (a grade) or
        change=student (heavy tails); repeatable. Outcomes and mediators of zeros and ones are yes/no without it; normal
        alone takes straight lines for all.
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


_DEFAULTS, _NOTHING_SAID, _NO_TIME = FitOptions(), Study(), Steps()


def _prior(options: FitOptions) -> Prior:
    from alldags.priors.noise import KnownNoise, UnknownNoise
    from alldags.priors.prior import Prior
    from alldags.priors.slabs import GPrior, HyperG, LearnedSlab, ZellnerSiow

    if options.prior == "paper":
        given = (options.slab_variance, options.noise_precision)
        return Prior.paper(*(1.0 if value is None else value for value in given))
    noise = UnknownNoise() if options.noise_precision is None else KnownNoise(options.noise_precision)
    if options.prior == "v01":
        return Prior(1.0 if options.slab_variance is None else options.slab_variance, noise, link=0.0)
    slabs = {"learned": LearnedSlab, "g": GPrior, "hyper-g": HyperG, "zellner-siow": ZellnerSiow}
    if options.prior in slabs:
        return Prior(options.slab_variance, noise, slab=slabs[options.prior](), link=options.link)
    return Prior(options.slab_variance, noise, link=options.link)


def _families(given: tuple[str, ...]) -> Any:
    """Read ``NAME=FAMILY`` pairs, or the one word ``normal``."""
    if given in ((), ("normal",)):
        return given[0] if given else "auto"
    pairs = [text.partition("=") for text in given]
    for text, (name, equals, family) in zip(given, pairs, strict=True):
        if not (name and equals and family):
            raise AlldagsError(f"--family takes NAME=FAMILY, such as death=bernoulli, got {text!r}")
    return {name: family for name, _, family in pairs}


def _table(data: Path) -> Any:
    """Return the file, or what is read from standard input as text: a table in memory."""
    if str(data) != "-":
        return data
    with TemporaryDirectory() as folder:
        path = Path(folder) / "standard_input.csv"
        path.write_bytes(sys.stdin.buffer.read())
        return alldags.read_table(path)


def _graph(options: FitOptions) -> CandidateGraph:
    if options.graph is None:
        raise GraphError(f"--graph is missing: {_FORGOTTEN['--graph']}")
    return alldags.read_graph(options.graph)


def _study_graph(
    options: FitOptions, treatment: str, outcome: str, said: Study, steps: Steps = _NO_TIME
) -> CandidateGraph:
    """Return the graph of the file or, without one, that of a study with confounders and mediators."""
    if options.graph is not None:
        if said != _NOTHING_SAID:
            raise GraphError(
                "--graph says what may act on what: leave out --confounders, --mediators, --instruments and "
                "--probability"
            )
        return alldags.read_graph(options.graph)
    if said == _NOTHING_SAID and steps.time is None:
        raise GraphError("name the confounders (--confounders age,sex), or a graph file (--graph graph.toml)")
    if steps.time is not None:
        groups = [_names(said.confounders), [treatment], _names(said.mediators), [outcome]]
        names = [name for group in groups for name in group]
        chance, lags = 0.5 if said.probability is None else said.probability, 2 if steps.lags is None else steps.lags
        return alldags.CandidateGraph.over_time(names, lags, chance, tiers=[group for group in groups if group])
    from alldags.front import study_graph

    confounders, mediators, instruments = map(_names, (said.confounders, said.mediators, said.instruments))
    valid = _valid(said.valid)
    return study_graph(treatment, outcome, confounders, mediators, said.probability, instruments, valid)


def _valid(text: str) -> Valid:
    """Read a probability, or the word."""
    from alldags.graph.hidden import checked_valid

    try:
        return checked_valid(float(text))
    except ValueError:
        return checked_valid(text)


def _names(given: tuple[str, ...]) -> list[str]:
    """Return names that were written one by one, or with commas between them."""
    return [name for text in given for name in map(str.strip, text.split(",")) if name]


def _numbers(word: str, given: tuple[str, ...]) -> dict[str, float] | None:
    """Return numbers by name, written name=number; None for nothing."""
    found = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise AlldagsError(f"{word} takes a name and a number, such as {word} smoking=0.8, got {text!r}") from error
    return found or None


def _fit(data: Path, options: FitOptions, graph: CandidateGraph | None = None, steps: Steps = _NO_TIME) -> Posterior:
    return alldags.fit(
        _table(data),
        _graph(options) if graph is None else graph,
        prior=_prior(options),
        engine=options.engine,
        rng=options.seed,
        n_jobs=options.n_jobs,
        interventions=options.interventions,
        randomized=options.randomized,
        missing=options.missing,
        imputations=options.imputations,
        auxiliary=options.auxiliary,
        weights=options.weights,
        weight_kind=options.weight_kind,
        cluster=options.cluster,
        robust=options.robust,
        fixed_effects=() if options.fixed_effects is None else options.fixed_effects.split(","),
        reliability=_numbers("--reliability", options.reliability),
        error_sd=_numbers("--error-sd", options.error_sd),
        categories=_names(options.categories) or (),
        families=_families(options.family),
        terms=options.terms,
        time=steps.time,
        unit=steps.unit,
        lags=steps.lags,
        intercepts=steps.intercepts,
        always=_names(steps.always) or (),
        progress=options.progress,
    )


def _print_json(value: Any) -> None:
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text))
    print(text)


def _finite(value: Any) -> Any:
    """Return the value with null in place of numbers that JSON does not have, infinity above all."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _print_with_notes(value: Any, posterior: Posterior) -> None:
    print(_as_text(value))
    for note in posterior.notes:
        print(_filled(f"note: {note.on_command_line}"), file=sys.stderr)


def _notes(posterior: Posterior) -> list[dict[str, Any]]:
    from alldags.show.json import notes_list

    return notes_list(note.on_command_line for note in posterior.notes)


@app.command
def demo() -> None:
    """Run the built-in example: the answer in words, and why."""
    from alldags.demo import demo_text

    print(demo_text())


@app.command
def effect(
    data: Path,
    *,
    treatment: str,
    outcome: str,
    study: Study = _NOTHING_SAID,
    steps: Steps = _NO_TIME,
    contrast: str | None = None,
    level: float = 0.95,
    details: Annotated[bool, Parameter(negative="")] = False,
    paths: Annotated[bool, Parameter(negative="")] = False,
    influence: Annotated[bool, Parameter(negative="")] = False,
    sensitivity: Annotated[bool, Parameter(negative="")] = False,
    checks: Annotated[bool, Parameter(negative="")] = False,
    options: FitOptions = _DEFAULTS,
    plot: Path | None = None,
    report: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print the total effect of a treatment on an outcome, averaged over all candidate graphs.

    What may act on what is in a file, --graph, or follows from --confounders, --mediators and --instruments.

    Parameters
    ----------
    data
        Table: a file (.csv .tsv .parquet .feather .xlsx .dta .sqlite), a pattern such as 'part-*.parquet', a folder,
        moments (.json .npz), or - for CSV from standard input.
    treatment
        Name of the cause.
    outcome
        Name of the effect.
    contrast
        Two values or levels of the treatment, from and to, such as none:high. A category without it: each level
        compared with the first, or with --json every pair.
    level
        Probability that the interval holds.
    details
        Say everything: all numbers and all notes.
    paths
        Show, too, the paths along which it acts.
    influence
        Show, too, what knowing each uncertain edge would do to the answer.
    sensitivity
        Say, too, what a hidden common cause would do: how strong it would have to be, the effect if it were as strong
        as a measured covariate, and the effect over a grid of strengths.
    checks
        Say, too, what the data show of the assumptions: residuals, outlying rows, independences, overlap.
    plot
        Write a picture of the effect, too: .png, .svg or .pdf
    report
        Write a report, too: one .html file that needs nothing else.
    """
    posterior = _fit(data, options, _study_graph(options, treatment, outcome, study, steps), steps)
    if steps.after is not None:
        _print_response(posterior.effect(treatment, outcome, after=steps.after, lasting=steps.lasting), level,
                        {"contrast": contrast, "details": details, "paths": paths, "influence": influence,
                         "sensitivity": sensitivity, "checks": checks}, plot, report, as_json)  # fmt: skip
        return
    answer = posterior.effect(treatment, outcome)
    pair = None if contrast is None else _pair(contrast, answer)
    answer = answer if pair is None else answer.contrast(*pair)
    makers: dict[str, Callable[[], Any]] = {
        "paths": answer.paths,
        "influence": answer.edge_influence,
        "sensitivity": answer.sensitivity,
        "checks": lambda: posterior.checks(treatment, outcome),
    }
    chosen = {"paths": paths, "influence": influence, "sensitivity": sensitivity, "checks": checks}
    found, refused = _made({name: make for name, make in makers.items() if chosen[name]})
    if as_json:
        more = {name: _as_dict(part) for name, part in found.items()}
        _print_json(_as_json(answer, level, pair) | more | ({"not_made": refused} if refused else {}))
    else:
        parts = [_in_words(answer, level, pair, details), *map(_as_text, found.values())]
        print("\n\n".join([*parts, *(_filled(f"--{name}: not made: {text}") for name, text in refused.items())]))
    if report is not None:
        _write_report(posterior, report, treatment, outcome, pair, level)
    if plot is not None:
        _save(answer.plot(), plot)


def _print_response(
    answer: Response, level: float, others: dict[str, Any], plot: Path | None, report: Path | None, as_json: bool
) -> None:
    """Print what a change does step by step; what is said of the same step alone is refused."""
    said = [name for name, value in others.items() if value]
    if said:
        raise AlldagsError(f"--{said[0]} is of the effect in the same step: leave out --after, or --{said[0]}")
    if as_json:
        _print_json(answer.to_dict(level))
    else:
        print(answer.text(command=True))
        for note in answer.notes:
            print(_filled(f"note: {note.on_command_line}"), file=sys.stderr)
    if report is not None:
        answer.report(report, command=shlex.join(["alldags", *sys.argv[1:]]))
        print(f"report written to {report}", file=sys.stderr)
    if plot is not None:
        _save(answer.plot(), plot)


def _in_words(answer: Effect, level: float, pair: Any, details: bool) -> str:
    """Return the answer in words, on one screen or with all details."""
    from alldags.show.screen import screen_text
    from alldags.show.words import effect_text

    if _is_open(answer, pair):
        levels = answer.contrasts(level)
        return levels.details(command=True) if details else levels.text(command=True)
    summary = answer.summary(level)
    return effect_text(_on_command_line(summary)) if details else screen_text(summary, command=True)


def _as_json(answer: Effect, level: float, pair: Any) -> dict[str, Any]:
    """Return the answer as plain numbers."""
    from alldags.show.json import effect_dict

    return (
        answer.contrasts(level).to_dict()
        if _is_open(answer, pair)
        else effect_dict(_on_command_line(answer.summary(level)))
    )


def _is_open(answer: Effect, pair: Any) -> bool:
    """Tell whether the treatment is a category of which no two levels were named."""
    return pair is None and answer.treatment in answer.posterior.workings.data.categories


def _on_command_line(summary: EffectSummary) -> EffectSummary:
    return replace(summary, notes=tuple(note.on_command_line for note in summary.notes))


def _write_report(posterior: Posterior, path: Path, treatment: str, outcome: str, pair: Any, level: float) -> None:
    command = shlex.join(["alldags", *sys.argv[1:]])
    posterior.report(path, treatment, outcome, contrast=pair, level=level, command=command)
    print(f"report written to {path}", file=sys.stderr)


def _pair(text: str, answer: Effect) -> tuple[float | str, float | str]:
    """Read two values of the treatment, joined by a colon, which a level may hold itself."""
    data = answer.posterior.workings.data
    words = data.levels[answer.treatment].words if answer.treatment in data.levels else ()
    cuts = [(text[:i], text[i + 1 :]) for i, letter in enumerate(text) if letter == ":"]
    known = [cut for cut in cuts if set(cut) <= set(words)] or cuts[:1]
    if not known:
        raise AlldagsError(f"--contrast takes two values joined by a colon, such as none:high or 0:10, got {text!r}")
    start, stop = (value if value in words else _number(value) for value in known[0])
    return start, stop


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _made(makers: dict[str, Callable[[], Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Make the parts that were asked for beside the answer; say of those that this answer has not why not."""
    found: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except AlldagsError as error:
            refused[name] = error.on_command_line
    return found, refused


def _as_dict(part: Any) -> Any:
    """Return a table as a list of rows, anything else as it says itself."""
    return part.to_dict() if hasattr(part, "to_dict") else list(part.rows())


def _as_text(part: Any) -> str:
    if hasattr(part, "text"):
        return str(part.text())
    return str(part)


def _filled(text: str) -> str:
    """Wrap a sentence; options are not broken at their hyphens."""
    return fill(printable(text), line_width(), break_long_words=False, break_on_hyphens=False)


@app.command
def decide(
    data: Path,
    *,
    outcome: str,
    action: tuple[str, ...],
    utility: float | None = None,
    cost: tuple[float, ...] | None = None,
    by: str | None = None,
    budget: int | None = None,
    options: FitOptions = _DEFAULTS,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print which of some actions is best, how probably, and what choosing each would lose on average.

    Parameters
    ----------
    data
        Table: a file (.csv .tsv .parquet .feather .xlsx .dta .sqlite), a pattern such as 'part-*.parquet', a folder,
        moments (.json .npz), or - for CSV from standard input.
    outcome
        Name of what the actions act on.
    action
        What one action sets: dose=10, a shift such as dose+5 or dose-5, several joined by commas, or nothing. Twice or
        more.
    utility
        What one unit of the mean outcome is worth; -1 if less is better, by default 1.
    cost
        What an action costs for each row, in units of utility: once for each action, in their order.
    by
        A column: choose for each of its groups. row: for each row.
    budget
        With --by: how many rows at most get another action than the one that sets nothing, or the first.
    plot
        Write a picture of the actions, too: .png, .svg or .pdf
    """
    posterior = _fit(data, options)
    actions = [_action(text, posterior.variables) for text in action]
    found = posterior.decide(actions, outcome, utility=utility, cost=cost, by=by, budget=budget)
    if as_json:
        _print_json(found.to_dict())
    else:
        print(found.text(command=True))
    if plot is not None:
        _save(found.plot(), plot)


def _action(text: str, variables: Sequence[str]) -> tuple[Any, ...]:
    """Read what an action sets."""
    return () if text.strip() == "nothing" else tuple(_setting(part.strip(), variables) for part in text.split(","))


def _setting(text: str, variables: Sequence[str]) -> Any:
    """Read one variable and what it is set to: the first sign after the name of a variable divides them."""
    for i, sign in enumerate(text):
        if sign in "=+-" and (name := text[:i].strip()) in variables:
            value = _number(text[i + 1 :].strip())
            if sign == "=":
                return {name: value}
            if isinstance(value, float):
                return alldags.shift(name, value if sign == "+" else -value)
    raise AlldagsError(
        "--action takes variables of the graph and what they are set to, such as dose=10, dose+5, 'dose=10, diet=1' or "
        f"nothing, got {text!r}{did_you_mean(text.partition('=')[0].strip(), variables)}"
    )


@app.command(name="next")
def next_steps(
    data: Path,
    *,
    treatment: str,
    outcome: str,
    study: Study = _NOTHING_SAID,
    rows: tuple[int, ...] | None = None,
    experiment: tuple[str, ...] | None = None,
    cost: tuple[str, ...] = (),
    options: FitOptions = _DEFAULTS,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print what to find out next: how far more rows, experiments or known edges would narrow an effect.

    Parameters
    ----------
    data
        Table: a file (.csv .tsv .parquet .feather .xlsx .dta .sqlite), a pattern such as 'part-*.parquet', a folder,
        moments (.json .npz), or - for CSV from standard input.
    treatment
        Name of the cause.
    outcome
        Name of the effect.
    rows
        Further rows of the same kind; several numbers may be given. By default as many as there are.
    experiment
        A variable to set by lot, and in how many rows: exercise=200. By default the treatment, and all between it and
        the outcome, in as many rows as there are.
    cost
        What steps cost: rows=1 and experiments=20 for each row, edges=500 for each edge.
    plot
        Write a picture of the steps, too: .png, .svg or .pdf
    """
    answer = _fit(data, options, _study_graph(options, treatment, outcome, study)).effect(treatment, outcome)
    costs = dict(_pair_of("--cost", text, float) for text in cost) or None
    asked = None if experiment is None else [_pair_of("--experiment", text, int) for text in experiment]
    found = answer.next_steps(asked, rows, cost=costs)
    if as_json:
        _print_json(found.to_dict())
    else:
        print(found)
    if plot is not None:
        _save(found.plot(), plot)


def _pair_of(name: str, text: str, kind: type[Any]) -> tuple[str, Any]:
    """Read NAME=NUMBER."""
    word, _, value = text.rpartition("=")
    try:
        return word, kind(value)
    except ValueError:
        pass
    example = "rows=1" if kind is float else "exercise=200"
    raise AlldagsError(f"{name} takes a name and a number, such as {example}, got {text!r}")


@app.command
def effects(data: Path, *, options: FitOptions = _DEFAULTS, as_json: Json = False) -> None:
    """Print the mean total effect of every variable on every other: row = cause, column = effect.

    Parameters
    ----------
    data
        Table: a file (.csv .tsv .parquet .feather .xlsx .dta .sqlite), a pattern such as 'part-*.parquet', a folder,
        moments (.json .npz), or - for CSV from standard input.
    """
    posterior = _fit(data, options)
    matrix = posterior.effects()
    if as_json:
        _print_json(
            {
                "schema": "alldags.effects/2",
                "names": list(matrix.names),
                "mean": matrix.values.tolist(),
                "sd": posterior.effects_sd().values.tolist(),
                "notes": _notes(posterior),
            }
        )
    else:
        _print_with_notes(matrix, posterior)


@app.command
def edges(data: Path, *, options: FitOptions = _DEFAULTS, as_json: Json = False) -> None:
    """Print prior and posterior probability of every candidate edge.

    Parameters
    ----------
    data
        Table: a file (.csv .tsv .parquet .feather .xlsx .dta .sqlite), a pattern such as 'part-*.parquet', a folder,
        moments (.json .npz), or - for CSV from standard input.
    """
    posterior = _fit(data, options)
    table = posterior.edge_probabilities()
    if as_json:
        _print_json({"schema": "alldags.edges/2", "edges": list(table.rows()), "notes": _notes(posterior)})
    else:
        _print_with_notes(table, posterior)


@app.command
def moments(
    data: Path,
    out: Path,
    *,
    columns: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    missing: Literal["raise", "drop"] = "raise",
    n_jobs: int = -1,
) -> None:
    """Write row count, means and cross-products of a table to a file: what sites share instead of rows.

    Parameters
    ----------
    data
        Table, as for the other commands.
    out
        File to write: .json or .npz
    columns
        Names of the columns; all by default.
    missing
        Missing values: raise an error, or drop the rows.
    n_jobs
        Threads; -1 for one per processor.
    """
    found = alldags.read_moments(data, columns or None, missing=missing, n_jobs=n_jobs)
    found.save(out)
    print(f"moments of {len(found.names):,} columns in {found.n:,} rows written to {out}", file=sys.stderr)


@app.command
def graph(file: Path, *, draw: Path | None = None, as_json: Json = False) -> None:
    """Check a candidate graph, say what is in it, and draw it.

    Parameters
    ----------
    file
        Candidate graph: .toml .csv .dot .gml .json .dagitty .txt
    draw
        Write a picture: .png, .svg or .pdf
    """
    candidate = alldags.read_graph(file)
    if draw is not None:
        _draw(candidate, draw)
    if as_json:
        _print_json(_graph_facts(candidate))
    else:
        print(_graph_text(candidate))


def _graph_facts(candidate: CandidateGraph) -> dict[str, Any]:
    return {
        "schema": "alldags.graph/1",
        "variables": list(candidate.variables),
        "layers": [list(tier) for tier in candidate.tiers()],
        "edges": [{"cause": c, "effect": e, "probability": p} for (c, e), p in candidate.edges.items()],
        "hidden": [{"first": a, "second": b, "probability": p} for (a, b), p in candidate.hidden.items()],
        "instruments": [{"instrument": a, "treatment": b, "valid": v} for (a, b), v in candidate.declared.items()],
        "log10_graphs": candidate.log10_graphs,
        "blocks": [list(block) for block in candidate.blocks],
        **({} if candidate.calibrate else {"calibrate": False}),
    }


def _graph_text(candidate: CandidateGraph) -> str:
    from alldags.show.numbers import graph_count
    from alldags.show.table import Table

    certain = sum(p == 1 for p in candidate.edges.values())
    lines = [
        f"{len(candidate.variables)} variables, {len(candidate.edges)} candidate edges ({certain} certain), "
        f"{graph_count(candidate.log10_graphs)} graphs",
        *(printable(f"tier {i}: {', '.join(tier)}") for i, tier in enumerate(candidate.tiers(), start=1)),
        *(printable(f"order open among: {', '.join(block)}") for block in candidate.blocks),
    ]
    rows = [(c, e, p) for (c, e), p in candidate.edges.items()]
    table = Table({name: [row[i] for row in rows] for i, name in enumerate(("cause", "effect", "probability"))})
    hidden = [f"hidden common cause: {a} <-> {b}, probability {p:g}" for (a, b), p in candidate.hidden.items()]
    hidden += [f"instrument: {a} of {b}, valid {v}" for (a, b), v in candidate.declared.items()]
    return "\n".join([*lines, *hidden, "", str(table)])


def _draw(candidate: CandidateGraph, target: Path) -> None:
    _save(candidate.plot(), target)


def _save(axes: Any, target: Path) -> None:
    from alldags.show.plots.save import save_figure

    save_figure(axes, target)


@app.command
def schema() -> None:
    """Print the JSON Schema of everything that --json prints."""
    from alldags.schema import json_schema

    print(json.dumps(json_schema(), indent=1))


@app.command(name="app")
def local_page(
    data: Path,
    *,
    graph: Path | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    port: int = 0,
    browser: bool = True,
    missing: Literal["ask", "drop", "impute"] = "ask",
    categories: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
) -> None:
    """Open a page to draw the candidate graph on and see the effect change; it never leaves this computer.

    Parameters
    ----------
    data
        Table: a file such as .csv, .parquet, .xlsx or .dta.
    graph
        Candidate graph to begin with: .toml .csv .dot .gml .json .dagitty .txt
    treatment
        Name of the cause; otherwise it is chosen on the page.
    outcome
        Name of the effect; otherwise it is chosen on the page.
    port
        Where to listen on this computer; 0 for any free port.
    browser
        Open a browser.
    missing
        Missing values: ask on the page where there are any, drop the rows, or impute.
    categories
        Columns of whole numbers that are codes of levels: education,exercise or education exercise.
    """
    from alldags.app.run import run

    chosen = None if missing == "ask" else missing
    run(data, graph, treatment, outcome, port=port, browser=browser, missing=chosen, categories=_names(categories))


@app.command
def reproduce(
    name: Literal["small", "large", "ihdp", "lbidd", "acic"],
    *,
    replicates: int | None = None,
    sizes: Annotated[list[int] | None, Parameter(consume_multiple=True)] = None,
    out: Path | None = None,
    n_jobs: int = 2,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seed: int = 0,
    methods: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    first: int = 1,
    data: Path | None = None,
) -> None:
    """Run one of the paper's experiments or ACIC 2016, or go on with an interrupted run; write figures and tables.

    From a checkout of the repository, where `python -m replication` does the same.

    Parameters
    ----------
    name
        Which experiment.
    replicates
        Data sets per setting; 1,000 unless said otherwise in the tables.
    sizes
        Sample sizes, for example --sizes 20 50 100.
    out
        Folder for results; a run found there is resumed.
    n_jobs
        Processes.
    quick
        Few replications, for a first look.
    seed
        Of everything.
    methods
        Only these methods, for example --methods bayes terms ipw_normalised.
    first
        Number of the first replication.
    data
        Folder of public data; otherwise ALLDAGS_DATA, otherwise downloaded.
    """
    report = _replication()(name, replicates, sizes, out, n_jobs, quick, seed, methods=methods, first=first, data=data)
    print(report.text)
    print(f"\nwritten to {report.folder}", file=sys.stderr)


def _replication() -> Callable[..., Report]:
    """Return what runs the experiments: it is in the repository, not in the installed package."""
    try:
        from replication.command import reproduce
    except ModuleNotFoundError as error:
        if error.name not in ("replication", "replication.command"):  # or another package of this name
            raise
        raise AlldagsError(
            "the experiments are not in the installed package; run them in a checkout of the repository: "
            "python -m replication"
        ) from error
    return reproduce


def _describe_version() -> None:
    """Print all versions as JSON: cyclopts itself prints only our own."""
    from alldags.versions import versions

    _print_json(versions(alldags.__version__))


def _run() -> None:
    if sorted(sys.argv[1:]) == ["--json", "--version"]:
        _describe_version()
    else:
        words = [
            "./-" if word == "-" else word for word in sys.argv[1:]
        ]  # standard input, which cyclopts has no word for
        app(words, exit_on_error=False, print_error=False)
    sys.stdout.flush()  # here, where a full disk or a closed pipe is answered


def main() -> None:
    """Run the command line; bad input gives one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may hold what the terminal cannot show
    try:
        try:
            _run()
        finally:
            sys.stdout.flush()  # what cannot be written shows here, and not after the end
    except BrokenPipeError:  # the reader of our output has seen enough
        _discard_output()
        raise SystemExit(0) from None
    except (AlldagsError, CycloptsError, OSError) as error:
        said = error.on_command_line if isinstance(error, AlldagsError) else str(error)
        _end(shortened(printable(_forgotten(error) or " ".join(said.split()))), 2)
    except (MemoryError, ImportError) as error:
        short = any(said in str(error) for said in ("map segment", "allocate memory"))  # no room for a library
        if isinstance(error, ImportError) and not short:
            raise
        _end("out of memory; use fewer rows, variables or candidate edges, or a larger machine", 2)
    except KeyboardInterrupt:
        _end("interrupted", 130)


_FORGOTTEN = {
    "--graph": "the file that says which causes are possible, such as --graph graph.toml; the smallest has one line: "
    'tiers = [["age", "sex"], ["smoking"], ["risk"]]',
    "--data": "the table, such as alldags effect study.csv --graph graph.toml; - for standard input",
    "--treatment": "the name of the cause, such as --treatment smoking",
    "--outcome": "the name of the effect, such as --outcome risk",
}


def _forgotten(error: Exception) -> str:
    """Say what an option that was left out is for; empty for other errors."""
    if not isinstance(error, MissingArgumentError) or error.argument is None:
        return ""
    name = error.argument.name
    shown = "the file of the data" if name == "--data" else name
    return f"{shown} is missing: {_FORGOTTEN[name]}" if name in _FORGOTTEN else ""


def _end(message: str, code: int) -> NoReturn:
    text = f"alldags: {message}"
    print(_filled(text) if sys.stderr.isatty() else text, file=sys.stderr)  # one line for programs that read it
    _discard_output()
    raise SystemExit(code) from None


def _discard_output() -> None:
    """Let what could not be written go: Python would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
