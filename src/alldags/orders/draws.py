"""Independent draws from the posterior of a block: a graph layer by layer, then coefficients and noise given it."""

from __future__ import annotations

import numpy as np

from alldags.engines.conjugate.one_set import draw_given_sets
from alldags.orders.problem import BlockDraws
from alldags.orders.sums import Sums
from alldags.orders.tables import NodeTables
from alldags.typing import BoolArray, FloatArray, IntArray


def draw_block(
    nodes: list[NodeTables], score: FloatArray, sums: Sums, size: int, rng: np.random.Generator, means: bool
) -> BlockDraws:
    """Draw graphs, coefficients and noise variances; `score` has shape (b, rows)."""
    rows = draw_rows(score, sums, size, rng)
    b, causes = len(nodes), nodes[0].causes
    coefficients, variance = np.zeros((size, causes, b)), np.empty((size, b))
    centers = np.zeros((size, causes, b)) if means else None
    for j, (node, stream) in enumerate(zip(nodes, rng.spawn(b), strict=True)):
        masks = draw_sets(node, rows[:, j], stream)
        order = np.lexsort(masks.T)
        own, variance[:, j] = draw_given_sets(node.system, masks[order], stream, order)
        coefficients[:, node.place, j] = own
        variance[:, j] *= node.setting_unit
        if centers is not None:
            centers[:, node.place, j] = means_given_sets(node, masks, order)
    return BlockDraws(coefficients, variance, centers)


def draw_rows(score: FloatArray, sums: Sums, size: int, rng: np.random.Generator) -> IntArray:
    """Draw the parents inside the block of every variable, as rows of its table, shape (size, b)."""
    from alldags.kernels.blocks.layers import draw_layers, draw_mates

    b, sets = sums.row.shape
    rows = np.zeros((size, b), dtype=np.int64)
    placed, last, layer = (np.zeros(size, dtype=np.int64) for _ in range(3))
    work = np.empty(sets), np.empty(sets), np.empty(b, dtype=np.int64)
    total, listed = np.empty(score.shape[1]), np.empty(score.shape[1], dtype=np.int64)
    while (placed != sets - 1).any():
        order = np.lexsort((last, placed))
        before, recent, found = placed[order], last[order], layer[order]
        draw_layers(sums.log_alpha, sums.row, sums.d, sums.backward, before, recent, rng.random(size), *work, found)
        for j in range(b):
            inside = np.flatnonzero(found >> j & 1)
            chosen = np.empty(len(inside), dtype=np.int64)
            uniforms = rng.random(len(inside))
            draw_mates(score[j], sums.row, j, before[inside], recent[inside], uniforms, total, listed, chosen)
            rows[order[inside], j] = chosen
        layer[order] = found
        placed |= layer
        last = layer.copy()
    return rows


def draw_sets(node: NodeTables, rows: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return whole parent sets, shape (size, k) in the order of the node's terms, given the mates."""
    masks = np.zeros((len(rows), len(node.order)), dtype=bool)
    masks[:, node.problem.certain] = True
    masks[:, node.order[: node.count]] = rows[:, None] >> np.arange(node.count) & 1
    if len(node.free):
        masks[:, node.order[node.free]] = _draw_earlier(node, rows, rng)
    return masks


def _draw_earlier(node: NodeTables, rows: IntArray, rng: np.random.Generator) -> BoolArray:
    """Draw the uncertain earlier parents given the mates, shape (size, f)."""
    from alldags.kernels.blocks.scores import draw_earlier

    layout = node.layout
    order = np.argsort(rows, kind="stable")
    chosen = np.empty(len(rows), dtype=np.int64)
    lanes = np.empty((layout.prefixes, 1 << layout.width))
    draw_earlier(node.node, node.space(False), rows[order], rng.random(len(rows)), lanes, chosen)
    masks = np.empty((len(rows), len(node.free)), dtype=bool)
    masks[order] = chosen[:, None] >> layout.bit_of_column & 1
    return masks


def means_given_sets(node: NodeTables, masks: BoolArray, order: IntArray) -> FloatArray:
    """Return the mean coefficients given each parent set, shape (size, k); neighbours along `order` share work."""
    from alldags.kernels.draws import draw_coefficients

    size, k = masks.shape
    means, ignored = np.zeros((size, k)), np.empty(size)
    draw_coefficients(
        node.system.precision, node.system.shift, node.system.noise, masks[order], np.zeros(int(masks.sum())),
        np.ones(size), order, np.empty(k, dtype=np.int64), np.empty((k + 2, k + 1)), means, ignored,
    )  # fmt: skip
    return means
