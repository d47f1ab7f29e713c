"""From what the user brings, and says of its rows, to groups of rows: the tables a fit is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from alldags import checks, meetings
from alldags.data.absorbed import absorbed_note, check_left, staggered
from alldags.data.accumulate import column_profile
from alldags.data.bad_values import bad_values_error, dropped_note
from alldags.data.batches import Marks
from alldags.data.clusters import check_clusters, cluster_keys
from alldags.data.columns import check_names, columns_of, refuse_names
from alldags.data.factors import Factors, check_apart, factor_names, read_factors
from alldags.data.gaps import Completed, Completer, Copy, Gaps, NormalCompleter, copy_of, grouped_copy
from alldags.data.imputed import Imputed
from alldags.data.interventions import interventions_note, target_keys
from alldags.data.labels import used_columns
from alldags.data.levels import Levels, categories_of, code_words, coded_columns, levels_note
from alldags.data.missing import read_holes
from alldags.data.record import MomentsSource
from alldags.data.rows import Intercepts, RowGroup, RowGroups, read_groups
from alldags.data.seen import Outside, Seen, look_outside, looks_like_covariance
from alldags.data.source import Source, ignored_columns_note, open_source
from alldags.data.weights import WEIGHT_KINDS, weight_reader, weights_note
from alldags.errors import DataError, MissingValuesError, did_you_mean
from alldags.notes import Note
from alldags.typing import FloatArray
from alldags.wording import option

Missing: TypeAlias = Literal["raise", "drop", "impute"]
_FEWEST, _MOST = 5, 20  # completed tables, if their number is not said
_IMPUTE = option("missing", "impute")
_MOST_EXPANDED = 10_000_000  # rows in memory


@dataclass(frozen=True, eq=False)
class RowOptions:
    """What the user says of the rows; for the meaning of each see `alldags.fit`.

    `units` are the columns by which rows are added up for `intercepts` that are not fixed, `apart` those that say when
    and of what unit a row is.
    """

    missing: str = "raise"
    imputations: int | None = None
    auxiliary: Sequence[str] = ()
    interventions: Any = None
    weights: Any = None
    weight_kind: str = "frequency"
    cluster: Any = None
    fixed_effects: Any = ()
    categories: Sequence[str] = ()
    intercepts: Intercepts = "fixed"
    units: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.one_of("missing", self.missing, get_args(Missing), DataError)
        checks.one_of("weight_kind", self.weight_kind, WEIGHT_KINDS, DataError)
        if self.imputations is not None:
            checks.whole("imputations", self.imputations, least=2, error=DataError)
        _check_list("auxiliary", self.auxiliary)
        _check_list("categories", self.categories)
        factor_names(self.fixed_effects)
        self._check_nothing_ignored()
        meetings.check(self.asked)

    @property
    def asked(self) -> dict[str, tuple[str, ...]]:
        """What is asked of the rows, by the names of `alldags.meetings`."""
        said = {
            "experiments": self.interventions is not None,
            "dropped rows": self.missing == "drop",
            "imputation": self.missing == "impute",
            f"{self.weight_kind} weights": self.weights is not None,
            "clusters": self.cluster is not None,
            "fixed effects": bool(self.factors),
            "random intercepts": self.intercepts == "random",
            "joint traits": self.intercepts == "joint",
            "time": bool(self.apart),
        }
        return {name: () for name, used in said.items() if used}

    def _check_nothing_ignored(self) -> None:
        """Refuse what would have no effect."""
        if self.missing != "impute" and tuple(self.auxiliary):
            raise DataError(f"{option('auxiliary')} columns are for imputation; use them with {_IMPUTE}")
        if self.missing != "impute" and self.imputations is not None:
            raise DataError(f"{option('imputations')} is for {_IMPUTE}")
        if self.weights is None and self.weight_kind != "frequency":
            raise DataError(f"{option('weight_kind', self.weight_kind)} needs {option('weights')}")

    @property
    def by_row(self) -> bool:
        """Whether something is said of single rows."""
        said = any(item is not None for item in (self.interventions, self.weights, self.cluster))
        return said or bool(self.factors or self.units)

    @property
    def factors(self) -> tuple[str, ...]:
        """Columns whose levels have intercepts of their own."""
        return factor_names(self.fixed_effects)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are used without being variables."""
        return (
            *used_columns(self.interventions, self.weights, self.cluster), *self.auxiliary, *self.factors, *self.apart
        )  # fmt: skip


