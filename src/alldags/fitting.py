"""`fit`: from a table and candidate graphs to a posterior."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from alldags import checks, meetings
from alldags.assemble import assemble, working_tables
from alldags.assumptions.data_notes import table_notes
from alldags.data.absorbed import rows_inside
from alldags.data.batches import RowTable
from alldags.data.factors import Factors
from alldags.data.imputed import Imputed
from alldags.data.levels import categories_of, code_words, coded_columns
from alldags.data.marks import marked_rows
from alldags.data.reading import Missing, RowOptions, Tables, read_tables
from alldags.data.rows import RowGroups
from alldags.data.source import Source, open_source
from alldags.data.weights import WeightKind
from alldags.effects.clusters import Clusters, clusters_note
from alldags.engines import resolve
from alldags.engines.suits import check_suits
from alldags.errors import AlldagsError, GraphError
from alldags.graph.candidate import CandidateGraph
from alldags.graph.others import as_graphs
from alldags.graph.randomized import randomized_names, randomized_note, without_causes
from alldags.models.capabilities import model_asks, open_categories
from alldags.models.categories import check_same_causes
from alldags.models.components import turned
from alldags.models.curved import wanted_terms, with_terms
from alldags.models.families import Families, Opened, said_categories, with_families, with_families_of, without_tails
from alldags.models.gaps import GraphCompleter
from alldags.models.number import number_notes
from alldags.models.pair import check_pairs
from alldags.models.timed import Intercepts, Timing, timed
from alldags.nodes.data import WorkingData
from alldags.nodes.flat import flat_in, with_flat
from alldags.nodes.measured import Errors, error_note
from alldags.nodes.posterior import Engine
from alldags.notes import Note
from alldags.orders.choose import order_engine
from alldags.parallel import cluster_backend
from alldags.priors.equivalent import block_prior
from alldags.priors.noise import KnownNoise
from alldags.priors.prior import Prior
from alldags.recipes.asked import Asked, asked_of
from alldags.recipes.recipe import Recipe, with_rows
from alldags.recipes.saving import load_recipe
from alldags.results.posterior import Posterior
from alldags.typing import RandomSource

_MOST_THREADS = 1024
_MOST_NAMED = 6


def fit(
    table: Any,
    graph: Any,
    *,
    graph_weights: Sequence[float] | None = None,
    prior: Prior | None = None,
    engine: str | Engine = "auto",
    rng: RandomSource = None,
    n_jobs: int = 1,
    backend: Any = None,
    names: Sequence[str] | None = None,
    categories: Sequence[str] = (),
    families: Families = "auto",
    terms: Any = "auto",
    interventions: Any = None,
    randomized: str | Sequence[str] = (),
    missing: Missing = "raise",
    imputations: int | None = None,
    auxiliary: Sequence[str] = (),
    weights: Any = None,
    weight_kind: WeightKind = "frequency",
    cluster: Any = None,
    robust: bool = True,
    fixed_effects: str | Sequence[str] = (),
    reliability: Mapping[str, float] | None = None,
    error_sd: Mapping[str, float] | None = None,
    time: str | None = None,
    unit: str | None = None,
    lags: int | None = None,
    intercepts: Intercepts | None = None,
    always: Sequence[str] = (),
    progress: bool = False,
) -> Posterior:
    """Average a structural causal model over every candidate graph: straight lines, unless data or `terms` say more.

    Parameters
    ----------
    table
        A data frame (pandas, polars, pyarrow, ...), a mapping of names to columns, an array with `names`; a polars lazy
        frame, a DuckDB relation or anything else with Arrow batches; the path of a file, a pattern such as
        ``"part-*.parquet"`` or a folder; `Moments`; or `Imputed` tables. Columns that are not in the graph are ignored.
    graph
        The candidate graph, or what stands for one: the path of a graph file, a text such as ``"y ~ x + m"``, tiers, a
        dictionary of possible causes, a networkx graph; or a list of several, weighed by their evidence.
    graph_weights
        Prior weights of several graphs; equal by default.
    prior
        By default ``Prior()``.
    engine
        How each node's posterior is computed: a name or an engine object, see `alldags.engines`.
    rng
        Seed or generator. Exact engines need it only for the draws behind intervals.
    n_jobs
        Threads; results do not depend on it.
    backend
        Other machines to fit regressions on: a ``dask.distributed.Client``, or the name of a backend of joblib that is
        registered (``"ray"``, ``"spark"``). Numbers are the same as here. What needs rows is fitted here.
    names
        Column names, if `table` is an array.
    categories
        Columns of whole numbers that are codes of levels, such as ``["education"]``: each is one candidate cause, with
        as many levels as it has codes. Columns of words, and what a frame itself calls a category, need not be named.
    families
        ``"auto"``: an outcome or mediator with values 0 and 1 is yes/no, and effects on it are differences of
        probability; the levels of a category that something may act on have probabilities (``"categorical"``), where
        that goes with all else. Whole numbers stay numbers. A mapping names families, ``{"death": "bernoulli",
        "visits": "poisson", "cost": "gamma"}`` (or ``"lognormal"``, ``"hurdle"`` with zeros, ``"ordered"`` for grades,
        ``"categorical"`` for levels without an order, ``"student"`` for heavy tails), or `Poisson` with its offset,
        `Student` with its degrees of freedom, `Ordered` with scores, `Categorical` with a level, `Survival` with the
        column of its events; what it does not name is as under ``"auto"``. ``"normal"``: straight lines through all.
        Where a yes/no one would not go with something else, ``"auto"`` is refused.
    terms
        Beside straight lines: ``"auto"`` averages over curves and effects that differ between rows, on the way of any
        effect asked for, wherever rows are at hand and it goes with all else; if not, a note says why. A mapping names
        outcomes or mediators, with `Terms`, a list of terms (``{"risk": ["smoking*age", "curve(age)"]}``)
        or their probabilities, ``{"risk": {"age^2": 1.0, "smoking*age": 0.5}}``. None or ``"straight"``: straight lines
        only.
    interventions
        Rows of experiments: a column (its name, or one value per row) that names the variable that was set from
        outside in each row, several joined by ``+``, nothing for none; or a mapping from variables to rows (the name
        of a column of truth values, one truth value per row, or row numbers). Such rows are left out of that
        variable's own regression and used in all others.
    randomized
        Variables that were randomised: edges into them and hidden common causes of them are left out.
    missing
        What to do about missing values: ``"raise"`` an error, ``"drop"`` the rows that have one, or ``"impute"`` them.
    imputations
        Number of completed tables with ``missing="impute"``; None: one for each percent of the rows that have a gap,
        at least 5 and at most 20.
    auxiliary
        Columns outside the graph that help to impute.
    weights
        Of the rows: the name of a column, or one number per row.
    weight_kind
        ``"frequency"``: a row of weight 3 stands for three equal rows. ``"sampling"``: weights are one over the
        probability of being sampled, and rows count as their effective number.
    cluster
        What rows belong together: the name of a column, or one label per row. Answers about single effects are then as
        uncertain as the clusters show them to be.
    robust
        Whether the rows are asked, when an effect's spread is, if its noise is uneven: if they say that the standard
        deviation is too small by more than their own error, it is made larger, and a note says so. It costs one more
        pass over the rows, and is off where there are none (`Moments`) or the prior says how large noise is
        (``Prior.paper()``). Clusters have their say in any case.
    fixed_effects
        One or two columns, such as ``["state", "year"]``, each level of which has an intercept of its own in every
        regression, always and without a prior: effects are then those within levels. The columns are not in the graph.
    reliability
        Of variables that are measured with error, the share of their variance that is not error, such as
        ``{"smoking": 0.8}``; effects are those of what was meant to be measured. The error must be independent of all
        else. For straight lines with normal noise.
    error_sd
        The same as the standard deviation of the error, in the variable's own units.
    time
        The column that says when each row was seen, whole numbers or dates, for a graph with variables of earlier steps
        (`CandidateGraph.over_time`): these are looked up in the table, of the same unit, and rows without them left
        out. `Posterior.effect` then takes ``after=``.
    unit
        With `time`: the column that says whose row it is, such as a shop or a person.
    lags
        With `time`: how many steps back the graph looks. It needs to be said only if that is 0.
    intercepts
        With `unit`: what is lasting about units. None: nothing. ``"fixed"``: an intercept of each, taken out, as
        ``fixed_effects=[unit]``. ``"random"``: intercepts that vary at random, whatever the causes are. ``"joint"``:
        traits of all variables at once, which have to do with each other and with first rows, for panels of few rows a
        unit; units that were seen at other times have means and a spread of traits of their own.
    always
        With `time`: columns that act on every variable for certain, under a flat prior (of normal straight lines; else
        that of all edges); ``"trend"`` and ``"season"`` (or ``"season:12"``) are made from the time.
    progress
        Show a progress bar on a terminal when the work is long.

    Examples
    --------
    >>> import alldags as ad
    >>> example = ad.datasets.example()
    >>> posterior = ad.fit(example.table, example.graph, rng=0)
    >>> effect = posterior.effect(example.treatment, example.outcome)
    >>> bool(effect.sd > 0)
    True
    """
    asked = asked_of(
        table,
        {
            "names": names, "categories": categories, "families": families, "terms": terms,
            "interventions": interventions, "randomized": randomized, "missing": missing, "imputations": imputations,
            "auxiliary": auxiliary, "weights": weights, "weight_kind": weight_kind, "cluster": cluster,
            "robust": robust, "fixed_effects": fixed_effects, "graph_weights": graph_weights,
            "reliability": reliability, "error_sd": error_sd,
            "time": time, "unit": unit, "lags": lags, "intercepts": intercepts, "always": always,
        },
        fit.__kwdefaults__ or {},
    )  # fmt: skip
    graphs, machines = as_graphs(graph), _machines(backend)
    shares, levelled = _weights(graph_weights, len(graphs)), said_categories(families, graphs[0].variables)
    prior = Prior() if prior is None else prior
    _check_options(prior, n_jobs, {"progress": progress, "robust": robust})
    categories = (*categories, *(name for name in levelled if name not in categories)) if levelled else categories
    options = RowOptions(
        missing, imputations, auxiliary, interventions, weights, weight_kind, cluster, fixed_effects, categories
    )
    timing = Timing(time, unit, lags, intercepts, always)
    table, names, graphs, options, beside, time_notes, flat = timed(table, names, graphs, timing, options)
    lots = randomized_names(randomized, graphs[0])
    lots_note, graphs = randomized_note(lots, graphs), [without_causes(graph, lots) for graph in graphs]
    prior, tails = without_tails(prior)
    made = _engine(engine, prior, graphs)
    variables = (*graphs[0].variables, *beside)
    errors = Errors.said(reliability, error_sd, variables)
    met = {**model_asks(graphs, prior, made), **errors.asked(robust)}
    node_seed, draw_seed, table_seed, cluster_seed = _seed(rng).spawn(4)
    wanted = wanted_terms(terms, {**met, **options.asked}, table)
    completer = GraphCompleter(graphs, families, wanted.terms, tails)
    table_rng = np.random.default_rng(table_seed)
    tables = read_tables(table, names, variables, options, table_rng, n_jobs, progress, completer)
    parts = [part.forget(lots) for part in tables.parts]
    wanted = wanted.in_table(parts[0].rows, len(variables))
    levels = categories_of(tables.levels)
    met = {**met, **tables.asked, **open_categories(levels, graphs)}
    meetings.check(met)
    check_same_causes(levels.keys() - set(levelled), graphs)
    columns = coded_columns(variables, tables.levels)
    data = working_tables(parts, prior, columns, tables.levels)
    data[0] = replace(data[0], seen=(seen := tables.seen and replace(tables.seen, randomized=lots)))
    source = partial(_opened, table, names, variables, categories)
    marked = partial(marked_rows, options=options, variables=columns, targets=parts[0].targets)
    opened = Opened(source, missing == "drop", tables.asked, marked, _within(parts[0], tables.factors))
    copies = _copies(table, variables, categories, tables, opened)
    data[0], family_notes = with_families(data[0], families, copies[0], graphs, met, tails)
    data[1:] = [with_families_of(data[0], *pair) for pair in zip(data[1:], copies[1:], strict=True)]
    data = [with_terms(one, wanted.terms, rows, graphs, met) for one, rows in zip(data, copies, strict=True)]
    flat = flat_in(data[0], flat)
    data = [with_flat(errors.out_of(one), flat) for one in data]
    check_pairs(graphs, data[0], prior, made)
    if len(tables.copies) == 1 and data[0].table is None:  # rows without outcome have no other place
        data[0] = replace(data[0], table=copies[0].rows(columns))
    suspicions = () if seen is None else table_notes(seen, graphs, always)
    notes = (*time_notes, *tables.notes, *wanted.notes, *suspicions, *lots_note, *family_notes)
    notes += (
        *_direction_notes(graphs, prior),
        *number_notes(graphs, prior, turned(graphs, prior), data[0].rows),
        *error_note(data[0]),
        *clusters_note(None if cluster is None else Clusters(parts)),
    )
    asked = asked if tails is None else _with_tails(asked, families, data[0])
    recipe = Recipe(
        tuple(graphs), tuple(shares), prior, made, tuple(parts), (node_seed, draw_seed, cluster_seed), notes,
        cluster is not None,
    )  # fmt: skip
    recipe = replace(recipe, seen=seen, robust=robust and not options.units, asked=asked, errors=errors, flat=flat)
    recipe = with_rows(recipe, data, wanted.terms)
    return assemble(recipe, data, opened, n_jobs, progress, machines)


def load(source: str | os.PathLike[str], *, n_jobs: int = 1, backend: Any = None, progress: bool = False) -> Posterior:
    """Read a posterior that `Posterior.save` wrote; its answers are the same, to the last bit on the same versions.

    Nodes are fitted when a question first needs them, as after `fit`. Nothing in the file is run.

    Parameters
    ----------
    source
        The file.
    n_jobs, backend, progress
        As for `fit`.

    Examples
    --------
    >>> import alldags as ad, pathlib, tempfile
    >>> study = ad.datasets.example()
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "study.npz"
    >>> ad.fit(study.table, study.graph, rng=0).save(target)
    >>> ad.load(target)
    Posterior(7 variables, 10^4.8 graphs averaged over, 500 rows, engine 'auto')
    """
    recipe, written = load_recipe(source)
    _check_options(recipe.prior, n_jobs, {"progress": progress})
    if written != version("alldags"):
        note = f"saved by alldags {written} and computed again by {version('alldags')}: numbers may differ"
        recipe = replace(recipe, notes=(*recipe.notes, Note(note)))
    return assemble(recipe, table=recipe.opened, n_jobs=n_jobs, progress=progress, backend=_machines(backend))


def _engine(engine: str | Engine, prior: Prior, graphs: Sequence[CandidateGraph]) -> Engine:
    """Return the engine, or say that it does not suit the prior or the graphs."""
    made = resolve(engine)
    check_suits(made, prior)
    if any(one.blocks for one in graphs):
        order_engine(made)
        block_prior(prior)
    return made


def _opened(table: Any, names: Sequence[str] | None, variables: Sequence[str], categories: Sequence[str]) -> Source:
    """Open a table again, its words as numbers; of several completed ones, the first."""
    if isinstance(table, Imputed):
        return table.coded(variables, categories)[0][0]
    return code_words(open_source(table, names), variables, categories)[0]


def _copies(
    table: Any, variables: Sequence[str], categories: Sequence[str], tables: Tables, opened: Opened
) -> list[Opened]:
    """Return where the rows of each completed table can be read; of a table as it is, or by moments, its own."""
    if isinstance(table, Imputed):
        sources = table.coded(variables, categories)[0]
        return [replace(opened, source=partial(_itself, source)) for source in sources]
    if not tables.copies:
        return [opened] * len(tables.parts)
    return [replace(opened, source=partial(_itself, one.source), marked=one.marked) for one in tables.copies]


def _itself(source: Source) -> Source:
    return source


def _with_tails(asked: Asked, families: Families, data: WorkingData) -> Asked:
    """Return what was asked where the prior that is kept has normal noise, with the children that have heavy tails."""
    named = dict(families) if isinstance(families, Mapping) else {}
    return asked.also("families", named | data.heavy)


def _within(parts: RowGroups, factors: Factors | None) -> Callable[[RowTable, str], RowTable] | None:
    """Return how rows become deviations from levels of fixed effects; None without any."""
    return None if factors is None else partial(_inside, parts, factors)


def _inside(parts: RowGroups, factors: Factors, rows: RowTable, child: str) -> RowTable:
    """Return rows as deviations from the levels of fixed effects, as in the regression of a child."""
    return rows_inside(rows, parts.showing({child}), factors)


def _direction_notes(graphs: Sequence[CandidateGraph], prior: Prior) -> Iterator[Note]:
    """Say which regressions have another prior than asked for, or that the prior takes part in weighing directions."""
    moved = turned(graphs, prior)
    opened = [name for name in graphs[0].variables if name in moved or any(name in b for g in graphs for b in g.blocks)]
    if opened and not prior.noise.ties_directions and not isinstance(prior.noise, KnownNoise):
        yield Note(
            f"where directions are open ({_listed(opened)}), regressions have EquivalentNoise() and a fixed slab: "
            "under this prior graphs that data cannot tell apart get equal weight"
        )
    edges = {edge for graph in graphs for edge in graph.edges}
    if not moved and len(graphs) > 1 and any((b, a) in edges for a, b in edges) and not prior.noise.ties_directions:
        yield Note(
            "the candidate graphs disagree about a direction; where data cannot tell directions apart, the weights "
            "depend on the prior of the coefficients: leave out what was said of it, so that such graphs get equal "
            "weight",
            "check",
        )
    for graph in dict.fromkeys(graphs):
        yield from (Note(text, "check" if graph.calibrate else "for the record") for text in graph.notes())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{', '.join(names[: _MOST_NAMED - 1])}, ..."


def _check_options(prior: object, n_jobs: object, flags: Mapping[str, object]) -> None:
    if not isinstance(prior, Prior):
        raise AlldagsError(f"prior must be a Prior such as Prior() or Prior.paper(), got {prior!r}")
    if n_jobs != -1 and checks.whole("n_jobs", n_jobs, least=1) > _MOST_THREADS:
        raise AlldagsError(f"n_jobs must be at most {_MOST_THREADS}, or -1 for all cores, got {n_jobs!r}")
    for name, value in flags.items():
        checks.flag(name, value)


def _machines(backend: Any) -> Any:
    """Return the backend of joblib that other machines are asked through; None for none."""
    return None if backend is None else cluster_backend(backend)


def _weights(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0 / count] * count
    if isinstance(weights, str) or not isinstance(weights, Sequence | np.ndarray):
        raise GraphError(f"graph_weights must be a list of {count} numbers, got {weights!r}")
    if len(weights) != count:
        raise GraphError(f"{count} candidate graphs need {count} graph_weights, got {len(weights)}")
    for weight in weights:
        if not 0 < checks.finite("a candidate graph's weight", weight) < 1e100:
            raise GraphError(f"graph_weights must be positive, got {weight!r}; leave that graph out")
    return [weight / math.fsum(weights) for weight in weights]


def _seed(rng: RandomSource) -> np.random.SeedSequence:
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key)
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence(rng.integers(0, 2**63, size=4).tolist())
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0):
        raise AlldagsError(f"rng must be a non-negative whole number, a numpy Generator or None, got {rng!r}")
    return np.random.SeedSequence(None if rng is None else int(rng))
