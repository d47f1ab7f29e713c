"""What the draws of a node say beyond themselves: the slab each came from, and its coefficients' joint normal.

Given parent set, noise variance and slab, the coefficients of a node are normal a posteriori. Draws carry set (where a
coefficient is not zero) and noise variance; the hyperparameter value they came from is drawn from its exact conditional
distribution, which, given the coefficients, no longer involves the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alldags.engines.conjugate.system import conjugate_system
from alldags.nodes.problem import NodeProblem
from alldags.priors.grid import Setting
from alldags.typing import BoolArray, FloatArray, IntArray

_WORD = 56  # terms whose presence fits into one whole number, with room for the setting
_FEW = 24  # terms up to which systems of all sets are padded and solved together
_CHUNK = 4_000_000  # numbers in one batch of systems


@dataclass(frozen=True, eq=False)
class NodeSample:
    """Draws of one node with the hyperparameter value each came from.

    Parameters
    ----------
    problem
        Of the node.
    coefficients
        Shape (size, k), zero where absent.
    variance
        Noise variance, shape (size,).
    setting
        Which of the problem's settings each draw came from, shape (size,); zeros where nobody asks.
    """

    problem: NodeProblem
    coefficients: FloatArray
    variance: FloatArray
    setting: IntArray

    @property
    def masks(self) -> BoolArray:
        """Which terms are present, shape (size, k)."""
        return np.asarray(self.coefficients != 0.0)

    @property
    def spread(self) -> FloatArray:
        """What the inverse of a set's system is to be multiplied by to be a covariance, shape (size,)."""
        return np.where(self._known, 1.0, self.variance)

    @property
    def _known(self) -> BoolArray:
        return np.array([_is_known(one) for one in self.problem.settings])[self.setting]

    @property
    def slab(self) -> FloatArray:
        """``tau`` or ``g`` of each draw, shape (size,)."""
        return np.array([one.slab_variance for one in self.problem.settings])[self.setting]


def _is_known(setting: Setting) -> bool:
    return setting.noise.numbers(1.0, 1.0, 0, setting.slab_variance).known


def sample_settings(
    problem: NodeProblem, coefficients: FloatArray, variance: FloatArray, rng: np.random.Generator
) -> NodeSample:
    """Draw the hyperparameter value that each draw came from, given its set, coefficients and noise variance."""
    size = len(variance)
    if len(problem.settings) == 1:
        return NodeSample(problem, coefficients, variance, np.zeros(size, dtype=np.int64))
    logs = np.stack([_log_density(problem, one, coefficients, variance) for one in problem.settings], axis=1)
    cumulative = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    picked = (cumulative < rng.random(size)[:, None] * cumulative[:, -1:]).sum(axis=1)
    return NodeSample(problem, coefficients, variance, picked.astype(np.int64))


def _log_density(problem: NodeProblem, setting: Setting, coefficients: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the log prior density of each draw under one setting, up to what all settings share, shape (size,)."""
    present = (coefficients != 0.0).sum(axis=1)
    if setting.slab == "g":
        squares = np.einsum("si,ij,sj->s", coefficients, problem.gram, coefficients)
    else:
        squares = np.einsum("si,si->s", coefficients, coefficients)
    unit = np.ones_like(variance) if _is_known(setting) else variance
    slab = setting.slab_variance * unit
    log = setting.log_weight - 0.5 * present * np.log(slab) - 0.5 * squares / slab
    if not _is_known(setting):
        return np.asarray(log)
    own = np.isclose(variance, setting.noise.unit, rtol=1e-9)  # noise on a grid: its value tells the setting
    return np.where(own, log, -np.inf)


def solve_sets(sample: NodeSample, columns: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean of every draw's set, and columns of the inverse of its system.

    Parameters
    ----------
    sample
        The draws.
    columns
        Terms that are present in every set, c of them.

    Returns
    -------
    mean : (size, k)
        Zero where absent.
    inverse : (size, k, c)
        The covariance of the coefficients with those of the columns, over `NodeSample.spread`.
    """
    masks = sample.masks
    first, inverse = _distinct(masks, sample.setting)
    k = sample.problem.k
    found = np.zeros((len(first), k, 1 + len(columns)))
    for index, setting in enumerate(sample.problem.settings):
        rows = np.flatnonzero(sample.setting[first] == index)
        if rows.size:
            system = conjugate_system(sample.problem.with_setting(setting))
            right = np.column_stack([system.shift, np.eye(k)[:, columns]])
            found[rows] = _solve(system.precision, right, masks[first[rows]])
    return found[inverse, :, 0], found[inverse, :, 1:]


def _distinct(masks: BoolArray, setting: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each distinct pair of set and setting first is, and which of these each draw has."""
    if masks.shape[1] <= _WORD:
        code = masks @ (1 << np.arange(masks.shape[1], dtype=np.int64)) + (setting << _WORD)
        _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    else:
        rows = np.column_stack([np.packbits(masks, axis=1), setting.astype(np.uint8)])
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.ravel().astype(np.int64)


def _solve(precision: FloatArray, right: FloatArray, masks: BoolArray) -> FloatArray:
    """Solve the systems of several sets, shape (sets, k, c); rows of absent terms are zero."""
    count, k = masks.shape
    out = np.zeros((count, k, right.shape[1]))
    if k > _FEW:
        for row, mask in enumerate(masks):
            inside = np.flatnonzero(mask)
            out[row, inside] = np.linalg.solve(precision[np.ix_(inside, inside)], right[inside])
        return out
    step = max(_CHUNK // max(k * k, 1), 1)
    for start in range(0, count, step):
        part = masks[start : start + step]
        padded = np.where(part[:, :, None] & part[:, None, :], precision, 0.0)
        padded[:, np.arange(k), np.arange(k)] += ~part
        out[start : start + step] = np.linalg.solve(padded, np.where(part[:, :, None], right, 0.0))
    return out
