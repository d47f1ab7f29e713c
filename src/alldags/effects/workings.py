"""`EffectWorkings`: what an effect is computed from, for the package's own rooms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from alldags.effects import reach
from alldags.effects.total import TotalEffect
from alldags.models.blocks import NodeBlock
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.order_block import OrderBlock


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

    @cached_property
    def has_pairs(self) -> bool:
        """Whether errors of a variable on the way may be correlated with those of another."""
        return any(total.model.pair_key(name) is not None for total in self.totals.items for name in total.span.reached)

    @property
    def blocks(self) -> list[NodeBlock | OrderBlock]:
        """The blocks that it runs through, of all models."""
        return [block for total in self.totals.items for block in total.blocks]

    @cached_property
    def has_structure(self) -> bool:
        """Whether all regressions behind it have a notion of a graph."""
        return self.totals.all(lambda total: total.has_structure)

    @cached_property
    def exact_no_effect(self) -> float | None:
        """Probability that no directed path leads to the outcome; None where it is not computed but drawn."""
        if not self.has_structure:
            return 0.0  # continuous priors have no atom
        return self.totals.average_known(reach.probability_no_effect)

    @cached_property
    def set_draws(self) -> float:
        """Least number of stored parent sets behind the draws of a node on a path; infinite if none was sampled."""
        return min((block.set_draws for block in self.blocks), default=math.inf)
