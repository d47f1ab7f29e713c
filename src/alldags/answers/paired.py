"""Both regressions of a pair with correlated errors, as their rows see them: one, and the other given it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from alldags.answers.nodes import NodeSample
from alldags.answers.regressed import Regressed, of_sample, straight_regression
from alldags.models.fitted import FittedGraph
from alldags.nodes.spec import straight_columns
from alldags.pairs.member import MemberPosterior
from alldags.pairs.posterior import PairDraws
from alldags.typing import FloatArray


def row_regressions(model: FittedGraph, samples: Mapping[str, NodeSample]) -> tuple[Regressed, ...]:
    """Return draws of nodes as the regressions that their rows see: of a pair, one and the other given it."""
    found: list[Regressed] = []
    seen: set[str] = set()
    for child, sample in samples.items():
        if sample.pair is None:
            found.append(of_sample(model, child, sample))
        elif child not in seen:
            pair = paired_regressions(model, child, sample.pair)
            found += pair
            seen |= {one.child for one in pair}
    return tuple(found)


def paired_regressions(model: FittedGraph, child: str, drawn: PairDraws) -> list[Regressed]:
    """Return draws of both regressions: of the first variable, and of the second given all that the first depends on.

    The second's error is ``gamma`` times the first's and a rest that is independent of it, so that given the first and
    its causes the second has ordinary rows: the product of both is the likelihood of a row. Rows in which one was set
    show the other's own regression.
    """
    key, pair = model.pair_key(child), model.pair(child)
    assert key is not None
    assert pair is not None
    causes, flat = key.instruments, model.data.columns(key.flat)
    others = tuple(name for name in key.later if name != key.first)
    columns = (*causes, *flat), (key.first, *causes, *others, *flat)
    first, second = (key.over(pair, place, columns[place], model.prior, key.rows) for place in (0, 1))
    pi, beta = first.coefficients(drawn), second.coefficients(drawn)
    gamma = _slope(drawn) * pair.problem.scale[1] / pair.problem.scale[0]
    beta[:, 0] += gamma
    places = [1 + i for i in range(len(causes))] + [1 + len(causes) + len(others) + i for i in range(len(flat))]
    beta[:, places] -= gamma[:, None] * pi
    left = drawn.noise[:, 1] * np.sqrt(1.0 - drawn.correlation**2)
    either = tuple((name, False) for name in (key.first, key.second) if name in model.data.was_set)
    found = [
        _regressed(model, first, pi, drawn.noise[:, 0], either),
        _regressed(model, second, beta, left, either),
    ]
    for place, other in enumerate((key.second, key.first)):
        rows = key.alone(place)
        if rows is not None:
            own = key.over(pair, place, columns[place], model.prior, rows)
            coefficients = own.coefficients_alone(drawn)
            found.append(_regressed(model, own, coefficients, drawn.noise[:, place], ((other, True),)))
    return found


def _slope(drawn: PairDraws) -> FloatArray:
    """Return the slope of the second error on the first, in the pair's units, shape (size,)."""
    return np.asarray(drawn.correlation * drawn.noise[:, 1] / drawn.noise[:, 0])


def _regressed(
    model: FittedGraph,
    node: MemberPosterior,
    coefficients: FloatArray,
    noise: FloatArray,
    when: tuple[tuple[str, bool], ...],
) -> Regressed:
    problem, data = node.problem, model.data
    columns = straight_columns(problem.terms, data)
    variance = (node.pair.problem.scale[node.place] * noise) ** 2
    share = 1.0 / problem.rows if problem.rows > problem.n else 0.0
    found = straight_regression(problem.child, columns, coefficients, variance, node.origin, share, data)
    return replace(found, when=when)
