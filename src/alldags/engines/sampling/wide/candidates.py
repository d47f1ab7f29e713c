"""All candidates of a wide node as arrays, without cross-products of all with all, and the system of a few of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alldags.engines.conjugate.system import ConjugateTerms, conjugate_terms
from alldags.engines.sampling.run import CHANCES, copies
from alldags.kernels.noise import NoiseTerm
from alldags.kernels.sampler.chain import Systems, padded
from alldags.kernels.sampler.cold import Candidates
from alldags.kernels.sampler.flip import ILL_PIVOT
from alldags.kernels.sampler.target import Target
from alldags.nodes import NodeProblem
from alldags.nodes.products import Products, products_of
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Wide:
    """A problem whose candidates are single columns, in all its settings.

    Parameters
    ----------
    problem
        As it was asked for.
    products
        Cross-products, piece by piece.
    terms
        All else, one for each setting.
    """

    problem: NodeProblem
    products: Products
    terms: tuple[ConjugateTerms, ...]

    @property
    def k(self) -> int:
        """Number of candidates."""
        return self.problem.k

    @cached_property
    def given(self) -> tuple[Candidates, ...]:
        """The same for the kernels."""
        return tuple(
            Candidates(
                one.factor,
                one.scale,
                one.shift,
                one.log_factor,
                np.ascontiguousarray(one.log_size),
                one.has_determinant,
                NoiseTerm(*one.noise),
                np.ascontiguousarray(one.certain),
            )
            for one in self.terms
        )

    @cached_property
    def reach(self) -> FloatArray:
        """How much a coefficient may change in a set that was not met, shape (k,): as if it explained all alone."""
        return np.asarray(np.sqrt(2.0 * self.terms[0].noise.whole / np.maximum(self.products.diagonal, 1e-300)))


def wide_problem(problem: NodeProblem) -> Wide:
    """Return a problem as the wide sampler sees it."""
    products = products_of(problem.gram)
    terms = (conjugate_terms(replace(problem, settings=(one,)), products.diagonal) for one in problem.settings)
    return Wide(problem, products, tuple(terms))


@dataclass(frozen=True, eq=False)
class Division:
    """Which candidates are hot: swept often, by the systems of these alone.

    Parameters
    ----------
    wide
        The problem.
    places
        The hot candidates, ascending, shape (h,); all certain ones are among them.
    """

    wide: Wide
    places: IntArray

    @cached_property
    def is_hot(self) -> BoolArray:
        """Shape (k,)."""
        out = np.zeros(self.wide.k, dtype=bool)
        out[self.places] = True
        return out

    @cached_property
    def systems(self) -> Systems:
        """Those of the hot candidates, when no other is present."""
        return systems_of(self.wide, self.places, self.wide.products.block(self.places), 0)

    @cached_property
    def among_all(self) -> FloatArray:
        """Cross-products of the hot candidates with all, shape (h, k)."""
        return self.wide.products.times(self.places)

    @cached_property
    def place(self) -> IntArray:
        """Position of each candidate among the hot ones, shape (k,), -1 for all others."""
        out = np.full(self.wide.k, -1)
        out[self.places] = np.arange(len(self.places))
        return out

    def columns(self, members: IntArray) -> FloatArray:
        """Return the cross-products of m candidates with all, shape (m, k)."""
        at = self.place[members]
        if (at >= 0).all():
            return np.asarray(self.among_all[at])
        out = np.empty((len(members), self.wide.k))
        out[at >= 0] = self.among_all[at[at >= 0]]
        out[at < 0] = self.wide.products.times(members[at < 0])
        return out

    def with_guests(self, guests: IntArray) -> Systems:
        """Return the systems of the hot candidates and g others that are present, and stay, shape (g,)."""
        if len(guests) == 0:
            return self.systems
        beside = self.columns(guests)
        h, g = len(self.places), len(guests)
        gram = np.empty((h + g, h + g))
        gram[:h, :h] = self.systems.gram[:, :h]
        gram[h:, :h] = beside[:, self.places]
        gram[:h, h:] = gram[h:, :h].T
        gram[h:, h:] = beside[:, guests]
        return systems_of(self.wide, np.append(self.places, guests), gram, g, self.systems)


def systems_of(wide: Wide, places: IntArray, gram: FloatArray, guests: int, alone: Systems | None = None) -> Systems:
    """Return the systems of some candidates, the last `guests` of which are present and stay.

    Sets are weighed as among all candidates: the guests count for their own prior, and as parents. `alone` are the
    systems without guests, from which comes what is the same.
    """
    k, terms, problem = len(places), wide.terms, wide.problem
    stays = problem.certain[places]
    stays[k - guests :] = True
    padded_gram = np.zeros((k, padded(k)))
    padded_gram[:, :k] = gram
    count = int((~stays).sum())
    noises = [one.noise for one in terms]
    scale = np.array([one.scale[places] for one in terms])
    factor = np.array([one.factor for one in terms])
    same = np.full(k, -1)
    if alone is None:
        same[~stays] = copies(gram[np.ix_(~stays, ~stays)])
    else:
        same[: k - guests] = alone.copies
    return Systems(
        gram=padded_gram,
        factor=factor,
        scale=scale,
        shift=np.array([one.shift[places] for one in terms]),
        log_factor=np.array([one.log_factor[places] for one in terms]),
        log_size=np.ascontiguousarray(terms[0].log_size[guests : guests + count + 1]),
        log_columns=np.zeros(1),
        constant=np.array([one.log_constant for one in terms]),
        has_determinant=np.array([one.has_determinant for one in terms]),
        known_noise=np.array([one.known for one in noises]),
        whole=np.array([one.whole for one in noises]),
        shape=np.array([one.shape + guests * one.shape_per_parent for one in noises]),
        shape_per_parent=np.array([one.shape_per_parent for one in noises]),
        noise_unit=np.array([setting.noise.unit for setting in problem.settings]),
        certain=stays,
        certain_columns=k - count,
        starts=np.arange(k + 1),
        leads=(~stays).astype(np.int64),
        copies=same,
        chance=np.clip(problem.prior_inclusion[places], *CHANCES) if (same >= 0).any() else np.full(k, 0.5),
        costly=(same >= 0) & (scale - np.outer(factor, wide.products.diagonal[places]) < ILL_PIVOT * scale),
    )


def with_room(target: Target, guests: int) -> Target:
    """Return a target over hot candidates with so many guests beside them, which no move touches."""
    if guests == 0:
        return target
    none = np.zeros((len(target.jumps), guests), dtype=bool)
    return target._replace(
        reference=np.append(target.reference, np.zeros(guests)),
        jumps=np.ascontiguousarray(np.hstack([target.jumps, none])),
        pattern=np.ascontiguousarray(np.hstack([target.pattern, none])),
    )
