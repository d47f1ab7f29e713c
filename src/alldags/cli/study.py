"""From options to a table, a graph and a fit."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import alldags
from alldags.cli.options import NO_TIME, NOTHING_SAID, FitOptions, Steps, Study
from alldags.errors import AlldagsError, GraphError

if TYPE_CHECKING:
    from alldags.graph.candidate import CandidateGraph
    from alldags.graph.hidden import Valid
    from alldags.priors.prior import Prior
    from alldags.results.posterior import Posterior


def prior_of(options: FitOptions) -> Prior:
    """Return the prior that options name."""
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


def families_of(given: tuple[str, ...]) -> Any:
    """Read ``NAME=FAMILY`` pairs, or the one word ``normal``."""
    if given in ((), ("normal",)):
        return given[0] if given else "auto"
    pairs = [text.partition("=") for text in given]
    for text, (name, equals, family) in zip(given, pairs, strict=True):
        if not (name and equals and family):
            raise AlldagsError(f"--family takes NAME=FAMILY, such as death=bernoulli, got {text!r}")
    return {name: family for name, _, family in pairs}


def table_of(data: Path) -> Any:
    """Return the file, or what is read from standard input as text: a table in memory."""
    if str(data) != "-":
        return data
    with TemporaryDirectory() as folder:
        path = Path(folder) / "standard_input.csv"
        path.write_bytes(sys.stdin.buffer.read())
        return alldags.read_table(path)


def graph_of(options: FitOptions) -> CandidateGraph:
    """Read the graph file, which must be named."""
    if options.graph is None:
        raise GraphError(f"--graph is missing: {FORGOTTEN['--graph']}")
    return alldags.read_graph(options.graph)


def graph_of_study(
    options: FitOptions, treatment: str, outcome: str, said: Study, steps: Steps = NO_TIME
) -> CandidateGraph:
    """Return the graph of the file or, without one, that of a study with confounders and mediators."""
    if options.graph is not None:
        if said != NOTHING_SAID:
            raise GraphError(
                "--graph says what may act on what: leave out --confounders, --mediators, --instruments and "
                "--probability"
            )
        return alldags.read_graph(options.graph)
    if said == NOTHING_SAID and steps.time is None:
        raise GraphError("name the confounders (--confounders age,sex), or a graph file (--graph graph.toml)")
    if steps.time is not None:
        groups = [names_of(said.confounders), [treatment], names_of(said.mediators), [outcome]]
        names = [name for group in groups for name in group]
        chance, lags = 0.5 if said.probability is None else said.probability, 2 if steps.lags is None else steps.lags
        return alldags.CandidateGraph.over_time(names, lags, chance, tiers=[group for group in groups if group])
    from alldags.front import study_graph

    confounders, mediators, instruments = map(names_of, (said.confounders, said.mediators, said.instruments))
    valid = valid_of(said.valid)
    return study_graph(treatment, outcome, confounders, mediators, said.probability, instruments, valid)


def valid_of(text: str) -> Valid:
    """Read a probability, or the word."""
    from alldags.graph.hidden import checked_valid

    try:
        return checked_valid(float(text))
    except ValueError:
        return checked_valid(text)


def names_of(given: tuple[str, ...]) -> list[str]:
    """Return names that were written one by one, or with commas between them."""
    return [name for text in given for name in map(str.strip, text.split(",")) if name]


def numbers_of(word: str, given: tuple[str, ...]) -> dict[str, float] | None:
    """Return numbers by name, written name=number; None for nothing."""
    found = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise AlldagsError(f"{word} takes a name and a number, such as {word} smoking=0.8, got {text!r}") from error
    return found or None


def number_of(text: str) -> float | str:
    """Return a number, or the text that is none."""
    try:
        return float(text)
    except ValueError:
        return text


def pair_of(name: str, text: str, kind: type[Any]) -> tuple[str, Any]:
    """Read NAME=NUMBER."""
    word, _, value = text.rpartition("=")
    try:
        return word, kind(value)
    except ValueError:
        pass
    example = "rows=1" if kind is float else "exercise=200"
    raise AlldagsError(f"{name} takes a name and a number, such as {example}, got {text!r}")


def fitted(data: Path, options: FitOptions, graph: CandidateGraph | None = None, steps: Steps = NO_TIME) -> Posterior:
    """Fit a table as options say."""
    return alldags.fit(
        table_of(data),
        graph_of(options) if graph is None else graph,
        prior=prior_of(options),
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
        reliability=numbers_of("--reliability", options.reliability),
        error_sd=numbers_of("--error-sd", options.error_sd),
        categories=names_of(options.categories) or (),
        families=families_of(options.family),
        terms=options.terms,
        time=steps.time,
        unit=steps.unit,
        lags=steps.lags,
        intercepts=steps.intercepts,
        always=names_of(steps.always) or (),
        progress=options.progress,
    )


FORGOTTEN = {
    "--graph": "the file that says which causes are possible, such as --graph graph.toml; the smallest has one line: "
    'tiers = [["age", "sex"], ["smoking"], ["risk"]]',
    "--data": "the table, such as alldags effect study.csv --graph graph.toml; - for standard input",
    "--treatment": "the name of the cause, such as --treatment smoking",
    "--outcome": "the name of the effect, such as --outcome risk",
}
