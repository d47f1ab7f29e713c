"""`Workings`: what a posterior computes with, for the package's own rooms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from alldags.models.families import Opened
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.store import NodeStore
from alldags.nodes.data import WorkingData
from alldags.notes import Note
from alldags.steps import lags_of


@dataclass(frozen=True, eq=False)
class Workings:
    """What a posterior computes with: `Posterior.workings`. Users ask the posterior; its names may change.

    Parameters
    ----------
    models
        One for each candidate graph (and value of a hyperparameter that nodes share, if any), with their weights.
    store
        The nodes fitted so far.
    seed
        Source of the draws behind intervals.
    notes
        What the user should know about how the data were read.
    table
        Where the rows can be read again; None if they cannot.
    is_linked
        Whether edges may be linked to those into the treatment (`Prior.link`).
    """

    models: Mixture[FittedGraph]
    store: NodeStore
    seed: np.random.SeedSequence
    notes: tuple[Note, ...] = ()
    table: Opened | None = None
    is_linked: bool = True
    _about: dict[tuple[object, ...], Mixture[FittedGraph]] = field(default_factory=dict, init=False, repr=False)
    _opened: dict[WorkingData, WorkingData] = field(default_factory=dict, init=False, repr=False)
    _straight: dict[tuple[object, ...], Mixture[FittedGraph]] = field(default_factory=dict, init=False, repr=False)

    @property
    def data(self) -> WorkingData:
        """The data in working units; of several completed tables, the first."""
        return self.models.items[0].data

    @property
    def over_time(self) -> bool:
        """Whether rows follow each other in time; where they were not saved, names of the past tell."""
        if self.table is None:
            return lags_of(self.models.items[0].graph.variables) > 0
        return "time" in self.table.asked

    @property
    def tables(self) -> tuple[WorkingData, ...]:
        """The data of each completed table; one, unless values were imputed."""
        return tuple(model.data for model in self.models.items[:: self.models_of_a_table])

    @property
    def models_of_a_table(self) -> int:
        """Number of models of one completed table."""
        return len(self.models.items) // self.models.weights.tables

    @property
    def link(self) -> float:
        """Strength of the link; 0 for engines that use no edge probabilities."""
        uses_edges = getattr(self.store.engine, "uses_edges", True) and self.is_linked
        return self.models.items[0].prior.link if uses_edges else 0.0

    def about(self, *treatments: str, linked: bool = True) -> Mixture[FittedGraph]:
        """Return the models for a question about one or more treatments; weights are those of the models as they are.

        If they are linked, what drives a treatment is a possible confounder of what comes after it (`Prior.link`).
        """
        linked = linked and self.link > 0.0
        if not linked and not self.data.curved and self._is_plain(treatments):
            return self.models
        key = (*treatments, linked)
        if key not in self._about:
            self._about[key] = self.models.map(lambda model: model.about(*treatments, linked=linked))
        return self._about[key]

    def _is_plain(self, treatments: tuple[str, ...]) -> bool:
        """Tell whether no family is another for these treatments."""
        return len(treatments) != 1 or self.data.about(*treatments) is self.data

    def straight(self, *treatments: str, linked: bool = True) -> Mixture[FittedGraph]:
        """Return the same models with straight lines through all children."""
        models = self.about(*treatments, linked=linked)
        if not (self.data.families or self.data.curved):
            return models
        key = (*treatments, linked)
        if key not in self._straight:
            self._straight[key] = models.map(FittedGraph.straight)
        return self._straight[key]

    @cached_property
    def without_hidden(self) -> Workings:
        """The same without hidden common causes, weights as they are."""
        models = self.models.map(lambda model: model.changed(replace(model.graph, hidden={})))
        return Workings(models, self.store, self.seed, self.notes, self.table, self.is_linked)

    def with_rows(self, data: WorkingData) -> WorkingData | None:
        """Return the data of one of the models with rows beside the moments; None if there are none."""
        if data.table is not None:
            return data
        if data not in self._opened:
            rows = None if self.table is None or len(self.tables) > 1 else self.table.rows(data.pooled.names)
            if rows is None:
                return None
            self._opened[data] = replace(data, table=rows)
        return self._opened[data]

    def stream(self) -> np.random.Generator:
        """Return a generator for draws: the same at every call."""
        return fresh_stream(self.seed)

    def prepare(self) -> None:
        """Fit all nodes and blocks of all models."""
        self.store.prepare(key for model in self.models.items for key in model.node_keys)
        for model in self.models.items:
            for block in model.graph.blocks:
                model.order_block(block[0])


def fresh_stream(seed: np.random.SeedSequence) -> np.random.Generator:
    """Return a generator that is the same at every call, whatever was spawned from the seed before."""
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))
