"""Which children are not normal: what the user said, and what their values show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from alldags.data.batches import RowTable
from alldags.data.look import look_at_rows
from alldags.data.record import MomentsSource
from alldags.data.source import Source
from alldags.errors import DataError, EngineError, GraphError, PriorError, did_you_mean
from alldags.families.base import Family
from alldags.families.count import Poisson
from alldags.families.student import Student
from alldags.families.yes_no import Bernoulli
from alldags.graph.candidate import CandidateGraph
from alldags.nodes.data import ChildModel, WorkingData
from alldags.nodes.posterior import Engine
from alldags.notes import Note
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import StudentNoise, UnknownNoise
from alldags.priors.prior import Prior

FamilyName: TypeAlias = Literal["normal", "bernoulli", "poisson", "student"]
Families: TypeAlias = Literal["auto", "normal"] | Mapping[str, FamilyName | Family]
_NAMES: dict[str, Family | None] = {
    "normal": None,
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "student": Student(),
}


_MEET_FAMILIES = frozenset({"categories", "weights=", "interventions=", "cluster="})  # what rows of any family may have


@dataclass(frozen=True, eq=False)
class Opened:
    """The table behind a fit.

    Parameters
    ----------
    source
        Opens it again: rows are read only if a child is not normal.
    drop_missing
        Whether rows with missing values are left out.
    options
        What else was said of the rows, in words.
    marked
        Returns complete rows of a source and some of its columns, with weights and settings beside them.
    """

    source: Callable[[], Source]
    drop_missing: bool = False
    options: tuple[str, ...] = ()
    marked: Callable[[Source, Sequence[str]], RowTable] | None = None

    def rows(self, names: Sequence[str]) -> RowTable | None:
        """Return the complete rows of some columns; None if there are only moments."""
        source = self.source()
        if isinstance(source, MomentsSource):
            return None
        return RowTable(source.numbers(names)) if self.marked is None else self.marked(source, names)


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
    prior: Prior,
    engine: Engine,
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
    prior, engine
        Both must suit nodes that are not normal.
    tails
        Of the noise of all children that are not yes/no and for which nothing else was said; None: normal noise.
    """
    named = _named(families, graphs[0].variables)
    children = [name for name in graphs[0].variables if any(graph.parents(name) for graph in graphs)]
    children = [name for name in children if name not in data.categories]
    chosen = {name: family for name, family in named.items() if family is not None and name in children}
    if tails is not None:
        chosen = dict.fromkeys([name for name in children if name not in named], tails) | chosen
    reason = _unsuited(prior, engine) or _unsuited_rows(table, graphs, _kinds(chosen.values()))
    if chosen and reason is not None:
        raise reason
    looks = () if families == "normal" else [name for name in children if name not in named]
    looks = [name for name in looks if data.look(name).is_yes_no]
    if looks and isinstance(reason, DataError):
        return data, _lines_note(looks, str(reason))
    if reason is not None or not (chosen or looks):
        return data, ()
    source = table.source()
    if isinstance(source, MomentsSource) and not chosen:
        return data, _no_rows_note(looks)
    rows = look_at_rows(RowTable(source.numbers(looks)), looks) if looks else {}
    chosen.update({name: Bernoulli() for name in looks if rows[name].is_yes_no})
    return (_rows(chosen, source, table, data) if chosen else data), ()


def _kinds(families: Iterable[Family]) -> str:
    """Name what was asked for, for messages."""
    heavy = {isinstance(family, Student) for family in families}
    if heavy == {True}:
        return "heavy tails"
    return "yes/no or count outcomes" if heavy <= {False} else "heavy tails, yes/no or count outcomes"


def _unsuited_rows(
    table: Opened, graphs: Sequence[CandidateGraph], kinds: str = "yes/no or count outcomes"
) -> DataError | None:
    """Return why these rows can go into straight lines only; None if they need not."""
    hidden = ("hidden common causes",) if any(graph.hidden for graph in graphs) else ()
    open_ = ("open directions",) if any(graph.blocks for graph in graphs) else ()
    said = [name for name in table.options if name not in _MEET_FAMILIES]
    if options := (*said, *hidden, *open_):
        other = "normal noise" if kinds == "heavy tails" else "families='normal'"
        return DataError(
            f"{' and '.join(options)} and {kinds} do not go together yet; leave one of them out, or use {other}"
        )
    return None


