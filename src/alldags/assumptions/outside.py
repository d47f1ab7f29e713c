"""A note on columns outside the graph that may confound an effect, and on none that adding would spoil.

A common cause of treatment and outcome goes with both, and with the outcome also where the treatment and what is
adjusted for are held fixed. An instrument does not, nor does what the outcome would have been without the treatment;
another form of the outcome goes with it so closely that little else is left. On a treatment drawn by lot nothing acts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from alldags.assumptions.examined import ExaminedEffect
from alldags.assumptions.moments import unexplained
from alldags.data.seen import Outside, Seen
from alldags.effects.regression import adjustment_set
from alldags.notes import Note
from alldags.show.numbers import number
from alldags.text import some
from alldags.typing import FloatArray

_CORRELATED = 0.3
_SAME = 0.9  # partial correlation with the outcome of what is another form of it
_ROWS_PER_COVARIATE = 5  # with fewer, chance explains too much
_DETERMINED = 1e-3  # share that treatment and covariates must leave unexplained


def outside_note(effect: ExaminedEffect, seen: Seen) -> Iterator[Note]:
    """Name columns outside the graph that may act on both treatment and outcome."""
    outside, data = seen.outside, effect.posterior.workings.data
    if outside is None or effect.treatment in seen.randomized or effect.outcome not in outside.variables:
        return
    least = max(_CORRELATED, 4.0 / math.sqrt(outside.rows))
    adjusted = data.columns(adjustment_set(effect.posterior.graphs, effect.treatment, effect.outcome))
    treated = data.columns((effect.treatment,))
    given = (*treated, *(adjusted if len(adjusted) * _ROWS_PER_COVARIATE <= outside.rows else ()))
    both = {name: _ends(outside, row, treated, effect.outcome) for name, row in _by_name(outside).items()}
    likely = [name for name, pair in both.items() if np.abs(pair).min() >= least]
    partial = {name: _partial(seen, outside, name, effect.outcome, given) for name in likely}
    found = [name for name in likely if least <= abs(partial[name]) < _SAME]
    shown = [
        f"{name!r} ({number(float(both[name][0]))} and {number(float(both[name][1]))})"
        for name in sorted(found, key=lambda name: -float(np.abs(both[name]).min()))
    ]
    if shown:
        yield Note(
            f"{some(shown)}: outside the graph, but correlated with both {effect.treatment} and {effect.outcome}; add "
            f"what comes before {effect.treatment} and may act on both",
            "check",
        )


def _by_name(outside: Outside) -> dict[str, FloatArray]:
    return dict(zip(outside.names, outside.correlations, strict=True))


def _ends(outside: Outside, row: FloatArray, treated: Sequence[str], outcome: str) -> FloatArray:
    """Return a column's correlations with treatment and outcome; with a category, that with its levels together."""
    own = row[[outside.variables.index(name) for name in treated]]
    with_treatment = own[0] if len(treated) == 1 else min(math.sqrt(float(own @ own)), 1.0)
    return np.array([with_treatment, row[outside.variables.index(outcome)]])


def _partial(seen: Seen, outside: Outside, name: str, outcome: str, given: Sequence[str]) -> float:
    """Return the correlation of an outside column with the outcome, given variables; 0 if these determine one."""
    variables = [*given, outcome]
    part = seen.moments.select(variables).scatter
    spread = np.sqrt(np.diag(part))
    beside = outside.correlations[outside.names.index(name), [outside.variables.index(one) for one in variables]]
    joint = np.block([[part / np.outer(spread, spread), beside[:, None]], [beside[None, :], np.ones((1, 1))]])
    last = len(given)
    left = unexplained(joint, [last, last + 1], list(range(last)))
    return 0.0 if np.diag(left).min() < _DETERMINED else float(left[0, 1] / math.sqrt(left[0, 0] * left[1, 1]))
