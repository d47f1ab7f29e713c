"""`TermNode`: the regression of one child on derived columns, averaged over structures of effect modification."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.engines.sampling.asked import Run, sample_asked
from alldags.errors import DataError
from alldags.graph.terms import ChildTerms, Terms
from alldags.models.link import link_prior
from alldags.models.terms.columns import Along, Bend, Column, Line, RowValues, Times, matrix_of
from alldags.models.terms.make import Rows, base_columns, bends_of, given_columns
from alldags.models.terms.moments import ArmMoments, arm_moments
from alldags.models.terms.structures import Draws, Structure, StructureFit, fit_structure, structure
from alldags.nodes import NodeProblem
from alldags.priors.prior import Prior
from alldags.typing import BoolArray, FloatArray, IntArray

_NEGLIGIBLE = 0.01  # weight of a structure below which it is left out
_HOPELESS = 4.6  # nats below the best, likewise
_LINK_RUN = Run(warm_up=60, sweeps=200, most=200)
_LINKED = 0.5  # weight of the answer with the link, beside the one without: outcomes cannot tell which is right
_LEAST_ROWS = 20  # in each arm, for arms of their own


@dataclass(frozen=True, eq=False)
class TermSpec:
    """What a regression on derived columns is made from.

    Parameters
    ----------
    child
        Its name.
    terms
        What is wanted.
    causes
        Candidate causes with their probabilities.
    treatment
        The treatment of the question, if it is a candidate cause or may act on one; else None.
    after
        Variables that the treatment may act on.
    rows
        Where rows are read.
    prior
        Of slab, noise and link.
    """

    child: str
    terms: ChildTerms
    causes: Mapping[str, float]
    treatment: str | None
    after: frozenset[str]
    rows: Rows
    prior: Prior


@dataclass(frozen=True, eq=False)
class TermNode:
    """The posterior of a child's regression on derived columns.

    Parameters
    ----------
    spec
        What it was made from.
    arms
        The two values of a yes/no treatment whose arms have intercepts of their own, shape (2,); else None.
    columns
        Base columns, K of them.
    raw
        Their moments and the child's, in the user's units.
    fits, weights
        Structures, without and with link, and the posterior probability of each.
    plain, shares
        The structures without link, and their posterior probabilities.
    no_effect
        Posterior probability that a yes/no treatment is no cause of the child; 0 if it has no arms here.
    evidence_error
        Monte-Carlo error of the log evidences that weights were made of.
    """

    spec: TermSpec
    arms: FloatArray | None
    columns: tuple[Column, ...]
    raw: ArmMoments
    fits: tuple[StructureFit, ...]
    weights: FloatArray
    plain: tuple[StructureFit, ...]
    shares: FloatArray
    no_effect: float = 0.0
    evidence_error: float = 0.0

    @property
    def child(self) -> str:
        """Its name."""
        return self.spec.child

    @property
    def unit(self) -> float:
        """User's units of the child per standardised unit."""
        return float(self.raw.scale[-1])

    @property
    def center(self) -> float:
        """Mean of the child."""
        return float(self.raw.pooled[0][-1])

    @cached_property
    def moments(self) -> ArmMoments:
        """Standardised moments."""
        return self.raw.standardised()

    def base(self, rows: RowValues) -> FloatArray:
        """Return the standardised base columns of some rows, shape (rows, K)."""
        mean, _ = self.raw.pooled
        return np.asarray((matrix_of(self.columns, rows) - mean[:-1]) / self.raw.scale[:-1])

    def arm_of(self, rows: RowValues) -> IntArray:
        """Return the arm of each row, shape (rows,)."""
        if self.arms is None:
            return np.zeros(rows.count, dtype=np.int64)
        assert self.spec.treatment is not None
        return np.asarray(rows.values[self.spec.treatment] == self.arms[1], dtype=np.int64)

    def intercept(self, fit: StructureFit, draws: Draws, arm: int, noise: FloatArray | float = 0.0) -> FloatArray:
        """Return the intercept of an arm in standardised units, shape (draws,); `noise` are standard normal numbers."""
        mean = self.moments.mean[arm]
        variance = draws.variance * (draws.ratio if arm else 1.0) / self.moments.rows[arm]
        return np.asarray(mean[-1] - draws.coefficients @ fit.structure.at(arm, mean[:-1]) + noise * np.sqrt(variance))

    def members(self, variable: str) -> BoolArray:
        """Return which base columns contain a variable, shape (K,)."""
        return np.array([variable in column.variables for column in self.columns], dtype=bool)

    def edge_probability(self, cause: str) -> float:
        """Return the posterior probability that a cause is in the regression: that one of its terms is."""
        if self.arms is not None and cause == self.spec.treatment:
            return 1.0 - self.no_effect
        return float(sum(w * self._present(fit, cause) for w, fit in zip(self.weights, self.fits, strict=True)))

    def _present(self, fit: StructureFit, cause: str) -> float:
        mask = self.members(cause)[fit.structure.places]
        absent = fit.node.probability_disjoint(mask[None])
        return 0.0 if absent is None or not mask.any() else 1.0 - float(absent[0])

    @property
    def converged(self) -> bool:
        """Whether every structure that carries weight was computed, or its chains agree on what was asked."""
        return all(
            fit.node.diagnostics.is_reliable
            for weight, fit in zip(self.weights, self.fits, strict=True)
            if weight > _NEGLIGIBLE
        )

    @property
    def engines(self) -> tuple[str, ...]:
        """How the structures that carry weight were computed."""
        return tuple(
            fit.node.diagnostics.engine for w, fit in zip(self.weights, self.fits, strict=True) if w > _NEGLIGIBLE
        )


