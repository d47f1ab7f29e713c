"""Edges where regressions have terms: their probabilities, and what knowing one would do to an effect."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from alldags.effects.curves import DirectCurves
from alldags.results.risk_tables import FEW, means_given
from alldags.show.table import Table
from alldags.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from alldags.results.posterior import Posterior

_DRAWS = 4000


def with_term_edges(posterior: Posterior, table: Table) -> Table:
    """Return the table of edges, those into children with terms of their own: present iff one of their terms is."""
    data = posterior.workings.data
    if not data.curved or data.on_demand or "posterior" not in table.columns:
        return table
    found = list(table["posterior"])
    for place, (cause, child) in enumerate(zip(table["cause"], table["effect"], strict=True)):
        if child in data.curved:
            found[place] = posterior._term_node(None, child).edge_probability(cause)
    return Table({name: found if name == "posterior" else list(table[name]) for name in table.columns})


def influence_of_terms(curves: DirectCurves, mean: float, sd: float, rng: np.random.Generator) -> Table:
    """Return what knowing each uncertain edge into the outcome would do to the mean, from draws."""
    node = curves.node
    values, present = _drawn(curves, rng)
    rows = []
    for cause, stated in node.spec.causes.items():
        if stated >= 1.0:
            continue
        p = node.edge_probability(cause)
        there, absent = means_given(values, present[cause], mean, p)
        gap = there - absent
        removed = 0.0 if sd == 0.0 or math.isnan(gap) else p * (1.0 - p) * gap**2 / sd**2
        rows.append((cause, node.child, stated, p, there, absent, min(removed, 1.0), math.nan))
    rows.sort(key=lambda row: -row[6])
    names = (
        "cause", "effect", "prior", "posterior", "effect_if_present", "effect_if_absent", "variance_removed",
        "sign_flips_at",
    )  # fmt: skip
    unknown = any(math.isnan(row[4]) or math.isnan(row[5]) for row in rows)
    return Table({name: [row[i] for row in rows] for i, name in enumerate(names)}, FEW if unknown else "")


def _drawn(curves: DirectCurves, rng: np.random.Generator) -> tuple[FloatArray, dict[str, BoolArray]]:
    """Return draws of the effect, shape (draws,), and for each cause in which of them it is present."""
    node = curves.node
    values: list[FloatArray] = []
    present: dict[str, list[BoolArray]] = {name: [] for name in node.spec.causes}
    counts = rng.multinomial(_DRAWS, node.weights)
    for count, fit, question in zip(counts, node.fits, curves.questions, strict=True):
        draws = fit.draw(count, rng)
        absent = rng.random(count) < node.no_effect
        value = question.offset + draws.coefficients @ question.weights
        values.append(np.where(absent, 0.0, node.unit * value))
        for name, found in present.items():
            if node.arms is not None and name == curves.treatment:
                found.append(~absent)
            else:
                mask = node.members(name)[fit.structure.places]
                found.append((draws.coefficients[:, mask] != 0.0).any(axis=1))
    return np.concatenate(values), {name: np.concatenate(found) for name, found in present.items()}
