"""``alldags demo``, ``alldags schema``, ``alldags app`` and ``alldags reproduce``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from alldags.cli.study import names_of
from alldags.errors import AlldagsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.command import Report


def demo() -> None:
    """Run the built-in example: the answer in words, and why."""
    from alldags.demo import demo_text

    print(demo_text())


def schema() -> None:
    """Print the JSON Schema of everything that --json prints."""
    from alldags.schema import json_schema

    print(json.dumps(json_schema(), indent=1))


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
    run(data, graph, treatment, outcome, port=port, browser=browser, missing=chosen, categories=names_of(categories))


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