# -- fitting ----------------------------------------------------------------------------------------------------------


def fit_term_node(spec: TermSpec, rng: np.random.Generator) -> TermNode:
    """Make columns from rows, and fit and weigh the structures."""
    sample = spec.rows.sample()
    arms = _arms(spec, sample)
    made = _columns(spec, arms, sample)
    treatment = None if arms is None else spec.treatment
    raw = arm_moments(made, spec.child, treatment, np.array([]) if arms is None else arms, spec.rows.batches())
    kept = raw.distinct()
    columns, raw = tuple(made[i] for i in kept), raw.chosen(kept)
    moments = raw.standardised()
    found = _structures(spec, columns, 1 if arms is None else 2, _raised(spec, columns, arms, moments, rng))
    chosen = [item.varying(moments) for item in found]
    streams = rng.spawn(2 * len(chosen))
    asked = [_asked(spec, columns, raw, item, moments, sample) for item in chosen]
    plain = tuple(
        fit_structure(item.unlinked(), moments, spec.prior, question, stream)
        for item, question, stream in zip(chosen, asked, streams, strict=False)
    )
    shares, error = _weighed(plain)
    linked = [
        (_LINKED * share, fit_structure(item, moments, spec.prior, question, stream))
        for item, question, stream, share in zip(chosen, asked, streams[len(chosen) :], shares, strict=True)
        if item.raised.any() and share > _NEGLIGIBLE
    ]
    weights = [
        share * (1.0 - _LINKED * (item.raised.any() and share > _NEGLIGIBLE))
        for item, share in zip(chosen, shares, strict=True)
    ]
    fits = (*plain, *(fit for _, fit in linked))
    whole = np.array([*weights, *(weight for weight, _ in linked)])
    node = TermNode(spec, arms, columns, raw, fits, whole, plain, shares, evidence_error=error)
    return replace(node, no_effect=_no_effect(node)) if arms is not None else node


def _arms(spec: TermSpec, sample: RowValues) -> FloatArray | None:
    """Return the two values of the treatment if its arms have intercepts of their own."""
    if spec.treatment is None or spec.treatment not in spec.causes or not isinstance(spec.terms, Terms):
        return None
    values = sample.values[spec.treatment]
    levels = np.unique(values)
    if len(levels) != 2:
        return None
    counts = np.array([(values == level).sum() for level in levels])
    if counts.min() < _LEAST_ROWS:
        raise DataError(
            f"only {int(counts.min())} rows have {spec.treatment} = {levels[np.argmin(counts)]:g}: too few for curves, "
            f"at least {_LEAST_ROWS} are needed; leave {spec.child!r} out of terms"
        )
    return np.asarray(levels)


