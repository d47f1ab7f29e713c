"""An effect whose graph holds a hidden common cause of treatment and what comes after it: a mixture of both cases.

Data do not tell whether there is such a cause. Its probability stays what the graph says; given that it is there, its
strength has a prior that stays, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.effects.hidden.strength import Strength
from alldags.effects.hidden.weighted import WeightedDraws
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.notes import Note
from alldags.results.representer import is_straight
from alldags.show.numbers import number
from alldags.typing import FloatArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.results.effect import Effect

STRENGTH = Strength()  # of a cause of which nothing is said but that it may be there


@dataclass(frozen=True, eq=False)
class HiddenMixture:
    """The effect with a hidden cause that is there with some probability, in the user's units.

    Parameters
    ----------
    plain
        The effect without it.
    hit
        What it acts on besides the treatment.
    probability
        That it is there.
    """

    plain: Effect
    hit: str
    probability: float

    @cached_property
    def given(self) -> WeightedDraws:
        """The effect, given that the cause is there."""
        treatment = self.plain.treatment
        strength = STRENGTH
        if self.hit != self.plain.outcome:
            strength = Strength(shares={treatment: STRENGTH.r2_treatment, self.hit: STRENGTH.r2_outcome})
        return self.plain.sensitivity((treatment, self.hit))._draws_given(strength)

    @property
    def mean(self) -> float:
        """Mean of the mixture."""
        return (1 - self.probability) * self.plain.mean + self.probability * self.given.mean

    @property
    def sd(self) -> float:
        """Standard deviation of the mixture."""
        parts = ((1 - self.probability, self.plain), (self.probability, self.given))
        second = sum(share * (part.sd**2 + part.mean**2) for share, part in parts)
        return math.sqrt(max(second - self.mean**2, 0.0))

    @property
    def atom(self) -> float:
        """Probability of no effect at all."""
        none = float(self.given.weights @ (self.given.values == 0.0))
        return (1 - self.probability) * self.plain.uncertainty.sample.atom + self.probability * none

    @property
    def note(self) -> Note:
        """What the cause did to the answer, and that data do not inform it."""
        low, high = self.plain.interval(0.95)
        text = (
            f"a hidden common cause of {self.plain.treatment} and {self.hit} has probability {self.probability:.0%}, "
            "which is not informed by the data, nor is its strength; without it the effect is "
            f"{number(self.plain.mean)} ({number(low)} to {number(high)}), and so are ratios, paths, mediation and do()"
        )
        return Note(text, "check")

    def draws(self, size: int, plain: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return draws of the mixture, those without the cause from `plain`, shape (size,)."""
        there = rng.random(size) < self.probability
        cumulative = np.cumsum(self.given.weights)
        rows = np.searchsorted(cumulative, rng.random(size) * cumulative[-1])
        return np.where(there, self.given.values[np.minimum(rows, len(cumulative) - 1)], plain)


def hidden_mixture(plain: Effect) -> HiddenMixture | None:
    """Return the mixture that the candidate graphs ask for; None if no hidden cause of theirs would bias the effect."""
    treatment = plain.treatment
    asked = {_asked(treatment, total) for total in plain.workings.totals.items if total.span.variables}
    if len(asked) > 1:
        raise AlldagsError(
            f"the candidate graphs say different things about hidden common causes of {treatment!r} and what comes "
            "after it; give all of them the same, or use sensitivity() without them"
        )
    found = next(iter(asked), ())
    if len(found) > 1:
        raise AlldagsError(
            f"the graph has hidden common causes of {treatment!r} with {' and '.join(repr(hit) for hit, _ in found)}; "
            "an effect takes one of them into account: keep one, or use sensitivity(hits=[...]) without them"
        )
    if found and found[0][0] != plain.outcome and not is_straight(plain):
        raise AlldagsError(
            f"the graph has a hidden common cause of {treatment!r} and {found[0][0]!r}, which lies before "
            f"{plain.outcome!r}; what that does is known for straight lines with normal noise alone: give it as one of "
            f"{treatment!r} and {plain.outcome!r}, or fit with {option('families', 'normal')} and without terms"
        )
    return HiddenMixture(plain, *found[0]) if found else None


def _asked(treatment: str, total: TotalEffect) -> tuple[tuple[str, float], ...]:
    """Return the hidden causes in one graph that would bias the effect: what they hit besides the treatment."""
    pairs = total.model.graph.hidden.items()
    return tuple(
        (hit, probability) for pair, probability in pairs for hit in total.span.reached if set(pair) == {treatment, hit}
    )
