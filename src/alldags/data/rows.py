"""`RowGroups`: moments of the rows by what was set in them, and by cluster.

Rows are read once, a part of the table at a time. In each part those that are alike are added up; parts merge group by
group, with the same ``+`` as moments. What a child's regression needs is then a sum of groups, and a table with some
clusters drawn twice and others not at all is another sum of the same groups: neither looks at a row again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from alldags.data.accumulate import PART_ROWS, first_finite, map_parts
from alldags.data.bad_values import bad_values
from alldags.data.cells import Cells, Left, cells_of, moved_cells, together
from alldags.data.columns import Columns, Reader, check_rows
from alldags.data.factors import Factors
from alldags.data.profile import Profile
from alldags.data.record import MomentsRecord, merge, moved
from alldags.errors import DataError
from alldags.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-20  # of a variable's scatter: what rounding leaves inside levels from which it follows
_ROUNDED_MEAN = 1e-29  # of the squared mean

Intercepts: TypeAlias = Literal["fixed", "random", "joint"]
Keys: TypeAlias = Callable[[int, int], Sequence[Hashable]]
"""``keys(start, stop)`` is one label per row, of these rows."""


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows that are alike.

    Parameters
    ----------
    moments
        Of these rows; ``n`` is the sum of their weights.
    targets
        The variables that were set from outside in these rows.
    cluster
        Which cluster they belong to; None without clusters.
    rows
        Their number.
    squares
        Sum of their squared weights.
    unseen
        Variables whose own value is missing in these rows, and that act on nothing: only their regressions miss them.
    cells
        The same rows by the levels of fixed effects; None without them.
    """

    moments: MomentsRecord
    targets: frozenset[str] = frozenset()
    cluster: Hashable = None
    rows: float = 0.0
    squares: float = 0.0
    unseen: frozenset[str] = frozenset()
    cells: Cells | None = None

    def shows(self, names: Collection[str]) -> bool:
        """Whether these rows show what acts on some variables: none was set in them, and none is missing."""
        return self.targets.isdisjoint(names) and self.unseen.isdisjoint(names)


