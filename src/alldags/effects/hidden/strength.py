"""`Strength`: what is believed about a hidden common cause before looking at anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from alldags import checks
from alldags.errors import PriorError

Direction: TypeAlias = Literal["against", "along", "positive", "negative"]
"""Which way the hidden cause biases the estimate.

``"against"``: it has pushed the estimate away from zero, so that taking it into account works against the estimate;
``"along"``: towards zero; ``"positive"``: upwards, by acting on all it hits in the same direction; ``"negative"``:
downwards, by acting on the treatment in one direction and on the others in the opposite one.
"""

Sign: TypeAlias = Literal["both", "against", "along", "positive", "negative"]
"""A direction, or either of two opposite ones with equal chance."""

Share: TypeAlias = float | tuple[float, float] | str
"""One value, a range with all values equally probable, or a covariate's name: up to as strong as that."""


@dataclass(frozen=True)
class Strength:
    """A prior of the strength of a hidden common cause of treatment and outcome.

    Parameters
    ----------
    r2_treatment
        Share of what covariates leave of the treatment that the hidden cause explains: a number from 0 to 1, a range
        ``(low, high)`` in which all values are equally probable, or the name of a measured covariate: between nothing
        and as much as that one explains.
    r2_outcome
        The same of what covariates and treatment leave of the outcome.
    sign
        ``"against"``: the hidden cause has pushed the estimate away from zero; ``"along"``: towards it;
        ``"positive"``: it acts on all it hits in the same direction; ``"negative"``: on the treatment in one direction
        and on the others in the opposite one; ``"both"``: either, with equal probability.
    probability
        That there is such a cause at all.
    shares
        For a cause that acts on mediators, too: in place of the first two, the share of each variable's own error that
        it explains, ``{name: number or range}`` for treatment and everything it hits.

    Examples
    --------
    >>> import alldags as ad
    >>> ad.Strength(r2_treatment=(0, 0.3), r2_outcome="age", probability=0.5).sign
    'both'
    """

    r2_treatment: Share = (0.0, 0.3)
    r2_outcome: Share = (0.0, 0.3)
    sign: Sign = "both"
    probability: float = 1.0
    shares: Mapping[str, Share] | None = None

    def __post_init__(self) -> None:
        checks.one_of("Strength sign", self.sign, get_args(Sign), PriorError)
        if not checks.is_number(self.probability) or not 0 <= self.probability <= 1:
            raise PriorError(f"Strength probability must be a number from 0 to 1, got {self.probability!r}")
        for name, value in self.stated.items():
            if not isinstance(value, str):
                limits(f"Strength {name}", value)
            elif self.shares is not None:
                raise PriorError(f"Strength shares[{name!r}] must be a number or a range, got {value!r}")

    @property
    def stated(self) -> Mapping[str, Share]:
        """What was said of each node, by role, or by name where `shares` are given."""
        if self.shares is not None:
            return self.shares
        return {"r2_treatment": self.r2_treatment, "r2_outcome": self.r2_outcome}

    @property
    def factor_variance(self) -> float:
        """Second moment of the bias factor, which is ``E[R2y] E[R2x / (1 - R2x)]``."""
        (low, high), (bottom, top) = (limits(name, value) for name, value in self.stated.items())
        odds = low / (1 - low) if high == low else math.log((1 - low) / (1 - high)) / (high - low) - 1
        return 0.5 * (bottom + top) * odds


def limits(name: str, value: object) -> tuple[float, float]:
    """Return a share, or a range of shares, as its two ends."""
    ends = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(ends) != 2 or not all(checks.is_number(end) and 0 <= end < 1 for end in ends) or ends[0] > ends[1]:
        raise PriorError(f"{name} must be a number from 0 to below 1, or a range (low, high) of such, got {value!r}")
    return float(ends[0]), float(ends[1])
