"""Actions for single rows and for groups of rows: outcomes of each, and of plans that give each what is best for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alldags.answers.decided import shares_of_best, with_ties
from alldags.answers.new_rows import LEAST_EACH, NewRows
from alldags.answers.push import PushedRows
from alldags.answers.rows_given import OtherRows
from alldags.answers.scenario import Piece, ScenarioAnswer
from alldags.effects.changes import joint_changes
from alldags.effects.jackknife import Stretch
from alldags.effects.quantity import Quantity
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import shuffled
from alldags.typing import FloatArray, IntArray


class EveryRow(ScenarioAnswer):
    """Outcomes of each of the rows asked about, however many they are, in some scenarios; see `ScenarioAnswer`."""

    @property
    def most_rows(self) -> int:
        """Number of rows that are looked at, at most."""
        return 2**62

    @cached_property
    def size(self) -> int:
        """Number of draws."""
        return self.pushed_size if self._asked is None else self._asked

    def other_rows(self, new: NewRows) -> PushedRows:
        """Return rows of another table, each as often as is needed for an average over its noise."""
        return new.rows(LEAST_EACH * new.other.count)

    def _each(self, values: FloatArray) -> FloatArray:
        """Return values of each row once, shape (rows, draws)."""
        return values if not self._is_other else values.reshape(-1, self.over.count, values.shape[1]).mean(axis=0)

    @property
    def _is_other(self) -> bool:
        return isinstance(self.over, OtherRows)

    def by_row(self, piece: Piece) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield some rows, some draws, and outcomes of these in all scenarios, shape (scenarios, rows, draws)."""
        start = 0
        for rows, blocks in self.pushed(self.models.items[piece.place], piece.samples):
            stop = start + (self.over.count if self._is_other else rows.count)
            for block, found in blocks:
                yield slice(start, stop), block, np.array([self._each(one) for one in found])
            start = stop

    @cached_property
    def numbers(self) -> IntArray:
        """Which rows they are, shape (rows,): places in the table."""
        if self._is_other:
            return np.arange(self.over.count)
        chosen, table = self.targets[0].chosen, self.targets[0].table
        return np.arange(table.count) if chosen is None else np.flatnonzero(chosen)

    @cached_property
    def weight(self) -> FloatArray:
        """How much each row counts, shape (rows,); ones in all."""
        if self._is_other:
            weight = np.ones(self.over.count) if self.over.weight is None else self.over.weight
        else:
            parts = list(self.batches(self.models.items[0]))
            weight = np.concatenate([np.ones(one.count) if one.weight is None else one.weight for one in parts])
        return np.asarray(weight / weight.sum())

    @cached_property
    def exact_levels(self) -> FloatArray | None:
        """Posterior means of the outcomes of rows, shape (scenarios, rows), where all is straight; else None."""
        if not self.is_closed or any(name in self.workings.data.categories for name in self.variables):
            return None
        return self.models.average_array(self._levels_of_lines)

    def _levels_of_lines(self, model: FittedGraph) -> FloatArray:
        """Return each row's outcome and what follows from its moves by the mean slopes, shape (scenarios, rows)."""
        slopes, parts = self._mean_slopes(model), list[FloatArray]()
        for rows in self.batches(model):
            moves = np.einsum("wc,wcr->wr", slopes, self.lines.moves(rows))
            parts.append(rows.rows.values[self.outcome] + moves)
        return np.concatenate(parts, axis=1)

    def _mean_slopes(self, model: FittedGraph) -> FloatArray:
        """Return the mean change of the outcome by one unit of each column in each scenario, in the user's units."""
        columns, data = self.lines.columns(), model.data
        given = [self.lines.columns(world) for world in self.worlds]
        found = np.zeros((len(given), len(columns)))
        for place, column in enumerate(columns):
            raised = [dict.fromkeys(own, 0.0) | ({column: 1.0} if column in own else {}) for own in given]
            unit = data.scale_of(self.outcome) / data.scale_of(column)
            found[:, place] = unit * joint_changes(model, raised, self.outcome)[0]
        return found


@dataclass(frozen=True, eq=False)
class RowMeans:
    """What is known of single rows.

    Parameters
    ----------
    level
        Posterior mean of the outcome, shape (actions, rows).
    center, sd
        Mean and standard deviation of the differences to the base that are not zero, shape (actions, rows).
    """

    level: FloatArray
    center: FloatArray
    sd: FloatArray


