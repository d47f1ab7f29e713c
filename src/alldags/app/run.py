"""Open the page: read the table, warm up, serve, and open a browser."""

from __future__ import annotations

import sys
import time
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from threading import Thread

import numpy as np

from alldags.app.answer import drawing
from alldags.app.server import Server
from alldags.app.study import open_study
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
    missing: str | None = None,
    categories: Sequence[str] = (),
    tell: Callable[[str], None] | None = None,
) -> None:
    """Serve a page about a table until interrupted.

    Parameters
    ----------
    data, graph
        Files: the table, and the candidate graph if there is one.
    treatment, outcome
        Names; None: they are chosen on the page.
    port
        Where to listen on this computer; 0 for any free port.
    browser
        Whether to open one.
    missing
        What is done about missing values, ``"drop"`` or ``"impute"``; None: the page asks where there are any.
    categories
        Columns of numbers that are codes of levels.
    tell
        Takes what there is to say; by default it is printed.
    """
    tell = _print if tell is None else tell
    study = open_study(data, graph, treatment, outcome, missing, categories)
    with Server(study, port) as server:
        tell(f"read {study.name}: {study.rows:,} rows, {len(study.columns)} columns")
        tell(f"open {server.address} (Ctrl+C ends it)")
        tell("warming up: the first answers on a computer take longer, a minute where inner loops are to be compiled")
        if browser:
            webbrowser.open(server.address)
        Thread(target=_warm_up, args=(tell,), daemon=True).start()
        server.serve_forever()


def _print(text: str) -> None:
    """Print to the terminal, not wider than it; an address stays whole."""
    lines = fill(printable(text), line_width(), break_long_words=False, break_on_hyphens=False)
    print(lines, file=sys.stderr, flush=True)


def _warm_up(tell: Callable[[str], None]) -> None:
    """Ask small questions of each kind, so that whoever asks one on the page need not wait for the compiler."""
    x, y, z = np.random.default_rng(0).normal(size=(3, 60))
    start = time.perf_counter()
    graph = CandidateGraph.from_tiers([["x"], ["y"], ["z"]], 0.5)
    table = {"x": x, "y": y + x, "z": z + x}
    words, holes = np.resize(["a", "b", "c"], 60), np.where(x > 1.5, np.nan, y)
    for other in (
        {},
        {"z": (table["z"] > 0).astype(float)},
        {"x": words, "y": holes},
    ):  # numbers, yes/no, words and gaps
        drawing(fit({**table, **other}, graph, missing="impute", rng=0).effect("y", "z"))
    tell(f"warmed up ({time.perf_counter() - start:.0f} s); open directions follow")
    for forward in (0.25, 0.2):  # as probable as the other direction, and less
        opened = CandidateGraph.from_tiers([["x"], ["y", "z"]], 0.5).with_pair("y", "z", forward, 0.25)
        drawing(fit(table, opened, rng=0).effect("y", "z"))
    tell(f"all warmed up ({time.perf_counter() - start:.0f} s)")
