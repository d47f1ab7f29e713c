"""What a change does step by step, in words and as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any

from alldags.notes import Note
from alldags.show.json import notes_list
from alldags.show.numbers import graph_count, number, percent, to_precision
from alldags.text import line_width, printable

_MOST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One step: mean, sd and interval of the effect, and the probability that nothing has arrived by then."""

    step: int
    mean: float
    sd: float
    low: float
    high: float
    none_by: float


@dataclass(frozen=True, slots=True)
class ResponseSummary:
    """What there is to say of a response, in the user's units.

    Parameters
    ----------
    treatment, outcome
        Names.
    word
        What a step is called.
    lasting
        Whether the change stays.
    level
        Of the intervals.
    steps
        One after the other.
    never, never_error, prior_never
        Probability that nothing ever arrives, its Monte-Carlo error, and the same before the data, if it is known.
    long_run
        Median and interval of what a lasting change does in the end; None if there is none.
    explosive, no_long_run
        Probability that a change does not settle, and why there is no long-run effect.
    rows, log10_graphs
        Of the fit.
    notes
        What a reader should know.
    """

    treatment: str
    outcome: str
    word: str
    lasting: bool
    level: float
    steps: tuple[Step, ...]
    never: float
    never_error: float
    prior_never: float | None
    long_run: tuple[float, float, float] | None
    explosive: float
    no_long_run: str
    rows: float
    log10_graphs: float
    notes: tuple[Note, ...] = ()


def response_sentence(found: ResponseSummary) -> str:
    """Say what a change does, in one sentence."""
    first, largest = found.steps[0], max(found.steps, key=lambda step: abs(step.mean))
    when = f"from one {found.word} on" if found.lasting else f"in one {found.word}"
    begin = f"Raising {found.treatment} by one unit {when} changes {found.outcome}"
    now = f"by {size(first, first.mean)} in that {found.word} ({found.level:.0%} interval {ends(first)})"
    if not largest.step:
        return f"{begin} {now}."
    later = f"{_later(largest.step, found.word)}: by {size(largest, largest.mean)} ({ends(largest)})"
    return f"{begin} {now}, and most {later}."


def _later(steps: int, word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word} later" if steps == 1 else f"{steps} {word}s later"


def size(step: Step, value: float) -> str:
    """Return a number of a step with as many digits as its spread leaves."""
    return to_precision(value, step.sd) if step.sd > 0 else number(value)


def ends(step: Step) -> str:
    """Return the interval of a step."""
    return f"{size(step, step.low)} to {size(step, step.high)}"


def never_sentence(found: ResponseSummary) -> str:
    """Say how probable it is that nothing ever arrives."""
    before = "" if found.prior_never is None else f" ({percent(found.prior_never)} before the data)"
    return f"That it never does anything has probability {percent(found.never)}{before}."


def long_run_sentence(found: ResponseSummary) -> str:
    """Say what a lasting change does in the end."""
    if found.long_run is None:
        return f"{found.no_long_run[:1].upper()}{found.no_long_run[1:]}."
    spread = (found.long_run[2] - found.long_run[1]) / 4.0
    middle, low, high = (to_precision(value, spread) if spread > 0 else number(value) for value in found.long_run)
    settled = "" if found.explosive < 5e-4 else f"; with probability {percent(found.explosive)} it does not settle"
    return f"A lasting change does {middle} in the end (median; {low} to {high}){settled}."


def shown_steps(found: ResponseSummary) -> tuple[Step, ...]:
    """Return the steps that a short table has: the first ones, then fewer, and the last."""
    if len(found.steps) <= _MOST_ROWS:
        return found.steps
    last = found.steps[-1].step
    places = sorted({0, 1, 2, *(round(2 * (last / 2) ** (i / 2)) for i in range(1, 3))})
    return tuple(found.steps[place] for place in places if place <= last)


def response_text(found: ResponseSummary, *, command: bool = False) -> str:
    """Return the answer on one screen: at most 14 lines."""
    rows = [("after", "effect", f"{found.level:.0%} interval", "nothing by then")]
    for step in shown_steps(found):
        when = f"{step.step} {found.word}{'s' * (step.step != 1)}"
        rows.append((when, size(step, step.mean), ends(step), percent(step.none_by)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    table = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in rows]  # fmt: skip
    more = "--json" if command else f"response.table(), .notes ({len(found.notes)})"
    counted = f"{found.rows:,.0f} rows, {graph_count(found.log10_graphs)} graphs averaged"
    parts = [response_sentence(found), "", *table, "", f"{never_sentence(found)} {long_run_sentence(found)}"]
    return "\n".join(map(_filled, [*parts, f"{counted}. More: {more}"]))


def _filled(text: str) -> str:
    if text.startswith("  "):
        return printable(text)
    return fill(printable(text), line_width(), break_long_words=False, break_on_hyphens=False)


def response_dict(found: ResponseSummary) -> dict[str, Any]:
    """Return the answer as plain numbers."""
    ends = None if found.long_run is None else dict(zip(("median", "low", "high"), found.long_run, strict=True))
    return {
        "schema": "alldags.response/1",
        "treatment": found.treatment,
        "outcome": found.outcome,
        "lasting": found.lasting,
        "step": found.word,
        "level": found.level,
        "steps": [
            {"step": one.step, "mean": one.mean, "sd": one.sd, "low": one.low, "high": one.high,
             "probability_none_by": one.none_by}
            for one in found.steps
        ],
        "probability_never": found.never,
        "prior_never": found.prior_never,
        "long_run": ends,
        "probability_explosive": found.explosive,
        "rows": found.rows,
        "notes": notes_list(found.notes),
    }  # fmt: skip
