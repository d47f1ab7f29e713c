"""`HiddenModel`: draws of one fitted graph's regressions, from which the effect under any hidden cause follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from alldags.effects.hidden.conditional import NodeSample
from alldags.effects.hidden.direct import DirectAnswer, direct_answer, direct_effect
from alldags.effects.hidden.spikes import Spike
from alldags.effects.hidden.strengths import Number, error_slopes, loadings_of_factor
from alldags.effects.hidden.weighted import WeightedDraws
from alldags.typing import FloatArray

Effects = dict[str, FloatArray]
"""Effect of the treatment on variables, shape (size,) each."""


@dataclass(frozen=True, eq=False)
class NodeDraws:
    """Draws of one node on the way from treatment to outcome, p of whose parents are on it, too.

    Parameters
    ----------
    child
        Its name.
    parents
        Those of its parents that are on the way.
    coefficients
        Shape (size, p).
    noise
        Standard deviation of its noise, shape (size,).
    forced
        Positions among `parents` of the nodes hit before, if it is hit; empty if not.
    spikes
        What may be said of edges from those; empty if it is not hit.
    sample
        All its coefficients.
    """

    child: str
    parents: tuple[str, ...]
    coefficients: FloatArray
    noise: FloatArray
    forced: tuple[int, ...]
    spikes: tuple[Spike, ...]
    sample: NodeSample

    @property
    def is_hit(self) -> bool:
        """Whether the hidden cause acts on it."""
        return bool(self.spikes)

    def take(self, rows: slice) -> NodeDraws:
        """Return some of the draws."""
        s = self.sample
        few = NodeSample(s.problem, s.coefficients[rows], s.variance[rows], s.setting[rows])
        parts = tuple(one.take(rows) for one in self.spikes)
        return replace(self, coefficients=self.coefficients[rows], noise=self.noise[rows], spikes=parts, sample=few)


@dataclass(frozen=True, eq=False)
class Branch:
    """The recursion so far under one answer about absent edges.

    Parameters
    ----------
    effects
        On the variables so far.
    structural
        Structural coefficients of hit nodes on those hit before: ``structural[k][j]``, shape (size,).
    log_weight
        Of each draw, shape (size,).
    direct
        Whether the treatment has a direct edge to the outcome.
    """

    effects: Effects
    structural: dict[str, Effects]
    log_weight: FloatArray
    direct: bool = True


@dataclass(frozen=True, eq=False)
class HiddenModel:
    """Draws of the regressions between treatment and outcome in one graph, in working units.

    Parameters
    ----------
    treatment, outcome
        Names.
    hits
        Nodes that the hidden cause acts on, the treatment first, then causes first.
    treatment_noise
        Standard deviation of the treatment's noise, shape (size,).
    treatment_sample
        All coefficients of the treatment's regression.
    nodes
        The others on the way, causes first; none if there is no way.
    has_structure
        Whether the engine knows of edges being absent.
    """

    treatment: str
    outcome: str
    hits: tuple[str, ...]
    treatment_noise: FloatArray
    treatment_sample: NodeSample
    nodes: tuple[NodeDraws, ...]
    has_structure: bool
    _kept: dict[object, FloatArray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.treatment_noise)

    def take(self, rows: slice) -> HiddenModel:
        """Return some of the draws."""
        t = self.treatment_sample
        few = NodeSample(t.problem, t.coefficients[rows], t.variance[rows], t.setting[rows])
        return replace(
            self, treatment_noise=self.treatment_noise[rows], treatment_sample=few,
            nodes=tuple(node.take(rows) for node in self.nodes), _kept={},
        )  # fmt: skip

    @property
    def answers(self) -> int:
        """Number of answers to which edges between hit nodes are absent."""
        return int(np.prod([len(node.spikes) for node in self.nodes if node.is_hit], dtype=float))

    # -- the effect under a strength ---------------------------------------------------------------------------------

    def effect(self, loadings: Mapping[str, Number]) -> WeightedDraws:
        """Return the total effect when the hidden cause has these loadings, one number or one for each draw."""
        if not self.nodes:
            return WeightedDraws(np.zeros(1), np.ones(1), 1.0 if self.has_structure else None)
        noise = {self.treatment: self.treatment_noise} | {node.child: node.noise for node in self.nodes}
        slopes = error_slopes(self.hits, loadings, noise)
        start = Branch({self.treatment: np.ones(self.size)}, {}, np.zeros(self.size))
        ends = list(self._branches(start, 0, slopes))
        top = max(float(end.log_weight.max()) for end in ends)
        weights = [np.exp(end.log_weight - top) for end in ends]
        masses = np.array([weight.sum() for weight in weights])
        kept = [i for i, mass in enumerate(masses) if mass > 1e-12 * masses.sum()]
        none = sum(masses[i] for i in kept if not ends[i].direct) / masses[kept].sum()
        return WeightedDraws(
            np.concatenate([ends[i].effects[self.outcome] for i in kept]),
            np.concatenate([weights[i] for i in kept]) / masses[kept].sum(),
            float(none) if self.has_structure else None,
        )

    def effect_of_factor(self, factor: Number) -> WeightedDraws:
        """Return the total effect under a bias factor, the hidden cause hitting treatment and outcome alone."""
        if not self.nodes or self.hits != (self.treatment, self.outcome):
            treatment, outcome = loadings_of_factor(factor)
            return self.effect({self.treatment: treatment, self.outcome: outcome})
        return direct_effect(self._direct, factor, self.has_structure)

    @cached_property
    def _direct(self) -> tuple[DirectAnswer, ...]:
        """What is known of the outcome's node, the only one that is hit."""
        effects = {self.treatment: np.ones(self.size)}
        for node in self.nodes[:-1]:
            effects[node.child] = self._carried(node, None, effects)
        node = self.nodes[-1]
        found = []
        for spike in node.spikes:
            carried, pulled = self._carried(node, spike, effects), np.zeros(self.size)
            if spike.absent:
                pulled = self._pulled(node, spike, 0, effects)
                carried = carried - node.coefficients[:, node.forced[0]] * pulled
            found.append(direct_answer(spike, node.noise / self.treatment_noise, carried, pulled))
        return tuple(found)

    def _branches(self, branch: Branch, place: int, slopes: dict[str, Effects]) -> Iterator[Branch]:
        """Carry the effect through the nodes from `place` on, under every answer about absent edges."""
        if place == len(self.nodes):
            yield branch
            return
        node = self.nodes[place]
        if not node.is_hit:
            value = self._carried(node, None, branch.effects)
            yield from self._branches(replace(branch, effects=branch.effects | {node.child: value}), place + 1, slopes)
        for spike in node.spikes:
            yield from self._branches(self._step(node, spike, branch, slopes), place + 1, slopes)

    def _step(self, node: NodeDraws, spike: Spike, branch: Branch, slopes: dict[str, Effects]) -> Branch:
        """Carry the effect through one hit node."""
        own = slopes[node.child]
        before = [node.parents[i] for i in node.forced]
        phantom = {name: self._phantom(name, own, branch) for name in before}
        absent = {node.forced[i] for i in spike.absent}
        value = self._carried(node, spike, branch.effects)
        target = np.empty((self.size, len(absent)))
        for z, i in enumerate(spike.absent):
            name, column = before[i], node.forced[i]
            target[:, z] = own[name] - phantom[name]
            moved = target[:, z] - node.coefficients[:, column]
            value = value + moved * self._pulled(node, spike, z, branch.effects)
            if name == self.treatment:
                value = value - phantom[name] * branch.effects[name]
            else:
                value = value + target[:, z] * branch.effects[name]
        if node.parents.index(self.treatment) not in absent:
            value = value - own[self.treatment]
        structural = branch.structural
        if node.child != self.hits[-1]:
            structural = structural | {node.child: self._structural(node, spike, target, own, phantom)}
        return Branch(
            branch.effects | {node.child: value},
            structural,
            branch.log_weight + spike.log_weight(target),
            branch.direct and not (node.child == self.outcome and node.parents.index(self.treatment) in absent),
        )

    def _phantom(self, name: str, own: Effects, branch: Branch) -> Number:
        """Return what earlier hit nodes take away from the coefficient of `name`: their slopes times its action."""
        parts = [own[j] * theta[name] for j, theta in branch.structural.items() if name in theta]
        return sum(parts[1:], start=parts[0]) if parts else 0.0

    def _structural(
        self, node: NodeDraws, spike: Spike, target: FloatArray, own: Effects, phantom: Mapping[str, Number]
    ) -> Effects:
        """Return the structural coefficients of a hit node on those hit before it."""
        found = {}
        for i, column in enumerate(node.forced):
            name = node.parents[column]
            if i in spike.absent:
                found[name] = np.zeros(self.size)
                continue
            moved = [node.coefficients[:, node.forced[j]] for j in spike.absent]
            shift = sum(
                (spike.pull[:, column, z] * (target[:, z] - moved[z]) for z in range(len(moved))),
                start=np.zeros(self.size),
            )
            found[name] = node.coefficients[:, column] + shift - own[name] + phantom[name]
        return found

    def _carried(self, node: NodeDraws, spike: Spike | None, effects: Effects) -> FloatArray:
        """Return the sum of coefficients times effects over the parents whose edges are not absent."""
        absent = set() if spike is None else {node.forced[i] for i in spike.absent}
        return self._sum(node, node.coefficients, absent, effects, (node.child, tuple(absent)))

    def _pulled(self, node: NodeDraws, spike: Spike, z: int, effects: Effects) -> FloatArray:
        absent = {node.forced[i] for i in spike.absent}
        return self._sum(node, spike.pull[:, :, z], absent, effects, (node.child, tuple(absent), z))

    def _sum(self, node: NodeDraws, factors: FloatArray, absent: set[int], effects: Effects, key: object) -> FloatArray:
        steady = all(name in self._steady for name in node.parents)
        if steady and key in self._kept:
            return self._kept[key]
        value = np.zeros(self.size)
        for i, name in enumerate(node.parents):
            if i not in absent:
                value += factors[:, i] * effects[name]
        if steady:
            self._kept[key] = value
        return value

    @cached_property
    def _steady(self) -> set[str]:
        """Variables on which the treatment's effect does not depend on the hidden cause."""
        found = {self.treatment}
        for node in self.nodes:
            if not node.is_hit and found.issuperset(node.parents):
                found.add(node.child)
        return found

    # -- parts of it -------------------------------------------------------------------------------------------------

    def parts(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return ``A`` and ``B_k``, all edges between hit nodes present: the effect is ``A - sum_k g_k B_k``.

        ``A`` is the effect without hidden cause, ``B_k`` the noise of a hit node over that of the treatment, times its
        own effect on the outcome in the observed regressions; shape (size,) each.
        """
        after = {
            node.child: self._observed(node.child) * node.noise / self.treatment_noise
            for node in self.nodes
            if node.is_hit
        }
        return self._observed(self.treatment), after

    def _observed(self, source: str) -> FloatArray:
        """Return the effect of a variable on the outcome that the observed regressions would have."""
        effects = {source: np.ones(self.size)}
        for node in self.nodes:
            if node.child != source:
                pairs = [(i, name) for i, name in enumerate(node.parents) if name in effects]
                parts = [node.coefficients[:, i] * effects[name] for i, name in pairs]
                effects[node.child] = sum(parts, start=np.zeros(self.size))
        return effects[self.outcome] if self.outcome in effects else np.zeros(self.size)

    def sample_of(self, name: str) -> NodeSample:
        """Return the draws of the regression of the treatment, or of a node on the way."""
        if name == self.treatment:
            return self.treatment_sample
        return next(node.sample for node in self.nodes if node.child == name)
