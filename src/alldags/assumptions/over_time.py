"""Notes on series and panels: what residuals, roots and units say of a graph over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from alldags.answers.after import AfterSteps
from alldags.data.clock import windows
from alldags.data.lagged import SEASON, TREND, LaggedSource
from alldags.effects.steps.recursion import radius, responses
from alldags.models.fitted import FittedGraph
from alldags.notes import Note
from alldags.steps import at, current, lags_of, past
from alldags.typing import FloatArray, IntArray
from alldags.wording import option

_SIGNIFICANT = 2.6  # standard errors of a correlation
_NEAR_ROOT = 0.95
_BETWEEN = 0.05  # share of residual variance between units, without intercepts for them
_FEW = 3  # rows a column
_FEW_OF_A_SEASON = 3  # rows
_RARE = 0.0093  # what chance gives beyond so many standard errors
_MOST = 0.5  # of a response
_NATS = 3.0
_MOST_NAMED = 3


class HasAnswer(Protocol):
    """What is asked of a response."""

    @property
    def workings(self) -> AfterSteps: ...


def lagged_source(posterior: Any) -> LaggedSource | None:
    """Return the table with its past that a posterior was fitted to; None if it is not at hand."""
    table = posterior.workings.table
    source = None if table is None else table.source()
    while source is not None and not isinstance(source, LaggedSource):
        source = getattr(source, "_source", None)
    return source


def response_notes(response: HasAnswer) -> Iterator[Note]:
    """Yield what moments say of a response's assumptions."""
    answer = response.workings
    model = answer.models.heaviest
    yield from _root_note(answer, model)
    yield from _inside_note(answer)
    yield from _few_rows_note(model)
    yield from _without_traits_note(answer, model)
    source = lagged_source(answer.posterior)
    if source is not None and model.data.traits is None and not model.data.families and not model.data.categories:
        yield from residual_notes(model, source)


def _root_note(answer: AfterSteps, model: FittedGraph) -> Iterator[Note]:
    one = next((one for one in answer.drawn if one.way.variables), None)
    if one is not None and (found := float(radius(one.matrices.mean(axis=0)[None])[0])) > _NEAR_ROOT:
        yield Note(
            f"what is there grows or fades by a factor of {found:.2f} a step: it drifts, and effects after many steps "
            "rest on the model",
            "check",
        )
    del model


def _inside_note(answer: AfterSteps) -> Iterator[Note]:
    """Say that most of a response is lost without edges inside a step, which rows so far apart cannot look into."""
    one = next((one for one in answer.drawn if one.way.variables), None)
    if one is None or answer.never.value > _MOST:
        return
    mean = one.matrices.mean(axis=0)
    later = mean.copy()
    later[0] = 0.0
    both = responses(np.array([mean, later]), 0, answer.steps, lasting=answer.lasting)
    whole, left = both[:, :, one.way.place[answer.outcome]]
    if np.abs(whole - left).sum() > _MOST * np.abs(whole).sum():
        yield Note(
            "edges inside a step carry most of the response: what acts there is faster than rows are taken, and the "
            "graph, not time, says which way; rows at finer steps would tell",
        )


def _without_traits_note(answer: AfterSteps, model: FittedGraph) -> Iterator[Note]:
    """Say what one step does by the other way that is honest with few waves, which assumes nothing of traits."""
    if model.data.traits is None:
        return
    edge = past(answer.treatment, 1), answer.outcome
    found = model.data.traits.without_traits
    if found is None or edge not in found:
        yield Note("without assuming normal traits there is no estimate that could be trusted", "check")
        return
    mode, sd = found[edge]
    ends = f"{mode - 1.96 * sd:.3g} to {mode + 1.96 * sd:.3g}"
    yield Note(f"without assuming normal traits, all edges being in, {edge[0]} does {mode:.3g} ({ends}) to {edge[1]}")


def _few_rows_note(model: FittedGraph) -> Iterator[Note]:
    widest = max(len(model.graph.parents(name)) for name in model.graph.variables)
    if model.data.rows < _FEW * widest:
        yield Note(f"{model.data.rows:,.0f} rows for regressions on {widest} columns: the prior says much", "check")


# -- residuals -------------------------------------------------------------------------------------------------------


class Deep(NamedTuple):
    """Moments with one lag more than the graph has, and the time: names, cross-products (p, p), rows."""

    names: tuple[str, ...]
    scatter: FloatArray
    rows: float

    @property
    def place(self) -> dict[str, int]:
        """Position of each column."""
        return {name: i for i, name in enumerate(self.names)}


