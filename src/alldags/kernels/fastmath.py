"""Exponential and logarithm that LLVM can turn into vector instructions.

The library versions are calls that stop a loop from being vectorised. These are polynomials with bit shifts, accurate
to about 2e-16 relative on the range the engines use; arguments of `fast_exp` are clamped to [-708, 709].
"""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from alldags.kernels.jit import inlined

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_EXPONENT_BIAS = 1023 << 52
_MANTISSA = (1 << 52) - 1
_ALL = (1 << 64) - 1
_TWO52_BITS = 0x4330000000000000  # the bits of 2.0**52
_TWO52_AND_BIAS = 4503599627370496.0 + 1023.0
_SQRT2 = 1.4142135623730951


if config.DISABLE_JIT:  # plain twins; Python's whole numbers do not wrap around, so the bits are cut off by hand

    def float_bits(x: float) -> int:
        """Return the bits of a float64 as a whole number."""
        bits: int = struct.unpack("<q", struct.pack("<d", x))[0]
        return bits

    def bits_float(bits: int) -> float:
        """Return the float64 with these bits."""
        value: float = struct.unpack("<d", struct.pack("<Q", bits & _ALL))[0]
        return value

else:

    @intrinsic
    def float_bits(_typing_context: Any, _x: Any) -> Any:
        """Return the bits of a float64 as an int64."""

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.IntType(64))

        return types.int64(types.float64), generate

    @intrinsic
    def bits_float(_typing_context: Any, _x: Any) -> Any:
        """Return the float64 with the bits of an int64."""

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.DoubleType())

        return types.float64(types.int64), generate


@inlined
def fast_exp(x: float) -> float:
    """Return ``exp(x)`` for x clamped to [-708, 709]."""
    x = min(max(x, -708.0), 709.0)
    shifted = x * _LOG2E + _ROUND
    whole = shifted - _ROUND
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * bits_float((float_bits(shifted) << 52) + _EXPONENT_BIAS)


@inlined
def fast_log(x: float) -> float:
    """Return ``log(x)`` for a positive normal number."""
    bits = float_bits(x)
    exponent = bits_float((bits >> 52) | _TWO52_BITS) - _TWO52_AND_BIAS
    m = bits_float((bits & _MANTISSA) | _EXPONENT_BIAS)
    big = m > _SQRT2
    m = 0.5 * m if big else m
    exponent = exponent + 1.0 if big else exponent
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return exponent * _LN2_HIGH + (2.0 * s * p + exponent * _LN2_LOW)
