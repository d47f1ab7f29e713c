"""`Recipe`: all that a posterior is made from; the same recipe gives the same numbers, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.rows import RowGroups
from alldags.data.seen import Seen
from alldags.data.source import open_source
from alldags.effects.jackknife import Jackknife
from alldags.families.base import Family
from alldags.graph.candidate import CandidateGraph
from alldags.models.families import Opened
from alldags.nodes.data import WorkingData
from alldags.nodes.measured import Errors
from alldags.nodes.posterior import Engine
from alldags.notes import Note
from alldags.priors.prior import Prior
from alldags.recipes.asked import Asked


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a posterior is made from.

    Parameters
    ----------
    graphs, shares
        The candidate graphs and their prior weights.
    prior, engine
        As given to `fit`, the engine as an object.
    parts
        Moments of the rows of each completed table; one, unless values were imputed.
    seeds
        Of the nodes, of draws, and of what once resampled clusters.
    notes
        What the user should know about how the data were read.
    clustered
        Whether rows belong together.
    families
        The children that are not normal, or have heavy tails.
    terms
        As given to `fit`: which children may have curves.
    rows
        The rows of all variables, of the first of several completed tables; None if all children are normal and
        straight.
    copies
        The rows of the other completed tables.
    seen
        The table as it was read, for notes, and the levels of columns of words.
    robust
        Whether rows are asked if noise is larger than the model takes it for.
    jackknives
        What they said of the effects asked for before it was saved, by question.
    asked
        What `fit` was asked, in words; it is not saved.
    errors
        What was said of errors of measurement.
    flat
        Variables whose coefficients have a flat prior.
    """

    graphs: tuple[CandidateGraph, ...]
    shares: tuple[float, ...]
    prior: Prior
    engine: Engine
    parts: tuple[RowGroups, ...]
    seeds: tuple[np.random.SeedSequence, np.random.SeedSequence, np.random.SeedSequence]
    notes: tuple[Note, ...] = ()
    clustered: bool = False
    families: tuple[tuple[str, Family], ...] = ()
    terms: Any = None
    rows: RowTable | None = None
    copies: tuple[RowTable, ...] = ()
    seen: Seen | None = None
    robust: bool = False
    jackknives: tuple[tuple[str, Jackknife], ...] = ()
    asked: Asked = field(default_factory=Asked)
    errors: Errors = field(default_factory=Errors)
    flat: tuple[str, ...] = ()

    @property
    def opened(self) -> Opened | None:
        """The rows as a table that can be opened, of the first of several; None if there are none."""
        return None if self.rows is None else opened_rows(self.rows)


def opened_rows(rows: RowTable) -> Opened:
    """Return rows, with what is said of them, as a table that can be opened."""
    table = {name: rows.column(name) for name in rows.columns.names}
    return Opened(partial(open_source, table), marked=lambda _source, _names: rows)


def with_rows(recipe: Recipe, data: Sequence[WorkingData], terms: Any = None) -> Recipe:
    """Return the recipe with the children that are not normal, or not straight, as they were found in the data."""
    families = {**data[0].families, **data[0].heavy}
    others = tuple(one.table for one in data[1:] if one.table is not None)
    return replace(recipe, families=tuple(families.items()), terms=terms, rows=data[0].table, copies=others)
