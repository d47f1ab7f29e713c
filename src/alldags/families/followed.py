"""What a survival time takes from the rows: mistakes in them, cut points, and up to which time they say something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alldags.errors import DataError
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.data.batches import RowTable

AT_RISK = 0.1  # share of the rows, in both arms, that is at risk at the default horizon
_EVENTS_A_PIECE, _MOST_PIECES = 10, 12
_LEAST_EVENTS = 2
_SPLIT = 0.5  # share of late entries at a time at which a row was censored, above which units have several rows


def check_followed(child: str, event: str, entry: str | None, rows: tuple[FloatArray, FloatArray, FloatArray]) -> None:
    """Refuse rows that are not right-censored times of one event.

    Parameters
    ----------
    child, event, entry
        Names of the columns.
    rows
        Since when and until when rows were watched, and what was seen, shape (rows,) each.
    """
    start, stop, seen = rows
    other = seen[(seen != 0.0) & (seen != 1.0)]
    if other.size:
        raise DataError(
            f"{event!r} says whether the event of {child!r} was seen and must be 0 or 1, but has the value "
            f"{float(other[0]):g}; competing risks, and left or interval censoring, are not modelled: take the event "
            "of interest for 1 and others for censoring, if that is what they are"
        )
    if seen.sum() < _LEAST_EVENTS:
        raise DataError(f"{event!r} is 1 in {seen.sum():g} rows: no hazard of {child!r} can be seen from that")
    early = np.flatnonzero((start < 0.0) | (start >= stop))
    if early.size:
        raise DataError(
            f"row {int(early[0])} enters at {float(start[early[0]]):g} and is watched until "
            f"{float(stop[early[0]]):g}; {entry!r} must be 0 or more, and before {child!r}"
        )
    late = start[start > 0.0]
    if late.size and np.isin(late, stop[seen == 0.0]).mean() > _SPLIT:
        raise DataError(
            f"most rows enter, by {entry!r}, at a time at which another row was censored, as where units have several "
            "rows: covariates that vary in time are not modelled; give one row for each unit"
        )


def written_out(table: RowTable, *columns: FloatArray) -> list[FloatArray]:
    """Return columns in which each row stands as often as its frequency weight says."""
    weight = None if table.marks.effective else table.marks.weight
    times = np.ones(table.count, dtype=np.int64) if weight is None else table.column(weight).astype(np.int64)
    return [np.repeat(column, times) for column in columns]


def cut_points(times: FloatArray) -> tuple[float, ...]:
    """Return where pieces of time are cut: at quantiles of the times of events, with ten of them or more in each."""
    count = int(np.clip(len(times) // _EVENTS_A_PIECE, 1, _MOST_PIECES))
    cuts = np.unique(np.quantile(times, np.arange(1, count) / count))
    return tuple(cuts[cuts < times.max()].tolist())


def horizon_of(child: str, horizon: float | None, start: FloatArray, stop: FloatArray, arms: FloatArray) -> float:
    """Return the horizon: as given, or the largest time at which enough rows of each arm are at risk."""
    last = float(stop.max())
    if horizon is None:
        return min(_still_at_risk(start[arms == arm], stop[arms == arm]) for arm in np.unique(arms))
    if horizon > last:
        raise DataError(f"the horizon {horizon:g} is beyond the last time of {child!r}, {last:g}; give a smaller one")
    return float(horizon)


def _still_at_risk(start: FloatArray, stop: FloatArray) -> float:
    """Return the largest time at which a tenth of some rows was still, and already, watched."""
    times = np.unique(stop)
    there = len(stop) - np.searchsorted(np.sort(stop), times, side="left")
    there -= len(start) - np.searchsorted(np.sort(start), times, side="left")
    enough = times[there >= AT_RISK * len(stop)]
    return float(enough[-1]) if enough.size else float(np.median(stop))
