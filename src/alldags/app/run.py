"""Open the page: read the table, warm up, serve, and open a browser."""

from __future__ import annotations

import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from threading import Thread

import numpy as np

from alldags.app.answer import answer, drawing
from alldags.app.server import Server
from alldags.app.study import open_study
from alldags.data.moments import Moments
from alldags.fitting import fit
from alldags.graph.candidate import CandidateGraph
from alldags.text import line_width, printable


def run(
    data: Path,
    graph: Path | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    drop_missing: bool = False,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Serve a page about a table until interrupted.

    Parameters
    ----------
    data, graph
        Files: the table, and the candidate graph if there is one.
    treatment, outcome
        Names, of the first question.
    port
        Where to listen on this computer; 0 for any free port.
    browser
        Whether to open one.
    drop_missing
        Whether to leave out rows that lack a value, instead of the columns that do.
    tell
        Takes what there is to say; by default it is printed.
    """
    tell = _print if tell is None else tell
    study = open_study(data, graph, treatment, outcome, drop_missing=drop_missing)
    tell(f"read {study.name}: {study.moments.n:,.0f} rows, {len(study.moments.names)} columns")
    if study.left_out:
        gaps = "" if drop_missing else "; --missing drop leaves out rows with gaps instead"
        tell(f"left out, no numbers or with gaps: {', '.join(study.left_out)}{gaps}")
    if study.dropped:
        tell(f"{study.dropped:,} rows with gaps were left out")
    with Server(study, port) as server:
        tell("warming up: the first answer takes longest, up to a minute where inner loops are still to be compiled")
        first = answer(study, study.question)
        tell(str(first["sentence"]))
        tell(f"open {server.address} (Ctrl+C ends it)")
        tell("warming up open directions meanwhile: half a minute where they are still to be compiled")
        if browser:
            webbrowser.open(server.address)
        Thread(target=_warm_up_directions, args=(tell,), daemon=True).start()
        server.serve_forever()


def _print(text: str) -> None:
    """Print to the terminal, not wider than it; an address stays whole."""
    lines = fill(printable(text), line_width(), break_long_words=False, break_on_hyphens=False)
    print(lines, file=sys.stderr, flush=True)


def _warm_up_directions(tell: Callable[[str], None]) -> None:
    """Ask for an open direction, so that whoever opens one on the page need not wait for the compiler."""
    rng = np.random.default_rng(0)
    table = Moments.from_table(rng.normal(size=(50, 3)), names=["x", "y", "z"])
    start = time.perf_counter()
    for forward in (0.25, 0.2):  # as probable as the other direction, and less
        graph = CandidateGraph.from_tiers([["x"], ["y", "z"]], 0.5).with_pair("y", "z", forward, 0.25)
        drawing(fit(table, graph, rng=0).effect("y", "z"))
    tell(f"open directions are warmed up, too ({time.perf_counter() - start:.0f} s)")
