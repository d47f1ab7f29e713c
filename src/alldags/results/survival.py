"""`Effect.survival`: survival under both values of a treatment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags import checks
from alldags.answers import survival
from alldags.answers.pushed import PushedAnswer
from alldags.effects.outcome import check_level
from alldags.effects.quantity import Quantity
from alldags.errors import AlldagsError
from alldags.families.survival import Survival
from alldags.show.table import Table
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.results.effect import Effect

_TIMES = 10


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """Survival under both values of a treatment, averaged over the rows; obtained as `Effect.survival`.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> rng = np.random.default_rng(0)
    >>> drug = rng.integers(0, 2, 400)
    >>> time, until = rng.exponential(np.where(drug == 1, 2.0, 1.0)), rng.uniform(0, 4, 400)
    >>> table = {"drug": drug, "time": np.minimum(time, until), "died": time <= until}
    >>> families = {"time": ad.Survival(event="died")}
    >>> effect = ad.fit(table, {"time": ["drug"]}, families=families, terms=None, rng=0).effect("drug", "time")
    >>> round(effect.survival.at(1.0).mean, 1)  # exp(-0.5) - exp(-1)
    0.2
    >>> round(effect.on("hazard ratio").median, 1)
    0.5
    """

    effect: Effect

    @property
    def horizon(self) -> float:
        """Up to which time survived time counts in the effect."""
        return float(self._family.until or 0.0)

    def at(self, time: float) -> Quantity:
        """Return the difference of the probabilities to survive a time."""
        low, high = self._levels(lambda family: family.surviving(self._time(time)))
        return Quantity(self.effect.uncertainty.widened(high - low))

    def restricted_mean(self, horizon: float) -> Quantity:
        """Return the difference of the mean times survived up to another horizon."""
        low, high = self._levels(lambda family: family.up_to(self._time(horizon)))
        return Quantity(self.effect.uncertainty.widened(high - low))

    def table(self, times: Sequence[float] | None = None, level: float = 0.95) -> Table:
        """Return the probabilities to survive some times under both values, and their difference with its interval.

        Parameters
        ----------
        times
            None: ten even steps up to the horizon.
        level
            Probability that each interval holds.
        """
        curves = self._curves(times, level)
        kept = ("time", *self._words, "difference", "difference low", "difference high")
        return Table({name.removeprefix("difference "): curves[name] for name in kept})

    def _curves(self, times: Sequence[float] | None, level: float) -> dict[str, list[float]]:
        """Return mean and interval of both probabilities and their difference, by name."""
        check_level(level)
        when = np.linspace(0.0, self.horizon, _TIMES + 1)[1:] if times is None else [self._time(t) for t in times]
        low_word, high_word = self._words
        found: dict[str, list[float]] = {"time": [float(t) for t in when]}
        drawn = [self._levels(lambda family, t=t: family.surviving(float(t)), few=True) for t in when]  # type: ignore[misc]
        widened = self.effect.uncertainty.widened
        for name, parts in (
            (low_word, [np.clip(widened(low), 0.0, 1.0) for low, _ in drawn]),
            (high_word, [np.clip(widened(high), 0.0, 1.0) for _, high in drawn]),
            ("difference", [widened(high - low) for low, high in drawn]),
        ):
            ends = [np.quantile(part, [(1 - level) / 2, (1 + level) / 2]) for part in parts]
            found[name] = [float(part.mean()) for part in parts]
            found[f"{name} low"] = [float(low) for low, _ in ends]
            found[f"{name} high"] = [float(high) for _, high in ends]
        return found

    def ratios(self, level: float = 0.95) -> Table:
        """Return the hazard ratio in each piece of time, given the covariates: median and interval."""
        check_level(level)
        log_ratios, changes = self._ratios
        low, middle, high = np.exp(np.quantile(log_ratios, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0))
        pieces = self._family.pieces
        columns = {"since": pieces.lower, "until": np.append(pieces.lower[1:], np.inf), "ratio": middle}
        columns |= {"low": low, "high": high}
        note = f"probability that the ratio changes with time: {changes:.2f}" if self._family.arms is not None else ""
        return Table({name: values.tolist() for name, values in columns.items()}, note=note)

    @property
    def probability_changing(self) -> float:
        """Posterior probability that the hazard ratio changes with time; 0 where that was not allowed for."""
        return self._ratios[1]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the probabilities to survive under both values of the treatment, with 95% intervals."""
        from alldags.show.plots.survival import plot_survival

        times = np.linspace(0.0, self.horizon, 41)[1:]
        return plot_survival(Table(self._curves(times.tolist(), 0.95)), self._words, self.effect.outcome, ax)

    # -- inside --------------------------------------------------------------------------------------------------------

    @property
    def _answer(self) -> PushedAnswer:
        assert isinstance(self.effect.answer, PushedAnswer)
        return self.effect.answer

    @property
    def _family(self) -> Survival:
        return survival.family_of(self._answer)

    @property
    def _words(self) -> tuple[str, str]:
        """What the two values of the treatment are called in a table."""
        from alldags.answers.treatment_values import treatment_word

        values = self._answer.question.comparison.values
        if values is None:
            return f"{self.effect.treatment} as it is", f"{self.effect.treatment} one unit up"
        low, high = (treatment_word(self.effect, value) for value in values)
        return tuple(  # type: ignore[return-value]
            f"{self.effect.treatment}={word:g}" if isinstance(word, float) else f"{self.effect.treatment}={word}"
            for word in (low, high)
        )

    def _time(self, value: float) -> float:
        time = checks.positive("time", value)
        last = float(np.max(self.effect.posterior.workings.data.table.column(self.effect.outcome)))  # type: ignore[union-attr]
        if time > last:
            raise AlldagsError(
                f"nothing is known of survival beyond the last time of the table, {last:g}; got {value!r}"
            )
        return time

    def _levels(self, change: survival.Change, few: bool = False) -> tuple[FloatArray, FloatArray]:
        return survival.levels(self._answer, self.effect.posterior.workings, change, few)

    @cached_property
    def _ratios(self) -> tuple[FloatArray, float]:
        found = survival.ratios(self._answer)
        if found is None:
            raise AlldagsError(
                "hazard ratios by time need one candidate graph, a straight line, two values of the treatment and "
                "nothing between it and the outcome; use on('hazard ratio')"
            )
        return found
