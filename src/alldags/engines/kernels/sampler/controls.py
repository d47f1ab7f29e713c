"""Control variates: least squares of a sampler's trace on controls.

Plain loops rather than BLAS: the matrices are small, nodes run in threads of their own, and BLAS's threads would spin
between calls.
"""

from __future__ import annotations

import numpy as np

from alldags.engines.kernels.jit import compiled, inner
from alldags.engines.kernels.linalg import factorise, solve
from alldags.typing import FloatArray, IntArray

RIDGE = 1e-8  # relative


@compiled
def control_spreads(controls: FloatArray) -> FloatArray:
    """Return the sum of squares of each control, (c,), within chains; `controls` is (chains, batches, c)."""
    chains, batches, c = controls.shape
    out, mean = np.zeros(c), np.zeros(c)
    for h in range(chains):
        _mean(controls[h], mean)
        for b in range(batches):
            for i in range(c):
                out[i] += (controls[h, b, i] - mean[i]) ** 2
    return out


@compiled
def fit_controls(trace: FloatArray, controls: FloatArray, used: IntArray) -> FloatArray:
    """Return the coefficients, (u, m), of the `used` controls in the regression of the trace on them, within chains.

    `trace` is (chains, batches, m), `controls` (chains, batches, c), and `used` (u,) are columns of the latter.
    """
    chains, batches, m = trace.shape
    u = used.shape[0]
    gram, cross = np.zeros((u, u)), np.zeros((u, m))
    mean, z = np.zeros(controls.shape[2]), np.zeros(u)
    for h in range(chains):
        _mean(controls[h], mean)
        for b in range(batches):
            for i in range(u):
                z[i] = controls[h, b, used[i]] - mean[used[i]]
            for i in range(u):
                for j in range(i, u):
                    gram[i, j] += z[i] * z[j]
                for j in range(m):  # z is centred, so the trace need not be
                    cross[i, j] += z[i] * trace[h, b, j]
    _solve(gram, cross)
    return cross


@compiled
def subtract_controls(trace: FloatArray, controls: FloatArray, used: IntArray, coefficients: FloatArray) -> None:
    """Subtract ``controls[..., used] @ coefficients`` from the trace, in place."""
    for h in range(trace.shape[0]):
        for b in range(trace.shape[1]):
            for i in range(used.shape[0]):
                value = controls[h, b, used[i]]
                for j in range(trace.shape[2]):
                    trace[h, b, j] -= value * coefficients[i, j]


@inner
def _mean(rows: FloatArray, out: FloatArray) -> None:
    for i in range(out.shape[0]):
        out[i] = 0.0
    for b in range(rows.shape[0]):
        for i in range(out.shape[0]):
            out[i] += rows[b, i] / rows.shape[0]


@inner
def _solve(gram: FloatArray, cross: FloatArray) -> None:
    """Replace `cross` (u, m) by the solution of ``gram x = cross``; only the upper half of `gram` (u, u) is read."""
    u, m = cross.shape
    for i in range(u):
        gram[i, i] *= 1.0 + RIDGE
    factorise(gram, 0, u, RIDGE)
    column = np.empty(u)
    for j in range(m):
        for i in range(u):
            column[i] = cross[i, j]
        solve(gram, 0, u, column)
        for i in range(u):
            cross[i, j] = column[i]
