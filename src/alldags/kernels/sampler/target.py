"""What a chain samples, and the rows of what it writes down."""

from __future__ import annotations

from typing import NamedTuple

from alldags.typing import BoolArray, FloatArray

INCLUSION, MEAN, SQUARE, BETWEEN = range(4)  # rows of a trace


class Target(NamedTuple):
    """What a chain samples, and by which jumps."""

    beta: float  # 1 is the posterior
    reference: FloatArray  # (k,), log odds in the reference, a group's at its first column
    reference_setting: FloatArray  # (G,), log probabilities of the settings there
    jumps: BoolArray  # (J, k), sets of parents flipped together
    pattern: BoolArray  # (J, k), how these parents look in one of the two modes
    swaps: int  # swap moves after each sweep
