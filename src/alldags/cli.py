"""The command line: parse, call the library, print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

import alldags
from alldags.errors import AlldagsError

app = App(
    name="alldags",
    help="Causal effects averaged over every DAG you cannot rule out.",
    version=alldags.__version__,
    help_format="plaintext",
)

GraphFile = Annotated[Path, Parameter(name=["--graph", "-g"], help="Candidate graph: .toml .csv .dot .gml .json .dagitty")]
PriorName = Annotated[Literal["default", "paper"], Parameter(help="Prior settings; see the documentation page on priors.")]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object instead of text.")]


def _prior(name: str, slab_variance: float | None, noise_precision: float | None) -> Any:
    from alldags.prior import KnownNoise, Prior, UnknownNoise

    paper = name == "paper"
    noise = KnownNoise(1.0 if noise_precision is None else noise_precision) if paper or noise_precision else None
    return Prior(
        slab_variance=1.0 if slab_variance is None else slab_variance,
        noise=UnknownNoise() if noise is None else noise,
        units="raw" if paper else "standardized",
        intercept=not paper,
    )


def _fit(data: Path, graph: Path, prior: Any, engine: str, seed: int, n_jobs: int, drop_missing: bool) -> Any:
    from alldags.data.files import read_table

    table, names = read_table(data)
    return alldags.fit(
        table,
        alldags.read_graph(graph),
        prior=prior,
        engine=engine,
        rng=seed,
        n_jobs=n_jobs,
        names=names,
        drop_missing=drop_missing,
        progress=True,
    )


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _print_notes(posterior: Any) -> None:
    for note in posterior.notes:
        print(f"note: {note}", file=sys.stderr)


@app.command
def demo() -> None:
    """Run the built-in example: the answer in words, and why."""
    from alldags.results.demo import run_demo

    print(run_demo())


@app.command
def effect(
    data: Path,
    *,
    graph: GraphFile,
    treatment: str,
    outcome: str,
    engine: str = "auto",
    prior: PriorName = "default",
    slab_variance: float | None = None,
    noise_precision: float | None = None,
    drop_missing: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    as_json: Json = False,
) -> None:
    """Print the total effect of a treatment on an outcome, averaged over all candidate graphs.

    Parameters
    ----------
    data
        Table: CSV or Parquet.
    treatment
        Name of the cause.
    outcome
        Name of the effect.
    engine
        auto, exact, certified, mcmc, vb, em, gibbs, k2 or full.
    slab_variance
        Prior variance of a coefficient whose edge is present.
    noise_precision
        Take the noise precision as known, with this value.
    drop_missing
        Leave out rows with missing values.
    seed
        Seed of the draws behind intervals.
    n_jobs
        Threads.
    """
    posterior = _fit(data, graph, _prior(prior, slab_variance, noise_precision), engine, seed, n_jobs, drop_missing)
    answer = posterior.effect(treatment, outcome)
    if as_json:
        _print_json(answer.to_dict())
    else:
        print(answer)


@app.command
def effects(
    data: Path,
    *,
    graph: GraphFile,
    engine: str = "auto",
    prior: PriorName = "default",
    slab_variance: float | None = None,
    noise_precision: float | None = None,
    drop_missing: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    as_json: Json = False,
) -> None:
    """Print the mean total effect of every variable on every other: row = cause, column = effect."""
    posterior = _fit(data, graph, _prior(prior, slab_variance, noise_precision), engine, seed, n_jobs, drop_missing)
    matrix = posterior.effects()
    if as_json:
        _print_json({"schema": "alldags.effects/1", "names": list(matrix.names), "mean": matrix.values.tolist()})
    else:
        print(matrix)
        _print_notes(posterior)


@app.command
def edges(
    data: Path,
    *,
    graph: GraphFile,
    engine: str = "auto",
    prior: PriorName = "default",
    slab_variance: float | None = None,
    noise_precision: float | None = None,
    drop_missing: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    as_json: Json = False,
) -> None:
    """Print prior and posterior probability of every candidate edge."""
    posterior = _fit(data, graph, _prior(prior, slab_variance, noise_precision), engine, seed, n_jobs, drop_missing)
    table = posterior.edge_probabilities()
    if as_json:
        _print_json({"schema": "alldags.edges/1", "edges": list(table.rows())})
    else:
        print(table)
        _print_notes(posterior)


@app.command
def graph(file: Path, *, draw: Path | None = None, as_json: Json = False) -> None:
    """Check a candidate graph, say what is in it, and draw it.

    Parameters
    ----------
    file
        Candidate graph: .toml .csv .dot .gml .json .dagitty
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


def _graph_facts(candidate: Any) -> dict[str, Any]:
    return {
        "schema": "alldags.graph/1",
        "variables": list(candidate.variables),
        "tiers": [list(tier) for tier in candidate.tiers()],
        "edges": [{"cause": c, "effect": e, "probability": p} for (c, e), p in candidate.edges.items()],
        "log10_graphs": candidate.log10_graphs,
    }


def _graph_text(candidate: Any) -> str:
    from alldags.results.describe import graph_count
    from alldags.results.table import Table

    certain = sum(p == 1 for p in candidate.edges.values())
    lines = [
        f"{len(candidate.variables)} variables, {len(candidate.edges)} candidate edges ({certain} certain), "
        f"{graph_count(candidate.log10_graphs)} graphs",
    ]
    lines += [f"tier {i}: {', '.join(tier)}" for i, tier in enumerate(candidate.tiers(), start=1)]
    rows = [(c, e, p) for (c, e), p in candidate.edges.items()]
    table = Table({name: [row[i] for row in rows] for i, name in enumerate(("cause", "effect", "probability"))})
    return "\n".join([*lines, "", str(table)])


def _draw(candidate: Any, target: Path) -> None:
    from alldags.errors import require

    pyplot: Any = require("matplotlib.pyplot", "plot")
    axes = candidate.plot()
    partial = target.with_name(f".{target.name}.part{target.suffix}")
    axes.figure.savefig(partial, dpi=150, bbox_inches="tight")
    pyplot.close(axes.figure)
    partial.replace(target)


def main() -> None:
    """Run the command line; bad input gives one line on stderr and exit code 2."""
    try:
        app(exit_on_error=False, print_error=False)
    except (AlldagsError, CycloptsError, OSError) as error:
        message = " ".join(str(error).split())
        print(f"alldags: {message}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("alldags: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
