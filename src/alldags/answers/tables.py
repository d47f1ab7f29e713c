"""Tables behind `Effect` and `Posterior`, averaged over the fitted models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from alldags import checks
from alldags.answers.inner import Change
from alldags.effects.influence import EdgeInfluence, edge_influences, edge_prior
from alldags.effects.paths import candidate_paths, path_moments
from alldags.effects.total import TotalEffect
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.errors import AlldagsError
from alldags.graph.edges import Edge
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.nodes.divided import parts_of
from alldags.show.table import Table
from alldags.typing import FloatArray
from alldags.wording import option

NOT_A_PROBABILITY = (
    "the engine has no notion of an edge being absent: the column 'shrinkage' says how much of a coefficient survives "
    "(0 to 1); it is not a probability"
)


def _sd(mean: float, second: float) -> float:
    return math.sqrt(max(second - mean**2, 0.0))


# -- paths -----------------------------------------------------------------------------------------------------------


def paths_table(totals: Mixture[TotalEffect], unit: float, mean: float, limit: int) -> Table:
    """Return the largest paths and a row for all others; `mean` is the whole effect's, in the user's units."""
    limit = checks.whole("limit", limit, least=1)
    rows = [_path_row(totals, path, unit) for path in candidate_paths(totals, limit)]
    rows.sort(key=lambda row: -abs(row[1]))
    rows = rows[:limit]
    if len(candidate_paths(totals, len(rows) + 1)) > len(rows):
        rows.append(("all other paths", mean - math.fsum(row[1] for row in rows), math.nan, None))
    names = ("path", "mean", "sd", "probability")
    return Table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _path_row(
    totals: Mixture[TotalEffect], path: tuple[str, ...], unit: float
) -> tuple[str, float, float, float | None]:
    mean, second, probability = totals.average_array(lambda total: path_moments(total.model, path)).tolist()
    shown = None if math.isnan(probability) else probability
    return " -> ".join(path), unit * mean, abs(unit) * _sd(mean, second), shown


# -- edge influence --------------------------------------------------------------------------------------------------


UNLINKED = (
    "posterior is of each edge by itself; name a treatment, treatment=..., to see which edges its effects keep as "
    "those of confounders"
)


def influence_table(totals: Mixture[TotalEffect], unit: float, sd: float) -> Table:
    """Return what each uncertain edge does to the answer, most informative first."""
    influences = edge_influences(totals)
    if influences is None:
        raise AlldagsError(
            f"edge_influence needs an engine that averages over parent sets; use {option('engine', 'auto')}"
        )
    pairs = [(item, _influence_row(item, unit, sd)) for item in influences]
    pairs.sort(key=lambda pair: -pair[1][6])
    names = (
        "cause", "effect", "prior", "posterior", "effect_if_present", "effect_if_absent", "variance_removed",
        "sign_flips_at",
    )  # fmt: skip
    columns: dict[str, list[Any]] = {name: [row[i] for _, row in pairs] for i, name in enumerate(names)}
    if any(item.reverse for item, _ in pairs):
        columns["reversed"] = [item.reverse for item, _ in pairs]
        columns["effect_if_reversed"] = [unit * item.mean_reverse for item, _ in pairs]
    return Table(columns)


def _influence_row(
    item: EdgeInfluence, unit: float, sd: float
) -> tuple[str, str, float, float, float, float, float, float]:
    present, absent = unit * item.mean_present, unit * item.mean_absent
    p = item.posterior
    removed = 0.0
    if sd > 0 and math.isfinite(sd) and 0 < p < 1:
        size, power = math.frexp(sd)  # in very large or small units the squares would not be numbers
        removed = p * (1 - p) * math.ldexp(present - absent, -power) ** 2 / size**2
    if item.reverse and sd > 0 and math.isfinite(sd):
        removed = unit**2 * item.spread / sd**2
    return item.cause, item.effect, item.prior, p, present, absent, removed, item.sign_flip_prior


# -- edges and coefficients ------------------------------------------------------------------------------------------


def edges_table(models: Mixture[FittedGraph], edges: Sequence[Edge]) -> Table:
    """Return prior and posterior probability of every candidate edge (or its shrinkage weight)."""
    name, note = "posterior", ""
    posterior = models.average_array(lambda model: _edge_values(model, edges, "inclusion"))
    if np.isnan(posterior).any():
        name, note = "shrinkage", NOT_A_PROBABILITY
        posterior = models.average_array(lambda model: _edge_values(model, edges, "shrinkage"))
    posterior = np.minimum(posterior, 1.0)  # sums of weights round to a little more
    prior = [models.prior_average(lambda model, edge=edge: edge_prior(model, edge)) for edge in edges]  # type: ignore[misc]
    columns: dict[str, list[Any]] = {"cause": [c for c, _ in edges], "effect": [e for _, e in edges]}
    columns |= {"prior": prior, name: posterior.tolist()}
    if any(model.graph.blocks for model in models.items):
        chance = dict(zip(edges, posterior.tolist(), strict=True))
        columns["either"] = [value + chance.get(edge[::-1], 0.0) for edge, value in chance.items()]
    return Table(columns, note)


def _edge_values(model: FittedGraph, edges: Sequence[Edge], name: str) -> FloatArray:
    """Return one of a node's vectors for each edge, 0 where it is not a candidate, nan where the node has none."""
    return np.array([_edge_value(model, edge, name) for edge in edges])


