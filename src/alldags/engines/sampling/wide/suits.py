"""Which nodes are sampled with a few hot candidates, and which with all candidates alike."""

from __future__ import annotations

from alldags.nodes import NodeProblem

WIDE = 300  # uncertain candidates, above
MOST_EXPECTED = 100  # parents


def is_wide(problem: NodeProblem) -> bool:
    """Tell whether a node has many candidates, each a column alone, of which few are expected.

    Columns that enter in groups are swept alike, as are all candidates where the prior expects hundreds of parents.
    """
    if problem.free <= WIDE or problem.has_groups:
        return False
    return bool(problem.log_size is not None or problem.probability.sum() <= MOST_EXPECTED)
