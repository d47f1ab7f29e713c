"""`Decision`: which of some actions to choose, how sure that is, and what being wrong would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alldags.answers.decided import Utility, Worths
from alldags.effects.outcome import check_level
from alldags.effects.quantity import Quantity
from alldags.notes import Note
from alldags.show.decided import ActionRow, Chosen, Planned, decision_text, plan_text
from alldags.show.json import notes_list
from alldags.show.table import Table
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA = "alldags.decision/1"


@dataclass(frozen=True, eq=False)
class Plan:
    """Which rows get which action: what `Posterior.decide` finds with ``by=``, in `Decision.plan`.

    Parameters
    ----------
    by
        The column, or ``"row"``.
    base
        The action that others are compared with: that which sets nothing, else the first.
    choice
        The action for each row, by its number in the table; or for each group.
    counts
        Number of rows that get each action.
    outcome
        Posterior of the mean outcome over rows if the plan is followed.
    gain
        Posterior of what the plan is worth beyond the base for all, a row, costs taken off.
    tailoring
        What the plan is worth beyond the best single action for all, a row; None if there is a budget, which that
        action need not keep.
    expected_loss
        What the plan loses a row on average, compared with knowing the best for each; None if there is a budget.
    budget
        Number of rows at most that get another action than the base.
    rows
        One row for each row of the table, or for each group.
    """

    by: str
    base: str
    choice: Mapping[int | str, str] = field(repr=False)
    counts: Mapping[str, int]
    outcome: Quantity
    gain: Quantity
    tailoring: float | None
    expected_loss: float | None
    budget: int | None
    rows: Table = field(repr=False)

    def table(self) -> Table:
        """Return who gets which action, what the outcome is then, how much that gains, and how probably it is best."""
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers and names."""
        return {
            "by": self.by,
            "base": self.base,
            "budget": self.budget,
            "counts": dict(self.counts),
            "outcome": _ends(self.outcome),
            "gain": _ends(self.gain),
            "tailoring": self.tailoring,
            "expected_loss": self.expected_loss,
            "rows": list(self.rows.rows()),
        }

    @property
    def shown(self) -> Planned:
        """What is printed, as plain numbers and names."""
        low, high = self.outcome.interval()
        ends = self.gain.interval()
        counts = {name: count for name, count in self.counts.items() if count}
        rows = () if self.by == "row" else tuple(self.rows.rows())
        gained = (self.gain.mean, *ends, self.gain.sd)
        return Planned(
            self.by, self.base, counts, (self.outcome.mean, low, high, self.outcome.sd), gained, self.tailoring,
            self.budget, rows,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Decision:
    """Which of some actions to choose. Made by `Posterior.decide`.

    Parameters
    ----------
    outcome
        Its name.
    outcomes
        For each action, the posterior of the mean outcome over the rows.
    worths
        What actions are worth, draw by draw.
    utility, cost
        What an outcome is worth, and what each action costs, shape (actions,); None if nothing does.
    notes
        What a reader should know, such as values outside those that were observed.
    is_told
        Whether the user said what an outcome is worth.
    plan
        With ``by=``: which rows get which action, and what that is worth. All else here is of one action for all rows.
    groups
        With ``by=`` a column: the decision for each group.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    >>> actions = {"as it is": {}, "smoke less": ad.shift("smoking", -1), "move more": ad.shift("exercise", 2)}
    >>> print(posterior.decide(actions, "risk", utility=-1))
    Choose 'move more': mean risk would be 48.17 (95% interval 47.29 to 49.13),
    and it is the best of 3 actions with probability 91.5%.
    <BLANKLINE>
      move more   48.17   (47.29 to 49.13), best 91%, loss 0.026
      smoke less  48.80   (48.62 to 48.97), best 9%, loss 0.66
      as it is    49.71   best <1%, loss 1.6
    <BLANKLINE>
    To know for certain which is best would be worth 0.026 of risk.
    More: decision.table(), decision.plot()
    """

    outcome: str
    outcomes: Mapping[str, Quantity]
    worths: Worths = field(repr=False)
    utility: Utility = 1.0
    cost: FloatArray | None = None
    notes: tuple[Note, ...] = ()
    is_told: bool = True
    plan: Plan | None = None
    groups: Mapping[str, Decision] = field(default_factory=dict, repr=False)

    @property
    def actions(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.outcomes)

    @property
    def best(self) -> str:
        """The action with the highest expected worth; the first of several."""
        return self.actions[self.worths.best]

    @property
    def probability_best(self) -> dict[str, float]:
        """For each action, the posterior probability that it is worth most; those that tie share it."""
        return self._named(self.worths.probability_best)

    @property
    def probability_alike(self) -> float:
        """Posterior probability that all actions are worth the same."""
        return self.worths.probability_alike

    @property
    def expected_utility(self) -> dict[str, float]:
        """For each action, the posterior mean of what it is worth, its cost taken off."""
        return self._named(self.worths.mean)

    @property
    def expected_loss(self) -> dict[str, float]:
        """For each action, what choosing it costs on average, compared with knowing which is best."""
        return self._named(self.worths.expected_loss)

    @property
    def value_of_information(self) -> float:
        """What knowing the best action would be worth on average, which is the expected loss of the best choice."""
        return self.worths.value_of_information

    def _named(self, values: FloatArray) -> dict[str, float]:
        return dict(zip(self.actions, values.tolist(), strict=True))

    def table(self, level: float = 0.95) -> Table:
        """Return one row for each action: its mean outcome, how probably it is best, and what choosing it would cost.

        Parameters
        ----------
        level
            Probability that each interval of the mean outcome (``low``, ``high``) holds.
        """
        check_level(level)
        ends = [one.interval(level) for one in self.outcomes.values()]
        columns: dict[str, list[Any]] = {
            "action": list(self.actions),
            "mean": [one.mean for one in self.outcomes.values()],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
        if self.cost is not None:
            columns["cost"] = self.cost.tolist()
        if self.cost is not None or callable(self.utility) or abs(self.utility) != 1.0:
            columns["utility"] = self.worths.mean.tolist()
        columns["probability_best"] = self.worths.probability_best.tolist()
        columns["expected_loss"] = self.worths.expected_loss.tolist()
        return Table(columns)

    def plot(self, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw the mean outcome of each action with its interval, and how probably it is best; needs ``plot``."""
        from alldags.show.plots.decided import plot_actions

        return plot_actions(self._rows(level), self.outcome, level, ax)

    def _rows(self, level: float = 0.95) -> tuple[ActionRow, ...]:
        found = self.table(level)
        wanted = ("action", "mean", "low", "high", "probability_best", "expected_loss")
        sds = [one.sd for one in self.outcomes.values()]
        return tuple(map(ActionRow, *(found[name] for name in wanted), self.worths.mean.tolist(), sds))

    @property
    def shown(self) -> Chosen:
        """What is printed, as plain numbers and names."""
        return Chosen(
            self.outcome,
            self._rows(),
            self.worths.best,
            self.probability_alike,
            self.value_of_information,
            self.cost is None and not callable(self.utility) and abs(self.utility) == 1.0,
            self.is_told,
            self.notes,
        )

    def text(self, *, command: bool = False) -> str:
        """Return it on one screen, as it is printed; `command` speaks as the command line."""
        if self.plan is None:
            return decision_text(self.shown, command=command)
        return plan_text(self.shown, self.plan.shown, command=command)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers and names, as printed by ``alldags decide --json``."""
        found = {
            "schema": SCHEMA,
            "outcome": self.outcome,
            "best": self.best,
            "value_of_information": self.value_of_information,
            "probability_alike": self.probability_alike,
            "actions": list(self.table().rows()),
            "notes": notes_list(self.notes),
        }
        return found if self.plan is None else found | {"plan": self.plan.to_dict()}

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def _ends(one: Quantity) -> dict[str, float]:
    """Return mean, sd and 95% interval of a number."""
    low, high = one.interval()
    return {"mean": one.mean, "sd": one.sd, "low": low, "high": high}
