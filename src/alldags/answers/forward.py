"""The mean of a push that is linear in the coefficients of each node: one push with all of them at their means.

If every column on the way is a straight line in what the treatment moves, and holds at most one such variable beside
the treatment, a row's outcome is linear in each node's coefficients. Nodes are independent a posteriori unless errors
of two of them are correlated, so the mean
outcome is that of the mean coefficients; and how it answers to each coefficient is one more push.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from alldags.answers.comparison import Comparison
from alldags.answers.nodes import NodeSample, Samples
from alldags.answers.response import Response
from alldags.graph.hidden import pair_among
from alldags.typing import FloatArray


def is_linear(response: Response) -> bool:
    """Tell whether a row's outcome is linear in each node's coefficients."""
    reached = set(response.span.reached)
    if not reached.isdisjoint(response.model.data.families) or pair_among(response.model.graph.hidden, reached):
        return False
    for child in response.span.reached:
        for column in response.model.columns(child).made:
            inside = [name for name in column.variables if name in reached]
            if len(inside) > 1 or any(not column.is_straight_in(name) for name in inside):
                return False
    return True


def forward_mean(response: Response, samples: Samples, comparison: Comparison) -> tuple[float, float]:
    """Return the mean effect in one model, and its Monte-Carlo error from nodes that were sampled."""
    middle = {name: sample.at_mean() for name, sample in samples.items()}
    mean = float(response.outcomes(middle, comparison).difference[0])
    errors = [
        sample.known.linear_error(_slopes(response, middle, name, comparison))
        for name, sample in middle.items()
        if _was_sampled(sample)
    ]
    return mean, math.sqrt(sum(error**2 for error in errors))


def _was_sampled(sample: NodeSample) -> bool:
    return sample.known.linear_error(np.ones(sample.coefficients.shape[1])) > 0.0


def _slopes(response: Response, middle: Samples, name: str, comparison: Comparison) -> FloatArray:
    """Return the change of the effect per unit of each of a node's mean coefficients, shape (k,)."""
    k = middle[name].coefficients.shape[1]
    moved = {other: _repeated(sample, k + 1) for other, sample in middle.items()}
    moved[name] = replace(moved[name], coefficients=np.vstack([np.zeros(k), np.eye(k)]))
    found = response.outcomes(moved, comparison).difference
    return np.asarray(found[1:] - found[0])


def _repeated(sample: NodeSample, times: int) -> NodeSample:
    return replace(
        sample,
        coefficients=np.repeat(sample.coefficients, times, axis=0),
        intercept=np.repeat(sample.intercept, times),
        variance=np.repeat(sample.variance, times),
    )
