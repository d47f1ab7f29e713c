"""What may be asked about a hidden cause: which engines, which variables, which shares."""

from __future__ import annotations

from collections.abc import Iterable

from alldags import checks, meetings
from alldags.assumptions.examined import ExaminedEffect
from alldags.errors import AlldagsError, did_you_mean
from alldags.models.capabilities import data_asks, outcome_asks

WITHOUT_AVERAGE = ("em", "full", "k2")  # engines that take one graph, or one value, as known


def checked_share(name: str, value: object) -> float:
    """Return a share from 0 to below 1."""
    if not checks.is_number(value) or not 0 <= value < 1:
        raise AlldagsError(f"{name} must be a number from 0 to below 1, got {value!r}")
    return float(value)


def check_order(effect: ExaminedEffect) -> None:
    """Refuse variables whose order is open on the way from treatment to outcome."""
    if loose := open_orders(effect):
        meetings.check({"sensitivity": (), "open directions": loose})


def open_orders(effect: ExaminedEffect) -> tuple[str, ...]:
    """Return the variables on the way whose order is open."""
    return tuple(
        name
        for total in effect.workings.totals.items
        for block in total.model.graph.blocks
        for name in block
        if name in total.span.places
    )


def heavy_on_the_way(effect: ExaminedEffect) -> tuple[str, ...]:
    """Return the treatment, and the variables on the way, whose noise has heavy tails."""
    return tuple(name for name in effect.workings.variables if name in effect.posterior.workings.data.heavy)


def check_rows(effect: ExaminedEffect, hits: Iterable[str]) -> None:
    """Refuse nodes whose regression leaves rows out: where a variable was set, nothing hidden acts on it."""
    for name in hits:
        if name in effect.posterior.workings.data.was_set:
            raise AlldagsError(
                f"the regression of {name!r} leaves out rows in which it was set from outside, and nothing hidden acts "
                "on it there; sensitivity to a cause of it is not supported: ask with the other rows alone"
            )


def check_engine(effect: ExaminedEffect) -> None:
    """Refuse what a hidden cause is not weighed against, and engines that take as known what has to be drawn."""
    data = effect.posterior.workings.data
    asked = {"sensitivity": (), **data_asks(data), **outcome_asks(data, "", effect.workings.reached)}
    if effect.posterior.engine in WITHOUT_AVERAGE:
        asked["one graph known"] = (effect.posterior.engine,)
    meetings.check(asked)


def checked_hits(effect: ExaminedEffect, hits: Iterable[str] | None) -> tuple[str, ...]:
    """Return what the hidden cause acts on: the treatment, then causes first."""
    treatment, outcome = effect.treatment, effect.outcome
    if isinstance(hits, str):
        raise AlldagsError(f"hits must be a list of names, got {hits!r}; write [{treatment!r}, {hits!r}]")
    given = (treatment, outcome) if hits is None else tuple(hits)
    spans = [total.span for total in effect.workings.totals.items if total.span.variables]
    if not spans:
        raise AlldagsError(
            f"no candidate path leads from {treatment!r} to {outcome!r}: the effect is zero by assumption, whatever is "
            "hidden; add the edges of a path if one is possible"
        )
    allowed = [name for name in spans[0].variables if all(name in span.places for span in spans)]
    for name in given:
        if name not in allowed:
            raise AlldagsError(
                f"hits names {name!r}, which does not lie between {treatment!r} and {outcome!r} in every candidate "
                f"graph{did_you_mean(name, allowed)}; known: {', '.join(map(repr, allowed))}"
            )
    if treatment not in given or len(set(given)) < 2:
        raise AlldagsError(
            f"hits must have {treatment!r} and at least one variable after it: a hidden cause that does not act on the "
            "treatment does not bias its total effect"
        )
    return tuple(name for name in allowed if name in given)
