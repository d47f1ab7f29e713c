"""``alldags effects``, ``alldags edges`` and ``alldags moments``: tables of a whole fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

import alldags
from alldags.cli.options import DEFAULTS, Data, FitOptions, Json
from alldags.cli.printing import notes_of, print_json, print_with_notes
from alldags.cli.study import fitted


def effects(data: Data, *, options: FitOptions = DEFAULTS, as_json: Json = False) -> None:
    """Print the mean total effect of every variable on every other: row = cause, column = effect."""
    posterior = fitted(data, options)
    matrix = posterior.effects()
    if as_json:
        print_json(
            {
                "schema": "alldags.effects/2",
                "names": list(matrix.names),
                "mean": matrix.values.tolist(),
                "sd": posterior.effects_sd().values.tolist(),
                "notes": notes_of(posterior),
            }
        )
    else:
        print_with_notes(matrix, posterior)


def edges(data: Data, *, options: FitOptions = DEFAULTS, as_json: Json = False) -> None:
    """Print prior and posterior probability of every candidate edge."""
    posterior = fitted(data, options)
    table = posterior.edge_probabilities()
    if as_json:
        print_json({"schema": "alldags.edges/2", "edges": list(table.rows()), "notes": notes_of(posterior)})
    else:
        print_with_notes(table, posterior)


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
