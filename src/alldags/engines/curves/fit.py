"""From rows and what is wanted to a `CurvedPosterior`: columns, structures, their posteriors and weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from alldags.columns.base import RowValues
from alldags.columns.rows import Parts, Rows
from alldags.data.look import look_at_values
from alldags.engines.curves.by_rows import fit_by_rows
from alldags.engines.curves.drives import raised_by_link
from alldags.engines.curves.make import columns_of
from alldags.engines.curves.moments import ArmMoments, arm_moments
from alldags.engines.curves.normal import fit_normal
from alldags.engines.curves.posterior import Averaged, CurvedPosterior
from alldags.engines.curves.spec import Candidates, CurvedSpec, candidates_of
from alldags.errors import DataError
from alldags.graph.terms import Terms
from alldags.nodes.onto import parents_problem
from alldags.nodes.rows import CountedRows
from alldags.nodes.spec import NodeSpec
from alldags.typing import FloatArray

_CONSTANT = 1e-12  # variance within arms, of that in all, below which there is none
_LEAST_ROWS = 20  # in each arm, for arms of their own


def fit_curves(spec: NodeSpec, rng: np.random.Generator) -> CurvedPosterior:
    """Return the posterior of a child whose regression may bend."""
    assert spec.wanted is not None
    terms = spec.terms
    rows = CountedRows(spec.child, Rows(spec.table, _parts(spec)))
    made = CurvedSpec(
        spec.child,
        spec.wanted,
        dict(zip(terms.names, terms.probability, strict=True)),
        spec.about.treatment,
        spec.about.after,
        rows,
        spec.prior,
        spec.family,
        {} if terms.raised is None else dict(zip(terms.names, terms.raised, strict=True)),
        {name: levels for name, levels in spec.data.categories.items() if name in terms.names},
    )
    return CurvedPosterior(_averaged(made, spec, rng), parents_problem(spec.problem(), terms.names))


def _parts(spec: NodeSpec) -> Parts:
    """Return parts of the data by what is in the columns of the child and its causes."""
    data = spec.data
    names = data.columns((spec.child, *spec.terms.names))
    center = dict(zip(data.pooled.names, (data.pooled.mean * data.scale).tolist(), strict=True))
    return Parts({name: center[name] for name in names}, {name: max(data.deviation(name), 1e-300) for name in names})


def _averaged(spec: CurvedSpec, node: NodeSpec, rng: np.random.Generator) -> Averaged:
    """Make columns from rows, and fit and weigh the structures."""
    sample = spec.rows.sample()
    arms = _arms(spec, sample)
    candidates, raw = _made(spec, arms, sample)
    link_rng, fit_rng = rng.spawn(2)
    candidates = candidates.with_link(raised_by_link(spec, candidates, raw.standardised(), link_rng))
    if spec.family is not None:
        rows = replace(node.rows(spec.family), counted=spec.rows)
        return fit_by_rows(spec, arms, candidates, raw, sample, rows, fit_rng)
    _check_varies(spec, raw.standardised())
    return fit_normal(spec, arms, candidates, raw, sample, node.data.scale_of(spec.child), fit_rng)


def _made(spec: CurvedSpec, arms: FloatArray | None, sample: RowValues) -> tuple[Candidates, ArmMoments]:
    """Return the columns that vary and are no copies, and their moments: one more pass over the rows."""
    made = columns_of(spec, arms, sample)
    treatment = None if arms is None else spec.treatment
    raw = arm_moments(made, spec.child, treatment, np.array([]) if arms is None else arms, spec.rows.batches())
    kept = raw.distinct()
    return candidates_of(spec, tuple(made[place] for place in kept)), raw.chosen(kept)


def _arms(spec: CurvedSpec, sample: RowValues) -> FloatArray | None:
    """Return the two values of the treatment if its arms are told apart."""
    if spec.mover is None or not isinstance(spec.terms, Terms):
        return None
    values = sample.values[spec.mover]
    levels = look_at_values(values).two_values
    if levels is None:
        return None
    counts = np.array([(values == level).sum() for level in levels])
    if counts.min() < _LEAST_ROWS:
        raise DataError(
            f"only {int(counts.min())} rows have {spec.treatment} = {levels[np.argmin(counts)]:g}: too few for curves, "
            f"at least {_LEAST_ROWS} are needed; leave {spec.child!r} out of terms"
        )
    return np.asarray(levels)


def _check_varies(spec: CurvedSpec, moments: ArmMoments) -> None:
    """Refuse a child of which nothing is left once its arms have their means."""
    if float(moments.scatter[:, -1, -1].sum()) <= _CONSTANT * float(moments.rows.sum()):
        raise DataError(
            f"{spec.child!r} has one value for each value of {spec.treatment!r}: it follows from it alone, and no "
            f"curve could show; leave {spec.child!r} out of terms"
        )
