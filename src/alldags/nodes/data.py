"""`WorkingData`: the moments each child's regression is made of, in working units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from alldags.data.record import MomentsRecord
from alldags.errors import DataError, did_you_mean
from alldags.priors.prior import Prior
from alldags.typing import FloatArray


@dataclass(frozen=True, eq=False)
class ChildData:
    """Moments of the rows of one child's regression, in working units.

    Parameters
    ----------
    names
        The variables, m of them.
    scatter
        Cross-products, shape (m, m); centred if there is an intercept.
    mean
        Shape (m,); zeros without intercept.
    n
        Number of rows, less one if there is an intercept.
    rows
        Number of rows.
    """

    names: tuple[str, ...]
    scatter: FloatArray
    mean: FloatArray
    n: float
    rows: float

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class WorkingData:
    """What the regressions of one fit are made of: units common to all, and each child's own rows.

    Parameters
    ----------
    pooled
        Moments of all rows.
    scale
        User's units per working unit of each variable, shape (m,).
    own
        Moments of the children whose regression has other rows than all of them.
    """

    pooled: ChildData
    scale: FloatArray
    own: Mapping[str, ChildData] = field(default_factory=dict)

    def of(self, child: str) -> ChildData:
        """Return the moments that this child's regression is made of."""
        return self.own.get(child, self.pooled)

    @property
    def rows(self) -> float:
        """Number of rows in all."""
        return self.pooled.rows

    def unit(self, cause: str, effect: str) -> float:
        """Return what one working unit of an effect of `cause` on `effect` is in the user's units."""
        index = self.pooled.index
        return float(self.scale[index[effect]] / self.scale[index[cause]])

    def deviation(self, name: str) -> float:
        """Return a variable's standard deviation over all rows, in the user's units; about 0 without intercept."""
        place = self.pooled.index[name]
        variance = float(self.pooled.scatter[place, place]) / max(self.pooled.n, 1)
        return float(np.sqrt(variance) * self.scale[place])

    def scale_of(self, name: str) -> float:
        """Return the user's units per working unit of a variable."""
        return float(self.scale[self.pooled.index[name]])


def working_data(
    moments: MomentsRecord, prior: Prior, variables: Sequence[str], own: Mapping[str, MomentsRecord] | None = None
) -> WorkingData:
    """Select the graph's variables and express their moments in working units.

    Parameters
    ----------
    moments
        Of all rows; they give the units.
    prior
        Says whether variables are standardised and whether there is an intercept.
    variables
        Names, m of them.
    own
        Moments of the rows of single children, where those are not all rows.
    """
    _check_known(moments, variables)
    part = moments.select(variables)
    if prior.intercept or prior.units == "standardized":
        _check_not_constant(part)
    variance = np.diag(part.scatter) / max(part.n - 1, 1)
    scale = np.sqrt(variance) if prior.units == "standardized" else np.ones(len(variables))
    others = {child: _child_data(rows.select(variables), prior, scale) for child, rows in (own or {}).items()}
    return WorkingData(_child_data(part, prior, scale), scale, others)


def _child_data(moments: MomentsRecord, prior: Prior, scale: FloatArray) -> ChildData:
    scatter = moments.scatter if prior.intercept else moments.scatter + moments.n * np.outer(moments.mean, moments.mean)
    return ChildData(
        names=moments.names,
        scatter=scatter / np.outer(scale, scale),
        mean=moments.mean / scale if prior.intercept else np.zeros(len(scale)),
        n=moments.n - 1 if prior.intercept else moments.n,
        rows=moments.n,
    )


def _check_known(moments: MomentsRecord, variables: Sequence[str]) -> None:
    for name in variables:
        if name not in moments.names:
            raise DataError(
                f"the graph's variable {name!r} is not a column of the data{did_you_mean(name, moments.names)}"
            )


def _check_not_constant(moments: MomentsRecord) -> None:
    floor = 1e-29 * moments.n * moments.mean**2  # what rounding of the values leaves of a constant column
    for name, value in zip(moments.names, np.diag(moments.scatter) <= floor, strict=True):
        if value:
            raise DataError(
                f"column {name!r} is constant: it has no effect that data could show; remove it from the graph"
            )