def _edge_value(model: FittedGraph, edge: Edge, name: str) -> float:
    if edge not in model.graph.edges:
        return 0.0
    margin = model.margin(edge[1])
    values = margin.settled_inclusion if name == "inclusion" else margin.shrinkage
    return math.nan if values is None else float(values[margin.parents.index(edge[0])])


def coefficients_table(models: Mixture[FittedGraph], edges: Sequence[Edge]) -> Table:
    """Return mean and standard deviation of every candidate edge's coefficient, in the user's units."""
    moments = models.average_array(lambda model: _coefficient_moments(model, edges))
    units = [models.items[0].data.unit(*edge) for edge in edges]
    rows = list(zip(units, moments.tolist(), strict=True))
    return Table(
        {
            "cause": [c for c, _ in edges],
            "effect": [e for _, e in edges],
            "mean": [unit * mean for unit, (mean, _) in rows],
            "sd": [unit * _sd(mean, second) for unit, (mean, second) in rows],
        }
    )


def _coefficient_moments(model: FittedGraph, edges: Sequence[Edge]) -> FloatArray:
    """Return mean and second moment of each edge's coefficient, shape (edges, 2)."""
    moments = np.zeros((len(edges), 2))
    for row, (cause, effect) in zip(moments, edges, strict=True):
        if (cause, effect) in model.graph.edges:
            margin = model.margin(effect)
            place = margin.parents.index(cause)
            row[:] = margin.mean[place], margin.square[place]
    return moments


# -- curves ------------------------------------------------------------------------------------------------------------


def modifiers_table(changes: Mixture[Change], treatment: str) -> Table:
    """Return, for each covariate of the outcome's regression, the probability that the effect differs with it."""
    names = dict.fromkeys(name for change in changes.items for name in change.node.parents if name != treatment)
    rows = [(name, changes.average(lambda change, name=name: change.node.modification(name))) for name in names]  # type: ignore[misc]
    rows.sort(key=lambda pair: -pair[1])
    return Table({"covariate": [name for name, _ in rows], "probability_modifies": [p for _, p in rows]})


def structures_of(totals: Mixture[TotalEffect], outcome: str) -> dict[str, float]:
    """Return the posterior probability of each structure of effect modification in the outcome's regression."""
    found: dict[str, float] = {}
    for weight, total in zip(totals.weights.posterior, totals.items, strict=True):
        nodes = _curved(total, outcome)
        for name, share in nodes[0].diagnostics.structures if len(nodes) == 1 else ():
            found[name] = found.get(name, 0.0) + weight * share
    return found


def straight_probability(totals: Mixture[TotalEffect], outcome: str) -> float | None:
    """Return the posterior probability that the outcome's regression is one of straight lines; None if none may bend.

    Averaged over the models in which the treatment may act on the outcome.
    """
    pairs = zip(totals.weights.posterior, totals.items, strict=True)
    found = [(weight, _curved(total, outcome)) for weight, total in pairs if outcome in total.span.reached]
    whole = math.fsum(weight for weight, _ in found)
    if whole == 0.0 or not any(nodes for _, nodes in found):
        return None
    return math.fsum(weight * math.prod(node.straight_probability for node in nodes) for weight, nodes in found) / whole


def _curved(total: TotalEffect, outcome: str) -> tuple[CurvedPosterior, ...]:
    """Return the outcome's regressions in one model that may bend; none if the treatment does not reach it."""
    bends = outcome in total.span.reached and total.model.bends(outcome)
    parts = parts_of(total.model.node(outcome)) if bends else ()
    return tuple(part for part in parts if isinstance(part, CurvedPosterior))
