"""Open the page: read the table, warm up, serve, and open a browser."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

from alldags.app.answer import answer
from alldags.app.server import Server
from alldags.app.study import open_study


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
        first = answer(study.moments, study.question)
        tell(str(first["sentence"]))
        tell(f"open {server.address} (Ctrl+C ends it)")
        if browser:
            webbrowser.open(server.address)
        server.serve_forever()
