"""Structures of a child that is not normal, by its rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from alldags.columns.base import Columns, Combined, RowValues
from alldags.engines.curves.asked import AskedEngine
from alldags.engines.curves.moments import ArmMoments
from alldags.engines.curves.parts import FamilyPart
from alldags.engines.curves.posterior import Averaged, all_columns
from alldags.engines.curves.spec import Candidates, CurvedSpec
from alldags.engines.curves.wanted import changes_of, wanted_structures
from alldags.engines.weighted.fit import fit_rows
from alldags.nodes.rows import NodeRows
from alldags.typing import FloatArray


def fit_by_rows(
    spec: CurvedSpec,
    arms: FloatArray | None,
    candidates: Candidates,
    raw: ArmMoments,
    sample: RowValues,
    rows: NodeRows,
    rng: np.random.Generator,
) -> Averaged:
    """Fit and weigh the structures; `rows` are the child's, with any columns."""
    base = Columns(candidates.columns, raw.pooled[0][:-1], raw.scale[:-1])
    columns = all_columns(base)
    change = changes_of(spec, columns, sample)
    chosen = wanted_structures(spec, candidates)
    parts, logs = [], []
    for item, stream in zip(chosen, rng.spawn(len(chosen)), strict=True):
        matrix = item.spread(len(columns))
        own = replace(rows, columns=Combined(columns, matrix))
        engine = AskedEngine(change @ matrix)
        found = fit_rows(own, item.terms(spec.child), spec.prior, engine, stream, samples=False)
        parts.append(FamilyPart(item.name, found, matrix))
        logs.append(float(found.log_evidence or 0.0) + math.log(item.weight))
    total = float(np.logaddexp.reduce(logs))
    return Averaged(spec, arms, base, raw, tuple(parts), np.exp(np.array(logs) - total), total)