def _columns(spec: TermSpec, arms: FloatArray | None, sample: RowValues) -> tuple[Column, ...]:
    if not isinstance(spec.terms, Terms):
        return given_columns(spec.terms, tuple(spec.causes), sample)
    if arms is not None:
        causes = tuple(name for name in spec.causes if name != spec.treatment)
        before = tuple(name for name in causes if name not in spec.after)
        return base_columns(spec.terms, causes, spec.child, spec.treatment, before, sample)
    causes = tuple(name for name in spec.causes if name != spec.treatment)
    before = tuple(name for name in causes if name not in spec.after)
    base = base_columns(spec.terms, causes, spec.child, None, before, sample) if causes else ()
    if spec.treatment not in spec.causes:
        return base
    assert spec.treatment is not None
    values = sample.values[spec.treatment]
    own: tuple[Column, ...] = (Line(spec.treatment), *bends_of(spec.treatment, values, spec.terms.curves))
    if spec.terms.modification == "none":
        return (*base, *own)
    center = float(values.mean())
    return (*base, *own, *(Times(column, spec.treatment, center) for column in base))


def _structures(spec: TermSpec, columns: Sequence[Column], arms: int, raised: FloatArray) -> list[Structure]:
    probability = np.array([_probability(spec, column) for column in columns])
    if arms == 2:
        assert isinstance(spec.terms, Terms)
        wanted = spec.terms.modification
        names = ("common", "shared", "arms") if wanted == "average" else (wanted.replace("none", "common"),)
        return [structure(name, probability, raised, 2) for name in names]
    whole = replace(structure("common", probability, raised, 1), counted=bool(spec.terms))
    varying = np.array([isinstance(column, Times) for column in columns], dtype=bool)
    if not varying.any():
        return [whole]
    places = np.flatnonzero(~varying)
    common = Structure("common", places, whole.active[:, places], probability[places], raised[places])
    shared = replace(whole, name="shared")
    assert isinstance(spec.terms, Terms)
    return [common, shared] if spec.terms.modification == "average" else [shared]


def _probability(spec: TermSpec, column: Column) -> float:
    """Return the stated probability of a term: a line's is its edge's, any other's that of its least probable cause.

    Where a cause is certain its line is; whether it is bent is open.
    """
    stated = [spec.causes[name] for name in column.variables if name in spec.causes]
    if isinstance(column, Line):
        return stated[0]
    return 0.5 if isinstance(column, Along) else min((p for p in stated if p < 1.0), default=0.5)


def _asked(
    spec: TermSpec,
    columns: tuple[Column, ...],
    raw: ArmMoments,
    chosen: Structure,
    moments: ArmMoments,
    sample: RowValues,
) -> FloatArray:
    """Return the weights of what chains have to agree on, shape (questions, k)."""
    if len(moments.rows) == 2:
        return (chosen.at(0, moments.mean[0, :-1]) - chosen.at(1, moments.mean[1, :-1]))[None]
    movers = [name for name in spec.causes if name == spec.treatment or name in spec.after] or list(spec.causes)
    found = []
    for name in movers:
        values = sample.values[name]
        moved = sample.put({name: values + max(float(values.std()), 1e-12)})
        change = (matrix_of(columns, moved) - matrix_of(columns, sample)).mean(axis=0) / raw.scale[:-1]
        found.append(chosen.at(0, change))
    return np.array(found)


def _weighed(fits: Sequence[StructureFit]) -> tuple[FloatArray, float]:
    """Return the posterior weights of structures that are equally probable a priori, and the error of an evidence."""
    limits = [fit.evidence_limits for fit in fits]
    best = max(low for low, _ in limits)
    alive = [high >= best - _HOPELESS for _, high in limits]
    if sum(alive) == 1:
        return np.array(alive, dtype=float), 0.0
    values = np.array([fit.log_evidence if live else -np.inf for fit, live in zip(fits, alive, strict=True)])
    errors = [getattr(fit.node, "log_evidence_error", 0.0) for fit, live in zip(fits, alive, strict=True) if live]
    weights = np.exp(values - values.max())
    return weights / weights.sum(), max(errors)


