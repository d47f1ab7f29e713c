"""Is a recipe that was read from a file one that `fit` could have made? Files can be damaged, or edited by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

import numpy as np

from alldags import checks
from alldags.data.batches import RowTable
from alldags.data.cells import Cells
from alldags.data.profile import Profile
from alldags.data.rows import RowGroup, RowGroups
from alldags.data.storage import check_scatter
from alldags.effects.jackknife import Jackknife, Kind
from alldags.families.kinds import is_family
from alldags.graph.others import check_odds
from alldags.graph.terms import Terms
from alldags.notes import SEVERITIES
from alldags.priors.prior import Prior
from alldags.recipes.recipe import Recipe

_LARGEST = 1e140  # of which sums of squares are finite


def check_recipe(recipe: Recipe) -> None:
    """Raise a `ValueError` that names the part which makes no sense, if there is one."""
    _check_graphs(recipe)
    _require(isinstance(recipe.prior, Prior), "prior")
    _require(hasattr(recipe.engine, "takes"), "engine")
    _require(isinstance(recipe.clustered, bool), "clustered")
    _require(isinstance(recipe.robust, bool), "robust")
    for key, check in recipe.jackknives:
        _check_jackknife(key, check)
    for note in recipe.notes:
        _require(all(isinstance(text, str) for text in (note.text, *note.about)), "notes")
        _require(note.severity in SEVERITIES, "severities")
    variables = recipe.graphs[0].variables
    for name, family in recipe.families:
        _require(name in variables and is_family(family), "families")
    _check_terms(recipe.terms, variables)
    _require(len(recipe.parts) > 0, "parts")
    for part in recipe.parts:
        _check_part(part)
        _require(not recipe.clustered or len(part.clusters) > 1, "clustered")
    needs_rows = bool(recipe.families) or recipe.terms is not None
    _require(not needs_rows or recipe.rows is not None, "rows")
    _require(recipe.rows is None or len(recipe.copies) == len(recipe.parts) - 1, "copies")
    for table in (*recipe.copies, *([] if recipe.rows is None else [recipe.rows])):
        _check_rows(table, recipe)
    if recipe.seen is not None and recipe.seen.moments.profile is not None:
        _check_profile(recipe.seen.moments.profile, len(recipe.seen.moments.names))


def _check_rows(table: RowTable, recipe: Recipe) -> None:
    """Refuse rows that lack a column, have columns of another length, or numbers whose squares overflow."""
    offsets = [family.offset for _, family in recipe.families if family.offset is not None]
    needed = {*recipe.parts[0].groups[0].moments.names, *offsets}
    _require(needed.issubset(table.columns.names), "rows")
    for name in table.columns.names:
        values = table.column(name)
        _require(values.dtype == np.float64 and values.shape == (table.columns.rows,), "rows")
        _require(not bool((np.abs(values) > _LARGEST).any()), "rows")


def _check_profile(profile: Profile, size: int) -> None:
    for numbers in (profile.ends, profile.counts, profile.rest):
        _require(numbers.dtype == np.float64 and numbers.shape == (2, size), "profile")
        _require(not bool((np.abs(numbers[np.isfinite(numbers)]) > _LARGEST).any()), "profile")
    _require(bool(np.isfinite(profile.counts).all()), "profile")
    for flags in (profile.whole, profile.rising):
        _require(flags.dtype == np.bool_ and flags.shape == (size,), "profile")


def _check_jackknife(key: object, check: Jackknife) -> None:
    sizes = (check.pieces, check.sd, check.sd_pieces, check.sd_expected, check.error)
    _require(isinstance(key, str) and check.kind in get_args(Kind), "jackknives")
    _require(all(checks.is_number(size) and size >= 0 for size in sizes), "jackknives")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"{what!r} was not written by fit")


def _check_graphs(recipe: Recipe) -> None:
    _require(0 < len(recipe.graphs) == len(recipe.shares), "graphs")
    for graph in recipe.graphs:
        graph.check()
        check_odds(graph)
        _require(set(graph.variables) == set(recipe.graphs[0].variables), "graphs")
    _require(all(checks.is_number(share) and 0.0 <= share <= 1.0 for share in recipe.shares), "shares")
    _require(abs(sum(recipe.shares) - 1.0) < 1e-9, "shares")


def _check_terms(terms: object, variables: tuple[str, ...]) -> None:
    if isinstance(terms, Mapping):
        _require(all(name in variables for name in terms), "terms")
    else:
        _require(terms is None or terms == "auto" or isinstance(terms, Terms), "terms")


def _check_part(part: RowGroups) -> None:
    _require(len(part.groups) > 0 and isinstance(part.effective, bool), "parts")
    for group in part.groups:
        _check_group(group)


def _check_group(group: RowGroup) -> None:
    moments, size = group.moments, len(group.moments.names)
    _require(moments.mean.shape == (size,) and moments.scatter.shape == (size, size), "parts")
    _require(all(isinstance(name, str) for name in moments.names), "parts")
    for numbers in (moments.mean, moments.scatter):
        _require(numbers.dtype == np.float64 and bool(np.isfinite(numbers).all()), "parts")
    check_scatter(moments.scatter)
    for number in (moments.n, group.rows, group.squares):
        _require(checks.is_number(number) and 0 <= number < np.inf, "parts")
    _require(all(isinstance(name, str) for name in (*group.targets, *group.unseen)), "parts")
    if group.cells is not None:
        _check_cells(group.cells, size)


def _check_cells(cells: Cells, size: int) -> None:
    _require(len(cells.levels) in (1, 2) and all(checks.is_number(n) and 0 < n < 2**31 for n in cells.levels), "levels")
    _require(cells.key.dtype == np.int64 and cells.key.shape == cells.weight.shape == (len(cells.key),), "levels")
    count, ends = len(cells.key), np.array([-1, *cells.key, math.prod(cells.levels)])
    _require(bool((np.diff(ends) > 0).all()), "levels")
    _require(cells.mean.shape == (count, size) and cells.scatter.shape == (size, size), "levels")
    for numbers in (cells.weight, cells.mean, cells.scatter):
        _require(numbers.dtype == np.float64 and bool(np.isfinite(numbers).all()), "levels")
    _require(bool((cells.weight > 0).all()), "levels")
    check_scatter(cells.scatter)