@dataclass(frozen=True, eq=False)
class RowGroups:
    """All rows of a table, in groups.

    Parameters
    ----------
    groups
        Each with its own targets and cluster.
    effective
        Whether weights are those of a sample: rows then count as their effective number.
    profile
        Extremes of all rows, where groups do not have them.
    intercepts
        What the levels of `cells` are: ``"fixed"`` effects, which are taken out; or units whose intercepts vary at
        ``"random"``, or whose ``"joint"`` traits are found: cross-products are then those of all rows.

    Examples
    --------
    >>> import alldags as ad
    >>> from alldags.data.rows import RowGroup, RowGroups
    >>> seen = RowGroup(ad.Moments.from_table({"x": [0.0, 2.0], "y": [1.0, 5.0]}))
    >>> set_ = RowGroup(ad.Moments.from_table({"x": [9.0, 9.0], "y": [2.0, 3.0]}), frozenset({"x"}))
    >>> rows = RowGroups((seen, set_))
    >>> rows.without().n, rows.without({"x"}).n, sorted(rows.targets)
    (4, 2, ['x'])
    """

    groups: tuple[RowGroup, ...]
    effective: bool = False
    profile: Profile | None = None
    intercepts: Intercepts = "fixed"

    @property
    def targets(self) -> frozenset[str]:
        """All variables that were ever set."""
        return frozenset().union(*(group.targets for group in self.groups))

    @property
    def unseen(self) -> frozenset[str]:
        """All variables that are missing in some rows and have a regression without these."""
        return frozenset().union(*(group.unseen for group in self.groups))

    def set_in(self, name: str) -> float:
        """Return the number of rows in which a variable was set."""
        return sum(group.rows for group in self.groups if name in group.targets)

    @property
    def rows(self) -> float:
        """Number of rows as they stand in the table."""
        return sum(group.rows for group in self.groups)

    def without(self, names: Collection[str] = ()) -> MomentsRecord | None:
        """Return the moments of the rows that show what acts on these variables; None if there is no such row.

        Cross-products are those inside the levels of fixed effects, if there are any.
        """
        chosen = self.showing(names)
        if not chosen.groups:
            return None
        found, left = chosen.as_read, chosen.left
        return found if left is None else chosen._counted(_inside(_total(chosen.groups), left))

    def showing(self, names: Collection[str]) -> RowGroups:
        """Return the rows that show what acts on these variables."""
        chosen = tuple(group for group in self.groups if group.shows(names))
        return self if len(chosen) == len(self.groups) else replace(self, groups=chosen)

    def where_set(self, name: str) -> RowGroups:
        """Return the rows in which a variable was set."""
        return replace(self, groups=tuple(group for group in self.groups if name in group.targets))

    @property
    def as_read(self) -> MomentsRecord:
        """The moments of all rows as they are in the table, whatever fixed effects there are."""
        return self._counted(_total(self.groups))

    def _counted(self, total: MomentsRecord) -> MomentsRecord:
        """Return the moments with rows of a sample counted as their effective number."""
        return scaled(total, total.n / sum(group.squares for group in self.groups)) if self.effective else total

    @cached_property
    def cells(self) -> Cells | None:
        """All rows by the levels of fixed effects; None without them."""
        return _cells(self.groups)

    @property
    def left(self) -> Left | None:
        """What is left of all rows when fixed effects are taken out; None without them."""
        return None if self.cells is None or self.intercepts != "fixed" else self.cells.left

    @cached_property
    def inside(self) -> RowGroups:
        """The same rows as deviations from their levels, about the means of all: rows as any others, in groups."""
        if self.cells is None or self.left is None:
            return self
        out = self.cells.mean - self.left.mean - self.as_read.mean
        return replace(self, groups=tuple(_deviations(group, self.cells, out) for group in self.groups))

    def forget(self, names: Iterable[str]) -> RowGroups:
        """Return the same rows as if these variables had never been set."""
        gone = frozenset(names)
        return replace(self, groups=tuple(replace(group, targets=group.targets - gone) for group in self.groups))

    @property
    def clusters(self) -> tuple[Hashable, ...]:
        """Labels of the clusters whose rows have some weight, in the order of the table."""
        return tuple(dict.fromkeys(group.cluster for group in self.groups if group.moments.n > 0))

    def repeated(self, times: Sequence[int] | IntArray) -> RowGroups:
        """Return the rows with each cluster, in the order of `clusters`, so many times; those of zero are left out."""
        count = np.asarray(times, dtype=np.float64)
        groups = (_repeated(stack, count) for stack in self._stacks)
        return replace(self, groups=tuple(group for group in groups if group.rows))

    @cached_property
    def _stacks(self) -> tuple[_Stack, ...]:
        """The groups with the same targets, side by side."""
        place = {cluster: i for i, cluster in enumerate(self.clusters)}
        alike: dict[tuple[frozenset[str], frozenset[str]], list[RowGroup]] = {}
        for group in (group for group in self.groups if group.moments.n > 0):
            alike.setdefault((group.targets, group.unseen), []).append(group)
        return tuple(_stacked(groups, place) for groups in alike.values())


def scaled(moments: MomentsRecord, factor: float) -> MomentsRecord:
    """Return the moments of rows that count `factor` times as much."""
    scatter = moments.scatter * factor
    return type(moments)(moments.n * factor, moments.mean, scatter, moments.names, taken=moments.taken)


def _total(groups: Iterable[RowGroup]) -> MomentsRecord:
    return reduce(merge, (group.moments for group in groups))


def _cells(groups: Iterable[RowGroup]) -> Cells | None:
    found = [group.cells for group in groups if group.cells is not None]
    return together(found) if found else None


def _inside(total: MomentsRecord, left: Left) -> MomentsRecord:
    """Return the moments inside the levels of fixed effects: zero where nothing but rounding is left."""
    gone = follows(left, total)
    scatter = np.where(gone[:, None] | gone, 0.0, left.scatter)
    return MomentsRecord(total.n, total.mean, scatter, total.names, profile=total.profile, taken=left.rank)