def means_of_rows(answer: EveryRow, base: int) -> RowMeans:
    """Return posterior means of the outcomes of rows, and of differences to the action `base`."""
    shape = len(answer.worlds), len(answer.numbers)
    level, gap, square, there = (np.zeros(shape) for _ in range(4))
    for piece in answer.pieces:
        for rows, _, found in answer.by_row(piece):
            gaps = found - found[base]
            level[:, rows] += found.sum(axis=2)
            gap[:, rows] += gaps.sum(axis=2)
            square[:, rows] += (gaps**2).sum(axis=2)
            there[:, rows] += (gaps != 0.0).sum(axis=2)
    count = np.maximum(there, 1.0)
    center = gap / count
    exact = answer.exact_levels
    mean = level / answer.size if exact is None else exact
    return RowMeans(mean, center, np.sqrt(np.maximum(square / count - center**2, 0.0)))


def chances_of_rows(
    answer: EveryRow, known: RowMeans, base: int, utility: float, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the probability that each action is best for each row, and its expected loss, shape (actions, rows) each.

    Differences of single rows are as much wider than the model says as their average over rows is.
    """
    units = np.eye(len(answer.worlds))
    stretches = [None if i == base else answer.stretch(tuple(one - units[base])) for i, one in enumerate(units)]
    shares, lost = np.zeros(known.level.shape), np.zeros(known.level.shape)
    for piece in answer.pieces:
        for rows, _, found in answer.by_row(piece):
            worth = utility * _wider(found, known, rows, base, stretches) - cost[:, None, None]
            shares[:, rows] += shares_of_best(worth).sum(axis=2)
            lost[:, rows] += (worth.max(axis=0) - worth).sum(axis=2)
    return shares / answer.size, lost / answer.size


def _wider(
    found: FloatArray, known: RowMeans, rows: slice, base: int, stretches: Sequence[Stretch | None]
) -> FloatArray:
    """Return differences of rows to the base, as wide as rows say, shape (actions, rows, draws)."""
    gaps: FloatArray = found - found[base]
    if all(one is None for one in stretches):
        return gaps
    wide: list[FloatArray] = [
        gap if one is None else one.about(gap, center[:, None], sd[:, None])
        for gap, one, center, sd in zip(gaps, stretches, known.center[:, rows], known.sd[:, rows], strict=True)
    ]
    return with_ties(np.array(wide), found)


# -- plans -------------------------------------------------------------------------------------------------------------


def followed(answer: EveryRow, choice: IntArray, base: int, known: RowMeans) -> tuple[Quantity, Quantity]:
    """Return the mean outcome if each row gets what was chosen for it, and by how much more that is than with `base`.

    Parameters
    ----------
    answer
        Outcomes of rows.
    choice
        Place of an action for each row, shape (rows,).
    base
        Place of the action that is compared with.
    known
        Means of rows.
    """
    levels, gains = list[FloatArray](), list[FloatArray]()
    for piece in answer.pieces:
        level, gain = np.zeros((2, piece.levels.shape[1]))
        for rows, block, found in answer.by_row(piece):
            own = np.take_along_axis(found, choice[rows][None, :, None], axis=0)[0]
            level[block] += answer.weight[rows] @ own
            gain[block] += answer.weight[rows] @ (own - found[base])
        levels.append(level)
        gains.append(gain)
    chosen = np.take_along_axis(known.level, choice[None], axis=0)[0]
    mean = float(answer.weight @ chosen)
    offsets = [answer.offset(piece) for piece in answer.pieces]
    changes = [level - offset for level, offset in zip(levels, offsets, strict=True)]
    gained = float(answer.weight @ (chosen - known.level[base]))
    return as_wide(answer, changes, offsets, mean), as_wide(answer, gains, [0.0] * len(gains), gained)


def as_wide(answer: ScenarioAnswer, changes: Sequence[FloatArray], offsets: Sequence[float], mean: float) -> Quantity:
    """Return a number with its changes, draws of each piece, as wide as rows or clusters say; and what is added."""
    stretch = answer.stretch_of(changes)
    found = [
        offset + (change if stretch is None else stretch(change))
        for change, offset in zip(changes, offsets, strict=True)
    ]
    draws = shuffled(found, answer.workings.stream())
    return Quantity(draws, (), (mean, Quantity(draws).sd))


def combined(answers: Sequence[ScenarioAnswer], weights: FloatArray, mean: float) -> Quantity:
    """Return a combination of mean outcomes in several groups of rows, from the same draws.

    Parameters
    ----------
    answers
        One for each group, with as many draws.
    weights
        Of each scenario in each group, shape (groups, scenarios).
    mean
        Its posterior mean.
    """
    changes, offsets = list[FloatArray](), list[float]()
    for pieces in zip(*(answer.pieces for answer in answers), strict=True):
        each = list(zip(answers, weights, pieces, strict=True))
        changes.append(np.sum([by @ answer.changes(piece) for answer, by, piece in each], axis=0))
        offsets.append(float(sum(by.sum() * answer.offset(piece) for answer, by, piece in each)))
    return as_wide(answers[0], changes, offsets, mean)