def _check_list(name: str, given: Any) -> None:
    if isinstance(given, str):
        raise DataError(f"{name} must be a list of names; write {option(name, [given])}")
    check_names(given)


def _check_declared(names: Sequence[str], variables: Sequence[str]) -> None:
    """Refuse a category that is no variable of the graph."""
    for name in names:
        if name not in variables:
            raise DataError(
                f"{option('categories', [name])} is no variable of the graph{did_you_mean(name, variables)}"
            )


@dataclass(frozen=True, eq=False)
class Tables:
    """What a fit is made of.

    Parameters
    ----------
    parts
        The rows of each completed table; one, unless values were imputed.
    notes
        What the user should know about how the data were read.
    outside
        What columns outside the graph have to do with those in it.
    levels
        Of the columns of words and truth values.
    copies
        Completed copies of the table, where their rows are at hand; empty without.
    asked
        What table and rows are, and what is asked of them, by the names of `alldags.meetings`.
    factors
        Fixed effects of the rows of the first table; None without them.
    """

    parts: tuple[RowGroups, ...]
    notes: tuple[Note, ...] = field(default=())
    outside: Outside | None = None
    levels: Mapping[str, Levels] = field(default_factory=dict)
    copies: tuple[Copy, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    factors: Factors | None = None

    @property
    def seen(self) -> Seen | None:
        """What was seen of the first table, for notes about likely mistakes in it."""
        if not self.parts[0].groups:
            return None
        whole = self.parts[0].as_read
        adopted = () if self.factors is None else staggered(self.parts[0], self.factors)
        whole = replace(whole, profile=whole.profile or self.parts[0].profile)
        return Seen(whole, self.outside, self.levels, staggered=adopted)


def read_tables(
    table: Any,
    names: Sequence[str] | None,
    variables: Sequence[str],
    options: RowOptions,
    rng: np.random.Generator,
    n_jobs: int = 1,
    progress: bool = False,
    completer: Completer | None = None,
) -> Tables:
    """Open a table and add up its rows.

    Parameters
    ----------
    table, names
        As for `alldags.fit`.
    variables
        The graph's.
    options
        What is said of the rows.
    rng
        For imputation.
    n_jobs
        Threads.
    progress
        Show a bar when reading takes long.
    completer
        What imputes; by default as if everything were straight and normal.
    """
    check_apart(options.factors, variables)
    _check_declared(options.categories, variables)
    if isinstance(table, Imputed):
        return _imputed_elsewhere(table, names, variables, options, n_jobs)
    source, levels = code_words(open_source(table, names), variables, options.categories)
    asked = _asked(source, levels) | options.asked
    meetings.check(asked)
    _check_set(levels, options)
    columns = coded_columns(variables, levels)
    completer = completer or NormalCompleter()
    found = None
    if options.missing != "impute":
        try:
            found = _as_it_is(source, columns, options, n_jobs, progress, levels)
        except MissingValuesError as error:
            if kept := [name for name in error.columns if not completer.leaves_out([name])]:
                raise (error if len(kept) == len(error.columns) else _gaps_of(source, kept)) from None
            asked |= {"gaps": error.columns}
            meetings.check(asked)
            options = replace(options, missing="impute")
    if found is None:
        found = _imputed_here(source, columns, levels, options, rng, n_jobs, completer)
    used = (*columns, *options.columns, *completer.beside)
    first = (*map(Note, source.notes), *_matrix_note(source), *ignored_columns_note(source, used))
    notes = (*first, *levels_note(levels), *found.notes)
    # what a column outside the graph has to do with others within levels is not looked at
    outside = None if options.factors else look_outside(source, columns, used)
    return replace(found, notes=notes, outside=outside, levels=levels, asked=asked)


def _gaps_of(source: Source, names: Sequence[str]) -> DataError:
    """Return the refusal of gaps that have to be decided on, without those that leave out rows of one regression."""
    return bad_values_error(names, source.tally(names), drop_missing=False)


def _asked(source: Source, levels: Mapping[str, Levels]) -> dict[str, tuple[str, ...]]:
    """Return what a table is, by the names of `alldags.meetings`."""
    names = categories_of(levels)
    moments: dict[str, tuple[str, ...]] = {"moments": ()} if isinstance(source, MomentsSource) else {}
    return moments | ({"categories": tuple(names)} if names else {})


def _check_set(levels: Mapping[str, Levels], options: RowOptions) -> None:
    """Refuse to set a category from outside."""
    names = [name for name, one in levels.items() if one.is_category]
    if names and isinstance(options.interventions, Mapping) and set(names) & set(options.interventions):
        said = option("interventions")
        raise DataError(f"{said} names {names[0]!r}, which is a category: make 0/1 columns of its levels")


def _matrix_note(source: Source) -> tuple[Note, ...]:
    if not looks_like_covariance(source):
        return ()
    return (Note("the table is a symmetric matrix: did you mean ad.Moments.from_covariance(table, n=...)?", "check"),)


# -- one table ---------------------------------------------------------------------------------------------------------


def _as_it_is(
    source: Source,
    variables: Sequence[str],
    options: RowOptions,
    n_jobs: int,
    progress: bool = False,
    levels: Mapping[str, Levels] | None = None,
) -> Tables:
    drop = options.missing == "drop"
    if not options.by_row:
        rows = _ungrouped(source.moments(variables, drop_missing=drop, n_jobs=n_jobs, progress=progress))
        notes = dropped_note(variables, source.tally(variables), rows.rows) if drop else ()
        return Tables((rows,), notes)
    rows, factors = _grouped(source, variables, options, n_jobs, categories_of(levels or {}))
    notes = _dropped(source, variables, rows, factors) if drop else ()
    said = () if factors is None else (absorbed_note(rows, factors),)
    return Tables((rows,), (*notes, *_row_notes(rows, options), *said), factors=factors)


def _dropped(source: Source, variables: Sequence[str], rows: RowGroups, factors: Factors | None) -> tuple[Note, ...]:
    tally = source.tally(variables)
    if factors is None:
        return dropped_note(variables, tally, rows.rows)
    missing = np.concatenate([tally.missing, factors.missing])
    return dropped_note((*variables, *factors.names), replace(tally, missing=missing), rows.rows)


def _ungrouped(moments: Any) -> RowGroups:
    return RowGroups((RowGroup(moments, rows=moments.n, squares=moments.n),))


def _grouped(
    source: Source,
    variables: Sequence[str],
    options: RowOptions,
    n_jobs: int,
    categories: Mapping[str, tuple[str, ...]],
) -> tuple[RowGroups, Factors | None]:
    columns = source.numbers(variables)
    given = options.interventions, options.cluster, options.weights
    targets = None if given[0] is None else target_keys(source, given[0], columns.rows, variables)
    clusters = None if given[1] is None else cluster_keys(source, given[1], columns.rows)
    weights = None if given[2] is None else weight_reader(source, given[2], columns.rows, options.weight_kind)
    drop = options.missing == "drop"
    named = options.factors or options.units
    factors = read_factors(source, named, columns.rows, drop) if named else None
    groups = read_groups(columns, targets, clusters, weights, factors=factors, drop_missing=drop, n_jobs=n_jobs)
    effective = weights is not None and options.weight_kind == "sampling"
    rows = RowGroups(groups, effective, column_profile(columns), options.intercepts)
    if clusters is not None:
        check_clusters(rows)
    if factors is None or options.units:
        return rows, None
    check_left(rows, factors, categories)
    return rows, factors


def _row_notes(rows: RowGroups, options: RowOptions) -> tuple[Note, ...]:
    notes: tuple[Note, ...] = ()
    if options.interventions is not None:
        notes += interventions_note(rows)
    if options.weights is not None:
        notes += weights_note(rows)
    return notes


# -- several completed tables ------------------------------------------------------------------------------------------


def _imputed_elsewhere(
    tables: Imputed, names: object, variables: Sequence[str], options: RowOptions, n_jobs: int
) -> Tables:
    refuse_names(names)
    sources, levels = tables.coded(variables, options.categories)
    asked = {"completed tables": (), **_asked(sources[0], levels), **options.asked}
    meetings.check(asked)
    _check_set(levels, options)
    columns = coded_columns(variables, levels)
    try:
        parts = tuple(_as_it_is(source, columns, options, n_jobs) for source in sources)
    except MissingValuesError as error:
        raise meetings.refusal("completed tables", "gaps", {**asked, "gaps": error.columns}) from None
    note = Note(f"answers are averaged over {len(tables)} completed tables, with equal weights")
    ignored = ignored_columns_note(sources[0], (*columns, *options.columns))
    return Tables(
        tuple(part.parts[0] for part in parts),
        (*ignored, *levels_note(levels), note, *parts[0].notes),
        levels=levels,
        asked=asked,
        factors=parts[0].factors,
    )


def _imputed_here(
    source: Source,
    variables: tuple[str, ...],
    levels: Mapping[str, Levels],
    options: RowOptions,
    rng: np.random.Generator,
    n_jobs: int,
    completer: Completer,
) -> Tables:
    gaps, rows = _read_gaps(source, variables, levels, options, completer.beside)
    if not any(gaps.gaps_in([name]) for name in (*variables, *options.auxiliary)):
        plain = replace(options, missing="raise", auxiliary=(), imputations=None)
        found = _as_it_is(source, variables, plain, n_jobs)
        return Tables(found.parts, (*found.notes, Note(f"{_IMPUTE}: no value is missing")))
    made = completer(gaps, options.imputations or _enough(gaps), rng)
    parts, copies = [], []
    for table in made.tables:
        parts.append(grouped_copy(gaps, table, made.unseen, n_jobs))
        if made.keeps_rows:
            copies.append(copy_of(gaps, table, made.unseen))
    if options.cluster is not None:
        check_clusters(parts[0])
    said = _row_notes(parts[0], options)
    if options.weights is not None and gaps.marks.weight is None:
        said = (*said[:-1], Note(f"weights: {rows:,} rows stand for {len(gaps.holes.values) + gaps.holes.empty:,}"))
    return Tables(tuple(parts), (*said, *_imputation_notes(gaps, made, options, len(parts))), copies=tuple(copies))


def _enough(gaps: Gaps) -> int:
    """Return how many completed tables: one for each percent of the rows that have a gap, within limits."""
    share = float(np.isnan(gaps.holes.values).any(axis=1).mean())
    return int(np.clip(math.ceil(100.0 * share), _FEWEST, _MOST))


def _read_gaps(
    source: Source,
    variables: tuple[str, ...],
    levels: Mapping[str, Levels],
    options: RowOptions,
    beside: Sequence[str],
) -> tuple[Gaps, int]:
    """Read the table, and return it with its number of rows; a row that stands for several is several rows here."""
    used = tuple(dict.fromkeys((*variables, *options.auxiliary, *beside)))
    columns = source.numbers(used)
    arrays = [np.asarray(column, dtype=np.float64) for column in columns.read(0, columns.rows)]
    marks, said = _said_of_rows(source, variables, columns.rows, options)
    if options.weights is not None and options.weight_kind == "frequency":
        times = weight_reader(source, options.weights, columns.rows, "frequency")(0, columns.rows)
        arrays, said = _expanded(arrays, said, times.astype(np.int64))
    expanded = columns_of(dict(zip(used, arrays, strict=True)), len(arrays[0]))
    holes, some = read_holes(expanded, len(variables) + len(options.auxiliary))
    said = {name: column[some] for name, column in said.items()}
    return Gaps(holes, variables, tuple(options.auxiliary), levels, marks, said), columns.rows


def _said_of_rows(
    source: Source, variables: Sequence[str], rows: int, options: RowOptions
) -> tuple[Marks, dict[str, FloatArray]]:
    """Return what was set in each row, its cluster and its weight in a sample, as columns of numbers."""
    marks, said = Marks(), dict[str, FloatArray]()
    if options.interventions is not None:
        sets: Sequence[Any] = target_keys(source, options.interventions, rows, variables)(0, rows)
        marks = replace(marks, was_set={name: f"\0set {name}" for name in sorted(frozenset[str]().union(*sets))})
        for name, mark in marks.was_set.items():
            said[mark] = np.array([name in found for found in sets], dtype=np.float64)
    if options.cluster is not None:
        known: dict[Any, int] = {}
        labels = cluster_keys(source, options.cluster, rows)(0, rows)
        marks = replace(marks, cluster="\0cluster")
        said["\0cluster"] = np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.float64)
    if options.weights is not None and options.weight_kind == "sampling":
        marks = replace(marks, weight="\0weight", effective=True)
        weights = weight_reader(source, options.weights, rows, "sampling")(0, rows)
        said["\0weight"] = np.asarray(weights, dtype=np.float64)
    return marks, said


