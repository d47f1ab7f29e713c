"""Asking the data about a hidden common cause: a bidirected edge is one more candidate parent of the outcome.

With a bias factor ``f ~ N(0, v)``, the outcome's regression gains the standardised residual of the treatment as a term,
with slab variance ``v`` in units of the noise. The residual depends on the treatment's own regression, whose draws are
weighed by the outcome's evidence given each. What identifies the cause is that a covariate drives the treatment and
has *no* edge to the outcome: an instrument. Where none is one, the answer is confidently wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alldags.effects.hidden.weighted import WeightedDraws, pooled
from alldags.effects.span import Span
from alldags.effects.total import variable_streams
from alldags.engines.exact import ExactPosterior
from alldags.errors import EngineError
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.nodes.onto import over_columns
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import NodeProblem
from alldags.priors.grid import Setting
from alldags.typing import FloatArray

_RESIDUALS = 60  # draws of the treatment's regression
_DRAWS = 200  # of the outcome's, given each
_MOST_FREE = 14  # uncertain parents of the outcome
_LEAST = 1e-6  # posterior weight of a slab that is looked at
_TERM = "hidden cause"


@dataclass(frozen=True, eq=False)
class Identified:
    """The effect, and the probability of the hidden cause, after asking the data.

    Parameters
    ----------
    draws
        The effect in working units.
    probability
        Posterior probability of the hidden cause.
    effective
        How many draws of the treatment's regression the weights are worth.
    """

    draws: WeightedDraws
    probability: float
    effective: float


def identify(
    models: Mixture[FittedGraph],
    names: tuple[str, str],
    probability: float,
    variance: float,
    rng: np.random.Generator,
) -> Identified:
    """Return the effect with a candidate bidirected edge between treatment and outcome.

    Parameters
    ----------
    models
        Linked to the treatment; weighed without the hidden cause.
    names
        Treatment and outcome.
    probability
        Prior probability of the edge.
    variance
        Of the bias factor, a priori.
    rng
        For the draws.
    """
    streams = rng.spawn(len(models.items))
    weights = models.weights.posterior
    found = [
        (weight, _one(model, names, probability, variance, stream))
        for weight, model, stream in zip(weights, models.items, streams, strict=True)
        if weight > 0
    ]
    return Identified(
        pooled([(weight, one.draws) for weight, one in found]),
        sum(weight * one.probability for weight, one in found),
        min(one.effective for _, one in found),
    )


def _one(
    model: FittedGraph, names: tuple[str, str], probability: float, variance: float, rng: np.random.Generator
) -> Identified:
    treatment, outcome = names
    span = Span.between(model.graph, treatment, outcome)
    if not span.variables:
        return Identified(WeightedDraws(np.zeros(1), np.ones(1), 1.0), probability, float(_RESIDUALS))
    streams = variable_streams(model, rng)
    effects = {treatment: np.ones(_DRAWS)}
    for child in span.reached[:-1]:
        node = over_columns(model.node(child))
        coefficients, _ = node.draw(_DRAWS, streams[child])
        effects[child] = sum(
            (coefficients[:, i] * effects[name] for i, name in enumerate(node.parents) if name in effects),
            start=np.zeros(_DRAWS),
        )
    problem = model.extended_problem(outcome, (), {})
    _check(problem)
    node = over_columns(model.node(treatment))
    pieces = [
        _given(model, problem, _residual(model, node, one, noise), probability, variance, streams[outcome])
        for one, noise in zip(*node.draw(_RESIDUALS, streams[treatment]), strict=True)
    ]
    return _weighed(pieces, problem, effects)


def _check(problem: NodeProblem) -> None:
    if problem.free > _MOST_FREE or problem.settings[0].slab == "g":
        raise EngineError(
            f"identify='instruments' needs a slab that is no g-prior and at most {_MOST_FREE} uncertain causes of the "
            f"outcome; {problem.child!r} has {problem.free}; leave out what you can rule out, or do without identify="
        )


def _residual(model: FittedGraph, node: NodePosterior, coefficients: FloatArray, variance: float) -> FloatArray:
    """Return the combination of all columns that is the treatment's standardised residual, shape (m,)."""
    index = model.data.pooled.index
    combination = np.zeros(len(index))
    combination[index[node.problem.child]] = 1.0
    combination[[index[name] for name in node.parents]] = -coefficients
    return np.asarray(combination / np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class _Piece:
    log_evidence: float
    inclusion: float
    coefficients: FloatArray


def _given(
    model: FittedGraph, problem: NodeProblem, residual: FloatArray, probability: float, variance: float,
    rng: np.random.Generator,
) -> _Piece:  # fmt: skip
    """Return the outcome's regression given one residual, averaged over slabs."""
    parts = [
        ExactPosterior(_extended(model, problem, one, residual, probability, variance)) for one in problem.settings
    ]
    logs = np.array([part.log_evidence + one.log_weight for part, one in zip(parts, problem.settings, strict=True)])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    kept = [i for i in range(len(parts)) if shares[i] > _LEAST]
    counts = rng.multinomial(_DRAWS, shares[kept] / shares[kept].sum())
    drawn = [parts[i].draw(int(count), rng)[0] for i, count in zip(kept, counts, strict=True) if count]
    inclusion = sum(shares[i] * parts[i].inclusion[-1] for i in kept)
    return _Piece(float(np.logaddexp.reduce(logs)), float(inclusion), rng.permutation(np.concatenate(drawn)))


def _extended(
    model: FittedGraph, problem: NodeProblem, setting: Setting, residual: FloatArray, probability: float,
    variance: float,
) -> NodeProblem:  # fmt: skip
    """Return the problem with the residual as one more term, scaled so that the slab gives it variance `variance`."""
    data = model.data.of(problem.child)
    unit = setting.noise.unit  # a known noise has its slab in absolute units
    column = residual * np.sqrt(variance * unit / setting.slab_variance)
    rows = [data.index[name] for name in problem.terms]
    k = problem.k
    gram = np.zeros((k + 1, k + 1))
    gram[:k, :k] = problem.gram
    gram[k, :k] = gram[:k, k] = data.scatter[rows] @ column
    gram[k, k] = column @ data.scatter @ column
    return replace(
        problem.with_setting(setting),
        terms=(*problem.terms, _TERM),
        gram=gram,
        cross=np.append(problem.cross, data.scatter[data.index[problem.child]] @ column),
        probability=np.append(problem.probability, probability),
        log_size=None,
        origin=None,
        linked=None,
        groups=None if problem.groups is None else np.append(problem.groups, problem.groups[-1] + 1),
    )


def _weighed(pieces: list[_Piece], problem: NodeProblem, effects: dict[str, FloatArray]) -> Identified:
    logs = np.array([piece.log_evidence for piece in pieces])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    pairs = [(i, effects[name]) for i, name in enumerate(problem.terms) if name in effects]
    values = [sum((piece.coefficients[:, i] * t for i, t in pairs), start=np.zeros(_DRAWS)) for piece in pieces]
    treatment = next(iter(effects))
    absent = 1.0
    if treatment in problem.terms:
        column = problem.terms.index(treatment)
        absent = float(weights @ [np.mean(piece.coefficients[:, column] == 0.0) for piece in pieces])
    draws = WeightedDraws(np.concatenate(values), np.repeat(weights / _DRAWS, _DRAWS), absent)
    return Identified(draws, float(weights @ [piece.inclusion for piece in pieces]), float(1.0 / np.sum(weights**2)))
