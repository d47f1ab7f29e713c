"""`Response`: what a change does step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from alldags import checks, meetings
from alldags.answers.after import AfterSteps
from alldags.assumptions.over_time import response_notes
from alldags.effects.outcome import check_level
from alldags.effects.quantity import Drawn, Quantity
from alldags.effects.sample import AtomicSample
from alldags.errors import AlldagsError
from alldags.notes import Note, in_order
from alldags.show.response import ResponseSummary, Step, response_dict, response_text
from alldags.show.table import Table
from alldags.typing import FloatArray

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from alldags.results.effect import Effect
    from alldags.results.posterior import Posterior

MOST_STEPS = 200
_OF_ONE_STEP = {
    "do": "posterior.do",
    "decide": "decisions",
    "mediation": "mediation",
    "along": "mediation",
    "counterfactual": "counterfactuals",
    "sensitivity": "sensitivity",
}
_KNOWN = "mean, sd, median, interval(), draws, contrast(), probability and probability_no_effect of response.at(step)"
_MOST_EXPLOSIVE = 0.05


class NotOfLaterStepsError(AlldagsError, AttributeError):
    """Something is asked of later steps that only the same step has."""


def _effect() -> type:
    from alldags.results.effect import Effect

    return Effect


class _Later:
    """Refuses, by name, what is known of the same step only."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name in _OF_ONE_STEP:
                raise NotOfLaterStepsError(meetings.refusal("later steps", _OF_ONE_STEP[name], {}).marked)
            if not name.startswith("_") and name in dir(_effect()):
                raise NotOfLaterStepsError(
                    f"{name!r} is of effects in the same step, response.at(0): later ones are reached by way of the "
                    f"same regressions again and again, and known by draws; ask for {_KNOWN}"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True, eq=False)
class StepProbability:
    """Posterior probabilities of what the effect after some steps may be; obtained as `StepEffect.probability`."""

    sample: AtomicSample

    @property
    def positive(self) -> float:
        """Posterior probability of an effect above zero."""
        return self.sample.above(0.0)

    @property
    def negative(self) -> float:
        """Posterior probability of an effect below zero."""
        return self.sample.below(0.0)

    def above(self, delta: float) -> float:
        """Return the posterior probability of an effect greater than `delta`."""
        return self.sample.above(checks.finite("delta", delta))


