"""Effects between thousands of variables, written to a file as they are computed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import checks, meetings
from alldags.data.arrow import pyarrow
from alldags.effects.everywhere import onward, regressed, toward
from alldags.errors import AlldagsError, did_you_mean
from alldags.files import replacing
from alldags.models.capabilities import data_asks, family_asks, model_asks
from alldags.models.fitted import FittedGraph
from alldags.progress import Progress
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.posterior import Posterior

_ROWS = 1_000_000  # of the file that are written at a time
_ENDS = 0.025, 0.975


def write_effects(
    posterior: Posterior, target: str | os.PathLike[str], outcome: str | None, draws: int, *, sd: bool
) -> None:
    """Write effects to a Parquet file; see `Posterior.write_effects`."""
    if Path(target).suffix not in (".parquet", ".pq"):
        raise AlldagsError(f"effects are written to a Parquet file; name it .parquet, got {os.fspath(target)!r}")
    parquet, arrow = pyarrow("pyarrow.parquet"), pyarrow("pyarrow")
    model = _checked(posterior, outcome)
    parts = _all(posterior, model, sd=sd) if outcome is None else _on(posterior, model, outcome, draws)
    with replacing(target) as temporary:
        first = arrow.table(next(parts))
        with parquet.ParquetWriter(str(temporary), first.schema) as writer:
            writer.write_table(first)
            for part in parts:
                writer.write_table(arrow.table(part))


def _checked(posterior: Posterior, outcome: str | None) -> FittedGraph:
    """Return the one model whose effects can be computed a few nodes at a time."""
    if outcome is not None and outcome not in posterior.variables:
        raise AlldagsError(f"the outcome {outcome!r} is not in the graph{did_you_mean(outcome, posterior.variables)}")
    data, models = posterior.workings.data, posterior.workings.models
    asked = model_asks(posterior.graphs, models.items[0].prior, posterior.workings.store.engine)
    asked = {**asked, **data_asks(data), **family_asks(data.families), "written effects": ()}
    asked |= {"categories": tuple(data.categories)} if data.categories else {}
    asked |= {"imputation": ()} if models.weights.tables > 1 else {}
    asked |= {"curves": ()} if data.curved and not data.on_demand else {}
    meetings.check(asked)
    if len(models.items) > 1:
        raise meetings.refusal("written effects", "shared", asked)
    return models.items[0].straight()


def _on(posterior: Posterior, model: FittedGraph, outcome: str, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the effects of all that may act on one outcome, causes first."""
    size = checks.whole("draws", draws, least=100)
    mean, drawn = toward(model, outcome, size, posterior.workings.stream())
    above = model.graph.ancestors(outcome)
    kept = [place for place, name in enumerate(model.graph.order) if name in above]
    names = [model.graph.order[place] for place in kept]
    unit = np.array([model.data.unit(name, outcome) for name in names])
    ends = np.quantile(drawn[kept], _ENDS, axis=1)
    yield {
        "treatment": names,
        "mean": unit * mean[kept],
        "sd": unit * drawn[kept].std(axis=1),
        "low": unit * ends[0],
        "high": unit * ends[1],
        "probability_no_effect": (drawn[kept] == 0.0).mean(axis=1),
    }


def _all(posterior: Posterior, model: FittedGraph, *, sd: bool) -> Iterator[dict[str, Any]]:
    """Yield the effects of every variable on all that it may act on, many at a time."""
    order, graph = np.array(model.graph.order, dtype=object), model.graph
    scale = np.array([model.data.scale_of(name) for name in order])
    nodes = regressed(model, second=sd)
    waiting: list[tuple[FloatArray, ...]] = []
    with Progress("effects of variables", len(order), show=None if posterior.workings.store.shows else False) as bar:
        for source, mean, square in onward(nodes, len(order)):
            below = graph.descendants(str(order[source]))
            there = np.array([place for place, name in enumerate(order) if name in below], dtype=np.int64)
            unit = scale[there] / scale[source]
            columns = [np.full(len(there), order[source], dtype=object), order[there], unit * mean[there]]
            if square is not None:
                columns.append(unit * np.sqrt(np.maximum(square[there] - mean[there] ** 2, 0.0)))
            waiting.append(tuple(columns))
            bar.advance()
            if sum(len(part[0]) for part in waiting) >= _ROWS:
                yield _joined(waiting)
                waiting = []
    yield _joined(waiting)


def _joined(parts: list[tuple[FloatArray, ...]]) -> dict[str, Any]:
    names = ("treatment", "outcome", "mean", "sd")
    return {name: np.concatenate(column) for name, column in zip(names, zip(*parts, strict=True), strict=False)}
