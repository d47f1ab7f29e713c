"""`Posterior`: everything a fit knows, over all nodes and all candidate graphs."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from alldags import checks, meetings
from alldags.answers import tables
from alldags.answers.choose import natural_question
from alldags.answers.over import over_rows
from alldags.answers.question import Question
from alldags.answers.rows_given import OtherRows
from alldags.answers.settings import Set
from alldags.assumptions.checks import check_posterior
from alldags.assumptions.notes import posterior_notes
from alldags.effects.clusters import Clusters
from alldags.effects.intervention import Intervention
from alldags.effects.jackknife import Jackknife
from alldags.effects.outcome import check_level
from alldags.effects.ranking import top_classes, top_graphs
from alldags.effects.span import Span
from alldags.effects.top import TopGraph
from alldags.effects.total import effect_moments
from alldags.errors import AlldagsError, GraphError, did_you_mean
from alldags.graph.candidate import CandidateGraph
from alldags.graph.edges import Edge, find_cycle
from alldags.memory import check_memory
from alldags.models.categories import category_outcome
from alldags.models.families import Opened
from alldags.models.fitted import FittedGraph
from alldags.models.mixture import Mixture
from alldags.models.store import NodeStore
from alldags.models.workings import Workings
from alldags.nodes.data import WorkingData
from alldags.notes import Note
from alldags.results.effect import Effect
from alldags.results.kept import KEPT, NOTE
from alldags.results.many import MOST_REFITS, effects_on
from alldags.results.plots import PosteriorPlots
from alldags.show.checks import Checks
from alldags.show.table import SquareTable, Table
from alldags.steps import at
from alldags.text import shortened
from alldags.typing import FloatArray
from alldags.wording import either, option

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from alldags.recipes.recipe import Recipe
    from alldags.results.decision import Decision
    from alldags.results.response import Response

_MOST_GRAPHS = 1_000_000


class Posterior:
    """The posterior over graphs, coefficients and noise, given the data. Made by `alldags.fit`.

    Nodes are fitted when a question first needs them: an effect needs those on candidate paths from treatment to
    outcome, several candidate graphs need all (to be weighed by evidence).

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
    clusters
        The rows by cluster; None if rows are independent.
    table
        Where the rows can be read again; None if they cannot.
    recipe
        What it was made from, to save it; None for one that was derived from another.
    is_linked
        Whether edges may be linked to those into the treatment (`Prior.link`).
    is_robust
        Whether rows are asked if noise is larger than the model takes it for, where that matters to an effect.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> ad.fit(study.table, study.graph, terms=None)
    Posterior(7 variables, 10^4.8 graphs averaged over, 500 rows, engine 'auto')
    """

    def __init__(
        self,
        models: Mixture[FittedGraph],
        store: NodeStore,
        seed: np.random.SeedSequence,
        notes: tuple[Note, ...],
        clusters: Clusters | None = None,
        table: Opened | None = None,
        recipe: Recipe | None = None,
        is_linked: bool = True,
        is_robust: bool = False,
    ) -> None:
        self.workings = Workings(models, store, seed, notes, table, is_linked)
        self.clusters = clusters
        self.is_robust = is_robust
        self.jackknives: dict[str, Jackknife] = {} if recipe is None else dict(recipe.jackknives)
        self.recipe = recipe

    # -- what it is made of ------------------------------------------------------------------------------------------

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of the first candidate graph."""
        return self._models.items[0].graph.variables

    @property
    def rows(self) -> float:
        """Number of rows of the table."""
        return self._data.rows

    @property
    def engine(self) -> str:
        """Name of the engine that was asked for."""
        return self._store.engine.name

    @property
    def graph_probabilities(self) -> tuple[float, ...]:
        """Posterior probability of each candidate graph (and value of a shared hyperparameter)."""
        return self._models.weights.posterior

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the data in working units, averaged over all candidate graphs."""
        return self._models.weights.log_evidence

    @cached_property
    def graphs(self) -> tuple[CandidateGraph, ...]:
        """The candidate graphs, each once."""
        return tuple(dict.fromkeys(model.graph for model in self._models.items))

    @cached_property
    def has_hyperparameters(self) -> bool:
        """Whether hyperparameters are averaged over, too."""
        return self._models.items[0].prior.slab is not None or self.workings.models_of_a_table > len(self.graphs)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All candidate edges, by effect and then by cause."""
        found = {edge: None for graph in self.graphs for edge in graph.edges}
        place = {name: i for i, name in enumerate(self.variables)}
        return tuple(sorted(found, key=lambda edge: (place[edge[1]], place[edge[0]])))

    @property
    def log10_graphs(self) -> float:
        """Decimal logarithm of the number of graphs averaged over."""
        counts = [graph.log10_graphs for graph in self.graphs]
        top = max(counts)
        return top + math.log10(sum(10 ** (count - top) for count in counts))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know, such as ignored columns and warnings of the engines used so far; the worst first."""
        return posterior_notes(self)

    @property
    def converged(self) -> bool:
        """Whether every node fitted so far was computed or sampled to the end; `notes` say what to do if not."""
        nodes = all(node.diagnostics.is_reliable for key, node in self._store.fitted() if key.engine is None)
        return nodes and all(block.diagnostics.is_reliable for block in self._store.fitted_blocks())

    @property
    def engines_used(self) -> dict[str, str]:
        """For each node fitted so far, the engine that was used."""
        nodes = {key.child: node.diagnostics.engine for key, node in self._store.fitted() if key.engine is None}
        blocks = self._store.fitted_blocks()
        return nodes | {name: block.diagnostics.engine for block in blocks for name in block.problem.variables}

    # -- questions -----------------------------------------------------------------------------------------------------

    @overload
    def effect(self, treatment: str, outcome: str, over: Any = "sample") -> Effect: ...
    @overload
    def effect(
        self, treatment: str, outcome: str, over: Any = "sample", *, after: int, lasting: bool = False
    ) -> Response: ...
    def effect(
        self,
        treatment: str,
        outcome: str,
        over: Any = "sample",
        *,
        after: int | None = None,
        lasting: bool = False,
    ) -> Effect | Response:
        """Return the posterior of the total effect of `treatment` on `outcome`.

        Parameters
        ----------
        treatment, outcome
            Names.
        over
            Over which rows outcomes are averaged: ``"sample"``, ``"population"`` (adds that the rows are a sample of
            it), ``"treated"`` or ``"untreated"`` of a treatment with two values; a condition such as ``"age > 50"``,
            one truth value per row, or one weight per row; or another table, of whose rows the covariates are read.
            A straight effect is the same for all rows; `Effect.do` is not, nor is an effect on a risk or along a curve.
        after
            In a graph over time: how many steps to follow the effect; the answer is then a `Response`. None: the effect
            in the same step.
        lasting
            With `after`: whether the change stays, whatever acts on the treatment; else it is of one step, and what
            follows from it.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None)
        >>> posterior.effect(treatment="smoking", outcome="risk")
        Effect('smoking' -> 'risk': mean 0.8939, sd 0.1036)
        """
        self.check_known(treatment, "treatment")
        self.check_known(outcome, "outcome")
        if outcome in self._data.categories and outcome not in self._data.families:
            raise category_outcome(outcome, len(self._data.categories[outcome]) + 1)
        if treatment == outcome:
            raise AlldagsError(f"treatment and outcome are both {treatment!r}; choose two different variables")
        for name in (treatment, outcome):
            self.check_present(name)
        if after is not None:
            return self._after(treatment, outcome, over, after, lasting)
        if lasting:
            raise AlldagsError("lasting=True is for a change that is followed over steps; say how many with after=")
        self._check_alone()
        if self.workings.over_time and not isinstance(over_rows(over), str | OtherRows):
            meetings.check({"time": (), "values by number": ()})
        return self.asked(natural_question(self.workings, treatment, outcome, over))

    def _after(self, treatment: str, outcome: str, over: Any, after: int, lasting: bool) -> Response:
        from alldags.results.response import Response

        if not (isinstance(over, str) and over == "sample"):
            meetings.check({"later steps": (), "chosen rows": ()})
        return Response(self, treatment, outcome, after, lasting)

    def _check_alone(self) -> None:
        """Refuse what multiplies means of regressions that are not independent of each other."""
        if self._data.traits is not None:
            raise AlldagsError(
                "with intercepts='joint' regressions go together, and effects come from draws of all of them: ask for "
                "posterior.effect(treatment, outcome, after=1)"
            )

    def check_known(self, name: str, role: str) -> None:
        """Refuse a name that is not in the graph, for the package's own rooms."""
        if name not in self.variables:
            raise AlldagsError(f"the {role} {name!r} is not in the graph{self._where(name)}")

    def check_present(self, name: str) -> None:
        """Refuse a variable of an earlier step, whose own step is not in the graph, for the package's own rooms."""
        if at(name).lag and self.workings.over_time:
            raise AlldagsError(f"{name!r} is in the past; ask for {at(name).name!r}, and after= for later steps")

    def do(
        self,
        *settings: Mapping[str, Any] | Set,
        outcome: str,
        over: Any = "sample",
        draws_size: int | None = None,
        after: int | None = None,
    ) -> Intervention:
        """Return what the outcome would be if any variables were set, at once: its mean over rows, and a new unit's.

        Edges into what is set are cut; all noise is left as it is.

        Parameters
        ----------
        settings
            What is set: values (or words, or levels) by name, ``ad.shift("dose", +10)``, ``ad.rule("dose", function)``.
            Nothing: rows as they are, to be compared with.
        outcome
            Name.
        over
            Over which rows, as for `effect`; ``"treated"`` and ``"untreated"`` if one variable is set.
        draws_size
            Number of draws behind intervals; None for as many as are cheap.
        after
            Refused: in a graph over time the answer is of the same step; `effect` goes on to later ones.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
        >>> healthy = posterior.do({"smoking": 5, "exercise": 5}, outcome="risk")
        >>> healthy
        Intervention(do(smoking = 5, exercise = 5): mean of risk 39.65, sd 1.7)
        >>> gain = healthy.minus(posterior.do(outcome="risk"))
        >>> round(float(gain), 1), round(gain.sd, 1), gain.probability_no_effect
        (-10.1, 1.7, 0.0)
        """
        from alldags.results.doing import intervention_on

        _check_same_step("posterior.do", after)
        size = None if draws_size is None else checks.whole("draws_size", draws_size, least=1)
        return intervention_on(self, settings, outcome, over, size)

    def decide(
        self,
        actions: Any,
        outcome: str,
        *,
        utility: float | Callable[[FloatArray], Any] | None = None,
        cost: Mapping[str, float] | Sequence[float] | None = None,
        by: str | None = None,
        budget: int | None = None,
        over: Any = "sample",
        draws_size: int | None = None,
        after: int | None = None,
    ) -> Decision:
        """Return which of some actions is best, how probably, and what choosing each would lose on average.

        Parameters
        ----------
        actions
            What each sets, by name, as `do` takes it: ``{"none": {}, "stop": {"smoking": 0}, "less":
            ad.shift("smoking", -5)}``; a list of the same without names; or values of one variable, ``{"dose": [0, 5,
            10]}``. To set nothing (``{}`` or None) is an action like others.
        outcome
            Name.
        utility
            What one unit of the mean outcome is worth, negative if less is better; None: 1, more is better. Or a
            function of the mean outcome, which takes and returns an array.
        cost
            Of each action for every row, in units of utility, by name or in order; None: nothing.
        by
            A column: an action for each of its groups (as `Effect.by` makes them). ``"row"``: for each row. Then
            `Decision.plan` says who gets what.
        budget
            With `by`: how many rows at most get another action than the one that sets nothing (the first, if all set
            something).
        over
            Over which rows, as for `do`.
        draws_size
            Number of draws; None for as many as are cheap.
        after
            Refused, as for `do`.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
        >>> actions = {"as it is": {}, "smoke less": ad.shift("smoking", -1), "move more": ad.shift("exercise", 2)}
        >>> found = posterior.decide(actions, "risk", utility=-1)
        >>> found.best, round(found.probability_best["move more"], 2), round(found.expected_loss["smoke less"], 2)
        ('move more', 0.91, 0.66)
        >>> plan = posterior.decide([{}, {"smoking": 10}], "risk", utility=-1, by="row", budget=100).plan
        >>> plan.counts, round(plan.gain.mean, 2)
        ({'nothing': 400, 'smoking = 10': 100}, 3.14)
        """
        from alldags.results.deciding import decided

        _check_same_step("decisions", after)
        size = None if draws_size is None else checks.whole("draws_size", draws_size, least=1)
        return decided(self, actions, outcome, utility, cost, by, budget, over, size)

    def predict(self, rows: Any, *, outcome: str, do: Mapping[str, Any] | None = None, level: float = 0.95) -> Table:
        """Return the outcome of new rows: mean, sd and interval of each, with its noise.

        Of a yes/no outcome they are of the probability of a one.

        Parameters
        ----------
        rows
            A table with the outcome's causes, and those of all that is set acts on.
        outcome
            Name.
        do
            What is set in the rows, as for `do`; None for nothing.
        level
            Probability that each interval holds.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
        >>> new = {"age": [30.0, 60.0], "sex": [0.0, 1.0], "income": [40.0, 40.0]}
        >>> [round(x) for x in posterior.predict(new, outcome="risk", do={"smoking": 10})["mean"]]
        [35, 43]
        """
        from alldags.results.doing import predicted

        check_level(level)
        return predicted(self, rows, outcome, () if do is None else (do,), level)

    def asked(self, question: Question) -> Effect:
        """Return the answer to a question, for the package's own rooms; users ask `effect`."""
        return Effect(self, question)

    def _where(self, name: str) -> str:
        """Say where a name that is not in the graph may have come from."""
        columns = () if self.workings.table is None else self.workings.table.source().columns
        if name in columns:
            return ", but it is a column of the table: add it to the graph, with its possible causes"
        listed = shortened(", ".join(map(repr, self.variables)), 200)
        return did_you_mean(name, self.variables) or f"; it has {listed}"

    def effects(self, link: float | None = None) -> SquareTable:
        """Return the mean total effect of every variable on every other, in the user's units; 1 on the diagonal.

        By straight lines through all children but yes/no ones and counts: ask `effect` for one that may bend.

        Parameters
        ----------
        link
            None: as for single effects, every treatment is a question of its own, in which the edges into what comes
            after it are linked to those into it (`Prior.link`). 0: no link, which costs one fit of each node.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None)
        >>> round(posterior.effects()["smoking", "tar"], 2)  # row = cause, column = effect
        1.22
        """
        moments = self._effect_moments(link)
        return SquareTable(self.variables, self._by_rows(moments[0] * self._units, "mean", link))

    def effects_sd(self, link: float | None = None) -> SquareTable:
        """Return the posterior standard deviation of every total effect; units and `link` as for `effects`."""
        first, second = self._effect_moments(link)
        linear = np.sqrt(np.maximum(second - first**2, 0.0)) * self._units
        return SquareTable(self.variables, self._by_rows(linear, "sd", link))

    def _by_rows(self, linear: FloatArray, what: str, link: float | None) -> FloatArray:
        """Return a table of effects, shape (m, m), with those that are differences of risk put in."""
        families = self.workings.data.families
        table = linear.copy()
        for i, cause in enumerate(self.variables) if families else ():
            for j, effect in enumerate(self.variables):
                spans = (Span.between(graph, cause, effect) for graph in self.graphs)
                if i != j and any(name in families for span in spans for name in span.reached):
                    question = natural_question(self.workings, cause, effect)
                    table[i, j] = getattr(Effect(self, replace(question, linked=link != 0)), what)
        return table

    def _effect_moments(self, link: float | None) -> FloatArray:
        """Return first and second moments of all effects in working units, shape (2, m, m)."""
        self._check_link(link)
        if self._data.curved and not self._data.on_demand:
            raise AlldagsError(
                "effects() is a table of straight lines, which effects with terms are not; use effects_on(outcome), or "
                "fit without terms"
            )
        count = len(self.variables)
        check_memory(8 * count**2, f"the effects of {count:,} variables on each other", "ask for single effects")
        if link == 0 or self._link == 0:
            self.workings.prepare()
            return self._models.average_array(lambda model: effect_moments(model, self.variables))
        self._check_refits()
        total = np.zeros((2, count, count))
        for name in self.variables:
            total += self._linked_models(name).average_array(lambda model, name=name: effect_moments(model, [name]))  # type: ignore[misc]
        return total

    def _check_link(self, link: float | None) -> None:
        if link not in (None, 0, self._link):
            raise AlldagsError(f"link must be None, 0 or the prior's own ({self._link:g}), got {link!r}")

    def _without_link(self) -> Posterior:
        """Return the same posterior, whose effects are not linked; the fitted nodes are shared."""
        its = self.workings
        return Posterior(
            its.models, its.store, its.seed, its.notes, self.clusters, its.table, None, False, self.is_robust
        )

    def _check_refits(self) -> None:
        """Refuse to link every treatment where that would take too many fits."""
        refits = sum(len(graph.descendants(name)) for graph in self.graphs for name in graph.variables)
        if refits > MOST_REFITS:
            without = either("effects(link=0.0)", "--link 0")
            raise AlldagsError(
                f"linked effects of all {len(self.variables)} variables on each other need {refits:,} fits of nodes, "
                f"more than {MOST_REFITS:,}; use {without}, or ask for the effects you need one by one"
            )

    def effects_on(self, outcome: str, *, level: float = 0.95, link: float | None = None) -> Table:
        """Return the total effect of every variable that may act on `outcome`, causes first.

        Parameters
        ----------
        outcome
            Name.
        level
            Probability that the intervals hold.
        link
            None: as for single effects, every treatment is a question of its own (`Prior.link`). 0: no link, which
            costs one fit of each node.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> table = ad.fit(study.table, study.graph, terms=None, rng=0).effects_on("risk")
        >>> list(table.columns)
        ['treatment', 'mean', 'sd', 'low', 'high', 'probability_no_effect']
        """
        self._check_link(link)
        return effects_on(self._without_link() if link == 0 else self, outcome, level)

    def edge_probabilities(self, treatment: str | None = None) -> Table:
        """Return prior and posterior probability of every candidate edge.

        Parameters
        ----------
        treatment
            None: what the data say of each edge by itself. A name: also, as ``kept_as_confounder``, the probability
            with which effects of this treatment are computed, in which what affects it is taken for a likely cause of
            what comes after it (`Prior.link`).

        Engines for continuous priors have no notion of an absent edge: the column is then called ``shrinkage``, says
        how much of each coefficient survives, and is not a probability.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None)
        >>> table = posterior.edge_probabilities()
        >>> list(table.columns), len(table)
        (['cause', 'effect', 'prior', 'posterior'], 16)
        >>> rows = posterior.edge_probabilities(treatment="smoking").rows()
        >>> age_tar = next(row for row in rows if (row["cause"], row["effect"]) == ("age", "tar"))
        >>> round(age_tar["posterior"], 3), round(age_tar["kept_as_confounder"], 3)
        (0.006, 0.998)
        """
        self.workings.prepare()
        found = tables.edges_table(self._models, self.edges)
        if not self._link or found.note:
            return found
        if treatment is None:
            return replace(found, note=tables.UNLINKED)
        if treatment not in self.variables:
            raise AlldagsError(f"the treatment {treatment!r} is not in the graph{self._where(treatment)}")
        linked = tables.edges_table(self._linked_models(treatment), self.edges)
        return replace(found, columns={**found.columns, KEPT: linked["posterior"]}, note=NOTE)

    def coefficients(self) -> Table:
        """Return posterior mean and standard deviation of every edge's coefficient, zeros included, in user's units."""
        self.workings.prepare()
        return tables.coefficients_table(self._models, self.edges)

    def top_graphs(self, size: int = 10, by: Literal["graph", "class"] | None = None) -> tuple[TopGraph, ...] | None:
        """Return the most probable graphs, most probable first; None if the engine has no notion of a graph.

        Parameters
        ----------
        size
            How many.
        by
            ``"graph"``: single graphs. ``"class"``: Markov classes, whose members no number of observational rows can
            tell apart; each with its members (`TopGraph.members`), among the 2,000 most probable graphs. None: classes
            if the order of some variables is open, otherwise graphs. Where the order is open, graphs are looked for
            among 4,000 draws and the members of their classes; their probabilities are exact where the engine is.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None)
        >>> best = posterior.top_graphs(3)[0]
        >>> len(best.edges), round(best.probability, 2)
        (9, 0.23)
        """
        size = checks.whole("size", size, 1, _MOST_GRAPHS)
        if by is None:
            by = "class" if any(graph.blocks for graph in self.graphs) else "graph"
        checks.one_of("by", by, ("graph", "class"))
        self.workings.prepare()
        found = (top_classes if by == "class" else top_graphs)(self._models, size)
        return None if found is None else tuple(self._sorted(item) for item in found)

    def _sorted(self, item: TopGraph) -> TopGraph:
        """Return a graph with its edges, and those of its members, in the order of `edges`."""
        order = {edge: i for i, edge in enumerate(self.edges)}
        members = tuple(self._sorted(member) for member in item.members)
        return TopGraph(tuple(sorted(item.edges, key=order.__getitem__)), item.probability, members)

    def median_probability_graph(self) -> CandidateGraph:
        """Return the graph of all edges with posterior probability above one half, as certain edges.

        Where directions are open such edges may form a cycle; the least probable of it is then left out.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None)
        >>> posterior.median_probability_graph().parents("risk")
        ('age', 'smoking', 'tar', 'exercise')
        """
        table = self.edge_probabilities()
        if "posterior" not in table.columns:
            raise GraphError(
                f"the engine has no notion of an edge being present; use {option('engine', 'auto', 'exact')}"
            )
        rows = zip(table["cause"], table["effect"], table["posterior"], strict=True)
        likely = {(cause, effect): p for cause, effect, p in rows if p > 0.5}
        return CandidateGraph(self.variables, dict.fromkeys(_acyclic(self.variables, likely), 1.0))

    def checks(self, treatment: str | None = None, outcome: str | None = None) -> Checks:
        """Return what the data show of the assumptions: residuals, outlying rows, independences, overlap.

        Everything, or with `treatment` and `outcome` what that effect needs. Rows are read again, a batch at a time.

        Examples
        --------
        >>> import alldags as ad
        >>> study = ad.datasets.example()
        >>> print(ad.fit(study.table, study.graph, terms=None, rng=0).checks("smoking", "risk").sentence())
        35 checks: nothing that needs a look.
        """
        return check_posterior(self, treatment, outcome)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the candidate graph (of several, the most probable), edges as wide as their posterior probability."""
        table = self.edge_probabilities()
        name = "posterior" if "posterior" in table.columns else "shrinkage"
        probabilities = {
            (cause, effect): p for cause, effect, p in zip(table["cause"], table["effect"], table[name], strict=True)
        }
        graph = self._models.heaviest.graph  # directions may differ: draw the most probable
        own = {edge: p for edge, p in probabilities.items() if edge in graph.edges}
        return graph.plot(ax=ax, probabilities=own, **options)

    @property
    def plots(self) -> PosteriorPlots:
        """Further pictures, of effects on one outcome, of edge probabilities before and after the data, of chains."""
        return PosteriorPlots(self)

    def report(
        self,
        target: str | os.PathLike[str],
        treatment: str,
        outcome: str,
        *,
        contrast: tuple[float | str, float | str] | None = None,
        level: float = 0.95,
        command: str = "",
    ) -> None:
        """Write a report on one effect: a file of HTML that needs nothing else; needs the extra ``report``.

        Parameters
        ----------
        target
            The file, such as ``report.html``. It appears complete or not at all.
        treatment, outcome
            Names of the two variables.
        contrast
            Two values of the treatment, from and to; None: what `effect` compares. Of a category, the first and the
            last level; every pair is in the report, too.
        level
            Probability that the interval holds.
        command
            The command line to show under "how computed"; empty for none.

        Examples
        --------
        >>> import alldags as ad, pathlib, tempfile
        >>> study = ad.datasets.example()
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> ad.fit(study.table, study.graph, terms=None, rng=0).report(target, treatment="smoking", outcome="risk")
        >>> target.stat().st_size < 400_000
        True
        """
        from alldags.results.report import write_report

        effect = self.effect(treatment, outcome)
        write_report(effect if contrast is None else effect.contrast(*contrast), target, level, command)

    def save(self, target: str | os.PathLike[str]) -> None:
        """Write the posterior to a file, from which `alldags.load` makes it again with the same numbers.

        What is written is what the posterior was made from: moments, candidate graphs, prior, engine and seeds. If
        outcomes are yes/no or counts, or there are curves, the rows of all variables are in it, too; otherwise no row
        is. What rows said of the noise of effects that were asked for before is in it; of others the loaded posterior
        takes noise for even, and says so.

        Parameters
        ----------
        target
            The file, such as ``study.npz``. It appears complete or not at all.

        Examples
        --------
        >>> import alldags as ad, pathlib, tempfile
        >>> study = ad.datasets.example()
        >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "study.npz"
        >>> posterior.save(target)
        >>> ad.load(target).effect("smoking", "risk").mean == posterior.effect("smoking", "risk").mean
        True
        """
        from alldags.recipes.saving import save_recipe

        if self.recipe is None:
            raise AlldagsError("only a posterior that fit returned can be saved; this one was derived from another")
        save_recipe(replace(self.recipe, jackknives=tuple(self.jackknives.items())), target)

    def __repr__(self) -> str:
        graphs = "" if len(self.graphs) == 1 else f"{len(self.graphs)} candidate graphs, "
        return (
            f"Posterior({len(self.variables)} variables, {graphs}10^{self.log10_graphs:.1f} graphs averaged over, "
            f"{self.rows:g} rows, engine {self.engine!r})"
        )

    # -- helpers -------------------------------------------------------------------------------------------------------

    def derived(self, models: Mixture[FittedGraph], store: NodeStore | None = None) -> Posterior:
        """Return the posterior of other models, with the same nodes where they have the same; or of other data.

        Parameters
        ----------
        models
            In place of those here.
        store
            Of the nodes, if the models are of other data, whose rows are not those here.
        """
        its = self.workings
        if store is not None:
            return Posterior(models, store, its.seed, its.notes, table=its.table)
        return Posterior(
            models, its.store, its.seed, its.notes, self.clusters, its.table, None, its.is_linked, self.is_robust
        )

    # what `workings` holds, by the names that effects call it by

    @property
    def _models(self) -> Mixture[FittedGraph]:
        return self.workings.models

    @property
    def _store(self) -> NodeStore:
        return self.workings.store

    @property
    def _data(self) -> WorkingData:
        return self.workings.data

    @property
    def _tables(self) -> tuple[WorkingData, ...]:
        return self.workings.tables

    @property
    def _link(self) -> float:
        return self.workings.link

    def _stream(self) -> np.random.Generator:
        return self.workings.stream()

    def _linked_models(self, treatment: str) -> Mixture[FittedGraph]:
        """Return the models behind a table of straight lines: curves that were not asked for by name are left out."""
        return self.workings.straight(treatment) if self._data.on_demand else self.workings.about(treatment)

    @property
    def _units(self) -> Any:
        scale = np.array([self._data.scale_of(name) for name in self.variables])
        return scale[None, :] / scale[:, None]


def _acyclic(variables: tuple[str, ...], edges: dict[Edge, float]) -> list[Edge]:
    """Return edges without cycles: the least probable edge of each is left out."""
    kept = dict(edges)
    while cycle := find_cycle(variables, kept):
        del kept[min(itertools.pairwise(cycle), key=kept.__getitem__)]
    return list(kept)


def _check_same_step(name: str, after: int | None) -> None:
    """Refuse what is not followed over steps."""
    if after is not None:
        meetings.check({"later steps": (), name: ()})
