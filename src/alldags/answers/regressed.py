"""`Regressed`: draws of a regression with all that its rows are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from alldags.answers.nodes import NodeSample, apart
from alldags.columns.base import Columns, RowValues
from alldags.data.rows import RowGroups
from alldags.engines.curves.posterior import CurvedPosterior
from alldags.families.base import Family
from alldags.models.fitted import FittedGraph
from alldags.nodes.data import WorkingData
from alldags.nodes.posterior import NodePosterior
from alldags.nodes.problem import Origin
from alldags.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Regressed:
    """Draws of one child's regression, over its columns.

    Parameters
    ----------
    child, family
        Its name, and how it depends on its predictor; None: normal noise around it.
    columns
        What it is regressed on, k of them.
    coefficients
        Intercept first, at the means of the columns, in working units, shape (draws, k + 1); with several predictors
        those of one column, and the intercepts, are side by side.
    precision
        Of the noise, shape (arms, draws); one arm, unless both arms of a treatment have noise of their own.
    center, unit
        What is taken off the child, and user's units per working unit.
    share
        Variance of the intercept over the noise variance, where `coefficients` do not have it.
    curved
        The regression, if it is one on derived columns.
    beside
        What the family has beside its predictor, shape (draws, m); None for nothing.
    parts
        The regressions that this one is, of which rows see each by itself.
    reading
        Of such a part: from the child's values to what it reads, and which rows it is about; None: as they are.
    """

    child: str
    family: Family | None
    columns: Columns
    coefficients: FloatArray
    precision: FloatArray
    center: float
    unit: float
    share: float = 0.0
    curved: CurvedPosterior | None = None
    beside: FloatArray | None = None
    when: tuple[tuple[str, bool], ...] = ()
    parts: tuple[Regressed, ...] = ()
    reading: Callable[[FloatArray], tuple[FloatArray, BoolArray]] | None = None

    @property
    def name(self) -> str:
        """What tells it from others: its child, which part of it, and which rows it is of."""
        part = "" if self.reading is None or self.family is None else f"\0{self.family.name}"
        return self.child + part + "".join(f", {name} {'set' if is_so else 'not set'}" for name, is_so in self.when)

    def among(self, rows: RowGroups) -> RowGroups:
        """Return those of some rows that it is of."""
        found = rows.showing({self.child, *(name for name, is_so in self.when if not is_so)})
        return reduce(lambda some, name: some.where_set(name), [name for name, is_so in self.when if is_so], found)

    @property
    def seen(self) -> tuple[Regressed, ...]:
        """The regressions as rows see them: itself, or its parts."""
        return self.parts or (self,)

    def first(self, size: int) -> Regressed:
        """Return the first draws."""
        return replace(
            self,
            coefficients=self.coefficients[:size],
            precision=self.precision[:, :size],
            beside=None if self.beside is None else self.beside[:size],
            parts=tuple(part.first(size) for part in self.parts),
        )

    @property
    def apart(self) -> FloatArray:
        """What the family has apart from its predictor, shape (m, draws)."""
        return apart(1.0 / self.precision[0], self.beside)

    @property
    def predictors(self) -> int:
        """How many predictors there are."""
        return 1 if self.family is None else self.family.predictors

    def slopes(self, block: slice) -> FloatArray:
        """Return the coefficients of some draws, shape (draws, k + 1); with several predictors, these come first."""
        own = self.coefficients[block]
        return own if self.family is None else self.family.by_predictor(own)

    @property
    def is_straight(self) -> bool:
        """Whether moments of rows determine its log-likelihood."""
        return self.family is None and self.curved is None

    def arm(self, rows: RowValues) -> BoolArray | None:
        """Return which rows have the noise of the second arm, shape (rows,); None if all have the same."""
        arms = None if self.curved is None else self.curved.found.arms
        if arms is None or self.curved is None:
            return None
        return np.asarray(rows.values[str(self.curved.found.spec.treatment)] == arms[1])

    def fold(self, values: Mapping[str, FloatArray]) -> IntArray | None:
        """Return the part of the data that each of some rows belongs to, shape (rows,), if columns were learned."""
        return None if self.curved is None else self.curved.found.spec.rows.rows.fold(values)


def regressed_nodes(model: FittedGraph, samples: Mapping[str, NodeSample]) -> tuple[Regressed, ...]:
    """Return draws of nodes as those of regressions, with all that their rows are compared with."""
    return tuple(of_sample(model, child, sample) for child, sample in samples.items())


def of_sample(model: FittedGraph, child: str, sample: NodeSample) -> Regressed:
    """Return draws of one node as those of a regression."""
    data = model.data
    family = data.model(child).family if sample.family is None else sample.family
    family = None if family is None else family.settled(sample.beside)
    center, own = 0.0, 1.0
    if family is None or family.is_line:
        own = data.column_scale(child)
        center = float(data.pooled.mean[data.pooled.index[child]]) * own
    if sample.parts and family is not None:
        return _divided(model, child, sample, family)
    if isinstance(sample.node, CurvedPosterior):
        return _of_curved(child, sample, family, center if family is not None else sample.node.found.center, own)
    if family is None:
        known = sample.known
        assert isinstance(known, NodePosterior)
        share, origin = known.intercept_share, known.problem.origin
        return straight_regression(child, sample.columns, sample.coefficients, sample.variance, origin, share, data)
    if sample.several:
        both = np.column_stack([family.intercepts(sample.intercept, sample.beside).T, sample.coefficients])
        return Regressed(child, family, sample.columns, both, np.ones((1, sample.size)), center, own)
    both = np.column_stack([sample.intercept, sample.coefficients])
    precision = 1.0 / sample.variance[None]
    return Regressed(child, family, sample.columns, both, precision, center, own, beside=sample.beside)


def _divided(model: FittedGraph, child: str, sample: NodeSample, family: Family) -> Regressed:
    """Return draws of several regressions of a child."""
    pairs = zip(sample.parts, family.parts, strict=True)
    parts = tuple(replace(of_sample(model, child, one), reading=part.reading) for one, part in pairs)
    both, precision = np.column_stack([sample.intercept, sample.coefficients]), 1.0 / sample.variance[None]
    return Regressed(child, family, sample.columns, both, precision, 0.0, 1.0, curved=parts[0].curved, parts=parts)


def _of_curved(child: str, sample: NodeSample, family: Family | None, center: float, unit: float) -> Regressed:
    """Return a regression on derived columns, of which many are in no draw."""
    assert isinstance(sample.node, CurvedPosterior)
    used = np.asarray(sample.coefficients.any(axis=0))
    both = np.column_stack([sample.intercept, sample.coefficients[:, used]])
    ratio = np.ones(sample.size) if sample.ratio is None else sample.ratio
    precision = np.array([1.0 / sample.variance, 1.0 / (sample.variance * ratio)])
    columns, beside = sample.columns.taken(used), sample.beside
    return Regressed(child, family, columns, both, precision, center, unit, curved=sample.node, beside=beside)


def straight_regression(
    child: str,
    columns: Columns,
    coefficients: FloatArray,
    variance: FloatArray,
    origin: Origin | None,
    share: float,
    data: WorkingData,
) -> Regressed:
    """Return a normal regression on lines and levels, whose line passes through the means of the child's own rows."""
    unit = float(data.scale[data.pooled.index[child]])
    own = Origin(0.0, np.zeros(len(columns))) if origin is None else origin
    intercept = coefficients @ (columns.center / columns.scale - own.terms)
    both = np.column_stack([intercept, coefficients])
    return Regressed(child, None, columns, both, 1.0 / variance[None], own.child * unit, unit, share)
