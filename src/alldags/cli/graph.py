"""``alldags graph``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import alldags
from alldags.cli.options import Json
from alldags.cli.printing import print_json, save_picture
from alldags.text import printable

if TYPE_CHECKING:
    from alldags.graph.candidate import CandidateGraph


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
        print_json(_graph_facts(candidate))
    else:
        print(_graph_text(candidate))


def _graph_facts(candidate: CandidateGraph) -> dict[str, Any]:
    unstated = candidate.unstated
    return {
        "schema": "alldags.graph/1",
        "variables": list(candidate.variables),
        "layers": [list(tier) for tier in candidate.tiers()],
        "edges": [{"cause": c, "effect": e, "probability": p} for (c, e), p in candidate.edges.items()],
        "hidden": [{"first": a, "second": b, "probability": p} for (a, b), p in candidate.hidden.items()],
        "instruments": [{"instrument": a, "treatment": b, "valid": v} for (a, b), v in candidate.declared.items()],
        "log10_graphs": candidate.log10_graphs,
        "blocks": [list(block) for block in candidate.blocks],
        **({"unstated": [list(edge) for edge in candidate.edges if edge in unstated]} if unstated else {}),
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
    save_picture(candidate.plot(), target)
