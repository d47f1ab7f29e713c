"""`Intervention`: the outcome when the treatment is set to a value, on average over rows and of a new unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from alldags.effects.new_unit import NewUnit, shown
from alldags.effects.quantity import Quantity
from alldags.notes import Note


@dataclass(frozen=True, eq=False)
class Intervention:
    """What the outcome would be if the treatment were set to `x`; what `effect.do(x)` returns, whatever the effect.

    Nothing is computed before it is asked for.

    Parameters
    ----------
    treatment, outcome
        Their names.
    x
        The value the treatment is set to: a number, or the level of a category.
    over
        Over which rows the mean is: ``"sample"``, ``"population"``, ``"treated"``, ``"untreated"``, ``"chosen rows"``.
    notes
        What a reader should know, such as that `x` is outside the observed values.

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
            f"Intervention(do({self.treatment} = {shown(self.x)}): mean of {self.outcome} {mean:.4g}, sd {mean.sd:.4g}"
            f"{noted})"
        )
