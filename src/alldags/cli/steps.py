"""``alldags decide`` and ``alldags next``: what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import alldags
from alldags.cli.options import DEFAULTS, NOTHING_SAID, Data, FitOptions, Json, Study
from alldags.cli.printing import print_json, save_picture
from alldags.cli.study import fitted, graph_of_study, number_of, pair_of
from alldags.errors import AlldagsError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence


def decide(
    data: Data,
    *,
    outcome: str,
    action: tuple[str, ...],
    utility: float | None = None,
    cost: tuple[float, ...] | None = None,
    by: str | None = None,
    budget: int | None = None,
    options: FitOptions = DEFAULTS,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print which of some actions is best, how probably, and what choosing each would lose on average.

    Parameters
    ----------
    outcome
        Name of what the actions act on.
    action
        What one action sets: dose=10, a shift such as dose+5 or dose-5, several joined by commas, or nothing. Twice or
        more.
    utility
        What one unit of the mean outcome is worth; -1 if less is better, by default 1.
    cost
        What an action costs for each row, in units of utility: once for each action, in their order.
    by
        A column: choose for each of its groups. row: for each row.
    budget
        With --by: how many rows at most get another action than the one that sets nothing, or the first.
    plot
        Write a picture of the actions, too: .png, .svg or .pdf
    """
    posterior = fitted(data, options)
    actions = [_action(text, posterior.variables) for text in action]
    found = posterior.decide(actions, outcome, utility=utility, cost=cost, by=by, budget=budget)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.text(command=True))
    if plot is not None:
        save_picture(found.plot(), plot)


def _action(text: str, variables: Sequence[str]) -> tuple[Any, ...]:
    """Read what an action sets."""
    return () if text.strip() == "nothing" else tuple(_setting(part.strip(), variables) for part in text.split(","))


def _setting(text: str, variables: Sequence[str]) -> Any:
    """Read one variable and what it is set to: the first sign after the name of a variable divides them."""
    for i, sign in enumerate(text):
        if sign in "=+-" and (name := text[:i].strip()) in variables:
            value = number_of(text[i + 1 :].strip())
            if sign == "=":
                return {name: value}
            if isinstance(value, float):
                return alldags.shift(name, value if sign == "+" else -value)
    raise AlldagsError(
        "--action takes variables of the graph and what they are set to, such as dose=10, dose+5, 'dose=10, diet=1' or "
        f"nothing, got {text!r}{did_you_mean(text.partition('=')[0].strip(), variables)}"
    )


def next_steps(
    data: Data,
    *,
    treatment: str,
    outcome: str,
    study: Study = NOTHING_SAID,
    rows: tuple[int, ...] | None = None,
    experiment: tuple[str, ...] | None = None,
    cost: tuple[str, ...] = (),
    options: FitOptions = DEFAULTS,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print what to find out next: how far more rows, experiments or known edges would narrow an effect.

    Parameters
    ----------
    treatment
        Name of the cause.
    outcome
        Name of the effect.
    rows
        Further rows of the same kind; several numbers may be given. By default as many as there are.
    experiment
        A variable to set by lot, and in how many rows: exercise=200. By default the treatment, and all between it and
        the outcome, in as many rows as there are.
    cost
        What steps cost: rows=1 and experiments=20 for each row, edges=500 for each edge.
    plot
        Write a picture of the steps, too: .png, .svg or .pdf
    """
    answer = fitted(data, options, graph_of_study(options, treatment, outcome, study)).effect(treatment, outcome)
    costs = dict(pair_of("--cost", text, float) for text in cost) or None
    asked = None if experiment is None else [pair_of("--experiment", text, int) for text in experiment]
    found = answer.next_steps(asked, rows, cost=costs)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)
    if plot is not None:
        save_picture(found.plot(), plot)
