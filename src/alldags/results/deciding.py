"""`Posterior.decide`: actions compared, for all rows, for groups of them, or for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import checks, meetings
from alldags.answers.dealt import Dealt
from alldags.answers.decided import Levels, Utility, worths_of
from alldags.answers.decided_rows import EveryRow, chances_of_rows, combined, followed, means_of_rows
from alldags.answers.question import Question
from alldags.answers.rows_given import OtherRows, RowWeights
from alldags.answers.scenario import Scenario
from alldags.answers.settings import Ruled
from alldags.answers.world import Shift
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.memory import check_memory
from alldags.models.workings import Workings
from alldags.notes import Note
from alldags.results.actions import base_of, read_actions, read_cost, read_utility
from alldags.results.decision import Decision, Plan
from alldags.results.doing import Asked
from alldags.results.groups import groups_of, over_group
from alldags.show.table import Table
from alldags.typing import BoolArray, FloatArray, IntArray
from alldags.wording import option

if TYPE_CHECKING:
    from alldags.results.effect import Effect
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
    if size is not None:
        check_memory(6.0 * size * len(scenarios), f"{size:,} draws of {len(scenarios)} actions", "ask for fewer draws")
    costs, worth = read_cost(cost, tuple(scenarios)), read_utility(utility)
    choice = Choice(posterior, scenarios, worth, costs, utility is not None)
    limit = _budget(choice, by, budget)
    if by is None:
        return choice.of(_levels(posterior, choice.given, size))
    _check_plan(choice, by)
    found = choice.of(Asked(posterior, choice.given, size))
    return choice.by_row(found, limit, size) if by == "row" else choice.by_column(found, by, limit, size)


def _budget(choice: Choice, by: str | None, budget: int | None) -> int | None:
    if budget is None:
        return None
    if by is None:
        raise AlldagsError(
            f"{option('budget')} says how many rows get an action; say by what they are chosen, {option('by', 'row')}"
        )
    if isinstance(choice.over, RowWeights):
        raise AlldagsError(f"{option('budget')} counts rows, which weights in over= make unequal; give truth values")
    return checks.whole("budget", budget, least=0)


def _check_plan(choice: Choice, by: object) -> None:
    if not isinstance(by, str):
        raise AlldagsError(f"by must be the name of a column or 'row', got {by!r}")
    asked = ["plan", *(["utility function"] if callable(choice.utility) else [])]
    if isinstance(choice.over, str) and choice.over == "population":
        asked.append("population")
    if not isinstance(choice.over, OtherRows):
        asked += _rows_asked(choice.posterior.workings)
    meetings.check(dict.fromkeys(asked, ()))


def _rows_asked(workings: Workings) -> list[str]:
    """Return what rows are, which have to be at hand one by one."""
    if workings.models.weights.tables > 1 and any(data.table is None for data in workings.tables):
        raise AlldagsError(
            "missing values were filled in several times, and only moments of the tables were kept, not the rows to "
            f"choose for; fit with {option('terms', 'auto')}, which keeps them, or {option('missing', 'drop')}"
        )
    opened = workings.table
    has_rows = workings.data.table is not None or (opened is not None and opened.rows(workings.data.pooled.names))
    return [*(() if opened is None else opened.asked), *(() if has_rows else ("moments",))]


def _levels(posterior: Posterior, scenarios: tuple[Scenario, ...], size: int | None) -> Levels:
    """Return mean outcomes; of a survival time, those of values of one treatment, which its effect has."""
    variables = {one.variables for one in scenarios}
    family = posterior.workings.data.families.get(scenarios[0].outcome)
    is_one = len(variables) == 1 and len(next(iter(variables))) == 1
    values = [one.given[0].to for one in scenarios] if is_one else []
    if family is None or family.complete or not values or any(isinstance(to, Shift | Ruled) for to in values):
        return Asked(posterior, scenarios, size)
    effect = posterior.effect(scenarios[0].variables[0], scenarios[0].outcome, scenarios[0].over)
    return ArmLevels(effect, tuple(values), size)


@dataclass(frozen=True, eq=False)
class ArmLevels:
    """Mean outcomes under values of one treatment, from the draws of its effect.

    Parameters
    ----------
    effect
        Of the treatment.
    values
        Numbers, words or levels.
    size
        Number of draws; None for as many as are cheap.
    """

    effect: Effect
    values: tuple[Any, ...]
    size: int | None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know."""
        return tuple(dict.fromkeys(note for value in self.values for note in self.effect.do(value).notes))

    def quantity(self, weights: tuple[float, ...]) -> Quantity:
        """Return a mean outcome, or the difference of two."""
        high, low = int(np.argmax(weights)), int(np.argmin(weights))
        if sum(weights) == 1.0:
            return self.effect.do(self.values[high], self.size).mean
        if high == low or self.values[high] == self.values[low]:
            return Quantity(np.zeros(self.plain().shape[1]))
        found = self.effect.contrast(self.values[low], self.values[high])
        return Quantity(found.draws(found.answer.size if self.size is None else self.size), (), (found.mean, found.sd))

    def plain(self) -> FloatArray:
        """Return draws of the mean outcomes, shape (actions, draws)."""
        return np.array([self.effect.do(value, self.size).mean.draws for value in self.values])


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

    @property
    def given(self) -> tuple[Scenario, ...]:
        """What each action sets."""
        return tuple(self.scenarios.values())

    @property
    def over(self) -> Any:
        """The rows."""
        return self.given[0].over

    @cached_property
    def base(self) -> int:
        """Place of the action that others are compared with."""
        return base_of(self.scenarios)

    @property
    def names(self) -> tuple[str, ...]:
        """What actions are called."""
        return tuple(self.scenarios)

    def of(self, levels: Levels) -> Decision:
        """Return the decision between mean outcomes."""
        units = np.eye(len(self.scenarios)).tolist()
        outcomes = {name: levels.quantity(tuple(one)) for name, one in zip(self.scenarios, units, strict=True)}
        worths = worths_of(levels, tuple(outcomes.values()), self.utility, self.cost)
        cost = self.cost if np.any(self.cost) else None
        return Decision(self.given[0].outcome, outcomes, worths, self.utility, cost, levels.notes, self.is_told)

    # -- groups and rows -----------------------------------------------------------------------------------------------

    def by_column(self, whole: Decision, column: str, budget: int | None, size: int | None) -> Decision:
        """Return the decision with one for each group of a column, and the plan that follows."""
        masks = groups_of(self.posterior, Question(self._variable, whole.outcome, over=self.over), column)
        size = Asked(self.posterior, self.given, size).answer.size  # the same in all groups
        asked = {words: Asked(self.posterior, self._over(mask), size) for words, mask in masks.items()}
        groups = {words: self.of(one) for words, one in asked.items()}
        level = np.array([[one.mean for one in group.outcomes.values()] for group in groups.values()])
        dealt = self._dealt(level, *self._sizes(list(masks.values())), budget)
        answers = [one.answer for one in asked.values()]
        outcome, gained = (combined(answers, by, float((by * level).sum())) for by in (dealt.weights, dealt.gaps))
        best, lost = zip(
            *((one.worths.probability_best, one.worths.expected_loss) for one in groups.values()), strict=True
        )
        columns = {
            "group": list(groups),
            "rows": dealt.rows.tolist(),
            "given": dealt.at(dealt.given).tolist(),
            **self._columns(dealt, *(np.array(one) for one in (best, lost))),
        }
        return replace(whole, groups=groups, plan=self._plan(column, dealt, outcome, gained, columns))

    @property
    def _variable(self) -> str:
        return next(one.variables[0] for one in self.given if one.variables)

    def _over(self, mask: BoolArray) -> tuple[Scenario, ...]:
        over = over_group(self.over, mask)
        return tuple(replace(one, over=over) for one in self.given)

    def _sizes(self, masks: list[BoolArray]) -> tuple[IntArray, FloatArray]:
        """Return the number of rows of each group, and the share of all rows that they count for, shape (groups,)."""
        weight = self.over.weight if isinstance(self.over, OtherRows) else None
        weight = self.over.values if isinstance(self.over, RowWeights) else weight
        counted = np.array([mask.sum() if weight is None else weight[mask].sum() for mask in masks], dtype=float)
        return np.array([mask.sum() for mask in masks]), counted / counted.sum()

    def by_row(self, whole: Decision, budget: int | None, size: int | None) -> Decision:
        """Return the decision with the plan that gives each row what is best for it."""
        assert not callable(self.utility)
        answer = EveryRow(self.posterior, self.given, size)
        answer.check()
        known = means_of_rows(answer, self.base)
        dealt = self._dealt(known.level.T, np.ones(len(answer.numbers), dtype=np.int64), answer.weight, budget)
        chances, lost = chances_of_rows(answer, known, self.base, self.utility, self.cost)
        outcome, gained = followed(answer, dealt.places, self.base, known)
        columns = {"row": answer.numbers.tolist(), **self._columns(dealt, chances.T, lost.T)}
        return replace(whole, plan=self._plan("row", dealt, outcome, gained, columns))

    def _dealt(self, level: FloatArray, rows: IntArray, share: FloatArray, budget: int | None) -> Dealt:
        assert not callable(self.utility)
        return Dealt(level, self.utility * level - self.cost, rows, share, self.base, budget)

    def _columns(self, dealt: Dealt, chances: FloatArray, lost: FloatArray) -> dict[str, list[Any]]:
        """Return what groups or rows get, and what is known of that."""
        return {
            "action": [self.names[place] for place in dealt.places.tolist()],
            "mean": dealt.at(dealt.level).tolist(),
            "gain": (dealt.at(dealt.worth) - dealt.worth[:, self.base]).tolist(),
            "probability_best": dealt.at(chances).tolist(),
            "expected_loss": dealt.at(lost).tolist(),
        }

    def _plan(
        self, by: str, dealt: Dealt, outcome: Quantity, gained: Quantity, columns: Mapping[str, list[Any]]
    ) -> Plan:
        assert not callable(self.utility)
        spent = float(dealt.gaps.sum(axis=0) @ self.cost)
        mean, sd = self.utility * gained.mean - spent, abs(self.utility) * gained.sd
        whom = columns["row" if by == "row" else "group"]
        return Plan(
            by=by,
            base=self.names[self.base],
            choice=dict(zip(whom, columns["action"], strict=True)),
            counts=dict(zip(self.names, dealt.given.sum(axis=0).tolist(), strict=True)),
            outcome=outcome,
            gain=Quantity(self.utility * gained.draws - spent, (), (mean, sd)),
            tailoring=dealt.tailoring if dealt.budget is None else None,
            expected_loss=float(dealt.share @ columns["expected_loss"]) if dealt.budget is None else None,
            budget=dealt.budget,
            rows=Table(columns),
        )
