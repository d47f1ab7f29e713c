"""What a hidden cause of given strength would make of an effect, averaged over all fitted models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from alldags.effects.hidden.build import hidden_model
from alldags.effects.hidden.model import HiddenModel
from alldags.effects.hidden.representer import RepresentedModel
from alldags.effects.hidden.strength import Direction
from alldags.effects.hidden.strengths import MOST, Number, benchmark_bounds, bias_factor
from alldags.effects.hidden.weighted import WeightedDraws, pooled
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.nodes.problem import NodeProblem
from alldags.typing import FloatArray

_LEAST_WEIGHT = 1e-4  # of a model that is drawn from
_LEAST_DRAWS = 200  # from each model
_SCAN = 24  # strengths looked at for the first that suffices
_HALVINGS = 30

DrawnModel: TypeAlias = HiddenModel | RepresentedModel
"""Draws of one model: of its regressions where all are straight lines, else of the effect and its representer."""


@dataclass(frozen=True, eq=False)
class HiddenAnalysis:
    """Draws of all fitted models, and the effect under any strength, in the user's units.

    Parameters
    ----------
    treatment, outcome, hits
        Names; `hits` without the treatment, causes first.
    models
        Draws of each model with its weight.
    unit
        User's units of the effect per working unit.
    sign
        Of the estimate: 1 or -1.
    categories
        The columns of covariates that are categories.
    wider
        How many times as wide the effect is as the model takes it for (`alldags.effects.jackknife`).
    """

    treatment: str
    outcome: str
    hits: tuple[str, ...]
    models: tuple[tuple[float, DrawnModel], ...]
    unit: float
    sign: int
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wider: float = 1.0

    @property
    def is_simple(self) -> bool:
        """Whether the hidden cause acts on treatment and outcome alone, so that one number says how strong it is."""
        return self.hits == (self.outcome,)

    def at_factor(self, factor: Number) -> WeightedDraws:
        """Return the effect under a bias factor; a positive one works against a positive effect."""
        return self.at_factors(lambda _: factor)

    def at_factors(self, factors: Callable[[DrawnModel], Number]) -> WeightedDraws:
        """Return the effect under bias factors that may differ from model to model, and from draw to draw."""
        found = pooled([(share, model.effect_of_factor(factors(model))) for share, model in self.models])
        return found.scaled(self.unit).stretched(self.wider)

    def at_shares(self, shares: Mapping[str, Number], sign: Direction) -> WeightedDraws:
        """Return the effect if the hidden cause explains these shares of the errors, every bias in one direction."""
        loads = self.signed_loadings(shares, sign)
        found = pooled([(share, model.effect(loads)) for share, model in self.models if isinstance(model, HiddenModel)])
        return found.scaled(self.unit).stretched(self.wider)

    def signed_loadings(self, shares: Mapping[str, Number], sign: Direction) -> dict[str, Number]:
        """Return loadings with these squares; the treatment's is positive."""
        loads: dict[str, Number] = {name: np.sqrt(np.minimum(value, MOST)) for name, value in shares.items()}
        return loads | {name: loads[name] * self._loading_sign(name, sign) for name in self.hits}

    def _loading_sign(self, name: str, sign: Direction) -> int:
        if sign in ("against", "along"):
            return self.factor_sign(sign) * self._bias_signs[name]
        return self.factor_sign(sign)

    def factor_sign(self, sign: Direction) -> int:
        """Return the sign of the bias: against a positive effect works a positive one, taken away."""
        return {"against": self.sign, "along": -self.sign, "positive": 1, "negative": -1}[sign]

    @cached_property
    def _bias_signs(self) -> dict[str, int]:
        """Sign of what a unit of bias in each hit node does to the effect."""
        totals = dict.fromkeys(self.hits, 0.0)
        for share, model in self.models:
            if model.nodes:
                for name, values in model.parts()[1].items():
                    totals[name] += share * float(values.mean()) * self.unit
        return {name: -1 if value < 0 else 1 for name, value in totals.items()}

    # -- how strong it would have to be ------------------------------------------------------------------------------

    def first_strength(self, reached: Callable[[WeightedDraws], bool], direction: int) -> float:
        """Return the least strength at which something holds; infinite if at none.

        The strength is the bias factor where that says all, otherwise the share of all errors.

        Parameters
        ----------
        reached
            What is to hold of the effect.
        direction
            1 if the bias to be taken away is positive, otherwise -1.
        """

        def at(strength: float) -> WeightedDraws:
            if self.is_simple:
                return self.at_factor(direction * strength)
            against: Direction = "against" if direction == self.sign else "along"
            return self.at_shares(dict.fromkeys((self.treatment, *self.hits), strength), against)

        low, high = 0.0, self._far()
        for _ in range(3):
            grid = np.linspace(low, high, _SCAN + 1)[1:]
            hit = next((value for value in grid.tolist() if reached(at(value))), None)
            if hit is not None:
                return _halve(hit - (high - low) / _SCAN, hit, lambda value: reached(at(value)))
            if not self.is_simple:
                break
            low, high = high, 8.0 * high
        return math.inf

    def _far(self) -> float:
        """Return a strength that turns the effect around."""
        if not self.is_simple:
            return 0.99
        ratios = [abs(float(a.mean() / b[self.outcome].mean())) for a, b in self._parts if b[self.outcome].any()]
        return max(2.0 * max(ratios, default=0.0), 0.05)

    @cached_property
    def _parts(self) -> list[tuple[FloatArray, dict[str, FloatArray]]]:
        return [model.parts() for _, model in self.models if model.nodes]

    # -- as strong as a covariate ------------------------------------------------------------------------------------

    @cached_property
    def covariates(self) -> tuple[str, ...]:
        """Measured causes of the treatment that the outcome's regression has, too."""
        found: dict[str, None] = {}
        owner = {column: name for name, columns in self.categories.items() for column in columns}
        for _, model in self.models:
            if isinstance(model, RepresentedModel):
                found.update(dict.fromkeys(model.owners))
            elif model.nodes:
                theirs = model.sample_of(self.outcome).problem.terms
                shared = (name for name in model.treatment_sample.problem.terms if name in theirs)
                found.update(dict.fromkeys(owner.get(name, name) for name in shared))
        return tuple(found)

    def bounds(
        self, model: DrawnModel, covariate: str, times: float, times_outcome: float, selected: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return draws of (R2x, R2y) of a cause so many times as strong as a covariate."""
        if isinstance(model, RepresentedModel):
            return benchmark_bounds(*model.partial_shares(covariate, selected), times, times_outcome)
        columns = self.categories.get(covariate, (covariate,))
        shares = [partial_share(model, name, columns, selected) for name in (self.treatment, self.outcome)]
        return benchmark_bounds(shares[0], shares[1], times, times_outcome)

    def bound_means(self, covariate: str) -> tuple[float, float, float]:
        """Return mean R2x, R2y and bias factor of a cause as strong as a covariate."""
        found = []
        for share, model in self.models:
            if model.nodes:
                r2x, r2y = self.bounds(model, covariate, 1.0, 1.0, True)
                found.append((share, r2x.mean(), r2y.mean(), bias_factor(r2x, r2y).mean()))
        total = sum(row[0] for row in found)
        return tuple(float(sum(row[0] * row[i] for row in found) / total) for i in (1, 2, 3))  # type: ignore[return-value]


def _halve(low: float, high: float, reached: Callable[[float], bool]) -> float:
    """Return where something begins to hold, which it does not at `low` and does at `high`."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) else (middle, high)
        if high - low < 1e-7:
            break
    return high


def partial_share(model: HiddenModel, child: str, columns: Sequence[str], selected: bool) -> FloatArray:
    """Return draws of the share of a node that a covariate explains given all other candidates, shape (size,).

    Parameters
    ----------
    model
        The draws.
    child, columns
        Its name, and the columns of the covariate; one that the regression does not have explains nothing.
    selected
        Whether the covariate may be absent; if not, every term of the regression is taken as present.
    """
    sample = model.sample_of(child)
    if columns[0] not in sample.problem.terms:
        return np.zeros(model.size)
    places = [sample.problem.terms.index(name) for name in columns]
    coefficients, variance = sample.coefficients[:, places], sample.variance
    if not selected:
        coefficients, variance = _all_present(sample.problem, places, model.size)
    explained = np.einsum("si,ij,sj->s", coefficients, _left(sample.problem, places), coefficients)
    return np.asarray(explained / (explained + variance))


def _left(problem: NodeProblem, places: list[int]) -> FloatArray:
    """Return the covariance of some terms that the other terms do not explain, shape (places, places)."""
    ridge = np.diag(1e-10 * np.diag(problem.gram))
    own = np.linalg.inv(problem.gram + ridge)[np.ix_(places, places)]
    return np.asarray(np.linalg.inv(own) / problem.n)


def _all_present(problem: NodeProblem, places: list[int], size: int) -> tuple[FloatArray, FloatArray]:
    """Return draws of some coefficients, shape (size, places), and of the noise variance when every term is present."""
    from alldags.engines.full import Full

    rng = np.random.default_rng(0)
    coefficients, variance = Full()(problem, rng).draw(size, rng)
    return coefficients[:, places], variance


def analyse(
    models: Mixture[FittedGraph],
    names: tuple[str, str],
    hits: Sequence[str],
    size: int,
    rng: np.random.Generator,
    unit: float,
    sign: int,
) -> HiddenAnalysis:
    """Fit and draw what an analysis needs; models of no weight are left out.

    Parameters
    ----------
    models
        Linked to the treatment.
    names
        Treatment and outcome.
    hits
        What the hidden cause acts on besides the treatment.
    size
        Number of draws in all.
    rng
        For the draws.
    unit, sign
        As in `HiddenAnalysis`.
    """
    weights = models.weights.posterior
    pairs = list(zip(weights, models.items, rng.spawn(len(weights)), strict=True))
    kept = [one for one in pairs if one[0] >= _LEAST_WEIGHT]
    total = sum(one[0] for one in kept)
    few = min(_LEAST_DRAWS, size)
    parts = tuple(
        (share / total, hidden_model(model, *names, hits, max(round(size * share / total), few), stream))
        for share, model, stream in kept
    )
    return HiddenAnalysis(*names, tuple(hits), parts, unit, sign, models.items[0].data.categories)
