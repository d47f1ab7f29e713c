"""What could be found out next, and how far each step would bring an effect."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from alldags import checks
from alldags.answers.closed import ClosedAnswer
from alldags.answers.held import HeldEffect
from alldags.data.batches import Marks
from alldags.effects.hidden.strength import Strength, limits
from alldags.errors import AlldagsError, did_you_mean
from alldags.futures.by_rows import RowRefits
from alldags.futures.linear import Linear
from alldags.futures.moments import Design
from alldags.futures.refit import After, Refits
from alldags.models.blocks import NodeBlock

Kind: TypeAlias = Literal["edges", "rows", "experiments", "measurements"]
Goal: TypeAlias = Literal["sd", "loss", "graphs"]
KINDS: tuple[Kind, ...] = ("edges", "rows", "experiments", "measurements")

FUTURES = 16  # a standard deviation is then known to about 3%
_ENDS = float(ndtri(0.95))  # a number is set to its 5% and 95% points, in standard deviations from the mean
_MOST_SETS, _MOST_REFITS = 2**13, 40  # parent sets, and regressions, of one future that is fitted
_MOST_DRAWN, _MOST_CAUSES = (
    5000,
    12,
)  # rows at hand and to come, and candidate causes, where rows are drawn
_NODES = 41  # of the average over what the mean may become


@dataclass(frozen=True)
class Step:
    """A step, and what is expected after it.

    Parameters
    ----------
    kind, words
        What is done.
    rows
        Rows that it takes; 0 for none.
    sd
        Root of the mean posterior variance of the effect after it, in the user's units.
    loss
        What deciding by the sign of the effect is expected to lose after it, in the user's units.
    before
        The standard deviation of now that it is compared with.
    how
        ``"exact"``, ``"futures"`` (drawn and fitted), or ``"to first order"``.
    error
        Monte-Carlo error of `sd`.
    graphs
        Expected entropy of the candidate graphs after it, in bits; nan where it is not known.
    cost
        What it costs; nan if nobody said.
    """

    kind: Kind
    words: str
    rows: int
    sd: float
    loss: float
    before: float
    how: str
    error: float = 0.0
    graphs: float = math.nan
    cost: float = math.nan

    @property
    def removed(self) -> float:
        """Share of the variance that it is expected to remove."""
        return 1.0 - (self.sd / self.before) ** 2 if self.before > 0.0 else 0.0

    def worth(self, goal: Goal, now: float) -> float:
        """Return by how much it is expected to bring down what matters, per cost if that is known.

        Parameters
        ----------
        goal
            What matters.
        now
            Its value now; the standard deviation of now is the step's own.
        """
        gain = {"sd": self.before - self.sd, "loss": now - self.loss, "graphs": now - self.graphs}[goal]
        return (0.0 if math.isnan(gain) else gain) / (1.0 if math.isnan(self.cost) else self.cost)


def normal_loss(mean: float, sd: float) -> float:
    """Return the expected loss of deciding by the sign of a normal number."""
    if not sd > 0.0:
        return 0.0
    z = abs(mean) / sd
    return float(sd * (math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) - z * ndtr(-z)))


@dataclass(frozen=True, eq=False)
class Ahead:
    """One effect and the steps that could follow.

    Parameters
    ----------
    effect
        The effect.
    futures
        How many futures are drawn where they are fitted.
    """

    effect: HeldEffect
    futures: int = FUTURES

    @property
    def sd(self) -> float:
        """The standard deviation of now."""
        return self.effect.sd

    @cached_property
    def loss(self) -> float:
        """What deciding by the sign of the effect is expected to lose now."""
        draws = self.effect.draws(self.effect.answer.size)
        return float(min(np.maximum(draws, 0.0).mean(), np.maximum(-draws, 0.0).mean()))

    @cached_property
    def graphs(self) -> float:
        """Entropy of the candidate graphs now, in bits; nan for a single one."""
        weights = self.effect.posterior.workings.models.weights
        return _entropy(weights.posterior) if len(weights.models) > weights.tables else math.nan

    # -- rows ----------------------------------------------------------------------------------------------------------

    @cached_property
    def is_fitted(self) -> bool:
        """Whether futures are fitted: all nodes straight, normal and enumerated, in little time."""
        posterior, answer = self.effect.posterior, self.effect.answer
        data = posterior.workings.data
        if not isinstance(answer, ClosedAnswer) or answer.elsewhere is not None or data.heavy or data.is_within:
            return False
        if any(name in data.families for name in self.effect.workings.variables):
            return False  # the log-odds scale is straight, too, but rows to come are not normal
        if posterior.workings.models.weights.tables > 1 or not 0.0 < answer.sd < math.inf:
            return False
        nodes = [block.node if isinstance(block, NodeBlock) else None for block in self.effect.workings.blocks]
        single = [2**node.problem.free if node is not None else 0 for node in nodes]
        blocks = [block for block in self.effect.workings.blocks if not isinstance(block, NodeBlock)]
        small = sum(single) <= _MOST_SETS and len(nodes) <= _MOST_REFITS
        return small and all(math.isinf(block.set_draws) and len(block.variables) <= 4 for block in blocks)

    @cached_property
    def _refits(self) -> Refits:
        return Refits(self.effect.posterior.workings, self.effect.answer.question, self.futures)

    @cached_property
    def is_drawn(self) -> bool:
        """Whether rows are drawn and fitted: a child is not normal, all rows count alike, and are few."""
        posterior, question = self.effect.posterior, self.effect.answer.question
        data, variables = posterior.workings.data, self.effect.workings.variables
        table, known = data.table, all(data.families[name].complete for name in variables if name in data.families)
        if table is None or table.marks != Marks() or posterior.workings.models.weights.tables > 1 or not known:
            return False
        if not any(name in data.families for name in variables) or data.is_within or data.was_set:
            return False
        plain = isinstance(question.over, str) and question.over in ("sample", "population")
        blocks = [block for block in self.effect.workings.blocks if not isinstance(block, NodeBlock)]
        causes = [len(model.graph.parents(name)) for model in posterior.workings.models.items for name in variables]
        return plain and not blocks and max(causes) <= _MOST_CAUSES and table.count <= _MOST_DRAWN

    @cached_property
    def _row_refits(self) -> RowRefits:
        return RowRefits(self.effect.posterior.workings, self.effect.answer.question, self.futures)

    @cached_property
    def _linear(self) -> Linear:
        return Linear(self.effect)

    def rows(self, count: int) -> Step:
        """Return the step of more rows of the same kind."""
        return self._expected(Step("rows", f"{count:,} more rows", count, 0.0, 0.0, self.sd, ""), Design(count))

    def experiment(self, variable: str, count: int) -> Step:
        """Return the step of an experiment that sets a variable by lot."""
        words = f"experiment on {variable}, {count:,} rows"
        middle, half = self._ends(variable)
        step = Step("experiments", words, count, 0.0, 0.0, self.sd, "")
        return self._expected(step, Design(count, variable, middle, half))

    def _ends(self, variable: str) -> tuple[float, float]:
        """Return the middle, from the mean, and half the distance of the values that a variable is set to."""
        data = self.effect.posterior.workings.data
        if variable in data.categories:
            return 0.0, 0.0
        place, values = data.pooled.index[variable], data.look(variable).two_values
        mean, scale = float(data.pooled.mean[place]), float(data.scale[place])
        if values is None:
            return 0.0, _ENDS * data.deviation(variable) / scale
        low, high = (value / scale for value in values)
        return (low + high) / 2.0 - mean, (high - low) / 2.0

    def _expected(self, step: Step, design: Design) -> Step:
        if self.is_fitted:
            return self._of_futures(step, self._refits.after(design), self.effect.answer.sd**2)
        if self.is_drawn and design.rows <= _MOST_DRAWN:
            return self._of_futures(step, self._row_refits.after(design), self._row_refits.variance)
        later = self.sd * math.sqrt(self._linear.share_left(design))
        return replace(step, sd=later, loss=self._later_loss(later), how="to first order")

    def _of_futures(self, step: Step, found: Sequence[After], now: float) -> Step:
        """Return what is expected after a step, from futures in which it was done; `now` is its variance now."""
        wider = self.sd / math.sqrt(now)  # what rows or clusters say beyond the model stays in proportion
        variance = np.array([one.variance for one in found]) * wider**2
        loss = np.mean([normal_loss(one.mean, wider * math.sqrt(one.variance)) for one in found])
        sd = min(math.sqrt(variance.mean()), self.sd)  # no step widens it on average; so few futures might
        error = float(variance.std()) / math.sqrt(len(found)) / (2.0 * sd) if sd > 0.0 else 0.0
        bits = float(np.mean([_entropy(one.graphs) for one in found])) if len(found[0].graphs) > 1 else math.nan
        return replace(step, sd=sd, loss=float(loss), how="futures", error=error, graphs=bits)

    def _later_loss(self, later: float) -> float:
        """Return the expected loss where the mean becomes normal with the variance that is removed."""
        moved = math.sqrt(max(self.sd**2 - later**2, 0.0))
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        losses = [normal_loss(self.effect.mean + moved * float(x), later) for x in nodes]
        return float(weights @ np.array(losses) / weights.sum())

    # -- edges and measurements ----------------------------------------------------------------------------------------

    def edges(self, table: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[str, str]] | None) -> list[Step]:
        """Return the steps of learning whether an edge is there, those that matter, from what each would do."""
        found = []
        for row in table:
            edge, share = (str(row["cause"]), str(row["effect"])), float(row["variance_removed"])
            if (wanted is None and share > 1e-3) or (wanted is not None and edge in wanted):
                later = self.sd * math.sqrt(max(1.0 - share, 0.0))
                loss, words = self._later_loss(later), f"learn whether {edge[0]} -> {edge[1]}"
                found.append(Step("edges", words, 0, later, loss, self.sd, "exact"))
        return found

    def measurement(self, name: str, strength: Strength, with_it: float) -> Step:
        """Return the step of measuring a common cause that is not in the table.

        Parameters
        ----------
        name
            What it is called.
        strength
            How strong it may be.
        with_it
            Standard deviation of the effect with such a cause, unmeasured.
        """
        later = self.sd * math.sqrt(_after_measuring(strength))
        step = Step("measurements", f"measure {name}", 0, later, self._later_loss(later), with_it, "exact")
        return replace(step, loss=normal_loss(self.effect.mean, later))


def _after_measuring(strength: Strength) -> float:
    """Return the variance of an effect with a measured cause over that without it: noise left, over treatment left."""
    shares = strength.stated
    if strength.shares is not None or any(isinstance(value, str) for value in shares.values()):
        raise AlldagsError(
            "measuring a cause takes r2_treatment and r2_outcome as numbers or ranges, such as "
            "ad.Strength(r2_treatment=(0, 0.2), r2_outcome=(0, 0.2))"
        )
    (low, high), (bottom, top) = (limits(name, value) for name, value in shares.items())
    odds = 1.0 / (1.0 - low) if high == low else math.log((1.0 - low) / (1.0 - high)) / (high - low)
    return 1.0 - strength.probability + strength.probability * (1.0 - 0.5 * (bottom + top)) * odds


def _entropy(probabilities: Sequence[float]) -> float:
    p = np.array([one for one in probabilities if one > 0.0])
    return float(-(p * np.log2(p)).sum())


# -- what is asked -----------------------------------------------------------------------------------------------------


def asked_rows(given: int | Sequence[int] | None, default: int) -> list[int]:
    """Return numbers of rows to come."""
    if given is None:
        return [default]
    return [checks.whole("rows", one, least=2) for one in ([given] if isinstance(given, int) else given)]


def asked_experiments(
    given: Sequence[str | tuple[str, int]] | Mapping[str, int] | str | None,
    default: int,
    natural: Sequence[str],
    check: Callable[[str], None],
) -> list[tuple[str, int]]:
    """Return the experiments: which variable is set, and in how many rows."""
    if given is None:
        return [(name, default) for name in natural]
    listed: Sequence[Any] = (
        [given] if isinstance(given, str) else list(given.items() if isinstance(given, Mapping) else given)
    )
    found = [(one, default) if isinstance(one, str) else tuple(one) for one in listed]
    for one in found:
        if len(one) != 2 or not isinstance(one[0], str):
            raise AlldagsError(f"an experiment is a variable, or a variable and a number of rows, got {one!r}")
        check(one[0])
    return [(name, checks.whole(f"rows of the experiment on {name!r}", count, least=2)) for name, count in found]


def with_costs(steps: Sequence[Step], cost: Mapping[str, float] | None) -> list[Step]:
    """Return the steps with what they cost: per row, edge, or measurement, or by the words of a step."""
    if cost is None:
        return list(steps)
    known = {*KINDS, *(step.words for step in steps)}
    for name, value in cost.items():
        if name not in known:
            other = did_you_mean(name, sorted(known)) or f"; give those of {', '.join(KINDS)}"
            raise AlldagsError(f"cost {name!r} is of no step{other}")
        if not checks.is_number(value) or not value > 0:
            raise AlldagsError(f"the cost of {name!r} must be a positive number, got {value!r}")
    return [replace(step, cost=_cost(step, cost)) for step in steps]


def _cost(step: Step, cost: Mapping[str, float]) -> float:
    if step.words in cost:
        return float(cost[step.words])
    if step.kind not in cost:
        raise AlldagsError(f"{step.words!r} has no cost; say cost={{{step.kind!r}: ...}}, or leave out all costs")
    return float(cost[step.kind]) * max(step.rows, 1)
