"""The sums over all acyclic graphs of a block, from its tables: weights, edges, and numbers carried along edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from alldags.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from alldags.kernels.blocks.sums import Pairs, Weights

_MOST_NUMBERS = 2**25  # of first moments kept at once


@dataclass(frozen=True, eq=False)
class Sums:
    """What graphs weigh, given the log weights of each node's parent sets inside every set.

    Parameters
    ----------
    log_alpha
        Shape (b, rows).
    row
        Row that belongs to each set, shape (b, 2^b).
    prune
        Whether closed sets that carry no weight are left out.
    """

    log_alpha: FloatArray
    row: IntArray
    prune: bool = True

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.row)

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        from alldags.kernels.blocks.sums import fill_scales

        c, d = np.empty(1 << self.size), np.empty(1 << self.size)
        fill_scales(self.log_alpha, self.row, c, d)
        return c, d

    @property
    def c(self) -> FloatArray:
        """Log weight of the best order of each set, shape (2^b,)."""
        return self._scales[0]

    @property
    def d(self) -> FloatArray:
        """Log weight of the best way to go on from each set, shape (2^b,)."""
        return self._scales[1]

    @cached_property
    def _bound(self) -> FloatArray:
        """Log of a bound of the share of the graphs in which each set is closed, shape (2^b,)."""
        from scipy.special import gammaln

        from alldags.kernels.blocks.scores import IMPOSSIBLE

        inside = np.bitwise_count(np.arange(1 << self.size))
        ways = gammaln(inside + 1.0) + gammaln(self.size - inside + 1.0)
        with np.errstate(over="ignore"):
            return np.asarray(np.where(self.c + self.d > IMPOSSIBLE, self.c + self.d - self.c[-1] + ways, -np.inf))

    @cached_property
    def keep(self) -> BoolArray:
        """Closed sets that carry weight, shape (2^b,)."""
        from alldags.kernels.blocks.scores import IMPOSSIBLE
        from alldags.kernels.blocks.sums import CUT

        return np.asarray(self._bound > CUT if self.prune else self.c > IMPOSSIBLE)

    @cached_property
    def lost(self) -> float:
        """Bound of the share of the graphs that was left out, to first order."""
        return float(np.exp(self._bound[~self.keep]).sum())

    @cached_property
    def _pairs(self) -> Pairs:
        from alldags.kernels.blocks.sums import Pairs

        sets = 1 << self.size
        return Pairs(np.empty(sets, dtype=np.int64), np.empty(sets), np.empty(sets))

    @cached_property
    def weights(self) -> Weights:
        """For the compiled loops, with the scale of forward sums."""
        from alldags.kernels.blocks.sums import Weights

        return Weights(self.log_alpha, self.row, self.c, self.keep)

    @cached_property
    def forward(self) -> FloatArray:
        """Weight of the graphs on each set over ``e^c``, shape (2^b,)."""
        from alldags.kernels.blocks.sums import fill_forward

        f = np.empty(1 << self.size)
        fill_forward(self.weights, self._pairs, f)
        return f

    @cached_property
    def backward(self) -> FloatArray:
        """Weight of all ways to go on from each set over ``e^d``, shape (2^b,)."""
        from alldags.kernels.blocks.sums import fill_backward

        g = np.empty(1 << self.size)
        fill_backward(self.weights._replace(scale=-self.d), self._pairs, g)
        return g

    @property
    def log_total(self) -> float:
        """Log weight of all acyclic graphs together."""
        return math.log(self.forward[-1]) + float(self.c[-1])

    @cached_property
    def shares(self) -> FloatArray:
        """Signed shares of the total that fall to each node choosing its parents inside a set, shape (b, rows)."""
        from alldags.kernels.blocks.sums import fill_shares

        closed = np.where(
            self.keep, self.backward * np.exp(np.where(self.keep, self.c + self.d - self.log_total, 0)), 0
        )
        omega = np.zeros_like(self.log_alpha)
        fill_shares(self.weights, self._pairs, self.forward, closed, omega)
        return omega

    @property
    def check(self) -> float:
        """How far the shares of some node are from adding up to one, and forward sums from backward ones."""
        apart = abs(math.log(self.backward[0]) + float(self.d[0]) - self.log_total)
        return max(float(np.abs(self.shares.sum(axis=1) - 1.0).max()), apart)

    def first(
        self, mean: FloatArray, source: IntArray, value: FloatArray, earlier: FloatArray, through: int = -1
    ) -> FloatArray:
        """Return E[t] of the block's variables for several questions, shape (q, b); see `kernels.blocks.sums.Entry`."""
        from alldags.kernels.blocks.sums import Entry, carry_first

        at_once = max(_MOST_NUMBERS // (self.size << self.size), 1)
        parts = []
        for begin in range(0, len(source), at_once):
            some = slice(begin, begin + at_once)
            entry = Entry(source[some], value[some], np.ascontiguousarray(earlier[some]), through)
            count = len(entry.source)
            found = np.zeros((1 << self.size, count, self.size))
            carry_first(self.weights, self._pairs, mean, entry, self.forward, np.empty((count, self.size)), found)
            parts.append(found[-1] / self.forward[-1])
        return np.concatenate(parts)

    def second(
        self, mean: FloatArray, moment: FloatArray, noise: FloatArray, source: int, value: float,
        earlier: tuple[FloatArray, FloatArray], through: int, own: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Return E[t t'] of the block's variables, shape (b, b); see `kernels.blocks.seconds.Arrival`."""
        from alldags.kernels.blocks.seconds import Arrival, Averages, State, Step, carry_second

        b, e, sets = self.size, len(earlier[0]), 1 << self.size
        size = b * (b + 1) // 2
        state = State(self.forward, np.zeros((sets, b)), np.zeros((sets, size)), np.zeros((sets, b, e)))
        step = Step(
            np.zeros(b), np.zeros(size), np.zeros((b, e)), np.zeros((b, b)), np.zeros(b, dtype=np.int64),
            np.zeros(b, dtype=np.int64),
        )  # fmt: skip
        first, second = (np.ascontiguousarray(part) for part in earlier)
        arrival = Arrival(source, value, first, second, through, own)
        carry_second(self.weights, self._pairs, Averages(mean, moment, noise), arrival, state, step)
        full = np.empty((b, b))
        low = np.tril_indices(b)
        full[low] = state.second[-1] / self.forward[-1]
        full.T[low] = full[low]
        return full

    def reached(self, lower: Sums, source: int) -> FloatArray:
        """Return the share of the graphs in which exactly each set is reached, shape (2^b,).

        `lower` counts graphs without reached earlier variables.
        """
        from alldags.kernels.blocks.reached import fill_reached
        from alldags.kernels.blocks.scores import IMPOSSIBLE

        possible = (lower.c > IMPOSSIBLE) & (self.c > IMPOSSIBLE)
        ratio = np.exp(np.where(possible, lower.c - np.where(possible, self.c, 0.0), -np.inf))
        out = np.empty(1 << self.size)
        fill_reached(
            self.weights, lower.log_alpha, lower.forward * ratio, source, self._pairs, np.empty(1 << self.size),
            np.empty(self.size), out,
        )  # fmt: skip
        return np.asarray(np.clip(out / self.forward[-1], 0.0, 1.0))
