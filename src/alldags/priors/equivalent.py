"""The prior of variables whose order is open: one under which directions that data cannot tell apart tie."""

from __future__ import annotations

from dataclasses import replace

from alldags import meetings
from alldags.priors.noise import EquivalentNoise, KnownNoise, UnknownNoise
from alldags.priors.prior import Prior


def unsuited_to_blocks(prior: Prior) -> str | None:
    """Return which part of a prior would prefer directions that data cannot tell apart, None if there is none.

    A slab that was not given stands for the fixed one here; the default learned slab counts as not given. One that all
    nodes share prefers no direction.
    """
    if prior.coefficients is not None:
        return f"coefficients={prior.coefficients!r}"
    if prior.slab is not None and prior.slab != prior.noise.default_slab and not prior.slab.is_shared:
        return f"slab={prior.slab!r}"
    return None


def block_prior(prior: Prior) -> Prior:
    """Return the prior of the nodes in a block: score-equivalent, with a fixed slab.

    A known noise precision is kept: whoever states it says that variances tell directions apart.
    """
    part = unsuited_to_blocks(prior)
    if part is not None:
        raise meetings.refusal("open directions", "uneven slabs", {"uneven slabs": (part,)})
    if isinstance(prior.noise, KnownNoise):
        return replace(prior, slab=None, slab_variance=prior.fixed_slab)
    noise = EquivalentNoise() if isinstance(prior.noise, UnknownNoise) else prior.noise
    return replace(prior, slab=None, slab_variance=prior.fixed_slab, noise=noise)