def _no_effect(node: TermNode) -> float:
    """Return the posterior probability that the treatment is not in the regression.

    Given coefficients and noise, the difference of the arms' means, less what the columns explain of it, is
    ``m ~ N(tau, s^2 c)``, ``c = 1/n_0 + rho/n_1``. A flat tau integrates to one; without the treatment the density is
    that at ``tau = 0``, and with the prior ``tau ~ N(0, n s^2 c)``, for this comparison only, that of
    ``N(0, (n + 1) s^2 c)``.
    """
    assert node.spec.treatment is not None
    stated = node.spec.causes[node.spec.treatment]
    if stated >= 1.0:
        return 0.0
    log_with, log_without = [], -math.inf
    for weight, fit in zip(node.shares, node.plain, strict=True):
        draws, share, _ = fit._weighted
        mean, rows = node.moments.mean, node.moments.rows
        gap = fit.structure.at(1, mean[1, :-1]) - fit.structure.at(0, mean[0, :-1])
        shift = mean[1, -1] - mean[0, -1] - draws.coefficients @ gap
        variance = draws.variance * (1.0 / rows[0] + draws.ratio / rows[1])
        count = rows.sum()
        if weight > 0.0:
            log_with.append(math.log(weight) + _log_mean(share, _log_normal(shift, (count + 1.0) * variance)))
        if fit.structure.name == "common":
            log_without = (math.log(weight) if weight > 0.0 else -math.inf) + _log_mean(
                share, _log_normal(shift, variance)
            )
    equal = math.log(len(node.plain))  # "without" has the columns of one of the structures
    odds = math.log1p(-stated) - math.log(stated) + log_without + equal - float(np.logaddexp.reduce(log_with))
    return float(1.0 / (1.0 + math.exp(-max(min(odds, 700.0), -700.0))))


def _log_normal(values: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * (np.log(2.0 * math.pi * variance) + values**2 / variance))


def _log_mean(share: FloatArray, logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(share @ np.exp(logs - top)))


# -- the link ---------------------------------------------------------------------------------------------------------


def _raised(
    spec: TermSpec, columns: tuple[Column, ...], arms: FloatArray | None, moments: ArmMoments, rng: np.random.Generator
) -> FloatArray:
    """Return what is added to each base column's probability because it drives the treatment or what lies between.

    Lines and bends of causes before the treatment are looked at, in a regression of each source on them all.
    """
    raised = np.zeros(len(columns))
    eligible = [
        isinstance(column, Line | Bend)
        and column.variables[0] not in spec.after
        and column.variables[0] != spec.treatment
        for column in columns
    ]
    places = np.flatnonzero(eligible)
    sources = _sources(spec, columns, arms, moments)
    if spec.prior.link == 0.0 or places.size == 0 or not sources:
        return raised
    _, scatter = moments.pooled
    spared = np.ones(len(places))
    for cross, total in sources:
        inclusion = _inclusion(spec, scatter[np.ix_(places, places)], cross[places], total, moments, rng)
        spared *= 1.0 - spec.prior.link * inclusion
    raised[places] = 1.0 - spared
    return raised


def _sources(
    spec: TermSpec, columns: tuple[Column, ...], arms: FloatArray | None, moments: ArmMoments
) -> list[tuple[FloatArray, float]]:
    """Return cross-products with all columns, shape (K,), and the sum of squares of the treatment and what it moves."""
    _, scatter = moments.pooled
    found = []
    if arms is not None:
        share = float(moments.rows.prod() / moments.rows.sum())
        found.append((share * (moments.mean[1, :-1] - moments.mean[0, :-1]), share))
    for place, column in enumerate(columns):
        name = column.variables[0]
        if isinstance(column, Line) and (name in spec.after or (name == spec.treatment and arms is None)):
            found.append((scatter[:-1, place], float(scatter[place, place])))
    return found


def _inclusion(
    spec: TermSpec, gram: FloatArray, cross: FloatArray, total: float, moments: ArmMoments, rng: np.random.Generator
) -> FloatArray:
    prior = link_prior(spec.prior)
    k = len(cross)
    stated, log_size = prior.edges_of(np.full(k, 0.5), "")
    rows = float(moments.rows.sum())
    unit = math.sqrt(total / rows)
    problem = NodeProblem(
        child="", terms=tuple(map(str, range(k))), gram=np.ascontiguousarray(gram), cross=cross / unit,
        total=total / unit**2, n=rows - 1.0, probability=stated, settings=(), log_size=log_size, rows=rows,
    )  # fmt: skip
    problem = replace(problem, settings=prior.settings_of(problem))
    return sample_asked(problem, np.zeros((1, k)), 1.0, rng.spawn(1)[0], _LINK_RUN).inclusion
