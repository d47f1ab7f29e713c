"""Which children are not normal: what the user said, and what their values show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from alldags import meetings
from alldags.data.batches import RowTable
from alldags.data.look import look_at_rows
from alldags.data.record import MomentsSource
from alldags.data.source import Source
from alldags.errors import DataError, GraphError, did_you_mean
from alldags.families.base import Family
from alldags.families.categorical import MOST_LEVELS, Categorical
from alldags.families.hurdle import Hurdle
from alldags.families.kinds import FAMILIES, is_family
from alldags.families.student import Student
from alldags.families.survival import Survival
from alldags.families.yes_no import Bernoulli
from alldags.graph.candidate import CandidateGraph
from alldags.models.capabilities import family_asks
from alldags.nodes.data import ChildModel, WorkingData
from alldags.notes import Note
from alldags.priors.noise import StudentNoise, UnknownNoise
from alldags.priors.prior import Prior
from alldags.wording import option

Families: TypeAlias = Literal["auto", "normal"] | Mapping[str, str | Family]
_NORMAL = "normal"
_LARGEST_OFFSET = 300.0  # exp of more overflows, with what causes add
# with settings after colons on a command line: "survival:died:joined", "categorical:north", "hurdle:lognormal"
_WITH_WORDS: dict[str, Callable[..., Family]] = {"survival": Survival, "categorical": Categorical, "hurdle": Hurdle}
_MOST_WORDS = 2


@dataclass(frozen=True, eq=False)
class Opened:
    """The table behind a fit.

    Parameters
    ----------
    source
        Opens it again: rows are read only if a child is not normal.
    drop_missing
        Whether rows with missing values are left out.
    asked
        What table and rows are, and what is asked of them, by the names of `alldags.meetings`.
    marked
        Returns complete rows of a source and some of its columns, with weights and settings beside them.
    inside
        Returns such rows as deviations from the levels of fixed effects, as in a child's regression; None without them.
    """

    source: Callable[[], Source]
    drop_missing: bool = False
    asked: Collection[str] = ()
    marked: Callable[[Source, Sequence[str]], RowTable] | None = None
    inside: Callable[[RowTable, str], RowTable] | None = None

    def rows(self, names: Sequence[str]) -> RowTable | None:
        """Return the complete rows of some columns; None if there are only moments."""
        source = self.source()
        if isinstance(source, MomentsSource):
            return None
        return RowTable(source.numbers(names)) if self.marked is None else self.marked(source, names)

    def regressed_rows(self, names: Sequence[str], child: str) -> RowTable | None:
        """Return the same rows as a child's regression sees them: as deviations from levels of fixed effects, if any.

        All rows are there; those in which the child was set have no weight in its regression.
        """
        rows = self.rows(names)
        return rows if rows is None or self.inside is None else self.inside(rows, child)


def without_tails(prior: Prior) -> tuple[Prior, Student | None]:
    """Return the prior with normal noise, and the heavy tails of all children that it asked for, if it did."""
    noise = prior.noise
    if not isinstance(noise, StudentNoise):
        return prior, None
    return replace(prior, noise=UnknownNoise(noise.shape, noise.rate)), Student(noise.df)


def with_families(
    data: WorkingData,
    families: Families,
    table: Opened,
    graphs: Sequence[CandidateGraph],
    asked: meetings.Asked,
    tails: Student | None = None,
) -> tuple[WorkingData, tuple[Note, ...]]:
    """Return the data with the rows of children that are not normal, and what to tell the user.

    Parameters
    ----------
    data
        Moments in working units.
    families
        As given to `fit`.
    table
        Where rows can be read.
    graphs
        A variable with candidate causes in one of them may have a family.
    asked
        What children that are not normal have to go with.
    tails
        Of the noise of all children that are not yes/no and for which nothing else was said; None: normal noise.
    """
    named = named_families(families, graphs[0].variables)
    children = _children(graphs, data.categories.keys() - named.keys())
    chosen = _with_levels(_said(named, children, tails), data)
    if families != "normal":
        chosen |= _levelled([name for name in data.categories if name not in named], data, table, graphs, asked)
    looks = () if families == "normal" else [name for name in children if name not in named]
    looks = [name for name in looks if {"imputation", "gaps"} & asked.keys() or data.look(name).is_yes_no]
    if looks and "moments" not in asked:
        source = table.source()
        chosen.update({name: Bernoulli() for name in looks if _is_yes_no(source, name)})
    meetings.check({**asked, **family_asks(chosen)})
    _check_ends(chosen, graphs)
    if looks and "moments" in asked:
        return data, _no_rows_note(looks)
    return (_rows(chosen, table, data) if chosen else data), ()


def _with_levels(chosen: Mapping[str, Family], data: WorkingData) -> dict[str, Family]:
    """Return the families, those of categories with their levels; refuse families of numbers for these."""
    found = dict(chosen)
    for name in chosen.keys() & data.categories.keys():
        found[name] = chosen[name].labelled(name, data.levels[name])
    return found


def _levelled(
    categories: Sequence[str],
    data: WorkingData,
    table: Opened,
    graphs: Sequence[CandidateGraph],
    asked: meetings.Asked,
) -> dict[str, Family]:
    """Return probabilities of levels for the categories that something may act on, where they can have them."""
    acted_on = [name for name in categories if any(graph.parents(name) for graph in graphs)]
    names = [name for name in acted_on if len(data.levels[name].labels) <= MOST_LEVELS]
    if not names or "moments" in asked or meetings.reason_against(Categorical.name, asked):
        return {}
    rows = table.rows((*data.pooled.names, *names))
    assert rows is not None
    seen = {name: set(np.unique(rows.column(name)).tolist()) for name in names}
    whole = [name for name in names if len(seen[name]) == len(data.levels[name].labels)]
    return {name: Categorical().labelled(name, data.levels[name]) for name in whole}


def _check_ends(chosen: Mapping[str, Family], graphs: Sequence[CandidateGraph]) -> None:
    """Refuse edges out of a variable that is not known where it is censored."""
    for name in (name for name, family in chosen.items() if not family.complete):
        for graph in graphs:
            for child in graph.variables:
                if name in graph.parents(child):
                    raise GraphError(
                        f"{name!r} is a survival time, which is not known where it is censored, and cannot be a cause: "
                        f"leave out the edge {name} -> {child}"
                    )


def with_families_of(first: WorkingData, data: WorkingData, table: Opened) -> WorkingData:
    """Return another completed copy with the families of the first, and its own rows."""
    families = {**first.families, **first.heavy}
    if first.table is None or not families:
        return data
    rows = table.rows(_names(data, families.values()))
    assert rows is not None
    return with_family_rows(families, rows, data)


def planned_families(
    families: Families,
    graphs: Sequence[CandidateGraph],
    categories: Collection[str],
    yes_no: Collection[str],
    tails: Student | None,
) -> dict[str, Family]:
    """Return the families that children will have, before their rows are complete.

    Parameters
    ----------
    families, graphs, tails
        As for `with_families`.
    categories
        The variables that are categories.
    yes_no
        The variables whose values, as far as they are known, are 0 and 1.
    """
    named = named_families(families, graphs[0].variables)
    children = [name for name in _children(graphs, categories) if not _takes_levels(named.get(name))]
    looks = [name for name in children if families != "normal" and name not in named and name in yes_no]
    return _said(named, children, tails) | {name: Bernoulli() for name in looks}


def said_categories(families: Any, variables: Sequence[str]) -> tuple[str, ...]:
    """Return the variables that were said to have levels: if they are numbers, these are codes.

    Examples
    --------
    >>> from alldags.models.families import said_categories
    >>> said_categories({"region": "categorical", "y": "poisson"}, ("site", "region", "y"))
    ('region',)
    """
    named = families if isinstance(families, Mapping) else {}
    return tuple(name for name in variables if name in named and _has_levels(name, named[name]))


def _has_levels(name: Any, family: Any) -> bool:
    words = isinstance(family, str) and family.partition(":")[0] in FAMILIES
    return (words or is_family(family)) and _takes_levels(_family(name, family))


def _takes_levels(family: Family | None) -> bool:
    return family is not None and family.takes_levels


def _children(graphs: Sequence[CandidateGraph], categories: Collection[str]) -> list[str]:
    """Return the variables that have candidate causes and are no categories."""
    found = [name for name in graphs[0].variables if any(graph.parents(name) for graph in graphs)]
    return [name for name in found if name not in categories]


def _said(named: Mapping[str, Family | None], children: Sequence[str], tails: Student | None) -> dict[str, Family]:
    """Return the families that were asked for."""
    chosen = {name: family for name, family in named.items() if family is not None and name in children}
    if tails is None:
        return chosen
    return dict.fromkeys([name for name in children if name not in named], tails) | chosen


def _is_yes_no(source: Source, name: str) -> bool:
    """Return whether the values of a column, where it has one, are 0 and 1."""
    return look_at_rows(RowTable(source.numbers([name])), [name])[name].is_yes_no


def named_families(families: Any, variables: Sequence[str]) -> dict[str, Family | None]:
    """Return the families that were named, None for a normal one."""
    if isinstance(families, str) and families in ("auto", "normal"):
        return {}
    if not isinstance(families, Mapping):
        raise DataError(
            f"families must be 'auto', 'normal' or a mapping such as {{'death': 'bernoulli'}}, got {families!r}"
        )
    for name in families:
        if name not in variables:
            raise GraphError(f"families names {name!r}, which is not in the graph{did_you_mean(str(name), variables)}")
    return {name: _family(name, family) for name, family in families.items()}


def _family(name: str, family: Any) -> Family | None:
    if isinstance(family, str) and family.partition(":")[0] in _WITH_WORDS:
        word, *settings = family.split(":")
        return _WITH_WORDS[word](*settings[:_MOST_WORDS])
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if isinstance(family, str) and family == _NORMAL:
        return None
    if is_family(family):
        return cast("Family", family)
    names = (_NORMAL, *FAMILIES)
    classes = [kind.__name__ for kind in FAMILIES.values()]
    raise DataError(
        f"the family of {name!r} must be {', '.join(map(repr, names))} or one of alldags.{', alldags.'.join(classes)} "
        f"with its settings, got {family!r}{did_you_mean(str(family), names)}"
    )


# -- looking at values -------------------------------------------------------------------------------------------------


def _no_rows_note(names: Sequence[str]) -> tuple[Note, ...]:
    listed = ", ".join(names)
    text = (
        f"{listed} may be yes/no: a logistic model needs the rows, so straight lines were used; give the table instead "
        f"of its moments, or say {option('families', 'normal')}"
    )
    return (Note(text, "changes the answer", tuple(names)),)


def _rows(chosen: Mapping[str, Family], opened: Opened, data: WorkingData) -> WorkingData:
    """Open the rows once for all children, and check the values of each."""
    table = opened.rows(_names(data, chosen.values()))
    assert table is not None
    _check_reads(opened.source(), chosen.values(), opened.drop_missing)
    found = {
        name: family.check(name, (block[:, 0] for block in table.batches([name]))).placed(name, table)
        for name, family in chosen.items()
    }
    return with_family_rows(found, table, data)


def _names(data: WorkingData, families: Iterable[Family]) -> tuple[str, ...]:
    """Return the columns of all variables, and those that families read beside their children."""
    return tuple(dict.fromkeys((*data.pooled.names, *(name for family in families for name in family.reads))))


def with_family_rows(families: Mapping[str, Family], table: RowTable, data: WorkingData) -> WorkingData:
    """Return the data with children that are not normal, and the rows of all variables and offsets."""
    children = {name: ChildModel(family) for name, family in families.items()}
    return replace(data, children={**data.children, **children}, table=table)


def _check_reads(source: Source, families: Iterable[Family], drop_missing: bool) -> None:
    for family in families:
        for name in family.reads:
            what, columns = "offset" if name == family.offset else "column", source.numbers([name])
            values = np.asarray(columns.read(0, columns.rows)[0], dtype=float)
            if np.isinf(values).any():
                why = "; the logarithm of 0 is no offset" if what == "offset" else ""
                raise DataError(f"the {what} {name!r} has infinite values{why}")
            if np.isnan(values).any() and not drop_missing:
                raise DataError(f"the {what} {name!r} has missing values; drop them with {option('missing', 'drop')}")
            largest = values[np.nanargmax(np.abs(values))] if np.isfinite(values).any() else 0.0
            if what == "offset" and abs(largest) > _LARGEST_OFFSET:
                raise DataError(
                    f"the offset {name!r} has the value {largest:g}, the logarithm of a number that no computer holds; "
                    "an offset is the logarithm of an exposure: give log(exposure)"
                )
