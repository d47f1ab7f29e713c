"""From rows and what is wanted to a `CurvedPosterior`: columns, structures, their posteriors and weights."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress

import numpy as np

from alldags.columns.base import Column, RowValues
from alldags.columns.rows import Parts, Rows
from alldags.data.look import look_at_values
from alldags.engines.curves.by_rows import fit_by_rows
from alldags.engines.curves.drives import raised_by_link
from alldags.engines.curves.make import columns_of
from alldags.engines.curves.moments import ArmMoments, arm_moments
from alldags.engines.curves.normal import fit_normal
from alldags.engines.curves.posterior import Averaged, CurvedPosterior, Made, together
from alldags.engines.curves.spec import ITSELF, CurvedSpec, candidates_of
from alldags.errors import DataError
from alldags.graph.terms import Terms
from alldags.nodes.onto import parents_problem
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.rows import CountedRows
from alldags.nodes.spec import NodeSpec
from alldags.typing import FloatArray

_CONSTANT = 1e-12  # variance within arms, of that in all, below which there is none
_LEAST_ROWS = 20  # in each arm, for arms of their own


def fit_curves(spec: NodeSpec, rng: np.random.Generator, like: NodePosterior | None = None) -> CurvedPosterior:
    """Return the posterior of a child whose regression may bend; `like`: in a table that is much alike."""
    assert spec.wanted is not None
    terms = spec.terms
    same = like.found if isinstance(like, CurvedPosterior) else None
    parts = _parts(spec) if same is None else same.spec.rows.rows.parts
    rows = CountedRows(spec.child, Rows(spec.table, parts))
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
        spec.about.mediators,
    )
    if made.mover is not None and spec.data.is_copied(made.mover, terms.names):
        raise DataError(
            f"{made.mover!r} is a copy or multiple of another cause of {spec.child!r}, so that curves cannot tell them "
            f"apart; keep one of them, or leave {spec.child!r} out of terms"
        )
    return CurvedPosterior(_averaged(made, spec, rng, same), parents_problem(spec.problem(), terms.names))


def _parts(spec: NodeSpec) -> Parts | None:
    """Return parts of the data by what is in the complete columns of the child and its causes; None without any."""
    data, cluster = spec.data, spec.table.marks.cluster
    if cluster is not None:  # rows of a cluster stay together: what is learned from some would know the others
        return Parts({cluster: 0.0}, {cluster: 1.0})
    made_up = {*data.filled, *spec.table.marks.unseen}  # their means follow the seed
    names = [name for name in data.columns((spec.child, *spec.terms.names)) if name not in made_up]
    if not names:
        return None
    center = dict(zip(data.pooled.names, (data.pooled.mean * data.scale).tolist(), strict=True))
    return Parts({name: center[name] for name in names}, {name: max(data.deviation(name), 1e-300) for name in names})


def _averaged(spec: CurvedSpec, node: NodeSpec, rng: np.random.Generator, like: Averaged | None) -> Averaged:
    """Make columns from rows, and fit and weigh the structures."""
    sample = spec.rows.sample()
    arms = _arms(spec, sample)
    link_rng, fit_rng = rng.spawn(2)
    like = like if like is not None and _are_same(like.made.arms, arms) else None
    made = _made(spec, arms, sample, link_rng) if like is None else _made_again(spec, like.made)
    if not spec.mediators:
        return _fitted(spec, node, made, sample, fit_rng, like)
    streams = fit_rng.spawn(len(node.about.present))
    parts = [
        (one.share, _fitted(replace(spec, present=one.causes), node, made, sample, stream, None))
        for one, stream in zip(node.about.present, streams, strict=True)
    ]
    return together(parts)


def _fitted(
    spec: CurvedSpec, node: NodeSpec, made: Made, sample: RowValues, rng: np.random.Generator, like: Averaged | None
) -> Averaged:
    """Fit and weigh the structures, by rows or by moments."""
    if spec.family is not None:
        rows = replace(node.rows(spec.family), counted=spec.rows)
        return fit_by_rows(spec, made, sample, rows, rng, like)
    _check_varies(spec, made.raw.standardised())
    return fit_normal(spec, made, sample, node.data.scale_of(spec.child), rng, like)


def _made(spec: CurvedSpec, arms: FloatArray | None, sample: RowValues, rng: np.random.Generator) -> Made:
    """Return the columns that vary and are no copies, and their moments: one more pass over the rows."""
    made = columns_of(spec, arms, sample)
    raw = _moments(spec, arms, made)
    kept = raw.distinct([place for place, column in enumerate(made) if isinstance(column, ITSELF)])
    candidates = candidates_of(spec, tuple(made[place] for place in kept), spec.bending(sample))
    raw = raw.chosen(kept)
    return Made(arms, candidates.with_link(raised_by_link(spec, candidates, raw.standardised(), rng)), raw)


def _made_again(spec: CurvedSpec, like: Made) -> Made:
    """Return the same columns, linked as they were, with their moments in other rows."""
    raw = _moments(spec, like.arms, like.candidates.columns)
    columns = like.candidates.columns
    bending = {name for column in compress(columns, like.candidates.modifies) for name in column.variables}
    candidates = candidates_of(spec, columns, bending)
    return Made(like.arms, candidates.with_link(like.candidates.raised), raw)


def _moments(spec: CurvedSpec, arms: FloatArray | None, columns: tuple[Column, ...]) -> ArmMoments:
    treatment, levels = (None, np.array([])) if arms is None else (spec.treatment, arms)
    return arm_moments(columns, spec.child, treatment, levels, spec.rows.batches())


def _are_same(one: FloatArray | None, other: FloatArray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


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
