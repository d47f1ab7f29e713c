"""What `fit` is told of time: from a table and graphs to the table with its past, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from alldags import checks, meetings
from alldags.data.clock import Clock, Windows, read_clock, unit_numbers, windows
from alldags.data.factors import factor_names
from alldags.data.imputed import Imputed
from alldags.data.lagged import SEASON, TREND, LaggedSource, first_columns
from alldags.data.lagged_query import is_query, lagged_query
from alldags.data.reading import RowOptions
from alldags.data.record import MomentsSource
from alldags.data.source import Source, open_source
from alldags.data.stream import StreamSource
from alldags.errors import DataError, GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.over_time import check_over_time, feeds_back, with_always
from alldags.notes import Note
from alldags.steps import current, lags_of
from alldags.typing import IntArray
from alldags.wording import option

Intercepts: TypeAlias = Literal["fixed", "random", "joint"]
FEWEST = 20  # rows of a unit from which on a lagged outcome goes with intercepts that are taken out
_MOST_SEASONS = 60
_FEW_WAVES = 2
_MOST_GROUPS = 12


@dataclass(frozen=True, eq=False)
class Timing:
    """What is said of time; for the meaning of each see `alldags.fit`."""

    time: str | None = None
    unit: str | None = None
    lags: int | None = None
    intercepts: Intercepts | None = None
    always: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.always, str):
            raise DataError(f"always must be a list of columns; write {option('always', [self.always])}")
        for name in ("time", "unit"):
            if not isinstance(getattr(self, name), str | None):
                raise DataError(f"{name} must be the name of a column, got {getattr(self, name)!r}")
        if self.intercepts is not None:
            checks.one_of("intercepts", self.intercepts, get_args(Intercepts), DataError)
            if self.unit is None:
                raise DataError(f"{option('intercepts', self.intercepts)} needs {option('unit')}: intercepts of what?")
        if self.time is None:
            self._check_nothing_said()

    def _check_nothing_said(self) -> None:
        said = {"unit": self.unit, "lags": self.lags, "intercepts": self.intercepts, "always": tuple(self.always)}
        for name, value in said.items():
            if value not in (None, ()):
                raise DataError(
                    f"{option(name)} needs {option('time')}, the column that says when each row was seen; without one, "
                    f"{option('fixed_effects')} is for intercepts of units"
                )

    def rows(self, options: RowOptions) -> RowOptions:
        """Return what is said of rows, with what follows from time."""
        if self.time is None:
            return options
        _check_named(options)
        apart = (self.time,) if self.unit is None else (self.time, self.unit)
        if self.intercepts is None or self.unit is None:
            return replace(options, apart=apart)
        if self.intercepts == "fixed" and factor_names(options.fixed_effects):
            raise DataError(
                f"{option('intercepts', self.intercepts)} and {option('fixed_effects')} both give units intercepts; "
                f"for units and times write {option('fixed_effects', [self.unit, self.time])} alone"
            )
        if self.intercepts == "fixed":
            return replace(options, fixed_effects=[self.unit], apart=apart)
        units = (self.unit,) if self.intercepts == "random" else (self.unit, self.time)
        return replace(options, intercepts=self.intercepts, units=units, apart=apart)


def _check_named(options: RowOptions) -> None:
    """Refuse what is said of rows by number: rows that have their past are others."""
    for name in ("weights", "cluster", "interventions"):
        given = getattr(options, name)
        listed = given.values() if isinstance(given, Mapping) else [given]
        if any(one is not None and not isinstance(one, str) for one in listed):
            raise DataError(
                f"{option(name)} must name a column where {option('time')} is given: rows are put in order, and first "
                "ones left out"
            )


class Timed(NamedTuple):
    """A table with its past, graphs, what is said of rows, further columns, what to tell the user, and flat columns."""

    table: Any
    names: Sequence[str] | None
    graphs: list[CandidateGraph]
    options: RowOptions
    beside: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    flat: tuple[str, ...] = ()


def timed(
    table: Any, names: Sequence[str] | None, graphs: list[CandidateGraph], timing: Timing, options: RowOptions
) -> Timed:
    """Return the table with the past of its columns, and graphs with what acts always.

    Parameters
    ----------
    table, names
        As given to `fit`.
    graphs
        The candidate graphs.
    timing
        What is said of time.
    options
        What is said of rows.
    """
    options = timing.rows(options)
    if timing.time is None:
        return Timed(table, names, graphs, options)
    lags = _lags(graphs, timing)
    if isinstance(table, Imputed):
        meetings.check({"time": (), "completed tables": ()})
    if is_query(table):
        return _queried(table, graphs, timing, options, lags)
    base = open_source(table, names)
    if isinstance(base, MomentsSource):
        meetings.check({"time": (), "moments": ()})
    opened = _opened(base, timing, lags)
    always, opened = _always(opened, timing)
    graphs = [_with(graph, always) for graph in graphs]
    variables = current(graphs[0].variables)
    _check_past(opened.windows, options, graphs, timing)
    if timing.intercepts == "joint":
        _check_groups(opened)
    shared = set(variables) - set(always)
    beside = first_columns([name for name in variables if name in shared], lags) if timing.intercepts == "joint" else ()
    notes = tuple(_notes(opened, timing, graphs))
    return Timed(opened, None, graphs, options, beside, notes, () if timing.intercepts == "joint" else always)


def _lags(graphs: Sequence[CandidateGraph], timing: Timing) -> int:
    """Return how far back the graphs look; it has to be said that they do not."""
    for graph in graphs:
        check_over_time(graph.variables, graph.edges)
    found = lags_of(graphs[0].variables)
    if timing.lags is None and found == 0:
        raise GraphError(
            "the graph has no variables of earlier steps: without them, series that have nothing to do with each other "
            "seem to act on each other; make it with CandidateGraph.over_time(..., lags=2), or say "
            f"{option('lags', 0)} if rows do not depend on the past"
        )
    if timing.lags is not None and timing.lags != found:
        raise GraphError(
            f"{option('lags', timing.lags)}, but the graph's variables go back {found} step{'s' * (found != 1)}; make "
            f"it with CandidateGraph.over_time(..., lags={timing.lags})"
        )
    return found


def _opened(base: Source, timing: Timing, lags: int) -> LaggedSource:
    """Open a table with its past."""
    for keyword in ("time", "unit"):
        name = getattr(timing, keyword)
        if name is not None and name not in base.columns:
            raise DataError(f"{option(keyword, name)} is not a column of the data{did_you_mean(name, base.columns)}")
    rows = _count(base, str(timing.time))
    clock = read_clock(np.asarray(base.labels(str(timing.time))(0, rows)), str(timing.time))
    units = None
    if timing.unit is not None:
        units = unit_numbers(base.labels(timing.unit)(0, rows).tolist(), timing.unit)
    found = windows(clock, units, lags, unbroken=timing.intercepts == "joint")
    if found.order is not None and isinstance(base, StreamSource) and base.stream.same_order:
        by = " and ".join(filter(None, (timing.unit, timing.time)))
        raise DataError(
            f"the rows of {base.stream.what} are not in the order of {by}; sort them before they are written, or read "
            "the file into memory with alldags.read_table(...)"
        )
    return LaggedSource(base, clock, found, lags)


def _count(base: Source, name: str) -> int:
    rows = getattr(base, "rows", None)
    return int(rows) if rows is not None else base.numbers([name]).rows


def _check_past(found: Windows, options: RowOptions, graphs: Sequence[CandidateGraph], timing: Timing) -> None:
    lags = lags_of(graphs[0].variables)
    if len(found.at) < 2:
        raise DataError(
            f"only {len(found.at)} rows have their last {lags} steps before them: units are too short for so many "
            f"lags, or {option('time', timing.time)} has gaps or finer steps than the rows"
        )
    if timing.unit is None or not any(feeds_back(graph.edges) for graph in graphs):
        return
    per_unit = float(found.per_unit.mean())
    taken = timing.unit in options.factors or timing.intercepts == "random"
    if taken and per_unit < FEWEST:
        kind = "a random intercept" if timing.intercepts == "random" else "the estimate within units"
        raise DataError(
            f"with {per_unit:.3g} rows a unit {kind} of a lagged effect is biased by about 1/{per_unit:.2g} (Nickell "
            f"1981), because the past holds the unit's own intercept; use {option('intercepts', 'joint')}, or leave "
            "out the edges from the past"
        )


def _check_groups(opened: LaggedSource) -> None:
    """Refuse units that tell nothing of what lasts, and too many groups that were seen at different waves."""
    units, waves = opened.windows.by_waves
    if not (waves[units > 1] >= _FEW_WAVES).any():
        raise DataError(
            f"{option('intercepts', 'joint')} needs several units that have at least {_FEW_WAVES} rows with a past at "
            "the same times, to tell what lasts from what passes; here no two units have"
        )
    groups = int((units > 1).sum())
    if groups > _MOST_GROUPS:
        raise DataError(
            f"units were seen at {groups:,} different sets of times, each of which has means of waves of its own under "
            f"{option('intercepts', 'joint')}; there can be {_MOST_GROUPS}: leave out units whose times few "
            "others have, or number the waves of each unit from its first"
        )


def _with(graph: CandidateGraph, always: Sequence[str]) -> CandidateGraph:
    if not always:
        return graph
    variables, edges = with_always(graph.variables, graph.edges, always)
    return CandidateGraph(variables, edges, graph.calibrate, hidden=graph.hidden, unstated=graph.unstated)


def _always(opened: LaggedSource, timing: Timing) -> tuple[tuple[str, ...], LaggedSource]:
    """Return the columns that are always in, and the table that has them."""
    names: list[str] = []
    for word in timing.always:
        if word in opened.base.columns:
            names.append(word)
        elif word == TREND:
            names.append(TREND)
        elif word.partition(":")[0] == SEASON:
            opened = replace(opened, period=_period(word, opened.clock))
            names += opened.made[1:]
        else:
            words = (TREND, SEASON, *opened.base.columns)
            raise DataError(
                f"{option('always', [word])} is neither a column of the data nor {TREND!r} or {SEASON!r}"
                f"{did_you_mean(word, words)}"
            )
    return tuple(names), opened


def _period(word: str, clock: Clock) -> int:
    said = word.partition(":")[2]
    period = int(said) if said.isdigit() else clock.period
    if period is None or not 2 <= period <= _MOST_SEASONS or (said and not said.isdigit()):
        raise DataError(
            f"{option('always', [word])}: after how many steps seasons come again is not known; write 'season:12', "
            f"with 2 to {_MOST_SEASONS} steps"
        )
    return period


def _few_and_fed(opened: LaggedSource, graphs: Sequence[CandidateGraph]) -> bool:
    """Tell whether units have few rows, and the past of a variable acts on itself."""
    few = len(opened.windows.per_unit) > 1 and float(opened.windows.per_unit.mean()) < FEWEST
    return few and any(feeds_back(graph.edges) for graph in graphs)


def _notes(opened: LaggedSource, timing: Timing, graphs: Sequence[CandidateGraph]) -> list[Note]:
    """Say how many rows have their past, and what is taken for granted of units."""
    rows, used = len(opened.clock.step), opened.rows
    found = []
    if used < rows:
        units = f" of {len(opened.windows.per_unit):,} units" if timing.unit is not None else ""
        found.append(
            Note(f"{used:,} of {rows:,} rows{units} have their last {opened.lags} steps before them, and are used")
        )
    if timing.unit is not None and timing.intercepts is None and _few_and_fed(opened, graphs):
        found.append(
            Note(
                f"units have {opened.windows.per_unit.mean():.3g} rows with a past each, and none has an intercept: "
                "what lasts about units then seems to act by way of the past; "
                f"{option('intercepts', 'joint')} tells the two apart",
                "check",
            )
        )
    if timing.intercepts == "joint":
        found += _group_notes(*opened.windows.by_waves)
    if not opened.lags:
        found.append(
            Note(
                "rows are taken not to depend on the past (lags=0): series that drift by themselves seem to act on "
                "each other",
                "check",
            )
        )
    return found


def _group_notes(units: IntArray, waves: IntArray) -> Iterator[Note]:
    """Say what is each group's own where units were not all seen at the same waves."""
    alone = int((units == 1).sum())
    if alone:
        yield Note(
            f"{alone:,} of {units.sum():,} units were seen at times that no other unit has all of: they are left out",
            "check",
        )
    if len(units) - alone > 1:
        yield Note(
            f"units were seen at {len(units) - alone} different sets of times ({waves[units > 1].min()} to "
            f"{waves[units > 1].max()} rows with a past): each set has means of waves, and a spread of traits, of its "
            "own; what acts on what is common to all"
        )


def _queried(table: Any, graphs: list[CandidateGraph], timing: Timing, options: RowOptions, lags: int) -> Timed:
    """Return a query with the past of its columns."""
    if timing.always or timing.intercepts == "joint":
        said = option("always") if timing.always else option("intercepts", "joint")
        raise DataError(f"{said} needs rows at hand: collect the query first, or give a file")
    if timing.unit in options.factors or timing.intercepts == "random":
        raise DataError(f"{option('intercepts')} needs rows at hand: collect the query first, or give a file")
    found = lagged_query(table, current(graphs[0].variables), str(timing.time), timing.unit, lags)
    return Timed(found, None, graphs, options)
