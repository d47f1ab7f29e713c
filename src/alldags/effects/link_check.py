"""What the link does to an answer: the same effect with and without it."""

from __future__ import annotations

from dataclasses import dataclass

from alldags.effects.total import TotalEffect
from alldags.models.mixture import Mixture

_MOST_NAMED = 5


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
        The covariates that moved the answer, with about how far each did, farthest first: leaving a cause ``c`` out
        biases the effect by its coefficient in the later node times its coefficient in the treatment.
    """

    mean: float
    mean_without: float
    shift: float
    covariates: tuple[tuple[str, float], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The covariates that moved the answer most, at most five."""
        return tuple(name for name, _ in self.covariates[:_MOST_NAMED])


def link_check(linked: Mixture[TotalEffect], plain: Mixture[TotalEffect], unit: float, sd: float) -> LinkCheck:
    """Compare the effect in linked models with that in plain ones."""
    mean, without = (unit * totals.average(lambda total: total.mean) for totals in (linked, plain))
    pairs = linked.paired(plain)
    moved = {name: unit * pairs.average(lambda pair, name=name: _moved(name, *pair)) for name in _covariates(linked)}  # type: ignore[misc]
    listed = sorted((pair for pair in moved.items() if pair[1]), key=lambda pair: -abs(pair[1]))
    return LinkCheck(mean, without, (mean - without) / sd if sd > 0 else 0.0, tuple(listed))


def _covariates(totals: Mixture[TotalEffect]) -> list[str]:
    """Return the candidate parents of nodes on the way whose probability was raised."""
    found: dict[str, None] = {}
    for total in totals.items:
        for child in total.span.reached:
            margin = total.model.margin(child)
            raised = zip(margin.parents, margin.raised, strict=True)
            found.update(dict.fromkeys(name for name, value in raised if value > 0))
    return list(found)


def _moved(name: str, linked: TotalEffect, plain: TotalEffect) -> float:
    """Return about how far one covariate moved the effect in one model."""
    gained = sum(
        (_coefficient(linked, name, child) - _coefficient(plain, name, child)) * linked.onward(child)
        for child in linked.span.reached
        if name in linked.model.graph.parents(child)
    )
    return -gained * linked.model.link_coefficient(name, linked.span.variables[:-1])


def _coefficient(total: TotalEffect, cause: str, effect: str) -> float:
    margin = total.model.margin(effect)
    return float(margin.mean[margin.parents.index(cause)]) if cause in margin.parents else 0.0
