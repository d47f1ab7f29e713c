"""What actions are worth, draw by draw, and what follows from it for a decision.

With ``u_a`` the worth of action a, whose posterior is known by draws::

    P(a is best)              E[1(u_a = max u) / number that tie]
    value of information      E[max_b u_b] - max_b E[u_b]
    expected loss of a        E[max_b u_b] - E[u_a]

Levels of an outcome have much in common that no choice depends on; so draws are of differences to the action that is
best on average, each as wide as rows say that this difference is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.notes import Note
from alldags.typing import FloatArray

Utility: TypeAlias = float | Callable[[FloatArray], Any]
"""What one unit of the mean outcome is worth, or what a mean outcome is worth, shape (draws,) to (draws,)."""

_TIED = 1e-12  # share of the largest level up to which two levels are one


class Levels(Protocol):
    """Mean outcomes of some actions with the same draws: combinations of them by weight."""

    @property
    def notes(self) -> tuple[Note, ...]: ...
    def quantity(self, weights: tuple[float, ...]) -> Quantity: ...
    def plain(self) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class Worths:
    """What actions are worth.

    Parameters
    ----------
    mean
        Expected worth of each, shape (actions,).
    draws
        Worth of each less a number that is the same for all actions, shape (actions, draws).

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.answers.decided import Worths
    >>> known = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, -1.0, 2.0]])
    >>> found = Worths(known.mean(axis=1), known)
    >>> found.best, found.probability_best.tolist(), found.value_of_information
    (1, [0.375, 0.625], 0.25)
    >>> found.expected_loss.tolist()
    [0.75, 0.25]
    """

    mean: FloatArray
    draws: FloatArray

    @property
    def best(self) -> int:
        """Place of the action with the highest expected worth; the first of several."""
        return int(np.argmax(self.mean))

    @cached_property
    def probability_best(self) -> FloatArray:
        """Posterior probability that each action is best, shape (actions,); those that tie share it."""
        return np.asarray(shares_of_best(self.draws).mean(axis=1))

    @property
    def probability_alike(self) -> float:
        """Posterior probability that all actions are worth the same."""
        return float(np.mean(np.ptp(self.draws, axis=0) == 0.0))

    @cached_property
    def value_of_information(self) -> float:
        """What it would be worth to know the best action before choosing."""
        return float((self.draws.max(axis=0) - self.draws[self.best]).mean())

    @property
    def expected_loss(self) -> FloatArray:
        """What choosing each action costs on average, compared with knowing the best, shape (actions,)."""
        return np.asarray(self.value_of_information + (self.mean[self.best] - self.mean))


def shares_of_best(draws: FloatArray) -> FloatArray:
    """Return the share that each action has in being best, shape (actions, ...); ones along the first axis in all."""
    best = draws == draws.max(axis=0)
    return np.asarray(best / best.sum(axis=0))


def worths_of(levels: Levels, outcomes: Sequence[Quantity], utility: Utility, cost: FloatArray) -> Worths:
    """Return what actions are worth.

    Parameters
    ----------
    levels
        Their mean outcomes.
    outcomes
        The posterior of each by itself.
    utility, cost
        What an outcome is worth, and what each action costs, in the same units, shape (actions,).
    """
    if callable(utility):
        own = [_asked(utility, one.draws) for one in outcomes]
        mean = np.array([one.mean() for one in own]) - cost
    else:
        mean = utility * np.array([one.mean for one in outcomes]) - cost
    base = int(np.argmax(mean))
    gaps = with_ties(_gaps(levels, len(outcomes), base), levels.plain())
    if not callable(utility):
        return Worths(mean, utility * gaps - cost[:, None])
    drawn = np.array([_asked(utility, one) for one in outcomes[base].draws + gaps])
    return Worths(mean, drawn - cost[:, None])


def _gaps(levels: Levels, count: int, base: int) -> FloatArray:
    """Return draws of the differences of mean outcomes to one of them, shape (actions, draws)."""
    units = np.eye(count) - np.eye(count)[base]
    found = {place: levels.quantity(tuple(units[place].tolist())).draws for place in range(count) if place != base}
    size = len(next(iter(found.values())))
    return np.array([found.get(place, np.zeros(size)) for place in range(count)])


def with_ties(gaps: FloatArray, plain: FloatArray) -> FloatArray:
    """Return differences in which actions with the same outcome in a draw have the same, shape (actions, draws).

    Differences are widened one by one, and two that are the same need not be afterwards.

    Parameters
    ----------
    gaps
        The differences.
    plain
        Outcomes before anything was widened, shape (actions, draws).
    """
    scale = _TIED * np.abs(plain).max()
    found = gaps.copy()
    for place in range(1, len(gaps)):
        for before in range(place):
            same = np.abs(plain[place] - plain[before]) <= scale
            found[place, same] = found[before, same]
    return found


def _asked(utility: Callable[[FloatArray], Any], outcomes: FloatArray) -> FloatArray:
    """Return what outcomes are worth by a user's function, shape (draws,)."""
    try:
        found = np.asarray(utility(outcomes), dtype=float)
    except (TypeError, ValueError) as error:
        raise AlldagsError(
            f"utility could not be computed of an array of mean outcomes ({error}); write it for arrays, as "
            "lambda outcome: np.log(outcome)"
        ) from error
    if found.shape != outcomes.shape:
        raise AlldagsError(
            f"utility returned an array of shape {found.shape} for {len(outcomes)} mean outcomes; return one for each"
        )
    if not np.isfinite(found).all():
        bad = float(outcomes[~np.isfinite(found)][0])
        raise AlldagsError(f"utility of a mean outcome of {bad:.4g} is no finite number; let it be one everywhere")
    return found
