"""Open the page: read the table, warm up, serve, and open a browser."""

from __future__ import annotations

import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np

from alldags.app.answer import answer, drawing
from alldags.app.server import Server
from alldags.app.study import open_study
from alldags.data.moments import Moments
from alldags.fitting import fit
from alldags.graph.candidate import CandidateGraph


def run(
    data: Path,
    graph: Path | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    tell: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
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
    tell
        Takes what there is to say.
    """
    study = open_study(data, graph, treatment, outcome)
    tell(f"read {study.name}: {study.moments.n:,.0f} rows, {len(study.moments.names)} columns")
    if study.left_out:
        tell(f"left out, no numbers or with gaps: {', '.join(study.left_out)}")
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


def _warm_up_directions(tell: Callable[[str], None]) -> None:
    """Ask for an open direction, so that whoever opens one on the page need not wait for the compiler."""
    rng = np.random.default_rng(0)
    table = Moments.from_table(rng.normal(size=(50, 3)), names=["x", "y", "z"])
    start = time.perf_counter()
    for forward in (0.25, 0.2):  # as probable as the other direction, and less
        graph = CandidateGraph.from_tiers([["x"], ["y", "z"]], 0.5).with_pair("y", "z", forward, 0.25)
        drawing(fit(table, graph, rng=0).effect("y", "z"))
    tell(f"open directions are warmed up, too ({time.perf_counter() - start:.0f} s)")
