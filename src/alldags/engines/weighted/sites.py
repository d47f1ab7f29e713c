"""Rows at several sites, of which only sums are seen: requests and replies of plain numbers.

A site is asked for sums over its rows at a point that all sites are told: value, gradient and information of the
log-likelihood, or log-likelihoods of draws. Sums of all sites are those of all rows, so that the answer is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from alldags.errors import DataError
from alldags.families.base import Batch, Draws, Family, Point, RowSums
from alldags.families.quadratic import Quadratic
from alldags.typing import FloatArray

Request: TypeAlias = Mapping[str, Any]
Reply: TypeAlias = Mapping[str, Any]
Site: TypeAlias = Callable[[dict[str, Any]], Reply]


@dataclass(eq=False)
class SharedDesign:
    """The rows of one node, at several sites.

    Parameters
    ----------
    child, family, names
        Of the node, and of its columns.
    count
        Number of rows of all sites.
    sites
        Each gets a request and returns a reply, both of numbers, lists and words that JSON has.
    about
        What every request says besides: names, family and units.
    rounds
        How often every site was asked.
    """

    child: str
    family: Family
    names: tuple[str, ...]
    count: float
    sites: Sequence[Site]
    about: dict[str, Any]
    rounds: int = field(default=0)

    def batches(self) -> Sequence[Batch]:
        """Refused: rows stay where they are."""
        raise DataError(f"the rows of {self.child!r} stay at their sites; only sums over them are seen here")

    def _ask(self, what: str, **numbers: Any) -> list[Reply]:
        self.rounds += 1
        return [site({"ask": what, **self.about, **numbers}) for site in self.sites]

    def totals(self) -> tuple[float, float]:
        """Return the sum of the child, and of what its mean is in proportion to without causes."""
        replies = self._ask("totals")
        rows = sum(float(reply["rows"]) for reply in replies)
        if rows != self.count:
            raise DataError(
                f"the sites have {rows:g} rows and the moments {self.count:g}: make both from the same complete rows"
            )
        return sum(float(reply["total"]) for reply in replies), sum(float(reply["weight"]) for reply in replies)

    def quadratic(self, point: Point, root: FloatArray | None = None) -> Quadratic:
        """Return the expansion at one point, or around it: the sum over sites."""
        told = {"at": point.at.tolist(), "root": None if root is None else root.tolist()}
        parts = [self._quadratic(point.at, reply) for reply in self._ask("statistics", **told)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _quadratic(self, at: FloatArray, reply: Reply) -> Quadratic:
        information, gradient = np.array(reply["information"], dtype=float), np.array(reply["gradient"], dtype=float)
        numbers = {name: float(reply[name]) for name in ("value", "rows", "events", "spread")}
        return Quadratic(self.family.name, self.names, at, information, gradient, **numbers)  # type: ignore[arg-type]

    def log_likelihoods(self, draws: Draws) -> FloatArray:
        """Return the log-likelihood of draws, shape (draws,): the sum over sites."""
        told = {"intercept": draws.intercept.tolist(), "coefficients": draws.coefficients.tolist()}
        replies = self._ask("log_likelihoods", **told)
        return np.asarray(np.sum([np.array(reply["values"], dtype=float) for reply in replies], axis=0))

    def squared_residuals(self, draws: Draws) -> float:
        """Return the sum of squared residuals over their variance: the sum over sites."""
        told = {"intercept": float(draws.intercept[0]), "coefficients": draws.coefficients[0].tolist()}
        replies = self._ask("squared_residuals", **told)
        return sum(float(reply["value"]) for reply in replies)


def reply_to(sums: RowSums, request: Request) -> dict[str, Any]:
    """Return what one site answers, from its own rows."""
    what = request["ask"]
    if what == "totals":
        total, weight = sums.totals()
        return {"total": total, "weight": weight, "rows": sums.count}
    if what == "statistics":
        root = request["root"]
        found = sums.quadratic(Point(np.array(request["at"])), None if root is None else np.array(root))
        return {
            "information": found.information.tolist(),
            "gradient": found.gradient.tolist(),
            "value": found.value,
            "rows": found.rows,
            "events": found.events,
            "spread": found.spread,
        }
    coefficients = np.array(request["coefficients"], dtype=float).reshape(-1, len(sums.names))
    draws = Draws(np.atleast_1d(request["intercept"]), coefficients, np.ones(len(coefficients)))
    if what == "log_likelihoods":
        return {"values": sums.log_likelihoods(draws).tolist()}
    return {"value": sums.squared_residuals(draws)}
