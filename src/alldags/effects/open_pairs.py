"""Pairs of variables whose direction was left open, and what the data make of each."""

from __future__ import annotations

from dataclasses import dataclass

from alldags.effects.influence import edge_probability
from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture


@dataclass(frozen=True, slots=True)
class OpenPair:
    """Two variables between which both directions are possible.

    Parameters
    ----------
    first, second
        Names; the edge from first to second is at least as probable as the other one.
    forward, backward
        Posterior probabilities of ``first -> second`` and of ``second -> first``.
    """

    first: str
    second: str
    forward: float
    backward: float

    @property
    def none(self) -> float:
        """Posterior probability of no edge between the two."""
        return max(1.0 - self.forward - self.backward, 0.0)

    @property
    def undecided(self) -> float:
        """Probability of the less probable direction."""
        return self.backward


def open_pairs(totals: Mixture[TotalEffect]) -> tuple[OpenPair, ...]:
    """Return the open pairs of the blocks an effect runs through, that of its ends first, then the least decided."""
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for total in totals.items:
        edges = total.model.graph.edges
        for block in total.order_blocks:
            found = [edge for edge in edges if edge[1] in block.variables and edge[::-1] in edges]
            pairs.update({frozenset(edge): edge for edge in found if frozenset(edge) not in pairs})
    ends = {frozenset((total.span.variables[0], total.span.variables[-1])) for total in totals.items if len(total.span)}
    made = {key: _pair(totals, *edge) for key, edge in pairs.items()}
    return tuple(made[key] for key in sorted(made, key=lambda key: (key not in ends, -made[key].undecided)))


def _pair(totals: Mixture[TotalEffect], first: str, second: str) -> OpenPair:
    forward = totals.average(lambda total: edge_probability(total.model, (first, second)))
    backward = totals.average(lambda total: edge_probability(total.model, (second, first)))
    if backward > forward:
        return OpenPair(second, first, backward, forward)
    return OpenPair(first, second, forward, backward)
