"""What the link does to an answer: the same effect with and without it."""

from __future__ import annotations

from dataclasses import dataclass

from alldags.effects.influence import edge_probability
from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture

_MOST_NAMED = 5
_ROSE = 0.05  # posterior probability of an edge, from which on a covariate is named


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """An effect with and without the link, in the user's units.

    Parameters
    ----------
    mean, mean_without
        Posterior mean with the link and without it.
    shift
        Their difference in posterior standard deviations (of the linked answer).
    covariates
        The covariates whose edges into treatment's later nodes became more probable, with the largest rise of each,
        largest first.
    """

    mean: float
    mean_without: float
    shift: float
    covariates: tuple[tuple[str, float], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The covariates that moved most, at most five."""
        return tuple(name for name, _ in self.covariates[:_MOST_NAMED])


def link_check(linked: Mixture[TotalEffect], plain: Mixture[TotalEffect], unit: float, sd: float) -> LinkCheck:
    """Compare the effect in linked models with that in plain ones."""
    mean, without = (unit * totals.average(lambda total: total.mean) for totals in (linked, plain))
    rises = [(name, _rise(name, linked, plain)) for name in _covariates(linked)]
    moved = sorted((pair for pair in rises if pair[1] > _ROSE), key=lambda pair: -pair[1])
    return LinkCheck(mean, without, (mean - without) / sd if sd > 0 else 0.0, tuple(moved))


def _covariates(totals: Mixture[TotalEffect]) -> list[str]:
    """Return the candidate parents of nodes on the way whose probability was raised."""
    found: dict[str, None] = {}
    for total in totals.items:
        for node in total.nodes():
            raised = zip(node.parents, node.raised, strict=True)
            found.update(dict.fromkeys(name for name, value in raised if value > 0))
    return list(found)


def _rise(name: str, linked: Mixture[TotalEffect], plain: Mixture[TotalEffect]) -> float:
    """Return by how much the most affected edge of a covariate became more probable."""
    children = dict.fromkeys(child for total in linked.items for child in total.span.reached)
    return max(_probability(linked, name, child) - _probability(plain, name, child) for child in children)


def _probability(totals: Mixture[TotalEffect], cause: str, effect: str) -> float:
    return totals.average(lambda total: edge_probability(total.model, (cause, effect)))
