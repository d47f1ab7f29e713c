"""What is said of a candidate graph in a line."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from alldags.graph.blocks import LARGEST_FITTED, LARGEST_SUMMED

_MOST_NAMES = 6


def description(variables: int, probabilities: Collection[float], rest: Sequence[str]) -> str:
    """Return the text of a graph: its size, and `rest` after commas."""
    certain = sum(probability == 1.0 for probability in probabilities)
    size = f"{variables} variables, {len(probabilities)} candidate edges of which {certain} certain"
    return f"CandidateGraph({', '.join([size, *rest])})"


def unstated_words(probabilities: Sequence[float]) -> list[str]:
    """Say how many edges took the default probability; nothing if none did.

    Examples
    --------
    >>> from alldags.graph.words import unstated_words
    >>> unstated_words([0.5, 0.5])
    ['2 took the default probability 0.5']
    """
    if not probabilities:
        return []
    values = sorted(set(probabilities))
    shown = f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
    return [f"{len(probabilities)} took the default probability {shown}"]


def count_words(log10: float, *, exact: bool) -> str:
    """Say how many graphs there are, or at most are."""
    return f"{'' if exact else 'at most '}10^{log10:.1f} graphs"


def order_words(blocks: Sequence[Sequence[str]]) -> list[str]:
    """Say for each block between which variables the order is open; nothing if there is none."""
    return [f"order open among {_names(block)}" for block in blocks]


def _names(block: Sequence[str]) -> str:
    if len(block) <= _MOST_NAMES:
        return ", ".join(map(repr, block))
    return f"{', '.join(map(repr, block[: _MOST_NAMES - 1]))} and {len(block) - _MOST_NAMES + 1} others"


def calibration_note(block: Sequence[str], *, wanted: bool) -> str:
    """Say that edges inside a block are rarer than stated."""
    hint = "; see graph.realized_probabilities()" if len(block) <= LARGEST_SUMMED else ""
    why = f"more than {LARGEST_FITTED} variables whose pairs are not all alike" if wanted else "calibrate=False"
    return (
        f"inside the block of {_names(block)} the stated edge probabilities are used as odds ({why}): among acyclic "
        f"graphs the edges are somewhat rarer{hint}"
    )