def follows(left: Left, total: MomentsRecord) -> BoolArray:
    """Return which variables follow from the levels of fixed effects, but for rounding, shape (m,)."""
    with np.errstate(over="ignore"):
        rounding = _ROUNDING * np.diag(total.scatter) + _ROUNDED_MEAN * total.n * total.mean**2
        return np.asarray(np.diag(left.scatter) <= rounding)


def _deviations(group: RowGroup, cells: Cells, out: FloatArray) -> RowGroup:
    """Return a group with `out`, shape (cells, m), taken from its rows."""
    assert group.cells is not None
    own, n = group.cells, float(group.cells.weight.sum())
    rest = own.mean - out[np.searchsorted(cells.key, own.key)]
    mean = own.weight @ rest / n if n > 0 else group.moments.mean
    gap = rest - mean
    scatter = own.scatter + (gap * own.weight[:, None]).T @ gap
    return replace(group, moments=MomentsRecord(group.moments.n, mean, scatter, group.moments.names), cells=None)


class _Stack(NamedTuple):
    """Groups with the same targets, g of them: cluster (g,), n, rows and squares (g, 3), means and scatters."""

    first: RowGroup
    cluster: IntArray
    sizes: FloatArray
    mean: FloatArray
    scatter: FloatArray


def _stacked(groups: Sequence[RowGroup], place: dict[Hashable, int]) -> _Stack:
    return _Stack(
        groups[0],
        np.array([place[group.cluster] for group in groups]),
        np.array([(group.moments.n, group.rows, group.squares) for group in groups]),
        np.array([group.moments.mean for group in groups]),
        np.array([group.moments.scatter for group in groups]),
    )


def _repeated(stack: _Stack, count: FloatArray) -> RowGroup:
    """Add up the groups of a stack, each as many times as its cluster counts."""
    times = count[stack.cluster]
    n, rows, squares = (times @ stack.sizes).tolist()
    if n == 0.0:
        return replace(stack.first, rows=0.0)
    weight = times * stack.sizes[:, 0]
    mean = weight @ stack.mean / n
    gap = stack.mean - mean
    scatter = np.tensordot(times, stack.scatter, axes=1) + (gap * weight[:, None]).T @ gap
    moments = MomentsRecord(n, mean, scatter, stack.first.moments.names)
    return RowGroup(moments, stack.first.targets, None, rows, squares, stack.first.unseen)


# -- one pass over the rows ------------------------------------------------------------------------------------------


def read_groups(
    columns: Columns,
    targets: Keys | None = None,
    clusters: Keys | None = None,
    weights: Reader | None = None,
    *,
    unseen: Keys | None = None,
    factors: Factors | None = None,
    drop_missing: bool = False,
    n_jobs: int = 1,
) -> tuple[RowGroup, ...]:
    """Add up the rows by targets and cluster, each with its weight.

    Parameters
    ----------
    columns
        The variables.
    targets
        For each row the set of variables that were set.
    clusters
        For each row its cluster.
    weights
        Of the rows; 1 by default.
    unseen
        For each row the set of variables that are missing in it, where that concerns their own regressions only.
    factors
        Fixed effects: rows are added up by their levels, too.
    drop_missing
        Leave out the rows in which a variable is missing.
    n_jobs
        Threads; the result does not depend on it.
    """
    check_rows(columns.rows)
    origin = first_finite(columns)
    job = partial(_part_groups, columns, origin, (targets, clusters, unseen), weights, factors, drop_missing)
    found = reduce(_merge_parts, map_parts(job, range(0, columns.rows, PART_ROWS), n_jobs))
    groups = tuple(_moved(group, origin) for group in found.values())
    if not all(np.isfinite(g.moments.mean).all() and np.isfinite(g.moments.scatter).all() for g in groups):
        raise bad_values(columns, drop_missing)
    if sum(group.moments.n for group in groups) <= 0:
        raise DataError("the weights of all rows are zero; give at least some rows a weight")
    check_rows(int(sum(group.rows for group in groups)), " that can be used")
    return groups


