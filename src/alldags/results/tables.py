"""Tables behind `Effect` and `Posterior`: each averages node-level numbers over the fitted graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import TypeAlias

from alldags import checks
from alldags.effects.influence import EdgeInfluence, edge_influences
from alldags.effects.paths import edge_means, largest_paths, mediator_moments, path_moments
from alldags.effects.propagate import path_variables
from alldags.errors import AlldagsError
from alldags.nodes import NodePosterior
from alldags.results.graphfit import GraphFit
from alldags.results.table import Table

Parts: TypeAlias = Sequence[tuple[float, GraphFit]]

NOT_A_PROBABILITY = (
    "the engine has no notion of an edge being absent: the column 'shrinkage' says how much of a coefficient survives "
    "(0 to 1); it is not a probability"
)


def _sd(mean: float, second: float) -> float:
    return math.sqrt(max(second - mean**2, 0.0))


# -- paths and mediators ---------------------------------------------------------------------------------------------


def paths_table(parts: Parts, source: str, target: str, factor: float, total: float, limit: int) -> Table:
    """Return the largest paths and a row for all others."""
    limit = checks.whole("limit", limit, least=1)
    rows = [_path_row(parts, path, factor) for path in _candidate_paths(parts, source, target, limit)]
    rows.sort(key=lambda row: -abs(row[1]))
    rows = rows[:limit]
    if _count_paths(parts, source, target, len(rows) + 1) > len(rows):
        rows.append(("all other paths", total - math.fsum(row[1] for row in rows), math.nan, None))
    names = ("path", "mean", "sd", "probability")
    return Table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _candidate_paths(parts: Parts, source: str, target: str, limit: int) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    for _, fit in parts:
        variables = path_variables(fit.graph, source, target)
        if variables:
            means = edge_means(fit.graph, fit.node, source, target)
            found.update(dict.fromkeys(islice(largest_paths(means, variables), limit)))
    return list(found)


def _count_paths(parts: Parts, source: str, target: str, enough: int) -> int:
    """Count the distinct candidate paths, but stop at `enough` (there may be astronomically many)."""
    return len(_candidate_paths(parts, source, target, enough))


def _path_row(parts: Parts, path: tuple[str, ...], factor: float) -> tuple[str, float, float, float | None]:
    mean, second, probability = 0.0, 0.0, 0.0
    for weight, fit in parts:
        moments = path_moments(fit.graph, fit.node, path)
        if moments is not None:
            mean += weight * moments.mean
            second += weight * moments.second
            probability += weight * (math.nan if moments.probability is None else moments.probability)
    shown = None if math.isnan(probability) else probability
    return " -> ".join(path), factor * mean, abs(factor) * _sd(mean, second), shown


def mediators_table(parts: Parts, source: str, target: str, factor: float) -> Table:
    """Return the effect through each variable between treatment and outcome, largest first."""
    sums: dict[str, list[float]] = {}
    for weight, fit in parts:
        for name, (mean, second) in mediator_moments(fit.graph, fit.node, source, target).items():
            entry = sums.setdefault(name, [0.0, 0.0])
            entry[0] += weight * mean
            entry[1] += weight * second
    rows = sorted(sums.items(), key=lambda item: -abs(item[1][0]))
    return Table(
        {
            "mediator": [name for name, _ in rows],
            "mean": [factor * mean for _, (mean, _) in rows],
            "sd": [abs(factor) * _sd(mean, second) for _, (mean, second) in rows],
        }
    )


# -- edge influence --------------------------------------------------------------------------------------------------


def influence_table(
    parts: Parts, prior_weights: Sequence[float], source: str, target: str, factor: float, sd: float
) -> Table:
    """Return what each uncertain edge does to the answer, most informative first."""
    found = [edge_influences(fit.graph, fit.node, source, target) for _, fit in parts]
    if any(rows is None for rows in found):
        raise AlldagsError("edge_influence needs an engine that averages over parent sets, such as 'auto' or 'exact'")
    influences = _mix_influences(parts, prior_weights, [rows or [] for rows in found], source, target)
    rows = [_influence_row(item, factor, sd) for item in influences]
    rows.sort(key=lambda row: -row[6])
    names = (
        "cause", "effect", "prior", "posterior", "effect_if_present", "effect_if_absent", "variance_removed",
        "sign_flips_at",
    )  # fmt: skip
    return Table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _mix_influences(
    parts: Parts,
    prior_weights: Sequence[float],
    found: Sequence[Sequence[EdgeInfluence]],
    source: str,
    target: str,
) -> list[EdgeInfluence]:
    """Average over several graphs; a graph in which the edge is not a candidate counts as "absent"."""
    if len(parts) == 1:
        return list(found[0])
    edges = dict.fromkeys((item.cause, item.effect) for rows in found for item in rows)
    return [_mix_one(edge, parts, prior_weights, found, source, target) for edge in edges]


def _mix_one(
    edge: tuple[str, str],
    parts: Parts,
    prior_weights: Sequence[float],
    found: Sequence[Sequence[EdgeInfluence]],
    source: str,
    target: str,
) -> EdgeInfluence:
    prior = present = with_edge = without_edge = 0.0
    for (weight, fit), prior_weight, rows in zip(parts, prior_weights, found, strict=True):
        item = next((row for row in rows if (row.cause, row.effect) == edge), None)
        p, mean_present, mean_absent = _edge_in_fit(edge, fit, item, source, target)
        prior += prior_weight * edge_prior(fit, edge)
        present += weight * p
        with_edge += weight * p * mean_present
        without_edge += weight * (1 - p) * mean_absent
    absent = 1 - present
    return EdgeInfluence(
        *edge,
        prior,
        present,
        with_edge / present if present else math.nan,
        without_edge / absent if absent else math.nan,
    )


def _edge_in_fit(
    edge: tuple[str, str], fit: GraphFit, item: EdgeInfluence | None, source: str, target: str
) -> tuple[float, float, float]:
    """Return the edge's posterior probability in one graph and the means of the effect with and without it."""
    if item is not None:
        return item.posterior, item.mean_present, item.mean_absent
    from alldags.effects.propagate import first_moments

    variables = path_variables(fit.graph, source, target)
    mean = float(first_moments(fit.graph, fit.node, variables)[-1]) if variables else 0.0
    if edge not in fit.graph.edges:
        return 0.0, mean, mean
    inclusion = fit.node(edge[1]).inclusion
    place = fit.graph.parents(edge[1]).index(edge[0])
    return (math.nan if inclusion is None else float(inclusion[place])), mean, mean


