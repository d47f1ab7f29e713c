"""Draws of an effect for ArviZ: an xarray ``DataTree``, which ArviZ 0.8 (Python 3.11) and 1.x take."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from alldags import checks
from alldags.errors import AlldagsError, require
from alldags.typing import RandomSource

if TYPE_CHECKING:
    from alldags.results.effect import Effect

_CHAINS = 4  # as ArviZ expects for its diagnostics


def effect_datatree(effect: Effect, draws: int, rng: RandomSource) -> Any:
    """Return draws of an effect with the group ``posterior`` and what they are draws of as attributes."""
    base: Any = require("arviz_base", "arviz")
    if checks.whole("draws", draws, least=_CHAINS) % _CHAINS:
        raise AlldagsError(f"draws must be a multiple of {_CHAINS}, the number of chains, got {draws}")
    values = effect.draws(draws, rng).reshape(_CHAINS, -1)
    tree = base.from_dict({"posterior": {"effect": values}})
    tree.attrs.update(
        treatment=effect.treatment,
        outcome=effect.outcome,
        measure=effect.measure or "outcome per unit of treatment",
        inference_library="alldags",
        inference_library_version=version("alldags"),
    )
    return tree
