"""Means from draws with less Monte-Carlo error: what is known of the coefficients' means corrects the draws'."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from alldags.answers.nodes import NodeSample, Samples
from alldags.typing import FloatArray, IntArray

_DRAWS_PER_CONTROL = 8
Controls: TypeAlias = tuple[FloatArray, FloatArray, IntArray]


def controlled_mean(values: FloatArray, samples: Samples | None, worth: float) -> tuple[float, float]:
    """Return the mean of draws of an effect, and its Monte-Carlo standard error.

    The draws are regressed on the coefficients they come from, whose posterior means are known better than from these
    draws; the difference between the two means, times the slopes, is taken off.

    Parameters
    ----------
    values
        Shape (draws,).
    samples
        The draws of all nodes that they come from; None: no correction.
    worth
        Number of independent draws they count as.
    """
    plain = float(values.mean())
    if samples is None or float(values.std()) == 0.0:
        return plain, float(values.std()) / math.sqrt(worth)
    controls = [_controls(sample) for sample in samples.values()]
    columns = np.column_stack([found for found, _, _ in controls])
    if columns.shape[1] == 0 or columns.shape[1] * _DRAWS_PER_CONTROL > len(values):
        return plain, float(values.std()) / math.sqrt(worth)
    gaps = np.concatenate([gap for _, gap, _ in controls])
    centered = columns - columns.mean(axis=0)
    slopes, *_ = np.linalg.lstsq(centered, values - plain, rcond=1e-10)
    rest = values - plain - centered @ slopes
    own = float(rest.std()) / math.sqrt(worth)
    return plain - float(slopes @ gaps), math.hypot(own, _error(samples, controls, slopes))


def _controls(sample: NodeSample) -> Controls:
    """Return coefficients that vary (draws, j), how far their mean is from the known one (j,), and their places."""
    places = np.flatnonzero(sample.numbers.std(axis=0) > 0.0)
    columns = sample.numbers[:, places]
    return columns, np.asarray(columns.mean(axis=0) - sample.known.mean[places]), places


def _error(samples: Samples, controls: list[Controls], slopes: FloatArray) -> float:
    """Return the error that the known means have themselves."""
    start, total = 0, 0.0
    for sample, (_, gap, places) in zip(samples.values(), controls, strict=True):
        weights = np.zeros(len(sample.known.mean))
        weights[places] = slopes[start : start + len(gap)]
        total += sample.known.linear_error(weights) ** 2
        start += len(gap)
    return math.sqrt(total)


def shared_variance(samples: Samples, partners: Samples, values: FloatArray, others: FloatArray) -> float:
    """Return the variance of the mean given the graph: the covariance of pairs of draws that share their graph.

    Most of an effect is linear in the coefficients, whose means given the graph have variances that are known; pairs
    are needed only for the rest.

    Parameters
    ----------
    samples, partners
        Draws of all nodes, and others with the same parent sets.
    values, others
        The effects that come of them, shape (pairs,) each.
    """
    names = [name for name, sample in samples.items() if sample.coefficients.shape[1]]
    columns = np.column_stack([samples[name].numbers for name in names])
    if columns.shape[1] * 2 > len(values) or any(samples[name].known.second_moment_between is None for name in names):
        return float(np.cov(values, others)[0, 1])
    slopes, *_ = np.linalg.lstsq(columns - columns.mean(axis=0), values - values.mean(), rcond=1e-10)
    line = columns @ slopes
    other_line = np.column_stack([partners[name].numbers for name in names]) @ slopes
    rest, other_rest = values - line, others - other_line
    crossed = sum(np.cov(a, b)[0, 1] for a, b in ((line, other_rest), (rest, other_line), (rest, other_rest)))
    return float(crossed) + _between(samples, names, slopes)


def _between(samples: Samples, names: list[str], slopes: FloatArray) -> float:
    """Return the variance over graphs of the mean of the linear part."""
    start, total = 0, 0.0
    for name in names:
        node = samples[name].known
        own = slopes[start : start + len(node.mean)]
        start += len(node.mean)
        if node.second_moment_between is not None:
            total += float(own @ (node.second_moment_between - np.outer(node.mean, node.mean)) @ own)
    return total