def _influence_row(
    item: EdgeInfluence, factor: float, sd: float
) -> tuple[str, str, float, float, float, float, float, float]:
    present, absent = factor * item.mean_present, factor * item.mean_absent
    p = item.posterior
    removed = p * (1 - p) * (present - absent) ** 2 / sd**2 if sd > 0 and math.isfinite(sd) and 0 < p < 1 else 0.0
    return item.cause, item.effect, item.prior, p, present, absent, removed, sign_flip_prior(item)


def sign_flip_prior(item: EdgeInfluence) -> float:
    """Return the prior probability of an edge at which the effect's posterior mean would be zero; nan if none is.

    Multiplying the prior odds by r multiplies the posterior odds by r, so the posterior probability at which the mean
    vanishes maps back to a prior one.
    """
    low, high, p, prior = item.mean_absent, item.mean_present, item.posterior, item.prior
    if not item.independent or not low * high < 0 or not 0 < p < 1 or not 0 < prior < 1:
        return math.nan
    posterior_odds = -low / high  # p* / (1 - p*) at p* = -low / (high - low)
    odds = prior / (1 - prior) * posterior_odds * (1 - p) / p
    return odds / (1 + odds)


# -- edges and coefficients ------------------------------------------------------------------------------------------


def edges_table(parts: Parts, prior_weights: Sequence[float], edges: Sequence[tuple[str, str]]) -> Table:
    """Return prior and posterior probability of every candidate edge (or its shrinkage weight)."""
    posterior = [_edge_average(parts, edge, "inclusion") for edge in edges]
    name, note = "posterior", ""
    if any(math.isnan(value) for value in posterior):
        name, note = "shrinkage", NOT_A_PROBABILITY
        posterior = [_edge_average(parts, edge, "shrinkage") for edge in edges]
    prior = [
        math.fsum(w * edge_prior(fit, edge) for w, (_, fit) in zip(prior_weights, parts, strict=True)) for edge in edges
    ]
    return Table(
        {"cause": [c for c, _ in edges], "effect": [e for _, e in edges], "prior": prior, name: posterior}, note
    )


def edge_prior(fit: GraphFit, edge: tuple[str, str]) -> float:
    """Return the prior probability of an edge in one fit."""
    if edge not in fit.graph.edges:
        return 0.0
    return float(fit.node(edge[1]).problem.prior_inclusion[fit.graph.parents(edge[1]).index(edge[0])])


def _edge_average(parts: Parts, edge: tuple[str, str], name: str) -> float:
    total = 0.0
    for weight, fit in parts:
        if edge in fit.graph.edges:
            values = getattr(fit.node(edge[1]), name)
            place = fit.graph.parents(edge[1]).index(edge[0])
            total += weight * (math.nan if values is None else float(values[place]))
    return total


def coefficients_table(parts: Parts, edges: Sequence[tuple[str, str]]) -> Table:
    """Return mean and standard deviation of every candidate edge's coefficient, in the user's units."""
    means, sds = [], []
    for cause, effect in edges:
        mean, second = 0.0, 0.0
        for weight, fit in parts:
            if (cause, effect) in fit.graph.edges:
                node: NodePosterior = fit.node(effect)
                place = fit.graph.parents(effect).index(cause)
                mean += weight * float(node.mean[place])
                second += weight * float(node.second_moment[place, place])
        working = parts[0][1].working
        unit = float(working.scale[working.index[effect]] / working.scale[working.index[cause]])
        means.append(unit * mean)
        sds.append(unit * _sd(mean, second))
    return Table({"cause": [c for c, _ in edges], "effect": [e for _, e in edges], "mean": means, "sd": sds})
