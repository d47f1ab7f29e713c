"""How much of an effect's uncertainty is about directions that no number of observational rows can tell.

Graphs of one Markov class have the same evidence, whatever the rows. So the variance of ``E[T | graph]`` has a part
between classes, which more rows reduce, and a part inside, which only an experiment, or knowing more of the order,
does:

    Var(E[T | G]) = Var(E[T | class]) + E[Var(E[T | G] | class)]

With G drawn from the posterior and G' another member of its class, drawn with the members' posterior weights, the last
term is half the mean of ``(E[T | G] - E[T | G'])^2``. It is carried from block to block as a matrix D. In a block that
passes on ``t = A(G) t_before``, and with C the second moments of what comes in given the class,

    D = E[A D_before A'] + 1/2 E[(A(G) - A(G')) C (A(G) - A(G'))'],

and single nodes, whose parents all members share, carry D as they carry second moments of conditional means.
"""

from __future__ import annotations

import numpy as np

from alldags.effects.total import TotalEffect, second_moments, variable_streams
from alldags.models.blocks import NodeBlock, Places, between_graphs
from alldags.models.order_block import OrderBlock
from alldags.orders.members import mean_coefficients, other_members
from alldags.typing import FloatArray


def direction_variance(total: TotalEffect, size: int, rng: np.random.Generator) -> float:
    """Return E[Var(E[T | graph] | Markov class)] in working units, from `size` graphs drawn in each open block."""
    if not total.order_blocks:
        return 0.0
    span, streams = total.span, variable_streams(total.model, rng)
    square = second_moments(total.model, span, between_graphs)
    inside = np.zeros_like(square)
    for block in total.blocks:
        if isinstance(block, NodeBlock):
            block.carry_second(span.places, inside, between_graphs)
        else:
            _carry(block, span.places, square, inside, size, streams[block.variables[0]])
    return max(float(inside[-1, -1]), 0.0)


def _carry(
    block: OrderBlock, places: Places, square: FloatArray, inside: FloatArray, size: int, rng: np.random.Generator
) -> None:
    """Write what a block of unknown order adds, and passes on, to the variances inside classes, shape (v, v)."""
    own = [places[name] for name in block.variables]
    pairs = list(block.before(places))
    rows, others = [i for i, _ in pairs], [place for _, place in pairs]
    ways = [passing[:, :, [*rows, -1]] for passing in _draw_pairs(block, places, size, rng)]
    held = np.zeros((len(rows) + 1, len(rows) + 1))  # the last one is the source, where it is inside: it does not vary
    before, given_class = held.copy(), held.copy()
    before[:-1, :-1] = inside[np.ix_(others, others)]
    given_class[:-1, :-1] = square[np.ix_(others, others)] - before[:-1, :-1]
    given_class[-1, -1] = 1.0
    passed = sum(np.einsum("nbi,ij,ncj->bc", way, before, way) for way in ways) / (2 * size)
    apart = ways[0] - ways[1]
    inside[np.ix_(own, own)] = passed + np.einsum("nbi,ij,ncj->bc", apart, given_class, apart) / (2 * size)
    earlier = [place for place in range(min(own)) if place not in own]
    across = 0.5 * (ways[0] + ways[1]).mean(axis=0)[:, :-1] @ inside[np.ix_(others, earlier)]
    inside[np.ix_(own, earlier)] = across
    inside[np.ix_(earlier, own)] = across.T


def _draw_pairs(
    block: OrderBlock, places: Places, size: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw graphs and other members of their classes; return what each passes on, shape (size, b, e + 1) each."""
    draws, walk = rng.spawn(2)
    drawn = block.posterior.draw(size, draws)
    present = drawn.coefficients != 0.0
    members = other_members(block.problem, present, walk)
    source = block.source(places)
    one, other = (_passing(mean_coefficients(block.problem, graphs), source) for graphs in (present, members))
    return one, other


def _passing(means: FloatArray, source: int | None) -> FloatArray:
    """Return how t inside answers to t of the earlier variables, and to a source inside; shape (size, b, e + 1).

    `means` has shape (size, b + e, b). At the source t is held, whatever its parents.
    """
    size, causes, b = means.shape
    held = means.copy()
    entering = np.zeros((size, b, causes - b + 1))
    if source is not None:
        held[:, :, source] = 0.0
        entering[:, source, -1] = 1.0
    entering[:, :, :-1] = held[:, b:].transpose(0, 2, 1)
    return np.asarray(np.linalg.solve(np.eye(b) - held[:, :b].transpose(0, 2, 1), entering))
