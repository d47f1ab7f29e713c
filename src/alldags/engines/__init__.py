"""Engines: ways from a node's problem to its posterior.

Each engine is a small frozen object, called as ``engine(problem, rng) -> NodePosterior``. The strings accepted by
``fit(engine=...)`` stand for engines with their default settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alldags.errors import EngineError, did_you_mean
from alldags.lazy import attach

if TYPE_CHECKING:
    from alldags.engines.auto import Auto
    from alldags.engines.certified import Certified
    from alldags.engines.em import EM
    from alldags.engines.exact import Exact
    from alldags.engines.full import Full
    from alldags.engines.gibbs import Gibbs
    from alldags.engines.k2 import K2
    from alldags.engines.mcmc import MCMC
    from alldags.engines.vb import VB
    from alldags.nodes import Engine

_HOME = {
    "Auto": "alldags.engines.auto",
    "EM": "alldags.engines.em",
    "Certified": "alldags.engines.certified",
    "Exact": "alldags.engines.exact",
    "Full": "alldags.engines.full",
    "K2": "alldags.engines.k2",
    "Gibbs": "alldags.engines.gibbs",
    "VB": "alldags.engines.vb",
    "MCMC": "alldags.engines.mcmc",
}
_NAMES = {
    "auto": "Auto",
    "certified": "Certified",
    "exact": "Exact",
    "em": "EM",
    "full": "Full",
    "gibbs": "Gibbs",
    "k2": "K2",
    "mcmc": "MCMC",
    "vb": "VB",
}

__all__ = [
    "EM",
    "K2",
    "MCMC",
    "VB",
    "Auto",
    "Certified",
    "Exact",
    "Full",
    "Gibbs",
    "resolve",
]


__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__


def resolve(engine: str | Engine) -> Engine:
    """Return the engine a string stands for; an engine object is returned as it is."""
    if not isinstance(engine, str):
        if isinstance(engine, type):
            raise EngineError(f"engine is the class {engine.__name__}; call it: engines.{engine.__name__}()")
        if not callable(engine):
            raise EngineError(f"engine must be a name or an engine object, got {engine!r}")
        return engine
    if engine not in _NAMES:
        raise EngineError(f"there is no engine {engine!r}{did_you_mean(engine, _NAMES)}; choose from {sorted(_NAMES)}")
    made: Engine = __getattr__(_NAMES[engine])()  # type: ignore[operator]
    return made


def engine_words(name: str) -> Engine | None:
    """Return the engine of this name, for its words about itself; None for an engine that is not one of ours."""
    return resolve(name) if name in _NAMES else None
