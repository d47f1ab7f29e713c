"""`Effect`: the posterior of one total effect."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import checks
from alldags.effects import accuracy, propagate, reach
from alldags.effects import draws as drawing
from alldags.effects import outcome as outcomes
from alldags.results import describe, tables
from alldags.results.graphfit import GraphFit
from alldags.results.sample import AtomicSample
from alldags.results.table import Table
from alldags.typing import FloatArray, RandomSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.results.posterior import Posterior

_DRAWS = 20_000  # behind intervals and probabilities


class Effect:
    """Posterior of the total causal effect of a treatment on an outcome, averaged over all candidate graphs.

    Obtained from `Posterior.effect`. Numbers are in the user's units: change of the outcome per unit of treatment; for
    a binary treatment coded 0/1 that is the average treatment effect. Moments are exact where the engine is; intervals
    and probabilities of sign come from independent draws, with the probability of no effect at all put in exactly
    where it can be had.

    Examples
    --------
    >>> import alldags as ad
    >>> example = ad.datasets.example()
    >>> effect = ad.fit(example.table, example.graph, rng=0).effect(example.treatment, example.outcome)
    >>> low, high = effect.interval(0.95)
    >>> bool(low < effect.mean < high)
    True
    """

    def __init__(self, posterior: Posterior, treatment: str, outcome: str) -> None:
        self.posterior = posterior
        self.treatment = treatment
        self.outcome = outcome
        for _, fit in self._parts:
            fit.prepare(propagate.path_variables(fit.graph, treatment, outcome)[1:])

    @property
    def _parts(self) -> list[tuple[float, GraphFit]]:
        return self.posterior.parts

    @cached_property
    def _factor(self) -> float:
        """User's units of the effect per working unit."""
        working = self.posterior.working
        return float(working.scale[working.index[self.outcome]] / working.scale[working.index[self.treatment]])

    def _average(self, value: Callable[[GraphFit], float]) -> float:
        """Average a number over the candidate graphs' fits."""
        return math.fsum(weight * value(fit) for weight, fit in self._parts)

    # -- moments -----------------------------------------------------------------------------------------------------

    @cached_property
    def mean(self) -> float:
        """Posterior mean, the estimate that is optimal under squared loss."""
        return self._factor * self._average(self._mean_of)

    def _mean_of(self, fit: GraphFit) -> float:
        variables = propagate.path_variables(fit.graph, self.treatment, self.outcome)
        return float(propagate.first_moments(fit.graph, fit.node, variables)[-1]) if variables else 0.0

    def _second_of(self, fit: GraphFit, matrix: propagate.SecondMoments) -> float:
        variables = propagate.path_variables(fit.graph, self.treatment, self.outcome)
        return float(propagate.second_moments(fit.graph, fit.node, variables, matrix)[-1, -1]) if variables else 0.0

    @cached_property
    def sd(self) -> float:
        """Posterior standard deviation; infinite if there are too few rows for it to exist."""
        second = self._factor**2 * self._average(lambda fit: self._second_of(fit, propagate.total))
        return math.sqrt(max(second - self.mean**2, 0.0))

    @cached_property
    def sd_structure(self) -> float | None:
        """The part of `sd` that comes from not knowing the graph; None if the engine has no notion of a graph.

        With learned hyperparameters it also holds what comes from not knowing those.
        """
        if not self._has_structure:
            return None
        second = self._factor**2 * self._average(lambda fit: self._second_of(fit, propagate.between_graphs))
        return math.sqrt(max(second - self.mean**2, 0.0))

    @property
    def sd_coefficients(self) -> float | None:
        """The part of `sd` that would remain if the graph were known; ``sd**2 = sd_structure**2 + this**2``."""
        if self.sd_structure is None:
            return None
        return math.sqrt(max(self.sd**2 - self.sd_structure**2, 0.0))

    @cached_property
    def _has_structure(self) -> bool:
        return all(
            fit.node(child).inclusion is not None
            for _, fit in self._parts
            for child in propagate.path_variables(fit.graph, self.treatment, self.outcome)[1:]
        )

    @cached_property
    def _accuracy(self) -> tuple[float, float]:
        pairs = [accuracy.mean_accuracy(fit.graph, fit.node, self.treatment, self.outcome) for _, fit in self._parts]
        weights = [weight for weight, _ in self._parts]
        error = math.sqrt(sum((weight * pair[0]) ** 2 for weight, pair in zip(weights, pairs, strict=True)))
        bound = sum(weight * pair[1] for weight, pair in zip(weights, pairs, strict=True))
        return abs(self._factor) * error, abs(self._factor) * bound

    @property
    def mean_error(self) -> float:
        """Monte-Carlo standard error of `mean`; 0 where no node was sampled."""
        return self._accuracy[0]

    @property
    def mean_bound(self) -> float:
        """Bound on the error of `mean` from parent sets left out by certified engines; 0 if none was."""
        return self._accuracy[1]

    def expected_loss(self, estimate: float) -> float:
        """Return the posterior expected squared error of any estimate; least for `mean`.

        Examples
        --------
        What would it cost to report no effect at all?

        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> round(effect.expected_loss(effect.mean), 3), round(effect.expected_loss(0.0), 3)
        (0.01, 0.742)
        """
        return self.sd**2 + (checks.finite("estimate", estimate) - self.mean) ** 2

    # -- distribution ------------------------------------------------------------------------------------------------

    def draws(self, size: int = 4000, rng: RandomSource = None) -> FloatArray:
        """Return independent draws from the posterior, shape (size,); exact zeros where there is no path.

        Without `rng` the draws follow from the seed given to `fit`, and are the same at every call.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph).effect("smoking", "risk")
        >>> draws = effect.draws(5000, rng=1)
        >>> bool(abs(draws.mean() - effect.mean) < 5 * effect.sd / 5000**0.5)
        True
        """
        size = checks.whole("size", size, least=1)
        generator = self.posterior.stream() if rng is None else np.random.default_rng(rng)
        counts = generator.multinomial(size, [weight for weight, _ in self._parts])
        pieces = [
            drawing.total_effect_draws(fit.graph, fit.node, self.treatment, self.outcome, int(count), stream)
            for (_, fit), count, stream in zip(self._parts, counts, generator.spawn(len(counts)), strict=True)
            if count
        ]
        together = self._factor * np.concatenate(pieces)
        return together if len(pieces) == 1 else generator.permutation(together)

    @cached_property
    def sample(self) -> AtomicSample:
        """The draws behind intervals and probabilities."""
        values = self.draws(_DRAWS)
        exact = self._exact_no_path
        atom = float(np.mean(values == 0.0)) if exact is None else exact
        return AtomicSample(values, atom, self._set_draws)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval (low, high) that holds the effect with probability `level`.

        An end is exactly 0 when the atom at zero covers that quantile.
        """
        self._check_level(level)
        return self.sample.quantile((1 - level) / 2), self.sample.quantile((1 + level) / 2)

    def interval_error(self, level: float = 0.95) -> tuple[float, float]:
        """Return the Monte-Carlo standard errors of the two ends of `interval`."""
        self._check_level(level)
        return self.sample.quantile_error((1 - level) / 2), self.sample.quantile_error((1 + level) / 2)

    @staticmethod
    def _check_level(level: float) -> None:
        outcomes.check_level(level)

    @property
    def median(self) -> float:
        """Posterior median, the estimate that is optimal under absolute loss."""
        return self.sample.quantile(0.5)

    @property
    def probability_positive(self) -> float:
        """Posterior probability of an effect above zero."""
        return self.sample.above(0.0)

    @property
    def probability_negative(self) -> float:
        """Posterior probability of an effect below zero."""
        return self.sample.below(0.0)

    def probability_above(self, delta: float) -> float:
        """Return the posterior probability of an effect greater than `delta`."""
        return self.sample.above(checks.finite("delta", delta))

    @cached_property
    def _exact_no_path(self) -> float | None:
        if not self._has_structure:
            return 0.0  # continuous priors have no atom
        values = [
            reach.probability_no_path(fit.graph, fit.node, self.treatment, self.outcome) for _, fit in self._parts
        ]
        if any(value is None for value in values):
            return None
        return math.fsum(weight * (value or 0.0) for (weight, _), value in zip(self._parts, values, strict=True))

    @property
    def probability_no_path(self) -> float | None:
        """Posterior probability that no directed path leads from treatment to outcome, so that the effect is zero.

        Exact up to 100,000 sets of reached nodes, else from draws; see `probability_no_path_error`. None if the engine
        has no notion of a graph.
        """
        return self.sample.atom if self._has_structure else None

    @property
    def probability_no_path_error(self) -> float:
        """Monte-Carlo standard error of `probability_no_path`; 0 where it is exact."""
        atom, size = self.sample.atom, self._atom_draws
        return math.sqrt(max(atom * (1 - atom), 1.0 / size) / size) if math.isfinite(size) else 0.0

    @cached_property
    def _atom_draws(self) -> float:
        """Number of draws behind `probability_no_path`; infinite where it is computed."""
        return _DRAWS if self._exact_no_path is None else self._set_draws

    @cached_property
    def _set_draws(self) -> float:
        """Least number of stored parent sets behind the draws of a node on a path; infinite if none was sampled."""
        return min(
            (
                fit.node(child).set_draws
                for _, fit in self._parts
                for child in propagate.path_variables(fit.graph, self.treatment, self.outcome)[1:]
            ),
            default=math.inf,
        )

    # -- why -----------------------------------------------------------------------------------------------------------

    def paths(self, limit: int = 50) -> Table:
        """Return the paths with the largest mean contributions, and one row for all others; the means sum to `mean`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk")
        >>> print(effect.paths(limit=2))
        path                       mean      sd  probability
        smoking -> tar -> risk   0.5649  0.1103            1
        smoking -> risk          0.2115   0.174       0.6829
        all other paths         0.07918       -            -
        """
        return tables.paths_table(self._parts, self.treatment, self.outcome, self._factor, self.mean, limit)

    def mediators(self) -> Table:
        """Return, for each variable in between, the effect that passes through it. Rows overlap and do not add up.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> print(ad.fit(study.table, study.graph).effect("smoking", "risk").mediators())
        mediator     mean       sd
        tar        0.5649   0.1103
        exercise  0.07918  0.02877
        """
        return tables.mediators_table(self._parts, self.treatment, self.outcome, self._factor)

    def edge_influence(self) -> Table:
        """Return what knowing each uncertain edge would do to the answer, most informative edge first.

        ``effect_if_present`` and ``effect_if_absent`` are posterior means given the edge; ``variance_removed`` is the
        share of the posterior variance that knowing the edge would remove; ``sign_flips_at`` is the prior probability
        of the edge at which the posterior mean would change sign, all else equal (``-``: at none).

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> first = next(ad.fit(study.table, study.graph).effect("smoking", "risk").edge_influence().rows())
        >>> first["cause"], first["effect"], round(first["variance_removed"], 2)
        ('smoking', 'risk', 0.41)
        """
        return tables.influence_table(
            self._parts, self.posterior.prior_weights, self.treatment, self.outcome, self._factor, self.sd
        )

    def do(self, x: float, draws_size: int = 4000) -> outcomes.OutcomeDistribution:
        """Return the distribution of the outcome of a new unit when the treatment is set to `x`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> ad.fit(study.table, study.graph, rng=0).effect("smoking", "risk").do(10.0)
        OutcomeDistribution(do(x = 10): mean 41.29, sd 10.53)
        """
        x = checks.finite("the value the treatment is set to", x)
        draws_size = checks.whole("draws_size", draws_size, least=1)
        working = self.posterior.working
        shift = x - float(working.mean[working.index[self.treatment]])
        base = float(working.mean[working.index[self.outcome]])
        unit = float(working.scale[working.index[self.outcome]])
        widen = 1.0 + (1.0 / working.rows if self.posterior.fits[0].prior.intercept else 0.0)
        noise = self._average(lambda fit: outcomes.noise_reaching(fit.graph, fit.node, self.treatment, self.outcome))
        variance = self.sd**2 * shift**2 if shift else 0.0
        sample = self._outcome_draws(draws_size)
        return outcomes.OutcomeDistribution(
            x=x,
            mean=base + self.mean * shift,
            sd=math.sqrt(variance + widen * noise * unit**2),
            centers=base + self._factor * sample.effect * shift,
            spreads=np.sqrt(widen * sample.variance) * unit,
        )

    def _outcome_draws(self, size: int) -> drawing.OutcomeDraws:
        generator = self.posterior.stream()
        counts = generator.multinomial(size, [weight for weight, _ in self._parts])
        pieces = [
            drawing.outcome_draws(fit.graph, fit.node, self.treatment, self.outcome, int(count), stream)
            for (_, fit), count, stream in zip(self._parts, counts, generator.spawn(len(counts)), strict=True)
            if count
        ]
        return drawing.OutcomeDraws(
            np.concatenate([piece.effect for piece in pieces]), np.concatenate([piece.variance for piece in pieces])
        )

    # -- showing -------------------------------------------------------------------------------------------------------

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the posterior density, with the atom at zero as a bar of its own."""
        from alldags.results.plot import plot_effect

        return plot_effect(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain numbers, as printed by ``alldags effect --json``."""
        return describe.effect_dict(self)

    def __str__(self) -> str:
        return describe.effect_text(self)

    def __repr__(self) -> str:
        return f"Effect({self.treatment!r} -> {self.outcome!r}: mean {self.mean:.4g}, sd {self.sd:.4g})"

    def _repr_html_(self) -> str:
        return describe.effect_html(self)
