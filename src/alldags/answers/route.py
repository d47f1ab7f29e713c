"""`Route`: how what is done to a treatment gets to an outcome, draw by draw.

Between the nodes that bend, or are not normal, all is linear: the predictor of each is the row's own plus, for the
treatment and every such node before it, a number of the draw times a move of the row. Such nodes are *stops*; what
columns other than straight lines add at a stop is computed from the moved values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from alldags.answers.nodes import NodeSample, Samples
from alldags.columns.levels import Level
from alldags.columns.line import Line
from alldags.families.yes_no import Bernoulli
from alldags.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Route:
    """Where a push has to stop.

    Parameters
    ----------
    source, target
        Treatment and outcome.
    entries
        The columns of the treatment: itself, or those of a category.
    stops
        Nodes between them that bend or are not normal, in order.
    slopes
        Change of a node's predictor per unit of a column of the treatment or an earlier stop, along straight lines
        only, by the two names; shape (draws,) each, in working units.
    bent
        For each stop, and the outcome, the columns that are no straight line in what is moved, shape (columns,).
    drawn
        Whether values of yes/no stops are drawn even where they could be averaged over.
    """

    source: str
    entries: tuple[str, ...]
    target: str
    stops: tuple[str, ...]
    slopes: Mapping[tuple[str, str], FloatArray]
    bent: Mapping[str, IntArray] = field(default_factory=dict)
    drawn: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the treatment, and the stops."""
        return (*self.entries, *self.stops)


def route_of(
    variables: Sequence[str],
    samples: Samples,
    scale: Mapping[str, float],
    *,
    entries: Sequence[str] | None = None,
    drawn: bool = False,
) -> Route:
    """Return where to stop on the way, and how each stop answers to the treatment and to the stops before it.

    Parameters
    ----------
    variables
        The treatment, what lies between, and the outcome, causes first.
    samples
        Draws of all but the treatment.
    scale
        User's units per working unit of the variables, and of the columns of the treatment.
    entries
        The columns of the treatment; None: itself.
    drawn
        As for `Route`.
    """
    starts = (variables[0],) if entries is None else tuple(entries)
    moved = set(variables)
    bent = {name: _bent(samples[name], moved) for name in variables[1:]}
    stops = tuple(name for name in variables[1:-1] if samples[name].family is not None or bent[name].size)
    slopes: dict[tuple[str, str], FloatArray] = {}
    for start in (*starts, *stops):
        reached: dict[str, FloatArray] = {start: np.ones(1)}
        for child in variables[1:]:
            slope = None if child == start else _slope(samples[child], reached, scale)
            if slope is not None:
                slopes[start, child] = slope
                if child not in stops:
                    reached[child] = slope
    kept = {name: places for name, places in bent.items() if places.size}
    return Route(variables[0], starts, variables[-1], stops, slopes, kept, drawn)


def _bent(sample: NodeSample, moved: set[str]) -> IntArray:
    """Return the columns that contain what is moved and are not a straight line in it, if one is ever present."""
    columns = sample.columns.made
    found = [
        place
        for place, column in enumerate(columns)
        if not isinstance(column, Line | Level) and not moved.isdisjoint(column.variables)
    ]
    return np.array([place for place in found if sample.coefficients[:, place].any()], dtype=np.int64)


def _slope(sample: NodeSample, reached: Mapping[str, FloatArray], scale: Mapping[str, float]) -> FloatArray | None:
    """Return the change of a predictor along straight lines from what is reached, shape (draws,); None without any."""
    terms = []
    for place, column in enumerate(sample.columns.made):
        if isinstance(column, Line | Level) and column.name in reached:
            unit = scale[column.name] / float(sample.columns.scale[place])
            terms.append(sample.coefficients[:, place] * (unit * reached[column.name]))
    return None if not terms else np.asarray(sum(terms[1:], start=terms[0]))


def sums_states(route: Route, samples: Samples, most: int) -> bool:
    """Tell whether all stops are yes/no and so few that both values of each can be averaged over."""
    yes_no = all(isinstance(samples[name].family, Bernoulli) for name in route.stops)
    return yes_no and len(route.stops) <= most and not route.drawn
