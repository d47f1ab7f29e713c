"""Rows by a condition that is written down, such as ``"age > 50 and sex == 'f'"``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from alldags.errors import AlldagsError, did_you_mean
from alldags.typing import BoolArray

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: np.isin,
    ast.NotIn: lambda a, b: ~np.isin(a, b),
}
_COMPUTED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def rows_where(query: str, names: Sequence[str], column: Callable[[str], AnyArray]) -> BoolArray:
    """Return which rows a condition holds for, shape (rows,).

    Parameters
    ----------
    query
        Comparisons of columns with numbers, words or each other, joined by ``and``, ``or`` and ``not``; names that are
        no words of Python stand in backquotes.
    names
        The columns.
    column
        Returns one, shape (rows,).

    Examples
    --------
    >>> import numpy as np
    >>> from alldags.answers.query import rows_where
    >>> table = {"age": np.array([30, 60, 70]), "sex": np.array(["f", "m", "f"])}
    >>> rows_where("age > 50 and sex == 'f'", tuple(table), table.__getitem__).tolist()
    [False, False, True]
    """
    quoted: dict[str, str] = {}
    parts = query.split("`")
    for i in range(1, len(parts), 2):
        quoted[f"_quoted_{i}"] = parts[i]
        parts[i] = f"_quoted_{i}"
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval").body
    except SyntaxError as error:
        raise _refused(query, "it is no condition") from error
    found = _Query(query, names, column, quoted).of(tree)
    mask = np.asarray(found)
    if mask.dtype != bool or mask.ndim != 1:
        raise _refused(query, "it does not say yes or no of each row")
    return mask


def _refused(query: str, why: str) -> AlldagsError:
    return AlldagsError(
        f"over={query!r} is not understood: {why}; write 'sample', 'population', 'treated', 'untreated', or a "
        "condition such as \"age > 50 and sex == 'f'\""
    )


class _Query:
    def __init__(
        self, query: str, names: Sequence[str], column: Callable[[str], AnyArray], quoted: Mapping[str, str]
    ) -> None:
        self._query, self._names, self._column, self._quoted = query, names, column, quoted

    def of(self, node: ast.expr) -> Any:  # noqa: PLR0911 - one for each kind of part
        """Return the value of a part of the condition."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.Name(id=name):
                return self._named(self._quoted.get(name, name))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self.of(part) for part in parts]
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return ~np.asarray(self.of(part), dtype=bool)
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return -self.of(part)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
                return _COMPUTED[type(op)](self.of(left), self.of(right))
            case ast.BoolOp(op=op, values=parts):
                join = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return join.reduce([np.asarray(self.of(part), dtype=bool) for part in parts])
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
                values = [self.of(left), *map(self.of, others)]
                found = [self._compared(op, a, b) for op, a, b in zip(ops, values, values[1:], strict=False)]
                return np.logical_and.reduce(found)
        raise _refused(self._query, f"{ast.unparse(node)!r} is neither a column, a value nor a comparison")

    def _compared(self, op: ast.cmpop, a: Any, b: Any) -> AnyArray:
        try:
            return np.asarray(_COMPARED[type(op)](a, b))
        except TypeError as error:
            raise _refused(self._query, "words and numbers are not compared by size") from error

    def _named(self, name: str) -> AnyArray:
        if name not in self._names:
            raise _refused(self._query, f"there is no variable {name!r}{did_you_mean(name, self._names)}")
        return self._column(name)