@dataclass(frozen=True, eq=False, repr=False)
class StepEffect(_Later, Quantity):
    """The effect of a change on an outcome some steps later, by draws; obtained as ``response.at(3)``.

    What else an `Effect` has is refused by name: it would need rows that are carried on for so many steps.

    Parameters
    ----------
    treatment, outcome
        Names.
    step
        After how many steps.
    mean_error
        Monte-Carlo standard error of the mean.
    """

    treatment: str = ""
    outcome: str = ""
    step: int = 0
    mean_error: float = 0.0

    @cached_property
    def _sample(self) -> AtomicSample:
        return AtomicSample(self.draws, float(np.mean(self.draws == 0.0)))

    @property
    def probability_no_effect(self) -> float:
        """Posterior probability that no walk over edges leads to the outcome in just so many steps."""
        return self._sample.atom

    @property
    def probability(self) -> StepProbability:
        """Probabilities of sign and size."""
        return StepProbability(self._sample)

    def contrast(self, start: float, stop: float) -> StepEffect:
        """Return what a change from one value of the treatment to another does; along straight lines it adds up."""
        change = checks.finite("stop", stop) - checks.finite("start", start)
        exact = change * self.mean, abs(change) * self.sd
        return replace(self, draws=change * self.draws, exact=exact, mean_error=abs(change) * self.mean_error)

    @property
    def median(self) -> float:
        """Posterior median."""
        return self._sample.quantile(0.5)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the effect with probability `level`."""
        check_level(level)
        return self._sample.quantile((1 - level) / 2), self._sample.quantile((1 + level) / 2)

    def __repr__(self) -> str:
        low, high = self.interval()
        ends = f"95% {low:.4g} to {high:.4g}"
        return f"StepEffect({self.treatment!r} -> {self.outcome!r} after {self.step}: mean {self.mean:.4g}, {ends})"


@dataclass(frozen=True, eq=False)
class LongRun(Drawn):
    """What a lasting change does in the end, given that it settles; its mean does not exist.

    Parameters
    ----------
    draws
        Of the regressions under which it settles, shape (draws,).
    probability_explosive
        Posterior probability that it does not settle.
    """

    probability_explosive: float


class Response(_Later):
    """What a change of a treatment does to an outcome after 0, 1, ... steps, averaged over all candidate graphs.

    Obtained from ``posterior.effect(treatment, outcome, after=8)``. In the same step mean, spread and probabilities are
    exact, as in `Effect`, what drives the treatment being kept as a confounder (`Prior.link`); later steps come from
    joint draws of all regressions on the way, each by itself.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> rng = np.random.default_rng(0)
    >>> price, sales = np.zeros(200), np.zeros(200)
    >>> for t in range(1, 200):
    ...     price[t] = 0.5 * price[t - 1] + rng.normal()
    ...     sales[t] = 0.6 * sales[t - 1] - 0.8 * price[t - 1] + rng.normal()
    >>> table = {"week": np.arange(200), "price": price, "sales": sales}
    >>> graph = ad.CandidateGraph.over_time(["price", "sales"], lags=1)
    >>> response = ad.fit(table, graph, time="week", rng=0).effect("price", "sales", after=3)
    >>> response.mean.round(1).tolist()
    [0.0, -0.8, -0.9, -0.7]
    >>> response.probability_never < 1e-6, response.at(1).interval()[1] < 0
    (True, True)
    """

    def __init__(self, posterior: Posterior, treatment: str, outcome: str, steps: int, lasting: bool) -> None:
        self.posterior = posterior
        self.treatment, self.outcome = treatment, outcome
        self.steps = checks.whole("after", steps, least=0, most=MOST_STEPS)
        self.lasting = checks.flag("lasting", lasting)
        self._answer = AfterSteps(posterior, treatment, outcome, self.steps, lasting)
        _ = self._answer.models  # what it cannot be asked of is refused here

    @property
    def workings(self) -> AfterSteps:
        """What it is computed from, for the package's own rooms; its names may change."""
        return self._answer

    @cached_property
    def _now(self) -> Effect | None:
        """The effect in the same step; None where regressions are not independent of each other."""
        if self.posterior.workings.data.traits is not None:
            return None
        return self.posterior.effect(self.treatment, self.outcome)

    # -- step by step --------------------------------------------------------------------------------------------------

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean after 0, 1, ... steps, shape (steps + 1,)."""
        found = self._answer.means[0].copy()
        if self._now is not None:
            found[0] = self._now.mean
        return found

    @cached_property
    def mean_error(self) -> FloatArray:
        """Monte-Carlo standard error of each mean, shape (steps + 1,)."""
        found = self._answer.means[1].copy()
        if self._now is not None:
            found[0] = self._now.uncertainty.mean_error
        return found

    @property
    def sd(self) -> FloatArray:
        """Posterior standard deviation after 0, 1, ... steps, shape (steps + 1,)."""
        return np.array([self.at(step).sd for step in range(self.steps + 1)])

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends of the central interval after 0, 1, ... steps, shape (steps + 1,) each."""
        low, high = np.array([self.at(step).interval(level) for step in range(self.steps + 1)]).T
        return low, high

    def draws(self) -> FloatArray:
        """Return joint draws of all steps, shape (steps + 1, draws); exact zeros where nothing arrives.

        Those of the same step are draws of `at(0)`, put in the order of those that later steps follow from.
        """
        return self._draws

    @cached_property
    def _draws(self) -> FloatArray:
        found = self._answer.draws.copy()
        if self._now is not None:
            found[0, np.argsort(found[0], kind="stable")] = np.sort(self._now.draws(found.shape[1]))
        return found

    def at(self, step: int) -> Effect | StepEffect:
        """Return the effect after one number of steps: of the same step an `Effect`, as without ``after=``.

        Of later ones what draws say, a `StepEffect`; all else is refused by name.
        """
        chosen = checks.whole("step", step, least=0, most=self.steps)
        if chosen == 0 and self._now is not None:
            return self._now
        draws = self._answer.draws[chosen]
        exact = float(self.mean[chosen]), float(draws.std(ddof=1))
        return StepEffect(
            draws, (), exact, self.treatment, self.outcome, chosen, float(self.mean_error[chosen])
        )  # fmt: skip

    # -- whether it arrives --------------------------------------------------------------------------------------------

    @cached_property
    def none_by(self) -> FloatArray:
        """Posterior probability that nothing has arrived after 0, 1, ... steps, shape (steps + 1,).

        That of the same step is the one of `at(0)`: what drives the treatment is kept there as a confounder, and not in
        later steps, so that it need not be the largest to the last digit.
        """
        found = np.array([chance.value for chance in self._answer.none_by])
        if self._now is not None and self._now.probability_no_effect is not None:
            found[0] = self._now.probability_no_effect
        return found

    @property
    def none_by_error(self) -> FloatArray:
        """Monte-Carlo standard error of each; 0 where it was computed, shape (steps + 1,)."""
        found = np.array([chance.error for chance in self._answer.none_by])
        if self._now is not None:
            found[0] = self._now.probability.no_effect_error
        return found

    @property
    def probability_never(self) -> float:
        """Posterior probability that the treatment never acts on the outcome, at any step."""
        return self._answer.never.value

    @property
    def probability_never_error(self) -> float:
        """Its Monte-Carlo standard error; 0 where it was computed."""
        return self._answer.never.error

    @property
    def prior_never(self) -> float | None:
        """The same probability before the data; None where edges depend on each other."""
        return self._answer.prior_never

    # -- in the long run -----------------------------------------------------------------------------------------------

    @cached_property
    def _long_run(self) -> LongRun | str:
        draws, explosive = self._answer.long_run
        if explosive > _MOST_EXPLOSIVE:
            return (
                f"the data do not exclude that a change never settles (probability {explosive:.0%}): there is no "
                "long-run effect to speak of"
            )
        return LongRun(draws, explosive)

    @property
    def long_run(self) -> LongRun | None:
        """What a lasting change does in the end; None if it may well not settle, see `long_run_reason`."""
        return None if isinstance(self._long_run, str) else self._long_run

    @property
    def long_run_reason(self) -> str:
        """Why there is no long-run effect; empty if there is one."""
        return self._long_run if isinstance(self._long_run, str) else ""

    # -- shown ---------------------------------------------------------------------------------------------------------

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know, the worst first."""
        return in_order((*self.posterior.notes, *response_notes(self)))

    def table(self, level: float = 0.95) -> Table:
        """Return mean, sd, interval and the probability of no effect so far, step by step.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(0)
        >>> table = {"t": np.arange(90), "x": rng.normal(size=90), "y": rng.normal(size=90)}
        >>> posterior = ad.fit(table, ad.CandidateGraph.over_time(["x", "y"], lags=1), time="t", rng=0)
        >>> posterior.effect("x", "y", after=2).table().columns["step"]
        [0, 1, 2]
        """
        low, high = self.interval(level)
        columns: dict[str, list[Any]] = {"step": list(range(self.steps + 1))}
        numbers = {"mean": self.mean, "sd": self.sd, "low": low, "high": high, "none_by": self.none_by}
        columns |= {name: values.tolist() for name, values in numbers.items()}
        return Table(columns)

    def summary(self, level: float = 0.95) -> ResponseSummary:
        """Return all that is shown, as a record of plain numbers."""
        last = self.long_run
        return ResponseSummary(
            treatment=self.treatment,
            outcome=self.outcome,
            word=self._step_word,
            lasting=self.lasting,
            level=level,
            steps=tuple(Step(**row) for row in self.table(level).rows()),
            never=self.probability_never,
            never_error=self.probability_never_error,
            prior_never=self.prior_never,
            long_run=None if last is None else (last.median, *last.interval(level)),
            explosive=self._answer.long_run[1],
            no_long_run=self.long_run_reason,
            rows=self.posterior.rows,
            log10_graphs=self.posterior.log10_graphs,
            notes=self.notes,
        )

    @property
    def _step_word(self) -> str:
        from alldags.assumptions.over_time import lagged_source

        source = lagged_source(self.posterior)
        return "step" if source is None else source.clock.word

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the answer as plain numbers, as ``--json`` prints it."""
        return response_dict(self.summary(level))

    def text(self, *, command: bool = False) -> str:
        """Return the answer in words."""
        return response_text(self.summary(), command=command)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        kind = ", lasting" if self.lasting else ""
        return f"Response({self.treatment!r} -> {self.outcome!r}, after 0 to {self.steps} steps{kind})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean and interval after each number of steps, and the probability that nothing has arrived so far."""
        from alldags.show.plots.response import plot_response

        return plot_response(self.summary(), ax)

    def report(self, target: str | os.PathLike[str], command: str = "") -> None:
        """Write a report of HTML: that of the effect in the same step, with a section and a picture of all steps."""
        from alldags.results.response_report import write_response

        if self._now is None:
            raise AlldagsError("a report starts from the effect in the same step, which joint traits do not have alone")
        write_response(self, self._now, target, command)
