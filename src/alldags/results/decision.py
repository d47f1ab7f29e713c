"""`Decision`: which of some actions to choose, how sure that is, and what being wrong would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alldags.answers.decided import Utility, Worths
from alldags.effects.outcome import check_level
from alldags.effects.quantity import Quantity
from alldags.notes import Note
from alldags.show.decided import ActionRow, Chosen, decision_text
from alldags.show.table import Table
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Decision:
    """Which of some actions to choose. Made by `Posterior.decide`.

    Parameters
    ----------
    outcome
        Its name.
    outcomes
        For each action, the posterior of the mean outcome over the rows.
    notes
        What a reader should know, such as values outside those that were observed.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    >>> found = posterior.decide({"smoking": [1, 10, 20]}, "risk", utility=-1)
    >>> found.best, round(found.expected_loss["smoking = 10"], 2), round(found.value_of_information, 3)
    ('smoking = 1', 8.05, 0.0)
    """

    outcome: str
    outcomes: Mapping[str, Quantity]
    worths: Worths = field(repr=False)
    utility: Utility = 1.0
    cost: FloatArray | None = None
    notes: tuple[Note, ...] = ()
    is_told: bool = True

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
    def expected_utility(self) -> dict[str, float]:
        """For each action, the posterior mean of what it is worth, its cost taken off."""
        return self._named(self.worths.mean)

    @property
    def expected_loss(self) -> dict[str, float]:
        """For each action, what choosing it costs on average, compared with knowing which is best."""
        return self._named(self.worths.expected_loss)

    @property
    def value_of_information(self) -> float:
        """What knowing the best action would be worth on average: the expected loss of the best choice of today."""
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
        cells = zip(*(found[name] for name in wanted), self.worths.mean.tolist(), strict=True)
        sds = [one.sd for one in self.outcomes.values()]
        return tuple(ActionRow(*row, sd=sd) for row, sd in zip(cells, sds, strict=True))

    @property
    def shown(self) -> Chosen:
        """What is printed, as plain numbers and names."""
        own = self.utility
        unit = "function" if callable(own) else {1.0: "more", -1.0: "less"}.get(own, "units")
        return Chosen(
            self.outcome,
            self._rows(),
            self.worths.best,
            self.value_of_information,
            "units" if self.cost is not None and unit != "function" else unit,
            self.is_told,
            self.notes,
        )

    def __str__(self) -> str:
        return decision_text(self.shown)

    __repr__ = __str__
