"""`EffectWorkings`: what an effect is computed from, for the package's own rooms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from alldags.effects.total import TotalEffect
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture


@dataclass(frozen=True, eq=False)
class EffectWorkings:
    """What an effect is computed from: `Effect.workings`. Users ask the effect; its names may change.

    Parameters
    ----------
    treatment, outcome
        Names.
    models
        The fitted models, with edges linked to those into the treatment.
    unit
        User's units of the effect per working unit.
    """

    treatment: str
    outcome: str
    models: Mixture[FittedGraph]
    unit: float

    @cached_property
    def totals(self) -> Mixture[TotalEffect]:
        """The total effect in each model, in working units."""
        return self.models.map(lambda model: TotalEffect.of(model, self.treatment, self.outcome))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The treatment and what lies on a candidate path to the outcome, in any model; none if there is no path."""
        return tuple(dict.fromkeys(name for total in self.totals.items for name in total.span.variables))

    @cached_property
    def reached(self) -> tuple[str, ...]:
        """Those of the variables that the treatment may act on, in any model."""
        return tuple(dict.fromkeys(name for total in self.totals.items for name in total.span.reached))
