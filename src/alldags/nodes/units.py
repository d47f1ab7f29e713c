"""Candidate causes that are several columns: the columns of a category enter and leave a regression together.

A regression with c such causes is a mixture of 2^c regressions without: in each, the columns of those that are present
are certain, and the columns of the others are left out. Engines never see a group of columns; the weights are prior
times evidence. Enumerating parent sets this way takes as long as if an engine enumerated the causes itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.errors import EngineError
from alldags.nodes.build import NodeTerms, build, raised_probability
from alldags.nodes.data import ChildData
from alldags.nodes.posterior import Diagnostics, NodeFit, NodePosterior, ParentSet
from alldags.nodes.problem import LinkedPrior, NodeProblem, Origin
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray

MOST_UNITS = 10  # uncertain categories of one child: 2^10 regressions
_LEAST = 1e-12  # weight below which a regression changes no digit

Categories = Mapping[str, tuple[str, ...]]
"""The columns that stand for each category."""


@dataclass(frozen=True, eq=False)
class Choice:
    """One regression of the mixture.

    Parameters
    ----------
    present
        Which parents are categories that are present, shape (p,).
    log_prior
        Log probability of that, or its weight under a prior of the number of parents.
    problem
        Its terms are the parents that are no categories, then the columns of the categories that are present.
    """

    present: BoolArray
    log_prior: float
    problem: NodeProblem


def unit_problem(data: ChildData, terms: NodeTerms, prior: Prior, categories: Categories) -> NodeProblem:
    """Return the problem with one term for each parent, as far as it has one: nothing is known of a category's column.

    It holds names, probabilities and rows; cross-products of categories are zero, and no engine is given them.
    """
    plain = [i for i, name in enumerate(terms.names) if name not in categories]
    names = tuple(terms.names[i] for i in plain)
    inner = build(data, NodeTerms(terms.child, names, (0.5,) * len(names)), replace(prior, edges=None))
    k = len(terms.names)
    gram, cross, mean = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    gram[np.ix_(plain, plain)], cross[plain] = inner.gram, inner.cross
    if inner.origin is not None:
        mean[plain] = inner.origin.terms
    stated, log_size = prior.edges_of(np.array(terms.probability), terms.child)
    raised = None if terms.raised is None else np.array(terms.raised)
    return replace(
        inner,
        terms=terms.names,
        gram=gram,
        cross=cross,
        probability=stated if raised is None else raised_probability(stated, raised),
        log_size=log_size,
        origin=None if inner.origin is None else Origin(inner.origin.child, mean),
        linked=None if raised is None else LinkedPrior(stated, raised),
    )


def choices(
    data: ChildData, terms: NodeTerms, prior: Prior, categories: Categories, units: NodeProblem
) -> Iterator[Choice]:
    """Yield the regressions, one for each set of categories that may be present."""
    group = np.array([name in categories for name in terms.names], dtype=bool)
    open_ = np.flatnonzero(group & ~units.certain)
    if len(open_) > MOST_UNITS:
        raise EngineError(
            f"{terms.child!r} has {len(open_)} uncertain candidate causes that are categories, more than {MOST_UNITS}: "
            "make some of them certain, leave some out, or join levels to two"
        )
    for chosen in itertools.product([False, True], repeat=len(open_)):
        present = group & units.certain
        present[open_] = chosen
        yield Choice(present, _log_prior(units, open_, chosen), _chosen(data, terms, prior, categories, units, present))


def _log_prior(units: NodeProblem, open_: Sequence[int] | np.ndarray, chosen: Sequence[bool]) -> float:
    """Return the log probability that just these are present; odds alone, where the size prior has the rest."""
    p = units.probability[open_]
    present = np.array(chosen, dtype=bool)
    if units.log_size is None:
        return float(np.log(np.where(present, p, 1.0 - p)).sum())
    return float(units.log_odds[open_][present].sum())


def _chosen(
    data: ChildData, terms: NodeTerms, prior: Prior, categories: Categories, units: NodeProblem, present: BoolArray
) -> NodeProblem:
    """Return the regression in which some categories are present, and the others are not."""
    plain = [i for i, name in enumerate(terms.names) if name not in categories]
    columns = [column for i in np.flatnonzero(present).tolist() for column in categories[terms.names[i]]]
    names = (*(terms.names[i] for i in plain), *columns)
    problem = build(data, NodeTerms(terms.child, names, (0.5,) * len(names)), replace(prior, edges=None))
    probability = np.concatenate([units.probability[plain], np.ones(len(columns))])
    log_size = units.log_size
    if log_size is not None:
        group = np.array([name in categories for name in terms.names], dtype=bool) & ~units.certain
        there, away = int((group & present).sum()), int((group & ~present).sum())
        log_size = log_size[there : len(log_size) - away]
    return replace(problem, probability=probability, log_size=log_size)


def fit_units(
    data: ChildData,
    terms: NodeTerms,
    prior: Prior,
    categories: Categories,
    fit: NodeFit,
) -> UnitsPosterior:
    """Return the posterior of a child some of whose candidate causes are categories.

    Parameters
    ----------
    data
        Moments of the child's rows, with the columns of categories.
    terms
        The candidate causes; a category is one of them.
    prior
        Of the node.
    categories
        The columns of each category.
    fit
        Fits a regression without categories.
    """
    units = unit_problem(data, terms, prior, categories)
    found = list(choices(data, terms, prior, categories, units))
    return UnitsPosterior(units, found, fit)


class UnitsPosterior(NodePosterior):
    """Average over the regressions with and without each category; arrays are ordered by parents.

    The coefficient of a category is not one number: `mean` and moments are zero there, and no effect is made of them.
    """

    def __init__(self, problem: NodeProblem, found: Sequence[Choice], fit: NodeFit) -> None:
        self.problem = problem
        self.choices = found
        self.parts = [fit(one.problem) for one in found]
        self._fit = fit
        first = self.parts[0].diagnostics
        warnings = tuple(dict.fromkeys(text for part in self.parts for text in part.diagnostics.warnings))
        self.diagnostics = replace(first, warnings=warnings) if warnings != first.warnings else first

    @cached_property
    def _group(self) -> BoolArray:
        """Which parents are categories, shape (p,)."""
        widest = max(self.choices, key=lambda one: int(one.present.sum()))
        return widest.present

    @cached_property
    def _plain(self) -> BoolArray:
        return ~self._group

    @cached_property
    def _log_weights(self) -> FloatArray:
        evidence = [part.log_evidence for part in self.parts]
        if any(value is None for value in evidence):
            raise EngineError(
                f"the engine {self.diagnostics.engine!r} gives no evidence, by which regressions with and without a "
                "category are weighed; use engine='auto', 'exact' or 'mcmc'"
            )
        return np.asarray(np.array([one.log_prior for one in self.choices]) + np.array(evidence, dtype=float))

    @cached_property
    def weights(self) -> FloatArray:
        """Posterior probability of each regression, shape (regressions,)."""
        shifted = np.exp(self._log_weights - self._log_weights.max())
        return np.asarray(shifted / shifted.sum())

    @cached_property
    def _heavy(self) -> list[tuple[float, Choice, NodePosterior]]:
        kept = np.flatnonzero(self.weights > _LEAST).tolist()
        total = self.weights[kept].sum()
        return [(float(self.weights[i] / total), self.choices[i], self.parts[i]) for i in kept]

    @property
    def log_evidence(self) -> float:
        return float(np.logaddexp.reduce(self._log_weights))

    # -- averages ------------------------------------------------------------------------------------------------------

    def _spread_out(self, values: FloatArray) -> FloatArray:
        """Return an array over the terms of one regression as one over all parents; zero at categories."""
        count = int(self._plain.sum())
        out = np.zeros((self.problem.k,) * values.ndim)
        if values.ndim == 1:
            out[self._plain] = values[:count]
        else:
            out[np.ix_(self._plain, self._plain)] = values[:count, :count]
        return out

    def _average(self, name: str) -> FloatArray:
        return np.asarray(sum(weight * self._spread_out(getattr(part, name)) for weight, _, part in self._heavy))

    @cached_property
    def mean(self) -> FloatArray:
        return self._average("mean")

    @cached_property
    def second_moment(self) -> FloatArray:
        return self._average("second_moment")

    @cached_property
    def second_moment_between(self) -> FloatArray | None:
        return self._average("second_moment_between")

    @cached_property
    def inclusion(self) -> FloatArray:
        there = sum(weight * choice.present for weight, choice, _ in self._heavy)
        return np.minimum(self._average("inclusion") + there, 1.0)

    @cached_property
    def noise_variance(self) -> float:
        return float(sum(weight * part.noise_variance for weight, _, part in self._heavy))

    # -- questions about sets ------------------------------------------------------------------------------------------

    def mean_given(self, parent: int, present: bool) -> FloatArray | None:
        """Return the mean given one edge; the regressions are weighed anew, also those that carry no weight without."""
        known = self._given_category(parent, present) if self._group[parent] else self._given_plain(parent, present)
        if not known:
            return None
        logs = np.array([log for log, _ in known])
        weights = np.exp(logs - logs.max())
        means = sum(weight * self._spread_out(mean) for weight, (_, mean) in zip(weights, known, strict=True))
        return np.asarray(means / weights.sum())

    def _given_category(self, parent: int, present: bool) -> list[tuple[float, FloatArray]]:
        """Return log weight and mean of the regressions in which a category is present, or not."""
        there = [bool(one.present[parent]) == present for one in self.choices]
        found = zip(self._log_weights.tolist(), self.parts, strict=True)
        return [(log, part.mean) for fits, (log, part) in zip(there, found, strict=True) if fits]

    def _given_plain(self, parent: int, present: bool) -> list[tuple[float, FloatArray]]:
        """Return log weight and mean of all regressions with one edge certain, or left out: each is fitted anew."""
        place, found = int(self._plain[:parent].sum()), []
        for choice in self.choices:
            given = choice.problem.with_certain(place) if present else choice.problem.without([place])
            node = self._fit(given)
            if node.log_evidence is None:
                return []
            mean = node.mean if present else np.insert(node.mean, place, 0.0)
            found.append((choice.log_prior + node.log_evidence, mean))
        return found

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        out = np.zeros(len(masks))
        for weight, choice, part in self._heavy:
            columns = part.problem.k - int(self._plain.sum())
            inner = np.hstack([masks[:, self._plain], np.zeros((len(masks), columns), dtype=bool)])
            found = part.probability_disjoint(inner)
            if found is None:
                return None
            out += weight * found * ~(masks & choice.present).any(axis=1)
        return out

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        """Return the most probable sets; those of all regressions are put together."""
        total: dict[tuple[str, ...], float] = {}
        for weight, choice, part in self._heavy:
            for item in part.top_parent_sets(size) or ():
                names = self._named(item.parents, choice)
                total[names] = total.get(names, 0.0) + weight * item.probability
        ranked = sorted(total.items(), key=lambda pair: -pair[1])[:size]
        return tuple(ParentSet(parents, probability) for parents, probability in ranked)

    def _named(self, terms: tuple[str, ...], choice: Choice) -> tuple[str, ...]:
        there = dict(zip(self.problem.terms, choice.present.tolist(), strict=True))
        return tuple(name for name in self.problem.terms if there[name] or name in terms)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        counts = rng.multinomial(size, [weight for weight, *_ in self._heavy])
        pairs = zip(counts.tolist(), self._heavy, strict=True)
        pieces = [part.draw(count, rng) for count, (_, _, part) in pairs if count]
        order = rng.permutation(size)
        count = int(self._plain.sum())
        out = np.zeros((size, self.problem.k))
        out[:, self._plain] = np.concatenate([piece[0][:, :count] for piece in pieces])[order]
        return out, np.concatenate([piece[1] for piece in pieces])[order]

    # -- Monte-Carlo errors --------------------------------------------------------------------------------------------

    def linear_error(self, weights: FloatArray) -> float:
        """Return the error of the regressions, and that of their weights where evidence was sampled."""
        inner = np.array([self._inner_error(part, weights) * weight for weight, _, part in self._heavy])
        means = np.array([weights @ self._spread_out(part.mean) for _, _, part in self._heavy])
        shares = np.array([weight for weight, *_ in self._heavy])
        doubt = np.array([float(getattr(part, "log_evidence_error", 0.0)) for _, _, part in self._heavy])
        moved = shares * (means - shares @ means) * doubt
        return math.sqrt(float(inner @ inner + moved @ moved))

    def _inner_error(self, part: NodePosterior, weights: FloatArray) -> float:
        columns = part.problem.k - int(self._plain.sum())
        return part.linear_error(np.concatenate([weights[self._plain], np.zeros(columns)]))

    @property
    def set_draws(self) -> float:
        return min(part.set_draws for _, _, part in self._heavy)


class RootCategory(NodePosterior):
    """A category without candidate causes: nothing is regressed, and its evidence is the same in every graph."""

    def __init__(self, problem: NodeProblem) -> None:
        self.problem = problem
        self.diagnostics = Diagnostics("exact")

    mean = np.zeros(0)
    second_moment = np.zeros((0, 0))
    second_moment_between = np.zeros((0, 0))
    inclusion = np.zeros(0)
    noise_variance = math.nan
    log_evidence = 0.0

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        del rng
        return np.zeros((size, 0)), np.full(size, math.nan)

    def probability_disjoint(self, masks: BoolArray) -> FloatArray:
        return np.ones(len(masks))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...]:
        del size
        return (ParentSet((), 1.0),)
