"""A decision as printed: what to choose, the actions beside each other, and what knowing more would be worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from alldags.notes import Note
from alldags.show.numbers import number, sampled_percent, to_precision, whole_percent
from alldags.show.screen import Screen, laid_out, short_name, warnings
from alldags.show.words import Row
from alldags.wording import either, in_python, on_command_line, option

_MOST_ACTIONS, _MOST_GROUPS = 5, 4  # on one screen
_LONGEST = 22  # letters of the name of an action in a row
_MORE = either("More: decision.table(), decision.plot()", "More: --json for all numbers, --plot x.png")
_MORE_OF_A_PLAN = either(
    "More: decision.plan.table(), decision.table() for one action for all", "More: --json has who gets what"
)


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
    alike
        Probability that all are worth the same.
    information
        What knowing the best action would be worth.
    in_outcome
        Whether losses are in units of the outcome, not of a utility.
    is_told
        Whether the user said what an outcome is worth.
    notes
        What a reader should know.
    """

    outcome: str
    rows: tuple[ActionRow, ...]
    best: int
    alike: float
    information: float
    in_outcome: bool
    is_told: bool
    notes: tuple[Note, ...]


def decision_text(chosen: Chosen, *, command: bool = False) -> str:
    """Return a decision on one screen, in the words of Python or of the command line.

    Examples
    --------
    >>> from alldags.show.decided import ActionRow, Chosen, decision_text
    >>> stop = ActionRow("stop", 31.2, 29.0, 33.0, best=0.97, loss=0.02, worth=-31.2, sd=1.0)
    >>> rows = stop, ActionRow("go on", 40.0, 38.0, 42.0, best=0.03, loss=8.8, worth=-40.0, sd=1.0)
    >>> print(decision_text(Chosen("risk", rows, 0, 0.0, 0.02, True, True, ())))
    Choose 'stop': mean risk would be 31.2 (95% interval 29.0 to 33.0), and it is
    the best of 2 actions with probability 97.0%.
    <BLANKLINE>
      stop   31.2   (29.0 to 33.0), best 97%, loss 0.02
      go on  40.0   (38.0 to 42.0), best 3%, loss 8.8
    <BLANKLINE>
    To know for certain which is best would be worth 0.02 of risk.
    More: decision.table(), decision.plot()
    """
    under = (*_direction(chosen), _information(chosen))
    return _screen(chosen, _sentence(chosen), _rows(chosen), under, _MORE, command)


def _screen(chosen: Chosen, sentence: str, rows: Sequence[Row], under: Sequence[str], more: str, command: bool) -> str:
    said = on_command_line if command else in_python
    shown = tuple((name, said(value)) for name, value in rows)
    return laid_out(
        Screen(sentence, shown, tuple(map(said, under)), warnings(chosen.notes, command=command), "", said(more))
    )


def sized(row: ActionRow) -> str:
    """Return a mean with its interval."""
    mean, low, high = (to_precision(value, row.sd) for value in (row.mean, row.low, row.high))
    return f"{mean} (95% interval {low} to {high})" if row.sd > 0.0 else mean


def _sentence(chosen: Chosen) -> str:
    best = chosen.rows[chosen.best]
    mean, count = f"mean {short_name(chosen.outcome)} would be {sized(best)}", len(chosen.rows)
    if chosen.alike == 1.0:
        return f"All {count} actions are worth the same: {mean}."
    alike = f" (all are the same with probability {sampled_percent(chosen.alike)})" if chosen.alike >= 0.001 else ""
    best_of = f"it is the best of {count} actions with probability {sampled_percent(best.best)}"
    return f"Choose {short_name(best.name, 40)!r}: {mean}, and {best_of}{alike}."


def _rows(chosen: Chosen) -> list[tuple[str, str]]:
    """Return the actions, best first; of many, those that lose least."""
    ranked = sorted(chosen.rows, key=lambda row: row.loss)
    shown = ranked[:_MOST_ACTIONS] if len(ranked) > _MOST_ACTIONS + 1 else ranked
    sd = max(row.sd for row in shown)
    width = max(len(to_precision(row.mean, sd)) for row in shown)
    found = []
    for row in shown:
        mean, low, high = (to_precision(value, sd) for value in (row.mean, row.low, row.high))
        ends = f"({low} to {high}), " if row.sd > 0.0 else ""
        utility = "" if chosen.in_outcome else f"worth {number(row.worth)}, "
        said = f"{mean:{width}}   {ends}{utility}best {_chance(row.best)}, loss {lost(row.loss)}"
        found.append((short_name(row.name, _LONGEST), said))
    rest = len(ranked) - len(shown)
    return [*found, *[(f"{rest} more actions", "that lose more")] * bool(rest)]


def _chance(value: float) -> str:
    """Return a probability from draws in few letters: however many agree, it is not known to be 0 or 1."""
    return whole_percent(min(max(value, 1e-9), 1 - 1e-9))


