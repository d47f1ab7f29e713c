"""`Sensitivity`: what if something is unmeasured?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from alldags import checks
from alldags.assumptions.hidden import check_engine, check_order, check_rows, checked_hits, checked_share
from alldags.effects.hidden.analysis import HiddenAnalysis, analyse
from alldags.effects.hidden.given import effect_given
from alldags.effects.hidden.records import Benchmark, Robustness, SensitivityAnswer, answer
from alldags.effects.hidden.strength import Direction, Strength
from alldags.effects.hidden.strengths import (
    bias_factor,
    correlation,
    equal_share,
    factor_of_correlation,
    odds_of_share,
)
from alldags.effects.hidden.weighted import WeightedDraws, pooled
from alldags.effects.influence import edge_probability
from alldags.effects.outcome import check_level
from alldags.errors import AlldagsError, AlldagsWarning, did_you_mean
from alldags.results.representer import check_represented, is_straight, represented_analysis, treatment_scale
from alldags.show.json import hidden_dict
from alldags.show.numbers import to_precision
from alldags.show.sensitivity import SensitivitySummary, sensitivity_text, whole_share
from alldags.show.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.results.effect import Effect

_SHOWN = ("r2_treatment", "r2_outcome", "mean", "low", "high", "probability_positive")
_COLUMNS = (
    "r2_treatment", "r2_outcome", "bias_factor", "rho", "mean", "low", "high", "probability_positive",
    "probability_no_direct_effect",
)  # fmt: skip


_WAYS: dict[Direction, str] = {
    "against": "the hidden cause has pushed the estimate away from zero",
    "along": "the hidden cause has pushed the estimate towards zero",
    "positive": "the hidden cause acts on treatment and outcome in the same direction",
    "negative": "the hidden cause acts on treatment and outcome in opposite directions",
}
_NEXT_TO_NONE = 1e-6  # a bias factor
_FAR = 0.25  # standard deviations that an answer may jump without a word


class Sensitivity:
    """What an effect would be if an unmeasured common cause acted on treatment and outcome. From `Effect.sensitivity`.

    The regressions are drawn once; every strength is arithmetic on the same draws. Data say nothing about the strength:
    it is assumed, or has a prior that stays as it is.

    Parameters
    ----------
    effect
        The effect without a hidden cause.
    hits
        Variables that the hidden cause acts on; None for treatment and outcome.
    draws
        Number of draws.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> sensitivity = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").sensitivity()
    >>> round(sensitivity.robustness().value, 2), round(sensitivity.robustness(0.95).value, 2)
    (0.38, 0.31)
    >>> round(sensitivity.at(r2_treatment=0.1, r2_outcome=0.2).mean, 1)
    0.6
    """

    def __init__(self, effect: Effect, hits: Iterable[str] | None = None, draws: int = 20_000) -> None:
        self.effect = effect
        check_order(effect)
        self.hits = checked_hits(effect, hits)
        if not is_straight(effect):
            check_represented(effect, self.hits)
        self._size = checks.whole("draws", draws, least=100)
        check_engine(effect)
        check_rows(effect, self.hits)

    @cached_property
    def _analysis(self) -> HiddenAnalysis:
        effect = self.effect
        if not is_straight(effect):
            return represented_analysis(effect, self._size)
        names = (effect.treatment, effect.outcome)
        stream = effect.posterior.workings.stream()
        sign = -1 if effect.mean < 0 else 1
        found = analyse(effect.workings.models, names, self.hits[1:], self._size, stream, effect.workings.unit, sign)
        return found if effect.uncertainty.stretch is None else replace(found, wider=effect.uncertainty.stretch.factor)

    # -- one strength ------------------------------------------------------------------------------------------------

    def at(
        self,
        r2_treatment: float | None = None,
        r2_outcome: float | None = None,
        *,
        rho: float | None = None,
        shares: Mapping[str, float] | None = None,
        sign: Direction = "against",
        level: float = 0.95,
    ) -> SensitivityAnswer:
        """Return the effect, given the strength of the hidden cause.

        Parameters
        ----------
        r2_treatment, r2_outcome
            Shares that it explains of what covariates leave of the treatment, and of what covariates and treatment
            leave of the outcome; from 0 to below 1. Where the effect is no straight line with normal noise, the first
            is ``1 - R2`` of the representer, so that ``C_D^2 = r2_treatment / (1 - r2_treatment)``: of a yes/no
            treatment, the share of the mean of ``1/(p (1 - p))`` that only the cause explains.
        rho
            In their place: the correlation of the errors of treatment and outcome, with its sign; for straight lines.
        shares
            In their place, for a cause that hits mediators, too: the share of each error, ``{name: share}``.
        sign
            ``"against"``: the hidden cause has pushed the estimate away from zero; ``"along"``: towards it;
            ``"positive"``, ``"negative"``: up or down. Not used with `rho`, which has a sign of its own.
        level
            Of the interval.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> sensitivity = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").sensitivity()
        >>> answer = sensitivity.at(r2_treatment=0.3, r2_outcome=0.3)
        >>> answer.low < answer.mean < answer.high
        True
        """
        check_level(level)
        checks.one_of("sign", sign, get_args(Direction))
        if shares is not None or rho is not None:
            self._check_straight("at(shares={...}) and at(rho=...)", "at(r2_treatment=..., r2_outcome=...)")
        if shares is not None:
            return self._at_shares(shares, sign, level, (r2_treatment, r2_outcome, rho))
        self._check_simple("at(r2_treatment=..., r2_outcome=...) and at(rho=...)", "at(shares={...})")
        if rho is not None:
            if r2_treatment is not None or r2_outcome is not None:
                raise AlldagsError("give rho, or r2_treatment and r2_outcome, not both")
            signed = float(factor_of_correlation(checks.inside("rho", rho, -1, 1)))
            return self._at_factor(signed, level)
        if r2_treatment is None or r2_outcome is None:
            raise AlldagsError(
                "say how strong the hidden cause is: at(r2_treatment=0.1, r2_outcome=0.1), or at(rho=0.1)"
            )
        r2x, r2y = checked_share("r2_treatment", r2_treatment), checked_share("r2_outcome", r2_outcome)
        factor = float(bias_factor(r2x, r2y))
        return self._at_factor(self._analysis.factor_sign(sign) * factor, level, r2x, r2y)

    @property
    def _sign(self) -> int:
        return -1 if self.effect.mean < 0 else 1

    def _at_factor(
        self, factor: float, level: float, r2x: float | None = None, r2y: float | None = None
    ) -> SensitivityAnswer:
        strength = (r2x, r2y, abs(factor), self._correlation(factor))
        if factor == 0.0:
            return self._ordinary(level, strength)
        return answer(self._analysis.at_factor(factor), level, *strength)

    def _correlation(self, factor: float) -> float | None:
        """Return the correlation of both errors; None where they are not what the strength is about."""
        return float(correlation(factor)) if is_straight(self.effect) else None

    def _at_shares(
        self, shares: Mapping[str, float], sign: Direction, level: float, others: Sequence[object]
    ) -> SensitivityAnswer:
        if any(value is not None for value in others):
            raise AlldagsError("give shares, or r2_treatment and r2_outcome, or rho; only one of them")
        if set(shares) != set(self.hits):
            raise AlldagsError(f"shares must name what the hidden cause hits, {list(self.hits)}, got {list(shares)}")
        checked = {name: checked_share(f"the share of {name!r}", value) for name, value in shares.items()}
        if checked[self.effect.treatment] == 0.0 or not any(checked[name] for name in self.hits[1:]):
            return self._ordinary(level, ())
        return answer(self._analysis.at_shares(checked, sign), level)

    def _ordinary(self, level: float, strength: tuple[float | None, ...]) -> SensitivityAnswer:
        """Return the answer without hidden cause: the effect itself."""
        effect = self.effect
        low, high = effect.interval(level)
        return SensitivityAnswer(
            effect.mean, effect.sd, level, low, high, effect.probability.positive, self._no_direct, *strength
        )

    @cached_property
    def _no_direct(self) -> float | None:
        effect = self.effect
        if effect.uncertainty.structure is None:
            return None
        edge = (effect.treatment, effect.outcome)
        return 1.0 - effect.workings.models.average(lambda model: edge_probability(model, edge))

    # -- how strong it would have to be ------------------------------------------------------------------------------

    def robustness(self, level: float | None = None, target: float = 0.0) -> Robustness:
        """Return how strong a hidden cause would have to be to bring the answer to `target`.

        Parameters
        ----------
        level
            None: for the mean; for example 0.95: for that interval to reach `target`.
        target
            In the user's units.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> sensitivity = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").sensitivity()
        >>> bool(sensitivity.robustness(0.95).value < sensitivity.robustness().value)
        True
        """
        target = checks.finite("target", target)
        if level is not None:
            check_level(level)
        strength = self._first(level, target)
        if not self._analysis.is_simple:
            return Robustness(min(strength, 1.0), None, None, level, target)
        if math.isinf(strength):
            return Robustness(1.0, math.inf, self._correlation(1e9), level, target)
        return Robustness(equal_share(strength), strength, self._correlation(strength), level, target)

    def _first(self, level: float | None, target: float) -> float:
        """Return the least strength that suffices."""
        direction = 1 if self.effect.mean >= target else -1

        def reached(draws: WeightedDraws) -> bool:
            if level is None:
                return direction * (draws.mean - target) <= 0
            beyond = 1.0 - (draws.above(target) if direction > 0 else draws.below(target))
            return beyond >= (1 - level) / 2

        if level is not None and self._holds_already(level, target):
            return 0.0
        return self._analysis.first_strength(reached, direction)

    def _holds_already(self, level: float, target: float) -> bool:
        low, high = self.effect.interval(level)
        return low <= target <= high

    # -- as strong as a covariate ------------------------------------------------------------------------------------

    @property
    def covariates(self) -> tuple[str, ...]:
        """Measured covariates that a hidden cause can be compared with, possible causes of treatment and outcome."""
        return self._analysis.covariates

    def benchmark(
        self,
        covariate: str,
        times: float = 1.0,
        times_outcome: float | None = None,
        selected: bool = True,
        level: float = 0.95,
        sign: Direction = "against",
    ) -> Benchmark:
        """Return the effect, given a hidden cause as strong as a measured covariate.

        Parameters
        ----------
        covariate
            Its name, one of `covariates`.
        times, times_outcome
            How many times as strong on treatment and outcome; the second is the first if not given.
        selected
            True: averaged over graphs in which the covariate may be absent and so explain nothing. False: as if every
            candidate edge existed, which is more cautious.
        level
            Of the interval.
        sign
            As for `at`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> sensitivity = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").sensitivity()
        >>> strong = sensitivity.benchmark("age")
        >>> round(strong.r2_treatment, 2), round(strong.r2_outcome, 2)
        (0.05, 0.08)
        """
        self._check_simple("benchmark()", "at(shares={...})")
        check_level(level)
        checks.one_of("sign", sign, get_args(Direction))
        way = self._analysis.factor_sign(sign)
        self._check_covariate(covariate)
        times = checks.positive("times", times)
        times_outcome = times if times_outcome is None else checks.positive("times_outcome", times_outcome)
        analysis = self._analysis
        found = [
            (share, analysis.bounds(model, covariate, times, times_outcome, checks.flag("selected", selected)))
            for share, model in analysis.models
            if model.nodes
        ]
        bounds = iter(pair for _, pair in found)
        draws = analysis.at_factors(lambda model: way * bias_factor(*next(bounds)) if model.nodes else 0.0)
        r2x, r2y = (
            pooled([(s, WeightedDraws(pair[i], np.full(len(pair[i]), 1 / len(pair[i])))) for s, pair in found])
            for i in (0, 1)
        )
        factor = sum(s * float(bias_factor(*pair).mean()) for s, pair in found)
        return Benchmark(
            covariate, times, times_outcome, r2x.mean, r2y.mean, r2x.quantile(0.95), r2y.quantile(0.95), factor,
            answer(draws, level),
        )  # fmt: skip

    def _check_covariate(self, name: object) -> None:
        if name not in self.covariates:
            hint = did_you_mean(str(name), self.covariates)
            raise AlldagsError(
                f"{name!r} is not a measured covariate that {self.effect.treatment!r} and {self.effect.outcome!r} share"
                f"{hint}; known: {', '.join(map(repr, self.covariates)) or 'none'}"
            )

    @cached_property
    def strongest(self) -> tuple[str, float, float] | None:
        """The covariate that would bias most, were it hidden, with what it explains of treatment and outcome."""
        if not self._analysis.is_simple or not self.covariates:
            return None
        found = {name: self._analysis.bound_means(name) for name in self.covariates}
        name = max(found, key=lambda key: found[key][2])
        return name, found[name][0], found[name][1]

    # -- many strengths ----------------------------------------------------------------------------------------------

    def table(
        self,
        r2_treatment: Sequence[float] | None = None,
        r2_outcome: Sequence[float] | None = None,
        level: float = 0.95,
        sign: Direction = "against",
    ) -> Table:
        """Return the effect for every pair of strengths, as a long table.

        Parameters
        ----------
        r2_treatment, r2_outcome
            Shares; by default six up to one half, or further if the estimate stands more.
        level
            Of the interval.
        sign
            As for `at`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> sensitivity = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk").sensitivity()
        >>> len(sensitivity.table()), list(sensitivity.table([0.1], [0.1, 0.2]).columns)[:4]
        (36, ['r2_treatment', 'r2_outcome', 'bias_factor', 'rho'])
        """
        xs = self._default_grid if r2_treatment is None else r2_treatment
        ys = self._default_grid if r2_outcome is None else r2_outcome
        answers = [self.at(x, y, level=level, sign=sign) for x in xs for y in ys]
        return Table({name: [getattr(one, name) for one in answers] for name in _COLUMNS})

    @cached_property
    def _default_grid(self) -> tuple[float, ...]:
        top = min(max(0.5, 1.5 * equal_share(self._rough_factor)), 0.95)
        return tuple((top * np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.0])).round(3).tolist())

    @cached_property
    def _rough_factor(self) -> float:
        """About the bias factor that brings the mean to zero."""
        means = [(share, *model.parts()) for share, model in self._analysis.models if model.nodes]
        after = sum(share * float(b[self.effect.outcome].mean()) for share, _, b in means)
        return abs(sum(share * float(a.mean()) for share, a, _ in means) / after) if after else 0.0

    def given(
        self, strength: Strength, level: float = 0.95, identify: Literal["instruments"] | None = None
    ) -> SensitivityAnswer:
        """Return the effect under a prior of the hidden cause's strength.

        Parameters
        ----------
        strength
            The prior, and how probable it is that there is such a cause at all.
        level
            Of the interval.
        identify
            None: the data do not change what is believed about the cause. ``"instruments"``: they do, through
            covariates that drive the treatment and have no edge to the outcome; the bias factor then has a normal prior
            with the second moment that `strength` gives it. Where no covariate is such an instrument, the answer is
            confidently wrong; a warning says so. Deprecated: declare instruments with `CandidateGraph.instrument`, and
            what may be hidden with `CandidateGraph.with_hidden`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> wider = effect.sensitivity().given(ad.Strength(r2_treatment="age", r2_outcome="age"))
        >>> wider.sd > effect.sd
        True
        """
        check_level(level)
        if identify is not None:
            checks.one_of("identify", identify, ("instruments",))
            return self._identified(strength, level)
        draws = self._draws_given(strength)
        return answer(draws, level, None, None, None, None, strength.probability)

    def _identified(self, strength: Strength, level: float) -> SensitivityAnswer:
        """Return the effect after asking the data about the hidden cause."""
        from alldags.effects.hidden.structural import identify

        self._check_strength(strength)
        self._check_straight("identify='instruments'", "given(strength) without it")
        self._check_simple("identify='instruments'", "given(strength) without it")
        if any(isinstance(value, str) for value in strength.stated.values()) or not 0 < strength.probability < 1:
            raise AlldagsError(
                "identify='instruments' needs Strength(...) with numbers or ranges, and a probability between 0 and 1"
            )
        effect, stream = self.effect, self.effect.posterior.workings.stream().spawn(1)[0]
        names = (effect.treatment, effect.outcome)
        found = identify(effect.workings.models, names, strength.probability, strength.factor_variance, stream)
        warnings.warn(
            f"the data were asked whether a hidden cause acts on {names[0]!r} and {names[1]!r} (before: "
            f"{strength.probability:.0%}, after: {found.probability:.0%}): they answer only if some covariate drives "
            f"{names[0]!r} and has no edge to {names[1]!r}; if none is such an instrument, the answer is confidently "
            "wrong. identify= is deprecated: declare what is an instrument, graph.instrument(...), and what may be "
            "hidden, graph.with_hidden(...)",
            AlldagsWarning,
            stacklevel=3,
        )
        return answer(found.draws.scaled(effect.workings.unit), level, None, None, None, None, found.probability)

    def _draws_given(self, strength: Strength) -> WeightedDraws:
        self._check_strength(strength)
        ordinary = self.effect.uncertainty.sample
        atoms = WeightedDraws(ordinary.draws, np.full(len(ordinary.draws), 1 / len(ordinary.draws)), self._no_direct)
        if strength.probability == 0.0:
            return atoms
        stream = self.effect.posterior.workings.stream().spawn(1)[0]
        hidden = effect_given(self._analysis, strength, stream)
        return pooled([(1.0 - strength.probability, atoms), (strength.probability, hidden)])

    def _check_strength(self, strength: Strength) -> None:
        checks.kind("strength", strength, (Strength,))
        if strength.shares is not None:
            self._check_straight("Strength(shares={...})", "Strength(r2_treatment=..., r2_outcome=...)")
            if set(strength.shares) != set(self.hits):
                raise AlldagsError(
                    f"Strength shares must name what the hidden cause hits, {list(self.hits)}, got "
                    f"{list(strength.shares)}"
                )
            return
        self._check_simple("Strength(r2_treatment=..., r2_outcome=...)", "Strength(shares={...})")
        for value in strength.stated.values():
            if isinstance(value, str):
                self._check_covariate(value)

    # -- showing -----------------------------------------------------------------------------------------------------

    def summary(self, level: float = 0.95) -> SensitivitySummary:
        """Return how strong a hidden cause would have to be, as plain numbers and names."""
        found = self._record(level, self.strongest)
        if found.covariate is None:
            return found
        same = self._as_covariate(found.covariate, level, "positive")
        return replace(
            found,
            same_direction=same,
            opposite_directions=self._as_covariate(found.covariate, level, "negative"),
        )

    def _as_covariate(self, name: str, level: float, sign: Direction) -> tuple[float, float, float]:
        """Return the effect and its interval, given a cause as strong as a covariate."""
        found = self.benchmark(name, level=level, sign=sign).answer
        return found.mean, found.low, found.high

    def brief(self, level: float = 0.95) -> SensitivitySummary:
        """Return the same in short: the strongest covariate only where the interval does not hold zero as it is."""
        return self._record(level, None if self._holds_already(level, 0.0) else self.strongest)

    def _record(self, level: float, strongest: tuple[str, float, float] | None) -> SensitivitySummary:
        mean, ends = self.robustness().value, self.robustness(level).value
        return SensitivitySummary(
            treatment=self.effect.treatment,
            outcome=self.effect.outcome,
            hits=self.hits,
            level=level,
            share_mean=mean,
            share_interval=ends,
            covariate=strongest and strongest[0],
            covariate_treatment=strongest and strongest[1],
            covariate_outcome=strongest and strongest[2],
            treatment_scale=treatment_scale(self.effect),
            mean=self.effect.mean,
            mean_above_zero=self._mean_above_zero,
            odds_mean=self._odds(mean),
            odds_interval=self._odds(ends),
            covariate_odds=strongest and self._odds(strongest[1]),
        )

    def _odds(self, share: float) -> float | None:
        """Return by how much a cause of this strength changes the odds of a yes/no treatment; None for others."""
        if treatment_scale(self.effect) != "inverse odds":
            return None
        look = self.effect.posterior.workings.data.look(self.effect.treatment)
        low, high = look.two_values or (0.0, 1.0)
        return odds_of_share(share, (look.mean - low) / (high - low))

    @cached_property
    def _mean_above_zero(self) -> float | None:
        """The mean under a cause of next to no strength, where that is not the effect without one; else None."""
        if not self._analysis.is_simple:
            return None
        mean = self._analysis.at_factor(self._sign * _NEXT_TO_NONE).mean
        return mean if abs(mean - self.effect.mean) > _FAR * self.effect.sd else None

    def benchmarks(self, level: float = 0.95, sign: Direction = "against") -> Table:
        """Return the effect, given a hidden cause as strong as each measured covariate, strongest first.

        Parameters
        ----------
        level
            Of the interval.
        sign
            As for `at`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> effect = ad.fit(study.table, study.graph, terms=None, rng=0).effect("smoking", "risk")
        >>> effect.sensitivity().benchmarks()["as strong as"][0]
        'age'
        """
        found = sorted(
            (self.benchmark(name, level=level, sign=sign) for name in self.covariates), key=lambda b: -b.bias_factor
        )
        columns: dict[str, list[Any]] = {
            "as strong as": [one.covariate for one in found],
            "r2_treatment": [one.r2_treatment for one in found],
            "r2_outcome": [one.r2_outcome for one in found],
            "mean": [one.answer.mean for one in found],
            "low": [one.answer.low for one in found],
            "high": [one.answer.high for one in found],
        }
        return Table(columns, note=_WAYS[sign])

    def text(self, level: float = 0.95) -> str:
        """Return the answer in words, what covariates of the same strength would do, and a grid of strengths.

        The grid only where the interval does not hold zero as it is: it is about what would bring it there.
        """
        parts = [sensitivity_text(self.summary(level))]
        if self._analysis.is_simple and self.covariates:
            parts.append(str(self._both_ways(level)))
        if self._analysis.is_simple and not self._holds_already(level, 0.0):
            grid = self.table(level=level)
            parts.append(str(Table({name: grid[name] for name in _SHOWN}, note=_WAYS["against"])))  # fits a terminal
        return "\n\n".join(parts)

    def _both_ways(self, level: float) -> Table:
        """Return the benchmarks in both directions side by side."""
        same, opposite = (self.benchmarks(level, sign) for sign in ("positive", "negative"))
        shares = {"treatment": same["r2_treatment"], "outcome": same["r2_outcome"]}
        return Table(
            {
                "as strong as": list(same["as strong as"]),
                **{of: [whole_share(share).replace("less than ", "<") for share in shares[of]] for of in shares},
                "same direction": [self._ends(row) for row in same.rows()],
                "opposite directions": [self._ends(row) for row in opposite.rows()],
            },
            note=f"the effect if a hidden cause, as strong, acts on {self.effect.treatment} and {self.effect.outcome} "
            "in the same direction, or in opposite ones",
        )

    def _ends(self, row: Mapping[str, float]) -> str:
        mean, low, high = (to_precision(row[name], self.effect.sd) for name in ("mean", "low", "high"))
        return f"{mean} ({low} to {high})"

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the analysis as plain numbers, as printed by ``alldags effect --sensitivity --json``."""
        simple = self._analysis.is_simple
        return {
            **hidden_dict(self.summary(level)),
            "benchmarks": list(self.benchmarks(level).rows()) if simple else [],
            "table": list(self.table(level=level).rows()) if simple else [],
        }

    def plot(self, ax: Axes | None = None, level: float = 0.95) -> Axes:
        """Draw contours of the mean over the two shares, where the interval reaches zero, and benchmarks.

        Needs the extra ``plot``.
        """
        from alldags.show.plots.sensitivity import plot_sensitivity

        self._check_simple("plot()", "at(shares={...})")
        top = self._default_grid[-1]
        marks = {name: self._analysis.bound_means(name)[:2] for name in self.covariates}
        grid = np.linspace(0.0, top, 101)
        factors = bias_factor(grid[None, :], grid[:, None])
        knots = np.linspace(0.0, float(factors.max()), 100)
        means = [self._at_factor(self._sign * value, level).mean for value in knots.tolist()]
        surface = np.interp(factors, knots, means)
        edge = self.robustness(level).bias_factor
        of_treatment = self.brief(level).of_treatment
        return plot_sensitivity(self.effect.summary(level), grid, surface, factors, edge, marks, of_treatment, ax)

    def __str__(self) -> str:
        return sensitivity_text(self.summary())

    def __repr__(self) -> str:
        return f"Sensitivity({self.effect.treatment!r} -> {self.effect.outcome!r}, hits {list(self.hits)})"

    # -- checks ------------------------------------------------------------------------------------------------------

    def _check_straight(self, what: str, instead: str) -> None:
        if not is_straight(self.effect):
            raise AlldagsError(
                f"{what} is about errors of straight lines with normal noise, which this effect is not made of: use "
                f"{instead}"
            )

    def _check_simple(self, what: str, instead: str) -> None:
        if not self._analysis.is_simple:
            raise AlldagsError(
                f"{what} is for a hidden cause of treatment and outcome alone; this one hits {list(self.hits)}: "
                f"use {instead}"
            )
