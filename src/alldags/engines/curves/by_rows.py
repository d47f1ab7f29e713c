"""Structures of a child that is not normal, by its rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from alldags.columns.base import Combined, RowValues
from alldags.engines.curves.asked import AskedEngine
from alldags.engines.curves.parts import FamilyPart, Part
from alldags.engines.curves.posterior import NEGLIGIBLE, Averaged, Made, all_columns
from alldags.engines.curves.spec import CurvedSpec
from alldags.engines.curves.wanted import changes_of, wanted_structures
from alldags.engines.weighted.fit import fit_rows
from alldags.engines.weighted.posterior import WeightedPosterior
from alldags.nodes.rows import NodeRows


def fit_by_rows(
    spec: CurvedSpec,
    made: Made,
    sample: RowValues,
    rows: NodeRows,
    rng: np.random.Generator,
    like: Averaged | None = None,
) -> Averaged:
    """Fit and weigh the structures; `rows` are the child's, with any columns.

    Of a table much `like` another, structures that carried no weight there are left at that.
    """
    columns = all_columns(made.base)
    change = changes_of(spec, columns, sample)
    chosen = wanted_structures(spec, made.candidates)
    others = [None] * len(chosen) if like is None else list(zip(like.parts, like.weights.tolist(), strict=True))
    parts: list[Part] = []
    logs: list[float] = []
    for item, other, stream in zip(chosen, others, rng.spawn(len(chosen)), strict=True):
        if other is not None and other[1] < NEGLIGIBLE:
            parts.append(other[0])
            logs.append(-math.inf)
            continue
        matrix = item.spread(len(columns))
        own = replace(rows, columns=Combined(columns, matrix))
        same = other[0].node if other is not None else None
        assert same is None or isinstance(same, WeightedPosterior)
        engine = AskedEngine(change @ matrix, like=None if same is None else same.base)
        found = fit_rows(own, item.terms(spec.child), spec.prior, engine, stream, samples=False, like=same)
        if same is not None and not found.diagnostics.is_reliable:  # not so much alike: from the beginning
            fresh = AskedEngine(change @ matrix)
            found = fit_rows(own, item.terms(spec.child), spec.prior, fresh, stream.spawn(1)[0], samples=False)
        parts.append(FamilyPart(item.name, found, matrix))
        logs.append(float(found.log_evidence or 0.0) + math.log(item.weight))
    total = float(np.logaddexp.reduce(logs))
    return Averaged(spec, made, tuple(parts), np.exp(np.array(logs) - total), total)
