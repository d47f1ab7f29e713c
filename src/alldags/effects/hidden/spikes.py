"""A node that a hidden cause hits: its direct edges from other such nodes may be absent, although they look present.

The observed regression of a hit node has a coefficient for every node hit before it, whatever the graph: the hidden
cause makes one. That there is *no* edge says that this coefficient is a certain number, its *target*. How probable that
is follows from the draws in which the coefficient is free, by the generalised Savage-Dickey ratio (Verdinelli and
Wasserman 1995): posterior density at the target, over prior density of the structural coefficient at zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from alldags.effects.hidden.conditional import NodeSample, solve_sets
from alldags.nodes.problem import NodeProblem
from alldags.typing import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Spike:
    """One answer to which of the edges from other hit nodes are absent: z of them.

    Parameters
    ----------
    absent
        Positions among the hit nodes before, z of them.
    log_constant
        Log prior weight of this answer, less what the density at the target does not hold, shape (size,).
    mean, inverse
        Of the normal distribution of the absent edges' observed coefficients, shapes (size, z) and (size, z, z).
    pull
        How far the other coefficients move per unit of these, shape (size, parents, z).
    """

    absent: tuple[int, ...]
    log_constant: FloatArray
    mean: FloatArray
    inverse: FloatArray
    pull: FloatArray

    def log_weight(self, target: FloatArray) -> FloatArray:
        """Return the log weight of every draw, shape (size,); `target` has shape (size, z)."""
        if not self.absent:
            return self.log_constant
        gap = target - self.mean
        if len(self.absent) == 1:
            return np.asarray(self.log_constant - 0.5 * self.inverse[:, 0, 0] * gap[:, 0] ** 2)
        return np.asarray(self.log_constant - 0.5 * np.einsum("si,sij,sj->s", gap, self.inverse, gap))

    def take(self, rows: slice) -> Spike:
        """Return some of the draws."""
        return Spike(self.absent, self.log_constant[rows], self.mean[rows], self.inverse[rows], self.pull[rows])


def spikes(sample: NodeSample, stated: NodeProblem, forced: Sequence[str], parents: Sequence[str]) -> Iterator[Spike]:
    """Yield every possible answer to which edges are absent; an engine without parent sets has one, that none is.

    Parameters
    ----------
    sample
        Draws of the node with all edges from hit nodes present.
    stated
        Its problem with the edges' probabilities as they are; without edges that the graph excludes.
    forced
        The nodes hit before.
    parents
        Terms whose coefficients are wanted.
    """
    terms = sample.problem.terms
    places, wanted = [terms.index(name) for name in forced], [terms.index(name) for name in parents]
    mean, inverse = solve_sets(sample, places)
    for absent in _answers(stated, forced):
        chosen = [places[i] for i in absent]
        block = inverse[:, chosen][:, :, list(absent)]
        yield Spike(
            absent,
            _log_prior(sample, stated, forced, absent) + _log_density_ratio(sample, block),
            mean[:, chosen],
            np.linalg.inv(block) / sample.spread[:, None, None],
            inverse[:, wanted][:, :, list(absent)] @ np.linalg.inv(block),
        )


def free_of_spikes(size: int, parents: int) -> Spike:
    """Return the one answer of an engine without parent sets: no edge is absent."""
    return Spike((), np.zeros(size), np.zeros((size, 0)), np.zeros((size, 0, 0)), np.zeros((size, parents, 0)))


def _answers(stated: NodeProblem, forced: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of edges that may be absent: excluded edges always are, certain ones never."""
    must = [i for i, name in enumerate(forced) if name not in stated.terms]
    may = [i for i, name in enumerate(forced) if name in stated.terms and not stated.certain[stated.terms.index(name)]]
    for count in range(len(may) + 1):
        for some in itertools.combinations(may, count):
            yield tuple(sorted((*must, *some)))


def _log_prior(sample: NodeSample, stated: NodeProblem, forced: Sequence[str], absent: tuple[int, ...]) -> FloatArray:
    """Return the log prior weight of the absent edges, given the other terms of each draw, shape (size,)."""
    places = {i: stated.terms.index(name) for i, name in enumerate(forced) if name in stated.terms}
    uncertain = {i: place for i, place in places.items() if not stated.certain[place]}
    present = [place for i, place in uncertain.items() if i not in absent]
    log = float(stated.log_odds[present].sum())
    if stated.log_size is None or sample.problem.log_size is None:
        log += float(np.log1p(-stated.probability[list(uncertain.values())]).sum())
        return np.full(len(sample.variance), log)
    others = (sample.masks & sample.problem.uncertain).sum(axis=1)
    return np.asarray(log + stated.log_size[others + len(present)] - sample.problem.log_size[others])


def _log_density_ratio(sample: NodeSample, block: FloatArray) -> FloatArray:
    """Return the constants of the posterior density at the target over the prior density at zero, shape (size,)."""
    count = block.shape[1]
    if not count:
        return np.zeros(len(sample.variance))
    determinant = np.linalg.slogdet(block)[1]
    posterior = -0.5 * (count * np.log(sample.spread) + determinant)
    if sample.problem.settings[0].slab == "g":
        prior = -0.5 * (count * np.log(sample.spread * (1.0 + sample.slab)) + determinant)
    else:
        prior = -0.5 * count * np.log(sample.spread * sample.slab)
    return np.asarray(posterior - prior + _noise_ratio(sample, count))


def _noise_ratio(sample: NodeSample, count: int) -> FloatArray:
    """Return what a prior of the noise that counts parents adds when there are `count` fewer, shape (size,)."""
    from scipy.special import gammaln

    noise = sample.problem.settings[0].noise
    if not noise.ties_directions:
        return np.zeros(len(sample.variance))
    more = 0.5 * (getattr(noise, "dof", 0.0) + sample.masks.sum(axis=1))
    fewer = more - noise.shape_per_parent * count
    rate = 0.5 / sample.slab
    return np.asarray((fewer - more) * np.log(rate / sample.variance) + gammaln(more) - gammaln(fewer))
