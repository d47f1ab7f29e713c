"""`Posterior.decide`: actions compared, for all rows, for groups of them, or for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags.answers.decided import Utility, worths_of
from alldags.answers.scenario import Scenario
from alldags.results.actions import read_actions, read_cost, read_utility
from alldags.results.decision import Decision
from alldags.results.doing import Asked
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.posterior import Posterior


def decided(
    posterior: Posterior,
    actions: Any,
    outcome: str,
    utility: Any,
    cost: Any,
    by: str | None,
    budget: int | None,
    over: Any,
    size: int | None,
) -> Decision:
    """Return which of some actions is best."""
    scenarios = read_actions(posterior, actions, outcome, over)
    choice = Choice(posterior, scenarios, read_utility(utility), read_cost(cost, tuple(scenarios)), utility is not None)
    return choice.among(tuple(scenarios.values()), size)


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen among.

    Parameters
    ----------
    posterior
        What is asked.
    scenarios
        What each action sets, by name.
    utility, cost
        What an outcome is worth, and what each action costs, shape (actions,).
    is_told
        Whether the user said what an outcome is worth.
    """

    posterior: Posterior
    scenarios: Mapping[str, Scenario]
    utility: Utility
    cost: FloatArray
    is_told: bool

    def among(self, scenarios: tuple[Scenario, ...], size: int | None) -> Decision:
        """Return the decision for all rows that scenarios are over."""
        return self.of(Asked(self.posterior, scenarios, size))

    def of(self, asked: Asked) -> Decision:
        """Return the decision between what was asked."""
        units = np.eye(len(self.scenarios)).tolist()
        outcomes = {name: asked.quantity(tuple(one)) for name, one in zip(self.scenarios, units, strict=True)}
        worths = worths_of(asked, tuple(outcomes.values()), self.utility, self.cost)
        cost = self.cost if np.any(self.cost) else None
        return Decision(asked.answer.outcome, outcomes, worths, self.utility, cost, asked.notes, self.is_told)