def residual_notes(model: FittedGraph, source: LaggedSource) -> Iterator[Note]:
    """Yield what residuals at the mean coefficients say: of their past, of time, of units, of one lag more."""
    children = [name for name in current(model.graph.variables) if model.graph.parents(name)]
    if any(model.order_block(name) is not None for name in children) or len(source.windows.at) < 20:
        return
    deep = _deep(model, source)
    if deep is None:
        return
    slopes = {name: _residual(model, name, deep, 0) for name in children}
    earlier = {name: _residual(model, name, deep, 1) for name in children}
    yield from _serial_note(slopes, earlier, deep)
    yield from _trend_note(slopes, deep)
    if not source.period:
        yield from _season_note(slopes, deep)
    yield from _order_note(model, children, deep)
    yield from _units_note(model, source, children)


def _deep(model: FittedGraph, source: LaggedSource) -> Deep | None:
    """Return moments with one lag more, and the time; within what fixed effects leave they are not looked at."""
    if model.data.is_within:
        return None
    lags = lags_of(model.graph.variables) + 1
    names = [name for name in current(model.graph.variables) if name not in source.made]
    found = windows(source.clock, _all_units(source), lags)
    further = LaggedSource(source.base, source.clock, found, lags, source.period or _period(source, len(found.at)))
    if further.rows < 20:
        return None
    own = [past(name, lag) for lag in range(lags + 1) for name in names]
    made = [name for name in further.made if name == TREND or name not in source.base.columns]
    moments = further.moments([*own, *made], drop_missing=True)
    return Deep(moments.names, moments.scatter, moments.n)


def _period(source: LaggedSource, rows: int) -> int:
    """Return after how many steps seasons come again, if dates say so and there are rows enough of each; else 0."""
    period = source.clock.period or 0
    return period if rows >= _FEW_OF_A_SEASON * period else 0


def _all_units(source: LaggedSource) -> IntArray:
    """Return a number for each unbroken run of rows of one unit: no window crosses its ends."""
    order = source.windows.order
    count = len(source.clock.step)
    place = np.arange(count) if order is None else order
    steps = source.clock.step[place]
    unit = np.zeros(count, dtype=np.int64)
    starts = np.ones(count, dtype=bool)
    starts[1:] = np.diff(steps) != 1
    if source.lags:
        inside = np.zeros(count, dtype=bool)
        inside[source.windows.at] = True
        starts[1:] |= inside[:-1] & ~inside[1:]
    unit[place] = np.cumsum(starts)
    return unit


def _residual(model: FittedGraph, child: str, deep: Deep, back: int) -> FloatArray:
    """Return a child's residual, some steps back, as weights of the columns, shape (p,)."""
    found = np.zeros(len(deep.names))
    found[deep.place[past(child, back)]] = 1.0
    node = model.node(child)
    for name, value in zip(node.parents, node.mean.tolist(), strict=True):
        cause = at(name)
        column = (
            name if cause.name not in current(deep.names) or name in (TREND,) else past(cause.name, cause.lag + back)
        )
        if column in deep.place:
            found[deep.place[column]] -= value * model.data.unit(name, child)
    return found


def _correlation(one: FloatArray, other: FloatArray, deep: Deep) -> float:
    both = one @ deep.scatter @ other
    scale = math.sqrt(max(float(one @ deep.scatter @ one) * float(other @ deep.scatter @ other), 1e-300))
    return float(both) / scale


def _serial_note(slopes: Mapping[str, FloatArray], earlier: Mapping[str, FloatArray], deep: Deep) -> Iterator[Note]:
    found = {name: _correlation(slopes[name], earlier[name], deep) for name in slopes}
    strong = {name: r for name, r in found.items() if abs(r) > _SIGNIFICANT / math.sqrt(deep.rows)}
    if strong:
        shown = ", ".join(f"{name} (r = {r:.2f})" for name, r in list(strong.items())[:_MOST_NAMED])
        yield Note(f"errors follow their own past: {shown}; make the graph with one lag more", "check")


def _trend_note(slopes: Mapping[str, FloatArray], deep: Deep) -> Iterator[Note]:
    time = np.zeros(len(deep.names))
    time[deep.place[TREND]] = 1.0
    strong = [name for name, slope in slopes.items()
              if abs(_correlation(slope, time, deep)) > _SIGNIFICANT / math.sqrt(deep.rows)]  # fmt: skip
    if strong:
        named = ", ".join(strong[:_MOST_NAMED])
        yield Note(f"what is left of {named} goes with time: add {option('always', ['trend'])}", "check")


