"""Means from draws with less Monte-Carlo error: what is known of the coefficients' means corrects the draws'."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from alldags.effects.push import NodeSample, Samples
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
    places = np.flatnonzero(sample.coefficients.std(axis=0) > 0.0)
    columns = sample.coefficients[:, places]
    return columns, np.asarray(columns.mean(axis=0) - sample.node.mean[places]), places


def _error(samples: Samples, controls: list[Controls], slopes: FloatArray) -> float:
    """Return the error that the known means have themselves."""
    start, total = 0, 0.0
    for sample, (_, gap, places) in zip(samples.values(), controls, strict=True):
        weights = np.zeros(len(sample.node.mean))
        weights[places] = slopes[start : start + len(gap)]
        total += sample.node.linear_error(weights) ** 2
        start += len(gap)
    return math.sqrt(total)
