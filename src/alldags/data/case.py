"""Names of columns that differ in case only: not every engine tells them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from alldags.errors import DataError


def alike_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ in case only.

    Examples
    --------
    >>> from alldags.data.case import alike_names
    >>> alike_names(["dose", "age", "Dose"])
    [('dose', 'Dose')]
    """
    first: dict[str, str] = {}
    pairs = ((first.setdefault(name.casefold(), name), name) for name in names)
    return [(one, other) for one, other in pairs if one != other]


def asked_alike(available: Iterable[str], names: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of columns that differ in case only, of which one is asked for."""
    return [pair for pair in alike_names(available) if not set(pair).isdisjoint(names)]


def check_case(table: Any, available: Iterable[str], names: Collection[str]) -> None:
    """Refuse a column whose name differs in case only from another's, if the engine takes the two for one.

    Parameters
    ----------
    table
        A lazy frame that narwhals knows.
    available, names
        Its columns, and those that are asked for.
    """
    for first, second in asked_alike(available, names):
        if not _tells_apart(table, first, second):
            raise DataError(
                f"the columns {first!r} and {second!r} differ in case only, and the engine that has the table takes "
                "the two for one; rename one of them there"
            )


def _tells_apart(table: Any, first: str, second: str) -> bool:
    """Tell whether the engine gives back a zero and a one that were put under these two names."""
    import narwhals.stable.v2 as nw

    marks = nw.from_native(table).select((nw.len() * 0).alias(first), (nw.len() * 0 + 1).alias(second))
    try:
        found = [marks.select(nw.col(name).max().alias("mark")).collect().row(0)[0] for name in (first, second)]
    except Exception:  # each engine has its own way to say that a name is not clear
        return False
    return found == [0, 1]
