"""From a table to the printed answer, link check included: what a user waits for. CPU seconds, one thread."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import alldags as ad
from alldags.datasets.public import ihdp, lbidd
from benchmarks.report import Row, cpu_seconds

DATA = Path(os.environ.get("ALLDAGS_DATA", Path(__file__).parents[2] / "shared" / "data"))


def answer(table: Any, graph: ad.CandidateGraph, ends: tuple[str, str], prior: ad.Prior, **options: Any) -> str:
    """Return the printed answer of one question."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.AlldagsWarning)
        return str(ad.fit(table, graph, prior=prior, rng=0, **options).effect(*ends))


def ordered(variables: int, rows: int) -> tuple[np.ndarray, ad.CandidateGraph]:
    """Return rows of a sparse order of variables and its candidate graph."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, variables))
    for j in range(1, variables):
        x[:, j] += x[:, :j] @ (rng.normal(size=j) * (rng.random(j) < 0.2) * 0.5)
    return x, ad.CandidateGraph.from_order([f"v{i:02d}" for i in range(variables)], 0.5)


def _cases() -> Iterator[tuple[str, float, Callable[[], str]]]:
    """Yield names, bars in seconds, and questions."""
    large = ad.datasets.paper_sample(ad.datasets.paper_graph(30, 30), 200, 20)
    columns = dict(zip(large.names, large.table.T, strict=True))
    table, graph = ordered(20, 300)
    rows = dict(zip(graph.variables, table.T, strict=True))
    ends = (graph.variables[0], graph.variables[-1])
    study = ad.datasets.example()
    straight = partial(answer, terms=None)
    priors = {"paper's prior": ad.Prior.paper(), "default prior": ad.Prior()}
    bars = {"paper's prior": (1.5, 0.2), "default prior": (5.0, 1.0)}
    for name, prior in priors.items():
        yield f"large graph, {name}", bars[name][0], lambda p=prior: straight(columns, large.graph, ("X", "Y"), p)  # type: ignore[misc]
        yield f"order of 20, {name}", bars[name][1], lambda p=prior: straight(rows, graph, ends, p)  # type: ignore[misc]
    asked = (study.table, study.graph, ("smoking", "risk"), ad.Prior())
    yield "README example, straight lines", 0.1, lambda: straight(*asked)
    yield "README example, printed by default", 2.0, lambda: answer(*asked)
    if DATA.is_dir():
        first, wide = ihdp(1, DATA), lbidd("a3c4c668", DATA)
        for name, bar, data in (("IHDP", 0.3, first), ("LBIDD, 178 candidates", 4.0, wide)):
            yield name, bar, lambda d=data: answer(d.moments(), d.graph(), ("treatment", "outcome"), ad.Prior())  # type: ignore[misc]


def run() -> list[Row]:
    """Time each question; its first call may compile, and is not counted."""
    found = []
    for name, bar, ask in _cases():
        ask()
        found.append(Row(name, cpu_seconds(ask), "s CPU", bar))
    return found
