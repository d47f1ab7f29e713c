"""Does this problem suit this engine? Engines declare what they take; here is the one place that compares."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from alldags.errors import EngineError
from alldags.nodes import Engine, NodeProblem
from alldags.priors.mixtures import ScaleMixture
from alldags.priors.noise import Noise
from alldags.wording import option


class Parts(Protocol):
    """What may not suit an engine: of a `Prior`, or of one `Setting` of a node."""

    @property
    def noise(self) -> Noise:
        """Prior of the noise."""

    @property
    def coefficients(self) -> ScaleMixture | None:
        """Scale mixture of the coefficients, if there is one."""


def unsuited(engine: Engine, parts: Parts) -> Noise | ScaleMixture | None:
    """Return the part of a prior that an engine cannot take, None if there is none.

    An engine that does not declare anything takes every noise prior, and no scale mixture.
    """
    takes = getattr(engine, "takes", (Noise,))
    for part in (parts.noise, parts.coefficients):
        if part is not None and not isinstance(part, takes):
            return part
    return None


def check_suits(engine: Engine, parts: Parts) -> None:
    """Refuse, by name, a prior that an engine cannot take."""
    part = unsuited(engine, parts)
    if part is not None:
        raise EngineError(f"the engine {engine.name!r} cannot take {part!r}; use {option('engine', *part.engines)}")


def takes_groups(engine: Engine) -> bool:
    """Return whether an engine declares that columns may enter and leave together; else it knows single columns."""
    return bool(getattr(engine, "takes_groups", False))


def check_single(who: str, problem: NodeProblem) -> None:
    """Refuse, by name, columns that enter and leave together, of which something knows nothing."""
    if problem.groups is None:
        return
    together = np.bincount(problem.groups)[problem.groups] > 1
    if together.any():
        named = problem.group_of(int(np.argmax(together)))
        shown = " and ".join(repr(name) for name, there in zip(problem.terms, named, strict=True) if there)
        raise EngineError(
            f"{who} takes single columns, and {shown} of {problem.child!r} enter and leave together; use "
            f"{option('engine', 'auto', 'exact', 'certified', 'mcmc')}"
        )
