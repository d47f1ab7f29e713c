"""Arrays without reference counts, for kernels that call small functions very often.

Numba counts a reference, by an atomic instruction, for most arrays that are passed on to another function. In short
functions that costs as much as their work. Arrays that a compiled function got as arguments outlive it, so that nothing
needs counting: `borrow` returns the same arrays, in whatever tuples they are, as if nobody owned them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def borrow(_typing_context: Any, arrays: Any) -> Any:
    """Return an array, or a tuple of arrays, without their owners; the caller must keep these alive."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return arrays(arrays), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        for field in ("meminfo", "parent"):
            setattr(array, field, ir.Constant(getattr(array, field).type, None))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for place, part in enumerate(kind):
            inner = _without_owner(context, builder, part, builder.extract_value(value, place))
            value = builder.insert_value(value, inner, place)
    return value