def _expanded(
    arrays: list[FloatArray], said: dict[str, FloatArray], times: Any
) -> tuple[list[FloatArray], dict[str, FloatArray]]:
    """Return the rows, each as often as it counts."""
    if times.sum() > _MOST_EXPANDED:
        raise DataError(
            f"{_IMPUTE} with {option('weights')} needs {times.sum():,} rows in memory, more than {_MOST_EXPANDED:,}; "
            f"use {option('missing', 'drop')}"
        )
    return [np.repeat(one, times) for one in arrays], {name: np.repeat(one, times) for name, one in said.items()}


def _imputation_notes(gaps: Gaps, made: Completed, options: RowOptions, count: int) -> tuple[Note, ...]:
    """Say what was imputed, what that assumes, and what it does not know."""
    counts = _counts(gaps)
    shown = {name: number for name, number in counts.items() if name not in made.unseen}
    left = f"; {gaps.holes.empty:,} rows without any value were left out" if gaps.holes.empty else ""
    notes = []
    if shown:
        text = (
            f"missing values of {_listed(shown)} in {len(gaps.holes.values):,} rows were imputed {count} times, "
            f"{made.words}{left}; that takes them for missing at random, given what was observed"
        )
        short = f"gaps of {_listed(shown)} in {len(gaps.holes.values):,} rows imputed, taken for missing at random"
        notes.append(Note(text, "check", short=short))
    if made.unseen:
        unseen = {name: number for name, number in counts.items() if name in made.unseen}
        more = left if not shown else ""
        those = f"of {len(gaps.holes.values):,} rows, those without {_listed(unseen)}"
        text = f"{those} were left out of the regression of it, and used in all else{more}"
        rows = len(gaps.holes.values)
        short = "; ".join(f"{name} is missing in {few:,} of {rows:,} rows" for name, few in unseen.items())
        short += ", which its regression leaves out"
        notes.append(Note(text, "changes the answer", short=short))
    if shown and options.cluster is not None:
        notes.append(Note("imputation takes rows of a cluster for independent given the columns used", "check"))
    if shown and gaps.marks.weight is not None:
        notes.append(Note("imputation counts every row once, whatever its sampling weight", "check"))
    return tuple(notes)


def _counts(gaps: Gaps) -> dict[str, int]:
    """Return the number of missing values of each variable or auxiliary column that has some."""
    home = {column: one.name for one in gaps.levels.values() for column in one.columns}
    counts = {home.get(name, name): gaps.gaps_in([name]) for name in (*gaps.variables, *gaps.auxiliary)}
    return {name: number for name, number in counts.items() if number}


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name!r} ({number:,})" for name, number in sorted(counts.items(), key=lambda x: -x[1]))