_Found: TypeAlias = dict[tuple[Any, Any, Any], RowGroup]


def _part_groups(
    columns: Columns,
    origin: FloatArray,
    keys: tuple[Keys | None, ...],
    weights: Reader | None,
    factors: Factors | None,
    drop_missing: bool,
    start: int,
) -> _Found:
    """Return the groups of the part that begins at row `start`, means relative to `origin`."""
    stop = min(columns.rows, start + PART_ROWS)
    values = np.array([np.asarray(column, dtype=np.float64) for column in columns.read(start, stop)])
    values -= origin[:, None]
    weight = np.ones(stop - start) if weights is None else np.asarray(weights(start, stop), dtype=np.float64)
    labels = _paired(keys, start, stop)
    keep = ~np.isnan(values).any(axis=0) if drop_missing else np.ones(stop - start, dtype=bool)
    codes = None if factors is None else factors.codes[start:stop]
    if codes is not None:
        keep &= (codes >= 0).all(axis=1)
    found: _Found = {}
    with np.errstate(all="ignore"):  # bad values are looked for in the result
        for label, rows in _places(labels, keep).items():
            group = _group(values[:, rows], weight[rows], label, columns.names)
            if factors is not None and codes is not None:
                group = replace(group, cells=cells_of(values[:, rows], weight[rows], codes[rows], factors.levels))
            found[label] = group
    return found


def _paired(keys: tuple[Keys | None, ...], start: int, stop: int) -> list[tuple[Any, Any, Any]]:
    """Return targets, cluster and what is missing of each row."""
    empty = [None] * (stop - start)
    return list(zip(*(empty if key is None else key(start, stop) for key in keys), strict=True))


def _places(labels: list[tuple[Any, Any, Any]], keep: Any) -> dict[tuple[Any, Any, Any], IntArray]:
    """Return the positions of the rows of each group that are kept, groups in the order in which they appear."""
    number: dict[tuple[Any, Any, Any], int] = {}
    codes = np.array([number.setdefault(label, len(number)) for label in labels])
    kept = np.flatnonzero(keep)
    order = kept[np.argsort(codes[kept], kind="stable")]
    ends = np.searchsorted(codes[order], np.arange(len(number) + 1))
    return {label: order[ends[i] : ends[i + 1]] for label, i in number.items() if ends[i] < ends[i + 1]}


def _group(values: FloatArray, weight: FloatArray, label: tuple[Any, Any, Any], names: tuple[str, ...]) -> RowGroup:
    """Return the group of some rows, shape (m, rows), with their weights, shape (rows,)."""
    targets, cluster, unseen = label
    shift = np.where(np.isfinite(values[:, 0]), values[:, 0], 0.0)
    values = values - shift[:, None]
    n = float(weight.sum())
    mean = values @ weight / n if n > 0 else np.zeros(len(names))
    scatter = (values * weight) @ values.T - n * np.outer(mean, mean)
    moments = MomentsRecord(n, shift + mean, scatter, names)
    size, squares = float(len(weight)), float(weight @ weight)
    return RowGroup(moments, targets or frozenset(), cluster, size, squares, unseen or frozenset())


def _merge_parts(a: _Found, b: _Found) -> _Found:
    return a | {label: _added(a[label], group) if label in a else group for label, group in b.items()}


def _added(a: RowGroup, b: RowGroup) -> RowGroup:
    moments = merge(a.moments, b.moments)
    cells = None if a.cells is None or b.cells is None else together([a.cells, b.cells])
    return replace(a, moments=moments, rows=a.rows + b.rows, squares=a.squares + b.squares, cells=cells)


def _moved(group: RowGroup, origin: FloatArray) -> RowGroup:
    cells = None if group.cells is None else moved_cells(group.cells, origin)
    return replace(group, moments=moved(group.moments, origin), cells=cells)