def _named(families: Any, variables: Sequence[str]) -> dict[str, Family | None]:
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
    if isinstance(family, str) and family in _NAMES:
        return _NAMES[family]
    if isinstance(family, Bernoulli | Poisson | Student):
        return family
    raise DataError(
        f"the family of {name!r} must be 'normal', 'bernoulli', 'poisson', 'student', Bernoulli(), "
        f"Poisson(offset=...) or Student(df=...), got {family!r}{did_you_mean(str(family), _NAMES)}"
    )


def _unsuited(prior: Prior, engine: Engine) -> PriorError | EngineError | None:
    """Return why there can be no node that is not normal; None if there can."""
    if ScaleMixture in getattr(engine, "takes", ()) or prior.coefficients is not None:
        return EngineError(
            f"the engine {engine.name!r} takes straight lines with normal noise only; for yes/no and count outcomes, "
            "and heavy tails, use engine='auto'"
        )
    if not prior.intercept:
        return PriorError(
            "yes/no and count outcomes, and heavy tails, need an intercept: Prior(intercept=True), or families='normal'"
        )
    if not isinstance(prior.noise, UnknownNoise):
        return PriorError(
            f"{prior.noise!r} is about straight lines with normal noise; for yes/no and count outcomes, and heavy "
            "tails, use UnknownNoise(), or families='normal'"
        )
    return None


# -- looking at values -------------------------------------------------------------------------------------------------


def _no_rows_note(names: Sequence[str]) -> tuple[Note, ...]:
    listed = ", ".join(names)
    text = (
        f"{listed} may be yes/no: risks need the rows, so straight lines were used; give the table instead of its "
        "moments, or say families='normal'"
    )
    return (Note(text, "changes the answer", tuple(names)),)


def _lines_note(names: Sequence[str], reason: str) -> tuple[Note, ...]:
    text = f"{', '.join(names)} may be yes/no, but straight lines were used: {reason}"
    return (Note(text, "changes the answer", tuple(names)),)


def _rows(chosen: Mapping[str, Family], source: Source, opened: Opened, data: WorkingData) -> WorkingData:
    """Open the rows once for all children, and check the values of each."""
    if isinstance(source, MomentsSource):
        first, family = next(iter(chosen.items()))
        kind = "heavy tails are" if isinstance(family, Student) else "a logistic node is"
        raise DataError(
            f"the family of {first!r} needs rows: {kind} not determined by means and covariances; pass the table itself"
        )
    names = data.pooled.names
    offsets = [family.offset for family in chosen.values() if family.offset is not None]
    table = opened.rows(tuple(dict.fromkeys((*names, *offsets))))
    assert table is not None
    _check_offsets(source, offsets, opened.drop_missing)
    for name, family in chosen.items():
        family.check(name, (block[:, 0] for block in table.batches([name])))
    return with_family_rows(chosen, table, data)


def with_family_rows(families: Mapping[str, Family], table: RowTable, data: WorkingData) -> WorkingData:
    """Return the data with children that are not normal, and the rows of all variables and offsets."""
    children = {name: ChildModel(family) for name, family in families.items()}
    return replace(data, children={**data.children, **children}, table=table)


def _check_offsets(source: Source, offsets: Iterable[str], drop_missing: bool) -> None:
    for name in offsets:
        columns = source.numbers([name])
        (values,) = columns.read(0, columns.rows)
        if np.isinf(np.asarray(values, dtype=float)).any():
            raise DataError(f"the offset {name!r} has infinite values; the logarithm of 0 is no offset")
        if np.isnan(np.asarray(values, dtype=float)).any() and not drop_missing:
            raise DataError(f"the offset {name!r} has missing values; drop them with drop_missing=True")
