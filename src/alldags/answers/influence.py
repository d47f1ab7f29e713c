"""Edges of an effect that is pushed through rows."""

from __future__ import annotations

import math

import numpy as np

from alldags.answers.nodes import NodeSample, Samples
from alldags.effects.influence import EdgeInfluence
from alldags.show.table import Table
from alldags.typing import BoolArray, FloatArray

_LEAST_DRAWS = 50  # with and without an edge, for means given it
FEW = (
    "effects are - where an edge is so nearly certain, or ruled out, that too few draws say what it would be otherwise"
)


def influence_of_edges(values: FloatArray, samples: Samples, mean: float, sd: float) -> Table:
    """Return what knowing each uncertain edge would do to the effect; `values` are its draws, shape (draws,)."""
    rows = [row for child, sample in samples.items() for row in _influences(child, sample, values, mean, sd)]
    rows.sort(key=lambda row: -row[6])
    names = (
        "cause", "effect", "prior", "posterior", "effect_if_present", "effect_if_absent", "variance_removed",
        "sign_flips_at",
    )  # fmt: skip
    unknown = any(math.isnan(row[4]) or math.isnan(row[5]) for row in rows)
    return Table({name: [row[i] for row in rows] for i, name in enumerate(names)}, FEW if unknown else "")


def _influences(
    child: str, sample: NodeSample, values: FloatArray, mean: float, sd: float
) -> list[tuple[str, str, float, float, float, float, float, float]]:
    found = []
    node, slopes = sample.node, sample.slopes()
    inclusion = np.ones(len(node.parents)) if node.inclusion is None else node.inclusion
    for place in np.flatnonzero(~node.certain):
        own = slopes[..., sample.columns.members(node.parents[place])] != 0.0
        there = own.any(axis=-1).reshape(-1, sample.size).any(axis=0)
        p = float(inclusion[place])
        present, absent = means_given(values, there, mean, p)
        removed = p * (1 - p) * (present - absent) ** 2 / sd**2 if sd > 0 and not math.isnan(present - absent) else 0.0
        item = EdgeInfluence(
            node.parents[place], child, float(node.stated_inclusion[place]), p, present, absent,
            node.has_independent_edges, float(node.raised[place]),
        )  # fmt: skip
        flips = math.nan if math.isnan(present * absent) else item.sign_flip_prior
        found.append((item.cause, child, item.prior, p, present, absent, removed, flips))
    return found


def means_given(values: FloatArray, there: BoolArray, mean: float, p: float) -> tuple[float, float]:
    """Return the mean effect with and without an edge; nan where draws of a kind are too few.

    The commoner case follows from the mean of all and the rarer case, so that the two are consistent with it.
    """
    with_edge, without = int(there.sum()), int((~there).sum())
    if min(with_edge, without) < _LEAST_DRAWS:
        return (math.nan, mean) if with_edge < without else (mean, math.nan)
    present, absent = float(values[there].mean()), float(values[~there].mean())
    shift = mean - (p * present + (1 - p) * absent)
    return present + shift, absent + shift
