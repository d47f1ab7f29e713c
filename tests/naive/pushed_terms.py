"""Rows pushed through regressions on derived columns, one draw at a time, all columns of all rows computed anew."""

from __future__ import annotations

import numpy as np


def pushed(curves, rows, starts, draws, rng):
    """Return outcomes with the treatment at each start, shape (starts, draws, rows); `draws` by node."""
    *between, outcome = curves.nodes
    size = draws[outcome].size
    out = np.empty((len(starts), size, rows.count))
    for i in range(size):
        noise = {} if curves.is_straight else {name: rng.standard_normal(rows.count) for name in between}
        for place, start in enumerate(starts):
            now = rows.put({curves.treatment: start})
            for name, node in curves.nodes.items():
                value = predicted(node, draws[name].taken(slice(i, i + 1)), now, rows, noise.get(name))
                now = now.put({name: value})
            out[place, i] = value
    return out


def predicted(node, draw, now, own, noise):
    arm = node.arm_of(own if draw.absent[0] else now)
    base = node.base(now)
    value = draw.intercepts[0][arm] + np.einsum("nk,nk->n", base, draw.coefficients[0][arm])
    if noise is not None:
        value = value + draw.sds[0][arm] * noise
    return node.center + node.unit * value