def _season_note(slopes: Mapping[str, FloatArray], deep: Deep) -> Iterator[Note]:
    """Say what is left goes with the season, by the share of it that means of seasons take up."""
    seasons = [place for name, place in deep.place.items() if name.startswith(f"{SEASON} ")]
    strong = [name for name, slope in slopes.items() if seasons and _is_seasonal(slope, seasons, deep)]
    if strong:
        named = ", ".join(strong[:_MOST_NAMED])
        yield Note(f"what is left of {named} goes with the season: add {option('always', [SEASON])}", "check")


def _is_seasonal(slope: FloatArray, seasons: list[int], deep: Deep) -> bool:
    from scipy.special import chdtri

    across = deep.scatter[seasons] @ slope
    share = across @ np.linalg.pinv(deep.scatter[np.ix_(seasons, seasons)], hermitian=True) @ across
    return bool(deep.rows * share > chdtri(len(seasons), _RARE) * (slope @ deep.scatter @ slope))


def _order_note(model: FittedGraph, children: list[str], deep: Deep) -> Iterator[Note]:
    """Compare the evidence of all lags, and of one more, on the same rows, every column being in."""
    lags = lags_of(model.graph.variables)
    gain = sum(_gain(model, name, lags, deep) for name in children)
    if gain > _NATS:
        yield Note(
            f"one lag more is better by {gain:.0f} nats of evidence: make the graph with lags={lags + 1}", "check"
        )


def _gain(model: FittedGraph, child: str, lags: int, deep: Deep) -> float:
    same = [name for name in model.graph.parents(child) if name in deep.place]
    names = [name for name in current(deep.names) if past(name, 1) in deep.place]
    further = [past(name, lags + 1) for name in names]
    return _evidence(child, [*same, *further], deep) - _evidence(child, same, deep)


def _evidence(child: str, columns: list[str], deep: Deep) -> float:
    """Return the log evidence of a regression on standardised columns with slabs of variance 1/4 of the noise's."""
    places = [deep.place[name] for name in columns]
    scale = np.sqrt(np.diag(deep.scatter) / deep.rows)
    scaled = deep.scatter / np.outer(scale, scale)
    own = deep.place[child]
    matrix = scaled[np.ix_(places, places)] + 4.0 * np.eye(len(places))
    cross = scaled[places, own]
    left = float(scaled[own, own] - cross @ np.linalg.solve(matrix, cross))
    spread = len(places) * math.log(4.0) - float(np.linalg.slogdet(matrix)[1])
    return 0.5 * spread - 0.5 * (deep.rows - 1.0) * math.log(left)


def _units_note(model: FittedGraph, source: LaggedSource, children: list[str]) -> Iterator[Note]:
    """Say that residuals of a unit go together, if units have no intercepts of their own."""
    units = source.windows.units
    count = len(np.unique(units))
    if count < 2 or model.data.of(children[0]).variants:
        return
    found = {name: _between(model, name, source) for name in children}
    strong = {name: share for name, share in found.items() if share > _BETWEEN}
    if strong:
        shown = ", ".join(f"{name} ({share:.0%})" for name, share in list(strong.items())[:_MOST_NAMED])
        way = option("intercepts", "joint" if len(units) / count < 20 else "fixed")
        yield Note(
            f"units differ in what is left of {shown} of its variance between them: add {way}", "changes the answer"
        )


def _between(model: FittedGraph, child: str, source: LaggedSource) -> float:
    """Return the share of residual variance between units, less what chance gives."""
    node = model.node(child)
    columns = source.numbers([child, *node.parents]).read(0, source.rows)
    values = np.array([np.asarray(column, dtype=np.float64) for column in columns])
    unit = np.array([model.data.unit(name, child) for name in node.parents])
    left = values[0] - (node.mean * unit) @ values[1:]
    kept = np.isfinite(left)
    left, units = left[kept] - left[kept].mean(), np.unique(source.windows.units[kept], return_inverse=True)[1]
    rows = np.bincount(units)
    means = np.bincount(units, left) / rows
    inside = float(((left - means[units]) ** 2).sum() / max(len(left) - len(rows), 1))
    typical = (len(left) - (rows**2).sum() / len(left)) / max(len(rows) - 1, 1)
    outside = float((rows * means**2).sum() / max(len(rows) - 1, 1))
    between = max((outside - inside) / typical, 0.0)
    return float(between / (between + inside))
