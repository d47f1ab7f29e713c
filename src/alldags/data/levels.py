"""Columns of words as columns of numbers: two levels are 0 and 1, more are a category, whose columns go together.

The columns of a category are contrasts with mean 0, variance 1 and no correlation over the rows that have a level.
Under a slab that is the same for all of them, nothing then depends on which level is the reference.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, TypeGuard

import numpy as np

from alldags.data.accumulate import PART_ROWS, checked_moments
from alldags.data.arrays import ArraySource, MappingSource
from alldags.data.bad_values import Tally, tally_columns
from alldags.data.columns import Column, Columns, NotNumbersError, Reader, dates, too_many_levels
from alldags.data.frames import FrameSource
from alldags.data.labels import is_nothing
from alldags.data.lagged import LaggedSource
from alldags.data.record import MomentsRecord
from alldags.data.source import Source
from alldags.data.stream import StreamSource
from alldags.errors import DataError
from alldags.notes import Note
from alldags.typing import FloatArray
from alldags.wording import option

MOST_LEVELS = 60
_MOST_NAMED = 2000  # columns up to which truth values are named in the answer
_LEAST_ROWS = 3  # per level, on average
_YES = frozenset({"yes", "y", "true", "t", "1", "treated", "treatment", "case", "present", "positive", "pos", "on"})
_NO = frozenset({"no", "n", "none", "control", "placebo", "untreated", "absent", "never", "negative", "neg", "off"})
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of one column of words, l of them.

    Parameters
    ----------
    name
        Of the column.
    labels
        As they are in the table; the first is 0, or the reference.
    counts
        Rows that have each of them, shape (l,).

    Examples
    --------
    >>> from alldags.data.levels import Levels
    >>> Levels("smoker", ("no", "yes"), (70, 30)).values.tolist()
    [[0.0], [1.0]]
    >>> site = Levels("site", ("a", "b", "c"), (50, 25, 25))
    >>> site.columns
    ('site: b', 'site: c')
    """

    name: str
    labels: tuple[Any, ...]
    counts: tuple[float, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(str(label) for label in self.labels)

    @property
    def is_category(self) -> bool:
        """Whether there are more than two."""
        return len(self.labels) > 2

    @property
    def are_codes(self) -> bool:
        """Whether they are numbers, and neither words nor truth values."""
        return not any(isinstance(label, str | bool) for label in self.labels)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return tuple(f"{self.name}: {word}" for word in self.words[1:]) if self.is_category else (self.name,)

    @cached_property
    def values(self) -> FloatArray:
        """What each level is in each column, shape (l, columns)."""
        dummies = np.eye(len(self.labels))[:, 1:]
        if not self.is_category:
            return dummies
        share = np.array(self.counts) / sum(self.counts)
        centred = dummies - share @ dummies
        factor = np.linalg.cholesky(centred.T @ (centred * share[:, None]))
        return np.asarray(np.linalg.solve(factor, centred.T).T)


class CountedSource(Source, Protocol):
    """A source that knows its rows."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...


class CodedSource:
    """A source whose columns of words are numbers; under its own name a category has the codes of its levels."""

    def __init__(self, source: CountedSource, levels: Mapping[str, Levels]) -> None:
        self._source = source
        self._coded = {column: (one, j) for one in levels.values() for j, column in enumerate(one.columns)}
        self._codes = {one.name: one for one in levels.values() if one.is_category}
        others = [name for name in source.columns if name not in levels]
        self.columns = (*others, *self._coded)
        self.notes = source.notes

    def moments(
        self,
        variables: Iterable[str] | None = None,
        *,
        drop_missing: bool = False,
        n_jobs: int = 1,
        progress: bool = False,  # noqa: ARG002  - columns of words are not read at a distance
    ) -> MomentsRecord:
        return checked_moments(self.numbers(variables), drop_missing=drop_missing, n_jobs=n_jobs)

    def tally(self, variables: Iterable[str]) -> Tally:
        return tally_columns(self.numbers(variables))

    def labels(self, name: str) -> Reader:
        return self._source.labels(name)

    def numbers(self, variables: Iterable[str] | None = None) -> Columns:
        chosen = self.columns if variables is None else tuple(variables)
        plain = [name for name in chosen if name not in self._coded and name not in self._codes]
        readers = dict(zip(plain, self._source.numbers(plain).readers, strict=True)) if plain else {}
        return Columns(chosen, self.rows, tuple(readers.get(name) or self._reader(name) for name in chosen))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._source.rows

    def _reader(self, column: str) -> Reader:
        if column in self._codes:
            levels = self._codes[column]
            codes = {label: float(place) for place, label in enumerate(levels.labels)}
        else:
            levels, j = self._coded[column]
            codes = dict(zip(levels.labels, levels.values[:, j].tolist(), strict=True))
        return partial(_read_codes, self._source.labels(levels.name), codes)


def _read_codes(labels: Reader, codes: Mapping[Any, float], start: int, stop: int) -> Column:
    return np.array([codes.get(_key(label), np.nan) for label in labels(start, stop).tolist()], dtype=np.float64)


def _key(label: Any) -> Any:
    return None if is_nothing(label) else label


# -- finding them ------------------------------------------------------------------------------------------------------


def code_words(
    source: Source, variables: Sequence[str], declared: Sequence[str] = ()
) -> tuple[Source, dict[str, Levels]]:
    """Return the source with its words coded, and the levels of the variables that have words or truth values.

    Parameters
    ----------
    source
        A table.
    variables
        Columns that are used.
    declared
        Columns of numbers among them that are codes of levels.

    Examples
    --------
    >>> from alldags.data.levels import code_words
    >>> from alldags.data.source import open_source
    >>> table = open_source({"smoker": ["yes", "no", "yes", None], "score": [1.0, 2.0, 3.0, 4.0]})
    >>> coded, levels = code_words(table, ["smoker", "score"])
    >>> levels["smoker"].words, coded.numbers(["smoker"]).read(0, 4)[0].tolist()
    (('no', 'yes'), [1.0, 0.0, 1.0, nan])
    """
    if not _can_be_read(source):
        _check_none_declared(declared)
        return source, {}
    there = frozenset(source.columns)
    known = [name for name in variables if name in there]
    worded = frozenset((*_columns_of_words(source, known), *declared))
    levels = {name: _levels(source, name, name in declared) for name in known if name in worded}
    looked_at = known if len(known) <= _MOST_NAMED else ()
    truths = {name: Levels(name, (False, True), (0, 0)) for name in looked_at if _is_truth(source, name)}
    return (CodedSource(source, levels) if levels else source), truths | levels


def with_levels(source: Source, levels: Mapping[str, Levels]) -> Source:
    """Return the source with its columns of words coded by levels that are known.

    Examples
    --------
    >>> from alldags.data.levels import Levels, with_levels
    >>> from alldags.data.source import open_source
    >>> found = with_levels(open_source({"sex": ["m", "f", "m"]}), {"sex": Levels("sex", ("f", "m"), (9, 9))})
    >>> found.numbers(["sex"]).read(0, 3)[0].tolist()
    [1.0, 0.0, 1.0]
    """
    if not _can_be_read(source):
        return source
    there = [name for name in levels if name in source.columns]
    words = [name for name in there if levels[name].are_codes or not is_numbers(source, name)]
    return CodedSource(source, {name: levels[name] for name in words}) if words else source


def common_levels(found: Sequence[Levels]) -> Levels:
    """Return the levels of a column in several copies of a table, as often as they are in all of them.

    Examples
    --------
    >>> from alldags.data.levels import Levels, common_levels
    >>> common_levels([Levels("site", ("a", "c"), (2, 1)), Levels("site", ("a", "b", "c"), (1, 1, 1))]).labels
    ('a', 'c', 'b')
    """
    counts: Counter[Any] = Counter()
    for one in found:
        counts.update(dict(zip(one.labels, one.counts, strict=True)))
    return Levels(found[0].name, tuple(counts), tuple(float(count) for count in counts.values()))


def _can_be_read(source: Source) -> TypeGuard[CountedSource]:
    """Tell whether rows can be looked at here; those of moments and of a cluster cannot."""
    return isinstance(source, ArraySource | MappingSource | FrameSource | StreamSource | LaggedSource)


def _check_none_declared(declared: Sequence[str]) -> None:
    if declared:
        raise DataError(
            f"{option('categories', list(declared))} needs a table whose rows can be counted here: give a file, or a "
            "frame in memory"
        )


def _columns_of_words(source: Source, names: Sequence[str]) -> list[str]:
    if isinstance(source, StreamSource):
        return [name for name in names if source.is_words(name)]
    try:
        if names:
            source.numbers(names)
    except NotNumbersError:
        return [name for name in names if not is_numbers(source, name)]
    return []


def is_numbers(source: Source, name: str) -> bool:
    """Tell whether a column is made of numbers."""
    try:
        source.numbers([name])
    except NotNumbersError:
        return False
    return True


def _is_truth(source: Source, name: str) -> bool:
    """Tell whether a column has truth values, by its type or its first rows."""
    if isinstance(source, StreamSource):
        return source.is_truth(name)
    first = [label for label in source.labels(name)(0, 8).tolist() if not is_nothing(label)]
    return bool(first) and all(isinstance(label, bool | np.bool_) for label in first)


def _levels(source: CountedSource, name: str, declared: bool = False) -> Levels:
    """Read a column of words or codes, and return its levels; an error if they are too many, or no words."""
    counts = _counted(source, name)
    total = sum(counts.values())
    faults = not (declared or _is_declared(source, name)) and _are_numbers(counts)
    if faults or len(counts) > min(MOST_LEVELS, max(total / _LEAST_ROWS, 2)):
        _refuse(source, name)
        raise too_many_levels(name, list(counts), source.rows)
    if len(counts) < 2:
        only = next(iter(counts), None)
        raise DataError(
            f"column {name!r} is {only!r} in every row: it has no effect that data could show; leave it out"
        )
    order = _in_order(source, name, counts)
    return Levels(name, tuple(order), tuple(float(counts[label]) for label in order))


def _are_numbers(counts: Iterable[Any]) -> bool:
    """Tell whether most different words are numbers in writing: then the others are faults, not levels."""
    words = [label for label in counts if isinstance(label, str)]
    return sum(_is_written_number(word) for word in words) > len(words) / 2


def _is_declared(source: Source, name: str) -> bool:
    """Tell whether the table itself says that a column is a category, whatever its levels are called."""
    return isinstance(source, StreamSource | FrameSource) and source.is_category(name)


def _is_written_number(word: str) -> bool:
    try:
        float(word.replace(",", "."))
    except ValueError:
        return False
    return True


def _refuse(source: Source, name: str) -> None:
    """Raise what the source has to say of a column that is no numbers, if that is more than its type."""
    if isinstance(source, StreamSource):
        error = source.stream.refuse(name, source.stream.schema.field(name).type)
        if not isinstance(error, NotNumbersError):
            raise error


def _counted(source: CountedSource, name: str) -> Counter[Any]:
    """Count the labels of a column: not in all rows, once there are too many labels."""
    labels, counts = source.labels(name), Counter[Any]()
    for start in range(0, source.rows, PART_ROWS):
        part = labels(start, min(source.rows, start + PART_ROWS)).tolist()
        counts.update(_as_code(label) for label in part if not is_nothing(label))
        if len(counts) > 10 * MOST_LEVELS:
            break
    for label in counts:
        if isinstance(label, _DATES):
            raise dates(name, type(label).__name__)
        if not isinstance(label, str | bool | int | float):
            source.numbers([name])  # says what it is
    return counts


def _as_code(label: Any) -> Any:
    """Return a level: one that is a whole number is named alike with and without gaps in its column."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _in_order(source: Source, name: str, counts: Mapping[Any, int]) -> list[Any]:
    """Return the labels: in the table's own order if it has one, else codes by number, no before yes, by alphabet."""
    given = [label for label in _own_levels(source, name) if label in counts]
    if len(given) == len(counts):
        return given
    if not any(isinstance(label, str) for label in counts):
        return sorted(counts)  # codes
    labels = sorted(counts, key=lambda label: (str(type(label)), label))
    if len(labels) == 2:
        labels.sort(key=lambda label: _agreement(str(label)))
    else:
        labels.sort(key=lambda label: str(label).strip().lower() not in _NO)  # what others are compared with
    return labels


def _own_levels(source: Source, name: str) -> list[Any]:
    """Return the levels that the table itself says a column has, in its order; none if it says nothing of the kind."""
    own = getattr(source, "levels", None)
    return [] if own is None else list(own(name))


def _agreement(word: str) -> int:
    plain = word.strip().lower()
    return (plain in _YES) - (plain in _NO)


def categories_of(levels: Mapping[str, Levels]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each category."""
    return {name: one.columns for name, one in levels.items() if one.is_category}


def coded_columns(variables: Iterable[str], levels: Mapping[str, Levels]) -> tuple[str, ...]:
    """Return the columns of numbers that stand for some variables."""
    return tuple(column for name in variables for column in (levels[name].columns if name in levels else (name,)))


# -- words about them --------------------------------------------------------------------------------------------------


def levels_note(levels: Mapping[str, Levels]) -> tuple[Note, ...]:
    """Say what words stand for."""
    pairs = [one for one in levels.values() if not one.is_category and not isinstance(one.labels[0], bool)]
    texts = [f"words as numbers: {', '.join(map(_pair_words, pairs))}"] if pairs else []
    return tuple(map(Note, (*texts, *(_category_words(one) for one in levels.values() if one.is_category))))


def _pair_words(levels: Levels) -> str:
    no, yes = levels.words
    return f"{levels.name} is 0 for {no!r} and 1 for {yes!r}"


def _category_words(levels: Levels) -> str:
    first, *others = levels.words
    shown = ", ".join(map(repr, others[:6])) + (", ..." if len(others) > 6 else "")
    return (
        f"{levels.name} is a category with {len(levels.labels)} levels ({first!r}, the reference, {shown}): they enter "
        "and leave a regression together, as one candidate cause"
    )
