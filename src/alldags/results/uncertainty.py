"""`Effect.uncertainty`: what the spread of an effect is made of, and how exact its numbers are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags import checks
from alldags.answers.closed import ClosedAnswer
from alldags.answers.hidden import hidden_sd
from alldags.answers.robust import jackknife_of, stretch_of
from alldags.effects.clusters import ClusterCheck
from alldags.effects.direction import direction_variance
from alldags.effects.jackknife import Jackknife, Stretch
from alldags.effects.outcome import check_level
from alldags.effects.sample import AtomicSample
from alldags.kinds import MEASURES
from alldags.typing import FloatArray

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_PAIRS = 2000  # of graphs of one Markov class, behind `Uncertainty.direction`


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What the spread of an effect is made of, and how exact its numbers are; obtained as `Effect.uncertainty`.

    ``sd**2 = structure**2 + coefficients**2``, plus ``missing**2`` where values were imputed and ``hidden**2`` where
    the graph has a hidden common cause that matters. All in units of the effect.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
    >>> parts = effect.uncertainty
    >>> round(parts.structure, 3), round(parts.coefficients, 3), round(effect.sd, 3)
    (0.055, 0.088, 0.104)
    """

    effect: Effect

    # -- parts of sd ---------------------------------------------------------------------------------------------------

    @cached_property
    def structure(self) -> float | None:
        """The part of `Effect.sd` that comes from not knowing the graph; None if that is not known.

        With learned hyperparameters it also holds what comes from not knowing those.
        """
        effect = self.effect
        if not effect.workings.has_structure:
            return None
        if isinstance(effect.answer, ClosedAnswer):
            return effect.answer.structure_sd
        between = effect.answer.structure_variance
        return None if between is None else min(math.sqrt(max(between, 0.0)), effect.sd)

    @property
    def coefficients(self) -> float | None:
        """The part of `Effect.sd` that would remain if the graph, and correlations of errors in it, were known."""
        if self.structure is None:
            return None
        if math.isinf(self.effect.sd):
            return math.inf
        whole, power = math.frexp(self.effect.sd)
        known = self.structure, self.missing or 0.0, self.hidden or 0.0
        others = math.hypot(*(math.ldexp(part, -power) for part in known))
        return math.ldexp(math.sqrt(max(whole**2 - others**2, 0.0)), power)

    @cached_property
    def missing(self) -> float | None:
        """The part of `Effect.sd` that comes from not knowing missing values; None if none were imputed."""
        return None if self._tables == 1 else self.effect.answer.missing_sd

    @property
    def missing_information(self) -> float | None:
        """Share of the posterior variance that comes from missing values; None if none were imputed."""
        sd = self.effect.sd
        return None if self.missing is None else (self.missing / sd) ** 2 if sd > 0 else 0.0

    @cached_property
    def direction(self) -> float | None:
        """The part of `structure` that comes from directions which no number of observational rows can tell.

        It is the spread of the effect over graphs that entail the same independences: an experiment, or knowing more of
        the order (a tier), makes it smaller, rows do not. 0 where every direction is known; None if the engine has no
        notion of a graph. From draws: see `alldags.effects.direction`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> graph = ad.CandidateGraph.unordered(["smoking", "tar", "risk"], 0.5)
        >>> effect = ad.fit(study.table, graph, rng=0).effect("tar", "risk")
        >>> 0 < effect.uncertainty.direction <= effect.uncertainty.structure <= effect.sd
        True
        """
        effect = self.effect
        if self.structure is None or not isinstance(effect.answer, ClosedAnswer):
            return None
        stream = effect.posterior.workings.stream
        inside = effect.workings.totals.average(lambda total: direction_variance(total, _PAIRS, stream()))
        return min(abs(effect.workings.unit) * math.sqrt(inside), self.structure)

    @cached_property
    def hidden(self) -> float | None:
        """The part of `Effect.sd` that comes from not knowing the correlation that a hidden common cause makes.

        None if no such cause in the graph matters here.
        """
        return hidden_sd(self.effect)

    def expected_loss(self, estimate: float) -> float:
        """Return the posterior expected squared error of any estimate; least for `Effect.mean`.

        Examples
        --------
        What would it cost to report no effect at all?

        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> loss = effect.uncertainty.expected_loss
        >>> round(loss(effect.mean), 3), round(loss(0.0), 3)
        (0.011, 0.81)
        """
        bias, sd = checks.finite("estimate", estimate) - self.effect.mean, self.effect.sd
        return sd**2 + bias**2 if max(sd, abs(bias)) < 1e150 else math.inf

    # -- what rows and clusters say ------------------------------------------------------------------------------------

    @cached_property
    def jackknife_or_reason(self) -> Jackknife | str:
        """What rows or clusters say of the spread, or why they were not asked."""
        return jackknife_of(self.effect)

    @property
    def jackknife(self) -> Jackknife | None:
        """What rows or clusters say of the spread of this effect; None if they were not asked (``robust=False``).

        Examples
        --------
        >>> import numpy as np, alldags as ad
        >>> rng = np.random.default_rng(1)
        >>> dose = rng.normal(size=400)
        >>> table = {"dose": dose, "answer": dose + dose**2 * rng.normal(size=400)}
        >>> graph = ad.CandidateGraph.from_edges({("dose", "answer"): 1.0})
        >>> effect = ad.fit(table, graph, terms=None, rng=0).effect("dose", "answer")
        >>> check = effect.uncertainty.jackknife
        >>> check.factor > 1.5, effect.sd > 1.5 * check.sd
        (True, True)
        """
        found = self.jackknife_or_reason
        return None if isinstance(found, str) else found

    @property
    def clusters(self) -> ClusterCheck | None:
        """What clusters do to the spread; None without ``cluster=``."""
        check = self.jackknife
        return None if check is None or check.kind != "clusters" else ClusterCheck.of(check)

    @cached_property
    def stretch(self) -> Stretch | None:
        """What makes draws as wide as the jackknife says; None if they are."""
        return stretch_of(self.effect, self.jackknife)

    def widened(self, draws: FloatArray) -> FloatArray:
        """Return draws of a number that depends on the effect, shape (draws, ...), as wide as the jackknife says."""
        return draws if self.stretch is None else self.stretch.about_mean(draws)

    def widened_level(self, draws: FloatArray) -> FloatArray:
        """Return the same of a mean outcome, shape (draws,); no risk leaves 0 to 1, and no mean count is negative."""
        measure = MEASURES.get(self.effect.measure)
        if self.stretch is None or measure is None:
            return self.widened(draws)
        return np.clip(self.widened(draws), measure.low, measure.high)

    # -- how exact the numbers are -------------------------------------------------------------------------------------

    @cached_property
    def mean_error(self) -> float:
        """Monte-Carlo standard error of `Effect.mean`; 0 where no node was sampled and no value imputed."""
        sampled = self.effect.answer.error
        return math.hypot(sampled, self.imputation_error) if self.imputation_error else sampled

    @property
    def imputation_error(self) -> float:
        """The part of `mean_error` that comes from the number of imputed tables; 0 if none were."""
        return (self.missing or 0.0) / math.sqrt(max(self._tables - 1, 1))

    @property
    def mean_bound(self) -> float:
        """Bound on the error of `Effect.mean` from parent sets left out by certified engines; 0 if none was."""
        return self.effect.answer.bound

    def interval_error(self, level: float = 0.95) -> tuple[float, float]:
        """Return the Monte-Carlo standard errors of the two ends of `Effect.interval`."""
        check_level(level)
        return self.sample.quantile_error((1 - level) / 2), self.sample.quantile_error((1 + level) / 2)

    @cached_property
    def sample(self) -> AtomicSample:
        """The draws behind intervals and probabilities."""
        effect = self.effect
        values = effect.draws(effect.answer.size)
        exact = effect.workings.exact_no_effect
        atom = float(np.mean(values == 0.0)) if exact is None else exact
        return AtomicSample(values, atom, effect.workings.set_draws)

    @property
    def converged(self) -> bool:
        """Whether every node that was needed was computed or sampled to the end; `Effect.notes` say what to do."""
        return all(block.diagnostics.is_reliable for block in self.effect.workings.blocks)

    @property
    def engines(self) -> dict[str, str]:
        """For each node that this effect needs, the engine that was used."""
        blocks = self.effect.workings.blocks
        return {name: block.diagnostics.engine for block in blocks for name in block.variables}

    @property
    def _tables(self) -> int:
        """Number of completed tables."""
        return self.effect.workings.totals.weights.tables
