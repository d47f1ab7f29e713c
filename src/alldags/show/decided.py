"""A decision as printed: what to choose, the actions beside each other, and what knowing more would be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from alldags.notes import Note
from alldags.show.numbers import number, sampled_percent, to_precision
from alldags.show.screen import Screen, laid_out, short_name, warnings

Unit: TypeAlias = Literal["more", "less", "units", "function"]
"""Whether more or less of the outcome is better and losses are in its units, or in those of a utility."""

_MOST_ACTIONS = 5  # on one screen


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One action: the mean outcome with its interval, how probably it is best, what it loses, what it is worth."""

    name: str
    mean: float
    low: float
    high: float
    best: float
    loss: float
    worth: float
    sd: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is printed of a decision.

    Parameters
    ----------
    outcome
        Its name.
    rows
        The actions.
    best
        Place of the best.
    information
        What knowing the best action would be worth.
    unit
        What losses are counted in.
    is_told
        Whether the user said what an outcome is worth.
    notes
        What a reader should know.
    """

    outcome: str
    rows: tuple[ActionRow, ...]
    best: int
    information: float
    unit: Unit
    is_told: bool
    notes: tuple[Note, ...]


def decision_text(chosen: Chosen) -> str:
    """Return a decision on one screen.

    Examples
    --------
    >>> from alldags.show.decided import ActionRow, Chosen, decision_text
    >>> rows = ActionRow("stop", 31.2, 29.0, 33.0, 0.97, 0.02, -31.2, 1.0), ActionRow("go on", 40, 38, 42, 0.03, 8.8, -40, 1)
    >>> print(decision_text(Chosen("risk", rows, 0, 0.02, "less", True, ())))
    Choose 'stop': mean risk would be 31.2 (95% interval 29.0 to 33.0), and it is
    the best of 2 actions with probability 97.0%.
    <BLANKLINE>
      stop   31.2   (29.0 to 33.0), best 97.0%, expected loss 0.02
      go on  40.0   (38.0 to 42.0), best 3.0%, expected loss 8.8
    <BLANKLINE>
    To know for certain which is best would be worth 0.02 of risk.
    More: decision.table(), decision.plot()
    """
    return laid_out(
        Screen(
            sentence=_sentence(chosen),
            rows=tuple(_rows(chosen)),
            under=(*_direction(chosen), _information(chosen)),
            warnings=warnings(chosen.notes),
            hidden="",
            more="More: decision.table(), decision.plot()",
        )
    )


def sized(row: ActionRow) -> str:
    """Return a mean with its interval."""
    mean, low, high = (to_precision(value, row.sd) for value in (row.mean, row.low, row.high))
    return f"{mean} (95% interval {low} to {high})" if row.sd > 0.0 else mean


def _sentence(chosen: Chosen) -> str:
    best = chosen.rows[chosen.best]
    said = f"Choose {short_name(best.name, 40)!r}: mean {short_name(chosen.outcome)} would be {sized(best)}, and it is "
    ties = [row.name for row in chosen.rows if row.worth == best.worth and row.best == best.best]
    if len(ties) == len(chosen.rows):
        return f"All {len(ties)} actions are worth the same: mean {short_name(chosen.outcome)} would be {sized(best)}."
    return f"{said}the best of {len(chosen.rows)} actions with probability {sampled_percent(best.best)}."


def _rows(chosen: Chosen) -> list[tuple[str, str]]:
    """Return the actions, best first; of many, those that lose least."""
    ranked = sorted(chosen.rows, key=lambda row: row.loss)
    shown = ranked[:_MOST_ACTIONS] if len(ranked) > _MOST_ACTIONS + 1 else ranked
    means = [to_precision(row.mean, row.sd) for row in shown]
    width = max(map(len, means))
    found = []
    for row, mean in zip(shown, means, strict=True):
        ends = f"({to_precision(row.low, row.sd)} to {to_precision(row.high, row.sd)}), " if row.sd > 0.0 else ""
        said = f"{mean:{width}}   {ends}best {sampled_percent(row.best)}, expected loss {lost(row.loss)}"
        found.append((short_name(row.name, 30), said))
    rest = len(ranked) - len(shown)
    return [*found, *[(f"{rest} more actions", "that lose more")] * bool(rest)]


def lost(value: float) -> str:
    """Return a loss or a gain: two digits, and none where there is none."""
    return "0" if abs(value) < 1e-12 else number(float(f"{value:.2g}"))


def in_units(value: float, outcome: str, unit: Unit) -> str:
    """Return an amount with its unit."""
    return f"{lost(value)} of {short_name(outcome)}" if unit in ("more", "less") else f"{lost(value)} of utility"


def _information(chosen: Chosen) -> str:
    if lost(chosen.information) == "0":
        return "To know more would not change the choice."
    worth = in_units(chosen.information, chosen.outcome, chosen.unit)
    return f"To know for certain which is best would be worth {worth}."


def _direction(chosen: Chosen) -> Sequence[str]:
    if chosen.is_told:
        return ()
    return (f"More of {short_name(chosen.outcome)} counts as better; utility=-1 says that less is.",)
