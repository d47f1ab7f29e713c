"""`Intervention`: the outcome when variables are set, on average over rows and of a new unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from alldags.effects.new_unit import NewUnit, done
from alldags.effects.quantity import Difference, Quantity
from alldags.errors import AlldagsError
from alldags.notes import Note


@dataclass(frozen=True, eq=False)
class Intervention:
    """What the outcome would be if variables were set: what `Effect.do` and `Posterior.do` return.

    Nothing is computed before it is asked for.

    Parameters
    ----------
    treatment, outcome
        Their names.
    x
        The value the treatment is set to: a number, or the level of a category. Of several variables, what all of them
        are set to, in words.
    over
        Over which rows the mean is: ``"sample"``, ``"population"``, ``"treated"``, ``"untreated"``, ``"chosen rows"``.
    notes
        What a reader should know, such as that `x` is outside the observed values.
    scenario
        What is set, for the package's own rooms.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> ten = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").do(10.0)
    >>> ten
    Intervention(do(smoking = 10): mean of risk 40.91, sd 1.02)
    >>> round(float(ten.mean), 1), round(ten.new_unit.sd, 1)
    (40.9, 10.5)
    """

    treatment: str
    outcome: str
    x: float | str
    over: str
    _average: Callable[[], Quantity] = field(repr=False)
    _unit: Callable[[], NewUnit] = field(repr=False)
    notes: tuple[Note, ...] = ()
    scenario: Any = field(default=None, repr=False)
    _minus: Callable[[Intervention, Intervention], Difference] | None = field(default=None, repr=False)

    def minus(self, other: Intervention) -> Difference:
        """Return the mean outcome less that of another intervention, over the same rows and from the same draws.

        A number with a posterior: `Difference.interval`, and `Difference.probability_no_effect` that both are the same.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
        >>> both, none = ({"smoking": x, "exercise": y} for x, y in ((0, 5), (20, 0)))
        >>> gain = posterior.do(both, outcome="risk").minus(posterior.do(none, outcome="risk"))
        >>> round(float(gain), 1), [round(x, 1) for x in gain.interval()]
        (-20.5, [-24.3, -16.8])
        """
        if self._minus is None or other._minus is None:
            raise AlldagsError("minus() takes what do() returns, of the same posterior")
        return self._minus(self, other)

    @cached_property
    def mean(self) -> Quantity:
        """The mean outcome over the rows asked about, each with its own covariates, when all have this treatment.

        A number with a posterior: what is not known of it is the effect. `float` makes a plain number of it.
        """
        return self._average()

    @cached_property
    def new_unit(self) -> NewUnit:
        """The distribution of one new unit's outcome, with its noise and with covariates that are not known.

        A mixture of normals for straight lines (`OutcomeDistribution`), draws for counts and curves (`OutcomeDraws`),
        and for a yes/no outcome the probability of a one (`YesNoOutcome`). All have `mean`, `sd`, `cdf`, `quantile` and
        `interval`.
        """
        return self._unit()

    def __repr__(self) -> str:
        noted = "".join(f"; note: {note}" for note in self.notes)
        mean = self.mean
        return (
            f"Intervention(do({done(self.x, self.treatment)}): mean of {self.outcome} {mean:.4g}, sd {mean.sd:.4g}"
            f"{noted})"
        )