def lost(value: float) -> str:
    """Return a loss or a gain: two digits, and none where there is none."""
    return "0" if abs(value) < 1e-12 else number(float(f"{value:.2g}"))


def _unit(chosen: Chosen) -> str:
    return f"of {short_name(chosen.outcome) if chosen.in_outcome else 'utility'}"


def _information(chosen: Chosen) -> str:
    if lost(chosen.information) == "0":
        return "To know more would not change the choice."
    return f"To know for certain which is best would be worth {lost(chosen.information)} {_unit(chosen)}."


def _direction(chosen: Chosen) -> Sequence[str]:
    if chosen.is_told:
        return ()
    return (f"More of {short_name(chosen.outcome)} counts as better; {option('utility', -1)} says that less is.",)


# -- plans -------------------------------------------------------------------------------------------------------------

Sized: TypeAlias = tuple[float, float, float, float]
"""Mean, both ends of its interval, and standard deviation."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is printed of a plan.

    Parameters
    ----------
    by
        The column, or ``"row"``.
    base
        What others are compared with.
    counts
        Number of rows that get each action.
    outcome, gain
        Mean outcome under the plan, and what it is worth beyond the base for all.
    tailoring
        What it is worth beyond the best single action for all; None with a budget.
    budget
        Number of rows at most that get another action than the base.
    groups
        One row for each group; none for single rows.
    """

    by: str
    base: str
    counts: Mapping[str, int]
    outcome: Sized
    gain: Sized
    tailoring: float | None
    budget: int | None
    groups: tuple[Mapping[str, Any], ...]


def plan_text(chosen: Chosen, plan: Planned, *, command: bool = False) -> str:
    """Return a decision that is not the same for all rows, on one screen; `command` as for `decision_text`."""
    under = (*_direction(chosen), _against_base(chosen, plan), *_tailored(chosen, plan))
    rows = _group_rows(plan) or _count_rows(plan)
    return _screen(chosen, _plan_sentence(chosen, plan), rows, under, _MORE_OF_A_PLAN, command)


def _plan_sentence(chosen: Chosen, plan: Planned) -> str:
    mean = f"mean {short_name(chosen.outcome)} would be {_sized(plan.outcome)}"
    rows = sum(plan.counts.values())
    if len(plan.counts) == 1:
        return f"Choose {short_name(next(iter(plan.counts)), 40)!r} for all {rows:,} rows: {mean}."
    others = rows - plan.counts.get(plan.base, 0)
    within = "" if plan.budget is None else f", within a budget of {plan.budget:,}"
    what = "row by row" if plan.by == "row" else f"by {short_name(plan.by)}"
    share = f"{others:,} of {rows:,} rows get another action than {short_name(plan.base, 30)!r}"
    return f"Choose {what}: {share}{within}, and {mean}."


def _sized(size: Sized) -> str:
    mean, low, high = (to_precision(value, size[3]) for value in size[:3])
    return f"{mean} (95% interval {low} to {high})" if size[3] > 0.0 else mean


def _count_rows(plan: Planned) -> list[tuple[str, str]]:
    ranked = sorted(plan.counts.items(), key=lambda pair: -pair[1])
    return _first([(short_name(name, 40), f"{count:,} row{'s' * (count != 1)}") for name, count in ranked])


def _group_rows(plan: Planned) -> list[tuple[str, str]]:
    found = []
    for row in plan.groups:
        part = "" if row["given"] == row["rows"] or row["action"] == plan.base else f" for {row['given']:,}"
        gain = "" if row["action"] == plan.base else f", gain {lost(row['gain'])}"
        action = short_name(row["action"], _LONGEST)
        said = f"{action}{part} of {row['rows']:,} rows" if part else f"{action}, {row['rows']:,} rows"
        found.append((short_name(str(row["group"]), 30), f"{said}{gain}, best {_chance(row['probability_best'])}"))
    return _first(found)


def _first(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if len(rows) <= _MOST_GROUPS + 1:
        return rows
    return [
        *rows[:_MOST_GROUPS],
        (f"{len(rows) - _MOST_GROUPS} more", f"in {either('decision.plan.table()', '--json')}"),
    ]


def _against_base(chosen: Chosen, plan: Planned) -> str:
    mean, low, high, sd = plan.gain
    ends = f" ({to_precision(low, sd)} to {to_precision(high, sd)})" if sd > 0.0 else ""
    better = f"A row is better off by {to_precision(mean, sd)}{ends} {_unit(chosen)}"
    return f"{better} than with {short_name(plan.base, _LONGEST)!r} for all."


def _tailored(chosen: Chosen, plan: Planned) -> Sequence[str]:
    if plan.tailoring is None:
        return ()
    best = short_name(chosen.rows[chosen.best].name, _LONGEST)
    if lost(plan.tailoring) == "0":
        return (f"To tell them apart is worth no more than {best!r} for all.",)
    return (f"To tell them apart is worth {lost(plan.tailoring)} {_unit(chosen)} more than {best!r} for all.",)
