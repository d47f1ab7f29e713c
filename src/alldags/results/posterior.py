"""`Posterior`: everything a fit knows, over all nodes and all candidate graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from alldags import checks
from alldags.effects import propagate
from alldags.effects.ranking import TopGraph, top_graphs
from alldags.errors import AlldagsError, GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.nodes import WorkingMoments
from alldags.results import tables
from alldags.results.effect import Effect
from alldags.results.graphfit import GraphFit
from alldags.results.table import SquareTable, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Posterior:
    """The posterior over graphs, coefficients and noise, given the data. Made by `alldags.fit`.

    Nodes are fitted when a question first needs them: an effect needs those on candidate paths from treatment to
    outcome, several candidate graphs need all (to be weighed by evidence).

    Parameters
    ----------
    fits
        One per candidate graph (and per shared hyperparameter value, if any).
    prior_weights
        Prior weight of each fit, summing to one.
    seed
        Source of the draws behind intervals.
    notes
        What the user should know about how the data were read.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> ad.fit(study.table, study.graph)
    Posterior(7 variables, 10^4.8 graphs averaged over, 500 rows, engine 'auto')
    """

    def __init__(
        self,
        fits: Sequence[GraphFit],
        prior_weights: Sequence[float],
        seed: np.random.SeedSequence,
        notes: tuple[str, ...],
    ) -> None:
        self.fits = tuple(fits)
        self.prior_weights = tuple(prior_weights)
        self._seed = seed
        self._notes = notes

    # -- what it is made of ------------------------------------------------------------------------------------------

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of the first candidate graph."""
        return self.fits[0].graph.variables

    @property
    def working(self) -> WorkingMoments:
        """The moments all nodes share, in working units."""
        return self.fits[0].working

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """Posterior probability of each candidate graph's fit."""
        if len(self.fits) == 1:
            return (1.0,)
        log = np.log(self.prior_weights) + np.array([fit.log_evidence for fit in self.fits])
        shifted = np.exp(log - log.max())
        return tuple((shifted / shifted.sum()).tolist())

    @property
    def parts(self) -> list[tuple[float, GraphFit]]:
        """Pairs of posterior weight and fit."""
        return list(zip(self.weights, self.fits, strict=True))

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the data in working units, averaged over all candidate graphs."""
        values = [
            math.log(weight) + fit.log_evidence for weight, fit in zip(self.prior_weights, self.fits, strict=True)
        ]
        return float(np.logaddexp.reduce(values))

    @cached_property
    def graphs(self) -> tuple[CandidateGraph, ...]:
        """The candidate graphs, each once."""
        return tuple(dict.fromkeys(fit.graph for fit in self.fits))

    @cached_property
    def has_hyperparameters(self) -> bool:
        """Whether hyperparameters are averaged over, too."""
        return self.fits[0].prior.slab is not None or len(self.fits) > len(self.graphs)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All candidate edges, by effect and then by cause."""
        found = {edge: None for fit in self.fits for edge in fit.graph.edges}
        place = {name: i for i, name in enumerate(self.variables)}
        return tuple(sorted(found, key=lambda edge: (place[edge[1]], place[edge[0]])))

    @property
    def log10_graphs(self) -> float:
        """Decimal logarithm of the number of graphs averaged over."""
        counts = [graph.log10_graphs for graph in self.graphs]
        top = max(counts)
        return top + math.log10(sum(10 ** (count - top) for count in counts))

    def stream(self) -> np.random.Generator:
        """Return a generator for draws: the same at every call."""
        fresh = np.random.SeedSequence(self._seed.entropy, spawn_key=self._seed.spawn_key)  # spawning counts children
        return np.random.default_rng(fresh)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know, such as ignored columns and warnings of the engines used so far, each once."""
        engine_notes = (
            warning for fit in self.fits for node in fit.fitted.values() for warning in node.diagnostics.warnings
        )
        return tuple(dict.fromkeys((*self._notes, *engine_notes)))

    @property
    def engines_used(self) -> dict[str, str]:
        """For each node fitted so far, the engine that was used."""
        return {name: node.diagnostics.engine for fit in self.fits for name, node in fit.fitted.items()}

    # -- questions -----------------------------------------------------------------------------------------------------

    def effect(self, treatment: str, outcome: str) -> Effect:
        """Return the posterior of the total effect of `treatment` on `outcome`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph)
        >>> posterior.effect(treatment="smoking", outcome="risk")
        Effect('smoking' -> 'risk': mean 0.8556, sd 0.1018)
        """
        for role, name in (("treatment", treatment), ("outcome", outcome)):
            if name not in self.variables:
                raise AlldagsError(f"the {role} {name!r} is not in the graph{did_you_mean(name, self.variables)}")
        if treatment == outcome:
            raise AlldagsError(f"treatment and outcome are both {treatment!r}; choose two different variables")
        return Effect(self, treatment, outcome)

    def effects(self) -> SquareTable:
        """Return the mean total effect of every variable on every other, in the user's units; 1 on the diagonal.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph)
        >>> round(posterior.effects()["smoking", "tar"], 2)  # row = cause, column = effect
        1.21
        """
        self._prepare()
        mean = np.zeros((len(self.variables),) * 2)
        for weight, fit in self.parts:
            own = propagate.all_effects(propagate.mean_coefficients(fit.graph, fit.node))
            mean += weight * self._reorder(fit.graph, own)
        return SquareTable(self.variables, mean * self._units)

    def effects_sd(self) -> SquareTable:
        """Return the posterior standard deviation of every total effect, in the user's units."""
        self._prepare()
        place = {name: i for i, name in enumerate(self.variables)}
        first, second = np.zeros((2, len(place), len(place)))
        for weight, fit in self.parts:
            for cause in self.variables:
                for effect, (mean, square) in propagate.effects_from(fit.graph, fit.node, cause).items():
                    first[place[cause], place[effect]] += weight * mean
                    second[place[cause], place[effect]] += weight * square
        return SquareTable(self.variables, np.sqrt(np.maximum(second - first**2, 0.0)) * self._units)

    def edge_probabilities(self) -> Table:
        """Return prior and posterior probability of every candidate edge.

        Engines for continuous priors have no notion of an absent edge: the column is then called ``shrinkage``, says
        how much of each coefficient survives, and is not a probability.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph)
        >>> table = posterior.edge_probabilities()
        >>> list(table.columns), len(table)
        (['cause', 'effect', 'prior', 'posterior'], 16)
        """
        self._prepare()
        return tables.edges_table(self.parts, self.prior_weights, self.edges)

    def coefficients(self) -> Table:
        """Return posterior mean and standard deviation of every edge's coefficient, zeros included, in user's units."""
        self._prepare()
        return tables.coefficients_table(self.parts, self.edges)

    def top_graphs(self, size: int = 10) -> tuple[TopGraph, ...] | None:
        """Return the most probable graphs, most probable first; None if the engine has no notion of a graph.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph)
        >>> best = posterior.top_graphs(3)[0]
        >>> len(best.edges), round(best.probability, 2)
        (8, 0.29)
        """
        size = checks.whole("size", size, least=1)
        self._prepare()
        merged: dict[frozenset[tuple[str, str]], float] = {}
        for weight, fit in self.parts:
            best = top_graphs(fit.graph, fit.node, size)
            if best is None:
                return None
            for item in best:
                key = frozenset(item.edges)
                merged[key] = merged.get(key, 0.0) + weight * item.probability
        ranked = sorted(merged.items(), key=lambda pair: -pair[1])[:size]
        order = {edge: i for i, edge in enumerate(self.edges)}
        return tuple(TopGraph(tuple(sorted(edges, key=order.__getitem__)), p) for edges, p in ranked)

    def median_probability_graph(self) -> CandidateGraph:
        """Return the graph of all edges with posterior probability above one half, as certain edges.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph)
        >>> posterior.median_probability_graph().parents("risk")
        ('age', 'smoking', 'tar', 'exercise')
        """
        table = self.edge_probabilities()
        if "posterior" not in table.columns:
            raise GraphError("the engine has no notion of an edge being present; use engine='auto' or 'exact'")
        rows = zip(table["cause"], table["effect"], table["posterior"], strict=True)
        return CandidateGraph(self.variables, {(cause, effect): 1.0 for cause, effect, p in rows if p > 0.5})

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the candidate graph (of several, the most probable), edges as wide as their posterior probability."""
        from alldags.graph.plot import plot_graph

        table = self.edge_probabilities()
        name = "posterior" if "posterior" in table.columns else "shrinkage"
        probabilities = {
            (cause, effect): p for cause, effect, p in zip(table["cause"], table["effect"], table[name], strict=True)
        }
        graph = max(self.parts, key=lambda part: part[0])[1].graph  # directions may differ: draw the most probable
        own = {edge: p for edge, p in probabilities.items() if edge in graph.edges}
        return plot_graph(graph, ax=ax, probabilities=own, **options)

    def __repr__(self) -> str:
        graphs = "" if len(self.graphs) == 1 else f"{len(self.graphs)} candidate graphs, "
        return (
            f"Posterior({len(self.variables)} variables, {graphs}10^{self.log10_graphs:.1f} graphs averaged over, "
            f"{self.working.rows:g} rows, engine {self.fits[0].engine.name!r})"
        )

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        for fit in self.fits:
            fit.prepare(fit.graph.variables)

    @property
    def _units(self) -> Any:
        return self.working.scale[None, :] / self.working.scale[:, None]

    def _reorder(self, graph: CandidateGraph, matrix: Any) -> Any:
        place = {name: i for i, name in enumerate(graph.variables)}
        rows = [place[name] for name in self.variables]
        return matrix[np.ix_(rows, rows)]
