"""What users set variables to: a value, a level, a shift of each row's own value, a rule, or a value for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from alldags import checks
from alldags.answers.push import PushedRows
from alldags.answers.treatment_values import value_of
from alldags.answers.world import Setting, Shift, Value
from alldags.effects.new_unit import shown
from alldags.errors import AlldagsError
from alldags.nodes.data import WorkingData
from alldags.typing import FloatArray

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Set:
    """One variable that is set; made by `shift` and `rule`, or from a value.

    Parameters
    ----------
    variable
        Its name.
    to
        A value, a `Shift`, or what a rule was given: a function of rows, the name of a column, one value for each row.
    """

    variable: str
    to: Any

    @property
    def words(self) -> str:
        """As it is printed."""
        if isinstance(self.to, Shift):
            sign = "-" if self.to.by < 0 else "+"
            return f"{self.variable} {sign} {shown(abs(self.to.by))}"
        if isinstance(self.to, Ruled):
            return f"{self.variable} by {self.to.words}"
        return f"{self.variable} = {shown(self.to)}"


@dataclass(frozen=True, eq=False)
class Ruled:
    """What a rule was given; `called` is how it is printed, where that is not to be seen from it."""

    by: Any
    called: str = ""

    @property
    def words(self) -> str:
        """As it is printed."""
        if self.called:
            return self.called
        return f"the column {self.by}" if isinstance(self.by, str) else "a rule" if callable(self.by) else "row"


def shift(variable: str, by: float) -> Set:
    """Set a variable to each row's own value and so much more (less, if `by` is negative), for `Posterior.do`.

    Examples
    --------
    >>> import alldags as ad
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    >>> ten = posterior.do(ad.shift("smoking", +10), outcome="risk")
    >>> ten
    Intervention(do(smoking + 10): mean of risk 58.65, sd 1.036)
    >>> round(float(ten.minus(posterior.do(outcome="risk"))), 2)
    8.94
    """
    return Set(variable, Shift(checks.finite("by", by)))


def rule(variable: str, by: Callable[[Mapping[str, AnyArray]], Any] | str | Sequence[Any]) -> Set:
    """Set a variable by a rule, for `Posterior.do`.

    Parameters
    ----------
    variable
        Its name.
    by
        A function of rows that returns one value for each: `rows` has the columns by name, as they are after all else
        that is set, and none that the variable may act on. Or the name of a column, or one value for each row.

    Examples
    --------
    >>> import numpy as np, alldags as ad
    >>> study = ad.datasets.example()
    >>> posterior = ad.fit(study.table, study.graph, terms=None, rng=0)
    >>> halved = posterior.do(ad.rule("smoking", lambda rows: rows["smoking"] / 2), outcome="risk")
    >>> stopped = ad.rule("smoking", lambda rows: np.where(rows["age"] > 50, 0, rows["smoking"]))
    >>> round(float(halved.mean), 1), round(float(posterior.do(stopped, outcome="risk").mean), 1)
    (40.8, 40.2)
    """
    return Set(variable, Ruled(by))


# -- as the package computes with them ---------------------------------------------------------------------------------


def settings_of(data: WorkingData, given: Sequence[Set]) -> dict[str, Setting]:
    """Return what is set, by variable, as worlds take it; refused where it is no value of the variable."""
    return {one.variable: _setting(data, one) for one in given}


def _setting(data: WorkingData, given: Set) -> Setting:
    name, to = given.variable, given.to
    if isinstance(to, Shift):
        if name in data.categories:
            raise AlldagsError(f"{name!r} is a category, whose levels cannot be shifted; set it to one of them")
        return to
    if isinstance(to, Ruled):
        return Rule(name, to.by, data)
    return Value(value_of(data, name, to, f"the value of {name!r}"))


@dataclass(frozen=True, eq=False)
class Rule:
    """A variable that is set by a function of the row, a column, or an array that was put beside the rows.

    Parameters
    ----------
    variable
        Its name.
    by
        The function, or the name of a column.
    data
        Says which columns are words.
    """

    variable: str
    by: Any
    data: WorkingData = field(repr=False)

    @property
    def reads(self) -> tuple[str, ...]:
        """The variables that it depends on: those that the function asks a row of means for."""
        if isinstance(self.by, str):
            return (self.by,) if self.by in self._names else ()
        asked = _Asked(self._probe())
        try:
            self.by(asked)
        except KeyError as error:
            raise AlldagsError(f"the rule of {self.variable!r} asks for {error}, which is no variable") from error
        return tuple(name for name in self._names if name in asked.names and name != self.variable)

    @property
    def _names(self) -> tuple[str, ...]:
        """All variables."""
        within = {column for columns in self.data.categories.values() for column in columns}
        return (*(name for name in self.data.pooled.names if name not in within), *self.data.categories)

    def _probe(self) -> dict[str, AnyArray]:
        numbers = {name: np.array([self.data.look(name).mean]) for name in self._names if not self._words(name)}
        return numbers | {name: np.array([self._words(name)[0]]) for name in self._names if self._words(name)}

    def _words(self, name: str) -> tuple[str, ...]:
        if name in self.data.categories:
            return self.data.levels[name].words
        words = self.data.look(name).words or ()
        return () if words == ("False", "True") else words

    def values(self, rows: PushedRows, column: str, value: Callable[[str], FloatArray]) -> FloatArray:
        """Return what the rule says, shape (rows, 1), or (rows, draws) if it depends on what was moved."""
        if isinstance(self.by, str) and self.by not in self._names:
            return np.asarray(rows.rows.values[self.by][:, None])
        names = (self.by,) if isinstance(self.by, str) else self.reads
        known = {name: [value(one) for one in self.data.columns((name,))] for name in names}
        known[self.variable] = [rows.rows.values[one][:, None] for one in self.data.columns((self.variable,))]
        shape = np.broadcast_shapes(*(one.shape for columns in known.values() for one in columns))
        flat = {name: self._read(name, [_flat(one, shape) for one in columns]) for name, columns in known.items()}
        found = flat[self.by] if isinstance(self.by, str) else np.asarray(self.by(flat))
        return self._column(found, column, shape)

    def _read(self, name: str, columns: Sequence[FloatArray]) -> AnyArray:
        """Return the values of a variable as the user knows them, shape (rows,)."""
        words = self._words(name)
        if not words:
            return columns[0]
        if name not in self.data.categories:
            return np.asarray(np.asarray(words)[columns[0].astype(np.int64)])
        levels = np.asarray(self.data.levels[name].values)
        gaps = np.abs(np.column_stack(columns)[:, None, :] - levels[None]).sum(axis=2)
        return np.asarray(np.asarray(words)[gaps.argmin(axis=1)])

    def _column(self, found: AnyArray, column: str, shape: tuple[int, ...]) -> FloatArray:
        """Return what a column of the variable is set to, of values as the user gave them."""
        size = int(np.prod(shape))
        if found.shape not in ((), (size,)):
            raise AlldagsError(
                f"the rule of {self.variable!r} returned an array of shape {found.shape} for {size} rows; return one "
                "value for each row, or a single one"
            )
        kinds, places = np.unique(found, return_inverse=True) if found.dtype.kind in "OUSb" else (None, None)
        if kinds is None:
            numbers = np.asarray(found, dtype=float)
        else:
            codes = [
                value_of(self.data, self.variable, one, f"the rule of {self.variable!r}") for one in kinds.tolist()
            ]
            numbers = np.asarray(codes)[places]
        if self.variable in self.data.categories:
            place = self.data.categories[self.variable].index(column)
            numbers = np.asarray(self.data.levels[self.variable].values)[numbers.astype(np.int64), place]
        if not np.isfinite(numbers).all():
            raise AlldagsError(f"the rule of {self.variable!r} returned a value that is no finite number")
        return np.asarray(np.broadcast_to(numbers, size).reshape(shape))


def _flat(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return np.array(np.broadcast_to(values, shape)).ravel()


class _Asked(Mapping[str, AnyArray]):
    """Columns by name, and which of them were asked for."""

    def __init__(self, columns: Mapping[str, AnyArray]) -> None:
        self._columns, self.names = columns, set[str]()

    def __getitem__(self, name: str) -> AnyArray:
        self.names.add(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
