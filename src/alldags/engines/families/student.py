"""Fit a node with heavy tails: match its log-likelihood by that of normal rows, weigh, and where that fails, sample.

As for yes/no nodes the point is the mean over all parent sets, found by matching, averaging, matching again; here the
matched node is a normal one with unknown noise, so that slab, noise and edge priors are those of any other node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from alldags.engines.conjugate.partner import draw_partners
from alldags.engines.families.expansion import short_engine
from alldags.engines.families.gates import trusted_weights
from alldags.engines.families.pareto import smooth
from alldags.engines.families.student_posterior import StudentDiagnostics, StudentPosterior
from alldags.engines.families.weighing import WeightedDraws, row_blocks
from alldags.nodes.build import NodeTerms, raised_probability
from alldags.nodes.family import log_product
from alldags.nodes.heavy import HeavyRows, MatchedStatistics, Student, best_precision, matched, residuals
from alldags.nodes.posterior import Engine, NodePosterior
from alldags.nodes.problem import LinkedPrior, NodeProblem, Origin
from alldags.nodes.quadratic import Batch
from alldags.priors.prior import Prior
from alldags.typing import FloatArray

_KEPT_VALUES = 2**24  # standardised rows are kept in memory up to so many values
_MATCHES = 3
_FLATTER = 0.9  # the last match has this many times the information: weights of draws then have light tails
_STEPS = 200
_STOP = 1e-3  # standard errors: the start need not be the mode itself
_MOST_DRAWS, _LEAST_DRAWS, _MOST_VALUES = 4000, 500, 2e7


@dataclass(frozen=True, eq=False)
class HeavyDesign:
    """The rows of one node, in working units, as often as they are wanted."""

    rows: HeavyRows
    terms: tuple[str, ...]
    kept: tuple[Batch, ...] | None = None

    @classmethod
    def of(cls, rows: HeavyRows, terms: tuple[str, ...]) -> HeavyDesign:
        """Return the design; small ones are kept in memory."""
        small = rows.table.columns.rows * (len(terms) + 1) <= _KEPT_VALUES
        return cls(rows, terms, tuple(rows.batches(terms)) if small else None)

    @property
    def family(self) -> Student:
        """How heavy the tails are."""
        return self.rows.family

    @property
    def center(self) -> Origin:
        """Means of child and terms over all rows, in working units."""
        means = [self.rows.center[name] / self.rows.scale[name] for name in (self.rows.child, *self.terms)]
        return Origin(means[0], np.array(means[1:]))

    def batches(self) -> Sequence[Batch]:
        """Return the rows, batch by batch."""
        return tuple(self.rows.batches(self.terms)) if self.kept is None else self.kept


@dataclass(frozen=True, eq=False)
class Matched:
    """A match and the posterior under it, which an engine computed."""

    statistics: MatchedStatistics
    posterior: NodePosterior


def fit_student(
    rows: HeavyRows, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator, size: int | None = None
) -> StudentPosterior:
    """Return the posterior of one node with heavy tails.

    Parameters
    ----------
    rows
        Of the child.
    terms
        Of its regression, with prior probabilities.
    prior
        That of a normal node; its noise precision is that of a row of weight one.
    engine
        Computes the posterior of the match.
    rng
        Generator.
    size
        Number of weighted draws; by the number of rows if not given.
    """
    design = HeavyDesign.of(rows, terms.names)
    match_rng, weigh_rng, sample_rng = rng.spawn(3)
    found = matched_posterior(design, terms, prior, engine, match_rng)
    wanted = int(min(max(_MOST_VALUES / found.statistics.rows, _LEAST_DRAWS), _MOST_DRAWS)) if size is None else size
    draws, variance = weigh(design, found, wanted, weigh_rng)
    trusted = trusted_weights(draws)
    diagnostics = _diagnostics(design, found, draws, trusted)
    if not trusted and engine.scope is None:
        from alldags.engines.families.student_sampled import can_be_sampled, sampled_student

        if can_be_sampled(design, found.posterior.problem):
            return sampled_student(design, found, draws, variance, diagnostics, sample_rng)
    return StudentPosterior(found, draws, diagnostics, design.family, variance, design.center)


# -- matching ----------------------------------------------------------------------------------------------------------


def matched_posterior(
    design: HeavyDesign, terms: NodeTerms, prior: Prior, engine: Engine, rng: np.random.Generator
) -> Matched:
    """Match at the mode of the full model, then twice at the mean over parent sets."""
    batches = design.batches()
    point, precision = full_mode(design.family, batches, _typical_slab(prior, batches))
    quick = short_engine(engine)
    for left in reversed(range(_MATCHES)):
        statistics = matched(design.family, batches, point, precision, 1.0 if left else _FLATTER)
        problem = matched_problem(statistics, terms, prior)
        posterior = (quick if left else engine)(problem, rng.spawn(1)[0])
        point = np.concatenate([[float(statistics.intercept(posterior.mean))], posterior.mean])
        precision = statistics.precision
    return Matched(statistics, posterior)


def matched_problem(statistics: MatchedStatistics, terms: NodeTerms, prior: Prior) -> NodeProblem:
    """Return the problem of a normal child whose log-likelihood matches that of heavy tails."""
    stated, log_size = prior.edges_of(np.array(terms.probability), terms.child)
    problem = NodeProblem(
        child=terms.child,
        terms=terms.names,
        gram=np.ascontiguousarray(statistics.gram),
        cross=statistics.cross,
        total=statistics.total,
        n=statistics.n,
        probability=stated if terms.raised is None else raised_probability(stated, np.array(terms.raised)),
        settings=(),
        log_size=log_size,
        rows=statistics.rows,
        linked=None if terms.raised is None else LinkedPrior(stated, np.array(terms.raised)),
    )
    settings = prior.settings_of(problem)
    for setting in settings:
        setting.noise.check_node(problem.child, problem.n, problem.total)
    return replace(problem, settings=settings)


def _typical_slab(prior: Prior, batches: Sequence[Batch]) -> float:
    if prior.slab is None:
        return prior.fixed_slab
    values, _ = prior.slab.values(float(sum(len(batch.child) for batch in batches)))
    return float(np.median(values)) if prior.slab.kind == "independent" else 1.0


def full_mode(family: Student, batches: Sequence[Batch], slab_variance: float) -> tuple[FloatArray, float]:
    """Return the mode of the full model, intercept first, shape (k + 1,), about, and the precision there.

    Weighted least squares with the rows' mean weights, from the median of the child on: rows far out count little from
    the start.
    """
    child = np.concatenate([batch.child for batch in batches])
    point = np.zeros(batches[0].terms.shape[1] + 1)
    point[0] = float(np.median(child))
    spread = float(np.median(np.abs(child - point[0]))) or float(child.std()) or 1.0
    s = best_precision(family, residuals(batches, point), 1.0 / spread**2)
    penalty = np.full(len(point), 1.0 / slab_variance)
    penalty[0] = 0.0
    for _ in range(_STEPS):
        system, shift = np.diag(penalty), np.zeros(len(point))
        for batch, e in zip(batches, residuals(batches, point), strict=True):
            weight = family.weight(s * e**2)
            rows = np.column_stack([np.ones(len(e)), batch.terms])
            scaled = rows * weight[:, None]
            system += scaled.T @ rows
            shift += scaled.T @ batch.child
        moved = np.asarray(np.linalg.solve(system, shift), dtype=float)
        step = float((moved - point) @ system @ (moved - point)) * s
        point, s = moved, best_precision(family, residuals(batches, moved), s)
        if step < _STOP**2 * len(point):
            break
    return point, s


# -- weighing ----------------------------------------------------------------------------------------------------------


def weigh(design: HeavyDesign, found: Matched, size: int, rng: np.random.Generator) -> tuple[WeightedDraws, FloatArray]:
    """Draw from the posterior under the match, weigh the draws, and return the noise variance of each, too."""
    draw_rng, normal_rng, partner_rng = rng.spawn(3)
    statistics, problem = found.statistics, found.posterior.problem
    coefficients, variance = found.posterior.draw(size, draw_rng)
    normals = normal_rng.standard_normal(size)
    precision = 1.0 / variance
    spread = 1.0 / np.sqrt(precision * statistics.information[0, 0])
    intercept = statistics.intercept(coefficients) + spread * normals
    log_weight = log_weights_of(design, statistics, intercept, coefficients, precision)
    weights, k_hat, log_mean = smooth(log_weight)
    partners = draw_partners(problem, coefficients, variance, partner_rng)
    return WeightedDraws(intercept, coefficients, weights, log_mean, k_hat, partners, log_weight), variance


def log_weights_of(
    design: HeavyDesign,
    statistics: MatchedStatistics,
    intercept: FloatArray,
    coefficients: FloatArray,
    precision: FloatArray,
) -> FloatArray:
    """Return the log of likelihood over match at intercepts, coefficients (draws, k) and precisions, shape (draws,).

    The flat intercept of a normal node has ``sqrt(rows)`` in its evidence, by convention: so it has here, so that
    evidences of normal and heavy-tailed nodes of one child can be compared.
    """
    spread = 1.0 / np.sqrt(precision * statistics.information[0, 0])
    normals = (intercept - statistics.intercept(coefficients)) / spread
    proposal = -0.5 * normals**2 - np.log(spread) - 0.5 * math.log(2.0 * math.pi)
    value = log_likelihoods(design.family, design.batches(), intercept, coefficients, precision)
    convention = 0.5 * math.log(statistics.rows)
    return np.asarray(value + convention - proposal - statistics.log_integral(coefficients, precision))


def log_likelihoods(
    family: Student, batches: Sequence[Batch], intercept: FloatArray, coefficients: FloatArray, precision: FloatArray
) -> FloatArray:
    """Return the log-likelihood of each draw, shape (draws,), of intercepts, coefficients (draws, k) and precisions."""
    value = np.zeros(len(intercept))
    root = np.sqrt(precision / family.df)  # residuals in these units: one plus their squares is what is multiplied
    slopes = np.vstack([(coefficients * root[:, None]).T, intercept * root, root])
    for batch in batches:
        value += len(batch.child) * (family.constant + 0.5 * np.log(precision))
        rows = np.column_stack([batch.terms, np.ones(len(batch.child)), -batch.child])
        for part in row_blocks(len(rows), len(value)):
            left = rows[part] @ slopes
            np.multiply(left, left, out=left)
            left += 1.0
            value -= 0.5 * (family.df + 1.0) * log_product(left)
    return value


def _diagnostics(design: HeavyDesign, found: Matched, draws: WeightedDraws, trusted: bool) -> StudentDiagnostics:
    base, statistics = found.posterior.diagnostics, found.statistics
    warning = (
        f"the regression of {design.rows.child!r} with heavy tails is far from its approximation (k-hat "
        f"{draws.k_hat:.2f}, {100 * draws.effective_share:.0f}% of the draws count) and could not be sampled: numbers "
        "may be off; leave out causes that you can rule out"
    )
    return StudentDiagnostics(
        engine=base.engine,
        warnings=(*base.warnings, *(() if trusted else (warning,))),
        family="student",
        rows=statistics.rows,
        draws=draws.size,
        ess=draws.effective_share,
        k_hat=draws.k_hat,
        total_variation=draws.total_variation,
        converged=trusted and base.is_reliable,
        df=design.family.df,
        light=statistics.light,
        least_weight=statistics.weights[0],
        largest_weight=statistics.weights[1],
    )
