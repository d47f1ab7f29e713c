"""`CandidateGraph`: which directed edges are possible, and how probable each is before seeing data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from alldags import checks
from alldags.errors import GraphError, did_you_mean
from alldags.graph import blocks, convert, pool, words
from alldags.graph.blocks import BlockOdds
from alldags.graph.components import Structure, check_directions
from alldags.graph.edges import (
    Edge,
    checked_edges,
    checked_variables,
    edge_triples,
    find_cycle,
    mapping_without_duplicates,
    names_tuple,
    per_tier,
    reach,
    still_unstated,
    tier_edges,
)
from alldags.graph.hidden import (
    Believed,
    Valid,
    checked_correlations,
    checked_hidden,
    checked_instruments,
    checked_valid,
    districts,
    invalid_edges,
)
from alldags.graph.over_time import over_time_edges
from alldags.typing import FloatArray

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class CandidateGraph:
    """Variables, the directed edges that may exist between them, and the prior probability of each.

    Where the candidate edges contain no cycle, the order of causes is known, and only which of them exist is not. Where
    they do, as when both directions of an edge are candidates, the order is open: such variables form a *block*, and
    the average goes over the acyclic graphs only. Instances are immutable; methods that change something return a new
    graph. Whether opposite directions leave room for "no edge" is checked when a graph is used, not while it is built.

    Parameters
    ----------
    variables
        Names, in the order used by every matrix the package returns.
    edges
        ``{(cause, effect): probability}``; probability 1 is a certain edge, 0 the same as leaving the edge out. The
        probabilities of two opposite edges add to less than 1; the rest is that of no edge.
    calibrate
        Inside a block, stated probabilities are those of the acyclic graphs: odds are fitted so that they are met. If
        False, they become odds as they stand, and `realized_probabilities` tells what is left of them.
    hidden
        ``{(first, second): probability}`` of hidden common causes; see `with_hidden`.
    correlations
        ``{(first, second): shape or (low, high)}``: what is believed of the correlation that they make.
    declared
        ``{(instrument, treatment): valid}``; see `instrument`.
    unstated
        Edges of even odds that nobody stated. A variable with more than 60 of them learns how many act on it; any
        probability that is said of one, 1/2 too, is kept.

    Examples
    --------
    >>> import alldags as ad
    >>> graph = ad.CandidateGraph.from_tiers([["age"], ["smoking"], ["cancer"]], probability=0.5)
    >>> graph.parents("cancer")
    ('age', 'smoking')
    >>> round(10**graph.log10_graphs)
    8
    >>> graph.with_pair("smoking", "cancer", 0.4, 0.1).blocks
    (('smoking', 'cancer'),)
    """

    variables: tuple[str, ...]
    edges: Mapping[Edge, float]
    calibrate: bool = True
    hidden: Mapping[Edge, float] = field(default_factory=dict, kw_only=True)
    correlations: Mapping[Edge, Believed] = field(default_factory=dict, kw_only=True)
    declared: Mapping[Edge, Valid] = field(default_factory=dict, kw_only=True)
    unstated: frozenset[Edge] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        variables = checked_variables(self.variables)
        unstated = {*self.unstated, *getattr(self.edges, "unstated", ())}
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "edges", MappingProxyType(checked_edges(self.edges, variables)))
        object.__setattr__(self, "unstated", still_unstated(self.edges, unstated))
        object.__setattr__(self, "hidden", MappingProxyType(checked_hidden(self.hidden, variables)))
        believed = checked_correlations(self.correlations, self.hidden, variables)
        object.__setattr__(self, "correlations", MappingProxyType(believed))
        declared = checked_instruments(self.declared, self.edges)
        object.__setattr__(self, "declared", MappingProxyType(declared))
        if not isinstance(self.calibrate, bool):
            raise GraphError(f"calibrate must be True or False, got {self.calibrate!r}")
        cycle = find_cycle(variables, {edge: p for edge, p in self.edges.items() if p == 1.0})
        if cycle:
            raise GraphError(
                f"the certain edges contain the cycle {' -> '.join(map(repr, cycle))}; leave out one of its edges, or "
                "make one of them uncertain"
            )

    # -- constructors ------------------------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        edges: Mapping[Edge, float | None] | Iterable[Edge | tuple[str, str, float]],
        variables: Iterable[str] | None = None,
        probability: float | None = None,
    ) -> CandidateGraph:
        """Build a graph from single edges.

        Parameters
        ----------
        edges
            ``{(cause, effect): probability}``, or an iterable of ``(cause, effect)`` and
            ``(cause, effect, probability)``.
        variables
            All names, for variables without edges or to fix their order; by default in order of appearance.
        probability
            For edges given without one; if both directions of an edge are, they share it, half each. None: 1/2, and
            `unstated`.
        """
        mapping = mapping_without_duplicates(edge_triples(edges), probability)
        if variables is None:
            variables = dict.fromkeys(name for edge in mapping for name in edge)
        return cls(names_tuple(variables, "variables"), mapping)

    @classmethod
    def from_order(cls, order: Iterable[str], probability: float | None = None) -> CandidateGraph:
        """Build a graph in which every variable may cause every later one; `probability` as for `from_tiers`."""
        return cls.from_tiers([[name] for name in names_tuple(order, "order")], probability)

    @classmethod
    def from_tiers(
        cls,
        tiers: Iterable[Iterable[str]],
        probability: float | None = None,
        within: float | Sequence[float | None] | None = None,
    ) -> CandidateGraph:
        """Build a graph in which every variable may cause every variable of a later tier.

        Parameters
        ----------
        tiers
            Groups of names, causes first.
        probability
            Of an edge from one tier to a later one. None: 1/2, and `unstated`: a variable with more than 60 candidate
            causes learns how many of them act on it, where 1/2 would expect half of them.
        within
            Probability that two variables of one tier are joined by an edge, in either direction, half each; one for
            all tiers, or a list with one for each. None: no edges inside a tier.

        Examples
        --------
        >>> import alldags as ad
        >>> tiers = [["age", "sex"], ["bmi", "bp", "chol"], ["risk"]]
        >>> graph = ad.CandidateGraph.from_tiers(tiers, within=[None, 0.5, None])
        >>> graph.blocks, graph.probability("bp", "bmi")
        ((('bmi', 'bp', 'chol'),), 0.25)
        """
        groups = [
            (tier,) if isinstance(tier, str) else names_tuple(tier, "a tier") for tier in names_tuple(tiers, "tiers")
        ]
        names = checked_variables([name for tier in groups for name in tier])
        return cls(names, tier_edges(groups, probability, per_tier(within, len(groups))))

    @classmethod
    def unordered(cls, variables: Iterable[str], probability: float = 0.5) -> CandidateGraph:
        """Build a graph in which nothing is known of the order.

        `probability` is that of an edge between two variables in either direction, half each.

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.unordered(["a", "b", "c", "d", "e"])
        >>> round(10**graph.log10_graphs)
        29281
        """
        return cls.from_tiers([names_tuple(variables, "variables")], within=probability)

    @classmethod
    def over_time(
        cls,
        variables: Iterable[str],
        lags: int = 2,
        probability: float = 0.5,
        *,
        own: float | None = 0.9,
        within: float | None = None,
        order: Sequence[str] | None = None,
        tiers: Sequence[Sequence[str]] | None = None,
    ) -> CandidateGraph:
        """Build a graph in which the past of every variable may act on all; for ``fit(..., time=)``.

        Parameters
        ----------
        variables
            Names. Those of the past are ``"price[-1]"``, ``"price[-2]"`` and so on.
        lags
            How many steps back a cause may be; 0 for none.
        probability
            Of each edge.
        own
            Of the edge from a variable's own last step; None: as all others.
        within
            Probability that two variables of the same step are joined by an edge, in either direction, half each.
        order, tiers
            The order of all variables inside a step, or groups of them, causes first. None of the three: nothing acts
            inside a step.

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.over_time(["price", "sales"], lags=1, order=["price", "sales"])
        >>> graph.parents("sales"), graph.probability("sales[-1]", "sales")
        (('price', 'price[-1]', 'sales[-1]'), 0.9)
        >>> graph.with_edge("price[-1]", "sales", 1.0).without_edge("sales[-1]", "price").parents("price")
        ('price[-1]',)
        """
        return cls(*over_time_edges(variables, lags, probability, own, within, order, tiers))

    @classmethod
    def from_matrix(cls, matrix: Any, variables: Sequence[str] | None = None) -> CandidateGraph:
        """Build a graph from a square matrix of probabilities, row = cause, column = effect.

        A labelled frame (pandas: index and columns; other frames: columns, rows in the same order) brings its own
        names; a plain array needs `variables`.
        """
        return cls(*convert.matrix_edges(matrix, variables))

    @classmethod
    def from_networkx(cls, graph: nx.Graph[Any], probability: float | None = None) -> CandidateGraph:
        """Build a graph from a networkx ``DiGraph``; the edge attribute ``probability`` is used where present.

        `probability` is for edges that have none; None: 1/2, and `unstated`.

        The direction of edges of an undirected ``Graph`` is open: each direction has half of the probability.
        """
        return cls(*convert.networkx_edges(graph, probability), calibrate=convert.networkx_calibrate(graph))

    # -- changes: each returns a new graph ---------------------------------------------------------------------------

    @classmethod
    def pool(
        cls,
        graphs: Sequence[CandidateGraph],
        weights: Sequence[float] | None = None,
        how: Literal["linear", "log"] = "linear",
    ) -> CandidateGraph:
        """Return one graph from those of several experts, or of several runs of a program.

        Parameters
        ----------
        graphs
            With the same variables.
        weights
            Of the graphs; equal by default.
        how
            ``"linear"``: mean of the probabilities. ``"log"``: mean of the log odds, in which one expert's certainty
            decides.

        Examples
        --------
        >>> import alldags as ad
        >>> names = ["x", "y"]
        >>> one, two = (ad.CandidateGraph.from_edges({("x", "y"): p}, names) for p in (0.2, 0.9))
        >>> round(ad.CandidateGraph.pool([one, two]).probability("x", "y"), 2)
        0.55
        """
        variables = pool.same_variables([graph.variables for graph in graphs])
        return cls(variables, pool.pooled_edges([dict(graph.edges) for graph in graphs], weights, how))

    def with_edge(self, cause: str, effect: str, probability: float = 0.5) -> CandidateGraph:
        """Return a graph in which the edge is a candidate with this probability (0 removes it).

        A certain edge removes the opposite one; otherwise that one stays as it is.
        """
        self._check_known(cause, effect)
        changed = {**self.edges, (cause, effect): probability}
        if probability == 1.0:
            changed.pop((effect, cause), None)
        return self._with_edges(changed, said={(cause, effect)})

    def with_pair(
        self, first: str, second: str, forward: float = 0.25, backward: float | None = None
    ) -> CandidateGraph:
        """Return a graph in which the direction between two variables is open.

        Parameters
        ----------
        first, second
            The variables.
        forward
            Probability of ``first -> second``.
        backward
            Probability of ``second -> first``; by default the same. What remains to 1 is that of no edge.

        Examples
        --------
        >>> import alldags as ad
        >>> ad.CandidateGraph.from_order(["a", "b"]).with_pair("a", "b", 0.4, 0.1).blocks
        (('a', 'b'),)
        """
        self._check_known(first, second)
        both = {(first, second): forward, (second, first): forward if backward is None else backward}
        changed = self._with_edges({**self.edges, **both}, said=both.keys())
        check_directions((first, second), {edge: changed.edges[edge] for edge in both if edge in changed.edges})
        return changed

    def with_hidden(
        self, first: str, second: str, probability: float = 0.5, correlation: Believed | None = None
    ) -> CandidateGraph:
        """Return a graph in which something unmeasured may act on two variables, with this probability (0: it cannot).

        Their errors are then correlated. Data tell by how much where the graph has an instrument or a front door; else
        the correlation stays what is believed of it, and so does an effect that it biases.

        Parameters
        ----------
        first, second
            The variables.
        probability
            That there is such a cause.
        correlation
            What is believed of the correlation of the errors if there is: the shape of its prior, density
            ``(1 - rho^2)^(shape - 1)`` (by default 2, standard deviation 0.45; 1 for all values alike), or a range
            ``(low, high)`` in which all values are equally probable.

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.from_order(["age", "smoking", "cancer"]).with_hidden("smoking", "cancer", 0.3)
        >>> dict(graph.hidden)
        {('smoking', 'cancer'): 0.3}
        """
        self._check_known(first, second)
        others = {pair: p for pair, p in self.hidden.items() if set(pair) != {first, second}}
        hidden = {**others, (first, second): probability}
        believed = {pair: one for pair, one in self.correlations.items() if pair in others}
        if correlation is not None:
            believed[first, second] = correlation
        return self._with(hidden=hidden, correlations=believed)

    def without_edge(self, cause: str, effect: str) -> CandidateGraph:
        """Return a graph without this candidate edge."""
        self._check_known(cause, effect)
        if (cause, effect) not in self.edges:
            raise GraphError(f"there is no candidate edge {cause!r} -> {effect!r} to remove")
        return self._with_edges({e: p for e, p in self.edges.items() if e != (cause, effect)})

    def instrument(self, name: str, treatment: str, valid: float = 1.0) -> CandidateGraph:
        """Return a graph in which a variable acts on later variables only through the treatment.

        Its edges to every variable the treatment may act on are removed, or have the rest of the probability that it is
        valid; the one to the treatment must be a candidate. Where something hidden acts on the treatment and on what
        comes after it, data tell by instruments how strong that is.

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.from_order(["lottery", "service", "income"])
        >>> graph.instrument("lottery", treatment="service").parents("income")
        ('service',)
        >>> round(graph.instrument("lottery", treatment="service", valid=0.9).probability("lottery", "income"), 2)
        0.1
        """
        return self.instruments([name], treatment, valid)

    def instruments(self, names: Iterable[str], treatment: str, valid: Valid = 1.0) -> CandidateGraph:
        """Return a graph with several instruments of a treatment, of which some may be invalid.

        Parameters
        ----------
        names
            Variables with a candidate edge to the treatment.
        treatment
            What they act on.
        valid
            Probability that each acts on later variables only through the treatment; ``"some"``: the share of those
            that do is unknown, and learned.

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.from_tiers([["g1", "g2"], ["weight"], ["pressure"]])
        >>> dict(graph.instruments(["g1", "g2"], treatment="weight", valid="some").declared)
        {('g1', 'weight'): 'some', ('g2', 'weight'): 'some'}
        """
        chosen, valid = names_tuple(names, "instruments"), checked_valid(valid)
        after = self._after_treatment(chosen, treatment)
        edges = invalid_edges(self.edges, chosen, after, valid)
        return self._with(edges=edges, declared={**self.declared, **{(name, treatment): valid for name in chosen}})

    def _after_treatment(self, names: Sequence[str], treatment: str) -> tuple[str, ...]:
        """Return what a treatment may act on, in the order of `variables`; refuse what is no instrument of it."""
        self._check_known(*names, treatment)
        after = self.descendants(treatment)
        for name in names:
            arrow = f"{name!r} -> {treatment!r}"
            if (name, treatment) not in self.edges:
                raise GraphError(f"{name!r} cannot be an instrument: there is no candidate edge {arrow}")
            if name in after:
                raise GraphError(f"{name!r} cannot be an instrument: {treatment!r} may cause it; exclude that first")
        return tuple(name for name in self.variables if name in after)

    def uncalibrated(self) -> CandidateGraph:
        """Return a graph whose stated probabilities become odds inside blocks as they stand; see `calibrate`."""
        return self._with(calibrate=False)

    def with_order(self, variables: Iterable[str]) -> CandidateGraph:
        """Return the same graph with its variables listed in another order; causes need not come first."""
        names = names_tuple(variables, "variables")
        if names == self.variables:
            return self
        if len(names) != len(self.variables) or set(names) != set(self.variables):
            raise GraphError(f"a new order must have the same variables, got {list(names)}")
        graph = CandidateGraph.__new__(CandidateGraph)  # the edges were checked already
        hidden = checked_hidden(self.hidden, names)
        believed = checked_correlations(self.correlations, hidden, names)
        graph.__setstate__(
            (names, dict(self.edges), self.calibrate, hidden, believed, dict(self.declared), self.unstated)
        )
        return graph

    # -- questions ---------------------------------------------------------------------------------------------------

    @property
    def log10_graphs(self) -> float:
        """Decimal logarithm of the number of graphs that are averaged over; only acyclic ones count.

        For a block of more than 18 variables, not all pairs of which are open, it is an upper bound: the graphs in
        which no two of them are joined both ways.
        """
        return self._count[0]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables in an order in which causes precede effects; inside a block as in `variables`."""
        return tuple(name for component in self._structure.components for name in component)

    @cached_property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        """The groups of two or more variables whose order is open, causes first; empty if the order is known."""
        return tuple(component for component in self._structure.components if len(component) > 1)

    @property
    def is_ordered(self) -> bool:
        """Whether no candidate edges form a cycle, so that one order holds in every graph."""
        return not self.blocks

    def block_odds(self, block: Sequence[str]) -> BlockOdds:
        """Return the prior of the edges inside a block, fitted to the stated probabilities unless `calibrate` is False.

        A block of more than 14 variables, not all pairs of which are alike, is not fitted: see
        `BlockOdds.is_calibrated`.

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.unordered(["a", "b", "c"], 0.5)
        >>> odds = graph.block_odds(("a", "b", "c"))
        >>> round(odds.probability["a", "b"], 4), round(graph.realized_probabilities()["a", "b"], 4)
        (0.3489, 0.25)
        """
        names = tuple(block)
        if names not in self.blocks:
            raise GraphError(f"{list(names)} is not a block of the graph; its blocks are {list(self.blocks)}")
        return blocks.block_odds(names, self.edges, fit=self.calibrate)

    def realized_probabilities(self) -> dict[Edge, float]:
        """Return the probability of each candidate edge among the acyclic graphs.

        Outside blocks they are the stated ones; inside, too, unless they are not fitted (`calibrate`).

        Examples
        --------
        >>> import alldags as ad
        >>> graph = ad.CandidateGraph.unordered(["a", "b", "c", "d", "e"], 0.5).uncalibrated()
        >>> round(graph.realized_probabilities()["a", "b"], 3)
        0.228
        """
        inside = [blocks.realized(self.block_odds(block)) for block in self.blocks]
        return {**self.edges, **{edge: p for part in inside for edge, p in part.items()}}

    def notes(self) -> tuple[str, ...]:
        """Return what an answer with this graph should say of its prior: blocks whose odds are not fitted."""
        loose = [block for block in self.blocks if not self.block_odds(block).is_calibrated]
        return tuple(words.calibration_note(block, wanted=self.calibrate) for block in loose)

    def component(self, name: str) -> tuple[str, ...]:
        """Return the block of a variable, or the variable alone, in the order of `variables`."""
        self._check_known(name)
        return self._structure.home[name]

    def check(self) -> None:
        """Raise `GraphError` if opposite edges leave no room for "no edge", or certain edges forbid a candidate.

        Whatever uses the graph does this; a graph may pass through such a state while it is being built.
        """
        _ = self._structure.components

    def probability(self, cause: str, effect: str) -> float:
        """Return the prior probability of an edge; 0 if it is not a candidate."""
        self._check_known(cause, effect)
        return self.edges.get((cause, effect), 0.0)

    def parents(self, child: str) -> tuple[str, ...]:
        """Return the candidate parents of a variable, in the order of `variables`."""
        self._check_known(child)
        return self._structure.parents[child]

    def children(self, parent: str) -> tuple[str, ...]:
        """Return the variables that this one may cause directly, in the order of `variables`."""
        self._check_known(parent)
        return self._structure.children[parent]

    def ancestors(self, variable: str) -> frozenset[str]:
        """Return the variables with a candidate path to this one, itself excluded."""
        self._check_known(variable)
        return reach(variable, self._structure.parents)

    def descendants(self, variable: str) -> frozenset[str]:
        """Return the variables to which there is a candidate path from this one, itself excluded."""
        self._check_known(variable)
        return reach(variable, self._structure.children)

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """Return the variables in layers: the first without candidate parents, each other one as early as it can be.

        The variables of a block share a layer.
        """
        return self._structure.tiers()

    @property
    def stated(self) -> dict[Edge, float | None]:
        """The probability of each candidate edge as it was stated; None for those that are `unstated`."""
        return {edge: None if edge in self.unstated else probability for edge, probability in self.edges.items()}

    def to_matrix(self) -> FloatArray:
        """Return the probabilities as an array of shape (m, m), row = cause, column = effect."""
        index = {name: i for i, name in enumerate(self.variables)}
        matrix = np.zeros((len(index), len(index)))
        for (cause, effect), probability in self.edges.items():
            matrix[index[cause], index[effect]] = probability
        return matrix

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return a networkx ``DiGraph`` with the edge attribute ``probability``, but of edges that are `unstated`."""
        return convert.to_networkx(self.variables, self.stated, self.calibrate)

    def plot(
        self,
        ax: Axes | None = None,
        treatment: str | None = None,
        outcome: str | None = None,
        probabilities: Mapping[Edge, float] | Any | None = None,
        limit: int = 60,
    ) -> Axes:
        """Draw the graph, causes left of effects, edges as wide and dark as they are probable; needs extra ``plot``.

        `treatment` and `outcome` are highlighted. `probabilities` are drawn instead of the graph's own, for example
        ``posterior.edge_probabilities()``: a table with the columns ``cause``, ``effect`` and ``posterior`` or
        ``probability``; or ``{(cause, effect): probability}``; or a square matrix or labelled frame, row = cause.
        Edges left out are not drawn; only edges that are certain in the graph are drawn as certain. Of more than
        `limit` variables those with the most probable edges are drawn, the rest of each tier as one pale box.

        Examples
        --------
        >>> graph = CandidateGraph.from_order(["age", "smoking", "cancer"])
        >>> ax = graph.plot(treatment="smoking", outcome="cancer")
        >>> ax.figure.savefig("graph.png")  # doctest: +SKIP
        """
        from alldags.show.plots.folded import most_connected
        from alldags.show.plots.graph import plot_graph

        shown = self.edges if probabilities is None else self._shown(probabilities)
        if len(self.variables) <= checks.whole("limit", limit, least=2):
            return plot_graph(self, ax, treatment, outcome, shown)
        part = most_connected(self.tiers(), shown, limit, (treatment, outcome))
        return plot_graph(part, ax, treatment, outcome, folded=part.folded)

    def _shown(self, probabilities: Any) -> dict[Edge, float]:
        """Return the probability to show for each candidate edge."""
        given = CandidateGraph(*convert.stated_edges(self.variables, probabilities))
        return convert.shown_edges(self.edges, given.edges)

    def __repr__(self) -> str:
        try:
            log10, exact = self._count
            rest = [words.count_words(log10, exact=exact), *words.order_words(self.blocks)]
        except GraphError as error:  # a graph may be looked at while it is being built
            rest = [f"cannot be used yet: {error}"]
        unstated = [self.edges[edge] for edge in self.unstated]
        return words.description(len(self.variables), self.edges.values(), [*words.unstated_words(unstated), *rest])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateGraph):
            return NotImplemented
        same = self.variables == other.variables and self.calibrate == other.calibrate
        return (
            same
            and all(
                dict(getattr(self, name)) == dict(getattr(other, name))
                for name in ("edges", "hidden", "correlations", "declared")
            )
            and self.unstated == other.unstated
        )

    def __hash__(self) -> int:
        hidden = frozenset(self.hidden.items())
        return hash((self.variables, frozenset(self.edges.items()), self.calibrate, hidden))

    def __getstate__(self) -> tuple[Any, ...]:
        # a mapping proxy cannot be pickled
        mappings = self.hidden, self.correlations, self.declared
        return self.variables, dict(self.edges), self.calibrate, *map(dict, mappings), self.unstated

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        object.__setattr__(self, "variables", state[0])
        object.__setattr__(self, "calibrate", state[2])
        object.__setattr__(self, "unstated", state[6] if len(state) > 6 else frozenset())
        named = zip(("edges", "hidden", "correlations", "declared"), (state[1], *state[3:6], {}, {}), strict=False)
        for name, value in named:
            object.__setattr__(self, name, MappingProxyType(value))

    @cached_property
    def _count(self) -> tuple[float, bool]:
        return blocks.log10_graphs(self.blocks, self.edges)

    def _with_edges(self, edges: Mapping[Edge, float], said: Collection[Edge] = ()) -> CandidateGraph:
        return self._with(edges=edges, unstated=self.unstated.difference(said))

    def _with(self, **changes: Any) -> CandidateGraph:
        """Return a graph that differs in some fields; what is said of edges that are gone is gone, too."""
        return replace(self, **changes)

    def districts(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups of variables that hidden common causes join, causes first.

        Examples
        --------
        >>> import alldags as ad
        >>> ad.CandidateGraph.from_order(["z", "x", "y"]).with_hidden("y", "x").districts()
        (('x', 'y'),)
        """
        place = {name: i for i, name in enumerate(self.order)}
        return tuple(tuple(sorted(group, key=place.__getitem__)) for group in districts(self.hidden))

    @cached_property
    def _structure(self) -> Structure:
        return Structure(self.variables, self.edges)

    def _check_known(self, *names: str) -> None:
        for name in names:
            if not isinstance(name, str) or name not in self._structure.parents:
                raise GraphError(f"{name!r} is not a variable of the graph{did_you_mean(name, self.variables)}")
