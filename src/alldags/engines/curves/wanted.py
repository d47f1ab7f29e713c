"""Which structures of effect modification are averaged over, and how the treatment's edge is divided between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from alldags.engines.curves.spec import Candidates, CurvedSpec
from alldags.engines.curves.structures import Structure, structure
from alldags.graph.terms import Terms


def wanted_structures(spec: CurvedSpec, found: Candidates, arms: int) -> list[Structure]:
    """Return the structures of effect modification that are wanted."""
    wanted = spec.terms.modification if isinstance(spec.terms, Terms) else "none"
    if arms == 2:
        names = ("common", "shared", "arms") if wanted == "average" else (wanted.replace("none", "common"),)
        return [structure(name, found, 2) for name in names]
    whole = structure("common", found, 1)
    if not found.modifying.any():
        return [whole]
    shared = replace(whole, name="shared")
    return [whole.taken(~found.modifying), shared] if wanted == "average" else [shared]


class EdgeShare(NamedTuple):
    """Probability of the treatment's own column in a structure, and prior weight of the structure."""

    probability: float
    weight: float


def divided(chosen: Sequence[Structure], stated: float) -> list[EdgeShare]:
    """Divide the stated probability of the treatment's edge: structures are equally probable where it is a cause.

    The common one holds all of "no cause", so that edges have their stated probability in the average.
    """
    if len(chosen) == 1 or stated >= 1.0:
        return [EdgeShare(stated, 1.0 / len(chosen))] * len(chosen)
    share = stated / len(chosen)
    common = EdgeShare(share / (share + 1.0 - stated), share + 1.0 - stated)
    return [common if one.name == "common" else EdgeShare(1.0, share) for one in chosen]
