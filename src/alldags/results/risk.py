"""`RiskEffect`: the posterior of an effect where a node on the way is not normal, such as a difference of risks."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import checks
from alldags.effects.comparison import Comparison, chosen_rows, natural_comparison, some_levels
from alldags.effects.controls import controlled_mean, shared_variance
from alldags.effects.link_check import LinkCheck, link_check
from alldags.effects.new_unit import NewUnit, OutcomeDraws, YesNoOutcome
from alldags.effects.push import Samples
from alldags.effects.response import Outcomes, Response, Units
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.memory import check_memory
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.results.contrast import Contrast, contrast_of_rows
from alldags.results.data_notes import range_note
from alldags.results.effect import Effect
from alldags.results.intervention import Intervention
from alldags.results.other_scales import LinkEffect, StraightEffect, computed_words, not_normal
from alldags.results.quantity import Quantity
from alldags.results.risk_tables import influence_of_edges, loss_without_mediators
from alldags.results.sample import AtomicSample
from alldags.results.treatment_values import treatment_value, treatment_values
from alldags.show.summary import Ratio
from alldags.show.table import Table
from alldags.typing import FloatArray, RandomSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alldags.data.batches import RowTable
    from alldags.effects.direct import DirectEffect
    from alldags.results.posterior import Posterior
    from alldags.results.sensitivity import Sensitivity

_VALUES = 1e7  # rows times draws behind intervals
_LEAST, _MOST = 1000, 4000  # draws
_PAIRS = 600  # pairs of draws behind the share of the graph in the spread
_CHECKED = 500  # draws behind the answer without the link, to which this one is compared
_MOST_ROWS = 20_000  # that are pushed; of more a random part
_MIXED = (
    "paths do not multiply through a yes/no variable or a count ({names}); see mediators() for what would be lost if "
    "one of them did not respond"
)


class RiskEffect(Effect):
    """Posterior of a difference of risks (or mean counts), marginal over rows, averaged over all candidate graphs.

    What `Posterior.effect` returns if the outcome, or a variable on the way to it, is yes/no or a count. A treatment
    with the values 0 and 1 is set to 1 and to 0 in every row; any other is raised by one unit from each row's own
    value, unless `contrast` says otherwise.

    Parameters
    ----------
    posterior, treatment, outcome
        As for `Effect`.
    over
        Rows to average over: ``"sample"``, ``"population"`` (adds that the rows are a sample), ``"treated"``,
        ``"untreated"``, or one truth value per row.
    contrast
        Two values of the treatment; None for the natural ones.
    linked
        Whether edges are linked to those into the treatment.
    most_draws
        Of the draws that rows are pushed with.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> rng = np.random.default_rng(0)
    >>> age, treated = rng.standard_normal(400), rng.integers(0, 2, 400)
    >>> death = rng.random(400) < 1 / (1 + np.exp(1 - age + treated))
    >>> graph = ad.CandidateGraph.from_edges({("age", "death"): 0.5, ("treated", "death"): 1.0})
    >>> effect = ad.fit({"age": age, "treated": treated, "death": death}, graph, rng=0).effect("treated", "death")
    >>> effect.measure, bool(effect.risk_ratio.median < 1)
    ('risk', True)
    """

    def __init__(
        self,
        posterior: Posterior,
        treatment: str,
        outcome: str,
        over: Any = "sample",
        contrast: Comparison | None = None,
        linked: bool = True,
        most_draws: int = _MOST,
    ) -> None:
        self._most_draws = most_draws
        self._linked = linked
        super().__init__(posterior, treatment, outcome, over=over)
        self._chosen = chosen_rows(over, treatment, self._table)
        self._contrast = natural_comparison(some_levels(self._table, treatment)) if contrast is None else contrast

    @property
    def _models(self) -> Mixture[FittedGraph]:
        return self.posterior._linked_models(self.treatment) if self._linked else self.posterior._models

    @cached_property
    def _table(self) -> RowTable:
        return next(iter(self.posterior._data.families.values())).table

    @property
    def measure(self) -> str:  # type: ignore[override]
        """What the effect is a difference of: ``"risk"``, ``"rate"`` (mean counts) or ``"mean"``."""
        rows = self.posterior._data.families.get(self.outcome)
        return "mean" if rows is None else rows.family.measure

    def between(self, low: float | str, high: float | str) -> RiskEffect:
        """Return the effect of changing the treatment from `low` to `high` in every row."""
        found = Comparison(*treatment_values(self, [low, high]))
        return RiskEffect(self.posterior, self.treatment, self.outcome, self._over, found, self._linked)

    def contrast(self, start: float | str, stop: float | str, level: float = 0.95) -> Contrast:
        """Return what changing the treatment from `start` to `stop` in every row does to the risk (mean)."""
        return contrast_of_rows(self.between(start, stop), treatment_values(self, [start, stop]), level)

    def standardized(self, level: float = 0.95) -> Contrast:
        """Refused: a difference of risk has no other unit."""
        del level
        if not self.has_paths:
            raise AlldagsError(
                "an effect through a yes/no variable or a count has no one size per standard deviation; use "
                "contrast(start, stop)"
            )
        raise AlldagsError(
            "a difference of risk is not standardized; use effect.log_odds.standardized(), on the log-odds"
        )

    @property
    def direct(self) -> DirectEffect:
        """Refused: a difference of risk is no sum of a direct and an indirect part; see `mediators`."""
        other = ", or effect.log_odds.direct" if self.has_paths else ""
        raise AlldagsError(f"an effect through rows is no sum of direct and mediated parts; see mediators(){other}")

    _no_curves = "for a yes/no outcome or a count ask for the rows that you mean, posterior.effect(..., over=rows)"

    # -- draws -------------------------------------------------------------------------------------------------------

    @cached_property
    def _responses(self) -> Mixture[Response]:
        return self._totals.map(self._response)

    def _response(self, total: TotalEffect) -> Response:
        return Response(total.model, total.span, self._table, self._pushed_rows)

    @cached_property
    def _pushed_rows(self) -> Any:
        """Rows that are pushed: those chosen, and of very many a random part."""
        count = int(self._table.columns.rows if self._chosen is None else self._chosen.sum())
        if count <= _MOST_ROWS:
            return self._chosen
        total = len(self._table.column(self.treatment))
        places = np.arange(total) if self._chosen is None else np.flatnonzero(self._chosen)
        picked = self.posterior._stream().choice(places, _MOST_ROWS, replace=False)
        mask = np.zeros(total, dtype=bool)
        mask[picked] = True
        return mask

    @cached_property
    def _rows_used(self) -> float:
        return float(self.posterior.rows if self._pushed_rows is None else self._pushed_rows.sum())

    @cached_property
    def _size(self) -> int:
        return int(min(max(_VALUES / self._rows_used, _LEAST), _MOST, self._most_draws))

    @cached_property
    def _samples(self) -> Samples | None:
        """Draws of all nodes, where there is one model only."""
        if len(self._responses.items) > 1:
            return None
        return self._responses.items[0].sample(self._size, self.posterior._stream().spawn(1)[0])

    @cached_property
    def _outcomes(self) -> Outcomes:
        """Mean outcomes under both values of the treatment, behind all that is said about the effect."""
        return self._push(self._size, self.posterior._stream())

    def _push(self, size: int, rng: np.random.Generator) -> Outcomes:
        if self._samples is not None and size == self._size:
            return self._responses.items[0].outcomes(self._samples, self._contrast)
        return Outcomes(*self._responses.draw(size, rng, self._stacked))

    def _stacked(self, response: Response, size: int, rng: np.random.Generator) -> FloatArray:
        return self._at(response, self._contrast, size, rng)

    def _at(self, response: Response, contrast: Comparison, size: int, rng: np.random.Generator) -> FloatArray:
        """Return mean outcomes in one graph, as `Outcomes.stacked`; those of the rows where no path leads to them."""
        if response.span.variables:
            return response.outcomes(response.sample(size, rng), contrast).stacked()
        values = self._own_outcomes
        spread = values.var() / len(values) if contrast.is_level else 0.0
        return np.tile(np.array([[values.mean()], [values.mean()], [spread]]), size)

    @cached_property
    def _own_outcomes(self) -> FloatArray:
        """The outcome of the rows asked about as it is, shape (rows,)."""
        values = self._table.column(self.outcome)
        return values if self._chosen is None else values[self._chosen]

    def draws(self, size: int = 4000, rng: RandomSource = None) -> FloatArray:
        """Return draws of the difference from the posterior, shape (size,); exact zeros where there is no path."""
        size = checks.whole("size", size, least=1)
        if rng is None and size == self._size:
            return self._differences(self._outcomes, self.posterior._stream())
        generator = self.posterior._stream() if rng is None else np.random.default_rng(rng)
        pushed = Outcomes(*self._responses.draw(size, generator, self._stacked))
        return self._differences(pushed, generator)

    def _differences(self, pushed: Outcomes, rng: np.random.Generator) -> FloatArray:
        """Return draws of the difference; for a population, with the chance by which it has these rows."""
        found = pushed.difference
        if self.over != "population":
            return found
        noise = rng.standard_normal(len(found)) * np.sqrt(pushed.spread)
        return np.asarray(np.where(found == 0.0, 0.0, found + noise))

    @cached_property
    def _values(self) -> FloatArray:
        return self._differences(self._outcomes, self.posterior._stream())

    @cached_property
    def sample(self) -> AtomicSample:
        exact = self._exact_no_path
        atom = float(np.mean(self._values == 0.0)) if exact is None else exact
        return AtomicSample(self._values, atom, self._set_draws)

    # -- moments -----------------------------------------------------------------------------------------------------

    @cached_property
    def _controlled(self) -> tuple[float, float]:
        """Posterior mean and its Monte-Carlo error."""
        worth = min(len(self._outcomes.low), self._set_draws)
        mean, error = controlled_mean(self._outcomes.difference, self._samples, worth)
        left_out = 0.0
        if self._rows_used < self.posterior.rows and self._chosen is None:
            left_out = float(self._outcomes.spread.mean()) * (1.0 - self._rows_used / self.posterior.rows)
        return mean, math.sqrt(error**2 + left_out)

    @cached_property
    def mean(self) -> float:
        return self._controlled[0]

    @property
    def _plain_mean(self) -> float:
        return self.mean

    @property
    def _plain_sd(self) -> float:
        return self.sd

    @cached_property
    def mean_error(self) -> float:
        return self._controlled[1]

    @cached_property
    def mean_bound(self) -> float:
        return 0.0

    @cached_property
    def sd(self) -> float:
        return float(self._values.std(ddof=1))

    @cached_property
    def sd_structure(self) -> float | None:
        """The part of `sd` that comes from not knowing the graph; from pairs of draws that share their graph."""
        if not self._has_structure:
            return None
        return min(math.sqrt(max(self._shared_variance, 0.0)), self.sd)

    @property
    def _shared_variance(self) -> float:
        """Covariance of pairs of draws that share their graph."""
        rng = self.posterior._stream()
        if self._samples is None:
            first, second = self._responses.draw(_PAIRS, rng, self._pairs)
            return float(np.cov(first, second)[0, 1])
        size = min(_PAIRS, self._size)
        samples = {name: sample.first(size) for name, sample in self._samples.items()}
        partners = {name: sample.partner(rng) for name, sample in samples.items()}
        others = self._responses.items[0].outcomes(partners, self._contrast).difference
        return shared_variance(samples, partners, self._outcomes.difference[:size], others)

    def _pairs(self, response: Response, size: int, rng: np.random.Generator) -> FloatArray:
        """Return differences of pairs of draws with the same parent sets, shape (2, size)."""
        if not response.span.variables:
            return np.zeros((2, size))
        own, other = rng.spawn(2)
        samples = response.sample(size, own)
        partners = {name: sample.partner(other) for name, sample in samples.items()}
        return np.array([response.outcomes(item, self._contrast).difference for item in (samples, partners)])

    # -- other measures ------------------------------------------------------------------------------------------------

    @cached_property
    def risks(self) -> tuple[Quantity, Quantity]:
        """Mean outcome under the lower and the higher value of the treatment."""
        return Quantity(self._outcomes.low), Quantity(self._outcomes.high)

    @cached_property
    def risk_ratio(self) -> Quantity:
        """Ratio of the two risks (mean counts); look at the median, its mean may be huge where a risk is near 0."""
        self._check_ratio("risk_ratio")
        return Quantity(self._outcomes.high / np.maximum(self._outcomes.low, 1e-300))

    @cached_property
    def odds_ratio(self) -> Quantity:
        """Marginal odds ratio of the two risks; it is not the exponential of a coefficient."""
        if self.measure != "risk":
            raise AlldagsError(f"an odds ratio needs a yes/no outcome, {self.outcome!r} is none; use effect.mean")
        low, high = self._outcomes.low, self._outcomes.high
        return Quantity(high * (1.0 - low) / np.maximum(low * (1.0 - high), 1e-300))

    def _check_ratio(self, name: str) -> None:
        if self.measure == "mean":
            raise AlldagsError(f"{name} needs a yes/no outcome or a count, {self.outcome!r} is none: use effect.mean")

    @cached_property
    def log_odds(self) -> LinkEffect:
        """The total effect on the log-odds (of a count, the log rate): exact moments, paths and all.

        Only where all variables between treatment and outcome are normal.
        """
        self._check_normal_mediators()
        if self.measure == "mean":
            raise AlldagsError(
                f"log_odds needs an outcome that is yes/no or a count, {self.outcome!r} is neither: use effect.mean"
            )
        return LinkEffect(self.posterior, self.treatment, self.outcome, over=self._over)

    @property
    def log_rate(self) -> LinkEffect:
        """`log_odds` under the name it has for counts."""
        return self.log_odds

    def _check_normal_mediators(self) -> None:
        if self._mixed:
            raise AlldagsError(_MIXED.format(names=", ".join(self._mixed)))

    @cached_property
    def _mixed(self) -> tuple[str, ...]:
        """The variables between treatment and outcome that are not normal."""
        return tuple(sorted({name for response in self._responses.items for name in response.mediators}))

    @property
    def has_paths(self) -> bool:  # type: ignore[override]
        """Whether the effect is a sum of products along paths on the scale of the outcome's regression."""
        return self.measure != "mean" and not self._mixed

    @property
    def has_influence(self) -> bool:  # type: ignore[override]
        """Whether `edge_influence` can be asked: of a single graph, and an engine that averages over parent sets."""
        return self._samples is not None and self._has_structure

    # -- why -----------------------------------------------------------------------------------------------------------

    def paths(self, limit: int = 50) -> Table:
        """Return the paths on the log-odds (log rate) scale, on which they add up; see `log_odds`."""
        found = self.log_odds.paths(limit)
        return replace(found, note=f"on the {self.log_odds.measure} of {self.outcome}, where paths add up")

    def mediators(self) -> Table:
        """Return, for each variable in between, what of the effect would be lost if it did not respond.

        Rows overlap and do not add up. For a yes/no variable in between this supposes that one number per row decides
        its value under either treatment.
        """
        return loss_without_mediators(self._responses, self._contrast, self._size, self.posterior._stream())

    def edge_influence(self) -> Table:
        """Return what knowing each uncertain edge would do to the answer, most informative edge first."""
        if self._samples is None:
            raise AlldagsError(
                "edge_influence() of an effect through rows needs a single candidate graph: fit with one at a time"
            )
        if not self._has_structure:
            raise AlldagsError(
                "edge_influence needs an engine that averages over parent sets; use engine='auto' or 'exact'"
            )
        return influence_of_edges(self._outcomes.difference, self._samples, self.mean, self.sd)

    def do(self, x: float | str, draws_size: int | None = None) -> Intervention:
        """Return what the outcome would be if the treatment were set to `x`.

        `Intervention.mean` is the risk (mean count, mean) over the rows. A new unit's outcome is a one with that
        probability, or a count, or that of a random one of the rows.
        """
        value = treatment_value(self, x)
        size = self._size if draws_size is None else checks.whole("draws_size", draws_size, least=1)
        parents = sum(len(node.parents) for total in self._totals.items for node in total.nodes())
        check_memory(float(size) * (2 * parents + 8), f"{size:,} draws", "ask for fewer at a time")
        notes = range_note(self.posterior._data.seen, self.treatment, [value])
        average, unit = partial(self._average, value, size, notes), partial(self._new_unit, value, size, notes)
        return Intervention(self.treatment, self.outcome, value, self.over, average, unit, notes)

    def _average(self, x: float, size: int, notes: tuple[str, ...]) -> Quantity:
        rng, level = self.posterior._stream(), Comparison(x, x)
        found = Outcomes(*self._responses.draw(size, rng, lambda *asked: self._at(asked[0], level, *asked[1:])))
        chance = np.sqrt(found.spread) * rng.standard_normal(size) if self.over == "population" else 0.0
        return Quantity(np.asarray(found.low + chance), notes)

    def _new_unit(self, x: float, size: int, notes: tuple[str, ...]) -> NewUnit:
        if self.measure == "risk":
            return YesNoOutcome(x, float(self._average(x, size, ())), notes)
        units = Units(self._table, self._chosen, self.outcome, x)
        return OutcomeDraws(x, self._responses.draw(size, self.posterior._stream(), units.draws), notes)

    # -- showing -------------------------------------------------------------------------------------------------------

    def _summary_fields(self, level: float) -> dict[str, Any]:
        return {
            "contrast": self._contrast.values,
            "over": self.over,
            "levels": (self.risks[0].median, self.risks[1].median),
            "risk_ratio": None if self.measure == "mean" else _ratio(self.risk_ratio, level),
            "odds_ratio": _ratio(self.odds_ratio, level) if self.measure == "risk" else None,
            "not_normal": not_normal(self),
            "computed": computed_words(self),
            "mean_straight_line": self.straight_line.mean,
        }

    # -- checks --------------------------------------------------------------------------------------------------------

    @cached_property
    def link_check(self) -> LinkCheck:
        plain = RiskEffect(
            self.posterior, self.treatment, self.outcome, self._over, self._contrast, linked=False, most_draws=_CHECKED
        )
        names = link_check(self._totals, plain._totals, 1.0, 1.0).covariates
        same = all(
            one is other
            for total, twin in zip(self._totals.items, plain._totals.items, strict=True)
            for one, other in zip(total.nodes(), twin.nodes(), strict=True)
        )
        without = self.mean if same else plain.mean
        return LinkCheck(self.mean, without, (self.mean - without) / self.sd if self.sd > 0 else 0.0, names)

    def sensitivity(self, hits: Iterable[str] | None = None, draws: int = 20_000) -> Sensitivity:
        """Refused: what a hidden cause does to a risk is not worked out yet."""
        del hits, draws
        raise AlldagsError(
            "sensitivity to a hidden cause is about straight lines; fit with families='normal' to ask for it"
        )

    @cached_property
    def straight_line(self) -> Effect:
        """The answer with straight lines through zeros and ones, as ``families="normal"`` gives it."""
        return StraightEffect(self.posterior, self.treatment, self.outcome, over=self._over)

    @cached_property
    def _atom_draws(self) -> float:
        """As for every effect; what is certain has no Monte-Carlo error."""
        return math.inf if self._exact_no_path in (0.0, 1.0) else super()._atom_draws


def _ratio(quantity: Quantity, level: float) -> Ratio:
    return Ratio(quantity.median, *quantity.interval(level))
