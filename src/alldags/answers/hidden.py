"""What correlated errors do to one effect: its pairs, whether the graph identifies it, what it owes to not knowing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from alldags.answers.held import HeldEffect
from alldags.effects.total import TotalEffect, second_moments
from alldags.graph.identified import is_identified
from alldags.models.pair import PairKey
from alldags.nodes.onto import ParentsPosterior
from alldags.nodes.posterior import NodePosterior
from alldags.pairs.member import MemberPosterior
from alldags.pairs.posterior import PairPosterior
from alldags.typing import FloatArray

_MOST_VARIABLES = 24  # looked at together, for whether an effect is identified


def pairs_on_the_way(total: TotalEffect) -> Iterator[tuple[PairKey, PairPosterior]]:
    """Yield the pairs with correlated errors of which the outcome, or what lies before it, is one; each once."""
    seen = set()
    for name in total.span.reached:
        key = total.model.pair_key(name)
        if key is not None and (key.first, key.second) not in seen:
            seen.add((key.first, key.second))
            found = total.model.pair(name)
            assert found is not None
            yield key, found


def hidden_sd(effect: HeldEffect) -> float | None:
    """Return the standard deviation of the effect's mean given the correlations; None if no errors are correlated."""
    totals = effect.workings.totals
    if not any(list(pairs_on_the_way(total)) for total in totals.items):
        return None
    second = totals.average(lambda total: float(second_moments(total.model, total.span, by_correlation)[-1, -1]))
    first = totals.average(lambda total: float(second_moments(total.model, total.span, by_means)[-1, -1]))
    return abs(effect.workings.unit) * math.sqrt(max(second - first, 0.0))


def by_means(node: NodePosterior, places: list[int]) -> FloatArray:
    """Return products of mean coefficients."""
    return np.outer(node.mean[places], node.mean[places])


def by_correlation(node: NodePosterior, places: list[int]) -> FloatArray:
    """Return second moments of mean coefficients given the correlation of a node's errors with another's."""
    if isinstance(node, ParentsPosterior) and node.lines[places].all():
        return by_correlation(node.columns, [node.columns.parents.index(node.parents[i]) for i in places])
    if isinstance(node, MemberPosterior):
        return np.asarray(node.second_by_correlation[np.ix_(places, places)])
    return by_means(node, places)


def identified(total: TotalEffect) -> float:
    """Return the probability that the graph identifies the effect: no prior of a correlation is left in it."""
    pairs = list(pairs_on_the_way(total))
    if not pairs or not total.span.variables:
        return 1.0
    probability = 1.0
    for key, found in pairs:  # one after the other, the others present with all their edges
        shares = {True: 0.0, False: 0.0}
        for share, valid in _cases(key, found):
            shares[_is_so(total, key, valid)] += share
        probability = min(probability, shares[True] / sum(shares.values()))
    return probability


def _cases(key: PairKey, found: PairPosterior) -> Iterator[tuple[float, tuple[str, ...] | None]]:
    """Yield probabilities with the instruments that are then valid, by how many are; None: errors are uncorrelated."""
    leaves = found.leaves
    there = leaves.is_hidden
    yield float(leaves.weight[~there].sum()), None
    doubtful = [name for name, _ in key.doubtful]
    invalid = leaves.invalid[there]
    counts = invalid.sum(axis=1)
    for count in np.unique(counts):
        own = counts == count
        heaviest = invalid[own][int(np.argmax(leaves.weight[there][own]))]
        valid = tuple(name for name, out in zip(doubtful, heaviest, strict=True) if not out)
        yield float(leaves.weight[there][own].sum()), valid


def excluded(total: TotalEffect, key: PairKey) -> tuple[str, ...]:
    """Return what the effect is identified by: the graph rules out that it acts on the second variable directly."""
    if not total.span.variables:
        return ()
    names = tuple(name for name in (*key.instruments, key.first) if name not in key.parents[1])
    rests = names and _is_so(total, key, ()) and not _is_so(total, key, (), names)
    return names if rests else ()


def _is_so(total: TotalEffect, key: PairKey, valid: tuple[str, ...] | None, acting: tuple[str, ...] = ()) -> bool:
    """Tell whether the effect is identified if only these of the doubtful instruments are valid.

    Variables in `acting` act on the second of the pair, whatever the graph says.
    """
    graph = total.model.graph
    source, target = total.span.variables[0], total.span.variables[-1]
    hidden = [pair for pair in graph.hidden if valid is not None or set(pair) != {key.first, key.second}]
    near = {*total.span.variables, *(name for pair in hidden for name in pair), *key.instruments}
    wide = near | graph.ancestors(target)
    names = [name for name in graph.order if name in (wide if len(wide) <= _MOST_VARIABLES else near)]
    out = {(name, key.second) for name in valid or ()}
    edges = [edge for edge in _ordered(total) if edge not in out and set(edge) <= set(names)]
    edges += [(name, key.second) for name in acting]
    tried = [name for name in tried_in(total) if name in names]  # by lot, as it were: by what nothing else acts on
    edges += [(f"\0set {name}", name) for name in tried]
    every = (*(f"\0set {name}" for name in tried), *names)
    return is_identified(every, edges, [pair for pair in hidden if set(pair) <= set(names)], source, target)


def tried_in(total: TotalEffect) -> tuple[str, ...]:
    """Return the first variables of pairs on the way that were set to several values in some rows."""
    return tuple(key.first for key, _ in pairs_on_the_way(total) if key.is_tried)


def _ordered(total: TotalEffect) -> Iterator[tuple[str, str]]:
    """Yield candidate edges; of those whose direction is open, the one that goes along the order of the graph."""
    place = {name: i for i, name in enumerate(total.model.graph.order)}
    return (edge for edge in total.model.graph.edges if place[edge[0]] < place[edge[1]])


def strengths(found: PairPosterior) -> dict[str, tuple[float, float]]:
    """Return partial R2 and F of each instrument of the first variable, given the others and flat covariates."""
    one = found.problem
    if not len(one.first):
        return {}
    gram, cross = one.scatter[np.ix_(one.first, one.first)], one.scatter[one.first, 0]
    slopes, inverse = np.linalg.solve(gram, cross), np.linalg.pinv(gram)
    left, freedom = one.scatter[0, 0] - cross @ slopes, max(one.n - len(one.first), 1.0)
    explained = slopes**2 / np.diag(inverse)
    shares = explained / (explained + left)
    return {
        one.names[j]: (float(r2), float(e / left * freedom))
        for j, r2, e in zip(one.first, shares, explained, strict=True)
    }


def joint_f(found: PairPosterior) -> float | None:
    """Return the F statistic of all instruments together; None without any."""
    one = found.problem
    if not len(one.first):
        return None
    cross = one.scatter[one.first, 0]
    explained = float(cross @ np.linalg.solve(one.scatter[np.ix_(one.first, one.first)], cross))
    left = float(one.scatter[0, 0]) - explained
    return explained / len(one.first) / left * max(one.n - len(one.first), 1.0)
