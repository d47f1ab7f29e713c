"""A child that is several regressions: each part is fitted as an ordinary child, and all of them are one node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from alldags.families.base import FamilyPart
from alldags.nodes.divided import DividedPosterior, part_spec
from alldags.nodes.posterior import Diagnostics, NodePosterior
from alldags.nodes.presence import presences
from alldags.nodes.spec import NOTHING, NodeSpec

FitPart = Callable[[NodeSpec, np.random.Generator, NodePosterior | None], NodePosterior]


@dataclass(frozen=True)
class DividedDiagnostics(Diagnostics):
    """How the parts of a child were computed.

    Parameters
    ----------
    converged
        Whether every part was.
    parts
        Of each.
    """

    converged: bool = True
    parts: tuple[Diagnostics, ...] = ()

    @property
    def troubles(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(text for part in self.parts for text in part.troubles)


def fit_divided(
    spec: NodeSpec, parts: tuple[FamilyPart, ...], fit: FitPart, rng: np.random.Generator, like: NodePosterior | None
) -> DividedPosterior:
    """Return the posterior of a child whose family is several regressions; `fit` fits one."""
    others = like.parts if isinstance(like, DividedPosterior) else (None,) * len(parts)
    found = []
    for part, other, stream in zip(parts, others, rng.spawn(len(parts)), strict=True):
        own = part_spec(spec, part, len(parts))
        found.append(fit(_with_presences(own, fit, stream), stream, other))
    return DividedPosterior(found, _diagnostics(found))


def _with_presences(spec: NodeSpec, fit: FitPart, rng: np.random.Generator) -> NodeSpec:
    """Return a part that is asked for products of treatment and mediators with what acts on it, found without them."""
    about = spec.about
    if not about.mediators:
        return spec
    plain = fit(replace(spec, data=spec.data.unbent, about=NOTHING), rng.spawn(1)[0], None)
    present = presences(plain, (str(about.treatment), *about.mediators))
    return replace(spec, about=about._replace(present=present))


def _diagnostics(parts: list[NodePosterior]) -> DividedDiagnostics:
    own = tuple(part.diagnostics for part in parts)
    warnings = tuple(dict.fromkeys(text for one in own for text in one.warnings))
    return DividedDiagnostics(own[0].engine, warnings, all(one.is_reliable for one in own), own)
