"""How much rows to come would narrow an effect, to first order: for curves, families, and nodes that were sampled.

Around what is believed now the effect is a line in the coefficients of each regression, and new rows add their
information to the inverse of the coefficients' covariance. That is the variance of the best *linear* guess after the
rows, the expected posterior variance if all is normal, and more than it where rows would decide about edges: what is
said here is cautious. The part of the variance that no line explains is taken to stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.answers.held import HeldEffect
from alldags.answers.joint import Joint
from alldags.answers.pieces import Answering, answering, design_and_information, present
from alldags.answers.robust import joint_of, rows_of
from alldags.columns.base import RowValues
from alldags.columns.rows import Rows
from alldags.data.batches import RowTable
from alldags.effects.total import TotalEffect
from alldags.errors import AlldagsError
from alldags.futures.moments import Design
from alldags.models.fitted import FittedGraph
from alldags.typing import FloatArray

_MOST_ROWS = 4000  # that information is averaged over
_SMALL = 1e-9  # of the largest variance of a regression's coefficients, below which there is none


@dataclass(frozen=True, eq=False)
class Linear:
    """How much more rows would narrow one effect.

    Parameters
    ----------
    effect
        The effect.
    """

    effect: HeldEffect

    @cached_property
    def _joints(self) -> list[Joint]:
        """Draws of the effect and its regressions; of several completed tables, the first that has draws."""
        joints = joint_of(self.effect)
        return [joint for joint in joints if joint.table == joints[0].table]

    @cached_property
    def _parts(self) -> dict[str, Answering]:
        return answering(self._joints)

    @cached_property
    def _rows(self) -> RowTable:
        found = rows_of(self.effect.posterior)
        if found is None:
            raise AlldagsError(
                "next_steps() of this effect needs the rows of the fit, and there are only moments of them; fit the "
                "table itself"
            )
        return found[0]

    @cached_property
    def _batch(self) -> RowValues:
        """Rows that information is averaged over."""
        found = Rows(self._rows).batches()
        values = {name: np.concatenate([one.values[name] for one in found]) for name in found[0].values}
        count = len(next(iter(values.values())))
        if count > _MOST_ROWS:
            kept = np.sort(self._stream().choice(count, _MOST_ROWS, replace=False))
            values = {name: column[kept] for name, column in values.items()}
        return RowValues(values)

    def _stream(self) -> np.random.Generator:
        return self.effect.posterior.workings.stream()

    def share_left(self, design: Design) -> float:
        """Return the variance that is expected after the rows of a design, over that of now."""
        draws = np.concatenate([joint.effect for joint in self._joints])
        total, there = float(draws.var()), present(self._joints)
        if not total > 0.0 or len(there) < 3:
            return 1.0
        explained = [self._explained(item, self._information(item, design)) for item in self._parts.values()]
        now, later = (sum(pair[i] for pair in explained) for i in (0, 1))
        within = float(there.var())
        removed = (now - later) * min(1.0, within / max(now, 1e-300))
        return float(np.clip(1.0 - len(there) / len(draws) * removed / total, 0.0, 1.0))

    def _explained(self, item: Answering, information: FloatArray) -> tuple[float, float]:
        """Return the effect's variance by way of one regression now, and with more information, shape (p, p)."""
        spread = item.square - np.outer(item.mean, item.mean)
        spread[0, 0] += item.of.share / max(float(item.information.mean()), 1e-300)
        values, vectors = np.linalg.eigh(spread)
        kept = values > _SMALL * values[-1]
        root = vectors[:, kept] * np.sqrt(values[kept])  # spread = root root'
        slope = root.T @ item.slope / values[kept]  # the effect per standard normal number behind the coefficients
        inside = np.eye(int(kept.sum())) + root.T @ information @ root
        return float(slope @ slope), float(slope @ np.linalg.solve(inside, slope))

    def _information(self, item: Answering, design: Design) -> FloatArray:
        """Return what the rows of a design say of a regression's coefficients, shape (p, p)."""
        if item.of.child == design.variable:
            return np.zeros((len(item.slope),) * 2)
        rows = self._batch if design.variable is None else self._set_rows(design)
        matrix, information = design_and_information(item, RowValues(rows.values, item.of.fold(rows.values)))
        return np.asarray(design.rows * (matrix * information[:, None]).T @ matrix / rows.count)

    def _set_rows(self, design: Design) -> RowValues:
        """Return the rows with a variable set by lot, and what follows from it moved along straight lines."""
        data, name, rng = self.effect.posterior.workings.data, str(design.variable), self._stream()
        if name in data.categories:
            order = rng.permutation(self._batch.count)
            return self._batch.put({one: self._batch.values[one][order] for one in data.columns([name])})
        place = data.pooled.index[name]
        half = rng.permutation(np.where(np.arange(self._batch.count) % 2 == 0, -1.0, 1.0)) * design.half
        to = (data.pooled.mean[place] + design.middle + half) * data.scale[place]
        move = to - self._batch.values[name]
        moved = {one: self._batch.values[one] + slope * move for one, slope in self._slopes(name).items()}
        return self._batch.put({name: to, **moved})

    def _slopes(self, name: str) -> dict[str, float]:
        """Return the mean effect of a variable on all numbers after it that regressions on the way read, straight."""
        workings = self.effect.posterior.workings
        read = {one for item in self._parts.values() for made in item.of.columns.made for one in made.variables}
        models = workings.models.map(FittedGraph.straight)
        found = {}
        for one in sorted(read & workings.data.pooled.index.keys() - {name}):
            if any(one in model.graph.descendants(name) for model in models.items):
                totals = models.map(lambda model, one=one: TotalEffect.of(model, name, one))  # type: ignore[misc]
                found[one] = workings.data.straight.unit(name, one) * totals.average(lambda total: total.mean)
        return found
