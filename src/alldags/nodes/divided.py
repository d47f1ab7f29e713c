"""A child that is several regressions on the same candidate causes: the rows of each, and all of them as one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce

import numpy as np

from alldags.data.batches import Marks, RowTable
from alldags.data.columns import Column, Columns
from alldags.families.base import FamilyPart
from alldags.nodes.build import NodeTerms
from alldags.nodes.data import ChildModel
from alldags.nodes.posterior import Diagnostics, NodePosterior, ParentSet
from alldags.nodes.spec import NodeSpec
from alldags.typing import BoolArray, FloatArray

_MARK = "\0not in this part"  # no column of a table begins with it


def part_spec(spec: NodeSpec, part: FamilyPart, count: int) -> NodeSpec:
    """Return the regression of one part, of `count`, as that of an ordinary child.

    Each cause is in each part independently; with ``1 - (1 - p)^(1 / count)`` it is in one of them with probability p.
    """
    children = {**spec.data.children, spec.child: ChildModel(part.family, spec.data.model(spec.child).terms)}
    data = replace(spec.data, children=children, table=part_table(spec.table, spec.child, part))
    return replace(spec, terms=_divided(spec.terms, count), data=data)


def _divided(terms: NodeTerms, count: int) -> NodeTerms:
    raised = None if terms.raised is None else _shares(terms.raised, count)
    return replace(terms, probability=_shares(terms.probability, count), raised=raised)


def _shares(probabilities: Iterable[float], count: int) -> tuple[float, ...]:
    return tuple(1.0 - (1.0 - p) ** (1.0 / count) for p in probabilities)


def part_table(table: RowTable, child: str, part: FamilyPart) -> RowTable:
    """Return the rows as one part sees them: the child as it reads it, and rows that it is not about marked."""
    columns, marks = table.columns, table.marks
    place, seen = columns.names.index(child), marks.unseen.get(child)
    read = partial(_read, columns, place, None if seen is None else columns.names.index(seen), part)
    names = (*columns.names, _MARK)
    readers = tuple(partial(_one, read, i) for i in range(len(names)))
    return RowTable(Columns(names, columns.rows, readers, read), _marked(marks, child))


def _marked(marks: Marks, child: str) -> Marks:
    return replace(marks, unseen={**marks.unseen, child: _MARK})


def _read(columns: Columns, place: int, seen: int | None, part: FamilyPart, start: int, stop: int) -> list[Column]:
    found = columns.read(start, stop)
    values, kept = part.reading(np.asarray(found[place], dtype=float))
    left_out = ~kept if seen is None else ~kept | (np.asarray(found[seen]) != 0.0)
    return [*found[:place], values, *found[place + 1 :], left_out.astype(float)]


def _one(read: partial[list[Column]], place: int, start: int, stop: int) -> Column:
    return read(start, stop)[place]


class DividedPosterior(NodePosterior):
    """Several regressions of one child, independent of each other, as one node: an edge is there if it is in any.

    A cause has no one coefficient: means and moments are not numbers, effects are made of the parts.

    Parameters
    ----------
    parts
        The posterior of each, over the same parents.
    diagnostics
        How they were computed.
    """

    def __init__(self, parts: Sequence[NodePosterior], diagnostics: Diagnostics) -> None:
        self.parts = tuple(parts)
        self.problem = parts[0].problem
        self.diagnostics = diagnostics

    def _any(self, name: str) -> FloatArray:
        return np.asarray(1.0 - reduce(np.multiply, [1.0 - getattr(part, name) for part in self.parts]))

    @property
    def prior_inclusion(self) -> FloatArray:
        return self._any("prior_inclusion")

    @property
    def stated_inclusion(self) -> FloatArray:
        return self._any("stated_inclusion")

    @property
    def raised(self) -> FloatArray:
        return self._any("raised")

    @property
    def mean(self) -> FloatArray:
        return np.full(self.problem.k, np.nan)

    @property
    def second_moment(self) -> FloatArray:
        return np.full((self.problem.k, self.problem.k), np.nan)

    @property
    def noise_variance(self) -> float:
        return float("nan")

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return draws of which causes are in: the coefficient of the first part that has one, and no variance."""
        drawn = [
            part.draw(size, stream)[0] for part, stream in zip(self.parts, rng.spawn(len(self.parts)), strict=True)
        ]
        found = reduce(lambda one, other: np.where(one != 0.0, one, other), drawn)
        return found, np.full(size, np.nan)

    @cached_property
    def inclusion(self) -> FloatArray | None:
        if any(part.inclusion is None for part in self.parts):
            return None
        return self._any("inclusion")

    @property
    def log_evidence(self) -> float | None:
        found = [part.log_evidence for part in self.parts]
        return None if None in found else float(sum(value for value in found if value is not None))

    def probability_disjoint(self, masks: BoolArray) -> FloatArray | None:
        found = [part.probability_disjoint(masks) for part in self.parts]
        return None if any(one is None for one in found) else np.asarray(np.prod(np.array(found), axis=0))

    def top_parent_sets(self, size: int) -> tuple[ParentSet, ...] | None:
        """Return the most probable sets among unions of the most probable ones of each part."""
        total: dict[frozenset[str], float] = {frozenset(): 1.0}
        for part in self.parts:
            own, joined = part.top_parent_sets(4 * size), dict[frozenset[str], float]()
            if own is None:
                return None
            for names, p in total.items():
                for item in own:
                    both = names | set(item.parents)
                    joined[both] = joined.get(both, 0.0) + p * item.probability
            total = joined
        ranked = sorted(total.items(), key=lambda pair: -pair[1])[:size]
        return tuple(ParentSet(tuple(name for name in self.parents if name in names), p) for names, p in ranked)

    @property
    def inclusion_bound(self) -> FloatArray:
        return np.asarray(sum(part.inclusion_bound for part in self.parts))

    @property
    def set_draws(self) -> float:
        return min(part.set_draws for part in self.parts)


def parts_of(node: NodePosterior) -> tuple[NodePosterior, ...]:
    """Return the regressions of a node: itself, or its parts, which divide rows alike where columns are learned."""
    return node.parts if isinstance(node, DividedPosterior) else (node,)
