"""`Effect.probability`: posterior probabilities of what an effect may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags import checks
from alldags.answers import tables
from alldags.answers.closed import ClosedAnswer
from alldags.answers.inner import InnerAnswer
from alldags.effects import reach
from alldags.effects.open_pairs import OpenPair, open_pairs
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.results.level_table import level_table
from alldags.show.table import Table

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_DRAWS = 20_000  # behind `reverse` where it is not computed


@dataclass(frozen=True, eq=False)
class Probability:
    """Posterior probabilities of what an effect may be; obtained as `Effect.probability`.

    That of no effect at all is `Effect.probability_no_effect`.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "exercise")
    >>> chance = effect.probability
    >>> round(chance.positive + chance.negative + effect.probability_no_effect, 9)
    1.0
    """

    effect: Effect

    @property
    def positive(self) -> float:
        """Posterior probability of an effect above zero."""
        return self.effect.uncertainty.sample.above(0.0)

    @property
    def negative(self) -> float:
        """Posterior probability of an effect below zero."""
        return self.effect.uncertainty.sample.below(0.0)

    def levels(self, level: float = 0.95) -> Table:
        """Return how probable each level of the outcome is under both values of the treatment, and the differences.

        The outcome has to be a category (`alldags.Categorical`). Differences add up to zero.

        Parameters
        ----------
        level
            Probability that each interval holds.

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(0)
        >>> new = rng.integers(0, 2, 600)
        >>> chance = np.where(new[:, None] == 1, [0.5, 0.8], [0.4, 0.6])  # of at most "bus", at most "car"
        >>> way = np.array(["bus", "car", "walk"])[(rng.random(600)[:, None] > chance).sum(axis=1)]
        >>> posterior = ad.fit({"new": new, "way": way}, {"way": ["new"]}, families={"way": "categorical"}, rng=0)
        >>> found = posterior.effect("new", "way").probability.levels()
        >>> found["level"], [round(value, 1) for value in found["difference"]]
        (['bus', 'car', 'walk'], [0.1, 0.1, -0.2])
        """
        return level_table(self.effect, level)

    def above(self, delta: float) -> float:
        """Return the posterior probability of an effect greater than `delta`."""
        return self.effect.uncertainty.sample.above(checks.finite("delta", delta))

    @property
    def no_effect_error(self) -> float:
        """Monte-Carlo standard error of `Effect.probability_no_effect`; 0 where it is exact."""
        atom, size = self.effect.uncertainty.sample.atom, self._atom_draws
        return math.sqrt(max(atom * (1 - atom), 1.0 / size) / size) if math.isfinite(size) else 0.0

    @cached_property
    def _atom_draws(self) -> float:
        """Number of draws behind the probability of no effect; infinite where it is computed."""
        workings, answer = self.effect.workings, self.effect.answer
        if workings.exact_no_effect in (0.0, 1.0) and not isinstance(answer, ClosedAnswer):
            return math.inf  # what is certain has no Monte-Carlo error
        return answer.size if workings.exact_no_effect is None else workings.set_draws

    # -- directions ----------------------------------------------------------------------------------------------------

    @cached_property
    def reverse(self) -> float | None:
        """Posterior probability that the outcome acts on the treatment; 0 where no candidate graph has such a path.

        Exact where `Effect.probability_no_effect` is, else from draws. None if the engine has no notion of a graph.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> graph = ad.CandidateGraph.unordered(["smoking", "tar", "risk"], 0.5)
        >>> effect = ad.fit(study.table, graph, rng=0).effect("tar", "risk")
        >>> chance = effect.probability
        >>> round((1 - effect.probability_no_effect) + chance.reverse + chance.neither, 9)
        1.0
        """
        effect = self.effect
        if not effect.workings.has_structure:
            return None
        back = effect.workings.models.map(lambda model: TotalEffect.of(model, effect.outcome, effect.treatment))
        if not back.all(lambda total: total.has_structure):
            return None
        none = back.average_known(reach.probability_no_effect)
        if none is not None:
            return 1.0 - none
        return float(np.mean(back.draw(_DRAWS, effect.posterior.workings.stream(), TotalEffect.draws) != 0.0))

    @property
    def neither(self) -> float | None:
        """Posterior probability that neither acts on the other."""
        none = self.effect.probability_no_effect
        return None if none is None or self.reverse is None else max(none - self.reverse, 0.0)

    @cached_property
    def open_pairs(self) -> tuple[OpenPair, ...]:
        """Pairs of variables whose direction was left open in a block that the effect runs through.

        That of treatment and outcome comes first, then those that the data decide least.
        """
        return open_pairs(self.effect.workings.totals)

    @property
    def structures(self) -> dict[str, float]:
        """Posterior probability of each structure of effect modification in the outcome's regression."""
        return tables.structures_of(self.effect.workings.totals, self.effect.outcome)

    # -- modifiers -----------------------------------------------------------------------------------------------------

    def modifiers(self) -> Table:
        """Return, for each covariate of the outcome's regression, the probability that the effect differs with it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms="auto", rng=0).effect("tar", "risk")
        >>> list(effect.probability.modifiers().columns)
        ['covariate', 'probability_modifies']
        """
        answer = self.effect.answer
        if not isinstance(answer, InnerAnswer):
            raise AlldagsError(answer.lacks["modifiers"])
        return tables.modifiers_table(answer.changes, self.effect.treatment)
